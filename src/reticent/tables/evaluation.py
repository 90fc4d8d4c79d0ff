"""The flow of `evaluate`: what a release costs and what it stops, measured beside the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Column, Table, stacked
from reticent.data.decimals import with_points
from reticent.errors import InputError, Unsatisfiable, few
from reticent.evidence import classify
from reticent.evidence.classify import Sides, majority
from reticent.files.tabular import Reading
from reticent.pages.page import page_place, write_private_page
from reticent.privacy.verify import Proof
from reticent.progress import Watch
from reticent.releases import folder as release_folder
from reticent.releases.spoken import Spoken
from reticent.sources import arrival
from reticent.tables import flow, folder
from reticent.tables.arrival import fitted
from reticent.tables.evaluation_page import page_of
from reticent.tables.evidence.aligned import AlignedRows, aligned, for_classifiers, told
from reticent.tables.evidence.attack import attacks
from reticent.tables.evidence.beside import ColumnBeside, beside
from reticent.tables.evidence.loss import losses
from reticent.tables.evidence.relations import relations
from reticent.tables.evidence.study import Round, divided, errors
from reticent.tables.policy import Policy
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.search.rare import find_leaving_out

_FEWEST = 3  # records: of fewer, no third can be kept apart for testing


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Spoken):
    """What a release costs and what it stops."""

    rows: int
    proof: Proof = field(repr=False)
    classification: Mapping[str, Any] | None  # None if the policy names no class
    loss: Mapping[str, Any]
    attack: Mapping[str, Any]
    relations: Mapping[str, Any]  # between released columns
    columns: tuple[ColumnBeside, ...] = field(repr=False)  # masked ones, before and after
    untouched: tuple[str, ...]  # released as they are
    left_out: int = 0  # records; all figures are about the others, those before, too
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed in reading the table

    def summary(self) -> dict[str, Any]:
        """What ``evaluate --json`` prints."""
        return {
            "rows": self.rows,
            "left_out": self.left_out,
            "verified": self.proof.verdict,
            "classification": self.classification,
            "loss": self.loss,
            "attack": self.attack,
            "relations": self.relations,
            "warnings": list(self.warnings),
        }

    def _says(self, words: Any) -> str:
        said: str = words.evaluation(self)
        return said


def evaluate(
    original: Any,
    released: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    test: Any = None,
    folds: int | None = None,
    seed: int = 1,
    classifiers: Sequence[str] | None = None,
    population: Any = None,
    previous: Mapping[str, str | Path] | None = None,
    reading: Reading | None = None,
    output: str | Path | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> Evaluation:
    """Measure what a release costs and what it stops.

    Errors are measured on a third of the records, drawn at random by `seed`; on each of `folds`
    parts in turn; or on the records of `test`: once under the cuts of a release of both tables
    together, and once under those that `released` shows, which is learnt on training. `population`
    is a register that the journalist of the attack view looks into; without one, the original is.
    `previous` tells where earlier releases stand. `output` is a page for people who decide, with
    what stood in the original: it is for its owner's eyes; `force` lets it replace another.
    """
    watch = watch or Watch()
    classify.check_seed(seed)
    if folds is not None and test is not None:
        raise InputError("give either folds or a test table, not both", where="evaluate")
    if folds is not None and (not isinstance(folds, Integral) or folds < 2):
        raise InputError("there must be at least 2 folds", where="evaluate")
    used = classify.chosen(classifiers)
    watch.stage("read")
    policy = Policy.of(policy).with_previous(previous or {})
    reading = policy.reads(reading)
    page = None
    if output is not None:
        given = [one for one in (original, released, test, population) if one is not None]
        inputs = (path for one in given for path in arrival.inputs(one))
        page = page_place(output, chain(inputs, policy.files()), "an evaluation", force=force)
    rows = arrival.read(original, reading, policy.spare)[0]
    prepared = fitted(rows, policy, reading)
    if not prepared.domains:
        raise InputError(
            "the policy masks no column, so there is nothing to compare", where=policy.name,
            why="what its rules for single cells cost is what they say.",
            do="add an [[anonymity]] or a [[confidence]] template.",
        )  # fmt: skip
    place = Path(released) if isinstance(released, str | Path) else None
    watch.stage("verify")
    proof = flow.verify(released, prepared.policy, reading=reading.cells)
    manifest = release_folder.manifest_of(place) if place else {}
    data = release_folder.published(place) if place else released
    written = release_folder.reading_in(data, manifest) if place else None
    table, _ = arrival.read(data, written)
    commas = folder.with_commas(prepared.policy, manifest, table.columns, reading)
    masked = aligned(prepared, with_points(table, commas))
    register = None
    if population is not None:
        register = masked.further(arrival.read(population, reading)[0], masked.columns)
        if register.rows < prepared.table.rows:
            raise InputError(
                f"it has {register.rows} records and the table has {prepared.table.rows}",
                where=register.name,
                why="a register of the population holds everybody whom the table may be about.",
                do="give a larger one, or none.",
            )
    watch.stage("learn")
    rounds = _rounds(masked, test, folds, seed, reading)
    of_release = rounds  # as the release itself masks; with a test table, it was learnt on training
    if test is not None:
        of_release = [replace(part, masked=part.fresh or part.masked) for part in rounds]
    found = Evaluation(
        prepared.table.rows,
        proof,
        _classification(prepared, rounds, used, seed, watch),
        losses(masked),
        attacks(masked, register, of_release),
        relations(masked, seed=seed),
        beside(masked, prepared),
        tuple(n for n in masked.prepared.roles.released if n not in masked.columns),
        prepared.table.rows - masked.prepared.table.rows,
        tuple(_warnings(prepared, masked, proof, used, classifiers, rounds)),
        prepared.table.notes,
    )
    if page is not None:
        told = page_of(found.summary(), found.columns, found.untouched, policy.about, seed)
        write_private_page(told, page, force=force)
    return found


def _warnings(
    prepared: Prepared,
    masked: AlignedRows,
    proof: Proof,
    used: Sequence[str],
    asked: Sequence[str] | None,
    rounds: Sequence[Round],
) -> Iterator[str]:
    if out := prepared.table.rows - masked.prepared.table.rows:
        yield (
            f"{out} of {prepared.table.rows} records are left out of the release, and all figures "
            "are about the others: of the table as it was, too."
        )
    if taken := [n for n in prepared.roles.released if prepared.door.changes(n)]:
        yield (
            f"cells of {few(taken)} are compared as the policy takes them in, coarser or in one "
            "spelling: what that alone cost is not among the figures."
        )
    if prepared.policy.releases:
        yield (
            "figures are about this table alone; what a join with "
            f"{', '.join(prepared.policy.releases)} reveals is what the promises say. No mask is "
            "learnt on a part of the records, as earlier releases are about all of them."
        )
    elif any(part.masked is part.fresh for part in rounds):
        yield (
            "both tables together allow no release under this policy, so AE or SE is the error of "
            "the mask that the release shows."
        )
    lacking = sum(part.fresh is None for part in rounds)
    if lacking and not prepared.policy.releases:
        yield (
            f"in {lacking} of {len(rounds)} rounds the training records alone allow no release "
            "under this policy, so the errors of a mask learnt on them are left out."
        )
    if not proof.holds:
        yield "the release does not keep every promise: see  reticent verify."
    if proof.holds and proof.unchecked:
        yield (
            "a promise counts a column that is not released, so the release alone cannot show "
            "that it is kept."
        )
    if not asked and len(used) < len(classify.CLASSIFIERS):
        others = [name for name in classify.CLASSIFIERS if name not in used]
        yield (
            f"left out {', '.join(others)}: they need scikit-learn, which  "
            'pip install "reticent[sklearn]"  installs.'
        )


def _rounds(
    masked: AlignedRows, test: Any, folds: int | None, seed: int, reading: Reading | None
) -> list[Round]:
    """The training and test tables: one pair, or one a fold."""
    prepared = masked.prepared
    if test is not None:
        return [_given(masked, arrival.read(test, reading)[0])]
    rows = prepared.table.rows
    if folds is not None and folds > rows:
        raise InputError(f"there are only {rows} records for {folds} folds", where="evaluate")
    if rows < _FEWEST:
        return []
    rounds = []
    for part in classify.splits(rows, folds=folds, seed=seed):
        one = divided(masked, part)
        fresh = _masked_alike(prepared.table.take(~part), prepared, one.plain)
        rounds.append(replace(one, fresh=fresh))
    return rounds


def _given(masked: AlignedRows, test: Table) -> Round:
    """A round whose test records come from another table, which the release never saw."""
    prepared = masked.prepared
    test = masked.further(test, prepared.roles.released)
    if prepared.roles.class_ is not None:
        test = told(test, prepared.roles.class_)
        if not test.rows:
            said = f'no row has a value of "{prepared.roles.class_}", the class'
            raise InputError(said, where=test.name)
    alone = (masked.view(), for_classifiers(test, masked.recodings))
    nobody = np.zeros(test.rows, dtype=np.uint8)
    columns = {}
    for name, column in prepared.table.columns.items():
        absent = Column(name, nobody, pa.nulls(1, pa.large_string()))  # dropped columns may be
        columns[name] = stacked(column, test.columns.get(name, absent))
    both = replace(prepared.table, columns=columns, rows=prepared.table.rows + test.rows)
    plain = (prepared.cleaned, test)
    return Round(plain, _masked_alike(both, prepared, plain) or alone, alone)


def _masked_alike(source: Table, prepared: Prepared, sides: Sides) -> Sides | None:
    """Training and test records masked as a release of `source` would; None if there is none."""
    if prepared.policy.releases:  # earlier releases are about all records, and not about a part
        return None
    try:
        known = prepare(source, prepared.policy, prepared.reading)
        recodings = find_leaving_out(known, Watch())[1].recodings
        return for_classifiers(sides[0], recodings), for_classifiers(sides[1], recodings)
    except (Unsatisfiable, InputError):  # too few records for the promise, or other kinds of value
        return None


def _classification(
    prepared: Prepared, rounds: Sequence[Round], used: Sequence[str], seed: int, watch: Watch
) -> dict[str, Any] | None:
    target = prepared.roles.class_
    if target is None:
        return None
    if not rounds:
        return {"class": target, "reason": f"fewer than {_FEWEST} records"}
    found = {}
    for name in used:
        watch.stage(name)
        found[name] = errors(prepared, rounds, name, seed=seed)
    return {
        "class": target,
        "train": rounds[0].plain[0].rows,
        "tested": sum(part.plain[1].rows for part in rounds),
        "rounds": len(rounds),
        "seed": seed,
        "majority": majority([part.plain for part in rounds], target),
        "classifiers": found,
    }
