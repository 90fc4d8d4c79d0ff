"""A joint release in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reticent.errors import few, many
from reticent.parties.participation import unfinished
from reticent.terminal.text import columns_table, composed, table

if TYPE_CHECKING:
    from reticent.joint.policy import JointPolicy
    from reticent.joint.process import DryRun
    from reticent.joint.report import JointRelease


def before(policy: JointPolicy) -> list[str]:
    """What an owner hears before anything is sent: what the others will learn."""
    lines = ["Of each person whom all owners have, the others will learn:"]
    for owner in policy.owners:
        said = "; ".join(
            f"{words}: {few(names)}" for words, names in policy.handed_over(owner).items()
        )
        lines.append(f"  of {owner}: {said}")
    return [*lines, *policy.between]


def dry_run(found: DryRun) -> str:
    """What owners know of each other before anything else is told."""
    lines = [f"{many(found.common, 'record')} in common."]
    lines += [f"  {owner} brings {many(count, 'id')}" for owner, count in found.brought.items()]
    lines += [
        f"  {', '.join(owners)}: {many(count, 'id')} that exactly these have"
        for owners, count in found.held_by.items()
    ]
    lines += ["", "A run would tell the others, of each common person:"]
    for owner, told in found.hands_over.items():
        said = "; ".join(f"{words}: {few(names)}" for words, names in told.items())
        lines.append(f"  {owner}: {said}")
    lines += [*found.between, "Nothing of that was sent."]
    return composed(lines)


def after(found: JointRelease) -> list[str]:
    """Who did not say that the release has appeared there, and what finishes it."""
    return unfinished(found.unconfirmed, found.needed_by, str(found.output), "the release")


def release(found: JointRelease) -> str:
    """What came out."""
    facts = found.facts()
    public, private = facts.public, facts.private
    early = " Stopped early: more could have been revealed." if public["stopped_early"] else ""
    lines = [
        f"{many(public['rows'], 'row')} released by {len(public['owners'])} owners after "
        f"{many(public['steps'], 'refinement')}.{early}",
        "",
        table(
            ["promise", "found", "verified"],
            [
                (
                    promise["short"],
                    promise["value"],
                    promise["nothing"] or ("yes" if promise["holds"] else "NO"),
                )
                for promise in public["promises"]
            ],
        ),
        "",
        columns_table(
            ["column", "owner", "values", "shown as"],
            [
                (name, one["owner"], len(one["shown"]), _some(one["shown"]))
                for name, one in public["attributes"].items()
            ],
            [len(one["shown"]) for one in public["attributes"].values()],
        ),
        "",
        f"{many(private['not_common'], 'record')} of {private['owner']} "
        f"{'is' if private['not_common'] == 1 else 'are'} not common, and not in it.",
    ]
    if private["left_out"]:
        lines.append(
            f"{many(private['left_out'], 'more record')} of {private['owner']} "
            f"{'misses' if private['left_out'] == 1 else 'miss'} a value and took no part "
            '(missing = "drop").'
        )
    if found.output:
        lines.append(f"Written to {found.output}, after recounting every promise on it.")
    return composed(lines)


def _some(shown: Iterable[str], most: int = 6) -> str:
    """The first few labels of a column."""
    labels = [label or "(missing)" for label in shown]
    return "  ".join(labels[:most]) + ("  …" if len(labels) > most else "")
