"""A release folder of a table with hidden entries.

public/    data.<format>   report.html   report.json   manifest.json
private/   report.html   policy.toml   requests.csv   must-publish.csv (if there are marks)
           hidden.jsonl   risk.json   input.json
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reticent.entries import report
from reticent.entries.asked import as_csv
from reticent.entries.policy import MARKS, REQUESTS
from reticent.files.tabular import CSV, paths_of
from reticent.releases.folder import Contents, as_json, as_json_lines, fingerprints
from reticent.releases.kinds import ENTRIES

if TYPE_CHECKING:
    from reticent.entries.report import EntryRelease


def with_commas(release: EntryRelease, suffix: str) -> list[str]:
    """The columns of numbers that are written with a decimal comma."""
    columns = release.released.columns.values()
    schema = pa.schema([(column.name, column.values.type) for column in columns])
    return release.policy.writing.told().numbers(schema) if suffix in CSV else []


def contents(release: EntryRelease, data: Any, suffix: str) -> Contents:
    """Everything that stands beside the data."""
    from reticent.entries import pages

    roles = release.original.roles
    played = dict.fromkeys(roles.conditions, "condition") | {roles.sensitive: "sensitive"}
    before = {"templates": [release.policy.promise.facts() | report.counted(release.before)]}
    riskiest = report.exposures(release.original, release.before)
    paths = paths_of(data) if isinstance(data, str | Path) else []
    written = release.policy.writing.told().told_for(suffix)
    if numbers := with_commas(release, suffix):
        written["numbers"] = numbers
    return Contents(
        public={
            "report.html": pages.public(release),
            "report.json": as_json(dict(report.facts(release).public)),
        },
        private={
            **_kept(release),
            "report.html": pages.private(release),
            "hidden.jsonl": as_json_lines(report.reasons(release)),
            "risk.json": as_json(before | {"riskiest": riskiest}),
            "input.json": as_json({"rows": release.rows, "files": fingerprints(paths)}),
        },
        manifest={
            "kind": ENTRIES.in_manifest,
            **release.policy.about.told(),
            "rows": release.rows,
            **({"writing": written} if written else {}),
            "columns": [{"name": n, "role": played.get(n, "keep")} for n in roles.released],
        },
    )


def _kept(release: EntryRelease) -> dict[str, str]:
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
