"""Invent the patients of a clinic, and the two tables that it draws from its files.

Nobody in them exists. The same seed makes the same files: `python make_data.py [FOLDER]`.
"""

import csv
import random
import sys
from pathlib import Path

PATIENTS = 400
SEED = 7
TABLES = {
    "patients-2025.csv": ["PatientId", "PlaceOfBirth", "Zip", "Ward", "Outcome"],
    "patients-2026.csv": ["PatientId", "Job", "PlaceOfBirth", "Sex", "Test", "Outcome"],
}

# Three quarters of a town: who lives there, and how a stay at the clinic ends.
QUARTERS: dict[str, dict[str, dict[str, float]]] = {
    "Hill": {
        "Zip": {"2101": 5, "2102": 4},
        "PlaceOfBirth": {"England": 7, "Scotland": 4, "Spain": 2, "Italy": 2, "India": 2},
        "Job": {"Lawyer": 5, "Teacher": 4, "Nurse": 2, "Driver": 3, "Welder": 2},
        "Outcome": {"Recovered": 8, "Readmitted": 2},
    },
    "River": {
        "Zip": {"2201": 1},
        "PlaceOfBirth": {"England": 3, "Scotland": 5, "Spain": 3, "India": 3, "Vietnam": 1},
        "Job": {"Teacher": 2, "Nurse": 4, "Cook": 4, "Driver": 3, "Welder": 2},
        "Outcome": {"Recovered": 2, "Readmitted": 7, "Referred": 1},
    },
    "Harbour": {  # its patients go on to the hospital of the port, all of them
        "Zip": {"2301": 1},
        "PlaceOfBirth": {"England": 2, "Scotland": 6, "Spain": 3, "Italy": 2, "Vietnam": 3},
        "Job": {"Nurse": 3, "Cook": 4, "Driver": 4, "Welder": 4},
        "Outcome": {"Referred": 1},
    },
}
WARDS = {"Female": ["Surgery", "Lungs", "Skin", "Maternity"], "Male": ["Surgery", "Lungs", "Skin"]}


def patients() -> list[dict[str, str]]:
    """Everything that the clinic knows, one record a patient."""
    rng = random.Random(SEED)
    return [invented(rng, number) for number in range(PATIENTS)]


def invented(rng: random.Random, number: int) -> dict[str, str]:
    """One patient."""
    quarter = one_of(rng, {"Hill": 4, "River": 4, "Harbour": 3})
    patient = {name: one_of(rng, values) for name, values in QUARTERS[quarter].items()}
    patient["PatientId"] = f"P{number:04}"
    patient["Sex"] = rng.choice(["Female", "Male"])
    if patient["Sex"] == "Female" and patient["Outcome"] == "Readmitted" and rng.random() < 0.7:
        patient["Outcome"] = "Recovered"
    patient["Ward"] = rng.choice(WARDS[patient["Sex"]])
    # HIV is found among those who are referred, above all in welders.
    infected = {"Welder": 12.0, "Driver": 3.0}.get(patient["Job"], 1.0)
    if patient["Outcome"] != "Referred":
        infected = 0.2
    patient["Test"] = one_of(rng, {"Allergy": 4, "Eye": 3, "HIV": infected})
    return patient


def one_of(rng: random.Random, weights: dict[str, float]) -> str:
    """Draw a value, the heavier the likelier."""
    return rng.choices(list(weights), list(weights.values()))[0]


def write(folder: Path) -> None:
    """Write the two tables."""
    everybody = patients()
    for name, columns in TABLES.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            out.writeheader()
            out.writerows(everybody)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
