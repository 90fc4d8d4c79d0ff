"""Reports as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.privacy.promises import Anonymity, Promise

if TYPE_CHECKING:
    from reticent.pipeline import Release, Risk
    from reticent.privacy.verify import Proof


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns aligned, numbers to the right.

    >>> print(table(["promise", "k"], [["a", 4], ["bc", 12]]))
    promise   k
    a         4
    bc       12
    """
    cells = [list(head), *[[_cell(cell) for cell in row] for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    right = [
        all(isinstance(row[j], int | Fraction) or row[j] is None for row in rows)
        for j in range(len(head))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{value} ({float(value):.1%})"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _name(promise: Promise) -> str:
    over = ", ".join(promise.over)
    if isinstance(promise, Anonymity):
        return f"{over}: at least {promise.k} " + (", ".join(promise.of) or "records")
    return f"{over} → {', '.join(promise.sensitive)}: at most {promise.at_most}"


def release(found: Release) -> str:
    """What a release did, on one screen."""
    left_out = found.prepared.rows_in - found.sheet.rows
    lines = [
        f"{found.sheet.rows:,} rows released after {len(found.steps)} refinements"
        + (f"; {left_out:,} records with missing values left out" if left_out else "")
        + ("; stopped early, more could be revealed" if found.stopped_early else "")
        + ".",
        "",
        table(
            ["promise", "before", "after", "verified"],
            [
                [_name(f.promise), b.value, f.value, "yes" if f.holds else "NO"]
                for f, b in zip(found.proof.findings, found.before, strict=True)
            ],
        ),
        "",
        table(
            ["column", "mask", "values", "shown as"],
            [
                [name, found.recodings[name].mask, len(labels), _few(labels)]
                for name, labels in found.cuts.items()
            ],
        ),
    ]
    if found.output:
        lines += ["", f"Written to {found.output}, after recounting every promise on it."]
    return "\n".join(lines)


def _few(labels: Sequence[str], width: int = 60) -> str:
    shown: list[str] = []
    for label in labels:
        text = label or "(missing)"
        if shown and len("  ".join([*shown, text])) > width:
            return "  ".join(shown) + "  …"
        shown.append(text)
    return "  ".join(shown)


def risk(found: Risk) -> str:
    """How far an unmasked table is from its promises."""
    lines = [f"{found.prepared.table.rows:,} rows, before masking.", ""]
    for exposure in found.exposures:
        promise = exposure.promise
        lines.append(_name(promise))
        if isinstance(promise, Anonymity):
            lines.append(
                f"  {exposure.groups:,} groups, the smallest of {exposure.value:,}; "
                f"{exposure.breaking:,} records stand in groups below {promise.k}."
            )
        else:
            above = ", ".join(f"{n:,} above {level}" for level, n in exposure.above.items())
            lines.append(
                f"  the surest inference has confidence {_cell(exposure.value)}; "
                f"{exposure.breaking:,} inferences are above {promise.at_most} ({above})."
            )
    return "\n".join(lines)


def proof(found: Proof) -> str:
    """The verifier's word."""
    words = {True: "holds", False: "BROKEN", None: "not checkable: its `of` column is not here"}
    lines = [
        f"{found.rows:,} rows recounted.",
        "",
        table(
            ["promise", "found", "verdict"],
            [[_name(f.promise), f.value, words[f.holds]] for f in found.findings],
        ),
    ]
    lines += [problem.text() for problem in found.leftovers]
    return "\n".join(lines)
