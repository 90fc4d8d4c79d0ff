"""From a collection to what a profile is worth on it, written down so that anybody can look again.

index.html        the curve, and whom it helps and whom it harms
summary.json      the same as data
curve.csv         gain in AP for each share of a profile that is told, over all clusterings
clusterings.csv   the same for each clustering
queries.csv       AP of every query of every user
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.errors import InputError, Stopped, many
from reticent.files.output import check_free, refuse_inputs, whole_folder, write_text
from reticent.progress import Clock, Watch
from reticent.search.engines import SearchEngine
from reticent.search.evaluation.experiment import FUSIONS, ClusteringRun, SearchExperiment
from reticent.search.evaluation.judged import JudgedCollection, read_judged
from reticent.search.evaluation.pages import evaluation_page
from reticent.search.evaluation.report import (
    FEW,
    RATIOS,
    ClusteringGain,
    EvaluatedSearch,
    curve_of,
    gain_data,
    gains_of,
    point_data,
)
from reticent.search.evaluation.users import CLUSTERS, LEAST_QUERIES, LEAST_READ
from reticent.search.exposing import share_of
from reticent.search.index import LocalIndex, update_index
from reticent.search.words import Language, guessed_language, words_of

SEEDS = tuple(range(11, 19))  # 0 to 10 were looked at while the method was chosen
_FILES = ("index.html", "summary.json", "curve.csv", "clusterings.csv", "queries.csv")


def evaluate(
    collection: str | Path,
    output: str | Path | None = None,
    *,
    seeds: Sequence[int] = SEEDS,
    ratios: Sequence[Fraction | float | str] = RATIOS,
    language: str | None = None,
    watch: Watch | None = None,
    force: bool = False,
) -> EvaluatedSearch:
    """Measure what telling a part of a profile is worth, by users made of judged queries.

    `seeds`: one clustering of queries into users each. `ratios`: shares of a profile to tell; the
    whole is always among them. `language`: guessed unless told.
    """
    told = tuple(sorted({*(share_of("--ratios", ratio) for ratio in ratios), Fraction(1)}))
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise InputError(
            "seeds are whole numbers from 0 on, each once", where="--seeds", do="give 11 to 18."
        )
    if output is not None:
        refuse_inputs([Path(output)], [Path(collection)])
        check_free(Path(output), force=force, holds=_FILES)
    clock = Clock(watch or Watch())
    with clock.stage("read"):
        judged = read_judged(collection)
        chosen = Language(language or _guessed(judged))
    with clock.stage("index"), tempfile.TemporaryDirectory(prefix="reticent-") as folder:
        update_index(Path(folder) / "index", judged.documents, chosen, watch=clock.watch)
        engine: SearchEngine = LocalIndex.open(Path(folder) / "index")
        experiment = SearchExperiment(judged, engine, chosen, told)
    with clock.stage("ask"):
        runs = _run(experiment, seeds, clock)
        gains = gains_of(runs, told)
    _refuse_nothing(gains, judged, runs)
    found = EvaluatedSearch(
        judged.parts, len(judged.documents), len(judged.queries), chosen.name, told, runs,
        tuple(gains), tuple(curve_of(gains, runs, told)), dict(clock.seconds),
        (*judged.notes, *_notes(runs)),
        None if output is None else str(output),
    )  # fmt: skip
    if output is not None:
        with clock.stage("write"):
            _write(found, Path(output), judged, force=force)
    return replace(found, seconds=dict(clock.seconds))


def _guessed(judged: JudgedCollection) -> str:
    return guessed_language([words_of(one.text) for one in judged.documents[:1000]]).name


def _run(
    experiment: SearchExperiment, seeds: Sequence[int], clock: Clock
) -> tuple[ClusteringRun, ...]:
    """All clusterings, one after the other."""
    runs = []
    for done, seed in enumerate(seeds):

        def tell(at: int, of: int, done: int = done) -> None:
            if clock.watch.stop():
                raise Stopped("Stopped; nothing was written.")
            clock.watch.rows(1000 * done + 1000 * at // of, 1000 * len(seeds))

        runs.append(experiment.run(seed, tell))
    return tuple(runs)


def _notes(runs: Sequence[ClusteringRun]) -> Iterator[str]:
    fewest = min(run.users for run in runs)
    if fewest < FEW:
        yield (
            f"There are clusterings of no more than {many(fewest, 'user')}; intervals over so few "
            "are too narrow."
        )


def _refuse_nothing(
    gains: Sequence[ClusteringGain], judged: JudgedCollection, runs: Sequence[ClusteringRun]
) -> None:
    if any(one.group == "own" for one in gains):
        return
    asked = many(len(judged.queries), "judged query", "judged queries")
    users, left_out = max(run.users for run in runs), sum(run.left_out for run in runs)
    raise InputError(
        "nobody asked a query with results of both kinds, relevant and not",
        where="search evaluate",
        why=f"{CLUSTERS} kinds of queries are looked for; a kind of {LEAST_QUERIES} or more makes "
        f"a user, who has read {LEAST_READ} documents or more that answer other queries than what "
        f"is asked. Here are {asked}, and {many(users, 'user')} at most; "
        f"{many(left_out, 'fold')} left out, with fewer documents to read.",
        do=f"give a collection of {CLUSTERS * LEAST_QUERIES} judged queries or more, each with "
        "several relevant documents, or a folder of several collections.",
    )


# --- writing -------------------------------------------------------------------------------------


def _write(found: EvaluatedSearch, output: Path, judged: JudgedCollection, *, force: bool) -> None:
    """Let everything appear at once."""
    with whole_folder(output, force=force, holds=_FILES) as folder:
        summary = json.dumps(found.summary(), indent=1, ensure_ascii=False)
        write_text(folder / "summary.json", summary + "\n")
        _write_rows(folder / "curve.csv", map(point_data, found.curve))
        _write_rows(folder / "clusterings.csv", map(gain_data, found.gains))
        _write_rows(folder / "queries.csv", _queries(found, judged))
        write_text(folder / "index.html", evaluation_page(found))


def _queries(found: EvaluatedSearch, judged: JudgedCollection) -> Iterable[Mapping[str, Any]]:
    for run in found.runs:
        for one in run.asked:
            for fusion, line in zip(FUSIONS, one.found.tolist(), strict=True):
                yield {
                    "group": one.group,
                    "form": one.form,
                    "seed": one.seed,
                    "user": one.user,
                    "query": judged.queries[one.query].name,
                    "fusion": fusion,
                    "engine_ap": f"{one.engine:.4f}",
                    **{
                        f"ap_{float(ratio):g}": f"{ap:.4f}"
                        for ratio, ap in zip(found.ratios, line, strict=True)
                    },
                }


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: csv.DictWriter[str] | None = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(file, [*row], lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
