"""`party audit` of a model: what was said follows from it, and every planted leak is found."""

from __future__ import annotations

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from parties.forgery import Change, forge, kind_of
from reticent.jointree.model import read_model
from reticent.jointree.sites import words
from reticent.jointree.sites.audit import MESSAGES, audit
from reticent.jointree.sites.process import train
from reticent.parties.messages import Envelope, decode
from reticent.parties.transcript import entries_in
from sites.sites_at_work import Sites, without_common_measure
from terminal import run

pytestmark = pytest.mark.net
THREE = {"visit": "clinic", "ward": "works", "meal": "kitchen"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Three sites that have grown a tree together, and cut it back."""
    return grown(
        Sites(tmp_path_factory.mktemp("audit"), THREE, {"max_depth": 4, "min_count": 1})
    )  # fmt: skip


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Two sites whose records weigh floats."""
    grow = {"weight": "record", "max_depth": 3}
    tables = without_common_measure()
    return grown(Sites(tmp_path_factory.mktemp("floats"), grow=grow, tables=tables))


def grown(sites: Sites) -> Sites:
    for site in sites.names:
        party = sites.folder / site / "party.toml"
        party.write_text(party.read_text().replace('"out"', json.dumps(str(sites.out(site)))))
    with ThreadPoolExecutor(len(sites.names)) as pool:
        list(pool.map(lambda name: train(sites.folder / name / "party.toml"), sites.names))
    return sites


def test_what_was_said_follows_from_the_model(trained: Sites) -> None:
    for name in trained.names:
        found = audit(trained.out(name))
        assert found.fault is None, found.text
        said = json.loads(run("party", "audit", trained.out(name), "--json").stdout)
        assert said["holds"] is True
        assert said["messages"] == found.messages > 20


def test_every_message_of_sites_was_said(trained: Sites) -> None:
    """Of what the audit knows, all but what belongs to other ways of intersecting stands here."""
    said = set()
    for name in trained.names:
        for entry in entries_in(trained.out(name) / "transcript/entries"):
            word = None if entry.direction == "note" else decode(entry.frame)
            if isinstance(word, Envelope):
                said.add(kind_of(msgspec.msgpack.decode(word.body)))
    never = {"FullyBlinded", "CommonCount", "Unblinding", "Nonce", "AllIdsDigest"}
    assert said == {kind.__name__ for kind in MESSAGES} - never


def altered(kind: str, change: Any) -> Change:
    """Another thing said in the first message of a kind that a change alters."""
    done: list[bool] = []

    def alter(envelope: Envelope, said: Any) -> Any:
        if done or kind_of(said) != kind:
            return envelope.body
        other = change(said)
        if other == said:
            return envelope.body
        done.append(True)
        return other

    return alter


def sums(change: Any) -> Any:
    """The numbers of some sums, of a byte each, changed."""

    def other(said: Any) -> Any:
        inner = said.get("parts") or said.get("counts") or said
        if not inner["numbers"]:
            return said
        numbers = np.frombuffer(inner["numbers"], np.uint8).astype(np.int64)
        told = {**inner, "numbers": change(numbers).astype(np.uint8).tobytes()}
        if inner is said:
            return told
        return said | {"parts" if "parts" in said else "counts": told}

    return other


LEAKS = {
    "a value among the labels": altered("ClassLabels", lambda s: s | {"labels": [*s["labels"], "z"]}),
    "a word about a column": altered("JoinColumns", lambda s: s | {"holds": [["SECRET", False]]}),
    "one more column": altered("JoinColumns", lambda s: s | {"holds": [*s["holds"], ["text", False]]}),
    "spare bits": altered("Standing", lambda s: s | {"bits": s["bits"][:-1] + bytes([s["bits"][-1] | 1])}),
    "a bit more": altered("Standing", lambda s: s | {"bits": s["bits"] + b"\0"}),
    "one sum more": altered("Sums", lambda s: s | {"numbers": s["numbers"] + b"\1"}),
    "another sum": altered("Sums", sums(lambda n: n + 1)),
    "numbers written long": altered("Sums", lambda s: s | {
        "width": s["width"] + 1,
        "numbers": b"".join(bytes([b, 0]) for b in s["numbers"]) if s["width"] == 1 else s["numbers"]}),
    "a gain in the place of parts": altered("TotalCounts", lambda s: s | {"unit": 7}),
    "counts of branches": altered("NodeSplit", sums(lambda n: n[::-1])),
    "a block that is none": altered("NodeSplit", lambda s: s | {"block": s["block"] + 1} if s["counts"]["numbers"] else s),
    "a leaf where it splits": altered("NodeSplit", lambda s: s | {"counts": s["counts"] | {"numbers": b""}}),
    "parts that are none": altered("PartSums", sums(lambda n: n[::-1] + 1)),
    "a part too many": altered("PartSums", lambda s: s | {"standing": s["standing"] + b"\0"} if s["standing"] else s),
    "who is withheld": altered("PartSums", lambda s: s | {"withheld": not s["withheld"]}),
    "fits": altered("SplitFits", lambda s: s | {"fits": not s["fits"]}),
    "a key in the clear": altered("HiddenDifferences", lambda s: s | {"ciphertexts": b"Q" * len(s["ciphertexts"])}),
    "a value that is not common": altered("BlindedIds", lambda s: s | {"points": s["points"] + b"ward-secret".ljust(32)}),
    "another model": altered("Ready", lambda s: s | {"digest": bytes(32)}),
    "a word besides": altered("Go", lambda s: s | {"by_the_way": 7}),
    "another kind": altered("SplitFits", lambda s: {"type": "Go"}),
}  # fmt: skip


def forged(trained: Sites, site: str, to: Path, change: Change) -> Path:
    shutil.copytree(trained.out(site), to)
    forge(to / "transcript", trained.folder / site / "identity", change)
    return to


def test_the_same_words_follow_when_signed_again(trained: Sites, tmp_path: Path) -> None:
    for name in trained.names:
        same = forged(trained, name, tmp_path / name, lambda envelope, said: envelope.body)
        assert audit(same).fault is None


@pytest.mark.parametrize("what", LEAKS)
def test_a_planted_leak_is_found(trained: Sites, tmp_path: Path, what: str) -> None:
    planted = forged(trained, "works", tmp_path / "leak", LEAKS[what])
    before = (trained.out("works") / "transcript/entries").read_bytes()
    assert (planted / "transcript/entries").read_bytes() != before, "it was not even planted"
    found = audit(planted)
    assert found.fault is not None
    said = run("party", "audit", planted, code=1)
    assert found.fault.what in said.stdout
    assert "SECRET" not in said.output
    assert "ward-secret" not in said.output


def test_sums_in_several_messages_follow_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as few:
        few.setattr(words, "MOST_SUMS", 6)
        sites = grown(Sites(tmp_path, grow={"prune": False, "max_depth": 2}))
        for name in sites.names:
            found = audit(sites.out(name))
            assert found.fault is None, found.text
    assert audit(sites.out("works")).fault is not None


def low_bits(inner: str) -> Any:
    """Whatever fits into the last 16 bits of floats."""

    def other(said: Any) -> Any:
        told = said[inner] if inner else said
        bits = (
            np.frombuffer(told["numbers"], "<u8").copy()
            if told["width"] == 0
            else np.zeros(0, "<u8")
        )
        if not bits.any():
            return said
        secret = np.frombuffer((b"SECRET" * len(bits))[: 2 * len(bits)], "<u2")
        bits[bits > 0] = (bits & ~np.uint64(0xFFFF) | secret)[bits > 0]
        told = {**told, "numbers": bits.tobytes()}
        return {**said, inner: told} if inner else told

    return other


@pytest.mark.parametrize(
    ("site", "kind", "inner"),
    [
        ("clinic", "TotalCounts", "counts"), ("clinic", "Sums", ""), ("works", "PartSums", "parts"),
        ("works", "NodeSplit", "counts"),
    ],
)  # fmt: skip
def test_floats_have_no_room_in_their_last_bits(
    weighed: Sites, tmp_path: Path, site: str, kind: str, inner: str
) -> None:
    assert read_model(weighed.out(site)).numbers == "float64"
    assert audit(weighed.out(site)).fault is None
    planted = forged(weighed, site, tmp_path / "leak", altered(kind, low_bits(inner)))
    before = (weighed.out(site) / "transcript/entries").read_bytes()
    assert (planted / "transcript/entries").read_bytes() != before, "it was not even planted"
    assert audit(planted).fault is not None


def test_a_changed_model_is_found(trained: Sites, tmp_path: Path) -> None:
    shutil.copytree(trained.out("clinic"), tmp_path / "changed")
    model = tmp_path / "changed" / "model.json"
    text = model.read_text("utf-8")
    inner = '"site": "works"' if '"site": "works"' in text else '"site": "clinic"'
    assert inner in text
    model.write_text(text.replace(inner, '"site": "kitchen"', 1), encoding="utf-8")
    splits = json.loads((tmp_path / "changed" / "splits.json").read_text("utf-8"))
    splits["model"] = hashlib.sha256(model.read_bytes()).hexdigest()
    (tmp_path / "changed" / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    run("party", "audit", tmp_path / "changed", code=1)


@pytest.mark.parametrize("gone", ["transcript", "site.json", "schema.toml", "certificates"])
def test_a_folder_that_is_not_whole(trained: Sites, tmp_path: Path, gone: str) -> None:
    shutil.copytree(trained.out("clinic"), tmp_path / "part")
    place = tmp_path / "part" / gone
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    ended = run("party", "audit", tmp_path / "part", code=None)
    assert ended.exit_code in (1, 2)
    assert "Traceback" not in ended.output
