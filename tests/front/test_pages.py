"""Report pages in a real browser: accessible, in light and dark, on a phone and on paper.

Needs Chromium on the path and axe-core: `make browser-tools` fetches it, or RETICENT_AXE names its
axe.min.js. Without them these tests are skipped.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reticent
from reticent import entries
from reticent.entries import pages as entry_pages
from reticent.sample import make_sample
from reticent.tables import pages
from reticent.tables.sweep_page import page_of

pytestmark = pytest.mark.net

ROOT = Path(__file__).parents[2]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
AXE = next(
    (
        path
        for path in (
            Path(os.environ.get("RETICENT_AXE", "/nowhere")),
            ROOT / ".venv/browser/node_modules/axe-core/axe.min.js",
            ROOT / "node_modules/axe-core/axe.min.js",
        )
        if path.is_file()
    ),
    None,
)
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--virtual-time-budget=20000", "--dump-dom",
]  # fmt: skip
LONG = "Straßenverkehrsunfallgeschädigtenversicherungsprüfziffernfeld"  # no blank in it
LIGHT, DARK = "preferredColorScheme=1", "preferredColorScheme=0"
LOOK = """
<script>
const told = facts => {
  const note = document.createElement("pre");
  note.id = "found";
  note.textContent = JSON.stringify(facts);
  document.body.append(note);
};
document.querySelectorAll("details").forEach(one => { if (OPEN) one.open = true; });
const hidden = [...document.querySelectorAll("table")].filter(t => t.checkVisibility() === false);
const facts = {
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  wide: document.documentElement.scrollWidth, room: innerWidth, hidden: hidden.length,
  letters: Math.min(99, ...[...document.querySelectorAll("svg text")]
    .filter(t => t.checkVisibility()).map(t => t.getBoundingClientRect().height)),
  scrolled: [...document.querySelectorAll('[aria-label^="Chart"]')]
    .filter(box => box.scrollWidth > box.clientWidth + 1).length,
};
AXE ? axe.run().then(found => told({...facts, violations: found.violations.map(
  v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])})) : told(facts);
</script>
"""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on the path")
needs_axe = pytest.mark.skipif(AXE is None, reason="axe-core is not here: make browser-tools")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Pages of a small table and of one with wide charts and long lists."""
    folder = ROOT / "examples/patients"
    small = reticent.release(str(folder / "patients.csv"), folder / "policy.toml")
    place = tmp_path_factory.mktemp("pages") / "people"
    make_sample("census", 3000, 1, output=str(place))
    large = reticent.release(str(place / "census.csv"), place / "policy.toml")
    evaluated = place / "evaluated.html"
    reticent.evaluate(
        str(place / "census.csv"), large.table, place / "policy.toml", output=evaluated
    )
    utility = {"classifier": "decision tree", "BE": 0.15, "AE": 0.16, "UE": 0.2, "majority": 0.25}
    large = replace(large, utility=utility)
    swept = reticent.sweep(
        str(place / "census.csv"), place / "policy.toml", k=[5, 20, 9000], output=place / "sweep",
        classifiers=["tree", "bayes", "boosting", "regression"],
    )  # fmt: skip
    hidden = entries.release(
        str(place / "census.csv"),
        {"conditions": ["Sex", "Education", "Occupation", "Income"], "sensitive": "Marital",
         "requests": list(range(1, 200)), "publish": [(300, "Marital")], "drop": ["Name"],
         "keep": "*", "min_support": 5, "min_confidence": "1/3"},
    )  # fmt: skip
    hidden = replace(hidden, utility=utility)
    assert len(hidden.before.exposed) > 20
    many = place.parent / "many.csv"
    names = [LONG, *(f"q{i}" for i in range(1, 120))]
    rows = ["".join(str((r * i) % 3 + 10 ** (i % 7)) + "," for i in range(119)) for r in range(60)]
    many.write_text("\n".join([",".join(names), *(f"{row}{r % 2}" for r, row in enumerate(rows))]))
    policy = {
        "anonymity": [{"over": names[:100], "k": 3}], "keep": "*",
        "about": {"title": LONG, "owner": LONG, "purpose": LONG, "contact": f"{LONG}@clinic.example"},
    }  # fmt: skip
    many_columns = reticent.release(str(many), policy)
    return {
        "sweep": page_of(swept),
        "evaluated": evaluated.read_text(encoding="utf-8"),
        "entries-public": entry_pages.public(hidden),
        "entries-private": entry_pages.private(hidden),
    } | {
        f"{name}-{side}": page(found)
        for name, found in (("small", small), ("large", large), ("many", many_columns))
        for side, page in (("public", pages.public), ("private", pages.private))
    }


def look(
    page: str, folder: Path, *, scheme: str = LIGHT, wide: int = 1200, axe: bool = False,
    details: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Open a page in a fresh browser, in a frame of some width, and bring back what it saw."""
    assert CHROMIUM is not None
    script = LOOK.replace("OPEN", str(details).lower()).replace("AXE", str(axe).lower())
    if axe:
        assert AXE is not None
        script = f"<script>{AXE.read_text(encoding='utf-8')}</script>{script}"
    page = re.sub(r"<meta http-equiv[^>]*>", "", page)  # which forbids scripts, ours too
    path = folder / "page.html"
    path.write_text(page.replace("</body>", f"{script}</body>"), encoding="utf-8")
    framed = folder / "frame.html"
    framed.write_text(
        f'<!doctype html><iframe src="page.html" style="border:0;width:{wide}px;height:900px"></iframe>'
        "<script>onload = () => { const wait = setInterval(() => { const found = document"
        '.querySelector("iframe").contentDocument.getElementById("found"); if (found) {'
        "clearInterval(wait); document.body.append(found); } }, 50); };</script>",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            CHROMIUM, *OPTIONS, "--allow-file-access-from-files", f"--blink-settings={scheme}",
            f"--user-data-dir={folder / 'profile'}", "--window-size=1300,1000", framed.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    return seen


PAGES = [
    "small-public", "small-private", "large-public", "large-private", "sweep", "evaluated", "entries-public",
    "entries-private", "many-public", "many-private",
]  # fmt: skip


@needs_chromium
@needs_axe
@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_accessible(name: str, scheme: str, made: dict[str, str], tmp_path: Path) -> None:
    seen = look(made[name], tmp_path, scheme=scheme, axe=True)
    assert seen["violations"] == []
    assert seen["dark"] == (scheme == DARK)


@needs_chromium
@needs_axe
def test_axe_does_find_faults(made: dict[str, str], tmp_path: Path) -> None:
    spoilt = (
        made["small-public"].replace('lang="en"', "").replace("--quiet: #585f66", "--quiet: #ccc")
    )
    found = {violation[0] for violation in look(spoilt, tmp_path, axe=True)["violations"]}
    assert found == {"html-has-lang", "color-contrast"}


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_nothing_but_tables_scrolls_sideways(
    name: str, made: dict[str, str], tmp_path: Path
) -> None:
    seen = look(made[name], tmp_path, wide=390)
    assert (seen["room"], seen["wide"]) == (390, 390)
    assert seen["letters"] >= 12
    assert seen["scrolled"] == 0


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_on_paper_everything_is_there_and_fits(
    name: str, made: dict[str, str], tmp_path: Path
) -> None:
    closed = made[name].replace("<details open>", "<details>")
    seen = look(closed, tmp_path, wide=672, details=False)
    assert (seen["hidden"] > 0) == ("<details>" in closed)  # on a screen they are folded away
    printed = closed.replace("@media print", "@media all")
    seen = look(printed, tmp_path, wide=672, details=False)  # A4 between its margins
    assert seen["hidden"] == 0
    assert seen["wide"] == seen["room"]
