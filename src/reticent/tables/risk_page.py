"""What `risk` finds, together: what singles people out, how far promises are; and its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import listed
from reticent.pages import charts
from reticent.pages.page import MOST, page, page_place, write_private_page
from reticent.privacy.words import joined
from reticent.sources.addresses import shown_name
from reticent.sources.arrival import inputs
from reticent.tables import flow, report, singling, text

if TYPE_CHECKING:
    from reticent.data.columns import Table
    from reticent.files.tabular import Reading
    from reticent.progress import Watch
    from reticent.tables.policy import Policy
    from reticent.tables.report import Risk
    from reticent.tables.singling import SinglingOut

_BARS = 20  # columns that are drawn


@dataclass(frozen=True, slots=True)
class RiskFound:
    """Promises measured on the table as it is, what singles people out in it, or both."""

    promises: Risk | None = None
    sets: SinglingOut | None = None

    @property
    def text(self) -> str:
        """What a terminal shows."""
        if self.promises is not None:
            return text.risk(report.risk_facts(self.promises))
        return str(self.sets)

    @property
    def summary(self) -> dict[str, Any]:
        """What ``risk --json`` prints."""
        if self.promises is not None:
            return self.promises.summary()
        assert self.sets is not None
        return self.sets.summary()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading, and what is worth a look."""
        if self.promises is None:
            return self.sets.notes if self.sets else ()
        warnings = self.promises.prepared.foreseen
        return (*self.promises.prepared.table.notes, *(f"Warning: {w}" for w in warnings))


def risks(
    data: Any,
    policy: Path | None,
    *,
    columns: Sequence[str] | None,
    previous: Mapping[str, str | Path],
    singling_too: bool,
    reading: Reading | None,
    watch: Watch,
    table: str | None = None,
    **means: Any,
) -> RiskFound:
    """All that was asked for; promises only if there is a policy."""
    find = partial(singling.what_singles_out, data, columns=columns, watch=watch, **means)
    if policy is None:
        return RiskFound(sets=find(reading=reading, table=table))
    promises = flow.risk(
        data, policy, previous=previous, reading=reading, table=table, watch=watch, **means
    )
    if not singling_too:
        return RiskFound(promises)
    told = promises.prepared.policy
    as_read = partial(_as_told, told)
    return RiskFound(
        promises, find(reading=told.reads(reading, table), table=table, as_read=as_read)
    )


def _as_told(policy: Policy, rows: Table) -> Table:
    """A table without the blanks, spellings and missing values that a policy names."""
    from reticent.tables.prepare import as_meant, cleared

    return cleared(as_meant(rows, policy), policy)


def refuse_place(place: Path, data: Any, policy: Path | None, *, force: bool) -> None:
    """Refuse a page that could not be written in the end, before any work."""
    page_place(place, [*inputs(data), *([policy] if policy else [])], "what singles people out",
               force=force)  # fmt: skip


def write(found: RiskFound, place: Path, data: Any, *, force: bool) -> None:
    """Write the page, for its owner alone."""
    write_private_page(page_of(found, shown_name(data)), place, force=force)


def page_of(found: RiskFound, name: str) -> str:
    """The page; it names columns and counts, and no cell."""
    sets = found.sets
    assert sets is not None
    counted = sets.counted
    telling = sorted((c for c in counted.columns if c.unique_rows), key=lambda c: -c.unique_rows)
    silent = [c.name for c in counted.columns if not c.unique_rows]
    bars = [charts.Bar(c.name, c.unique_rows / counted.rows, i == 0) for i, c in enumerate(telling)]
    title = "Share of records that are the only ones with their value"
    promises = report.risk_facts(found.promises).private if found.promises else None
    return page(
        "tables/templates/risk.html",
        {
            "name": name,
            "rows": counted.rows,
            "column_count": len(counted.columns),
            "sentences": list(text.who_stands_alone(sets)),
            "chart_of_columns": bars
            and charts.bars(title, "of all records", bars[:_BARS], share=True),
            "drawn": min(len(bars), _BARS),
            "telling": len(telling),
            "silent": listed(silent, _BARS),
            "columns": [_line(sets, c) | {"name": c.name} for c in counted.columns[:MOST]],
            "more_columns": max(len(counted.columns) - MOST, 0),
            "minimal": [_line(sets, s) | {"names": joined(s.columns)} for s in counted.minimal],
            "sets": [_line(sets, s) | {"names": joined(s.columns)} for s in counted.sets],
            "minimal_means": text.MINIMAL,
            "missing_means": text.MISSING,
            "limits": list(text.not_counted(sets)),
            "promises": promises["promises"] if promises else [],
            "warnings": promises["warnings"] if promises else [],
        },
    )


def _line(sets: SinglingOut, one: Any) -> dict[str, Any]:
    """A column or a set as a table shows it."""
    fields = ("distinct", "missing", "unique_rows", "groups", "minimal")
    return {f: getattr(one, f) for f in fields if hasattr(one, f)} | {
        "share": text.share_of(sets.share(one))
    }
