"""The joint table on its way out: beside its place at every owner, then there at all or at none.

Every owner writes, recounts and describes the table by itself. When all are ready and hold the same
public side, byte by byte, the first owner says go, and each lets its own appear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.data.columns import relabelled
from reticent.data.taxonomy import from_nested
from reticent.files.sheets import Sheet, sheet, write
from reticent.files.writing import Writing
from reticent.joint.flow import JointTable
from reticent.joint.report import JointRelease, labels_in, shown_trees, writing_of
from reticent.parties.participation import Agree
from reticent.parties.tally import WireFacts
from reticent.privacy import published
from reticent.privacy import verify as verifier
from reticent.privacy.singled import alone_in, singled_out
from reticent.privacy.verify import Proof
from reticent.progress import Clock
from reticent.releases.folder import Contents, digest
from reticent.releases.places import Place, Spot
from reticent.releases.publish import proven, publish
from reticent.tables.report import TableVerdict
from reticent.tables.rules import rules


def publish_joint(
    joint: JointTable,
    place: Place,
    clock: Clock,
    *,
    agree: Agree,
    contents: Callable[[JointRelease, Spot], Contents],
    wire: WireFacts,
) -> JointRelease:
    """Write a joint table, recount it, and let it appear when all owners agree."""
    columns = list(joint.columns)
    if joint.policy.writing.told().has_commas:  # by nobody's types: others have texts alone
        columns = [relabelled(c, c.texts(), pa.large_string()) for c in columns]
    leaving = _Leaving(joint, clock, sheet(columns, order="sorted"), wire)
    return publish(
        place,
        clock,
        usual=lambda: ".csv",
        write=leaving.write,
        recount=leaving.recount,
        released=partial(leaving.released, place.name),
        contents=contents,
        agree=lambda spot: agree(_public_digest(spot)),
    )


def recounted(joint: JointTable) -> JointRelease:
    """The same without a file: recounted on the cells as they would be written."""
    rows = sheet(list(joint.columns), order="sorted")
    leaving = _Leaving(joint, Clock(_quiet()), rows, WireFacts())
    names = [column.name for column in joint.columns]
    cells = pa.table({name: rows.column(name).cells() for name in names})
    proof = leaving.proven(published.from_table(cells, counts=rows.counts))
    return leaving.released(None, None, proof)


def _quiet() -> Any:
    from reticent.progress import Watch

    return Watch()


def _public_digest(spot: Spot) -> bytes:
    """A digest of the manifest, which holds those of all other files of the public side."""
    assert spot.folder is not None
    return bytes.fromhex(digest(spot.folder / "public" / "manifest.json"))


@dataclass(frozen=True, slots=True)
class _Leaving:
    joint: JointTable
    clock: Clock
    sheet: Sheet
    wire: WireFacts

    def write(self, spot: Spot) -> Sequence[Path]:
        """Write the rows."""
        told = self.clock.rows(self.sheet.rows)
        write(self.sheet, spot.data, spot.suffix, told, self._writing)
        return [spot.data]

    @property
    def _writing(self) -> Writing:
        """How all owners write it."""
        return writing_of(self.joint.policy, labels_in(self.sheet))

    def recount(self, spot: Spot, written: Sequence[Path]) -> Proof:
        """Recount the promises on the bytes just written."""
        names = [column.name for column in self.joint.columns]
        cells = published.from_csv(
            written, names, delimiter=self._writing.delimiter_for(spot.suffix), packed=False,
            longest=self.sheet.longest, hidden=None,
        )  # fmt: skip
        return self.proven(cells)

    def proven(self, cells: published.PublishedCells) -> Proof:
        """The verifier's word; nothing less than all that the search found will do."""
        joint, alone = self.joint, self.joint.policy.alone()
        trees = {name: from_nested(tree, name) for name, tree in shown_trees(joint).items()}
        told = rules(alone, {**trees, **joint.prepared.taxonomies})
        # Who is counted by the record id: everybody has one record.
        people = {joint.policy.id: pa.array([str(n) for n in range(joint.records)])}
        proof = verifier.verify(replace(cells, people=people), told)
        agreed = all(proof.findings[i].value == value for i, value in joint.found.values.items())
        proven(proof.holds and not proof.unchecked and proof.rows == joint.records and agreed)
        roles, rows = joint.policy.joint_roles, self.sheet
        found = singled_out(
            alone_in({name: rows.column(name) for name in rows.names}, rows.counts), proof.rows,
            roles.unmasked, sensitive=roles.sensitive, masked=roles.masked,
        )  # fmt: skip
        warnings = found.warnings() if found else ()
        return replace(proof, singled_out=found, warnings=(*proof.warnings, *warnings))

    def released(self, name: str | None, spot: Spot | None, proof: Proof) -> JointRelease:
        """The release, once it is proven."""
        return JointRelease(
            self.joint,
            self.sheet,
            TableVerdict.of(proof),
            self.clock.seconds,
            self.wire,
            output=name,
        )
