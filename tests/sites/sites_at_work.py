"""Sites on the loopback, each a process of its own, and what they leave behind."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from parties_net_at_hand import free_ports
from reticent.jointree.sites.audit import audit
from reticent.parties.identity import make
from terminal import finished, start

End = tuple[int, str, str]  # exit code, stdout, stderr
HOLDS = {
    "model.json", "splits.json", "schema.toml", "site.json", "certificates", "transcript",
}  # fmt: skip


def invented(seed: int = 1) -> dict[str, pa.Table]:
    """Visits, wards, and what was cooked there: each row with an id that stands nowhere else."""
    rng = random.Random(seed)
    wards = [f"ward{n}" for n in range(8)]
    rows: dict[str, list[dict[str, Any]]] = {"visit": [], "ward": [], "meal": []}
    for n in range(120):
        ward = rng.choice([*wards, "elsewhere"])
        ill = wards.index(ward) % 3 == 0 if ward in wards else rng.random() < 0.5
        rows["visit"].append({
            "v": f"vneedle{n}", "ward": ward, "age": rng.randrange(20, 90),
            "ill": "yes" if ill != (rng.random() < 0.2) else "no",
        })  # fmt: skip
    for n, ward in enumerate([*wards, *wards, "unused"]):
        rows["ward"].append({
            "w": f"wneedle{n}", "name": ward, "beds": 5 * (n % 3) + rng.randrange(5),
            "kitchen": f"k{n % 3}",
        })  # fmt: skip
    for n in range(12):
        kind = rng.choice(["soup", "stew", "roastneedle"])
        rows["meal"].append({"m": f"mneedle{n}", "kitchen": f"k{n % 3}", "kind": kind})
    return {name: pa.Table.from_pylist(lines) for name, lines in rows.items()}


def without_common_measure() -> dict[str, pa.Table]:
    """The same, where as many wards have a visitor's ward's name as no other's, a prime number."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    rng = random.Random(3)
    visits = [
        {"v": f"v{n}", "ward": f"ward{primes[n % 16]}", "age": rng.randrange(90),
         "ill": "yes" if n % 16 % 3 == 0 or rng.random() < 0.2 else "no"}
        for n in range(160)
    ]  # fmt: skip
    wards = [
        {"w": f"w{prime}-{n}", "name": f"ward{prime}", "beds": rng.randrange(20),
         "kitchen": f"k{prime % 3}"}
        for prime in primes for n in range(prime)
    ]  # fmt: skip
    meals = [{"m": f"m{n}", "kitchen": f"k{n}", "kind": rng.choice(["soup", "stew"])}
             for n in range(3)]  # fmt: skip
    rows = {"visit": visits, "ward": wards, "meal": meals}
    return {name: pa.Table.from_pylist(lines) for name, lines in rows.items()}


def schema_of(sites: Mapping[str, str], grow: Mapping[str, object]) -> str:
    ids = {"visit": "v", "ward": "w", "meal": "m"}
    lines = ['class = "visit.ill"']
    for table, name in ids.items():
        lines += [f"[tables.{table}]", f'ids = ["{name}"]', f'site = "{sites[table]}"']
    lines += ["[[joins]]", 'left = "visit.ward"', 'right = "ward.name"']
    lines += ["[[joins]]", 'left = "ward.kitchen"', 'right = "meal.kitchen"']
    lines += ["[grow]", *(f"{key} = {json.dumps(value)}" for key, value in grow.items())]
    return "\n".join(lines) + "\n"


@dataclass
class Sites:
    """Their folders; each holds a site's settings, the schema and its tables."""

    folder: Path
    site_of: Mapping[str, str] = field(
        default_factory=lambda: {"visit": "clinic", "ward": "works", "meal": "works"}
    )
    grow: Mapping[str, object] = field(default_factory=lambda: {"prune": False, "max_depth": 4})
    more: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=invented)

    def __post_init__(self) -> None:
        ports = dict(zip(self.names, free_ports(len(self.names)), strict=True))
        for name in self.names:
            (self.folder / name).mkdir()
            make(name, self.folder / name / "identity")
            said = {
                "name": name, "listen": f"127.0.0.1:{ports[name]}", "schema": "schema.toml",
                "output": "out", "run": "one", "meet_timeout": 30, "step_timeout": 30, **self.more,
            }  # fmt: skip
            lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
            own = [table for table, site in self.site_of.items() if site == name]
            lines += ["[data]", *(f'{table} = "{table}.csv"' for table in own)]
            for other in (one for one in self.names if one != name):
                lines += [f"[peers.{other}]", f'address = "127.0.0.1:{ports[other]}"']
                lines += [f'certificate = "../{other}/identity/certificate.pem"']
            (self.folder / name / "party.toml").write_text("\n".join(lines))
            for table in own:
                csv.write_csv(self.tables[table], self.folder / name / f"{table}.csv")
        self.agree_on(schema_of(self.site_of, self.grow))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.site_of.values()))

    def agree_on(self, schema: str) -> None:
        for name in self.names:
            (self.folder / name / "schema.toml").write_text(schema)

    def start(self, site: str, *words: object, first: str = "") -> subprocess.Popen[str]:
        """Start one; `first`: Python code that lets something go wrong."""
        program = [sys.executable, "-c", f"{first}\nfrom reticent.front import main; main()"]
        return start(
            "tree", *words, program=program, cwd=self.folder / site,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def all(self, *words: object, **by_site: Sequence[object]) -> dict[str, End]:
        """All at once; how each ended."""
        running = {name: self.start(name, *words, *by_site.get(name, ())) for name in self.names}
        return {name: finished(process) for name, process in running.items()}

    def train(self, *words: object) -> dict[str, End]:
        return self.all("train", "--party", "party.toml", *words)

    def out(self, site: str) -> Path:
        return self.folder / site / "out"

    def see_same(self) -> None:
        models = {(self.out(name) / "model.json").read_bytes() for name in self.names}
        assert len(models) == 1
        for name in self.names:
            assert {path.name for path in self.out(name).iterdir()} == HOLDS
            assert not (self.folder / name / "out.run").exists()
            found = audit(self.out(name))
            assert found.fault is None, (name, found.text)
        self.see_no_leftovers()

    def see_no_leftovers(self) -> None:
        own = {f"{table}.csv" for table in self.site_of}
        known = {"identity", "party.toml", "schema.toml", "out", "out.run", "ids.csv", *own}
        for name in self.names:
            assert {path.name for path in (self.folder / name).iterdir()} <= known

    def see_whole_or_nothing(self) -> None:
        for name in self.names:
            if self.out(name).exists():
                assert {path.name for path in self.out(name).iterdir()} >= HOLDS - {"transcript"}

    def see_nothing(self) -> None:
        for name in self.names:
            assert not self.out(name).exists()
        self.see_no_leftovers()
