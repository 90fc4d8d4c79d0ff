"""A release folder of baskets.

public/    data.<format>   report.html   report.json   manifest.json
private/   report.html   policy.toml   suppressed.json   risk.json   input.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError
from reticent.folder import (
    as_written,
    close,
    fingerprints,
    is_release,
    manifest,
    write_json,
)
from reticent.table import basket_files
from reticent.table.files import Reading
from reticent.transactions import report

if TYPE_CHECKING:
    from reticent.transactions.flow import Release


def suffix_for(data: Any, form: basket_files.Form) -> str:
    """The suffix of a folder's data: that of the input; a plain one where that tells nothing."""
    usual = ".dat" if form == "basket" else ".parquet"
    if not isinstance(data, str | Path):
        return usual
    suffix = basket_files.suffix_of(basket_files.paths_of(data, form)[0], form)
    return (
        {"": usual, ".txt": ".csv", ".data": ".csv"}.get(suffix, suffix)
        if form == "long"
        else (suffix or usual)
    )


def written(form: basket_files.Form, suffix: str) -> Reading:
    """How a file that we wrote is to be read: nothing is left to guessing."""
    return Reading(encoding="utf-8") if form == "basket" else as_written(suffix)


def data_in(data: Any, form: basket_files.Form) -> tuple[Any, Reading | None]:
    """The data of a release folder, and how to read them; or whatever else was given."""
    if not isinstance(data, str | Path):
        return data, None
    place = Path(data)
    public = place if place.name == "public" else place / "public"
    if not is_release(public.parent):
        return data, None
    found = [path for path in public.glob("data.*") if basket_files.suffix_of(path, form)]
    if not found or _form_of(public) not in (form, None):
        raise InputError(
            f'this release folder has no data of format = "{form}"', where=str(data),
            do="check the format that the policy names.",
        )  # fmt: skip
    return found[0], written(form, basket_files.suffix_of(found[0], form))


def _form_of(public: Path) -> str | None:
    try:
        told = json.loads((public / "manifest.json").read_text(encoding="utf-8"))
        return str(told["form"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe(release: Release, place: Path, path: Path, data: Any) -> None:
    """Write everything that stands beside the data."""
    from reticent.transactions import pages

    public, private = place / "public", place / "private"
    (public / "report.html").write_text(pages.public(release), encoding="utf-8")
    write_json(public / "report.json", report.public(release))
    files = [path, public / "report.html", public / "report.json"]
    facts = {
        "kind": "transactions",
        "form": release.policy.format,
        "transactions": release.released.transactions,
    }
    write_json(public / "manifest.json", manifest(public, files, facts))
    (private / "policy.toml").write_text(release.policy.text, encoding="utf-8")
    (private / "report.html").write_text(pages.private(release), encoding="utf-8")
    write_json(
        private / "suppressed.json",
        {
            "method": release.search.method,
            "tried": report.tried(release),
            "suppressed": report.suppressed(release),
        },
    )
    write_json(
        private / "risk.json",
        {"before": report.levels(release.before), "worst_sets": report.worst(release)},
    )
    write_json(private / "input.json", _input(release, data))
    close(private)


def _input(release: Release, data: Any) -> dict[str, Any]:
    known = isinstance(data, str | Path)
    paths = basket_files.paths_of(data, release.policy.format) if known else []
    return {"transactions": release.original.transactions, "files": fingerprints(paths)}
