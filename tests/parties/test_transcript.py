"""The chain of what was said: what is torn is cut off, what was changed is found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reticent.errors import InputError
from reticent.parties.chained import ChainedFile
from reticent.parties.identity import Identity, make
from reticent.parties.transcript import Entry, Fault, Transcript, read


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make("bank", tmp_path_factory.mktemp("identities") / "bank")


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make("card", tmp_path_factory.mktemp("identities") / "card")


SAID = [
    Entry("sent", "card", b"one"),
    Entry("received", "card", b""),
    Entry("note", "", bytes(9000)),
]


def written(folder: Path, identity: Identity | None = None) -> Path:
    transcript = Transcript(folder)
    for entry in SAID:
        transcript.append(entry.direction, entry.peer, entry.frame, sync=entry.frame == b"")
    if identity:
        transcript.sign(identity)
    transcript.close()
    return folder / "entries"


def test_what_was_said_is_read_back(tmp_path: Path, bank: Identity) -> None:
    written(tmp_path / "t", bank)
    assert list(read(tmp_path / "t", bank.certificate)) == SAID
    assert (tmp_path / "t").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "t").iterdir()} == {0o600}


def test_a_frame_is_read_where_it_stands(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t")
    places = [transcript.append("sent", "card", bytes([number])) for number in range(5)]
    assert [transcript.frame(place)[0] for place in places] == [0, 1, 2, 3, 4]
    transcript.close()


def test_zeros_that_a_lost_power_left_are_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "t")
    with path.open("ab") as file:
        file.write(bytes(5000))
    transcript = Transcript(tmp_path / "t")
    assert len(transcript) == len(SAID) + 1
    transcript.close()


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def interrupted(file: int, content: bytes, offset: int) -> int:
        real(file, bytes(content)[: len(content) // 2], offset)
        raise KeyboardInterrupt

    transcript = Transcript(tmp_path / "t")
    transcript.append("sent", "card", b"one")
    monkeypatch.setattr(os, "pwrite", interrupted)
    with pytest.raises(KeyboardInterrupt):
        transcript.append("sent", "card", bytes(10_000))
    monkeypatch.undo()
    transcript.append("sent", "card", b"two")
    transcript.close()
    again = Transcript(tmp_path / "t")
    assert len(again) == 2
    again.close()


def test_it_goes_on_where_it_ended(tmp_path: Path, bank: Identity) -> None:
    written(tmp_path / "t")
    written(tmp_path / "t", bank)
    assert list(read(tmp_path / "t", bank.certificate)) == SAID * 2


def test_a_torn_entry_is_cut_off_and_noted_wherever_it_is_torn(tmp_path: Path) -> None:
    whole = written(tmp_path / "t").read_bytes()
    for missing in (1, 31, 32, 33, 5000, 9030):
        path = tmp_path / f"torn-{missing}"
        path.mkdir()
        (path / "entries").write_bytes(whole[:-missing])
        transcript = Transcript(path)
        assert len(transcript) == 3  # two, and the note
        transcript.close()
        assert b"was cut off" in (path / "entries").read_bytes()


@pytest.mark.parametrize("at", [3, 6, 20, 60, 100])
def test_a_change_in_the_middle_is_found(tmp_path: Path, bank: Identity, at: int) -> None:
    path = written(tmp_path / "t", bank)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    *entries, fault = read(tmp_path / "t", bank.certificate)
    assert isinstance(fault, Fault)
    assert fault.entry == len(entries) + 1
    assert "does not follow" in fault.what


def test_a_changed_middle_is_not_taken_for_a_torn_end(tmp_path: Path) -> None:
    path = written(tmp_path / "t")
    content = bytearray(path.read_bytes())
    content[8] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="entry 1 does not follow"):
        Transcript(tmp_path / "t")
    assert path.read_bytes() == bytes(content)


def test_what_was_left_out_at_the_end_is_found(tmp_path: Path, bank: Identity) -> None:
    path = written(tmp_path / "t", bank)
    short = Transcript(tmp_path / "u")
    for entry in SAID[:2]:
        short.append(entry.direction, entry.peer, entry.frame)
    short.close()
    path.write_bytes((tmp_path / "u" / "entries").read_bytes())
    *_, fault = read(tmp_path / "t", bank.certificate)
    assert fault == Fault(0, "the head was signed over 3 entries, here are 2 or others")


def test_the_head_must_be_there_readable_and_by_the_owner(
    tmp_path: Path, bank: Identity, card: Identity
) -> None:
    written(tmp_path / "t", bank)
    *_, fault = read(tmp_path / "t", card.certificate)
    assert isinstance(fault, Fault)
    assert "names another certificate" in fault.what
    head = tmp_path / "t" / "head.json"
    for text, words in ((json.dumps({"entries": 3}), "cannot be read"), ("\0", "cannot be read")):
        head.write_text(text)
        *_, fault = read(tmp_path / "t", bank.certificate)
        assert isinstance(fault, Fault)
        assert words in fault.what
    head.unlink()
    *_, fault = read(tmp_path / "t", bank.certificate)
    assert isinstance(fault, Fault)
    assert "no signed head" in fault.what


def test_no_transcript_is_an_input_error(tmp_path: Path, bank: Identity) -> None:
    with pytest.raises(InputError, match="no transcript here"):
        list(read(tmp_path, bank.certificate))


def test_a_chained_file_can_be_cut_back_and_go_on(tmp_path: Path) -> None:
    with ChainedFile(tmp_path / "journal") as file:
        for number in range(5):
            file.append(bytes([number]), sync=True)
        file.cut(2)
        file.append(b"new", sync=True)
    with ChainedFile(tmp_path / "journal") as file:
        assert [file.read(place) for place in file.places] == [b"\0", b"\1", b"new"]
        file.cut(0)
    with ChainedFile(tmp_path / "journal") as file:
        assert len(file) == 0
        assert not file.torn
