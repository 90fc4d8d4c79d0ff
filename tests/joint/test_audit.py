"""`party audit`: a transcript follows from the release, and every planted leak is found."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from parties.forgery import Change, forge, kind_of
from parties_net_at_hand import free_ports
from reticent.joint import rounds, sharing
from reticent.joint.audit import audit
from reticent.joint.flow import Limit
from reticent.joint.process import integrate
from reticent.parties import comparison, group, intersection
from reticent.parties.agreeing import Go, Ready
from reticent.parties.comparison import ComparisonKey, EncryptedBits, HiddenDifferences
from reticent.parties.group import GroupPoint
from reticent.parties.identity import Identity, make
from reticent.parties.messages import (
    LARGEST_PART,
    START,
    Acknowledgement,
    Envelope,
    Farewell,
    Hello,
    SignOfLife,
    decode,
    digest_of,
    encode,
)
from reticent.parties.transcript import Transcript, entries_in
from reticent.parties.wire import Message
from terminal import run

pytestmark = pytest.mark.net
POLICY = """
id = "Id"
class = "Class"
keep = ["Ward"]
[owners.bank]
columns = ["Job", "Class"]
[owners.card]
columns = ["Age", "Ill"]
[owners.clinic]
columns = ["Ward"]
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Blue = ["Cook", "Mover"], White = ["Clerk", "Lawyer", "Doctor"] } }
[attributes.Age]
mask = "discretize"
range = [0, 100]
[[anonymity]]
over = ["Job", "Age"]
k = 12
[[confidence]]
over = ["Job"]
sensitive = { Ill = ["yes"] }
at_most = 0.6
"""

OWNERS = ("bank", "card", "clinic")  # the third has nothing that is masked
KEYS: dict[bytes, ComparisonKey] = {}  # of the owners who released together, by public point


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which three owners have released together."""
    folder = tmp_path_factory.mktemp("audit")
    rng = random.Random(2)
    jobs = ["Cook", "Mover", "Clerk", "Lawyer", "Doctor"]
    people = [
        (f"p{i}", rng.choice(jobs), rng.randrange(20, 80), rng.choice("wx")) for i in range(160)
    ]
    bank, card, clinic = ["Id,Job,Class"], ["Id,Age,Ill"], ["Id,Ward"]
    for who, job, age, ward in people:
        told = "good" if jobs.index(job) * 12 + age + rng.randrange(20) > 75 else "bad"
        bank.append(f"{who},{job},{told}")
        clinic.append(f"{who},{ward}")
        card.append(f"{who},{age},{rng.choice(['yes', 'no'])}")
    with pytest.MonkeyPatch.context() as patch:
        encrypt_bits = comparison.encrypt_bits

        def remembering(own: ComparisonKey, bits: Sequence[int]) -> Any:
            KEYS[own.public] = own
            return encrypt_bits(own, bits)

        patch.setattr(comparison, "encrypt_bits", remembering)
        release_together(folder, POLICY, dict(zip(OWNERS, (bank, card, clinic), strict=True)))
    return folder


def release_together(folder: Path, policy: str, data: Mapping[str, Sequence[str]]) -> None:
    """Let owners with these lines of data release, each into its folder."""
    ports = dict(zip(data, free_ports(len(data)), strict=True))
    for name, lines in data.items():
        (folder / name).mkdir()
        make(name, folder / name / "identity")
        (folder / name / "data.csv").write_text("\n".join(lines) + "\n", newline="")
        (folder / name / "joint.toml").write_text(policy)
        peers = [
            f'[peers.{other}]\naddress = "127.0.0.1:{ports[other]}"\n'
            f'certificate = "../{other}/identity/certificate.pem"\n'
            for other in data if other != name
        ]  # fmt: skip
        (folder / name / "party.toml").write_text(
            f'name = "{name}"\nlisten = "127.0.0.1:{ports[name]}"\npolicy = "joint.toml"\n'
            f'data = "data.csv"\noutput = "out"\nrun = "audited"\nmeet_timeout = 30\n'
            + "".join(peers)
        )
    with ThreadPoolExecutor(len(data)) as pool:
        list(pool.map(lambda name: integrate(folder / name / "party.toml"), data))


ODD = ["a\rb", "c\nd", 'e"f', "g,h", "", " i ", "NA"]
LONG = "k" * 200_000  # more than Python's reader takes unasked
ODD_POLICY = """
id = "Id"
keep = ["Note"]
[owners.bank]
columns = ["Job", "Note"]
[owners.card]
columns = ["Sex"]
[attributes.Job]
mask = "suppress"
[attributes.Sex]
mask = "suppress"
[[anonymity]]
over = ["Job", "Sex"]
k = 2
"""


def test_a_release_of_odd_and_long_cells_is_audited_like_any(tmp_path: Path) -> None:
    """What stands in a file between owners and their audit comes back as it was."""
    ids = [f'"p{n}{odd.replace(chr(34), chr(34) * 2)}"' for n, odd in enumerate([*ODD, "j"])]
    notes = ['"' + odd.replace('"', '""') + '"' for odd in [*ODD, LONG]]
    bank = [f"{who},{'xy'[n % 2]},{notes[n]}" for n, who in enumerate(ids)]
    card = [f"{who},{'uv'[n // 4]}" for n, who in enumerate(ids)]
    release_together(
        tmp_path, ODD_POLICY, {"bank": ["Id,Job,Note", *bank], "card": ["Id,Sex", *card]}
    )
    for name in ("bank", "card"):
        found = audit(tmp_path / name / "out")
        assert found.fault is None, found.text
        run("party", "audit", tmp_path / name / "out")


def test_owners_write_the_table_as_their_policy_says(tmp_path: Path) -> None:
    """With decimal commas in intervals alone: cells that owners told are texts."""
    policy = ODD_POLICY.replace("Sex", "Age").replace(
        '[attributes.Age]\nmask = "suppress"', "[attributes.Age]\nintervals = [0, 30.5, 99]"
    )
    notes = ["1.5", "1,5", "[0.5,1.5)", "a;b"]
    bank = [f'p{n},{"xy"[n % 2]},"{notes[n % 4]}"' for n in range(12)]
    card = [f"p{n},{20 + 20 * (n % 2)}" for n in range(12)]
    data = {"bank": ["Id,Job,Note", *bank], "card": ["Id,Age", *card]}
    release_together(tmp_path, f'{policy}\n[writing]\ndecimal = ","\nbom = true\n', data)
    for name in data:
        place = tmp_path / name / "out"
        head, *rows = (place / "public" / "data.csv").read_text("utf-8-sig").splitlines()
        assert head == "Job;Note;Age"
        assert sorted({row.rpartition('"[')[2] for row in rows}) == ['0; 30,5)"', '30,5; 99]"']
        assert sorted({row.split(";", 1)[1].rpartition(";\"[")[0] for row in rows}) == [
            '"a;b"', "1,5", "1.5", "[0.5,1.5)",
        ]  # fmt: skip
        run("verify", place)
        run("verify", place / "public" / "data.csv", "-p", tmp_path / name / "joint.toml")
        assert audit(place).fault is None


def test_what_was_said_follows_from_the_release(released: Path) -> None:
    for name in OWNERS:
        found = audit(released / name / "out")
        assert found.fault is None, found.text
        assert found.messages > 20
        said = json.loads(run("party", "audit", released / name / "out", "--json").stdout)
        assert said["holds"] is True


def said_in(folder: Path, kind: type[Message]) -> list[Any]:
    """The messages of a kind that stand in an owner's transcript."""
    words = [decode(entry.frame) for entry in entries_in(folder / "private/transcript/entries")
             if entry.direction != "note"]  # fmt: skip
    bodies = [msgspec.msgpack.decode(word.body) for word in words if isinstance(word, Envelope)]
    return [msgspec.convert(said, kind) for said in bodies if said["type"] == kind.__name__]


def decrypted(own: ComparisonKey, content: bytes) -> list[GroupPoint]:
    points = [group.checked(point) for point in group.apart(content, len(content) // 32)]
    pairs = zip(points[::2], points[1::2], strict=True)
    return [group.minus(body, group.times(own.secret, mask)) for mask, body in pairs]


def test_with_the_keys_ciphertexts_tell_bits_and_at_most_a_zero(released: Path) -> None:
    """The holder's are bits, of an odd number; the challenger's are one 0 at most, or anything.

    Some 160 elements: bounds are five standard deviations.
    """
    folder = released / "bank" / "out"
    holders = said_in(folder, EncryptedBits)
    answers = said_in(folder, HiddenDifferences)
    assert len(holders) == len(answers) > 3
    one = group.base_times(group.scalar(1))
    small = {group.base_times(group.scalar(n)) for n in range(-200, 201) if n}
    spread: list[GroupPoint] = []
    for held, answer in zip(holders, answers, strict=True):
        bits = decrypted(KEYS[held.public], held.ciphertexts)
        assert {*bits} <= {group.NEUTRAL, one}
        assert bits[-1] == one
        hidden = decrypted(KEYS[held.public], answer.ciphertexts)
        assert hidden.count(group.NEUTRAL) <= 1
        spread += [point for point in hidden if point != group.NEUTRAL]
    assert not small.intersection(spread)
    assert len({*spread}) == len(spread)
    for place in range(248):  # the highest bits of a point are not spread: the field ends there
        ones = sum(point[place // 8] >> place % 8 & 1 for point in spread)
        assert abs(ones - len(spread) / 2) < 5 * (len(spread) / 4) ** 0.5


def forged(released: Path, to: Path, change: Change) -> Path:
    """The release of the bank with a transcript in which something else was said.

    It is chained and signed anew, as an owner could who wants to hide what it heard.
    """
    shutil.copytree(released / "bank" / "out", to)
    forge(to / "private" / "transcript", released / "bank" / "identity", change)
    return to


def unchanged(envelope: Envelope, said: Any) -> Any:
    return envelope.body


def finer(envelope: Envelope, said: Any) -> Any:
    """A partition puts two people apart whom the table shows alike."""
    if kind_of(said) != "Revealed" or len(said["labels"]) != 2:
        return envelope.body
    bits = np.unpackbits(np.frombuffer(said["parts"], np.uint8))
    bits[0] ^= 1
    return said | {"parts": np.packbits(bits).tobytes()}


def not_the_same_for_all(envelope: Envelope, said: Any) -> Any:
    """What one owner is told of a step, as everybody, another is told in other words."""
    if envelope.receiver != "clinic" or kind_of(said) != "Revealed" or not said["labels"]:
        return envelope.body
    return said | {"labels": said["labels"][::-1]}


def spare_bits(envelope: Envelope, said: Any) -> Any:
    """Bits that stand for no record hold something."""
    if kind_of(said) != "Revealed" or len(said["labels"]) != 2:
        return envelope.body
    return said | {"parts": said["parts"][:-1] + bytes([said["parts"][-1] ^ 1])}


def leaf(envelope: Envelope, said: Any) -> Any:
    """A part is called by a value that the table does not show."""
    if kind_of(said) != "Revealed" or not said["labels"]:
        return envelope.body
    return said | {"labels": ["SECRET", *said["labels"][1:]]}


def cell(envelope: Envelope, said: Any) -> Any:
    """A column holds another value than that of the table."""
    if kind_of(said) != "ToldColumns" or not said["columns"]:
        return envelope.body
    column = said["columns"][0]
    return said | {"columns": [column | {"values": ["SECRET", *column["values"][1:]]}]}


def masked_column(envelope: Envelope, said: Any) -> Any:
    """A masked column is told as it is."""
    if kind_of(said) != "ToldColumns" or not said["columns"]:
        return envelope.body
    return said | {"columns": [said["columns"][0] | {"name": "Age"}]}


def score(envelope: Envelope, said: Any) -> Any:
    """A number that means nothing is a score."""
    return said | {"max_steps": 0} if kind_of(said) == "Limit" else envelope.body


def other_table(envelope: Envelope, said: Any) -> Any:
    return said | {"digest": bytes(32)} if kind_of(said) == "Ready" else envelope.body


def more_than_a_message(envelope: Envelope, said: Any) -> Any:
    return said | {"by_the_way": 7} if kind_of(said) == "RoundBegins" else envelope.body


def no_points(envelope: Envelope, said: Any) -> Any:
    """In the place of ciphertexts, something in the clear."""
    if kind_of(said) != "HiddenDifferences":
        return envelope.body
    return said | {"ciphertexts": b"Q" * len(said["ciphertexts"])}


def test_the_same_words_follow_when_signed_again(released: Path, tmp_path: Path) -> None:
    assert audit(forged(released, tmp_path / "same", unchanged)).fault is None


@pytest.mark.parametrize(
    "leak",
    [
        finer,
        not_the_same_for_all,
        spare_bits,
        leaf,
        cell,
        masked_column,
        score,
        other_table,
        more_than_a_message,
        no_points,
    ],
)
def test_a_planted_leak_is_found(released: Path, tmp_path: Path, leak: Change) -> None:
    planted = forged(released, tmp_path / "leak", leak)
    found = audit(planted)
    assert found.fault is not None, "the leak was not even planted, or not found"
    assert found.fault.entry > 0
    said = run("party", "audit", planted, code=1)
    assert f"Entry {found.fault.entry}" in said.stdout
    assert "SECRET" not in said.output


Word = Envelope | Hello | Farewell | SignOfLife | Acknowledgement
More = Callable[[Word], list[Word]]


def forged_words(released: Path, to: Path, change: More) -> Path:
    """The same, where there may be other words, or more of them; numbered, chained and signed anew."""
    shutil.copytree(released / "bank" / "out", to)
    entries = list(entries_in(to / "private" / "transcript" / "entries"))
    shutil.rmtree(to / "private" / "transcript")
    transcript = Transcript(to / "private" / "transcript")
    last: dict[tuple[str, str, int], tuple[int, bytes]] = {}
    planted = False
    for entry in entries:
        word = decode(entry.frame)
        changed = change(word)
        planted |= changed != [word]
        for one in changed:
            if isinstance(one, Envelope):
                link = (entry.direction, entry.peer, one.epoch)
                number, before = last.get(link, (0, START))
                one = msgspec.structs.replace(one, number=number + 1, previous=before)
                last[link] = number + 1, digest_of(encode(one))
            transcript.append(entry.direction, entry.peer, encode(one))
    assert planted or change is as_it_was
    transcript.sign(Identity.load(released / "bank" / "identity"))
    transcript.close()
    return to


def as_it_was(word: Word) -> list[Word]:
    return [word]


def other(kind: type[Any], **changes: Any) -> More:
    """Words of a kind say something else."""
    return lambda word: (
        [msgspec.structs.replace(word, **changes)] if isinstance(word, kind) else [word]
    )


def also(where: str, *messages: Message, times: int = 1, **changes: Any) -> More:
    """After the first message of a step comes another, on the same link."""
    done: list[int] = []

    def more(word: Word) -> list[Word]:
        if not isinstance(word, Envelope) or word.step != where or done:
            return [word]
        done.append(1)
        said = [msgspec.structs.replace(word, body=encode(m), **changes) for m in messages]
        return [word, *said * times]

    return more


def saying(kind: type[Message], **changes: Any) -> More:
    """All messages of a kind say something else."""

    def said_otherwise(word: Word) -> list[Word]:
        if isinstance(word, Envelope):
            said = msgspec.msgpack.decode(word.body)
            if said["type"] == kind.__name__:
                return [msgspec.structs.replace(word, body=encode(said | changes))]
        return [word]

    return said_otherwise


def renumbered(word: Word) -> list[Word]:
    """A column is told with its values in another order than that of the records."""
    if isinstance(word, Envelope):
        said = msgspec.msgpack.decode(word.body)
        if said["type"] == "ToldColumns" and said["columns"]:
            first, *rest = said["columns"]
            last = len(first["values"]) - 1
            codes = bytes(last - code for code in first["codes"])
            first |= {"values": first["values"][::-1], "codes": codes}
            columns = {"columns": [first, *rest]}
            return [msgspec.structs.replace(word, body=encode(said | columns))]
    return [word]


def instead(step: str, message: Message) -> More:
    """In the place of what is due in a step comes another message."""

    def said_instead(word: Word) -> list[Word]:
        if isinstance(word, Envelope) and word.step == step:
            return [msgspec.structs.replace(word, body=encode(message))]
        return [word]

    return said_instead


def unfinished(word: Word) -> list[Word]:
    """A message begins that never ends, so that nobody looks at what it says."""
    if isinstance(word, Envelope) and word.step == "go":
        secret = b"SECRET leaf".ljust(LARGEST_PART)
        return [word, msgspec.structs.replace(word, body=secret, part=1, parts=2)]
    return [word]


def left_out(step: str) -> More:
    """Nobody says what is due in a step."""
    return lambda word: [] if isinstance(word, Envelope) and word.step == step else [word]


def repeated(kind: type[Any], times: int = 2) -> More:
    """Somebody says it again and again: how often, is a number."""
    return lambda word: [word] * times if isinstance(word, kind) else [word]


def alive(word: Word) -> list[Word]:
    return [word, SignOfLife(0, 7142857)] if isinstance(word, Hello) else [word]


LEAKS: dict[str, More] = {
    "words in the place of a version": other(Hello, product="SECRET: p7 is a Lawyer"),
    "a score as a clock": other(Hello, clock=0.0142942644),
    "a score as where it stands": other(Hello, finished=9),
    "a score as an epoch": other(Hello, epoch=7142857, resumes=True),
    "a run that looks resumed": other(Hello, resumes=True),
    "a column more on offer": other(Hello, offers={"SECRET": ["Job"]}),
    "meeting twice": repeated(Hello),
    "words in the place of a step": other(Farewell, step="SECRET: p7 is a Lawyer"),
    "words in the place of a reason": other(Farewell, code=4, why="SECRET: p7 is a Lawyer"),
    "done in an epoch that was not": other(Farewell, epoch=7142857),
    "done fifty times": repeated(Farewell, 50),
    "a score as a sign of life": alive,
    "a nonce in a round": also("round 2", intersection.Nonce(b"SECRET p7".ljust(32))),
    "a digest in a round": also("round 2", intersection.CommonDigest(b"SECRET p7".ljust(32))),
    "blinded ids in a round": also("round 2", intersection.BlindedIds(b"")),
    "a number of ids in a round": also("round 2", intersection.IdCount(7142857)),
    "a score as a number of ids": saying(intersection.IdCount, count=7142857),
    "a score as a number of common ids": saying(intersection.CommonCount, count=7142857),
    "a limit that was not kept": saying(Limit, max_steps=1),
    "two limits": also("what all accept", Limit(7142857)),
    "bits as wishes to stop": also("before round 2", rounds.RoundBegins(False), times=10),
    "a wish that nobody heeded": saying(rounds.RoundBegins, stop=True),
    "a column in another order": renumbered,
    "labels of a column that nobody has": also("labels", sharing.ToldLabels({"Nope": "x"})),
    "other labels": instead("labels", sharing.ToldLabels({"Nope": "x"})),
    "the class agrees in a round": also("round 1", sharing.ClassAgrees(True)),
    "a winner where nobody plays": also("labels", comparison.PairWinner("card")),
    "another winner": saying(comparison.PairWinner, winner="SECRET"),
    "a message that never ends": unfinished,
    "parts that are none": also("go", Go(), part=2, parts=2),
    "a message of an epoch that nobody was in": also("round 2", rounds.Revealed(), epoch=1),
    "a step that was over": also("ready", rounds.Revealed(), step="round 1"),
    "go twice": also("go", Go()),
    **{f"nothing in {step}": left_out(step) for step in ("what all accept", "round 1", "ready", "go")},
}  # fmt: skip


def test_all_words_follow_when_signed_again(released: Path, tmp_path: Path) -> None:
    assert audit(forged_words(released, tmp_path / "same", as_it_was)).fault is None


@pytest.mark.parametrize("name", LEAKS)
def test_what_was_not_due_is_found(released: Path, tmp_path: Path, name: str) -> None:
    planted = forged_words(released, tmp_path / "leak", LEAKS[name])
    said = run("party", "audit", planted, code=1)
    assert "SECRET" not in said.output
    assert name.startswith("nothing in") or "Entry" in said.stdout


@pytest.mark.parametrize("kind", [intersection.CommonDigest, intersection.AllIdsDigest, Ready])
def test_a_digest_has_32_bytes(kind: type[Any]) -> None:
    """No room for a leaf beside it."""
    for size in (0, 31, 33, 12_000):
        with pytest.raises(msgspec.ValidationError):
            msgspec.msgpack.decode(encode(kind(bytes(size))), type=kind)


def test_what_was_changed_afterwards_is_found(released: Path, tmp_path: Path) -> None:
    shutil.copytree(released / "bank" / "out", tmp_path / "out")
    path = tmp_path / "out" / "private" / "transcript" / "entries"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert audit(tmp_path / "out").fault is not None
    run("party", "audit", tmp_path / "out", code=1)
    path.write_bytes(path.read_bytes()[:-50])
    assert audit(tmp_path / "out").fault is not None


def test_what_is_no_joint_release_cannot_be_read(released: Path, tmp_path: Path) -> None:
    run("party", "audit", tmp_path, code=2)
    run("party", "audit", tmp_path / "nowhere", code=2)
    said = run("party", "audit", released / "bank" / "out" / "public", code=2).stderr
    assert "which holds public/ and private/" in said


DAMAGED = {
    "private/agreed.csv": ["", "Id\n", "Id,Job\np1,Cook\n", '"' + "x" * 200_000],
    "private/trace.jsonl": ["[]\n", "{}\n", "1\n", "[" * 100_000, '{"owner": 1}\n'],
    "private/input.json": ["[]", "{}", '{"owner": "nobody"}'],
    "public/data.csv": ["", "Job\nCook\n"],
}


@pytest.mark.parametrize(
    ("path", "content"), [(path, text) for path, texts in DAMAGED.items() for text in texts]
)
def test_a_damaged_folder_is_told(released: Path, tmp_path: Path, path: str, content: str) -> None:
    shutil.copytree(released / "bank" / "out", tmp_path / "out")
    (tmp_path / "out" / path).write_text(content)
    said = run("party", "audit", tmp_path / "out", code=2).stderr
    assert "Do:" in said


def test_messages_that_are_audited_are_those_that_there_are() -> None:
    """A message that is added to the protocol is added to the audit."""
    from reticent.joint import audit as module

    def kinds(of: type[Any]) -> set[type[Any]]:
        below: list[type[Any]] = of.__subclasses__()
        return {of, *(kind for one in below for kind in kinds(one))}

    rooms = ("reticent.joint.", "reticent.parties.")  # sites have others
    known = {*module.MESSAGES}
    assert {kind for kind in kinds(Message) if kind.__module__.startswith(rooms)} - {
        Message
    } == known
    assert {rounds.Revealed, sharing.ToldColumns, Limit, Ready} <= known


def swapped(content: str) -> str:
    """The ids of the first two lines change places, and nothing else."""
    head, one, other, *rest = content.splitlines(keepends=True)
    (a, first), (b, second) = (line.split(",", 1) for line in (one, other))
    return "".join([head, f"{b},{first}", f"{a},{second}", *rest])


def turned(content: str) -> str:
    """The same rows, in another order."""
    head, *rest = content.splitlines(keepends=True)
    return "".join([head, *reversed(rest)])


def without_the_card(content: str) -> str:
    """Nobody says any more which certificate the card had."""
    told = json.loads(content)
    del told["files"]["certificates/card.pem"]
    return json.dumps(told)


def another_row(content: str) -> str:
    head, _, *rest = content.splitlines(keepends=True)
    return "".join([head, rest[-1], *rest])


CHANGED = {
    "ids": ("private/agreed.csv", swapped, "agreed.csv is not the one that this owner signed"),
    "no signature": ("private/agreed.json", lambda text: "{}", "that this owner signed"),
    "another's certificate": (
        "private/certificates/card.pem", turned, "card.pem is not the one that this owner signed",
    ),
    "one certificate less": (
        "private/agreed.json", without_the_card, "agreed.json is not the one that this owner signed",
    ),
    "order": ("public/data.csv", turned, "data.csv is not the file that manifest.json describes"),
    "rows": ("public/data.csv", another_row, "is not the file that manifest.json describes"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGED)
def test_a_file_that_was_changed_since_is_a_violation(
    released: Path, tmp_path: Path, what: str
) -> None:
    shutil.copytree(released / "bank" / "out", tmp_path / "out")
    name, change, words = CHANGED[what]
    path = tmp_path / "out" / name
    path.write_text(change(path.read_text()))
    said = run("party", "audit", tmp_path / "out", code=1).output
    assert words in " ".join(said.split())


def test_a_certificate_that_is_gone_is_a_violation(released: Path, tmp_path: Path) -> None:
    shutil.copytree(released / "bank" / "out", tmp_path / "out")
    (tmp_path / "out" / "private" / "certificates" / "clinic.pem").unlink()
    said = run("party", "audit", tmp_path / "out", code=1).output
    assert "certificates/clinic.pem is not the one that this owner signed" in " ".join(said.split())
