"""What `make demo` shows: from a risky table to a verified release, with the commands typed out."""

from __future__ import annotations

import csv
import random
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path("demo")
RETICENT = Path(sys.executable).with_name("reticent")


def run(*words: str) -> None:
    """Show a command, then run it."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}$ reticent {' '.join(words)}{plain}", flush=True)
    subprocess.run([RETICENT, *words], check=True)


def side_by_side(before: Path, after: Path, columns: list[str], count: int = 8) -> None:
    """Print a few people as they were, and a few released rows."""
    for title, path in (("before", before), ("released", after)):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        picked = random.Random(7).sample(rows, count)
        cells = [columns, *[[row.get(c, "") for c in columns] for row in picked]]
        widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]
        print(f"\n{title}:")
        for row in cells:
            print("  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())


def main() -> None:
    """Run the demo in the folder `demo`."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    people, policy, out = HERE / "people", HERE / "people/policy.toml", HERE / "release"
    print("A census office wants to publish invented records of 20,000 people.")
    run("sample", "census", "--rows", "20000", "--seed", "1", "-o", str(people))
    print("\nIts policy: whoever knows a person's age, sex, education, marital status, occupation")
    print("and ZIP code must still face a crowd of at least 20. How bad is the raw table?")
    run("risk", str(people / "census.csv"), "--policy", str(policy))
    print("\nReveal as much as that promise allows, and keep it useful for predicting income:")
    run("release", str(people / "census.csv"), "--policy", str(policy), "-o", str(out))
    print("\nAnybody can check the published table, without the original:")
    run("verify", str(out), "--policy", str(policy))
    print("\nWhat did it cost, and what can somebody still do with it?")
    run("evaluate", str(people / "census.csv"), str(out), "--policy", str(policy))
    columns = ["Age", "Sex", "Education", "Marital", "Occupation", "Zip", "Hours", "Income"]
    side_by_side(people / "census.csv", out / "public/data.csv", columns)
    print(f"\nEverything is in {HERE}/: publish {out}/public, keep {out}/private to yourself.")
    print(f"Look at {out}/public/report.html, and at {out}/private/report.html for the reasons.")
    print("Baskets, as of shoppers, are released in another way: see examples/baskets.")
    print("To hide single entries that people asked to hide: see examples/hide_entries.")


if __name__ == "__main__":
    main()
