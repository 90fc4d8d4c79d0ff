"""Invent the people of a city, and what was measured in the air and the water of its districts.

Nobody in them exists. The same seed makes the same files: `python make_data.py [FOLDER]`.
"""

import csv
import random
import sys
from collections.abc import Iterator
from pathlib import Path

SEED = 1
DISTRICTS = 60
PEOPLE = 600
TABLES = {
    "people.csv": ["person", "district", "age", "smoker", "ill"],
    "new_people.csv": ["person", "district", "age", "smoker"],
    "air.csv": ["reading", "district", "dust"],
    "water.csv": ["sample", "district", "source", "lead"],
}
Row = list[object]
NEW: list[Row] = [  # nobody looked at the water of D16, and where the third lives is not known
    ["P601", "D06", 22, "yes"],
    ["P602", "D16", 61, "no"],
    ["P603", "", 47, "no"],
    ["P604", "D25", 35, "no"],
    ["P605", "D31", 55, "yes"],
]


def invented(rng: random.Random) -> Iterator[tuple[str, Row]]:
    """The rows of all tables, each with the name of its table."""
    high_lead, high_dust = [], []
    readings = samples = 0
    for number in range(1, DISTRICTS + 1):
        district = f"D{number:02}"
        high_lead.append(rng.random() < 0.3)
        high_dust.append(rng.random() < 0.3)
        # Stations report as often as they like: mostly a few times, in some districts every day.
        for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 5, 120])):
            readings += 1
            dust = max(1, round(rng.gauss(34 if high_dust[-1] else 18, 4)))
            yield "air.csv", [f"A{readings:04}", district, dust]
        # One district in eight has never looked at its water.
        for _ in range(0 if number % 8 == 0 else rng.randint(1, 5)):
            samples += 1
            source = rng.choice(["tap", "tap", "well"])
            lead = max(0, round(rng.gauss(20 if high_lead[-1] else 5, 3)))
            yield "water.csv", [f"W{samples:03}", district, source, lead]
    for number in range(PEOPLE):
        home = rng.randrange(DISTRICTS)
        age, smoker = rng.randint(18, 90), rng.random() < 0.3
        risk = 0.1 + 0.05 * smoker + 0.65 * (high_lead[home] or high_dust[home])
        ill = "yes" if rng.random() < risk else "no"
        # Of one in fifty it is not known where they live.
        district = f"D{home + 1:02}" if rng.random() < 0.98 else ""
        smokes = "yes" if smoker else "no"
        yield "people.csv", [f"P{number + 1:03}", district, age, smokes, ill]
    yield from (("new_people.csv", row) for row in NEW)


def write(folder: Path) -> None:
    """Write all tables."""
    rows = [*invented(random.Random(SEED))]
    for name, columns in TABLES.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(columns)
            out.writerows(row for table, row in rows if table == name)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
