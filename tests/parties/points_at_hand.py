"""Bytes that are no point of the group which may be used, each for another reason."""

from __future__ import annotations

from nacl import bindings as sodium

from reticent.parties import group

_FIELD = 2**255 - 19


def _bytes(number: int) -> bytes:
    return number.to_bytes(32, "little")


_ORDER_8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")

NO_POINTS = {
    "neutral": group.NEUTRAL,
    "order 2": _bytes(_FIELD - 1),
    "order 4": _bytes(0),
    "order 8": _ORDER_8,
    "neutral, not canonical": _bytes(_FIELD + 1),
    "not canonical": _bytes(_FIELD + 3),
    "not on the curve": _bytes(2),
    "outside the subgroup": sodium.crypto_core_ed25519_add(group.hashed(b"x"), _bytes(_FIELD - 1)),
    "all ones": b"\xff" * 32,
}
WRONG_LENGTHS = {
    "nothing": b"",
    "short": group.hashed(b"x")[:31],
    "long": group.hashed(b"x") + b"\0",
}
