"""The chart of what baskets expose."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from reticent.pages import curves
from reticent.privacy import words
from reticent.privacy.coherence import BasketExposure, Coherence


def exposed_chart(
    levels: Sequence[BasketExposure],
    transactions: int,
    promise: Coherence,
    beside: Sequence[BasketExposure] = (),
) -> Markup:
    """How many people are singled out, stand among too few, or are told on, by what is known.

    `beside` is drawn in another chart, which has the same scale.
    """
    total = max(transactions, 1)
    kinds = [("unique", "unique"), (f"fewer than {promise.k}", "small")]
    if promise.h < 1:
        kinds.append((f"above {words.percent(promise.h)} sure", "sure"))
    both = (getattr(level, key) for level in (*levels, *beside) for _, key in kinds)
    most = max((count for count in both if count is not None), default=0)
    series = []
    for name, key in kinds:
        counts = [(level.known, getattr(level, key)) for level in levels]
        points = [(known, 100 * count / total) for known, count in counts if count is not None]
        series.append(curves.Series(name, points))
    ticks = [level.known for level in levels if level.counted]
    return curves.lines(
        "People at risk by what is known", "items that somebody knows of a person",
        "of all people, in %", series, x_ticks=ticks, y_most=100 * most / total,
    )  # fmt: skip
