"""Mondial, a public database of the world's countries, as the tables of one star.

    python benchmarks/figures/mondial.py II|III FOLDER      write the tables and a schema.toml

Two versions, Mondial-II in MySQL's dialect and Mondial-III in Oracle's, both as INSERT statements.
The star is the one of the experiments with many tables: religion, which holds the class, joins on
the country with country, city, politics, ethnicGroup, language, population, economy, encompasses
and isMember; encompasses joins with continent, isMember with organization.

How it is read, so that the join has the rows and the classes that are known of it (`KNOWN`):

1. The class is whether a religion's name is of Christian origin. `OTHER` are all names that are
   not; "United" of Mondial-II is the United Church and so Christian, as are Mormon, Jehovas
   Witnesses and Kimbanguist. What is not known here is refused rather than guessed.
2. No code of a country, continent or organization is null, and none is changed: joins are equality
   of text. `organization`'s own country, city and province are not joined.
3. Names, capitals, provinces, cities and codes would tell one country from another, and so cannot
   split; religion's own name is the class, and it has only its percentage. What an ethnic group or
   a language is called may split: several countries share it.
4. NULL is an empty cell. Dates are ISO dates already, as both versions write them.
5. Mondial-II writes a city's longitude before its latitude, Mondial-III after: the columns stand in
   the order of each version's own schema.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from datasets import NoData, folder

Cell = str | None
Rows = list[list[Cell]]

FILES = {
    "II": "mondial/mondial-II/mondial-inputs-mysql.sql.gz",
    "III": "mondial/mondial-inputs.sql.gz",
}

COLUMNS = {
    "religion": ("Country", "Name", "Percentage"),
    "country": ("Name", "Code", "Capital", "Province", "Area", "Population"),
    "city": ("Name", "Country", "Province", "Population", "Longitude", "Latitude"),
    "politics": ("Country", "Independence", "Dependent", "Government"),
    "ethnicGroup": ("Country", "Name", "Percentage"),
    "language": ("Country", "Name", "Percentage"),
    "population": ("Country", "Population_Growth", "Infant_Mortality"),
    "economy": ("Country", "GDP", "Agriculture", "Service", "Industry", "Inflation"),
    "encompasses": ("Country", "Continent", "Percentage"),
    "isMember": ("Country", "Organization", "Type"),
    "continent": ("Name", "Area"),
    "organization": ("Abbreviation", "Name", "City", "Country", "Province", "Established"),
}  # fmt: skip
CHANGED = {  # by Mondial-III
    "city": ("Name", "Country", "Province", "Population", "Latitude", "Longitude", "Elevation"),
    "politics": ("Country", "Independence", "WasDependent", "Dependent", "Government"),
    "economy": (*COLUMNS["economy"], "Unemployment"),
}  # fmt: skip
JOINS = (
    ("religion.Country", "country.Code"),
    ("religion.Country", "city.Country"),
    ("religion.Country", "politics.Country"),
    ("religion.Country", "ethnicGroup.Country"),
    ("religion.Country", "language.Country"),
    ("religion.Country", "population.Country"),
    ("religion.Country", "economy.Country"),
    ("religion.Country", "encompasses.Country"),
    ("religion.Country", "isMember.Country"),
    ("encompasses.Continent", "continent.Name"),
    ("isMember.Organization", "organization.Abbreviation"),
)
NO_CANDIDATES = {  # besides what joins
    "religion": {"Name"},
    "country": {"Name", "Capital", "Province"},
    "city": {"Name", "Province"},
    "organization": {"Name", "City", "Country", "Province"},
}
CLASS = "Origin"
CHRISTIAN, NOT_CHRISTIAN = "Christian", "other"

OF_CHRISTIAN_ORIGIN = frozenset({
    "African Methodist Episcopal", "Anglican", "Armenian Apostolic", "Baptist", "Catholic",
    "Christian", "Christian Congregationalist", "Christian Orthodox", "Church Christ",
    "Church Tuvalu", "Church of God", "Coptic Christian", "Ekalesia Niue", "Episcopalian",
    "Evangelical Alliance", "Jehovas Witnesses", "Kimbanguist", "Methodist", "Mormon",
    "New Apostolic", "Pentecostal", "Presbyterian", "Protestant", "Quaker", "Roman Catholic",
    "Seventh-Day Adventist", "Tewahedo Christian Orthodox", "United", "United Church",
    "Uniting Church Australia",
})  # fmt: skip
OTHER = frozenset({
    "African Religions", "Bahai", "Buddhist", "Cao Dai", "Chendoism", "Chondogyo", "Confucianism",
    "Druze", "Hindu", "Hoa Hao", "Indigenous Beliefs", "Inuit spiritism", "Jains", "Jewish",
    "Judaism", "Korean Shamanism", "Mayan", "Muslim", "Rastafarian", "Sarnaism", "Satsana Phi",
    "Shintoist", "Sikh", "Taoist", "Vietnamese Folk Religion", "Voodoo", "Yazidi",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """What the join of a version has: rows by class, and what of religion is in it."""

    christian: int
    other: int
    religions: int  # rows of religion that join with something
    countries: int

    @property
    def rows(self) -> int:
        return self.christian + self.other


KNOWN = {
    "II": Size(185_389, 367_132, 133, 57),
    "III": Size(205_365_184, 225_033_958, 914, 233),
}


# --- Reading ----------------------------------------------------------------------------------

# A statement of these files holds no comment and no backslash; a quote within a text is doubled.
INSERT = re.compile(r"^\s*INSERT\s+INTO\s+(\w+)\s+VALUES\s*\(", re.MULTILINE | re.IGNORECASE)
VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|(NULL)|([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?))\s*([,)])")


def inserted(text: str, tables: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[Cell]]]:
    """The rows that INSERT statements put into some tables, each with its table's name.

    >>> list(inserted("INSERT INTO CITY VALUES ('N''Djamena', NULL,-1.50);", {"city": "abc"}))
    [('city', ["N'Djamena", None, '-1.50'])]
    """
    named = {name.lower(): name for name in tables}
    for found in INSERT.finditer(text):
        name = named.get(found[1].lower())
        if name is None:
            continue
        cells: list[Cell] = []
        place, closed = found.end(), False
        while not closed:
            value = VALUE.match(text, place)
            if value is None:
                raise ValueError(f"row {found[0].strip()}: no value at character {place}")
            quoted, null, number, end = value.groups()
            cells.append(None if null else number or quoted.replace("''", "'"))
            place, closed = value.end(), end == ")"
        if len(cells) != len(tables[name]):
            raise ValueError(f"a row of {name} has {len(cells)} cells, not {len(tables[name])}")
        yield name, cells


def origin(name: Cell) -> str:
    """The class of a religion."""
    if name in OF_CHRISTIAN_ORIGIN:
        return CHRISTIAN
    if name in OTHER:
        return NOT_CHRISTIAN
    raise ValueError(f"nobody has said whether {name!r} is of Christian origin")


@dataclass(frozen=True, slots=True)
class Mondial:
    """One version: the columns and rows of its tables; religion's last column is the class."""

    version: str
    columns: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, Rows]

    @classmethod
    def read(cls, version: str) -> Mondial:
        path = folder() / FILES[version]
        if not path.is_file():
            raise NoData(
                f"{path} is not there: set RETICENT_DATA to the folder of public data sets"
            )
        with gzip.open(path, "rt", encoding="utf-8") as file:
            text = file.read()
        columns = {**COLUMNS, **(CHANGED if version == "III" else {})}
        rows: dict[str, Rows] = {name: [] for name in columns}
        for name, cells in inserted(text, columns):
            rows[name].append(cells)
        for row in rows["religion"]:
            row.append(origin(row[1]))
        columns["religion"] += (CLASS,)
        return cls(version, columns, rows)

    def cells(self, table: str, column: str) -> list[Cell]:
        place = self.columns[table].index(column)
        return [row[place] for row in self.rows[table]]

    def candidates(self, table: str) -> list[str]:
        """The columns that may split."""
        joined = {end.partition(".")[2] for pair in JOINS for end in pair
                  if end.partition(".")[0] == table}  # fmt: skip
        no = NO_CANDIDATES.get(table, set()) | joined | {CLASS}
        return [name for name in self.columns[table] if name not in no]

    # --- What is known of the join, by multiplication: it is never built ----------------------

    def joined_rows(self) -> list[int]:
        """How many rows of the join hold each row of religion."""
        behind = {"continent": Counter(self.cells("continent", "Name")),
                  "organization": Counter(self.cells("organization", "Abbreviation"))}  # fmt: skip
        arms = [Counter(self.cells(table, column)) for table, column in self.arms()]
        for table, far, column in (("encompasses", "continent", "Continent"),
                                   ("isMember", "organization", "Organization")):  # fmt: skip
            arm: Counter[Cell] = Counter()
            for country, key in zip(
                self.cells(table, "Country"), self.cells(table, column), strict=True
            ):
                arm[country] += behind[far][key]
            arms.append(arm)
        return [prod(arm[country] for arm in arms) for country in self.cells("religion", "Country")]

    @staticmethod
    def arms() -> list[tuple[str, str]]:
        """The tables that religion joins with and that join with nothing else."""
        near = [right.split(".") for left, right in JOINS if left == "religion.Country"]
        return [(table, column) for table, column in near
                if table not in ("encompasses", "isMember")]  # fmt: skip

    def size(self) -> Size:
        weights = self.joined_rows()
        by_class: Counter[Cell] = Counter()
        for label, weight in zip(self.cells("religion", CLASS), weights, strict=True):
            by_class[label] += weight
        countries = self.cells("religion", "Country")
        met = {name for name, weight in zip(countries, weights, strict=True) if weight}
        return Size(by_class[CHRISTIAN], by_class[NOT_CHRISTIAN],
                    sum(weight > 0 for weight in weights), len(met))  # fmt: skip

    # --- Writing ------------------------------------------------------------------------------

    def write(self, place: Path, grow: str = "", keep: str = "inner") -> Path:
        """Write every table as CSV, and the schema beside them."""
        place.mkdir(parents=True, exist_ok=True)
        for name, columns in self.columns.items():
            with (place / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows(self.rows[name])
        schema = place / "schema.toml"
        schema.write_text(self.schema(grow, keep), encoding="utf-8")
        return schema

    def schema(self, grow: str = "", keep: str = "inner") -> str:
        """The schema of the star; `grow` are lines of its [grow]."""
        said = [f'class = "religion.{CLASS}"']
        for name in self.columns:
            said += [f"[tables.{name}]", f'path = "{name}.csv"',
                     f"candidates = {json.dumps(self.candidates(name))}"]  # fmt: skip
        for left, right in JOINS:
            said += ["[[joins]]", f'left = "{left}"', f'right = "{right}"']
            said += [] if keep == "inner" else [f'keep = "{keep}"']
        return "\n".join([*said, "[grow]", grow]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", choices=list(FILES))
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    mondial = Mondial.read(asked.version)
    found = mondial.size()
    print(
        f"{mondial.write(asked.folder)}: its join has {found.rows:,} rows, {found.christian:,} of "
        f"them of Christian religions; {found.religions:,} religions of {found.countries:,} "
        "countries join"
    )


if __name__ == "__main__":
    main()
