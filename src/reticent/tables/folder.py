"""What a release folder of a table holds, and what it tells of how it is to be read.

private/   recoding.json   trace.jsonl   stopped.jsonl   risk.json   alternatives.json
           left_out.json (if records are), and the taxonomies of the policy
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.data.taxonomy import DEEPEST, Taxonomy, from_nested, from_rows
from reticent.errors import InputError
from reticent.files.tabular import Reading, paths_of
from reticent.privacy.promises import columns_of
from reticent.releases.folder import (
    FORMAT,
    Contents,
    as_json,
    as_json_lines,
    fingerprints,
    manifest_of,
)
from reticent.sources.addresses import is_url, without_password
from reticent.tables import report

if TYPE_CHECKING:
    from reticent.tables.policy import Policy
    from reticent.tables.report import Release


def contents(release: Release, data: Any, private: Path, table: str | None = None) -> Contents:
    """Everything that stands beside the data; `table`: which it was of a database.

    `private`: where the policy will stand, for the paths that it names.
    """
    from reticent.tables import pages

    policy, told = release.prepared.policy, release.facts()
    left_out = told.private["who_was_left_out"]
    return Contents(
        public={"report.html": pages.public(release), "report.json": as_json(report.public(told))},
        private={
            "policy.toml": policy.as_in(private),
            **_taxonomies(policy),
            "recoding.json": as_json(_recoding(release)),
            "report.html": pages.private(release),
            "stopped.jsonl": as_json_lines(report.stopped(release)),
            "trace.jsonl": as_json_lines(release.trace()),
            "risk.json": as_json(report.riskiest(release)),
            "alternatives.json": as_json(told.private["alternatives"]),
            **({} if left_out is None else {"left_out.json": as_json(left_out)}),
            "input.json": as_json(_input(release, data, table)),
        },
        manifest=_manifest(release),
    )


def _taxonomies(policy: Policy) -> dict[str, bytes]:
    """Taxonomy files beside the kept policy, where its relative paths find them."""
    names = [a.taxonomy for a in policy.attributes.values() if isinstance(a.taxonomy, str)]
    return {
        name: (policy.folder / name).read_bytes()
        for name in names
        if not Path(name).is_absolute() and ".." not in Path(name).parts
    }


def _manifest(release: Release) -> dict[str, Any]:
    prepared = release.prepared
    masks = {domain.name: domain.mask for domain in prepared.domains}
    columns = [
        {"name": name, "role": report.role(release, name)}
        | ({"mask": masks[name]} if name in masks else {})
        for name in prepared.roles.released
    ]
    written = release.writing
    return {
        **prepared.policy.about.told(),
        "rows": release.sheet.rows,
        "marker": prepared.policy.marker,
        **({"writing": written} if written else {}),
        "columns": columns,
        "taxonomies": {
            name: _as_json(report.as_far_as_shown(taxonomy, release.recodings[name]))
            for name, taxonomy in prepared.taxonomies.items()
            if name in masks
        },
    }


def _as_json(tree: dict[str, Any]) -> dict[str, Any] | list[tuple[str, ...]]:
    """A tree as JSON nests it, or row by row where it is too deep to be read back."""
    rows = from_nested(tree, "manifest.json").rows()
    return rows if max(map(len, rows)) > DEEPEST else tree


def _recoding(release: Release) -> dict[str, Any]:
    prepared = release.prepared
    return {
        "format": FORMAT,
        "drop": list(prepared.roles.dropped),
        "released": list(prepared.roles.released),
        "trim": prepared.policy.trim,
        "door": prepared.door.plain(),
        "missing_values": list(prepared.policy.missing_values),
        "order": prepared.policy.order,
        "same": prepared.door.same,
        "columns": {name: recoding.plain() for name, recoding in release.recodings.items()},
    }


def _input(release: Release, data: Any, table: str | None) -> dict[str, Any]:
    told = {"database": without_password(data), "table": table} if is_url(data) else {}
    paths = paths_of(data) if isinstance(data, str | Path) and not told else []
    return {"rows": release.prepared.rows_in, "files": fingerprints(paths), **told}


def columns_in(place: Path) -> list[str]:
    """The columns that a release folder publishes."""
    try:
        return [str(column["name"]) for column in manifest_of(place).get("columns", [])]
    except (InputError, TypeError, KeyError):
        return []


@dataclass(frozen=True, slots=True)
class Told:
    """What a release says of how it is to be read."""

    marker: str = ""
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)  # down to what it shows
    numbers: frozenset[str] | None = None  # columns with a decimal comma; None: nobody says


def told(manifest: Mapping[str, Any]) -> Told:
    """What the manifest of a release says; nothing where there is none."""
    try:
        trees = {
            name: (from_rows if isinstance(tree, list) else from_nested)(tree, "manifest.json")
            for name, tree in manifest.get("taxonomies", {}).items()
        }
        numbers = manifest.get("writing", {}).get("numbers", ()) if manifest else None
        columns = None if numbers is None else frozenset(map(str, numbers))
        return Told(str(manifest.get("marker", "")), trees, columns)
    except (AttributeError, TypeError, IndexError):
        raise InputError("the manifest is damaged", where="manifest.json") from None


def with_commas(
    policy: Policy, manifest: Mapping[str, Any], names: Iterable[str], reading: Reading | None
) -> frozenset[str]:
    """The columns of a release whose numbers are written with a decimal comma.

    Without a manifest: those that the policy does not mask, if it says so. They are taken for
    numbers only if all their cells look so. Cells of CSV came with the sign that they have: where
    the input has commas, those are numbers of which the policy names values with points. Where it
    names values with commas, they are texts, which are written as they are.
    """
    if (known := told(manifest).numbers) is not None:
        return known
    came_so = reading is not None and reading.decimal == ","
    found = frozenset(names) - columns_of(policy.promises)[0]
    sensitive = [pair for one in policy.confidence for pair in one.sensitive.items()]
    if came_so:
        found &= {name for name, told in sensitive if any("." in value for value in told)}
    found -= {name for name, told in sensitive if any("," in value for value in told)}
    return found if policy.writing.decimal == "," else frozenset()


def taxonomies_for(
    policy: Policy, manifest: Mapping[str, Any], others: Sequence[Mapping[str, Taxonomy]] = ()
) -> dict[str, Taxonomy]:
    """The taxonomies of a policy; without their files, as far as a manifest shows them.

    A manifest shows what was released and nothing below; what lies there may stand in `others`,
    those of earlier releases.
    """
    shown: dict[str, Taxonomy] = dict(told(manifest).taxonomies)
    for name, tree in (pair for trees in others for pair in trees.items()):
        shown[name] = shown[name].with_below(tree) if name in shown else tree
    return policy.taxonomies(instead=shown)
