"""Policies about baskets: how they are read, and what is wrong with them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from at_hand import refusal
from reticent.errors import InputError
from reticent.transactions import Policy
from reticent.transactions.policy import Nuggets

WHOLE = """\
format = "long"
private = ["AdultToy", "s*"]
public = ["a*", "b?"]
h = 0.5
k = 3
p = "unlimited"
utility = "itemsets"
nuggets = { support = 0.4, size = "unlimited" }
method = "grow"
order = "input"
"""


def test_every_key() -> None:
    policy = Policy.parse(WHOLE)
    assert policy.private == ("AdultToy", "s*")
    assert policy.promise.h == Fraction(1, 2)
    assert policy.promise.p is None
    assert policy.nuggets == Nuggets.model_validate({"support": "2/5"})
    assert policy.method == "grow"
    assert policy.text == WHOLE
    assert Policy.parse(policy.canonical()).model_dump() == policy.model_dump()


def test_what_is_usual() -> None:
    policy = Policy.parse("private = []\nk = 5\n")
    assert policy.format == "basket"
    assert policy.public == ("*",)
    assert policy.promise.h == 1
    assert policy.p is None
    assert (policy.utility, policy.method, policy.order) == ("items", "best", "sorted")
    assert Policy.parse(policy.canonical()).model_dump() == policy.model_dump()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k = 3", "private: this key is needed here"),
        ("private = []", "k: this key is needed here"),
        ("private = ['a']\nk = 3", "private items need h"),
        ("private = []\nk = 0", "k"),
        ("private = []\nk = '3'", "whole number, as 10, without quotes"),
        ("private = []\nk = 3\np = 0", 'or "unlimited"'),
        ("private = []\nk = 3\np = true", 'or "unlimited"'),
        ("private = []\nk = 3\np = 2.5", 'or "unlimited"'),
        ("private = ['a']\nk = 3\nh = 0", "confidence of 0"),
        ("private = ['a']\nk = 3\nh = 1.5", "between 0 and 1"),
        ("private = ['']\nk = 3\nh = 1", "an item has a name"),
        ("private = []\nk = 3\nutility = 'itemsets'", "needs nuggets"),
        ("private = []\nk = 3\nnuggets = { support = 0 }", "share between 0 and 1"),
        ("private = []\nk = 3\nnuggets = { support = 1.5 }", "share between 0 and 1"),
        ("private = []\nk = 3\nnuggets = { suport = 1 }", 'Did you mean "support"'),
        ("private = []\nk = 3\nmetod = 'best'", 'Did you mean "method"'),
        ("private = []\nk = 3\nmethod = 'fast'", "method"),
        ("private = []\nk = 3\nseparator = '/'", 'write ",", ";"'),
        ("private = []\nk = 3\n[reading]\nseparator = ';'", "outside [reading]"),
        ("private = []\nk = 3\n[reading]\ndelimiter = ';'", "above it"),
        ("private = []\nk = 3\nformat = 'long'\nseparator = ';'", 'delimiter = ";"'),
        ("private = [\nk = 3", "line 1: the list of `private` is not closed"),
    ],
)
def test_what_is_wrong(text: str, said: str) -> None:
    refusal(lambda: Policy.parse(text, source=Path("p.toml")), said, "p.toml")


def test_all_problems_at_once() -> None:
    text = "private = 3\nk = 0\np = -1\nordr = 'input'"
    assert len(refusal(lambda: Policy.parse(text)).problems) == 4


def test_shares_and_counts() -> None:
    assert Nuggets.model_validate({"support": "1/3"}).least(10) == 4
    assert Nuggets.model_validate({"support": 0.1}).least(10) == 1
    assert Nuggets.model_validate({"support": 1}).least(10) == 1
    assert Nuggets.model_validate({"support": 7}).least(3) == 7


def test_roles() -> None:
    names = ["apple", "bun", "s1", "s2", "tea", "[x]"]
    roles = Policy.of(
        {"private": ["s*", "[x]"], "public": ["a*", "s1", "nothing"], "h": 1, "k": 2}
    ).roles(names)
    assert roles.public.tolist() == [True, False, False, False, False, False]
    assert roles.private.tolist() == [False, False, True, True, False, True]
    assert roles.warnings == ('public: "nothing" matches no item.',)


def test_a_typo_in_a_private_item() -> None:
    roles = Policy.of({"private": ["hiv-tets"], "h": 0.2, "k": 2}).roles(["hiv-test", "milk"])
    assert roles.warnings == ('private: "hiv-tets" matches no item, so it protects nothing.',)
    assert roles.hints[0].endswith('Did you mean "hiv-test"?')


def test_a_private_name_that_no_original_holds_is_refused_unless_it_may_be_absent() -> None:
    items, said = ["hiv-test", "milk"], {"private": ["hiv-tets", "gone", "s*"], "h": 0.2, "k": 2}
    with pytest.raises(InputError) as caught:
        Policy.of(said).roles(items, original=True)
    assert "hiv-test" not in caught.value.text()
    assert "hiv-test" in caught.value.text(show_values=True)
    assert '"hiv-tets", "gone"' in caught.value.text()
    allowed = Policy.of({**said, "allow_absent": True})
    for original in (True, False):
        told = allowed.roles(items, original=original).warnings
        assert told == ('private: "s*" matches no item, so it protects nothing.',)
    Policy.of({"private": ["milk", "s*"], "h": 0.2, "k": 2}).roles(items, original=True)
    assert "allow_absent = true" in allowed.canonical()


def test_patterns_tell_case() -> None:
    assert not Policy.of({"private": ["S*"], "h": 1, "k": 2}).roles(["s1"]).private.any()


def test_schema() -> None:
    assert Policy.json_schema()["required"] == ["private", "k"]
