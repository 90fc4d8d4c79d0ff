"""Owners who talk: what their protocols cost, beside the figures that they have to reach.

    python benchmarks/parties_speed.py [--only NAME,…] [--ids 100000] [--runs 20] [--csv FILE]

All owners are threads of one process, and messages go through queues as the bytes they would be on
a wire: what is measured is the arithmetic, its checks and the making of messages, on all cores.
"processor" is what all owners together spent on all cores, which a busy machine changes little;
"seconds" is what the slower owner waited.

    job            what                                                     bar
    hash           an id to a point of the group                            60 µs of processor time
    blind          a point times a secret, its check included               60 to 95 µs
    compare        two 40-bit keys, both sides together                     60 ms of processor time
    intersect 2    two owners with 100,000 ids each, half of them common    60 s
    intersect 3    three owners with a tenth of that each                   none set
    channel …      the way of a message: `channel_speed.py`                 1 ms for 16 KiB
"""

from __future__ import annotations

import argparse
import csv
import queue
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

import channel_speed
from reticent.errors import PartyError
from reticent.parties import comparison, group, intersection
from reticent.parties.wire import M, Message

Row = dict[str, object]
Queues = dict[tuple[str, str], queue.Queue[bytes]]


@dataclass(frozen=True)
class QueueWire:
    """One owner of several in a process."""

    me: str
    owners: tuple[str, ...]
    queues: Queues

    def send(self, to: str, message: Message) -> None:
        self.queues[self.me, to].put(msgspec.msgpack.encode(message))

    def receive(self, of: str, kind: type[M]) -> M:
        return msgspec.msgpack.decode(self.queues[of, self.me].get(), type=kind)

    def refuse(self, of: str, what: str) -> PartyError:
        return PartyError(what, where=of)


def at_once(owners: tuple[str, ...], act: Callable[[QueueWire], object]) -> tuple[float, float]:
    """Seconds that all owners waited, and processor time of all of them."""
    queues: Queues = {(a, b): queue.Queue() for a in owners for b in owners if a != b}
    threads = [
        threading.Thread(target=act, args=(QueueWire(owner, owners, queues),)) for owner in owners
    ]
    start, processor = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start, time.process_time() - processor


def hashing(runs: int) -> Row:
    contents = [b"id %d" % number for number in range(2_000)]
    return each("hash", len(contents), runs, lambda: [group.hashed(one) for one in contents])


def blinding(runs: int) -> Row:
    points = [group.hashed(b"id %d" % number) for number in range(1_000)]
    secret = group.random_scalar()
    return each(
        "blind", len(points), runs, lambda: [group.times(secret, point) for point in points]
    )


def each(job: str, count: int, runs: int, act: Callable[[], object]) -> Row:
    """Processor time of one of many."""
    spent = []
    for _ in range(max(runs // 5, 1)):
        start = time.process_time()
        act()
        spent.append(time.process_time() - start)
    return row(job, None, statistics.median(spent) / count * 1e6, "µs")


def comparing(runs: int) -> Row:
    keys = {"first": 0x3F_F000_0000 >> 2, "second": 0x3F_F000_0001 >> 2}

    def act(wire: QueueWire) -> None:
        comparison.highest(wire, keys[wire.me])

    at_once(("first", "second"), act)  # what is made once in a process
    found = [at_once(("first", "second"), act) for _ in range(runs)]
    waited, spent = (statistics.median(times) for times in zip(*found, strict=True))
    return row("compare", waited, spent * 1e3, "ms")


def intersecting(owners: int, count: int) -> Row:
    names = tuple(f"owner {place}" for place in range(owners))
    step = count // 2 // (owners - 1)
    ids = {
        name: [f"id {number}" for number in range(place * step, place * step + count)]
        for place, name in enumerate(names)
    }
    found: dict[str, int] = {}

    def act(wire: QueueWire) -> None:
        found[wire.me] = len(intersection.intersect(wire, ids[wire.me]).order)

    waited, spent = at_once(names, act)
    assert set(found.values()) == {count - step * (owners - 1)}, found
    return row(f"intersect {owners}", waited, spent, "s", ids=count)


def carrying(job: str, runs: int) -> Row:
    found = channel_speed.JOBS[job](runs)
    return {
        "job": job,
        "ids": "",
        "seconds": "",
        "processor": found["found"],
        "unit": found["unit"],
    }


def row(job: str, seconds: float | None, processor: float, unit: str, ids: int = 0) -> Row:
    waited = "" if seconds is None else f"{seconds:.3f}"
    print(f"{job:12} {ids or '':>8} {waited:>9} {processor:9.1f} {unit}", flush=True)
    return {
        "job": job,
        "ids": ids or "",
        "seconds": waited,
        "processor": round(processor, 1),
        "unit": unit,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="jobs whose names begin like this")
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    only = tuple(part for part in asked.only.split(",") if part)
    jobs: dict[str, Callable[[], Row]] = {
        "hash": lambda: hashing(asked.runs),
        "blind": lambda: blinding(asked.runs),
        "compare": lambda: comparing(asked.runs),
        "intersect 2": lambda: intersecting(2, asked.ids),
        "intersect 3": lambda: intersecting(3, asked.ids // 10),
        **{name: partial(carrying, name, 25 * asked.runs) for name in channel_speed.JOBS},
    }
    print(f"{'job':12} {'ids':>8} {'seconds':>9} {'processor':>9}")
    found = [run() for name, run in jobs.items() if not only or name.startswith(only)]
    if asked.csv and found:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
