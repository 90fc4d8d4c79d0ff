"""Leaving a few records out, if the policy allows it and it pays.

One rare person can keep a whole column from everybody. With ``suppress_records = 0.02`` up to 2 %
of the records may be left out of the release, which is then an ordinary release of the others: all
that is promised, searched and recounted is about them, as if the rest had never been there.

1. Search with the promise relaxed: so many records may end in groups that are too small.
2. Leave out whoever did, and whoever's group is too small without those, and so on.
3. Release what is left: first along the way of 1, then as far as it goes.
4. Bring back whom the cut that is taken can do with.

It pays if a tree that learns from the others errs clearly less, about everybody
(`tables.search.judge`), than one that learns from the release of everybody; without a class,
if more is told in all, though those left out tell nothing.

Records are left out for the sake of anonymity promises only. To leave out those who hold a
sensitive value, so that others look safe, would be to tell a lie about how frequent it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.linking import number_rows
from reticent.data.recode import at_values
from reticent.errors import InputError, Unsatisfiable
from reticent.tables.prepare import Prepared, part_of
from reticent.tables.search.greedy import UNBOUNDED, Effort
from reticent.tables.search.thorough import FEWEST_TO_JUDGE, chosen, find

if TYPE_CHECKING:
    from reticent.data.encode import Domain
    from reticent.progress import Watch
    from reticent.refine.engine import Step
    from reticent.tables.search.greedy import Found

Rows = NDArray[np.bool_]
Cut = Sequence[NDArray[np.int64]]  # by masked column: what each leaf is shown as
_ATTEMPTS = 3  # each with a quarter of the records of the one before


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Who was left out, and what the records were before: for the owner's eyes."""

    rows: Rows = field(repr=False)
    before: Prepared = field(repr=False)

    @property
    def count(self) -> int:
        """How many."""
        return self.before.table.count(self.rows)

    def differences(self, most: int = 5) -> Iterator[dict[str, Any]]:
        """How those left out differ from the others: the class, and every masked column.

        Quartiles of numbers; of texts the values whose shares differ most.
        """
        prepared = self.before
        counts = prepared.table.counts
        each = np.ones(prepared.table.rows, dtype=np.int64) if counts is None else counts
        sides = {"left_out": self.rows, "others": ~self.rows}
        columns: list[tuple[str, Domain | None]] = [(d.name, d) for d in prepared.domains]
        columns[:0] = [(prepared.roles.class_, None)] if prepared.roles.class_ else []
        for name, domain in columns:
            found: dict[str, Any] = {"column": name}
            if domain is not None and domain.scale is not None:
                points = domain.scale.points
                for who, rows in sides.items():
                    known = rows & (domain.codes < len(points))
                    part = np.bincount(domain.codes[known], each[known], len(points))
                    at = _quartiles(part) if part.any() else None
                    found[who] = at and [domain.scale.label(points[i]) for i in at]
                yield found
                continue
            column = prepared.cleaned.columns[name]
            texts = column.texts()
            shares = {
                who: np.bincount(column.codes[rows], each[rows], len(texts)) / int(each[rows].sum())
                for who, rows in sides.items()
            }
            apart = np.abs(shares["left_out"] - shares["others"])
            ranked = np.argsort(-apart, kind="stable")[:most].tolist()
            found["shares"] = [
                {"value": texts[code], **{who: float(share[code]) for who, share in shares.items()}}
                for code in ranked
            ]
            yield found


def _quartiles(counts: NDArray[Any]) -> list[int]:
    """At which value the first quarter, half and three quarters of some records end.

    >>> _quartiles(np.array([1, 0, 2, 1, 1]))
    [2, 2, 3]
    """
    ends = np.cumsum(counts)
    wanted = [int(q * (ends[-1] - 1)) for q in (0.25, 0.5, 0.75)]
    return [int(at) for at in np.searchsorted(ends, wanted, side="right")]


def find_leaving_out(
    prepared: Prepared, watch: Watch, effort: Effort = UNBOUNDED, *, alternative: int = 0
) -> tuple[Prepared, Found, LeftOut | None]:
    """Search, and leave out what may be and pays; the table of the release, and its cut.

    `alternative`: take another of the cuts found.
    """
    share, table = prepared.policy.suppress_records, prepared.table
    effort = effort.shared_by(3) if share else effort  # everybody, the relaxed promise, the others
    everybody = find(prepared, watch, effort)
    if prepared.policy.anonymity and not everybody.stopped_early and effort.max_steps is None:
        at_most = int(share * table.records)
        for attempt in range(_ATTEMPTS):
            most = int(share * table.records / 4**attempt)
            if not most:
                break
            relaxed = find(prepared, watch, effort, may_lose=most)
            out = stragglers(prepared, relaxed)
            if relaxed.stopped_early or not out.any():
                break
            if table.count(out) <= at_most:  # else those left out broke up groups of others
                others = _others(prepared, out, relaxed.steps, watch, effort)
                best = others and _if_it_pays(prepared, everybody, relaxed, others[1], out)
                if best:
                    return _bring_back(prepared, out, chosen(best, alternative), watch)
    return prepared, chosen(everybody, alternative), None


def _bring_back(
    prepared: Prepared, out: Rows, found: Found, watch: Watch
) -> tuple[Prepared, Found, LeftOut | None]:
    """Leave out only those whom the cut cannot do without, if it stays what it is with them."""
    shown = _shown(prepared, found)
    needed = out if shown is None else stragglers(prepared, replace(found, shown=tuple(shown)))
    for left in (needed, out) if (needed < out).any() else (out,):
        others = _others(prepared, left, found.steps, watch, Effort(rounds=1))
        if others is None:  # it may be that only those left out kept a confidence small
            continue
        rest, again = others
        if left is not out and not _tells_all_of(prepared, shown, _shown(prepared, again), ~out):
            continue  # where to cut an interval is learnt from the records that are there
        again = replace(
            again, rounds=found.rounds, number=found.number, alternatives=found.alternatives,
            error=None if found.error is None else _error(prepared, again, left),
        )  # fmt: skip
        return rest, again, LeftOut(left, prepared) if left.any() else None
    raise AssertionError("what was released a moment ago can be released")


def _error(prepared: Prepared, found: Found, out: Rows) -> float | None:
    from reticent.tables.search.judge import Judge

    shown = _shown(prepared, found, read=True)
    return None if shown is None else float(Judge(prepared).wrong(shown, out).mean())


def _tells_all_of(prepared: Prepared, cut: Cut | None, other: Cut | None, rows: Rows) -> bool:
    """Whether whatever one cut tells apart of some rows, another tells apart as well."""
    if cut is None or other is None:
        return False
    for first, second, domain in zip(cut, other, prepared.domains, strict=True):
        leaves = np.unique(domain.codes[rows])
        pairs = np.unique(np.stack([first[leaves], second[leaves]]), axis=1)
        if pairs.shape[1] > len(np.unique(pairs[1])):
            return False
    return True


def stragglers(prepared: Prepared, found: Found) -> Rows:
    """The records in groups that are too small, and those that are once these are gone."""
    columns = [
        shown[domain.codes] for shown, domain in zip(found.shown, prepared.domains, strict=True)
    ]
    out = np.zeros(prepared.table.rows, dtype=bool)
    promises = prepared.policy.anonymity
    widths = [int(column.max(initial=0)) + 1 for column in columns]
    over = [prepared.attributes(promise) for promise in promises]
    groups = [number_rows([columns[a] for a in p], [widths[a] for a in p])[0] for p in over]
    people = [prepared.of_marks(promise) for promise in promises]
    while True:
        small = out.copy()
        for promise, group, marks in zip(promises, groups, people, strict=True):
            of = marks[0] if marks else None
            small |= _sizes(group, out, prepared.table.counts, of)[group] < promise.k
        if (small == out).all():
            return out
        out = small


def _sizes(group: NDArray[np.int64], out: Rows, counts: Any, marks: Any) -> NDArray[np.int64]:
    """How many records each group has without some, or how many different marks above 0."""
    count = int(group.max(initial=0)) + 1
    if marks is None:
        each = None if counts is None else counts[~out]
        return np.bincount(group[~out], each, minlength=count).astype(np.int64)
    counted = ~out & (marks > 0)
    pairs = np.unique(group[counted] * (int(marks.max()) + 1) + marks[counted])
    return np.bincount(pairs // (int(marks.max()) + 1), minlength=count)


def _others(
    prepared: Prepared, out: Rows, way: Sequence[Step], watch: Watch, effort: Effort
) -> tuple[Prepared, Found] | None:
    """The release of the other records, along a way; None if there is none."""
    try:
        rest = part_of(prepared, ~out)
        return rest, find(rest, watch, effort, way=way)
    except (InputError, Unsatisfiable):  # they held the last of some value, or made others rarer
        return None


def _if_it_pays(
    prepared: Prepared, everybody: Found, relaxed: Found, others: Found, out: Rows
) -> Found | None:
    """The cut of the others, or one beside it, that tells clearly more than everybody's."""
    if others.stopped_early:
        return None
    if prepared.policy.utility == "classification":
        if prepared.table.records < FEWEST_TO_JUDGE:
            return None
        return _fewest_errors(prepared, everybody, relaxed, others, out)
    if prepared.policy.utility == "discernibility":
        # A record that is left out counts as if it could not be told from any other.
        n, left = prepared.table.records, prepared.table.count(out)
        pays = (n - left) ** 2 - others.worth + left * n < n**2 - everybody.worth
    elif prepared.policy.utility == "distortion":
        shown = _shown(prepared, others) or relaxed.shown
        all_of_them = np.ones_like(out)
        pays = _told(prepared, shown, ~out) > _told(prepared, everybody.shown, all_of_them)
    else:  # a user's own utility is of one table, and says nothing about two
        pays = False
    return others if pays else None


def _fewest_errors(
    prepared: Prepared, everybody: Found, relaxed: Found, others: Found, out: Rows
) -> Found | None:
    """The cut of the others by which everybody is told best: those left out must be, too.

    Else a cut would look good that hides what only those left out had.
    """
    from reticent.tables.search.judge import Judge, clearly_fewer

    judge = Judge(prepared)
    cuts = [replace(cut, alternatives=()) for cut in (others, *others.alternatives)]
    wrong = [judge.wrong(_shown(prepared, cut, read=True) or relaxed.shown, out) for cut in cuts]
    cuts = [replace(cut, error=float(w.mean())) for cut, w in zip(cuts, wrong, strict=True)]
    at = min(range(len(cuts)), key=lambda i: (int(wrong[i].sum()), cuts[i].bare))
    if not clearly_fewer(wrong[at], judge.wrong(everybody.shown), errors=2):
        return None
    ranked = sorted((cut for cut in cuts if cut is not cuts[at]), key=lambda cut: cut.error or 0)
    beside = tuple(replace(cut, number=i) for i, cut in enumerate(ranked, 1))
    return replace(cuts[at], rounds=others.rounds, number=0, alternatives=beside)


def _shown(prepared: Prepared, found: Found, *, read: bool = False) -> Cut | None:
    """What each leaf of a table is shown as by the cut of a part of it, in the order of leaves.

    None if it cannot be: without the only text of a column, what is left of it may be numbers.
    `read`: as a classifier reads it, to whom the marker among numbers tells nothing and is -1.
    That is how numbers look that only those left out had. How borders are printed is no matter.
    """
    shown = []
    for domain, of_part in zip(prepared.domains, found.limits.cuts.domains, strict=True):
        column, recoding = prepared.cleaned.columns[domain.name], found.recodings[domain.name]
        if of_part.rounded and of_part.scale is not None and recoding.intervals:
            recoding = at_values(recoding, of_part.scale)
        try:
            masked = recoding.apply(column)[0]
        except InputError:
            return None
        of_leaf = np.zeros(domain.size, dtype=np.int64)
        of_leaf[domain.codes] = masked.codes
        _, first, code = np.unique(of_leaf, return_index=True, return_inverse=True)
        codes = np.argsort(np.argsort(first))[code.reshape(-1)]
        if read and domain.scale is not None:
            labels = masked.texts()
            codes[[labels[label] == domain.marker for label in of_leaf.tolist()]] = -1
        shown.append(codes)
    return shown


def _told(prepared: Prepared, cut: Cut, rows: Rows) -> Fraction:
    """How much of their columns some records do not cover: 1 for each value shown as it is."""
    told, counts = Fraction(0), prepared.table.counts
    for shown, domain in zip(cut, prepared.domains, strict=True):
        alike = np.bincount(shown)[shown]  # leaves that are shown as each leaf is
        others = max(domain.size - 1, 1)
        of_row = (others - (alike - 1))[domain.codes[rows]]
        whole = int(of_row.sum() if counts is None else of_row @ counts[rows])
        told += Fraction(whole, others)
    return told
