"""A release folder of a table with hidden entries.

public/    data.<format>   report.html   report.json   manifest.json
private/   report.html   policy.toml   requests.csv   must-publish.csv (if there are marks)
           hidden.jsonl   risk.json   input.json
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.entries import report
from reticent.entries.asked import as_csv
from reticent.entries.policy import MARKS, REQUESTS
from reticent.errors import InputError
from reticent.folder import (
    as_written,
    close,
    fingerprints,
    kind_in,
    manifest,
    published,
    write_json,
)
from reticent.report import lines
from reticent.table.files import Reading, paths_of, suffix_of

if TYPE_CHECKING:
    from reticent.entries.flow import Release

KIND = "entries"


def data_in(data: Any) -> tuple[Any, Reading | None]:
    """The data of a release folder, and how to read them; or whatever else was given."""
    if not isinstance(data, str | Path) or "://" in str(data) or not Path(data).is_dir():
        return data, None
    if (kind := kind_in(Path(data))) not in (None, KIND):
        raise InputError(
            "this is a release of another kind", where=str(data),
            do=f"check it with  reticent {kind} verify." if kind else "use  reticent verify.",
        )  # fmt: skip
    path = published(Path(data))
    if path == Path(data):  # a folder of data files
        return data, None
    return path, as_written(suffix_of(path))


def describe(release: Release, place: Path, path: Path, data: Any) -> None:
    """Write everything that stands beside the data."""
    from reticent.entries import pages

    public, private = place / "public", place / "private"
    (public / "report.html").write_text(pages.public(release), encoding="utf-8")
    write_json(public / "report.json", report.public(release))
    roles = release.original.roles
    played = dict.fromkeys(roles.conditions, "condition") | {roles.sensitive: "sensitive"}
    facts = {
        "kind": KIND,
        "rows": release.rows,
        "columns": [{"name": n, "role": played.get(n, "keep")} for n in roles.released],
    }
    files = [path, public / "report.html", public / "report.json"]
    write_json(public / "manifest.json", manifest(public, files, facts))
    for name, text in _kept(release).items():
        (private / name).write_text(text, encoding="utf-8")
    (private / "report.html").write_text(pages.private(release), encoding="utf-8")
    (private / "hidden.jsonl").write_text(lines(report.reasons(release)), encoding="utf-8")
    before = {"templates": [report.about(release.policy.promise) | report.counted(release.before)]}
    riskiest = report.exposures(release.original, release.before)
    write_json(private / "risk.json", before | {"riskiest": riskiest})
    paths = paths_of(data) if isinstance(data, str | Path) else []
    write_json(private / "input.json", {"rows": release.rows, "files": fingerprints(paths)})
    close(private)


def _kept(release: Release) -> dict[str, str]:
    """The policy with its requests and marks, each in a file: they check the release again."""
    asked = release.original.asked
    policy = release.policy.beside_lists().canonical()
    kept = {
        "policy.toml": "# The policy of this release without its comments.\n" + policy,
        REQUESTS: as_csv(["record"], ([name] for name in asked.names)),
    }
    if release.policy.publish is not None:
        kept[MARKS] = as_csv(["record", "column"], asked.marks)
    return kept
