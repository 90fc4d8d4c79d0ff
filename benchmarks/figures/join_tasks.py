"""Many-table tasks as folders that every tool reads alike: tables, task.json, folds.csv.

A task holds the tables as CSV, the target table first. `task.json` says how they join, which
columns may be used and what the class is; `folds.csv` holds one number for each record of the
target and repetition, so that all tools train and test on the same records. Folds are by group: no
country, no player and no day is in two of them.

Which records there are is part of a task. `joined` are the records that join with something in
every table; `all` are all that have a class. An inner join loses the others, and a tool that
aggregates does not: the share that joins is the coverage.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mondial import CLASS, JOINS, Mondial

FOLDS = 5
REPEATS = 5  # one dealing of 57 countries tells little
Cell = str | None
Join = tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]  # near the target, far


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, which of them may be used besides joining, and rows."""

    columns: tuple[str, ...]
    candidates: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]

    def keys(self, columns: Sequence[str]) -> list[tuple[str, ...] | None]:
        """The join value of every row; None where a part of it is missing."""
        places = [self.columns.index(name) for name in columns]
        found = ([row[place] for place in places] for row in self.rows)
        return [None if None in key else tuple(map(str, key)) for key in found]

    def write(self, path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(self.rows)


@dataclass(frozen=True, slots=True)
class Task:
    """Tables that join, the target first; `groups[i]` is what no two folds share of record i."""

    name: str
    tables: Mapping[str, Table]
    joins: Sequence[Join]
    label: str  # the class, a column of the target
    groups: Sequence[str]
    repeats: int = 1  # so often records are dealt to folds

    @property
    def target(self) -> str:
        return next(iter(self.tables))

    def labels(self) -> list[str]:
        place = self.tables[self.target].columns.index(self.label)
        return [str(row[place]) for row in self.tables[self.target].rows]

    def joined_rows(self) -> list[int]:
        """How many rows of the join hold each record of the target, by sums of products."""
        return self._behind(self.target)

    def _behind(self, table: str) -> list[int]:
        found = [1] * len(self.tables[table].rows)
        for (near, columns), (far, others) in self.joins:
            if near == table:
                sums: Counter[tuple[str, ...]] = Counter()
                behind = self._behind(far)
                for key, count in zip(self.tables[far].keys(others), behind, strict=True):
                    if key is not None:
                        sums[key] += count
                keys = self.tables[table].keys(columns)
                found = [0 if key is None else count * sums[key]
                         for key, count in zip(keys, found, strict=True)]  # fmt: skip
        return found

    def of(self, kept: Callable[[int], bool], name: str) -> Task:
        """The same task with some of the records."""
        target = self.tables[self.target]
        places = [place for place in range(len(target.rows)) if kept(place)]
        rows = [target.rows[place] for place in places]
        tables = {**self.tables, self.target: Table(target.columns, target.candidates, rows)}
        groups = [self.groups[place] for place in places]
        return replace(self, name=name, tables=tables, groups=groups)

    def folds(self, seed: int = 0) -> list[int]:
        """The fold of each record: groups are shuffled and dealt in turn."""
        names = sorted(set(self.groups))
        order = np.random.default_rng([6, seed]).permutation(len(names))
        fold = {names[place]: turn % FOLDS for turn, place in enumerate(order)}
        return [fold[group] for group in self.groups]

    def effective_groups(self, weights: Sequence[float]) -> float:
        """How many groups carry the weight: the inverse of Simpson's index."""
        sums = dict.fromkeys(self.groups, 0.0)
        for group, weight in zip(self.groups, weights, strict=True):
            sums[group] += weight
        total = sum(sums.values())
        return 1 / sum((weight / total) ** 2 for weight in sums.values()) if total else 0.0

    def write(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            table.write(place / f"{name}.csv")
        usable = {name: table.candidates for name, table in self.tables.items()}
        said = {"target": self.target, "class": self.label, "joins": self.joins,
                "candidates": usable}  # fmt: skip
        (place / "task.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        every = [self.folds(seed) for seed in range(self.repeats)]
        with (place / "folds.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(range(self.repeats))
            writer.writerows(zip(*every, strict=True))

    def schema(self, keep: str = "inner", grow: str = "", alone: bool = False) -> str:
        """The schema; `{name}.csv` are its tables, and the target alone has no joins."""
        said = [f"class = {json.dumps(f'{self.target}.{self.label}')}"]
        for name, table in self.tables.items():
            if name == self.target or not alone:
                said += [f"[tables.{name}]", f'path = "{name}.csv"',
                         f"candidates = {json.dumps(table.candidates)}"]  # fmt: skip
        for (near, columns), (far, others) in () if alone else self.joins:
            ends = ([f"{near}.{c}" for c in columns], [f"{far}.{c}" for c in others])
            left, right = (json.dumps(end[0] if len(end) == 1 else end) for end in ends)
            said += ["[[joins]]", f"left = {left}", f"right = {right}"]
            said += [] if keep == "inner" else [f'keep = "{keep}"']
        return "\n".join([*said, "[grow]", grow]) + "\n"


def both(task: Task) -> list[Task]:
    """The records that join with something, and all."""
    weights = task.joined_rows()
    return [task.of(lambda place: weights[place] > 0, f"{task.name}, joined"),
            task.of(lambda place: True, f"{task.name}, all")]  # fmt: skip


# --- Mondial ----------------------------------------------------------------------------------


def mondial_tasks(version: str) -> list[Task]:
    """The largest religion of each country, the first of equally large ones; and all religions."""
    mondial = Mondial.read(version)
    tables = {
        name: Table(columns, tuple(mondial.candidates(name)), mondial.rows[name])
        for name, columns in mondial.columns.items()
    }
    joins = [(end(left), end(right)) for left, right in JOINS]
    countries = [str(code) for code in mondial.cells("religion", "Country")]
    task = Task(f"Mondial-{version}, all religions", tables, joins, CLASS, countries, REPEATS)
    largest: dict[str, tuple[float, int]] = {}
    for place, percent in enumerate(mondial.cells("religion", "Percentage")):
        share = -1.0 if percent is None else float(percent)
        if share > largest.get(countries[place], (-2.0, 0))[0]:
            largest[countries[place]] = (share, place)
    chosen = {place for _, place in largest.values()}
    first = task.of(lambda place: place in chosen, f"Mondial-{version}, largest religion")
    return [*both(first), *both(task)]


def end(text: str) -> tuple[str, tuple[str, ...]]:
    table, _, column = text.partition(".")
    return table, (column,)


# --- Baseball and flights, as `join_tree_peers.py export` has written them ---------------------


def baseball_tasks(place: Path) -> list[Task]:
    """Who of those ever voted on came into the hall of fame; 1:n joins, all by the player."""
    usable = {
        "players": (),
        "People": ("birthYear", "birthCountry", "birthState", "weight", "height", "bats", "throws",
                   "debut", "finalGame"),
        "Batting": ("yearID", "teamID", "lgID", "G", "AB", "R", "H", "2B", "3B", "HR", "RBI", "SB",
                    "CS", "BB", "SO", "IBB", "HBP", "SH", "SF", "GIDP"),
        "Pitching": ("yearID", "teamID", "lgID", "W", "L", "G", "GS", "CG", "SHO", "SV", "IPouts",
                     "H", "ER", "HR", "BB", "SO", "BAOpp", "ERA"),
        "Fielding": ("yearID", "teamID", "lgID", "POS", "G", "GS", "InnOuts", "PO", "A", "E", "DP"),
        "AwardsPlayers": ("awardID", "yearID", "lgID"),
        "AllstarFull": ("yearID", "teamID", "lgID", "startingPos"),
    }  # fmt: skip
    tables = {name: read_table(place / f"{name}.csv", used) for name, used in usable.items()}
    player = ("playerID",)
    joins = [(("players", player), (name, player)) for name in usable if name != "players"]
    groups = [str(row[0]) for row in tables["players"].rows]
    return both(Task("Hall of fame", tables, joins, "inducted", groups, REPEATS))


def flight_tasks(place: Path) -> list[Task]:
    """Who arrives more than a quarter of an hour late; weather joins by five columns."""
    usable = {
        "flights": ("month", "day", "hour", "minute", "sched_dep_time", "sched_arr_time", "carrier",
                    "origin", "distance"),
        "weather": ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip",
                    "pressure", "visib"),
        "planes": ("year", "type", "manufacturer", "engines", "seats", "engine"),
        "airports": ("lat", "lon", "alt", "tz"),
        "airlines": ("name",),
    }  # fmt: skip
    tables = {name: read_table(place / f"{name}.csv", used) for name, used in usable.items()}
    hour = ("year", "month", "day", "hour", "origin")
    joins: list[Join] = [
        (("flights", hour), ("weather", hour)),
        (("flights", ("tailnum",)), ("planes", ("tailnum",))),
        (("flights", ("dest",)), ("airports", ("faa",))),
        (("flights", ("carrier",)), ("airlines", ("carrier",))),
    ]
    flown = tables["flights"]
    days = ["-".join(key or ()) for key in flown.keys(("year", "month", "day"))]
    return both(Task("Late flights", tables, joins, "arrival", days))


def read_table(path: Path, candidates: tuple[str, ...]) -> Table:
    """A CSV file; empty cells are missing."""
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    return Table(tuple(columns), candidates, [[cell or None for cell in row] for row in rows])
