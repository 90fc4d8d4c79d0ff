"""What `make demo` shows: from a risky table to a verified release; two owners; a tree; search."""

from __future__ import annotations

import csv
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from pyarrow.csv import read_csv

from reticent.joint import integrate

HERE = Path("demo")
JOINED = os.path.relpath(Path(__file__).with_name("joined_tables"))
RETICENT = Path(sys.executable).with_name("reticent")
OWNERS = {"census": ["Age", "Marital"], "taxes": ["Hours", "Income"]}


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


def together(census: Path) -> None:
    """Let two owners release what they have of common people, and say what each has learnt."""
    people = read_csv(census).slice(0, 1000)
    policy = {
        "id": "Name",
        "class": "Income",
        "owners": {name: {"columns": columns} for name, columns in OWNERS.items()},
        "attributes": {
            "Age": {"mask": "discretize", "range": [15, 91]},
            "Marital": {"mask": "suppress"},
            "Hours": {"mask": "discretize", "range": [1, 99]},
        },
        "anonymity": [{"over": ["Age", "Marital", "Hours"], "k": 20}],
    }
    census_office, tax_office = (people.select(["Name", *columns]) for columns in OWNERS.values())
    tables = {"census": census_office.slice(0, 900), "taxes": tax_office.slice(100)}
    for owner, released in integrate(policy, tables).items():
        told, public = released.facts().private, released.facts().public
        [(other, heard)] = told["heard_of_others"].items()
        learnt = "; ".join(f"{words}: {', '.join(columns)}" for words, columns in heard.items())
        print(f"  {owner}, with {told['ids_brought'][owner]} people, learnt from {other},")
        print(f"    of each of {told['common']} whom both have: {learnt}")
    crowd = public["promises"][0]["value"]
    print(f"  Both hold the same {public['rows']} rows, in crowds of {crowd} or more.")


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
    print("\nBut what if incomes lie with the tax office, and neither may see the other's rows?")
    print("Both can still make one table of people whom they have in common, under encryption:")
    together(people / "census.csv")
    print("\nAnd if data lie in many tables? Who falls ill in an invented city is told by what was")
    print("measured in its air and its water. A tree over tables that join needs no joined table:")
    run("tree", "train", f"{JOINED}/everybody.toml", "-o", str(HERE / "tree"))
    run("tree", "show", str(HERE / "tree"))
    run("tree", "show", str(HERE / "tree"), "--html", str(HERE / "tree.html"), "--quiet")
    print(
        "\nAnd who searches need not be known to be served. Interests are drawn from somebody's own"
    )
    print(
        "mail, a part of them is chosen and looked at, and results come in their order. The knee is"
    )
    print("nobody's business, and stays:")
    sample, profile, exposed = HERE / "sample", HERE / "profile.json", HERE / "exposed.json"
    run("sample", "mail", "-o", str(sample), "--quiet")
    run("profile", "build", str(sample / "mine"), "-o", str(profile), "--quiet")
    run("profile", "expose", str(profile), "--ratio", "0.3", "--hide", "knee", "-o", str(exposed))
    run("search", "index", str(sample / "library"), "-o", str(HERE / "index"), "--quiet")
    run("search", "query", "current", "--index", str(HERE / "index"), "--profile", str(exposed))
    print(f"\nEverything is in {HERE}/: publish {out}/public, keep {out}/private to yourself.")
    print(f"Look at {out}/public/report.html, and at {out}/private/report.html for the reasons.")
    print(f"The tree is drawn in {HERE}/tree.html, for those who may see its tables.")
    print("Baskets, as of shoppers, are released in another way: see examples/baskets.")
    print("Two owners as two processes, who keep what they made: see examples/two_owners.")
    print("To hide single entries that people asked to hide: see examples/hide_entries.")
    print("What joins do to trees, and what to do about it: see examples/joined_tables.")


if __name__ == "__main__":
    main()
