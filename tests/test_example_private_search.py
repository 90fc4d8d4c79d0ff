"""The tutorial of private search, played."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from terminal import ROOT, replay, shown

TUTORIAL = (ROOT / "docs/tutorials/private-search.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("work")
def test_the_tutorial_shows_real_output() -> None:
    told = replay(shown(TUTORIAL))
    assert told == {"sample": 1, "profile": 5, "search": 4}
    leaves = json.loads(Path("exposed.json").read_text(encoding="utf-8"))
    terms = {term for label, _ in leaves["terms"] for term in label.split("/")}
    assert "knee" not in terms
    [code] = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    made: dict[str, Any] = {}
    exec(code, made)
    assert made["exposed"].data() == leaves
    assert made["places"][1] == "sample/library/tidal-current.md"
