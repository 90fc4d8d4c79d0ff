"""What the flows have to say, as plain data and in words; front ends only print it."""

from __future__ import annotations

import html as markup
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.privacy.promises import Anonymity, ours

if TYPE_CHECKING:
    from reticent.data.recode import Recoding
    from reticent.data.taxonomy import Taxonomy
    from reticent.files.sheets import Sheet
    from reticent.privacy.verify import Proof
    from reticent.tables.flow import Risk
    from reticent.tables.result import Release
    from reticent.tables.search.greedy import Found


def plain(value: int | Fraction | None) -> int | str | None:
    """A measured value as JSON carries it: counts as numbers, confidences as exact text.

    >>> plain(4), plain(Fraction(2, 6)), plain(Fraction(1))
    (4, '1/3', '1')
    """
    return str(value) if isinstance(value, Fraction) else value


def shown_labels(sheet: Sheet, recodings: Mapping[str, Recoding]) -> dict[str, list[str]]:
    """Every label that each masked column shows: intervals rising, others by code point."""
    shown = {}
    for name, values in zip(sheet.names, sheet.values, strict=True):
        if name in recodings:
            rising = {interval.label: i for i, interval in enumerate(recodings[name].intervals)}
            labels = [label or "" for label in values.to_pylist()]
            shown[name] = sorted(labels, key=lambda label: (rising.get(label, -1), label))
    return shown


def release_summary(release: Release) -> dict[str, Any]:
    """What ``release --json`` prints."""
    kept = kept_promises(release)
    for record, before in zip(kept, release.before, strict=True):
        record["before"] = plain(before.value)
    return {
        "rows_in": release.prepared.rows_in,
        "rows_out": release.sheet.rows,
        "steps": len(release.steps),
        "stopped_early": release.stopped_early,
        "templates": kept,
        "attributes": attributes(release),
        "left_out": left_out(release),
        "rounds": release.found.rounds,
        "error": release.found.error,
        "alternatives": alternatives(release),
        "joined_with": meets(release),
        "warnings": [*release.prepared.warnings, *release.prepared.asides],
        "output": release.output,
        "seconds": {stage: round(spent, 4) for stage, spent in release.seconds.items()},
    }


def meets(release: Release) -> list[dict[str, Any]]:
    """The earlier releases it may be joined with, and how many records there a record may be."""
    return [
        {
            "release": one.release, "records": one.records, "by": list(one.columns),
            "candidates_before": round(one.before, 2), "candidates_after": round(one.now, 2),
        }
        for one in release.meets
    ]  # fmt: skip


def left_out(release: Release) -> dict[str, Any] | None:
    """How many records were left out for others' sake."""
    left = release.left_out
    if left is None:
        return None
    most = plain(release.prepared.policy.suppress_records)
    return {"records": left.count, "of": left.before.table.records, "at_most": most}


def who_was_left_out(release: Release) -> dict[str, Any] | None:
    """The same, and how they differ from the others: it names rare values, so for their owner."""
    said = left_out(release)
    if said is None or release.left_out is None:
        return None
    return {**said, "differences": list(release.left_out.differences())}


def alternatives(release: Release) -> list[dict[str, Any]]:
    """The other cuts that the search passed over: what each tells more of, and what less.

    `error` is that of a tree, estimated while searching; it compares cuts of one table.
    """
    names = [domain.name for domain in release.prepared.domains]
    ours = _values_shown(release.found)
    found = []
    for other in release.found.alternatives:
        pairs = list(zip(names, ours, _values_shown(other), strict=True))
        found.append(
            {
                "alternative": other.number,
                "error": other.error,
                "finer": {name: [a, b] for name, a, b in pairs if b > a},
                "coarser": {name: [a, b] for name, a, b in pairs if b < a},
                "otherwise": [
                    name
                    for (name, a, b), mine, theirs in zip(
                        pairs, release.found.shown, other.shown, strict=True
                    )
                    if a == b and mine.tolist() != theirs.tolist()
                ],
            }
        )
    return found


def _values_shown(found: Found) -> list[int]:
    return [int(shown.max(initial=0)) + 1 for shown in found.shown]


def kept_promises(release: Release) -> list[dict[str, Any]]:
    """Each promise with what the verifier measured on the released rows."""
    records = []
    for position, finding in enumerate(release.proof.findings):
        record = finding.promise.facts()
        record |= {"after": plain(finding.value), "verified": bool(finding.holds)}
        if position in release.implied:
            record["implied_by"] = release.implied[position] + 1
        records.append(record)
    return records


def attributes(release: Release) -> dict[str, Any]:
    """How each masked column is shown."""
    labels = release.cuts
    return {
        domain.name: {"mask": domain.mask, "values": labels[domain.name]}
        for domain in release.prepared.domains
    }


def role(release: Release, name: str) -> str:
    """What a released column is for."""
    roles = release.prepared.roles
    if name == roles.class_:
        return "class"
    if name in roles.masked:
        return "masked"
    return "sensitive" if name in roles.sensitive else "keep"


def as_far_as_shown(taxonomy: Taxonomy, recoding: Recoding | None) -> dict[str, Any]:
    """The taxonomy down to the cut: what lies below it may name values that are hidden."""
    cut = {taxonomy.node_of[label] for label in recoding.labels.values()} if recoding else {0}
    above: set[int] = set()
    for node in cut:
        while node not in above and node >= 0:
            above.add(node)
            node = taxonomy.parents[node]
    trees: dict[int, dict[str, Any]] = {}
    for node in sorted(above):
        trees[node] = {}
        if taxonomy.parents[node] >= 0:
            trees[taxonomy.parents[node]][taxonomy.labels[node]] = trees[node]
    return {taxonomy.labels[0]: trees[0]}


def public(release: Release) -> dict[str, Any]:
    """The report that may be published.

    Nothing in it tells more than the released rows do, but for the errors of a classifier: one of
    them was counted on the original, over hundreds of records.
    """
    return {
        "rows": release.sheet.rows,
        "left_out": release.left_out.count if release.left_out else 0,
        "steps": len(release.steps),
        "stopped_early": release.stopped_early,
        "templates": [
            record | {"groups": finding.groups}
            for record, finding in zip(kept_promises(release), release.proof.findings, strict=True)
        ],
        "attributes": attributes(release),
        "utility": release.utility,
        "warnings": list(release.warnings),
        "joined_with": [
            {"release": one.release, "records": one.records, "by": list(one.columns)}
            for one in release.meets
        ],
        "note": "The templates were recounted on the released rows alone."
        if not release.meets
        else "The templates were recounted on the released rows, joined with the releases named.",
    }


def trace(release: Release) -> Iterator[dict[str, Any]]:
    """One record a step, promises in the order of the policy."""
    promises = release.prepared.policy.promises
    for step in release.steps:
        measured = iter(step.values)
        templates = []
        for position, promise in enumerate(promises):
            record: dict[str, Any] = {"kind": promise.kind, "value": None, "asked": promise.asked}
            if position in release.implied:
                record["implied_by"] = release.implied[position] + 1
            else:
                record["value"] = plain(next(measured))
            templates.append(record)
        yield {
            "step": step.number,
            "attribute": step.attribute,
            "value": step.value,
            "into": list(step.into),
            "info_gain": step.info_gain,
            "privacy_loss": step.privacy_loss,
            "score": step.score,
            "templates": templates,
        }


def stopped(release: Release) -> Iterator[dict[str, Any]]:
    """One record for each refinement that a promise ruled out: which, when, and by how much."""
    asked = [promise.asked for promise in release.prepared.policy.promises]
    searched = searched_promises(release)
    for stop in release.limits.stops():
        yield {
            "attribute": stop.attribute,
            "value": stop.value,
            "into": list(stop.into),
            "after_step": stop.after,
            "stopped_by": [
                {
                    "template": searched[measure] + 1,
                    "value": plain(value),
                    "asked": asked[searched[measure]],
                }
                for measure, value in stop.broken
            ],
        }


def searched_promises(release: Release) -> list[int]:
    """The promises that the search looked at: those that no other one implies."""
    count = len(release.prepared.policy.promises)
    return [position for position in range(count) if position not in release.implied]


def risk_summary(risk: Risk) -> dict[str, Any]:
    """What ``risk --json`` prints."""
    templates = []
    for exposure in risk.exposures:
        record = exposure.promise.facts()
        if isinstance(exposure.promise, Anonymity):
            record |= {
                "smallest": exposure.value,
                "records_below": exposure.breaking,
                "groups": exposure.groups,
            }
        else:
            record |= {
                "largest": plain(exposure.value),
                "inferences_above": exposure.breaking,
                "groups": exposure.groups,
                "above": exposure.above,
            }
        templates.append(record)
    return {
        "rows": risk.prepared.table.records,
        "templates": templates,
        "warnings": list(risk.prepared.warnings),
    }


def riskiest(release: Release) -> list[dict[str, Any]]:
    """The groups that were worst before masking, for the owner's eyes."""
    found = []
    everybody = release.left_out.before if release.left_out else release.prepared
    for exposure in release.before:
        columns = [everybody.cleaned.columns[name] for name in ours(exposure.promise.over)]
        texts = [column.texts() for column in columns]
        found.append(
            exposure.promise.facts()
            | {
                "before": plain(exposure.value),
                "breaking": exposure.breaking,
                "groups": exposure.groups,
                "worst_groups": [
                    {
                        "group": {
                            column.name: text[code]
                            for column, text, code in zip(columns, texts, group, strict=True)
                        },
                        "value": plain(value),
                    }
                    for group, value in exposure.worst
                ],
            }
        )
    return found


def verify_summary(proof: Proof) -> dict[str, Any]:
    """What ``verify --json`` prints."""
    return {
        "rows": proof.rows,
        "holds": None if proof.holds and proof.unchecked else proof.holds,
        "templates": [
            finding.promise.facts()
            | {"after": plain(finding.value), "groups": finding.groups, "holds": finding.holds}
            for finding in proof.findings
        ],
        "leftovers": [problem.text() for problem in proof.leftovers],
    }


def html(release: Release) -> str:
    """A small table for notebooks: each promise, asked and kept."""
    rows = "".join(
        f"<tr><td>{markup.escape(finding.promise.text)}</td>"
        f"<td>{finding.promise.asked}</td><td>{plain(before.value)}</td>"
        f"<td>{plain(finding.value)}</td><td>{'kept' if finding.holds else 'broken'}</td></tr>"
        for finding, before in zip(release.proof.findings, release.before, strict=True)
    )
    early = " Stopped early: more could have been revealed." if release.stopped_early else ""
    return (
        f"<p><b>{release.sheet.rows:,} rows released</b> after {len(release.steps)} "
        f"refinements.{early}</p><table><thead><tr><th>promise</th><th>asked</th>"
        f"<th>before</th><th>after</th><th>verified</th></tr></thead><tbody>{rows}</tbody></table>"
    )
