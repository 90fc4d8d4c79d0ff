"""Whole runs over TLS: in one process, in processes killed with -9, and over links that are cut."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from parties_at_hand import CALM, WORTH, sums
from parties_cable import BadCable, tunnel_end
from parties_net_at_hand import NetScene, expired, free_ports
from parties_owner import Owner
from reticent.parties.identity import make
from reticent.parties.session import Deadlines

pytestmark = pytest.mark.net
TESTS = Path(__file__).parents[1]
OWNERS = ("bank", "card")


@pytest.mark.parametrize("owners", [OWNERS, ("bank", "card", "shop")])
def test_owners_talk_over_tls(tmp_path: Path, owners: tuple[str, ...]) -> None:
    assert NetScene(tmp_path, owners, CALM).all_play() == dict.fromkeys(owners, sums(*owners))


@pytest.mark.parametrize("position", range(8))
def test_a_killed_owner_resumes_over_tls(tmp_path: Path, position: int) -> None:
    scene = NetScene(tmp_path, deadlines=CALM)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(scene.play, "bank")
        found = scene.play("card", die_before=position)
        if not isinstance(found, list):
            found = scene.play("card", resumes=True)
        assert found == running.result(60) == sums(*OWNERS)


def test_a_wrong_certificate_ends_the_meeting_at_once(tmp_path: Path) -> None:
    scene = NetScene(tmp_path, deadlines=Deadlines(meet=30, step=30, life=0.2))
    right = scene.identities["card"]
    scene.identities["card"] = make("card", tmp_path / "intruder")
    intruder = scene.channel("card")
    scene.identities["card"] = right
    start = time.monotonic()
    error = scene.play("bank")
    assert time.monotonic() - start < 10
    assert error.exit_code == 4
    assert str(error).startswith("card, meeting: it cannot be reached: ")
    assert "shows another certificate than the one pinned" in str(error)
    intruder.close()


def test_an_expired_certificate_ends_the_meeting_on_both_sides(tmp_path: Path) -> None:
    old = expired("card", tmp_path / "old")
    scene = NetScene(
        tmp_path, deadlines=Deadlines(meet=30, step=30, life=0.2), identities={"card": old}
    )
    begin = time.monotonic()
    found = scene.all_play()
    assert time.monotonic() - begin < 10
    assert "card, meeting: it cannot be reached: its certificate has expired" in str(found["bank"])
    words = "bank, meeting: it cannot be reached: it says that the certificate of this owner has"
    assert words in str(found["card"])
    assert {error.exit_code for error in found.values()} == {4}


def test_nobody_there_is_told_as_such(tmp_path: Path) -> None:
    error = NetScene(tmp_path).play("bank")
    assert error.exit_code == 4
    assert "card, meeting: it cannot be reached: nobody listens at 127.0.0.1" in str(error)


def start(owner: Owner, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    return subprocess.Popen(
        [*before, sys.executable, str(TESTS / "parties_owner.py"), json.dumps(asdict(owner))],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


def ended(process: subprocess.Popen[str], seconds: float = 60) -> dict[str, Any]:
    """What an owner said last; nothing if it was killed."""
    out, _ = process.communicate(timeout=seconds)
    last = out.strip().splitlines()[-1:] or ["{}"]
    found: dict[str, Any] = json.loads(last[0]) if last[0].startswith("{") else {}
    return found


def owners_on_loopback(folder: Path, **told: Any) -> dict[str, Owner]:
    ports = dict(zip(OWNERS, free_ports(len(OWNERS)), strict=True))
    addresses = {name: f"127.0.0.1:{ports[name]}" for name in OWNERS}
    for name in OWNERS:
        make(name, folder / f"{name}-identity")
    deadlines = {"meet": 20.0, "step": 20.0, "life": 0.5}
    told = {"deadlines": deadlines} | told
    return {name: Owner(name, str(folder), addresses[name], addresses, **told) for name in OWNERS}


@pytest.mark.parametrize(("who", "position"), [("card", 1), ("card", 4), ("bank", 3), ("bank", 6)])
def test_a_process_killed_in_earnest_resumes(tmp_path: Path, who: str, position: int) -> None:
    owners = owners_on_loopback(tmp_path)
    owners[who].die_before = position
    processes = {name: start(owner) for name, owner in owners.items()}
    assert processes[who].wait(60) == -9
    processes[who].communicate()
    again = start(replace(owners[who], die_before=-1, resumes=True))
    survivor = next(name for name in OWNERS if name != who)
    assert ended(again) == {"result": sums(*OWNERS)}
    assert ended(processes[survivor]) == {"result": sums(*OWNERS)}


def test_a_process_killed_for_good_is_named_at_the_deadline(tmp_path: Path) -> None:
    owners = owners_on_loopback(tmp_path, deadlines={"meet": 20.0, "step": 1.0, "life": 0.2})
    owners["card"].die_before = 4
    processes = {name: start(owner) for name, owner in owners.items()}
    found = ended(processes["bank"])
    processes["card"].communicate()
    assert found["code"] == 4
    assert found["error"].startswith("card, round ")
    assert "it cannot be reached: nobody listens" in found["error"]


# Links that are cut. The traffic stays inside two namespaces that the test makes.


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def namespaces() -> Iterator[dict[str, tuple[str, str, str]]]:
    """For each owner a network of its own: name, device that is to be there, address."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the command ip")
    tag = f"{os.getpid() % 10_000}"
    made = {
        name: (f"ret-{name}-{tag}", f"v{name}{tag}", f"10.213.7.{number}")
        for number, name in enumerate(OWNERS, start=1)
    }
    try:
        try:
            for space, _, _ in made.values():
                ip("netns", "add", space)
        except subprocess.CalledProcessError:
            pytest.skip("this machine makes no network namespaces")
        yield made
    finally:
        for space, _, _ in made.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", space)


def bring_up(made: dict[str, tuple[str, str, str]]) -> None:
    for space, device, address in made.values():
        ip("-n", space, "addr", "add", f"{address}/24", "dev", device)
        ip("-n", space, "link", "set", device, "up")
        ip("-n", space, "link", "set", "lo", "up")


@pytest.fixture
def spaces() -> Iterator[dict[str, tuple[str, str, str]]]:
    """Two networks, joined by a cable that can be pulled."""
    with namespaces() as made:
        (one, left, _), (other, right, _) = made.values()
        try:
            ip("link", "add", left, "netns", one, "type", "veth", "peer", "name", right,
               "netns", other)  # fmt: skip
        except subprocess.CalledProcessError:
            pytest.skip("this machine joins no network namespaces")
        bring_up(made)
        yield made


def owners_in(
    spaces: dict[str, tuple[str, str, str]], folder: Path, **told: Any
) -> dict[str, subprocess.Popen[str]]:
    addresses = {name: f"{address}:7001" for name, (_, _, address) in spaces.items()}
    for name in OWNERS:
        make(name, folder / f"{name}-identity")
    return {
        name: start(
            Owner(name, str(folder), addresses[name], addresses, **told),
            ["ip", "netns", "exec", space],
        )
        for name, (space, _, _) in spaces.items()
    }


@pytest.fixture
def bad_cable() -> Iterator[dict[str, tuple[str, str, str]]]:
    """The same with a cable that delays every packet and loses some."""
    with namespaces() as made:
        ends = [tunnel_end(space, device) for space, device, _ in made.values()]
        bring_up(made)
        with BadCable(*ends, delay=0.02, loss=0.03):
            yield made


def wait_for(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout
    for said in process.stdout:
        if said.strip() == line:
            return
    raise AssertionError(f"it ended before {line}")


def connection_is_lost(space: str, seconds: float = 20) -> None:
    """Wait until what an owner sends has stayed unheard for so long that it has hung up."""
    asked = [
        "ip",
        "netns",
        "exec",
        space,
        "ss",
        "-Htn",
        "state",
        "established",
        "dport",
        "=",
        ":7001",
    ]
    end = time.monotonic() + seconds
    while subprocess.run(asked, check=True, capture_output=True).stdout.strip():
        assert time.monotonic() < end


PATIENT = {"meet": 20.0, "step": 20.0, "life": 0.3}


def totals(rounds: int) -> dict[str, list[int]]:
    total = sum(WORTH[name] for name in OWNERS)
    return {"result": [total * number for number in range(1, rounds + 1)]}


def test_a_slow_link_that_loses_packets(
    tmp_path: Path, bad_cable: dict[str, tuple[str, str, str]]
) -> None:
    running = owners_in(bad_cable, tmp_path, rounds=5, deadlines=PATIENT)
    assert [ended(process) for process in running.values()] == [totals(5)] * 2


def test_a_cable_pulled_for_a_while(
    tmp_path: Path, spaces: dict[str, tuple[str, str, str]]
) -> None:
    space, device, _ = spaces["card"]
    running = owners_in(spaces, tmp_path, rounds=300, deadlines=PATIENT)
    wait_for(running["bank"], "round 3")
    ip("-n", space, "link", "set", device, "down")
    connection_is_lost(spaces["bank"][0])
    ip("-n", space, "link", "set", device, "up")
    assert [ended(process) for process in running.values()] == [totals(300)] * 2


def test_a_cable_pulled_for_good(tmp_path: Path, spaces: dict[str, tuple[str, str, str]]) -> None:
    space, device, _ = spaces["card"]
    deadlines = {"meet": 20.0, "step": 3.0, "life": 0.3}
    running = owners_in(spaces, tmp_path, rounds=100_000, deadlines=deadlines)
    wait_for(running["bank"], "round 3")
    ip("-n", space, "link", "set", device, "down")
    for name, other in (("bank", "card"), ("card", "bank")):
        found = ended(running[name])
        assert found["code"] == 4
        assert found["error"].startswith(f"{other}, round ")
        assert "cannot be reached" in found["error"] or "no sign of life" in found["error"]
