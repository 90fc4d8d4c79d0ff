"""Keys of scores: the formula of the contract, and one order for everybody."""

from __future__ import annotations

import math
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent
from reticent import InputError
from reticent.data.keys import UNREAL, first_best, key
from reticent.errors import Broken
from reticent.parties.comparison import BITS
from reticent.refine.engine import highest_score
from reticent.refine.scores import _two_part_gains

real = st.floats(allow_nan=False, allow_infinity=False)
near = st.builds(lambda score, ulps: score + ulps * math.ulp(score), real, st.integers(-9, 9))
scores = st.lists(near.filter(math.isfinite), min_size=1, max_size=30)


def formula(score: float) -> int:
    [pattern] = struct.unpack("<q", struct.pack("<d", abs(score)))
    rounded = (pattern + 2**22) >> 23
    return -rounded if score < 0 else int(rounded)


@given(near.filter(math.isfinite))
def test_the_key_is_that_of_the_contract(score: float) -> None:
    assert key(score) == formula(score)
    assert abs(key(score)) + 1 < 2**BITS  # an owner plays one more, still in as many bits


@given(real.filter(lambda score: 1e-300 < abs(score) < 1e300), st.floats(-1, 1))
def test_a_key_keeps_thirty_bits(score: float, share: float) -> None:
    other = score * (1 + 2**-31 * share * 0.99)
    assert abs(key(score) - key(other)) <= 1
    assert key(score) != key(score * (1 + 2**-28))


@given(scores, st.data())
def test_the_best_of_all_is_the_best_among_the_bests_of_any_parts(
    found: list[float], data: st.DataObject
) -> None:
    owner = data.draw(st.lists(st.integers(0, 3), min_size=len(found), max_size=len(found)))
    parts = [[i for i, mine in enumerate(owner) if mine == number] for number in range(4)]
    bests = [part[first_best(np.array(found)[part])] for part in parts if part]
    # Equal keys go to whatever stands first: among parts, too, once they stand in tie order.
    bests.sort()
    assert bests[first_best(np.array(found)[bests])] == first_best(np.array(found))


@pytest.mark.parametrize("score", [math.nan, -math.nan, math.inf])
def test_what_is_no_number_is_never_chosen(score: float) -> None:
    assert key(score) >= UNREAL
    with pytest.raises(Broken):
        highest_score(np.array([3, 4, 5]), np.array([0.5, score, 1e300]))
    with pytest.raises(Broken):
        highest_score(np.array([3]), np.array([-math.inf]))


def test_a_learnt_border_is_the_first_of_equals() -> None:
    """Two cuts gain the same, but for the last digit, in which the later one is ahead."""
    ages = [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]
    rows = pa.table({"Age": ages, "Class": [*"abb", *"aaab", *"aaa"]})
    gains = _two_part_gains(np.array([7, 3]), np.array([[1, 2], [4, 3]]))
    assert gains[1] > gains[0]
    policy = {
        "class": "Class",
        "anonymity": [{"over": ["Age"], "k": 2}],
        "goal": {"search": "greedy", "score": "paper"},
    }
    release = reticent.release(rows, policy)
    assert release.steps[0].into == ("[1,2)", "[2,3]")
    assert release.proof.holds


@pytest.mark.parametrize("worth", [math.nan, math.inf, -math.inf, 1e251])
def test_a_utility_returns_numbers(worth: float) -> None:
    table = pa.table({"Job": ["a", "b"] * 4, "Age": [1, 2, 3, 4] * 2})
    policy = reticent.Policy.from_data(
        {"anonymity": [{"over": ["Job", "Age"], "k": 2}], "goal": {"utility": lambda _: worth}}
    )
    with pytest.raises(InputError, match="must be a number"):
        reticent.release(table, policy)
