"""The page of `transactions evaluate`: baskets before and after, for people who decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from reticent.pages import charts
from reticent.pages.page import page
from reticent.privacy import words
from reticent.privacy.coherence import BasketExposure
from reticent.transactions.charts import exposed_chart
from reticent.transactions.policy import BasketPolicy

_LOST = {
    "occurrences": "What people have: items in baskets",
    "items": "Different items",
    "nuggets": "Sets of items that stand together often",
}


def page_of(
    told: Mapping[str, Any],
    before: Sequence[BasketExposure],
    after: Sequence[BasketExposure],
    policy: BasketPolicy,
) -> str:
    """The page, from what ``transactions evaluate --json`` prints; it names no item."""
    promise, people = policy.promise, told["transactions"]
    return page(
        "transactions/templates/evaluation.html",
        {
            "about": policy.about,
            "transactions": people,
            "says": promise.plain_words,
            "k": promise.k,
            "h": words.measured(promise.h),
            "sure": promise.h < 1,
            "support": told["support"],
            "lost": [_lost(title, told[key]) for key, title in _LOST.items()],
            "ways": _ways(told),
            "ways_drawn": _ways_drawn(told),
            "levels": [*zip(before, after, strict=True)],
            "drawn": [
                exposed_chart(side, people, promise, beside)
                for side, beside in ((before, after), (after, before))
            ],
            "warnings": told["warnings"],
        },
    )


def _share(pair: Mapping[str, int]) -> float:
    return (pair["before"] - pair["after"]) / max(pair["before"], 1)


def _lost(title: str, pair: Mapping[str, int]) -> dict[str, Any]:
    """One kind of loss, on the scale from nothing to all."""
    share = words.about_percent(_share(pair))
    return {
        "title": title,
        **pair,
        "share": share,
        "chart": charts.scale(
            f"{title}: lost", ("nothing lost", "all lost"), (f"lost: {share}", _share(pair)), None
        ),
    }


def _ways(told: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """What this release loses, and other ways to keep the promise would."""
    ours = {key: _share(told[key]) for key in ("occurrences", "nuggets")}
    ways = {"this release": ours, **told["baselines"]}
    return [
        (_plain(name), *(words.about_percent(lost[key]) for key in ("occurrences", "nuggets")))
        for name, lost in ways.items()
    ]


def _ways_drawn(told: Mapping[str, Any]) -> Markup:
    bars = [charts.Bar("this release", _share(told["occurrences"]), matters=True)]
    bars += [
        charts.Bar(_plain(name), lost["occurrences"]) for name, lost in told["baselines"].items()
    ]
    title = "Occurrences lost by each way to keep the promise"
    return charts.bars(title, "occurrences lost", bars, share=True)


def _plain(way: str) -> str:
    """The name of a way without the method's own word for a set that breaks the promise."""
    return way.replace("mole", "risky set")
