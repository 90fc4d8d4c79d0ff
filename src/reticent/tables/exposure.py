"""What a table as it is tells: every promise measured before anything is masked."""

from __future__ import annotations

from reticent.privacy.promises import Anonymity, ours
from reticent.privacy.risk import Exposure, Known, small_groups, sure_inferences
from reticent.tables.prepare import Prepared


def exposures(prepared: Prepared, *, worst: int = 0) -> tuple[Exposure, ...]:
    """Measure every promise on the unmasked table."""
    found = []
    for promise in prepared.policy.promises:
        if promise.releases:
            from reticent.tables.previous.exposure import exposed

            if linked := exposed(prepared, promise, worst=worst):
                found.append(linked)
                continue
        columns = [prepared.cleaned.columns[name] for name in ours(promise.over)]
        known = Known(
            tuple(c.codes for c in columns), tuple(len(c.values) for c in columns),
            prepared.table.counts,
        )  # fmt: skip
        if isinstance(promise, Anonymity):
            found.append(small_groups(promise, known, prepared.of_marks(promise), worst=worst))
        else:
            sensitive = prepared.sensitive_marks(promise)
            found.append(sure_inferences(promise, known, sensitive, worst=worst))
    return tuple(found)
