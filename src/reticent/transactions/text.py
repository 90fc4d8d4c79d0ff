"""Reports about baskets as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reticent.errors import many
from reticent.privacy.words import NOTHING
from reticent.terminal.text import composed, table
from reticent.transactions.sweep_page import CALLED, change

if TYPE_CHECKING:
    from reticent.privacy.coherence import BasketExposure
    from reticent.releases.facts import Facts
    from reticent.transactions.evaluation import BasketEvaluation
    from reticent.transactions.policy import BasketPolicy, ItemRoles
    from reticent.transactions.report import BasketRisk, BasketVerdict
    from reticent.transactions.sweep_folder import BasketSweep

_EMPTY = f"It {NOTHING}"


def release(told: Facts) -> str:
    """What a release of baskets did, on one screen."""
    public, private = told.public, told.private
    items = private["items"]
    counts = {key: private[key] for key in ("items", "occurrences", "nuggets") if private[key]}
    lines = [
        f"{many(public['transactions'], 'transaction')} released; {items['suppressed']:,} of "
        f"{items['before']:,} items suppressed, {private['loss']:.2%} of all occurrences"
        + ("; stopped early, less might be suppressed." if public["stopped_early"] else "."),
        "",
        f"{_EMPTY if private['nothing'] else 'Kept, and recounted'}: {private['promise']}.",
        "",
        table(
            ["", "before", "after"],
            [[name, count["before"], count["after"]] for name, count in counts.items()],
        ),
    ]
    if len({*private["tried"].values()}) > 1:
        rows = [
            [f"{name} (released)" if name == private["method"] else name, f"{lost:.2%}"]
            for name, lost in private["tried"].items()
        ]
        lines += ["", table(["method", f"{private['lost_what']} lost"], rows)]
    if private["output"]:
        lines += ["", f"Written to {private['output']}, after recounting the promise on it."]
    return composed(lines)


def verdict(found: BasketVerdict, *, names: bool) -> str:
    """The verifier's word; with the names of items if they may be shown."""
    finding = found.finding
    lines = [
        f"{many(found.transactions, 'transaction')}, "
        f"{many(found.occurrences, 'occurrence')} of items."
    ]
    if finding.holds:
        lines.append(f"{_EMPTY if found.empty else 'The promise holds'}: {finding.promise.text}.")
    elif finding.holds is None:
        lines.append(
            f"Not decided: {finding.promise.text}; there are too many sets of items to look at "
            "them all."
        )
    else:
        lines += [f"BROKEN: {finding.promise.text}.", *_breaking(found, names=names)]
    return composed([*(f"ALTERED: {problem.text()}" for problem in found.altered), *lines])


def _breaking(found: BasketVerdict, *, names: bool) -> Iterator[str]:
    """What breaks a promise, and which part of it."""
    finding = found.finding
    assert finding.breaking is not None
    assert finding.support is not None
    size = len(finding.breaking)
    who = f"Knowing {many(size, 'public item')}" if size else "Knowing nothing"
    yield f"  {who} leaves {many(finding.support, 'transaction')}, k = {finding.promise.k:,}."
    sure = finding.confidence
    if sure is not None and sure > finding.promise.h:
        yield f"  {float(sure):.1%} of them hold the same private item, h = {finding.promise.h}."
    if not names:
        yield "  Items are hidden because they may be personal; --show-values shows them."
        return
    if size:
        yield "  Known: " + ", ".join(str(found.names[i]) for i in finding.breaking)
    if sure is not None and sure > finding.promise.h and finding.inferred is not None:
        yield f"  Told: {found.names[finding.inferred]}"


def risk(found: BasketRisk) -> str:
    """What baskets as they are tell."""
    return composed(
        [
            f"{many(found.transactions, 'transaction')}, {many(found.items, 'item')}: "
            f"{int(found.roles.public.sum()):,} public, "
            f"{int(found.roles.private.sum()):,} private.",
            "",
            _levels(found.levels, found.policy, found.roles, found.transactions),
        ]
    )


def _levels(
    levels: Sequence[BasketExposure], policy: BasketPolicy, roles: ItemRoles, transactions: int
) -> str:
    def share(count: int | None) -> str:
        return "not counted" if count is None else f"{count:,} ({count / max(transactions, 1):.1%})"

    sure = policy.promise.h < 1 and bool(roles.private.any())
    head = ["known items", "unique", f"among fewer than {policy.k}"]
    head += [f"above {policy.promise.h} sure", "largest confidence"] if sure else []
    rows = [
        [level.known, share(level.unique), share(level.small)]
        + ([share(level.sure), level.largest] if sure else [])
        for level in levels
    ]
    return table(head, rows)


def sweep(found: BasketSweep) -> str:
    """Every threshold of a sweep, a line each."""
    whole = found.floor
    rows: list[list[Any]] = []
    for point in found.points:
        if "infeasible" in point:
            said = "not known" if "undecided" in point else "no release"
            rows.append([point["threshold"], said, "-", "-", "-", ""])
            continue
        lost = None if whole["nuggets"] is None else whole["nuggets"] - point["nuggets"]
        rows.append(
            [
                point["threshold"],
                f"{point['suppressed']:,} of {whole['items']:,}",
                f"{point['loss']:.2%}",
                "-" if lost is None else f"{lost / max(whole['nuggets'], 1):.2%}",
                _part(point["unique"], whole["transactions"]),
                change(point),
            ]
        )
    head = [CALLED[found.threshold], "items gone", "occurrences lost", "itemsets lost"]
    lines = [
        f"{many(whole['transactions'], 'transaction')}, {many(whole['items'], 'item')}; the "
        f"promise: {found.promise}.",
        "",
        table([*head, "told apart", "what happens"], rows),
        "",
        "Told apart: by three of their items, of all transactions; as they were, "
        f"{_part(whole['unique'], whole['transactions'])}. Itemsets: those in "
        f"{whole['support']:,} or more.",
    ]
    if found.resumed:
        lines.append(f"\n{found.resumed} of these had been done before.")
    lines.append(
        f"\nWritten to {found.output}; open report.html there. Publish one of these releases at "
        "most: two of them can be joined."
    )
    return composed(lines)


def _part(count: int | None, whole: int) -> str:
    return "not counted" if count is None else f"{count / max(whole, 1):.1%}"


def evaluation(found: BasketEvaluation) -> str:
    """What a release costs and what it stops."""

    def lost(pair: tuple[int, int]) -> str:
        return f"{(pair[0] - pair[1]) / max(pair[0], 1):.2%}"

    kept = [
        ["items", *found.items, lost(found.items)],
        ["occurrences", *found.occurrences, lost(found.occurrences)],
        [f"itemsets in {found.support:,} or more", *found.nuggets, lost(found.nuggets)],
    ]
    others = [
        [name, f"{facts['occurrences']:.2%}", f"{facts['nuggets']:.2%}"]
        for name, facts in found.baselines.items()
    ]
    ours = ["this release", lost(found.occurrences), lost(found.nuggets)]
    return composed(
        [
            f"{many(found.transactions, 'transaction')}.",
            "",
            table(["", "before", "after", "lost"], kept),
            "",
            "People at risk, before:",
            _levels(found.before, found.policy, found.roles, found.transactions),
            "",
            "and after:",
            _levels(found.after, found.policy, found.roles, found.transactions),
            "",
            table(["way", "occurrences lost", "itemsets lost"], [ours, *others]),
        ]
    )
