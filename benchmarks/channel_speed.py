"""Owners who talk: what the way of a message costs, beside the figure that it has to reach.

    python benchmarks/channel_speed.py [--only NAME,…] [--runs 500] [--csv FILE]

Two owners over TLS 1.3 on the loopback, those of a session in a process each. A round trip is a
message there and one of the same size back; times are medians. "channel" is frames alone. "session"
is what a protocol waits: both ways with envelope, digests, transcript, sync to the disk and
acknowledgement at either end; how long this disk takes to sync is told beside it. Throughput is one
owner sending, the other receiving.

    job                   bar
    channel 16 KiB        1 ms
    session 16 KiB        none set
    channel MiB/s         none set
    session MiB/s         none set
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reticent.parties.identity import Identity, make
from reticent.parties.session import Session
from reticent.parties.state import State
from reticent.parties.tcp import Peer, TcpChannel
from reticent.parties.wire import Message

OWNERS = ("bank", "card")
SIZE = 16 * 1024
MIB = 1024 * 1024
Row = dict[str, object]


class Load(Message, frozen=True):
    content: bytes


def prepared(place: Path) -> dict[str, str]:
    """Make identities, and choose addresses."""
    for name in OWNERS:
        make(name, place / f"{name}-identity")
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other)]
    return dict(zip(OWNERS, addresses, strict=True))


def channel(name: str, place: Path, addresses: dict[str, str]) -> TcpChannel:
    found = {other: Identity.load(place / f"{other}-identity") for other in OWNERS}
    peers = {
        other: Peer(addresses[other], found[other].certificate) for other in OWNERS if other != name
    }
    return TcpChannel(found[name], addresses[name], peers)


@contextmanager
def connected() -> Iterator[tuple[TcpChannel, TcpChannel]]:
    with tempfile.TemporaryDirectory() as place:
        addresses = prepared(Path(place))
        bank, card = (channel(name, Path(place), addresses) for name in OWNERS)
        for one, peer in ((bank, "card"), (card, "bank")):
            assert one.receive(10)
            one.take_up(peer)
        yield bank, card
        bank.close()
        card.close()


def channel_round_trip(runs: int) -> Row:
    def echo(card: TcpChannel) -> None:
        while (arrival := card.receive(10)) and len(arrival.frame) > 1:
            card.send("bank", arrival.frame)

    with connected() as (bank, card):
        thread = threading.Thread(target=echo, args=(card,))
        thread.start()

        def once() -> None:
            bank.send("card", bytes(SIZE))
            assert bank.receive(10)

        found = timed(once, runs)
        bank.send("card", b"!")
        thread.join()
    return row("channel 16 KiB", found * 1e3, "ms", bar=1.0)


def channel_throughput(runs: int) -> Row:
    count = max(runs // 4, 10)
    with connected() as (bank, card):
        start = time.perf_counter()
        for number in range(count):
            while not bank.send("card", bytes(MIB)):
                time.sleep(0.01)
            if number >= 16:
                assert card.receive(10)
        for _ in range(min(count, 16)):
            assert card.receive(10)
        return row("channel MiB/s", count / (time.perf_counter() - start), "MiB/s")


Flow = Callable[[Session, int], float]


def play(name: str, place: Path, addresses: dict[str, str], flow: Flow, runs: int) -> float:
    state = State.begin(
        place / f"{name}.run", run_name="speed", me=name, owners=OWNERS, policy=bytes(32)
    )
    with Session(channel(name, place, addresses), state) as session:
        return session.run(lambda session: session.step("all", lambda: flow(session, runs)))


def sessions(flow: Flow, runs: int) -> float:
    """What the first owner of a flow found; the second is a process of its own."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        place = Path(folder)
        addresses = prepared(place)
        told = ("card", place, addresses, flow, runs)
        other = multiprocessing.get_context("spawn").Process(target=play, args=told)
        other.start()
        found = play("bank", place, addresses, flow, runs)
        other.join()
        return found


def trips(session: Session, runs: int) -> float:
    def once() -> None:
        session.send("card", Load(bytes(SIZE)))
        session.receive("card", Load)

    if session.me == "bank":
        return timed(once, runs)
    for _ in range(runs + WARM):
        session.send("bank", session.receive("bank", Load))
    return 0.0


def loads(session: Session, runs: int) -> float:
    count = max(runs // 20, 10)
    start = time.perf_counter()
    for _ in range(count):
        if session.me == "bank":
            session.send("card", Load(bytes(4 * MIB)))
        else:
            session.receive("bank", Load)
    if session.me == "bank":
        session.receive("card", Load)
    else:
        session.send("bank", Load(b""))
    return count * 4 / (time.perf_counter() - start)


def session_round_trip(runs: int) -> Row:
    found, sync = sessions(trips, runs) * 1e3, synced() * 1e3
    return row("session 16 KiB", found, "ms", sync=round(sync, 3))


def session_throughput(runs: int) -> Row:
    return row("session MiB/s", sessions(loads, runs), "MiB/s")


WARM = 20


def timed(once: Callable[[], object], runs: int) -> float:
    """The median of many, after a few that nobody counts."""
    for _ in range(WARM):
        once()
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        once()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def synced() -> float:
    """Seconds that this disk takes to have 16 KiB for good."""
    with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR"), buffering=0) as file:

        def once() -> None:
            file.write(bytes(SIZE))
            os.fdatasync(file.fileno())

        return timed(once, 50)


def row(job: str, found: float, unit: str, bar: float | str = "", sync: float | str = "") -> Row:
    print(f"{job:16} {found:9.3f} {unit:6} {bar!s:>6} {sync!s:>8}", flush=True)
    return {"job": job, "found": round(found, 3), "unit": unit, "bar": bar, "sync_ms": sync}


JOBS: dict[str, Callable[[int], Row]] = {
    "channel 16 KiB": channel_round_trip,
    "session 16 KiB": session_round_trip,
    "channel MiB/s": channel_throughput,
    "session MiB/s": session_throughput,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="jobs whose names begin like this")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    only = tuple(part for part in asked.only.split(",") if part)
    print(f"{'job':16} {'found':>9} {'unit':6} {'bar':>6} {'sync, ms':>8}")
    found = [run(asked.runs) for name, run in JOBS.items() if not only or name.startswith(only)]
    if asked.csv and found:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
