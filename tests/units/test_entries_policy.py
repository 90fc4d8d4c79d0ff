"""Policies about single entries: how they are read, and what is wrong with them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from at_hand import refusal
from reticent.data.columns import encode
from reticent.entries import Policy
from reticent.entries.asked import find
from reticent.entries.policy import REGIONS, Strategy

WHOLE = """\
conditions = ["sex", "education"]
sensitive = "occupation"
min_support = 60
min_confidence = 0.6
may_hide = ["sensitive-of-others", "conditions-of-sensitive"]
requests = "requests.csv"
publish = "must-publish.csv"
strategy = "random"
seed = 7
max_pattern = 4
id = "CustomerId"
keep = ["ward"]
drop = ["CustomerId"]
missing_values = ["?"]
"""
SHORT: dict[str, Any] = {
    "conditions": ["a", "b"], "sensitive": "s", "min_support": 1, "min_confidence": 0.5,
    "requests": [1],
}  # fmt: skip


def policy(**keys: Any) -> Policy:
    return Policy.of(SHORT | keys)


def test_every_key() -> None:
    found = Policy.parse(WHOLE)
    assert found.promise.min_confidence == Fraction(3, 5)
    assert found.promise.max_pattern == 4
    assert found.may_hide == ("sensitive-of-others", "conditions-of-sensitive")
    assert found.text == WHOLE
    assert Policy.parse(found.canonical()).model_dump() == found.model_dump()


def test_what_is_usual() -> None:
    found = policy()
    assert found.may_hide == REGIONS
    assert (found.strategy, found.seed, found.max_pattern) == ("max-descendant", 1, None)
    assert (found.publish, found.id, found.keep, found.drop) == (None, None, (), ())
    assert Policy.parse(found.canonical()).model_dump() == found.model_dump()


def test_the_search_knows_the_same_words() -> None:
    from typing import get_args

    from reticent.suppress.entries import search

    assert search.REGIONS == REGIONS
    assert get_args(Strategy) == search.STRATEGIES


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"conditions": []}, "name at least one"),
        ({"conditions": 3}, "list of names"),
        ({"may_hide": []}, "name at least one"),
        ({"may_hide": ["conditions"]}, "sensitive-of-others"),
        ({"min_support": -1}, "min_support"),
        ({"min_support": "60"}, "whole number, as 10, without quotes"),
        ({"min_confidence": 1.5}, "between 0 and 1"),
        ({"max_pattern": 0}, "max_pattern"),
        ({"seed": -1}, "seed"),
        ({"strategy": "best"}, "strategy"),
        ({"requests": 7}, "list records"),
        ({"requests": ""}, "name a file"),
        ({"requests": [True]}, "a number or an id"),
        ({"publish": [4]}, "record and column of each"),
        ({"publish": [[2, "a", 3]]}, "publish: list record and column of each"),
        ({"publish": [[2]]}, "publish: list record and column of each"),
        ({"publish": ["2a"]}, "publish: list record and column of each"),
        ({"requests": pa.table({"person": [4]})}, 'no column "record"'),
        ({"max_patern": 4}, 'Did you mean "max_pattern"'),
        ({"keep": ["a"]}, 'column "a" has 2 roles: conditions, keep'),
        ({"drop": ["s"]}, 'column "s" has 2 roles: sensitive, drop'),
        ({"sensitive": "b"}, 'column "b" has 2 roles: conditions, sensitive'),
        ({"id": "a"}, 'column "a" is the id, and a condition'),
    ],
)
def test_what_is_wrong(keys: dict[str, Any], said: str) -> None:
    refusal(lambda: policy(**keys), said)


def test_all_problems_at_once() -> None:
    text = "conditions = ['a']\nsensitive = 'a'\nmin_support = -1\nmin_confidense = 0.5\nid = 'a'\n"
    parts = "min_support", "min_confidense", "requests", "2 roles", "is the id"
    said = refusal(lambda: Policy.parse(text, source=Path("p.toml")), *parts).text()
    assert said.count("p.toml") >= 5
    assert said.startswith('p.toml: there is no key "min_confidense" here')  # why one is missing


def test_roles() -> None:
    columns = ["id", "s", "b", "x", "a", "y"]
    roles = policy(id="id", keep=["y"], drop=["x"]).roles(columns)
    assert roles.entries == ("a", "b", "s")  # as listed, the sensitive one last
    assert roles.kept == ("y",)
    assert roles.dropped == ("id", "x")  # an id that is not kept is not released
    assert roles.released == ("s", "b", "a", "y")
    assert policy(id="id", keep=["y", "id"], drop=["x"]).roles(columns).kept == ("id", "y")
    assert policy(id="id", keep="*").roles(columns).kept == ("x", "y")


def test_every_column_needs_a_role() -> None:
    given = policy(conditions=["a", "c"], keep=["wardd"])
    said = 'no column "c"', 'Did you mean "ward"?', '2 columns have no role: "b", "ward"'
    refusal(lambda: given.roles(["a", "b", "s", "ward"]), *said)


@pytest.mark.parametrize(
    "given",
    [
        [3, 1], (3, 1), ["3", "1"], {3: "", 1: ""}.keys(), np.array([3, 1]), pd.Series([3, 1]),
        pl.Series([3, 1]), pa.array([3, 1]), pd.DataFrame({"record": [3, 1], "why": ["x", "y"]}),
        pl.DataFrame({"record": ["3", "1"]}), pa.table({"record": [3.0, 1.0]}),
    ],
    ids=lambda given: type(given).__module__.partition(".")[0] + type(given).__name__,
)  # fmt: skip
def test_requests_in_python(given: Any) -> None:
    assert policy(requests=given).requests == ("3", "1")


def test_marks_in_python() -> None:
    wanted = (("3", "a"), ("1", "s"))
    frame = pd.DataFrame({"record": [3, 1], "column": ["a", "s"]})
    for given in ([(3, "a"), [1, "s"]], frame, pl.from_pandas(frame)):
        assert policy(publish=given).publish == wanted


def test_a_policy_without_its_lists_tells_of_nobody() -> None:
    found = policy(requests=["Alice"], publish=[("Bob", "a")]).beside_lists().canonical()
    assert "Alice" not in found
    assert "Bob" not in found
    assert 'requests = "requests.csv"' in found
    assert "publish" not in policy().beside_lists().canonical()


# --- who is meant --------------------------------------------------------------------------------


def asked(rows: int = 9, ids: list[Any] | None = None, **keys: Any) -> Any:
    given = policy(**({"id": "id"} if ids else {}), **keys)
    columns = ["id", "a", "b", "s", "w"] if ids else ["a", "b", "s", "w"]
    roles = Policy.of(given.model_dump() | {"keep": ["w"]}).roles(columns)
    return find(given, roles, rows, encode("id", pa.array(ids)) if ids else None)


def test_numbers_count_from_one() -> None:
    found = asked(requests=[9, 1, 9], publish=[(2, "a"), (2, "s"), (3, "w")])
    assert found.records.tolist() == [0, 8]
    assert np.argwhere(found.fixed).tolist() == [[1, 0], [1, 2]]  # "w" is published anyway
    assert found.warnings == ("1 request repeats an earlier one, and counts once.",)


def test_ids() -> None:
    ids = ["b 7", "007", "7", None]
    found = asked(rows=4, ids=ids, requests=["007", "b 7"])
    assert found.records.tolist() == [0, 1]
    assert found.names == ("b 7", "007")
    assert "1 record has no" in found.warnings[0]
    assert asked(rows=3, ids=[10, 20, 30], requests=[20]).records.tolist() == [1]


@pytest.mark.parametrize("wrong", ["0", "10", "-1", "x", "", "1.5", "9" * 30, "٣"])
def test_numbers_that_name_nobody(wrong: str) -> None:
    said = "1 of 2 requests name no record of the table; row 2 of the list"
    error = refusal(lambda: asked(requests=["1", wrong]), said)
    assert error.problems[0].values == (wrong,)


def test_all_that_is_wrong_with_lists_is_said_at_once() -> None:
    lists: dict[str, Any] = {
        "ids": ["Ann", "Bob", "Ann", "Eve"], "requests": ["Zoe", "Bob"],
        "publish": [("Yan", "a"), ("Bob", "colour"), ("Bob", "s")],
    }  # fmt: skip
    error = refusal(
        lambda: asked(rows=4, **lists), "name several records; first seen on rows 1, 3",
        "1 of 2 requests name no record", "1 of 3 marks name no record",
        "1 of 3 marks name no column", "both requested and marked", "record 2",
    )  # fmt: skip
    for name in ("Ann", "Bob", "Zoe", "Yan", "colour"):
        assert name not in error.text()
        assert name in error.text(show_values=True)


@pytest.mark.parametrize(
    ("content", "records"),
    [
        ("record\n2\n1\n", [0, 1]),
        ("\ufeffRecord;why\n2;privacy\n", [1]),
        ('record\n"3"\n\n 4 \n', [2, 3]),
        ("record\n", []),
    ],
)
def test_files_of_requests(content: str, records: list[int], tmp_path: Path) -> None:
    assert asked_in(tmp_path, content).records.tolist() == records


def asked_in(folder: Path, content: str, **keys: str) -> Any:
    (folder / "requests.csv").write_text(content, encoding="utf-8")
    (folder / "p.toml").write_text(policy(**{"requests": "requests.csv"} | keys).canonical())
    given = Policy.load(folder / "p.toml")
    return find(given, given.roles(["a", "b", "s"]), 9, None)


def test_lists_without_a_header_and_lists_that_are_not_there_tell_nothing(tmp_path: Path) -> None:
    said = "its first line must say  record", "there is no file"
    error = refusal(lambda: asked_in(tmp_path, "Alice\nBob\n", publish="none.csv"), *said)
    assert "Alice" not in error.text()
    hint = 'Did you mean "requests.csv"'
    refusal(lambda: asked_in(tmp_path, "record\n1\n", requests="request.csv"), hint)


def test_schema() -> None:
    found = Policy.json_schema()
    needed = ["conditions", "sensitive", "min_support", "min_confidence", "requests"]
    assert found["required"] == needed
    assert set(found["properties"]) == {*needed, "may_hide", "publish", "strategy", "seed",
                                        "max_pattern", "id", "keep", "drop", "missing_values", "reading", "about", "writing"}  # fmt: skip
