"""One battery for every kind of release: whatever is released, these hold.

The kinds come from the registry, and each is asked for what it says that it does. A kind without
an example (`kinds_at_hand`) fails here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import count as counting
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from at_hand import contents
from kinds_at_hand import ALL, EXAMPLES, MARK, KindExample
from reticent.errors import Stopped
from reticent.files.tabular import LINES, SUFFIXES
from reticent.progress import Watch
from reticent.releases.kinds import JOINT, KINDS, TABLES, kind_of
from reticent.releases.policyfile import parsed
from terminal import answer, run, start

ENVELOPE = {
    "release": {"templates", "warnings", "output", "seconds", "stopped_early"},
    "verify": {"holds", "templates", "warnings"},
    "risk": {"templates", "warnings"},
}


EVERY = [
    pytest.param(one, id=kind.name, marks=[] if "release" in kind.does else [pytest.mark.net])
    for kind, one in zip(KINDS, ALL, strict=True)
]


@pytest.fixture(params=EVERY)
def any_example(request: pytest.FixtureRequest, work: Path) -> KindExample:
    """The example of a kind, laid out in a folder of its own."""
    assert request.param is not None, "a kind of release has no example in kinds_at_hand"
    request.param.lay(work)
    found: KindExample = request.param
    return found


@pytest.fixture(
    params=[
        pytest.param(one, id=one.kind.name) for one in ALL if one and "release" in one.kind.does
    ]
)
def example(request: pytest.FixtureRequest, work: Path) -> KindExample:
    """The same of a kind that one owner releases alone, by a command about one file."""
    request.param.lay(work)
    found: KindExample = request.param
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[KindExample], Path]:
    """A release folder of an example, made once."""
    folders: dict[str, Path] = {}

    def folder_of(example: KindExample) -> Path:
        name = example.kind.name
        if name not in folders:
            folder = tmp_path_factory.mktemp("made")
            with contextlib.chdir(folder):
                example.lay(folder)
                example.make("out")
            folders[name] = folder / "out"
        return folders[name]

    return folder_of


@pytest.fixture
def released(any_example: KindExample, made: Callable[[KindExample], Path]) -> KindExample:
    """The example of a kind, with its release in out/."""
    shutil.copytree(made(any_example), "out")
    return any_example


def marks(text: str) -> set[str]:
    return {*re.findall(rf"{MARK}\w*", text)}


def changed(example: KindExample, change: tuple[str, str], name: str = "other.toml") -> str:
    """The policy with one part changed."""
    text = example.files["p.toml"]
    assert change[0] in text
    Path(name).write_text(text.replace(*change), encoding="utf-8")
    return name


def test_a_policy_is_told_by_its_keys(any_example: KindExample) -> None:
    example = any_example
    policy = parsed(example.files["p.toml"], "policy")
    assert all(kind_of(policy, usual) is example.kind for usual in KINDS)
    assert kind_of(policy | {"owners": {}}) is JOINT
    for other in (one for one in ALL if one and one.kind is not example.kind):
        Path("theirs.toml").write_text(other.files["p.toml"], encoding="utf-8")
        said = example.make("no", policy="theirs.toml", code=2).stderr
        assert f"policy for {other.kind.name}" in said
        assert other.kind.command in said


def test_a_release_passes_verify_of_any_kind(released: KindExample) -> None:
    """By its own command and the general one; by the policy given, or the one that it keeps."""
    example = released
    for command in (["verify"], example.command("verify")):
        run(*command, "out", "-p", "p.toml")
    assert answer("verify", "out")["holds"] is True
    run("verify", "out/public", "-p", "p.toml")
    said = run("verify", "out/public", code=2).stderr  # which keeps no policy
    assert "--policy" in said
    [data] = Path("out/public").glob("data.*")
    run("verify", str(data), "-p", "p.toml")
    told = run("verify", "out", "-p", changed(example, example.broken), code=None)
    assert told.exit_code in (1, 2), told.output


@pytest.mark.usefixtures("released")
def test_what_was_changed_does_not_pass() -> None:
    report = Path("out/public/report.json")
    report.write_text(report.read_text() + " ")
    said = run("verify", "out", code=1)
    assert "report.json" in said.stdout
    report.unlink()
    run("verify", "out", code=1)
    manifest = Path("out/public/manifest.json")
    told = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps(told | {"kind": "of next year"}))
    assert "does not know" in run("verify", "out", code=2).stderr


@pytest.mark.usefixtures("released")
def test_data_that_the_manifest_does_not_list_were_added() -> None:
    manifest = Path("out/public/manifest.json")
    told = json.loads(manifest.read_text(encoding="utf-8"))
    told["files"] = {name: file for name, file in told["files"].items() if "data" not in name}
    manifest.write_text(json.dumps(told))
    assert "was added after the release" in run("verify", "out", code=1).stdout


def test_no_file_appears_where_the_next_run_would_read_it(example: KindExample) -> None:
    Path("folder").mkdir()
    Path(example.data).rename(f"folder/{example.data}")
    given = ["folder" if word == example.data else word for word in example.release]
    name = f"folder/out{Path(example.data).suffix}"
    assert "input of the same run" in run(*given, name, code=2).stderr
    assert [path.name for path in Path("folder").iterdir()] == [example.data]
    run(*given, "folder/out")  # below it, nobody looks for data
    run(*given, "folder/out", "--force")


def test_a_name_that_no_folder_holds_is_refused(any_example: KindExample) -> None:
    assert "too long" in any_example.make("x" * 260, code=2).stderr


def test_what_nobody_can_compare_is_warned_of(released: KindExample) -> None:
    Path("out/public/extra.csv").write_text("a\n1\n")
    assert "extra.csv" in run("verify", "out").stderr
    Path("out/public/extra.csv").unlink()
    Path("out/public/manifest.json").unlink()
    for command in (["verify"], released.command("verify")):
        said = run(*command, "out", "-p", "p.toml", "--json")
        assert "manifest.json is gone" in said.stderr
        assert "manifest.json is gone" in " ".join(json.loads(said.stdout)["warnings"])
    assert "no such file" in run("verify", "nowhere", code=2).stderr


@pytest.mark.parametrize(
    "manifest",
    [
        "[", "[" * 9000, "null", "[]", "{}", "1", "NaN", '{"kind": "entries"}', '{"made_by": ""}',
        '{"made_by": "", "files": {}}', '{"made_by": "", "files": []}', '{"made_by": "", "format": 99}',
        *(f'{{"made_by": "", "files": {{"{name}": {{"sha256": ""}}}}}}'
          for name in ("/dev/zero", "../private/policy.toml", ".", "", "x" * 300, r"\ud800")),
        '{"made_by": "", "files": {"data.csv": {}}}', '{"made_by": "", "files": {"data.csv": 1}}',
    ],
)  # fmt: skip
@pytest.mark.usefixtures("released")
def test_a_manifest_is_believed_of_no_other_file(manifest: str) -> None:
    Path("out/public/manifest.json").write_text(manifest)
    said = run("verify", "out", "-p", "p.toml", code=2).stderr
    assert "manifest" in said


@pytest.mark.usefixtures("any_example")
def test_a_password_is_never_told() -> None:
    place = "postgres://me:PASSWORD@127.0.0.1:1/clinic"
    for more in ([], ["-p", "p.toml", "--table", "t"]):
        assert "PASSWORD" not in run("verify", place, *more, code=2).output
    said = run("policy", "check", "p.toml", place, "--table", "t", code=2)
    assert "PASSWORD" not in said.output


@pytest.mark.parametrize("key", ["joins", "tables"])
def test_a_schema_of_tables_that_join_is_told_by_one_key(
    any_example: KindExample, key: str
) -> None:
    Path("next.toml").write_text(f"{key} = {{}}\n{any_example.files['p.toml']}")
    for said in (
        any_example.make("no", policy="next.toml", code=2),
        run("policy", "check", "next.toml", code=2),
    ):
        assert "this is a schema of tables that join, and no policy" in said.stderr
        assert "reticent tree train" in said.stderr


def test_options_that_say_nothing_of_a_kind_are_refused(released: KindExample) -> None:
    given = {"previous": "a=b", "original": "in.csv", "engine": "memory", "table": "t"}
    for name, value in given.items():
        if name not in released.kind.options:
            said = run("verify", "out", f"--{name}", value, code=2).stderr
            assert f"leave out --{name}" in said


def test_the_same_bytes_twice(any_example: KindExample) -> None:
    """Of several owners the public side; what they said to each other is new every time."""
    example = any_example
    side = "" if "release" in example.kind.does else "public"
    example.make("one")
    example.make("two")
    assert contents(Path("one", side)) == contents(Path("two", side))
    rows = answer("verify", "one").get("rows")
    for suffix in example.writes:
        run(*example.release, f"one{suffix}")
        run(*example.release, f"two{suffix}")
        assert Path(f"one{suffix}").read_bytes() == Path(f"two{suffix}").read_bytes()
        told = answer("verify", f"one{suffix}", "-p", "p.toml")
        assert (told["holds"], told.get("rows")) == (True, rows)


TAKEN = "the output exists already\n  Do:  choose another name or add --force.\n"
AN_INPUT = (
    "this is, holds, or is part of an input of the same run\n"
    "  Why: it would be lost.\n  Do:  choose another name.\n"
)


def test_places(any_example: KindExample) -> None:
    """One rule for -o: a folder, a file of a format that this kind writes, or exit 2."""
    example = any_example
    alone = "release" in example.kind.does  # its data stand in the command, and not in a file
    for name in ("plain", "slash/", "out.v2", "my.data.2026"):
        example.make(name)
        assert {path.name for path in Path(name).iterdir()} == {"public", "private"}
        assert Path(name, "private").stat().st_mode & 0o077 == 0
    before = contents()
    formats = {*SUFFIXES, *LINES, ".xlsx", ".json", ".html", ".gz", ".zip"}
    for suffix in formats - {*example.writes}:
        said = example.refused(f"no{suffix}")
        assert said.startswith(f"no{suffix}: {suffix} files cannot be written")
        others = ", ".join(example.writes)
        remedy = f"write {others}; " if others else ""
        assert said.endswith(f"\n  Do:  {remedy}a name without suffix is a folder.\n")
    refused = {
        "plain": TAKEN,
        "no/where": "there is no folder no\n  Do:  create it first.\n",
        "no/deep/where": "there is no folder no/deep\n  Do:  create it first.\n",
    }  # fmt: skip
    if alone:
        refused |= {
            example.data: TAKEN, f"{example.data} --force": AN_INPUT,
            "no/where.csv": "there is no folder no\n  Do:  create it first.\n",
        }  # fmt: skip
    for given, said in refused.items():
        name, *how = given.split()
        assert example.refused(name, *how) == f"{name}: {said}"
    if alone:
        missing = [
            f"gone{Path(word).suffix}" if word == example.data else word for word in example.release
        ]
        assert ": there is no such file\n" in run(*missing, "no", code=2).stderr
    assert contents() == before
    example.make("plain", "--force")
    Path("plain/precious").write_text("mine")
    example.refused("plain", "--force")
    assert Path("plain/precious").read_text() == "mine"


def told_by(said: Result) -> dict[str, Any]:
    """What a command printed for machines: one line of JSON and nothing else."""
    assert said.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def test_json_has_the_common_envelope(any_example: KindExample) -> None:
    example = any_example
    told = told_by(example.make("out", "--json"))
    assert ENVELOPE["release"] <= told.keys()
    assert told["output"] == "out"
    promises = [one["verified"] for one in told["templates"]]
    assert promises
    assert all(promises)
    told = answer(*example.command("verify", "out", "-p", "p.toml"))
    assert ENVELOPE["verify"] <= told.keys()
    report = json.loads(Path("out/public/report.json").read_text())
    assert told["templates"][0]["kind"] == report["templates"][0]["kind"]
    if "risk" in example.kind.does:
        told = answer(*example.command("risk", example.data, "-p", "p.toml"))
        assert ENVELOPE["risk"] <= told.keys()
    told = answer("policy", "check", "p.toml", *example.fits)
    assert told.keys() == {"promises", "warnings"}
    assert len(told["promises"]) == len(promises)
    told = told_by(example.make("out", "--json", code=2))
    assert told.keys() == {"error", "problems"}
    cannot = changed(example, example.infeasible)
    told = told_by(example.make("no", "--json", policy=cannot, code=3))
    assert told["error"] == "Unsatisfiable"
    assert not Path("no").exists()


def test_stopped_from_python_at_any_point(example: KindExample) -> None:
    """Nothing is written until there is something safe; what is says that it was stopped."""
    door, room = example.kind.door(), f"reticent.{example.kind.room}"
    report, text = (import_module(f"{room}.{name}") for name in ("report", "text"))
    original = ["--original", example.data] if "original" in example.kind.options else []
    folder = ["out"] if example.kind is not TABLES else []  # whose pages take their time
    for place in (f"out{example.writes[0]}", *folder):
        early = 0
        for points in counting():
            left = iter(range(points))
            watch = Watch(stop=lambda left=left: next(left, None) is None)  # type: ignore[misc]
            try:
                found = door.release(example.data, "p.toml", output=place, force=True, watch=watch)
            except Stopped:
                assert not Path(place).exists()
                continue
            run("verify", place, "-p", "p.toml", *original)
            assert found.summary()["stopped_early"] is found.stopped_early
            assert ("stopped early" in text.release(report.facts(found))) == found.stopped_early
            if example.kind is not TABLES:
                assert ("stopped early" in found._repr_html_()) == found.stopped_early
            if not found.stopped_early:
                break
            early += 1
        assert early


def commands_of(example: KindExample) -> list[Callable[..., Result]]:
    """Commands that succeed, fail, or find a broken promise."""
    typo = changed(example, (example.misspelt, example.misspelt + "x"), "typo.toml")
    cannot = changed(example, example.infeasible, "cannot.toml")
    broken = changed(example, example.broken, "broken.toml")
    data, fits = example.data, example.fits
    found: list[Callable[..., Result]] = [
        partial(example.make, "out"),
        partial(example.make, "out"),  # which is there by now
        partial(run, "verify", "out"),
        partial(run, "verify", data, "-p", "p.toml"),  # as it was, and no release
        partial(run, "verify", "out", "-p", broken),
        partial(run, "policy", "check", "p.toml", *fits),
        partial(run, "policy", "check", typo, *fits),
        partial(run, "verify", "out", "-p", typo),
        partial(example.make, "no", policy=typo),
        partial(example.make, "no", policy=cannot),
        partial(run, *example.command("verify", "out", "-p", broken)),
    ]
    found += [partial(example.make, f"out{suffix}") for suffix in example.writes[:1]]
    if "risk" in example.kind.does:
        found.append(partial(run, *example.command("risk", data, "-p", "p.toml")))
    if "evaluate" in example.kind.does:
        found.append(partial(run, *example.command("evaluate", data, "out", "-p", "p.toml")))

    def empty(*how: str, code: int | None = 0) -> Result:
        Path(data).write_text("")
        return example.make("no", *how, code=code)

    return [*found, empty]


@pytest.mark.parametrize("how", [[], ["--json"], ["--progress", "json", "--debug"]])
def test_nothing_tells_a_planted_value(any_example: KindExample, how: list[str]) -> None:
    """In messages only what the policy names; in public files only what is released."""
    example = any_example
    named = marks(example.files["p.toml"])
    codes = set()
    for command in commands_of(example):
        said = command(*how, code=None)
        codes.add(said.exit_code)
        assert said.exit_code in (0, 1, 2, 3), said.output
        # What succeeds may show what is released; what fails, no more than the policy itself.
        shown = named if said.exit_code else named | example.released
        assert not marks(said.output) - shown, command
    assert {0, 2, 3} <= codes
    for path in Path("out/public").rglob("*"):
        assert marks(path.read_text(encoding="utf-8")) <= example.released, path
    for suffix in example.writes[:1]:
        assert marks(Path(f"out{suffix}").read_text()) <= example.released


def started(words: list[str]) -> subprocess.Popen[str]:
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return start(*words, "--progress", "json", env=own)


@pytest.mark.net
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_at_any_stage_nothing_half_is_left(example: KindExample, number: int) -> None:
    """Ended as each stage begins, a run leaves nothing, or all of it; the next one tidies up."""
    said = started([*example.release, "whole"]).communicate()[1]
    stages = [json.loads(line)["stage"] for line in said.splitlines() if line.startswith("{")]
    assert stages[-1] == "done"
    whole = contents("whole")
    for stage in dict.fromkeys(stages[:-1]):
        command = started([*example.release, "out"])
        assert command.stderr is not None
        for line in command.stderr:
            if f'"stage": "{stage}"' in line:
                break
        command.send_signal(number)
        command.communicate()
        if Path("out").exists():
            assert contents("out") == whole
        elif number == signal.SIGTERM:
            assert command.returncode == 143
            assert {path.name for path in Path().iterdir()} == {*example.files, "whole"}
        run(*example.release, "out", "--force")
        assert contents("out") == whole
        assert {path.name for path in Path().iterdir()} == {*example.files, "whole", "out"}
        shutil.rmtree("out")


@pytest.mark.net
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_owner_killed_at_any_stage_leaves_nothing_half(work: Path, number: int) -> None:
    """The same where several release: nothing, or all of it; what it left can be gone on with.

    At any moment, and with the others going on: `joint/test_kills.py`.
    """
    example = EXAMPLES[JOINT.name]
    example.lay(work)
    example.make("whole")
    whole = contents("whole/public")
    before = {path.name for path in work.iterdir()}
    stages = ["read", "meet", "intersect", "encode", "share", "refine", "write", "verify", "agree"]
    for stage in stages:
        peer = started(["integrate", "card.toml", "--force", "--again"])
        owner = started(["integrate", "bank.toml", "-o", "out", "--again"])
        assert owner.stderr is not None
        seen = any(f'"stage": "{stage}"' in line for line in owner.stderr)
        owner.send_signal(number)
        owner.communicate()
        peer.send_signal(signal.SIGKILL)  # it would wait for us
        peer.communicate()
        assert seen, stage
        if Path("out").exists():
            assert contents("out/public") == whole
        left = {path.name for path in work.iterdir()} - before
        assert left <= {"out", "out.run", "of-card.run"} | {n for n in left if n.startswith(".")}
        for name in left:
            shutil.rmtree(name, ignore_errors=True)


ABOUT = """
[about]
title = "Visits <2025> & “Überfälle”"
owner = "Town clinic"
contact = "data@clinic.example"
purpose = "One line,\\nand <b>another</b>."
basis = "Art. 89 GDPR"
date = 2025-12-31
"""


def test_what_a_release_is_about_stands_on_both_pages(any_example: KindExample) -> None:
    Path("about.toml").write_text(any_example.files["p.toml"] + ABOUT, encoding="utf-8")
    any_example.make("out", policy="about.toml")
    run("verify", "out")
    for name in ("report", "manifest"):
        told = json.loads(Path(f"out/public/{name}.json").read_text(encoding="utf-8"))["about"]
        assert list(told) == ["title", "owner", "contact", "purpose", "basis", "date"]
        assert told["date"] == "2025-12-31"
    for side in ("public", "private"):
        page = Path(f"out/{side}/report.html").read_text(encoding="utf-8")
        assert "<title>Visits &lt;2025&gt; &amp; “Überfälle” – " in page
        assert page.count("<h1") == page.count("&amp; “Überfälle”</h1>") == 1
        assert '<a href="mailto:data@clinic.example">data@clinic.example</a>' in page
        head = page[: page.index("<main>")]
        for said in ("Town clinic", "Art. 89 GDPR", "and &lt;b&gt;another", "2025-12-31"):
            assert said in head
    if "sweep" in any_example.kind.does:
        run(
            *any_example.command(
                "sweep", any_example.data, "-p", "about.toml", "-o", "sw", "--k", "3"
            )
        )
        assert '<h1 class="value">Visits &lt;2025&gt;' in Path("sw/report.html").read_text()
    run("policy", "check", "about.toml", *any_example.fits)
    kept = any_example.kind.door().Policy.load("out/private/policy.toml")
    assert kept.about.facts() == told
