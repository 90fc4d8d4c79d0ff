"""The two pages of a table with hidden entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from reticent.entries import report
from reticent.entries.original import commonest
from reticent.errors import few, many
from reticent.pages import charts
from reticent.pages.page import MOST, command, page, usefulness
from reticent.privacy import words

if TYPE_CHECKING:
    from reticent.entries.report import EntryRelease
    from reticent.privacy.entries import SafeEntries

_MOST_BARS = 20
_MOST_REQUESTS = 20
_MAY_HIDE = {
    "sensitive-of-others": "{} of others",
    "conditions-of-others": "conditions of others",
    "conditions-of-sensitive": "conditions of those who asked",
}


def public(release: EntryRelease) -> str:
    """The report that may be published: it tells of nobody, and shows no value."""
    return page(
        "entries/templates/public.html",
        dict(report.facts(release).public)
        | _shared(release)
        | {
            "kept": release.original.roles.kept,
            "commonest": _commonest(release),
            "policy": release.policy.beside_lists().canonical(),
            "lists": 1 if release.policy.publish is None else 2,
        },
    )


def private(release: EntryRelease) -> str:
    """The report for the owner: what was hidden where and why, and who was at risk before."""
    riskiest = report.exposures(release.original, release.before)
    # From which columns rules started that forced something to be hidden, and how much.
    rules = Counter(tuple(one["rule"]) for one in report.reasons(release) if one["rule"])
    return page(
        "entries/templates/private.html",
        report.facts(release).all
        | _shared(release)
        | {
            "before": release.before,
            "limit": release.policy.min_confidence,
            "unsafe_means": _unsafe(release.policy.promise),
            "largest": None if release.before.largest is None
            else words.measured(release.before.largest),
            "riskiest": [
                one | {"confidence": words.percent(Fraction(one["confidence"]))}
                for one in riskiest[:_MOST_REQUESTS]
            ],
            "more_riskiest": max(len(riskiest) - _MOST_REQUESTS, 0),
            "risk_chart": _risk_chart(release),
            "rules": release.search.rules,
            "reasons": list(islice(report.reasons(release), MOST)),
            "more_reasons": max(len(release.search.records) - MOST, 0),
            "by_rule": [(few(names), n) for names, n in rules.most_common(_MOST_BARS)],
            "more_rules": max(len(rules) - _MOST_BARS, 0),
            "method": _regions(release.search.method.split(" and "), release, "and"),
            "marks": int(release.original.asked.fixed.sum()),
            "utility": usefulness(
                release.utility, release.original.roles.sensitive, "nobody asked for it"
            ),
        },
    )  # fmt: skip


def _commonest(release: EntryRelease) -> str | None:
    """The share of the commonest value that is shown, if guessing it is surer than any rule."""
    hidden = release.original.hidden(release.search)[:, -1]
    most, every = commonest(release.original.codes.values[~hidden])
    share = Fraction(most, max(every, 1))
    return words.percent(share) if share > release.policy.min_confidence else None


def _shared(release: EntryRelease) -> dict[str, Any]:
    promise, roles = release.policy.promise, release.original.roles
    hidden = {roles.sensitive: 0} | release.hidden  # which comes first
    drawn = sorted(hidden, key=lambda n: (n != roles.sensitive, -hidden[n]))[:_MOST_BARS]
    bars = [charts.Bar(n, hidden[n], matters=hidden[n] > 0) for n in hidden if n in drawn]
    return {
        "about": release.policy.about,
        "columns": len(roles.released),
        "conditions": roles.conditions,
        "sensitive": roles.sensitive,
        "says": promise.plain_words(roles.sensitive),
        "field": promise.in_the_field,
        "empty": bool(promise.emptiness),
        "support": promise.min_support,
        "confidence": words.measured(promise.min_confidence),
        "pattern": promise.max_pattern,
        "others": len(release.search.records),
        "loss": words.percent(release.loss),
        "hidden": hidden,
        "drawn": charts.bars("Entries hidden besides the requests", "entries", bars),
        "not_drawn": len(hidden) - len(bars),
        "may_hide": _regions(release.policy.may_hide, release, "or"),
        "command": command(
            "reticent entries release", release.reading.besides(release.policy.reading.told())
        ),
    }


def _regions(names: Iterable[str], release: EntryRelease, last: str) -> str:
    """What may be hidden, or was, in words."""
    sensitive = release.original.roles.sensitive
    return words.joined((_MAY_HIDE[name].format(sensitive) for name in names), last)


def _unsafe(promise: SafeEntries) -> str:
    """What is wrong with an unsafe rule."""
    few, sure = promise.min_support, promise.min_confidence
    said = [f"more than {words.measured(sure)} sure"] if sure else []
    said += [f"followed by more than {many(few, 'record')}"] if few else []
    return words.joined(said or ["followed by anybody"])


def _risk_chart(release: EntryRelease) -> Any:
    """How many requests could be told with how much confidence, before anything else was hidden."""
    found = Counter(int(-(-one.confidence * 10 // 1)) for one in release.before.exposed)
    least = int(release.policy.min_confidence * 10)
    bars = [
        charts.Bar(f"{10 * i} to {10 * i + 10} %", found[i + 1], matters=found[i + 1] > 0)
        for i in range(least, 10)
    ]
    return charts.bars("Requests by the confidence of the strongest rule", "requests", bars)
