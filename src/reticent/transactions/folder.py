"""A release folder of baskets.

public/    data.<format>   report.html   report.json   manifest.json
private/   report.html   policy.toml   suppressed.json   risk.json   input.json
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError
from reticent.files import basket_files
from reticent.files.basket_lines import SIGNS, shown, sign_of
from reticent.files.tabular import Reading
from reticent.releases.folder import (
    Contents,
    Opened,
    as_json,
    as_written,
    fingerprints,
    manifest_of,
    opened,
)
from reticent.releases.kinds import BASKETS
from reticent.transactions import report

if TYPE_CHECKING:
    from reticent.transactions.policy import BasketPolicy
    from reticent.transactions.report import BasketRelease


def suffix_for(data: Any, form: basket_files.Form) -> str:
    """The suffix of a folder's data: that of the input; a plain one where that tells nothing."""
    usual = ".dat" if form == "basket" else ".parquet"
    if not isinstance(data, str | Path):
        return usual
    suffix = basket_files.suffix_of(basket_files.paths_of(data, form)[0], form)
    others = {".txt": ".csv", ".data": ".csv"} if form == "long" else {}
    return others.get(suffix, suffix) or usual


def written(form: basket_files.Form, suffix: str, separator: str | None = None) -> Reading:
    """How a file that we wrote is to be read: nothing is left to guessing."""
    if form == "long":
        return as_written(suffix)
    return Reading(encoding="utf-8", separator=separator or " ")


def opened_as(data: Any, policy: BasketPolicy, told: Reading | None) -> Opened:
    """A release folder with baskets of a policy's format; or whatever else was given.

    What parts its items is said by the policy, or by who asks: a manifest may have been changed.
    """
    form = policy.format
    manifest = manifest_of(Path(data)) if isinstance(data, str | Path) else {}
    if manifest.get("form", form) != form:
        raise InputError(
            f'this release folder has no data of format = "{form}"', where=str(data),
            do="check the format that the policy names.",
        )  # fmt: skip
    found = opened(data, BASKETS, basket_files.suffixes(form))
    if found.reading is None:
        return found
    suffix, sign = basket_files.suffix_of(found.data, form), ""
    if form == "basket":
        sign = sign_of(policy.reads_released(told).separator)
        _refuse_other_sign(sign, manifest, str(data))
    return replace(found, reading=written(form, suffix, sign))


def _refuse_other_sign(sign: str, manifest: Mapping[str, Any], where: str) -> None:
    """Refuse lines that two sources part differently: cut wrongly, a private item is not seen."""
    said = manifest.get("separator", " ")
    if not manifest or said == (sign or " "):
        return
    theirs = shown(said) if said in SIGNS else "blanks" if said == " " else "something else"
    option = "tab" if said == "\t" else "blank" if said == " " else said
    raise InputError(
        f"its manifest says that {theirs} parts items, and the policy that "
        f"{shown(sign) if sign else 'a blank'} does".replace("blanks parts", "blanks part"),
        where=where,
        why="lines that are cut at the wrong sign hide the private items in them.",
        do="get the release again from its owner, or check the policy"
        + (f'; if you know what parts them, say  --separator "{option}".'
           if said in (" ", *SIGNS) else "."),
    )  # fmt: skip


def contents(release: BasketRelease, data: Any) -> Contents:
    """Everything that stands beside the data."""
    from reticent.transactions import pages

    told = report.facts(release)
    removed = {key: told.private[key] for key in ("method", "tried")}
    removed["suppressed"] = report.suppressed(release)
    risk = {"before": report.levels(release.before), "worst_sets": report.worst(release)}
    return Contents(
        public={"report.html": pages.public(release), "report.json": as_json(dict(told.public))},
        private={
            "policy.toml": release.policy.parted_by(release.reading.separator).text,
            "report.html": pages.private(release),
            "suppressed.json": as_json(removed),
            "risk.json": as_json(risk),
            "input.json": as_json(_input(release, data)),
        },
        manifest={
            "kind": BASKETS.in_manifest,
            **release.policy.about.told(),
            "form": release.policy.format,
            **_separator(release),
            "transactions": release.released.transactions,
        },
    )


def _separator(release: BasketRelease) -> dict[str, str]:
    """What parts the items of its lines, if blanks do not."""
    sign = sign_of(release.reading.separator)
    return {"separator": sign} if sign else {}


def _input(release: BasketRelease, data: Any) -> dict[str, Any]:
    known = isinstance(data, str | Path)
    paths = basket_files.paths_of(data, release.policy.format) if known else []
    return {"transactions": release.original.transactions, "files": fingerprints(paths)}
