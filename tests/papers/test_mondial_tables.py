"""Mondial, 12 tables that join: the rows and classes of a join that nobody builds."""

from __future__ import annotations

import pytest

from at_hand import public_data
from mondial import COLUMNS, FILES, KNOWN, OF_CHRISTIAN_ORIGIN, OTHER, Mondial, inserted, origin

VERSIONS = sorted(FILES)


def read(version: str) -> Mondial:
    public_data(FILES[version])
    return Mondial.read(version)


def test_statements_of_both_dialects_are_read() -> None:
    text = (
        "USE Mondial;\r\n\r\n"
        " INSERT INTO city VALUES ('Cote d''Ivoire (a), b','CI',NULL,-12,5.3,1e-2);\r\n"
        "insert into CITY values (NULL , '' ,'NULL', 0 , .5 ,\n -1);\n"
        "INSERT INTO mountain VALUES ('x', GeoCoord(1,2));\n"
    )
    assert list(inserted(text, COLUMNS)) == [
        ("city", ["Cote d'Ivoire (a), b", "CI", None, "-12", "5.3", "1e-2"]),
        ("city", [None, "", "NULL", "0", ".5", "-1"]),
    ]


@pytest.mark.parametrize("statement", ["('a', b, 1)", "('a','b')", "('a','b','c','d')", "('a"])
def test_a_statement_that_is_not_understood_is_refused(statement: str) -> None:
    with pytest.raises(ValueError, match="religion"):
        list(inserted(f"INSERT INTO religion VALUES {statement};", COLUMNS))


def test_no_religion_is_of_both_origins_or_guessed() -> None:
    assert not OF_CHRISTIAN_ORIGIN & OTHER
    with pytest.raises(ValueError, match="Jedi"):
        origin("Jedi")


@pytest.mark.data
@pytest.mark.parametrize("version", VERSIONS)
def test_the_join_has_the_known_rows_by_multiplication(version: str) -> None:
    assert read(version).size() == KNOWN[version]


@pytest.mark.data
@pytest.mark.parametrize("version", VERSIONS)
def test_no_code_that_joins_is_missing(version: str) -> None:
    mondial = read(version)
    for table, column in (
        *mondial.arms(),
        ("encompasses", "Continent"),
        ("isMember", "Organization"),
    ):
        assert None not in mondial.cells(table, column)
