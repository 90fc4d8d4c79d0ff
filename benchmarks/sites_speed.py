"""One tree over tables at two sites: how long it takes, beside one site that has both.

    python benchmarks/sites_speed.py [--rows 200000,1000000] [--depth 8] [--csv FILE]

Two tables of the chain of `join_tree_speed.py`, with so many records and a quarter as many join
values, as Xu 2008, fig. 9, has it; the paper says 60 % more than at one site, for records up to a
million, and under 5 s for the intersection. Each site is a process, on the loopback, with all there
is: blinded join values, comparisons of keys under encryption, TLS, transcripts and syncs.

Seconds are of the clock at the first site, and of one site's whole command for the same files:

    intersect   finding the common join values
    compare     comparisons, one for each node that is no leaf, waiting for the other included
    rest        everything else: reading, first sums, splits, pruning, writing, agreeing

Bar: the rest takes at most twice what one site takes. The intersection costs two multiplications a
value and site in a group of 128 bits, some 75 s for 250,000 values a side.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from join_tree_speed import Chain

COMMAND = [sys.executable, "-c", "from reticent.front import main; main()"]
SITES = ("a", "b")
HEADS = ("rows", "join values", "joined rows", "nodes", "comparisons", "one site, s", "sites, s",
         "intersect, s", "compare, s", "rest, s", "rest / one site", "MB sent", "bar")  # fmt: skip


def laid(place: Path, rows: int, depth: int) -> None:
    """The tables, the schema and the settings of both sites."""
    task = Chain(2, rows, depth)
    schema, tables = task.schema(), task.tables()
    ports = []
    for _ in SITES:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
    lines = [f"class = {json.dumps(schema['class'])}"]
    for name, site in zip(tables, SITES, strict=True):
        pq.write_table(tables[name], place / f"{name}.parquet")
        lines += [f"[tables.{name}]", f'path = "{place}/{name}.parquet"', f'site = "{site}"']
    for join in schema["joins"]:
        lines += ["[[joins]]", *(f"{side} = {json.dumps(told)}" for side, told in join.items())]
    lines += ["[grow]", *(f"{key} = {json.dumps(told)}" for key, told in schema["grow"].items())]
    (place / "schema.toml").write_text("\n".join(lines) + "\n")
    for number, site in enumerate(SITES):
        (place / site).mkdir()
        made = [*COMMAND, "party", "init", site, "-o", str(place / site / "identity"), "-q"]
        subprocess.run(made, check=True)
        other = SITES[1 - number]
        (place / site / "party.toml").write_text(
            f'name = "{site}"\nlisten = "127.0.0.1:{ports[number]}"\nschema = "../schema.toml"\n'
            f'output = "model"\nrun = "speed"\nstep_timeout = 900\nmost_ids = 10000000\n'
            f'[peers.{other}]\naddress = "127.0.0.1:{ports[1 - number]}"\n'
            f'certificate = "../{other}/identity/certificate.pem"\n'
        )


def alone(place: Path) -> tuple[dict[str, Any], float]:
    """What one site takes that has both tables; its loops are compiled by then."""
    words = [*COMMAND, "tree", "train", str(place / "schema.toml"), "--json", "--force"]
    took = []
    for _ in range(3):
        begun = time.perf_counter()
        done = subprocess.run(
            [*words, "-o", str(place / "one")], check=True, capture_output=True, text=True
        )
        took.append(time.perf_counter() - begun)
    return json.loads(done.stdout), sorted(took)[1]


def together(place: Path) -> tuple[dict[str, Any], float]:
    """What both sites take; the first one's word, and the clock."""
    begun = time.perf_counter()
    running = [
        subprocess.Popen(
            [*COMMAND, "tree", "train", "--party", "party.toml", "--json"], cwd=place / site,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for site in SITES
    ]  # fmt: skip
    said = [one.communicate()[0] for one in running]
    took = time.perf_counter() - begun
    assert [one.returncode for one in running] == [0, 0]
    return json.loads(said[0]), took


def measured(rows: int, depth: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        laid(place, rows, depth)
        one, one_took = alone(place)
        both, took = together(place)
    assert (one["nodes"], one["depth"]) == (both["nodes"], both["depth"])
    seconds = both["seconds"]
    rest = took - seconds["intersect"] - seconds["compare"]
    return {
        "rows": rows, "join values": both["joins"][0]["common_values"], "joined rows": one["rows"],
        "nodes": both["nodes"], "comparisons": both["comparisons"],
        "one site, s": f"{one_took:.2f}", "sites, s": f"{took:.1f}",
        "intersect, s": f"{seconds['intersect']:.1f}", "compare, s": f"{seconds['compare']:.1f}",
        "rest, s": f"{rest:.2f}", "rest / one site": f"{rest / one_took:.2f}",
        "MB sent": f"{sum(both['bytes_sent'].values()) / 1e6:.1f}",
        "bar": "twice: " + ("met" if rest <= 2 * one_took else "MISSED"),
    }  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="200000,1000000", help="records of each table")
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--csv", type=Path, help="where to write what came out")
    asked = parser.parse_args(words)
    lines = []
    for rows in map(int, asked.rows.split(",")):
        lines.append(measured(rows, asked.depth))
        print("  ".join(f"{head} {lines[-1][head]}" for head in HEADS), flush=True)
    if asked.csv:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, HEADS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
