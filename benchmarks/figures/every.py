"""Run every experiment and close with one table: what the papers say, and what came out here."""

from __future__ import annotations

import csv
import sys
import time

import adult_anonymity
import adult_generalized
import attribute_ranking
import confidence_bounding
import credit_anonymity
import genetic_algorithm
import inference_counts
import scalability
import several_templates
import taxonomy_choice
from datasets import NoData, adult
from experiment import RESULTS, Claim

EXPERIMENTS = (
    adult_anonymity, adult_generalized, taxonomy_choice, attribute_ranking, several_templates,
    credit_anonymity, confidence_bounding, inference_counts, genetic_algorithm, scalability,
)  # fmt: skip
HEADS = ("experiment", "paper", "ours", "within?", "J48 on the same data")


def second_opinions() -> dict[str, str]:
    """What Weka's J48 found, where somebody once asked it: see README.md."""
    found = {}
    for path in sorted(RESULTS.glob("*-claims.j48.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                said = {"True": " (yes)", "False": " (NO)"}.get(row["within"], "")
                found[row["experiment"]] = row["ours"] + said
    return found


def table(claims: list[Claim]) -> str:
    """The closing table, as Markdown."""
    second = second_opinions()
    rows = [HEADS, ("---",) * len(HEADS)]
    for claim in claims:
        said = {True: "yes", False: "NO", None: "-"}[claim.within]
        other = second.get(claim.experiment, "")
        rows.append((claim.experiment, claim.paper, claim.ours, said, other))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def main() -> None:
    try:
        adult()
    except NoData as missing:
        sys.exit(str(missing))
    claims, start = [], time.perf_counter()
    for module in EXPERIMENTS:
        begun = time.perf_counter()
        claims += module.experiment("tree")
        print(f"({module.__name__}: {time.perf_counter() - begun:.0f} s)\n", flush=True)
    closing = table(claims)
    (RESULTS / "closing.md").write_text(closing, encoding="utf-8")
    print(closing)
    print(f"{time.perf_counter() - start:.0f} s in all; files in {RESULTS.name}/")


if __name__ == "__main__":
    main()
