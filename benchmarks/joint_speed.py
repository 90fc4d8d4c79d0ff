"""Two owners, one release: two processes on this machine, beside `release` on the joined table.

    python benchmarks/joint_speed.py [--records 200000] [--score paper] [--aligned] [--csv FILE]
    python benchmarks/joint_speed.py --wire [--csv FILE]

Adult expanded to so many records (`expand.py`), divided as in Fung 2007, chapter 7: nine columns
with the first owner, five and the class with the second; k = 50 over all 14. Cryptography, TLS,
transcripts and syncs are all there. `--aligned` leaves out the private intersection of ids.

Told are the seconds of every stage at the first owner, rounds, comparisons, bytes on the wire, and
how long one owner with all columns takes. Bar: the whole run in 60 s plus the intersection, at
200,000 records.

`--wire` asks what the bytes grow with: made-up numbers, of which 100 or as many as there are
records differ, refined by so many steps. A partition is a bit for each record that shows the
refined value, where it falls into two.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

FIRST = ["age", "education-num", "fnlwgt", "relationship", "race", "sex", "marital-status",
         "native-country", "education"]  # fmt: skip
SECOND = ["hours-per-week", "capital-gain", "capital-loss", "workclass", "occupation"]
EXPAND = Path(__file__).resolve().with_name("expand.py")
COMMAND = [sys.executable, "-c", "from reticent.front import main; main()"]
WIRE = (  # records, steps, distinct values of either column
    (50_000, 16, 100), (100_000, 16, 100), (200_000, 16, 100), (100_000, 8, 100),
    (100_000, 32, 100), (100_000, 16, 10_000), (100_000, 16, 100_000),
)  # fmt: skip


def laid(
    place: Path, table: pl.DataFrame, columns: Mapping[str, Sequence[str]], goal: str, ids: str
) -> None:
    """The table of each of two owners, a and b, who shuffle it, and their settings."""
    named = [json.dumps(name) for names in columns.values() for name in names if name != "class"]
    promise = f"[[anonymity]]\nover = [{', '.join(named)}]\nk = 50\n{goal}"
    owners = "".join(
        f"[owners.{owner}]\ncolumns = {json.dumps(names)}\n" for owner, names in columns.items()
    )
    ports = []
    for _ in columns:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
    for number, (owner, names) in enumerate(columns.items()):
        folder = place / owner
        folder.mkdir()
        own = table.select("id", *names).sample(fraction=1, shuffle=True, seed=number)
        own.write_csv(folder / "data.csv")
        (folder / "joint.toml").write_text(f'id = "id"\nclass = "class"\n{owners}{promise}')
        made = [*COMMAND, "party", "init", owner, "-o", str(folder / "identity"), "-q"]
        subprocess.run(made, check=True)
        other = "b" if owner == "a" else "a"
        (folder / "party.toml").write_text(
            f'name = "{owner}"\nlisten = "127.0.0.1:{ports[number]}"\npolicy = "joint.toml"\n'
            f'data = "data.csv"\noutput = "out"\nrun = "speed"\nstep_timeout = 600\n'
            f'ids = "{ids}"\nmost_ids = 10000000\n'
            f'[peers.{other}]\naddress = "127.0.0.1:{ports[1 - number]}"\n'
            f'certificate = "../{other}/identity/certificate.pem"\n'
        )
    (place / "alone.toml").write_text(
        f'drop = ["id"]\nclass = "class"\n{promise}search = "greedy"\n'
    )


def adult(place: Path, records: int, score: str, ids: str) -> None:
    """Adult, divided as the paper does, and joined for one owner."""
    whole = place / "adult.csv"
    words = [sys.executable, EXPAND, "adult14", "--rows", str(records), "--seed", "1", "-o", whole]
    subprocess.run(list(map(str, words)), check=True)
    table = pl.read_csv(whole, infer_schema=False).with_row_index("id")
    columns = {"a": FIRST, "b": [*SECOND, "class"]}
    laid(place, table, columns, f'[goal]\nscore = "{score}"\n', ids)
    table.select("id", *FIRST, *SECOND, "class").write_csv(place / "joined.csv")


def numbers(place: Path, records: int, distinct: int) -> None:
    """A column of numbers with each owner, and a class that either tells something about."""
    rng = random.Random(1)
    first, second = ([rng.randrange(distinct) for _ in range(records)] for _ in range(2))
    told = [
        str(int(x + y + rng.uniform(-0.3, 0.3) * distinct > distinct))
        for x, y in zip(first, second, strict=True)
    ]
    table = pl.DataFrame({"x": first, "y": second, "class": told}).with_row_index("id")
    masks = "".join(
        f"[attributes.{name}]\nmask = 'discretize'\nrange = [0, {distinct}]\n" for name in "xy"
    )
    laid(place, table, {"a": ["x"], "b": ["y", "class"]}, masks, "aligned")


def integrated(place: Path, *how: str) -> dict[str, Any]:
    """Let both integrate; what the first says, how long it took, and how often they compared."""
    start = time.perf_counter()
    processes = [
        subprocess.Popen(
            [*COMMAND, "integrate", str(place / owner / "party.toml"), "--json", *how],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for owner in "ab"
    ]  # fmt: skip
    said = [process.communicate()[0] for process in processes]
    took = time.perf_counter() - start
    assert all(process.returncode == 0 for process in processes), said
    transcript = (place / "a/out/private/transcript/entries").read_bytes()
    found: dict[str, Any] = json.loads(said[0])
    wire = sum(found["bytes_sent"].values()) + sum(found["bytes_received"].values())
    compared = transcript.count(b"HiddenDifferences")
    return found | {"took": took, "compared": compared, "bytes": wire}


def speed(asked: argparse.Namespace) -> dict[str, Any]:
    """The run of two owners beside that of one."""
    ids = "aligned" if asked.aligned else "private"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        adult(place, asked.records, asked.score, ids)
        found = integrated(place)
        start = time.perf_counter()
        files = [place / "joined.csv", "-p", place / "alone.toml", "-o", place / "one.csv"]
        subprocess.run([*COMMAND, "release", *map(str, files), "-q"], check=True)
        alone = time.perf_counter() - start
        same = (place / "one.csv").read_bytes() == (place / "a/out/public/data.csv").read_bytes()
    return {
        "records": asked.records,
        "score": asked.score,
        "ids": ids,
        "joint_seconds": round(found["took"], 1),
        "intersection_seconds": round(found["seconds"]["intersect"], 1),
        "refine_seconds": round(found["seconds"]["refine"], 1),
        "alone_seconds": round(alone, 1),
        "steps": found["steps"],
        "rounds": found["rounds"],
        "comparisons": found["compared"],
        "messages": found["messages"],
        "bytes": found["bytes"],
        "same_bytes_as_release": same,
    }


def wire() -> Iterable[dict[str, Any]]:
    """What bytes on the wire grow with."""
    for records, steps, distinct in WIRE:
        with tempfile.TemporaryDirectory() as folder:
            numbers(Path(folder), records, distinct)
            found = integrated(Path(folder), "--max-steps", str(steps))
        yield {
            "records": records,
            "steps": found["steps"],
            "distinct_values": distinct,
            "bytes": found["bytes"],
            "bits_a_record_and_step": round(8 * found["bytes"] / records / found["steps"], 2),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--score", default="conditional", choices=["conditional", "paper"])
    parser.add_argument("--aligned", action="store_true")
    parser.add_argument("--wire", action="store_true")
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    told = []
    for line in wire() if asked.wire else [speed(asked)]:
        told.append(line)
        print(*(f"{name:24} {value}" for name, value in line.items()), "", sep="\n", flush=True)
    if asked.csv:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, told[0])
            writer.writeheader()
            writer.writerows(told)


if __name__ == "__main__":
    main()
