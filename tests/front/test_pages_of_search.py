"""The pages of private search in a real browser, the served one behind its guards.

Needs what `test_pages` needs, and is skipped where that is not there.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from front.test_pages import CHROMIUM, DARK, LIGHT, OPTIONS, look, needs_axe, needs_chromium
from reticent.search.engines import FoundPage
from reticent.search.exposing import expose
from reticent.search.pages import profile_page
from reticent.search.profile import Profile, ProfileNode
from reticent.search.served import AskedEngine, ServedSearch, _files
from serving_at_hand import served

pytestmark = pytest.mark.net


class Nothing:
    """An engine that finds nothing."""

    language: str | None = "none"

    def ask(self, query: str, top: int) -> Sequence[FoundPage]:
        return []


def profile() -> Profile:
    words = ["gardening", "prescription/doctor", "a" * 60, "sailing", *(f"t{i}" for i in range(80))]
    nodes = tuple(
        ProfileNode(tuple(reversed(word.split("/"))), Fraction(300, i + 2))
        for i, word in enumerate(words)
    )
    return Profile(2000, nodes, "none", 20, 5, Fraction(3, 5))


def desk() -> ServedSearch:
    far = AskedEngine(Nothing(), "a.rather.long.name.of.a.search.engine.example:8443")
    return ServedSearch([far, AskedEngine(Nothing())], profile=profile())


def written(name: str) -> str:
    """A page as one file; of the served one, what stands in it before its script runs."""
    if name == "profile":
        return profile_page(profile(), expose(profile(), ratio="0.5", hide=["sailing"]))
    style = _files()["style.css"][1].decode()
    text = desk().page("x").replace(" hidden", "")
    text = text.replace('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>")
    text = re.sub("<script.*?</script>|<noscript>.*?</noscript>", "", text)
    chips = "".join(f'<li><button type="button">{"word " * n}</button></li>' for n in range(1, 30))
    return text.replace('told-title"></ul>', f'told-title">{chips}</ul>')


@needs_chromium
@needs_axe
@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["profile", "search"])
def test_accessible(name: str, scheme: str, tmp_path: Path) -> None:
    seen = look(written(name), tmp_path, scheme=scheme, axe=True)
    assert seen["violations"] == []
    assert seen["dark"] == (scheme == DARK)


@needs_chromium
@pytest.mark.parametrize("name", ["profile", "search"])
def test_on_a_phone_the_page_itself_does_not_scroll_sideways(name: str, tmp_path: Path) -> None:
    seen = look(written(name), tmp_path, wide=390)
    assert (seen["room"], seen["wide"]) == (390, 390)


@needs_chromium
def test_a_browser_comes_in_and_its_script_may_run(tmp_path: Path) -> None:
    """Token, cookie, policy and the second secret, as a real browser sees them."""
    assert CHROMIUM is not None
    begin = time.monotonic()
    with served(desk().app()) as server:
        done = subprocess.run(
            [CHROMIUM, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", server.url],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        without = subprocess.run(
            [CHROMIUM, *OPTIONS, f"--user-data-dir={tmp_path / 'other'}", server.origin + server.gate.inside],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert "interests would be told" in done.stdout, done.stderr[-2000:]
    assert server.gate.token not in done.stdout
    assert "with its token" in without.stdout
    assert "interests would be told" not in without.stdout
    assert time.monotonic() - begin < 100
