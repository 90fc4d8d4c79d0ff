"""A clinic and an office on one laptop: the tutorial, played by two processes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from at_hand import contents
from parties_net_at_hand import free_ports
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.layout import SiteLayout
from reticent.parties.settings import PartySettings
from terminal import ROOT, finished, lines, shown
from test_example_two_owners import _nameless, start

EXAMPLE = ROOT / "examples/two_sites"
TUTORIAL = (ROOT / "docs/tutorials/trees-at-sites.md").read_text(encoding="utf-8")
SITES = ("clinic", "office")


def copied(folder: Path) -> Path:
    """The example as a fresh checkout has it, on ports that are free."""
    made = shutil.ignore_patterns("model*", "identity", "ids.csv", "classes.csv")
    shutil.copytree(EXAMPLE, folder / "two_sites", ignore=made)
    shutil.copytree(ROOT / "examples/joined_tables", folder / "joined_tables")
    ports = dict(zip(("7011", "7012"), map(str, free_ports(2)), strict=True))
    for path in (folder / "two_sites").glob("*/party*.toml"):
        text = re.sub(r"701[12]", lambda found: ports[found[0]], path.read_text("utf-8"))
        path.write_text(text, encoding="utf-8")
    return folder / "two_sites"


@pytest.mark.net
def test_the_tutorial_is_played(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    said: dict[str, list[str]] = {}

    def play(command: str, *sites: str, code: dict[str, int] | None = None) -> None:
        running = {name: start(folder / name, *command.split()) for name in sites}
        for name, process in running.items():
            ended, out, err = finished(process)
            assert ended == (code or {}).get(name, 0), err
            said.setdefault(f"reticent {command}", []).append(_nameless(err + out))

    for name in SITES:
        play(f"party init {name} -o identity", name)
    play("tree train --party party.toml", *SITES)
    models = [(folder / name / "model/model.json").read_bytes() for name in SITES]
    assert models[0] == models[1]
    for command in ("tree show model", "party audit model"):
        for name in SITES:
            play(command, name)
    [asked] = re.findall(r"```csv\n(.*?)```", TUTORIAL, re.DOTALL)
    for name in SITES:
        (folder / name / "ids.csv").write_text(asked, encoding="utf-8")
    play("tree classify --party party.toml model --records ids.csv -o classes.csv", *SITES)
    play("tree train --party party-few.toml", *SITES, code=dict.fromkeys(SITES, 3))
    assert not [*folder.glob("*/model-few*")]
    classes = (folder / "clinic/classes.csv").read_text(encoding="utf-8")
    told = []
    for command, printed in shown(TUTORIAL):
        if command == "cat classes.csv":
            assert lines(printed) == lines(classes)
        if command in said:
            told.append(command)
            quoted = "\n".join(lines(_nameless(printed)))
            assert any(quoted in "\n".join(lines(one)) for one in said[command]), command
    assert {*told} == {*said}


def test_both_have_the_same_schemas_and_no_keys() -> None:
    for name in ("schema.toml", "schema-few.toml"):
        assert (EXAMPLE / "clinic" / name).read_bytes() == (EXAMPLE / "office" / name).read_bytes()
        layout = SiteLayout.of(JoinSchema.load(EXAMPLE / "clinic" / name))
        assert layout.sites == SITES
        for site in SITES:
            PartySettings.load(EXAMPLE / site / "party.toml").refuse_unlike(layout.agreement)
    kept = subprocess.run(
        ["git", "-C", EXAMPLE, "ls-files"], capture_output=True, text=True, check=False
    )
    assert "identity" not in kept.stdout


def test_the_tutorial_shows_the_files_of_its_example() -> None:
    files = contents(EXAMPLE / "clinic") | {"office": (EXAMPLE / "office/party.toml").read_bytes()}
    blocks = re.findall(r"```toml\n(.*?)```", TUTORIAL, re.DOTALL)
    assert [block.encode() for block in blocks] == [files["schema.toml"], files["office"]]
