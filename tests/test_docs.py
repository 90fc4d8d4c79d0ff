"""What the documentation shows is what happens."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import reticent.parties
from parties_net_at_hand import free_ports
from reticent import Policy, __version__, entries, release, transactions
from reticent.joint.policy import JointPolicy
from reticent.jointree.model import read_model
from reticent.jointree.schema import GrowEntry, JoinEntry, JoinSchema, TableEntry
from reticent.parties.settings import PartySettings, PeerSettings
from reticent.sample import make_sample
from terminal import replay, run, shown

ROOT = Path(__file__).parent.parent
RETICENT = Path(sys.executable).with_name("reticent")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").rglob("README.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *EXAMPLES]


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("commands", [["risk", "release"], ["evaluate"]], ids=" ".join)
def test_the_readme_shows_real_output(work: Path, commands: list[str]) -> None:
    (work / "demo").mkdir()
    make_sample("census", 20000, 1, output="demo/people")  # what the demo makes
    if commands == ["evaluate"]:
        release("demo/people/census.csv", "demo/people/policy.toml", output="mine")
    shown = next(b for b in blocks(README, "console") if f"reticent {commands[0]} " in b)
    runs = re.findall(r"^\$ reticent (.*?)\n(.*?)(?=^\$ |\Z)", shown, re.DOTALL | re.MULTILINE)
    assert [words.split()[0] for words, _ in runs] == commands
    for words, expected in runs:
        done = subprocess.run(
            [RETICENT, *shlex.split(words)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected.strip()


def test_four_steps_of_the_readme_work_on_a_table_of_patients(work: Path) -> None:
    make_sample("clinic", 1000, 1, output="patients.csv")
    commands = re.findall(r"^\$ reticent ([^#\n]*)", blocks(README, "console")[2], re.MULTILINE)
    assert len(commands) == 4
    for words in commands:
        subprocess.run([RETICENT, *shlex.split(words)], capture_output=True, check=True)
    assert (work / "release/public/data.csv").exists()


@pytest.mark.usefixtures("work")
def test_baskets_in_the_readme_are_real_output() -> None:
    section = README.partition("\n## Baskets and click streams\n")[2].partition("\n## ")[0]
    assert replay(shown(section)) == {"sample": 1, "release": 1}


@pytest.mark.usefixtures("work")
def test_private_search_in_the_readme_is_real_output() -> None:
    section = README.partition("\n## Search that knows you, and does not tell\n")[2]
    told = replay(shown(section.partition("\n## ")[0]))
    assert told == {"sample": 1, "profile": 2, "search": 2}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_toml_blocks_are_policies(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "toml"):
        told = tomllib.loads(block)
        if "conditions" in told:
            entries.Policy.parse(block)
        elif "owners" in told:
            JointPolicy.parse(block)
        elif "peers" in told:
            PartySettings.parse(block)
        elif "tables" in told:
            JoinSchema.parse(block)
        else:
            (transactions.Policy if "private" in told else Policy).parse(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([^)#:]+)\)", index))
    for page in sorted((ROOT / "docs").rglob("*.md")):
        path = page.relative_to(ROOT / "docs").as_posix()
        line = f"- [{page.read_text('utf-8').splitlines()[0].lstrip('# ')}]({path})"
        assert path in {*linked, "README.md"}, f"docs/README.md lacks a line such as  {line}"


@pytest.mark.usefixtures("work")
def test_coming_from_other_tools_is_real_output() -> None:
    page = (ROOT / "docs/coming-from-arx-or-sdcmicro.md").read_text(encoding="utf-8")
    for name, text in re.findall(r"^`([\w.-]+)`:\n\n```\w+\n(.*?)```", page, re.M | re.S):
        Path(name).write_text(text, encoding="utf-8")
    told = replay(shown(page))
    assert told == {"taxonomy": 1, "sample": 1, "policy": 1, "release": 2, "risk": 1, "verify": 2}


@pytest.mark.usefixtures("work")
def test_what_singles_people_out_is_real_output() -> None:
    page = (ROOT / "docs/how-to/what-singles-people-out.md").read_text(encoding="utf-8")
    assert replay(shown(page)) == {"sample": 1, "risk": 2}


@pytest.mark.usefixtures("work")
def test_the_safe_harbor_is_real_output() -> None:
    page = (ROOT / "docs/how-to/hipaa-safe-harbor.md").read_text(encoding="utf-8")
    Path("visits.csv").write_text(blocks(page, "csv")[0], encoding="utf-8")
    assert replay(shown(page)) == {"init": 1, "policy": 1, "release": 1, "verify": 2}


TWO_MACHINES = (ROOT / "docs/how-to/two-machines.md").read_text(encoding="utf-8")


def party_files() -> tuple[str, dict[str, str]]:
    """The joint policy of the page about two machines, and the party file of each owner."""
    found = blocks(TWO_MACHINES, "toml")
    [policy] = [block for block in found if "owners" in tomllib.loads(block)]
    parties = {tomllib.loads(block)["name"]: block for block in found if block != policy}
    return policy, parties


def test_files_of_two_machines_fit_each_other() -> None:
    policy, parties = party_files()
    agreement = JointPolicy.parse(policy).agreement
    assert [*parties] == [*agreement.owners] == ["bank", "card"]
    settings = {name: PartySettings.parse(text) for name, text in parties.items()}
    assert len({one.run for one in settings.values()}) == 1
    for one in settings.values():
        one.refuse_unlike(agreement)
        for name, peer in one.peers.items():  # it is called where it listens
            assert peer.address.rpartition(":")[2] == settings[name].listen.rpartition(":")[2]
    # What is said to be a default is one.
    for key, value in re.findall(
        r"^(\w+) = (\S+) +# default(?! none)", parties["bank"], re.MULTILINE
    ):
        default = PartySettings.model_fields[key].default
        assert default == tomllib.loads(f"x = {value}")["x"], key
    assert PartySettings.model_fields["time_limit"].default is None


@pytest.mark.net
def test_two_machines_shows_real_output(tmp_path: Path) -> None:
    """Played on the loopback; fingerprints are others every time."""
    policy, parties = party_files()
    console = dict(shown(TWO_MACHINES))
    ports = dict(zip(parties, free_ports(2), strict=True))
    for name, text in parties.items():
        (tmp_path / name / "peers").mkdir(parents=True)
        for owner, port in ports.items():
            text = re.sub(rf"{owner}\.example:\d+", f"127.0.0.1:{port}", text)
        text = re.sub(r"0\.0\.0\.0:\d+", f"127.0.0.1:{ports[name]}", text)
        (tmp_path / name / "party.toml").write_text(text)
        (tmp_path / name / "joint.toml").write_text(policy)
        made = _party(tmp_path / name, "init", name, "-o", "identity").communicate(timeout=60)[0]
        assert _nameless(made) == _nameless(console["reticent party init bank -o identity"])
    for name, other in (("bank", "card"), ("card", "bank")):
        given = tmp_path / other / "identity/certificate.pem"
        shutil.copy(given, tmp_path / name / f"peers/{other}.pem")
    both = [_party(tmp_path / name, "check", "party.toml") for name in parties]
    said, _ = [one.communicate(timeout=60)[0] for one in both]
    assert _nameless(said) == _nameless(console["reticent party check party.toml"])
    assert [one.returncode for one in both] == [0, 0]


def _party(folder: Path, *words: str) -> subprocess.Popen[str]:
    start = [sys.executable, "-c", "from reticent.front import main; main()", "party", *words]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        start, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, **path}
    )


def _nameless(said: str) -> str:
    return re.sub(r"(?:[0-9A-F]{4} ){15}[0-9A-F]{4}", "FINGERPRINT", said).strip()


def test_two_machines_knows_every_trouble() -> None:
    page = " ".join(TWO_MACHINES.split())
    for words in _troubles():
        assert words in page, "docs/how-to/two-machines.md lists what a peer's trouble means"


def _troubles() -> Iterator[str]:
    """The words with which a peer cannot be reached, as the code has them, values left out."""
    room = Path(reticent.parties.__file__).parent
    trees = [ast.parse((room / file).read_text("utf-8")) for file in ("tcp.py", "connections.py")]
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.Call(ast.Name("Trouble" | "Refused"), [ast.Constant(str(words)), *_]):
                yield words
            case ast.Call(ast.Name("Trouble" | "Refused"), [ast.JoinedStr(parts), *_]):
                yield from (str(p.value).strip(" (") for p in parts if isinstance(p, ast.Constant))


def test_every_key_of_a_party_file_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/party-file.md").read_text(encoding="utf-8")
    fields = {**PartySettings.model_fields, **PeerSettings.model_fields}
    for key in (field.alias or name for name, field in fields.items()):
        assert f"`{key}`" in page or f"[{key}" in page, key


def test_every_key_of_a_join_schema_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/join-schema.md").read_text(encoding="utf-8")
    for model in (JoinSchema, TableEntry, JoinEntry, GrowEntry):
        for name, field in model.model_fields.items():
            [line] = re.findall(
                rf"^\| `{field.alias or name}` \| .*$", page.split("## Commands")[0], re.M
            )
            # What is said to be a default is one.
            told = re.findall(r"`[^`]*`|\d+", line.split(" | ")[2])
            if model is GrowEntry and told:
                assert tomllib.loads(f"x = {told[0].strip('`')}")["x"] == field.default, name
            if model is GrowEntry and not told:
                assert field.default is None, name


def test_the_model_in_the_reference_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs/reference/join-schema.md").read_text(encoding="utf-8")
    [block] = blocks(page, "json")
    (tmp_path / "model.json").write_text(block, encoding="utf-8")
    tree = read_model(tmp_path)
    assert [
        sum(counts) for counts in zip(*(b.counts for b in tree.root.branches), strict=True)
    ] == [*tree.root.counts]


def test_every_command_is_in_the_reference() -> None:
    reference = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    names = re.findall(r"^## reticent (.*)$", reference, re.MULTILINE)
    groups: dict[str, set[str]] = {name.split()[0]: set() for name in names}
    for name in names:
        groups[name.split()[0]] |= {*name.split()[1:]}
    for command in (*groups, ""):  # help of the whole lists all commands, of a group all of its
        said = run(*command.split(), "--help").stdout.partition("Commands:")[2]
        listed = {*re.findall(r"^  ([a-z]+) ", said, re.MULTILINE)}
        assert listed == (groups[command] if command else {*groups}), (
            "make docs brings it up to date"
        )
    for name in names:
        done = run(*name.split(), "--help")
        section = reference.partition(f"## reticent {name}\n")[2].partition("\n## ")[0]
        # Layout is the library's and may change with it; what can be said may not.
        for option in set(re.findall(r"--[a-z-]+", done.stdout)):
            assert option in section, f"make docs brings {name} up to date"


def test_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d\S*)", changelog, re.MULTILINE)[0] == __version__


def test_make_prints_help() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    done = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True)
    for target in ("demo", "test", "check", "bench"):
        assert f"make {target}" in done.stdout
