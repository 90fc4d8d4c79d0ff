"""What a release folder of several owners holds.

public/    data.csv   report.html   report.json   manifest.json: the same at every owner
private/   report.html   policy.toml   recoding.json   trace.jsonl   agreed.csv   input.json
           certificates/ (of all owners)   runs.json   transcript/
           agreed.json (our signature of agreed.csv and of the certificates)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.files.output import csv_text
from reticent.files.tabular import paths_of
from reticent.joint import pages
from reticent.joint.report import public_report, shown_trees, trace
from reticent.releases.folder import Contents, as_json, as_json_lines, fingerprints
from reticent.sources.addresses import is_url, without_password

if TYPE_CHECKING:
    from reticent.joint.report import JointRelease


AGREED, SIGNED = "agreed.csv", "agreed.json"


def certificate_of(owner: str) -> str:
    """Where the certificate of an owner stands."""
    return f"certificates/{owner}.pem"


def signed_statement(digests: Mapping[str, str]) -> bytes:
    """What an owner signs: which files they were, by their names."""
    return b"reticent agreed\0" + json.dumps(digests, sort_keys=True).encode()


def contents(
    release: JointRelease,
    data: Any,
    ids: Sequence[str],
    runs: Sequence[dict[str, Any]],
    certificates: Mapping[str, bytes],
    sign: Callable[[bytes], bytes],
    run: pages.RunFacts,
) -> Contents:
    """Everything that stands beside the data.

    `ids`: of our common records, in agreed order; `certificates`: of all owners; `sign`:
    as this owner.
    """
    told, agreed = release.facts(), _agreed(release, ids)
    pems = {certificate_of(owner): pem for owner, pem in certificates.items()}
    signed = {AGREED: agreed.encode("utf-8", "surrogatepass"), **pems}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in signed.items()}
    signature = sign(signed_statement(digests))
    joint, policy = release.joint, release.joint.policy
    return Contents(
        public={"report.html": pages.public(release), "report.json": as_json(public_report(told))},
        private={
            "policy.toml": policy.text,
            "report.html": pages.private(release, run),
            "recoding.json": as_json(
                {name: recoding.plain() for name, recoding in joint.found.recodings.items()}
            ),
            "trace.jsonl": as_json_lines(trace(release)),
            AGREED: agreed,
            SIGNED: as_json({"files": digests, "signature": signature.hex()}),
            "input.json": as_json(
                {
                    "owner": joint.owner,
                    **_input(data),
                    "not_common": joint.not_common,
                    "left_out": joint.left_out,
                }
            ),
            **pems,
            "runs.json": as_json(list(runs)),
        },
        manifest=_manifest(release),
    )


def _manifest(release: JointRelease) -> dict[str, Any]:
    joint, policy = release.joint, release.joint.policy
    told = release.facts().public
    written = policy.writing.told().told_for(".csv")
    return {
        "kind": "joint",
        **policy.about.told(),
        "rows": release.sheet.rows,
        "marker": policy.marker,
        **({"writing": written} if written else {}),
        "columns": told["columns"],
        "owners": told["owners"],
        "taxonomies": shown_trees(joint),
    }


def _agreed(release: JointRelease, ids: Sequence[str]) -> str:
    """The joint table in the agreed order, with our ids: what a transcript is held against."""
    columns = release.joint.columns
    head = [release.joint.policy.id, *(column.name for column in columns)]
    cells = (column.cells().to_pylist() for column in columns)
    return csv_text([head, *zip(ids, *cells, strict=True)])


def _input(data: Any) -> dict[str, Any]:
    if is_url(data):
        return {"database": without_password(data), "files": {}}
    paths = paths_of(data) if isinstance(data, str | Path) else []
    return {"files": fingerprints(paths)}
