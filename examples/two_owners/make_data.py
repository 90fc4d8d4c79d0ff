"""Invent the tables of a bank and of a card company, some of whose customers are the same people.

Run it with a folder to write to; without one it writes beside itself.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

# What a job says of somebody's age and means.
JOBS = {
    "Cook": (30, 1), "Waiter": (26, 1), "Driver": (41, 2), "Electrician": (38, 2),
    "Clerk": (36, 4), "Teacher": (44, 5), "Engineer": (40, 7), "Lawyer": (46, 8),
}  # fmt: skip
HOMES = {"City": 4, "Suburb": 3, "Village": 2}
LIMITS = [1000, 2000, 3000, 5000, 8000]
BANK = ["Customer", "Phone", "Job", "Age", "Branch", "Risk"]
CARD = ["Customer", "Home", "Limit", "Arrears"]


def people(rng: random.Random, count: int) -> list[dict[str, object]]:
    """Invented customers, with what each of the two knows of them."""
    found = []
    for number in range(count):
        job = rng.choice([*JOBS])
        age, means = JOBS[job]
        years = min(max(round(rng.gauss(age, 9)), 18), 79)
        home = rng.choices([*HOMES], [*HOMES.values()])[0]
        wealth = means + rng.gauss(0, 2)
        limit = next((limit for limit in LIMITS if wealth < limit / 1000), LIMITS[-1])
        careful = (means > 2) + (limit > 2000) + (home != "City") + (years > 35)
        late = rng.random() < [0.9, 0.6, 0.35, 0.15, 0.05][careful]
        found.append(
            {
                "Customer": f"{70000 + number * 37 % 9973:05}",
                "Phone": f"555-01{rng.randrange(100):02}",
                "Job": job,
                "Age": years,
                "Branch": rng.choice(["East", "West"]),
                "Risk": "bad" if (late and rng.random() < 0.8) or rng.random() < 0.05 else "good",
                "Home": home,
                "Limit": limit,
                "Arrears": rng.choice(["Late", "Collection"]) if late else "None",
            }
        )
    return found


def main() -> None:
    """Write both tables; each owner has customers that the other does not have."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    rng = random.Random(11)
    everybody = people(rng, 700)
    for name, some, columns in (("bank", everybody[:620], BANK), ("card", everybody[90:], CARD)):
        (folder / name).mkdir(exist_ok=True)
        with open(folder / name / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            lines.writeheader()
            lines.writerows(rng.sample(some, len(some)))


if __name__ == "__main__":
    main()
