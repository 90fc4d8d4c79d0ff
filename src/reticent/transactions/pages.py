"""The two pages of a release of baskets."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.pages import charts
from reticent.pages.page import MOST, command, page
from reticent.privacy import words
from reticent.transactions import report
from reticent.transactions.charts import exposed_chart

if TYPE_CHECKING:
    from reticent.transactions.report import BasketRelease

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


def _shared(release: BasketRelease) -> dict[str, Any]:
    promise = release.policy.promise_about(release.roles)
    return {
        "about": release.policy.about,
        "says": promise.plain_words,
        "field": promise.in_the_field(release.finding.smallest),
        "emptiness": promise.emptiness,
        "k": promise.k,
        "h": words.measured(promise.h),
        "sure": promise.h < 1,
        "p": "any number of" if promise.p is None else f"up to {promise.p}",
        "unlimited": promise.p is None,
        "smallest": release.finding.smallest,
        "order": release.policy.order,
        "command": command(
            "reticent transactions release",
            besides := release.reading.besides(release.policy.reads(None)),
            {"--separator": "tab" if besides.separator == "\t" else besides.separator},
        ),
    }
