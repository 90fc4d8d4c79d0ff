"""Mondial, a public database of countries: twelve tables whose join nobody could store."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pyarrow as pa
import pytest

from at_hand import public_data
from reticent.jointree.classification import classify
from reticent.jointree.flow import train

pytestmark = pytest.mark.data

# Country, what religion is called, and so on: the columns of each table in both versions.
COLUMNS = {
    "religion": "Country Name Percentage",
    "country": "Name Code Capital Province Area Population",
    "city": "Name Country Province Population Longitude Latitude",
    "politics": "Country Independence Dependent Government",
    "ethnicGroup": "Country Name Percentage",
    "language": "Country Name Percentage",
    "population": "Country Population_Growth Infant_Mortality",
    "economy": "Country GDP Agriculture Service Industry Inflation",
    "encompasses": "Country Continent Percentage",
    "isMember": "Country Organization Type",
    "continent": "Name Area",
    "organization": "Abbreviation Name City Country Province Established",
}
CHANGED = {
    "city": "Name Country Province Population Latitude Longitude Elevation",
    "politics": "Country Independence WasDependent Dependent Government",
    "economy": "Country GDP Agriculture Service Industry Inflation Unemployment",
}
NO_CANDIDATES = {"Name", "Capital", "Province", "City", "Country", "Code", "Continent", "Organization",
                 "Abbreviation"}  # fmt: skip
CHRISTIAN = re.compile(
    "Christ|Catholic|Protestant|Orthodox|Anglican|Methodist|Baptist|Church|Apostolic|Pentecost|Presbyt|"
    "Adventist|Jehova|Mormon|Episcopal|Evangelical|Quaker|Kimbanguist|Uni(ted|ting)|Ekalesia"
)  # fmt: skip
INSERT = re.compile(r"^\s*INSERT\s+INTO\s+(\w+)\s+VALUES\s*\(", re.MULTILINE | re.IGNORECASE)
VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|(NULL)|([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?))\s*([,)])")


def tables_of(text: str, columns: dict[str, str]) -> dict[str, pa.Table]:
    """The rows of INSERT statements, all cells as texts."""
    named = {name.lower(): name for name in columns}
    rows: dict[str, list[list[str | None]]] = {name: [] for name in columns}
    for found in INSERT.finditer(text):
        if found[1].lower() not in named:
            continue
        cells: list[str | None] = []
        at, end = found.end(), ","
        while end == ",":
            value = VALUE.match(text, at)
            assert value is not None
            quoted, null, number, end = value.groups()
            cells.append(None if null else number or (quoted or "").replace("''", "'"))
            at = value.end()
        rows[named[found[1].lower()]].append(cells)
    return {
        name: pa.table(
            {c: [row[i] for row in rows[name]] for i, c in enumerate(columns[name].split())},
            pa.schema([(c, pa.string()) for c in columns[name].split()]),
        )
        for name in columns
    }


def schema_of(columns: dict[str, str]) -> dict[str, Any]:
    keys = {"country": "Code"}
    near = [name for name in columns if name not in ("religion", "continent", "organization")]
    joins = [("religion.Country", f"{name}.{keys.get(name, 'Country')}") for name in near]
    joins += [("encompasses.Continent", "continent.Name")]
    joins += [("isMember.Organization", "organization.Abbreviation")]
    named = {"ethnicGroup", "language"}  # whose names several countries share
    tables = {
        name: {"candidates": [c for c in told.split() if c not in NO_CANDIDATES or (name in named and c == "Name")]}
        for name, told in columns.items()
    }  # fmt: skip
    return {
        "class": "religion.Origin", "tables": tables,
        "joins": [{"left": left, "right": right} for left, right in joins],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "changed", "counts", "religions"),
    [
        ("mondial/mondial-II/mondial-inputs-mysql.sql.gz", {}, (185_389, 367_132), (133, 454)),
        ("mondial/mondial-inputs.sql.gz", CHANGED, (205_365_184, 225_033_958), (914, 939)),
    ],
    ids=["II", "III"],
)
def test_the_join_has_the_rows_that_are_known_of_it(
    path: str, changed: dict[str, str], counts: tuple[int, int], religions: tuple[int, int]
) -> None:
    text = gzip.decompress(public_data(path).read_bytes()).decode("utf-8")
    columns = {**COLUMNS, **changed}
    tables = tables_of(text, columns)
    names = tables["religion"]["Name"].to_pylist()
    origin = ["Christian" if CHRISTIAN.search(name) else "other" for name in names]
    tables["religion"] = tables["religion"].append_column("Origin", pa.array(origin))
    made = train(schema_of(columns), tables)
    assert made.tree.root.counts == counts
    assert (made.joining, made.records) == religions
    assert made.rows == sum(counts)
    assert sum(classify(made.tree, made.schema, tables).rows) == made.rows
