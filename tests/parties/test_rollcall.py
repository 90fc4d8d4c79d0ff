"""Who is there, both ways, without beginning a run."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from parties_at_hand import CALM, POLICY, Scene, sums
from parties_net_at_hand import NetScene, expired
from reticent.errors import InputError
from reticent.parties.check import parties_of
from reticent.parties.identity import make
from reticent.parties.messages import PROTOCOL, Hello
from reticent.parties.rollcall import Presence, roll_call
from reticent.parties.settings import PartySettings

OWNERS = ("bank", "card")


def hello(name: str) -> Hello:
    return Hello(
        protocol=PROTOCOL, product="0.1.0", purpose="check", sender=name, run_name="2026-11",
        policy=POLICY, nonce=bytes(32), epoch=0, resumes=False, finished=0, clock=time.time(),
        offers={"masked": ["Job"], "kept": ["Balance"]},
    )  # fmt: skip


def both_call(scene: Scene, **says: Hello) -> dict[str, Presence]:
    """What each owner finds of the other."""

    def call(name: str) -> Presence:
        channel = scene.channel(name)
        other = next(other for other in OWNERS if other != name)
        found = roll_call(channel, says.get(name, hello(name)), (other,), 5)
        channel.close()
        return found[other]

    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(call, name) for name in OWNERS}
        return {name: run.result(30) for name, run in runs.items()}


@pytest.mark.net
def test_all_are_there(tmp_path: Path) -> None:
    found = both_call(NetScene(tmp_path))
    for name, other in (("bank", "card"), ("card", "bank")):
        presence = found[name]
        assert presence.reached
        assert presence.hello
        assert presence.hello.sender == other
        assert presence.hello.offers["kept"] == ["Balance"]
        assert (presence.differs, presence.trouble) == ("", None)


def test_what_differs_is_told(tmp_path: Path) -> None:
    other = msgspec.structs.replace(hello("card"), policy=bytes(32))
    found = both_call(Scene(tmp_path), card=other)
    assert "its policy is another one" in found["bank"].differs
    assert "its policy is another one" in found["card"].differs


def test_nobody_there_is_told(tmp_path: Path) -> None:
    channel = Scene(tmp_path).channel("bank")
    presence = roll_call(channel, hello("bank"), ("card",), 0.1)["card"]
    assert (presence.reached, presence.hello) == (False, None)
    assert presence.trouble
    assert presence.trouble.what == "it is not there"


@pytest.mark.net
def test_an_expired_certificate_is_told_at_once(tmp_path: Path) -> None:
    scene = NetScene(tmp_path, identities={"card": expired("card", tmp_path / "old")})
    found = both_call(scene)
    assert "its certificate has expired" in str(found["bank"].trouble)
    assert "the certificate of this owner has expired" in str(found["card"].trouble)


def test_an_owner_in_a_run_is_seen_and_takes_no_notice(tmp_path: Path) -> None:
    """The bank waits in its run; the card checks first, and then comes to the run."""
    scene = Scene(tmp_path, deadlines=CALM)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(scene.play, "bank")
        channel = scene.channel("card")
        presence = roll_call(channel, hello("card"), ("bank",), 5)["bank"]
        channel.close()
        assert presence.hello
        assert presence.hello.purpose == "run"
        assert scene.play("card") == running.result(30) == sums(*OWNERS)


@pytest.mark.parametrize(
    ("listen", "address", "where"),
    [
        ("127.0.0.1:0", "card.example:7002", "party.toml, listen"),
        ("127.0.0.1:7001", "[::1]:0", "party.toml, [peers.card], address"),
    ],
)
def test_a_port_that_nobody_can_know_is_refused(
    tmp_path: Path, listen: str, address: str, where: str
) -> None:
    make("bank", tmp_path / "identity")
    make("card", tmp_path / "card")
    (tmp_path / "party.toml").write_text(
        f'name = "bank"\nlisten = "{listen}"\npolicy = "joint.toml"\ndata = "b.csv"\nrun = "one"\n'
        f'[peers.card]\naddress = "{address}"\ncertificate = "card/certificate.pem"\n'
    )
    with pytest.raises(InputError, match="names no port") as raised:
        parties_of(PartySettings.load(tmp_path / "party.toml"))
    [problem] = raised.value.problems
    assert problem.where.endswith(where)
    assert "1 to 65535" in problem.do
