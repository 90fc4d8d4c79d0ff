"""Points and scalars: the laws of the group, and what is no point of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.points_at_hand import NO_POINTS, WRONG_LENGTHS
from reticent.parties import group
from reticent.parties.group import NoPoint

BAD = NO_POINTS | WRONG_LENGTHS


@pytest.mark.parametrize("why", BAD)
def test_times_refuses_what_checked_refuses(why: str) -> None:
    for use in (group.checked, lambda point: group.times(group.random_scalar(), point)):
        with pytest.raises(NoPoint):
            use(BAD[why])


@pytest.mark.parametrize("why", BAD)
def test_one_bad_point_among_many_is_found(why: str) -> None:
    points: list[bytes] = [group.hashed(b"%d" % i) for i in range(150)]
    points[120] = BAD[why]
    for use in (group.checked_all, lambda many: group.times_all(group.random_scalar(), many)):
        with pytest.raises(NoPoint):
            use(points)


@settings(max_examples=30)
@given(st.binary(max_size=80))
def test_content_hashes_to_a_usable_point(content: bytes) -> None:
    assert group.checked(group.hashed(content)) == group.hashed(content)
    assert group.hashed(content) != group.hashed(content + b"\0")


def test_hashing_stays_what_it_is() -> None:
    """Owners with different versions of ours would find nothing in common."""
    assert group.hashed(b"someone").hex() == HASH_OF_SOMEONE


HASH_OF_SOMEONE = "852b40abe95e8fe96e6f2c1cf224c803797e1c68de7c569b3b1e9ed170e80137"


@settings(max_examples=15)
@given(st.lists(st.binary(max_size=8), max_size=5), st.booleans())
def test_blinding_commutes_and_comes_off(contents: list[bytes], many: bool) -> None:
    contents = contents * (100 if many else 1)  # on all cores, or here
    first, second = group.random_scalar(), group.random_scalar()
    both = group.times_all(second, group.hashed_times_all(first, contents))
    assert both == group.times_all(first, group.hashed_times_all(second, contents))
    once = group.times_all(group.inverse(second), both)
    assert once == [group.times(first, group.hashed(content)) for content in contents]


@given(st.integers(1, 2**60), st.integers(1, 2**60), st.integers(0, 3))
def test_multiples_of_the_base_add_up(first: int, second: int, more: int) -> None:
    a, b = group.scalar(first), group.scalar(second)
    assert group.plus(group.base_times(a), group.base_times(b)) == group.base_times(
        group.scalar(first + second)
    )
    assert group.product_plus(a, b, more) == group.scalar(first * second + more)
    assert group.times(a, group.base_times(b)) == group.base_times(group.scalar(first * second))


def test_sums_may_be_neutral() -> None:
    base, last = group.base_times(group.scalar(1)), group.base_times(group.scalar(-1))
    assert group.plus(base, last) == group.NEUTRAL
    assert group.plus(group.NEUTRAL, base) == group.minus(base, group.NEUTRAL) == base
    assert group.minus(group.NEUTRAL, base) == last


def test_scalars_are_random_and_never_0() -> None:
    drawn = {group.random_scalar() for _ in range(200)}
    assert len(drawn) == 200
    assert all(0 < int.from_bytes(one, "little") < group.ORDER for one in drawn)
    for zero in (0, group.ORDER, -group.ORDER):
        with pytest.raises(ValueError, match="never 0"):
            group.scalar(zero)


def test_points_travel_in_order_and_number() -> None:
    points = [group.hashed(b"%d" % i) for i in range(5)]
    assert group.apart(group.joined(points), 5) == points
    assert group.apart(b"", 0) == []
    for count in (4, 6, 0):
        with pytest.raises(NoPoint):
            group.apart(group.joined(points), count)
    with pytest.raises(NoPoint):
        group.apart(group.joined(points)[:-1], 5)
