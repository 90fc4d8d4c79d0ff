"""A profile on the disk: whole, private, and refused where it was damaged."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reticent.errors import InputError
from reticent.search.profile import Profile, ProfileNode, grown
from reticent.search.profile_file import read_profile, write_profile

DOCUMENTS = [["run", "marathon"], ["run"], ["run", "shoe"], ["shoe"], ["tea"], ["tea"]]


def written(tmp_path: Path) -> Path:
    place = tmp_path / "profile.json"
    write_profile(grown(DOCUMENTS, minsup=1, language="english", keywords=20), place)
    return place


def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    assert written(tmp_path).stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="exists already"):
        written(tmp_path)


def test_a_deep_tree_stays_whole(tmp_path: Path) -> None:
    node = ProfileNode(("bottom",), Fraction(1))
    for level in range(3000):
        node = ProfileNode((f"t{level}", "same"), Fraction(level + 2, 2), (node,))
    profile = Profile(5000, (node,), "none", None, 1, Fraction(1, 2))
    write_profile(profile, tmp_path / "deep.json")
    found = read_profile(tmp_path / "deep.json")
    assert [(one.label, one.support) for one in found.walk()] == [
        (one.label, one.support) for one in profile.walk()
    ]


CHANGES: list[dict[str, Any]] = [
    {"reticent": "index"}, {"version": 2}, {"documents": 0}, {"documents": "6"},
    {"documents": True}, {"documents": 10**13}, {"keywords": 0}, {"keywords": 1.5}, {"minsup": 0},
    {"delta": "2"}, {"delta": "x"}, {"delta": 0.6}, {"language": "klingon"}, {"language": None},
    {"nodes": {}}, {"nodes": [[0, ["a"], "1"]]}, {"nodes": [[-2, ["a"], "1"]]},
    {"nodes": [[-1, [], "1"]]}, {"nodes": [[-1, ["a/b"], "1"]]}, {"nodes": [[-1, [""], "1"]]},
    {"nodes": [[-1, ["a"], "0"]]}, {"nodes": [[-1, ["a"], "-1"]]}, {"nodes": [[-1, ["a"], 1]]},
    {"nodes": [[-1, ["a"], "1e9"]]}, {"nodes": [[-1, ["a"], "7"]]}, {"nodes": [[-1, ["a"]]]},
    {"nodes": [[-1, ["a"], "1"], [0, ["b"], "2"]]}, {"nodes": [[True, ["a"], "1"]]},
    {"nodes": [[-1, ["a"], "1" * 500]]}, {"words": []}, {"words": {"a": 1}},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_what_is_wrong_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    place = written(tmp_path)
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises(InputError, match="no profile, or it is damaged"):
        read_profile(place)


@pytest.mark.parametrize("key", ["documents", "nodes", "words", "language", "delta", "version"])
def test_what_is_missing_is_refused(tmp_path: Path, key: str) -> None:
    place = written(tmp_path)
    data = json.loads(place.read_text())
    del data[key]
    place.write_text(json.dumps(data))
    with pytest.raises(InputError, match="no profile, or it is damaged"):
        read_profile(place)


def test_any_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    place = written(tmp_path)
    whole = place.read_bytes()
    rng = random.Random(7)
    said: list[str] = []
    for _ in range(400):
        changed = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        place.write_bytes(changed[: rng.randrange(1, len(changed) + 1)])
        try:
            read_profile(place)
        except InputError as error:
            said.append(str(error))
    assert len(said) > 200
    assert not any("marathon" in words for words in said)


def test_no_file(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="cannot read it"):
            read_profile(place)
