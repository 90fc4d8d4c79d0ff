"""The two pages of a release of baskets, and the chart of what baskets expose."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from reticent.pages import charts
from reticent.pages.page import MOST, command, page
from reticent.privacy import words
from reticent.transactions import report

if TYPE_CHECKING:
    from reticent.privacy.coherence import BasketExposure, Coherence
    from reticent.transactions.flow import BasketRelease

_MOST_BARS = 20


def public(release: BasketRelease) -> str:
    """The report that may be published: it names no item that is not there."""
    released = release.released
    supports = released.supports()
    often = np.argsort(-supports, kind="stable")
    rows = [(str(released.names[int(i)]), int(supports[i])) for i in often[:MOST]]
    drawn = [charts.Bar(name, count, matters=True) for name, count in rows[:_MOST_BARS]]
    return page(
        "transactions/templates/public.html",
        dict(report.facts(release).public)
        | _shared(release)
        | {
            "drawn": charts.bars("The most frequent items", "transactions", drawn),
            "rows": rows,
            "more": max(len(often) - MOST, 0),
            "policy": release.policy.shown_with(released.names.to_pylist()).canonical(),
        },
    )


def private(release: BasketRelease) -> str:
    """The report for the owner: which items went, and what the baskets exposed before."""
    gone, told = report.suppressed(release), report.facts(release).all
    return page(
        "transactions/templates/private.html",
        told
        | _shared(release)
        | {
            "loss": words.percent(release.loss),
            "search": release.search,
            "tried": {
                name: words.percent(Fraction(share).limit_denominator(10**6))
                for name, share in told["tried"].items()
            },
            "worst": report.worst(release),
            "gone": gone[:MOST],
            "more": max(len(gone) - MOST, 0),
            "levels": release.before,
            "drawn": exposed_chart(
                release.before, release.original.transactions, release.policy.promise
            ),
        },
    )


def exposed_chart(
    levels: Sequence[BasketExposure], transactions: int, promise: Coherence
) -> Markup:
    """How many people are singled out, stand among too few, or are told on, by what is known."""
    total = max(transactions, 1)
    kinds = [("unique", "unique"), (f"fewer than {promise.k}", "small")]
    if promise.h < 1:
        kinds.append((f"above {words.percent(promise.h)} sure", "sure"))
    series = []
    for name, key in kinds:
        counts = [(level.known, getattr(level, key)) for level in levels]
        points = [(known, 100 * count / total) for known, count in counts if count is not None]
        series.append(charts.Series(name, points))
    ticks = [level.known for level in levels if level.counted]
    return charts.lines(
        "People at risk by what is known", "items that somebody knows of a person",
        "of all people, in %", series, x_ticks=ticks,
    )  # fmt: skip


def _shared(release: BasketRelease) -> dict[str, Any]:
    promise = release.policy.promise_about(release.roles)
    return {
        "says": promise.plain_words,
        "emptiness": promise.emptiness,
        "k": promise.k,
        "h": words.measured(promise.h),
        "sure": promise.h < 1,
        "p": "any number of" if promise.p is None else f"up to {promise.p}",
        "unlimited": promise.p is None,
        "smallest": release.finding.smallest,
        "order": release.policy.order,
        "command": command(
            "reticent transactions release", release.reading.besides(release.policy.reading.told())
        ),
    }
