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
        _shared(release)
        | {
            "items": len(released.names),
            "percent": round(100 * float(release.loss)),
            "drawn": charts.bars("The most frequent items", "transactions", drawn),
            "rows": rows,
            "more": max(len(often) - MOST, 0),
            "policy": release.policy.shown_with(released.names.to_pylist()).canonical(),
        },
    )


def private(release: BasketRelease) -> str:
    """The report for the owner: which items went, and what the baskets exposed before."""
    gone = report.suppressed(release)
    return page(
        "transactions/templates/private.html",
        _shared(release)
        | {
            "loss": words.percent(release.loss),
            "items": (len(release.original.names), len(release.released.names)),
            "occurrences": (release.original.occurrences, release.released.occurrences),
            "roles": (int(release.roles.public.sum()), int(release.roles.private.sum())),
            "warnings": (*release.roles.warnings, *release.warnings),
            "nuggets": report.nuggets(release.nuggets),
            "search": release.search,
            "tried": {
                name: words.percent(Fraction(share).limit_denominator(10**6))
                for name, share in report.tried(release).items()
            },
            "lost_what": "nuggets" if release.policy.utility == "itemsets" else "occurrences",
            "worst": report.worst(release),
            "gone": gone[:MOST],
            "more": max(len(gone) - MOST, 0),
            "levels": [_level(level) for level in release.before],
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
    series = [
        charts.Series(
            name,
            [
                (level.known, 100 * getattr(level, key) / total)
                for level in levels
                if getattr(level, key) is not None
            ],
        )
        for name, key in kinds
    ]
    ticks = [level.known for level in levels if level.counted]
    return charts.lines(
        "People at risk by what is known", "items that somebody knows of a person",
        "of all people, in %", series, x_ticks=ticks,
    )  # fmt: skip


def _shared(release: BasketRelease) -> dict[str, Any]:
    from reticent import __version__

    promise, secret = release.policy.promise, bool(release.roles.private.any())
    return {
        "version": __version__,
        "transactions": release.released.transactions,
        "says": promised(promise if secret else promise.model_copy(update={"h": Fraction(1)})),
        "k": promise.k,
        "h": words.measured(promise.h),
        "sure": promise.h < 1 and secret,
        "p": "any number of" if promise.p is None else f"up to {promise.p}",
        "unlimited": promise.p is None,
        "smallest": release.finding.smallest,
        "order": release.policy.order,
        "stopped_early": release.stopped_early,
        "command": command("reticent transactions release", release.reading),
    }


def promised(promise: Coherence) -> str:
    """A promise in words that need no statistics.

    >>> from reticent.privacy.coherence import Coherence
    >>> promised(Coherence(h=1, k=20, p=3))
    'Whoever knows up to 3 items of somebody finds at least 20 baskets with them.'
    """
    known = "any items" if promise.p is None else f"up to {promise.p} items"
    known = "one item" if promise.p == 1 else known
    sure = f", and cannot be more than {words.measured(promise.h)} sure of any private item"
    return (
        f"Whoever knows {known} of somebody finds at least {promise.k:,} "
        f"{'basket' if promise.k == 1 else 'baskets'} with {'it' if promise.p == 1 else 'them'}"
        f"{sure if promise.h < 1 else ''}."
    )


def _level(level: BasketExposure) -> dict[str, Any]:
    return {
        "known": level.known,
        "counted": level.counted,
        "unique": level.unique,
        "small": level.small,
        "sure": level.sure,
        "largest": words.measured(level.largest) if level.largest is not None else None,
    }
