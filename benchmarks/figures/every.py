"""Run every experiment and close with one table: what the papers say, and what came out here."""

from __future__ import annotations

import argparse
import csv
import sys
import time

import adult_anonymity
import adult_generalized
import attribute_ranking
import baskets
import confidence_bounding
import credit_anonymity
import deviations
import entries
import genetic_algorithm
import inference_counts
import private_search
import scalability
import sequence
import several_templates
import taxonomy_choice
from datasets import NoData, adult
from experiment import RESULTS, Claim

EXPERIMENTS = (
    adult_anonymity, adult_generalized, taxonomy_choice, attribute_ranking, several_templates,
    credit_anonymity, confidence_bounding, deviations, inference_counts, genetic_algorithm,
    scalability, sequence, baskets, entries, private_search,
)  # fmt: skip
HEADS = ("experiment", "paper", "ours", "within?", "J48 on the same data")


def kept_claims(pattern: str) -> list[Claim]:
    """What the last runs said."""
    found = []
    for path in (RESULTS / pattern.format(module.__name__) for module in EXPERIMENTS):
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    within = {"True": True, "False": False}.get(row.pop("within"))
                    found.append(Claim(**row, within=within))
    return found


def table(claims: list[Claim], second: list[Claim]) -> str:
    """The closing table, as Markdown."""
    words = {True: "yes", False: "NO", None: "-"}
    opinions = {claim.experiment: f"{claim.ours} ({words[claim.within]})" for claim in second}
    rows = [HEADS, ("---",) * len(HEADS)]
    for claim in claims:
        opinion = opinions.get(claim.experiment, "").removesuffix(" (-)")
        rows.append((claim.experiment, claim.paper, claim.ours, words[claim.within], opinion))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--closing", action="store_true", help="only the table, of the last runs")
    asked = parser.parse_args()
    try:
        adult()
    except NoData as missing:
        sys.exit(str(missing))
    start = time.perf_counter()
    for module in () if asked.closing else EXPERIMENTS:
        begun = time.perf_counter()
        module.experiment("tree")
        print(f"({module.__name__}: {time.perf_counter() - begun:.0f} s)\n", flush=True)
    closing = table(kept_claims("{}-claims.csv"), kept_claims("{}-claims.j48.csv"))
    (RESULTS / "closing.md").write_text(closing, encoding="utf-8")
    print(closing)
    print(f"{time.perf_counter() - start:.0f} s in all; files in {RESULTS.name}/")


if __name__ == "__main__":
    main()
