"""Two owners, one release: two processes on this machine, beside `release` on the joined table.

    python benchmarks/joint_speed.py [--records 200000] [--score paper] [--aligned] [--csv FILE]

Adult expanded to so many records (`expand.py`), divided as in Fung 2007, chapter 7: nine columns
with the first owner, five and the class with the second; k = 50 over all 14. Cryptography, TLS,
transcripts and syncs are all there. `--aligned` leaves out the private intersection of ids.

Told are the seconds of every stage at the first owner, rounds, bytes on the wire, and how long one
owner with all columns takes. The bytes that tell partitions are a bit for each record that shows
the refined value, where it falls into two: linear in records and steps, whatever the values are.
Bar: the whole run in 60 s plus the intersection, at 200,000 records.
"""

from __future__ import annotations

import argparse
import csv
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

FIRST = ["age", "education-num", "fnlwgt", "relationship", "race", "sex", "marital-status",
         "native-country", "education"]  # fmt: skip
SECOND = ["hours-per-week", "capital-gain", "capital-loss", "workclass", "occupation"]
EXPAND = Path(__file__).resolve().with_name("expand.py")
COMMAND = [sys.executable, "-c", "from reticent.front import main; main()"]


def prepared(place: Path, records: int, score: str, aligned: bool) -> None:
    """The table of each owner, the joined one, and all policies and identities."""
    whole = place / "adult.csv"
    words = [sys.executable, EXPAND, "adult14", "--rows", str(records), "--seed", "1", "-o", whole]
    subprocess.run(list(map(str, words)), check=True)
    table = pl.read_csv(whole, infer_schema=False).with_row_index("id")
    named = ", ".join(json.dumps(name) for name in FIRST + SECOND)
    promise = f'[[anonymity]]\nover = [{named}]\nk = 50\n[goal]\nscore = "{score}"\n'
    ports = []
    for _ in range(2):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
    second = json.dumps([*SECOND, "class"])
    owners = f"[owners.a]\ncolumns = {json.dumps(FIRST)}\n[owners.b]\ncolumns = {second}\n"
    for owner, columns, other in (("a", FIRST, "b"), ("b", [*SECOND, "class"], "a")):
        folder = place / owner
        folder.mkdir()
        own = table.select("id", *columns).sample(fraction=1, shuffle=True, seed=len(owner))
        own.write_csv(folder / "data.csv")
        (folder / "joint.toml").write_text(f'id = "id"\nclass = "class"\n{owners}{promise}')
        subprocess.run(
            [*COMMAND, "party", "init", owner, "-o", folder / "identity", "-q"], check=True
        )
        mine, theirs = ports if owner == "a" else ports[::-1]
        (folder / "party.toml").write_text(
            f'name = "{owner}"\nlisten = "127.0.0.1:{mine}"\npolicy = "joint.toml"\n'
            f'data = "data.csv"\noutput = "out"\nrun = "speed"\nstep_timeout = 600\n'
            f'ids = "{"aligned" if aligned else "private"}"\nmost_ids = 10000000\n'
            f'[peers.{other}]\naddress = "127.0.0.1:{theirs}"\n'
            f'certificate = "../{other}/identity/certificate.pem"\n'
        )  # fmt: skip
    table.select("id", *FIRST, *SECOND, "class").write_csv(place / "joined.csv")
    (place / "alone.toml").write_text(
        f'drop = ["id"]\nclass = "class"\n{promise}search = "greedy"\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--score", default="conditional", choices=["conditional", "paper"])
    parser.add_argument("--aligned", action="store_true")
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        prepared(place, asked.records, asked.score, asked.aligned)
        start = time.perf_counter()
        processes = [
            subprocess.Popen([*COMMAND, "integrate", place / owner / "party.toml", "--json"],
                             stdout=subprocess.PIPE, text=True)
            for owner in "ab"
        ]  # fmt: skip
        said = [process.communicate()[0] for process in processes]
        joint = time.perf_counter() - start
        assert all(process.returncode == 0 for process in processes), said
        start = time.perf_counter()
        words = [
            "release",
            place / "joined.csv",
            "-p",
            place / "alone.toml",
            "-o",
            place / "one.csv",
        ]
        subprocess.run([*COMMAND, *map(str, words), "-q"], check=True)
        alone = time.perf_counter() - start
        same = (place / "one.csv").read_bytes() == (place / "a/out/public/data.csv").read_bytes()
        found: dict[str, Any] = json.loads(said[0])
    told = {
        "records": asked.records,
        "score": asked.score,
        "ids": "aligned" if asked.aligned else "private",
        "joint_seconds": round(joint, 1),
        "intersection_seconds": round(found["seconds"]["intersect"], 1),
        "refine_seconds": round(found["seconds"]["refine"], 1),
        "alone_seconds": round(alone, 1),
        "steps": found["steps"],
        "rounds": found["rounds"],
        "messages": found["messages"],
        "bytes": sum(found["bytes_sent"].values()) + sum(found["bytes_received"].values()),
        "same_bytes_as_release": same,
    }
    print("\n".join(f"{name:24} {value}" for name, value in told.items()))
    if asked.csv:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, told)
            writer.writeheader()
            writer.writerow(told)


if __name__ == "__main__":
    main()
