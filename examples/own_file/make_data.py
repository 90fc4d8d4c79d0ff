"""Invent an export as hospitals make them: titles on top, semicolons, commas for points, umlauts.

Nobody in it exists. The same seed makes the same file: `python make_data.py [FOLDER]`.
"""

import csv
import random
import sys
from pathlib import Path

PATIENTS = 900
SEED = 11
TITLE = ["Klinik am See, Auszug aus der Patientenverwaltung", "Stand: 31.03.2026"]
COLUMNS = [
    "", "Fallnummer", "Patientennummer", "Nachname", "Geburtsdatum", "Geschlecht", "PLZ",
    "Aufnahme", "Verweildauer", "Leukozyten", "Diagnose", "Raucher", "Station", "Fax",
    "Bemerkungen", "Entlassung",
]  # fmt: skip
NAMES = ["Weiß", "Müller", "Rossi", "Öztürk", "Dubois", "Jansen", "Silva", "Keller", "Graf"]
DIAGNOSES = {"Herz": 5, "Lunge": 4, "Diabetes": 3, "Unfall": 3, "Depression": 2, "HIV": 1}
NOTES = [
    "",
    "",
    "",
    "ruft an unter 0171 5550123",
    "kommt mit Tochter, bitte um Rückruf am Abend",
    "ok",
]


def rows(draw: random.Random) -> list[list[str]]:
    """Every patient comes once or several times; the file is in the order of admissions."""
    stays = []
    for patient in range(PATIENTS):
        smokes = draw.choice("01")
        who = [
            str(40_000 + 7 * patient),
            draw.choice(NAMES),
            f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.{draw.randint(1932, 2004)}",
            draw.choice("wm"),
            draw.choice(["01067", "01099", "01127", "04103", "04109", "10115", "10117", "10243"]),
        ]
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            days = draw.randint(1, 9) + (6 if smokes == "1" else 0)
            count = "NA" if draw.random() < 0.1 else f"{draw.gauss(7, 2):.1f}".replace(".", ",")
            illness = draw.choices(list(DIAGNOSES), list(DIAGNOSES.values()))[0]
            better = draw.random() < (0.5 if smokes == "1" else 0.85)
            came = f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.2025"
            stays.append(
                [
                    *who, came, str(days), count, illness, smokes, "Innere", "", draw.choice(NOTES),
                    "gebessert" if better else "verlegt",
                ]
            )  # fmt: skip
    draw.shuffle(stays)
    return [[str(i), f"F{910_000 + 13 * i}", *stay] for i, stay in enumerate(stays, 1)]


def main(folder: Path) -> None:
    """Write the export."""
    with open(folder / "export.csv", "w", encoding="latin-1", errors="replace", newline="") as file:
        file.write("".join(f"{line}\r\n" for line in TITLE))
        csv.writer(file, delimiter=";").writerows([COLUMNS, *rows(random.Random(SEED))])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))
