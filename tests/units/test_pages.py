"""Report pages: sound markup, plain words, nothing loaded, the same bytes each time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import rows_of, save
from pages_at_hand import Page
from reticent import Policy, Release, __version__
from reticent.privacy import words
from reticent.tables import pages

ROOT = Path(__file__).parents[2]
UTILITY = {
    "classifier": "decision tree", "BE": 0.147, "AE": 0.165, "UE": 0.215, "majority": 0.246,
    "train": 30000, "test": 15000, "how": "Split once.",
}  # fmt: skip


def read(text: str) -> Page:
    """Parse a page, after what every page must be."""
    page = Page(text)
    text.encode("utf-8")
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "iframe", "img", "object"} & set(names)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(set(page.ids)) == len(page.ids)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert names.count("table") == names.count("caption")
    assert {"header", "main", "footer", "nav"} <= set(names)
    assert ("html", {"lang": "en"}) in page.tags
    for tag, given in page.tags:
        assert tag != "th" or given.get("scope") in ("row", "col")
        assert tag != "svg" or given.get("role") == "img"
        assert not [name for name in given if name.startswith("on")]
    return page


def released(table: pa.Table, **parts: Any) -> Release:
    return reticent.release(table, Policy.from_data(parts))


def both(found: Release) -> tuple[Page, Page]:
    return read(pages.public(found)), read(pages.private(found))


@pytest.fixture(scope="module")
def patients() -> Release:
    folder = ROOT / "examples/patients"
    return reticent.release(str(folder / "patients.csv"), folder / "policy.toml")


def test_the_public_page_says_it_in_plain_words(patients: Release) -> None:
    page = read(pages.public(patients))
    for sentence in (
        "34 records in 4 columns.",
        "Everybody shares Job and Sex with at least 3 others.",
        "In the released rows, 5 groups can be told apart; the smallest holds 4 records.",
        "Shown as 5 terms.",
        "reticent release DATA --policy policy.toml -o OUT/",
        "reticent verify public/ --policy policy.toml",
        f"with reticent {__version__}",
    ):
        assert sentence in page.text, sentence
    assert 'taxonomy = "job.csv"' in page.text


def test_the_private_page_says_why(patients: Release) -> None:
    page = read(pages.private(patients))
    for sentence in (
        "It stays with the owner of the data.",
        "Before masking, 7 records stood in groups too small.",
        "Lawyer F 1",
        "promise 2: a group of 10 would be left, and 11 are asked for",
        "Nothing to learn from Non_Technical",
        "Promise 1 ruled out nothing.",
    ):
        assert sentence in page.text, sentence


JOBS = ["Cook", "Clerk", "Boss", "Queen"]
RANKS: dict[str, Any] = {
    "mask": "generalize", "taxonomy": {"ANY": {"Low": JOBS[:2], "High": JOBS[2:]}},
}  # fmt: skip


def test_columns_that_tell_all_values_apart_are_not_called_masked() -> None:
    """Neither spelt out nor as intervals of one value each."""
    zips = ["80331", "80333", "80335", "80337"]
    ages = [20 + i // 4 for i in range(24)]
    parts: dict[str, Any] = {"anonymity": [{"over": ["Zip", "Age"], "k": 2}]}
    steps = {"Age": {"intervals": [0, 23, 120]}}
    for shown in (zips, ["Munich", "Ulm", "Bonn", "Trier"]):
        table = pa.table({"Zip": shown * 6, "Age": ages})
        _, private = both(released(table, **parts, attributes=steps))
        assert (
            "every promise holds, though Zip still tells all of its values apart." in private.text
        )
    _, private = both(released(pa.table({"Zip": zips * 3, "Age": range(12)}), **parts))
    assert "masked now" not in private.text


def test_the_policy_on_the_page_checks_the_release(tmp_path: Path) -> None:
    """Taxonomies end at the cut there, which is all that the verifier needs."""
    table = pa.table({"Job": JOBS * 10, "Sick": ["y", "n"] * 20})
    anonymity = [{"over": ["Job"], "k": 20}]
    policy = {"attributes": {"Job": RANKS}, "keep": ["Sick"], "anonymity": anonymity}
    reticent.release(table, policy, output=tmp_path / "out")
    text = (tmp_path / "out/public/report.html").read_text(encoding="utf-8")
    shown = re.search(r'class="policy"><code>(.*?)</code>', text, re.DOTALL)
    assert shown
    written = shown[1].replace("&#34;", '"').replace("&amp;", "&")
    assert "Low" in written
    for hidden in JOBS:
        assert hidden not in text
    again = Policy.parse(written)
    assert reticent.verify(tmp_path / "out", again).holds
    (tmp_path / "out/public/report.html").write_text(text + " ", encoding="utf-8")
    assert not reticent.verify(tmp_path / "out", again).holds  # the manifest knows the page, too


def test_options_that_mattered_are_told(tmp_path: Path) -> None:
    from reticent.files.tabular import Reading

    path = tmp_path / "data.csv"
    path.write_text("A;B\n" + "1,5;x\n2,5;y\n" * 5, encoding="utf-8")
    policy = Policy.from_data({"keep": ["B"], "anonymity": [{"over": ["A"], "k": 2}]})
    reading = Reading(delimiter=";", decimal=",")
    found = reticent.release(str(path), policy, reading=reading, max_steps=0)
    assert found.stopped_early
    said = read(pages.public(found)).text
    assert "-o OUT/ --delimiter ';' --decimal , --max-steps 0" in said
    assert "more could have been revealed" in said
    whole = reticent.release(str(path), policy, reading=reading, max_steps=99)
    assert "--max-steps" not in pages.public(whole)


@pytest.mark.parametrize(
    ("utility", "said"),
    [
        (None, "was not measured: nobody asked for it"),
        ({"reason": "too few records"}, "was not measured: too few records"),
        (UTILITY, "16.5 % of unseen records wrong; learning from the table as it was, 14.7 %"),
        (UTILITY, "either number may be off by about 0.6 points"),
        ({"AE": 0.2}, "20.0 % of unseen records wrong"),
        ({**UTILITY, "UE": 0.1}, "16.5 %"),
    ],
)
def test_usefulness(patients: Release, utility: dict[str, Any] | None, said: str) -> None:
    page = read(pages.public(replace(patients, utility=utility)))
    assert said in page.text


@pytest.mark.parametrize(
    ("cells", "k", "said"),
    [
        (["x", "y"] * 4, 2, "the policy names no class to predict"),
        (["x"], 1, "1 record in 1 column."),
    ],
)
def test_small_tables(cells: list[str], k: int, said: str) -> None:
    public, _ = both(released(pa.table({"A": cells}), anonymity=[{"over": ["A"], "k": k}]))
    assert said in public.text


def test_two_hundred_columns() -> None:
    names = [f"c{i}" for i in range(200)]
    table = pa.table({name: ["x", "y"] * 10 for name in names})
    each = [{"over": [name], "k": 5} for name in names]
    both(released(table, anonymity=each, goal={"search": "greedy"}))


@pytest.mark.parametrize(
    "label",
    ["<script>alert(1)</script>", "Größe & Länge", '"><img src=x>', "x" * 3000, "{{ 7 * 7 }}", "a\x00b"],
)  # fmt: skip
def test_hostile_names_and_values(label: str) -> None:
    table = pa.table({label: [label, "y"] * 10, "S": [label, "n"] * 10})
    found = released(
        table,
        anonymity=[{"over": [label], "k": 5}],
        confidence=[{"over": [label], "sensitive": {"S": [label]}, "at_most": 1}],
        marker=label + "*",
    )
    for page in both(found):
        assert label.replace("\x00", "\ufffd")[:2000] in "".join(page.words)
        assert "49" not in page.text


def test_missing_values_dates_and_intervals() -> None:
    table = pa.table(
        {
            "Born": ["1980-01-02", "1990-05-05", None, "1970-01-01"] * 10,
            "Pay": [1.5, 2.5, 100.0, 7.0] * 10,
            "Job": ["a", None, "b", "c"] * 10,
        }
    )
    pay = {"mask": "discretize", "intervals": [0, 5, 50, 200]}
    asked = [{"over": [name], "k": k} for name, k in (("Born", 5), ("Pay", 5), ("Job", 11))]
    found = released(
        table, attributes={"Born": {"mask": "discretize"}, "Pay": pay}, anonymity=asked
    )
    public, private = both(found)
    assert "missing" in public.text
    assert "Shown as 3 intervals." in public.text
    assert "Ruled out" in private.text


@pytest.mark.slow
def test_long_lists_are_cut_and_counted() -> None:
    table = pa.table({"A": [f"v{i:04}" for i in range(900) for _ in range(3 if i < 450 else 1)]})
    found = released(table, anonymity=[{"over": ["A"], "k": 3}])
    public, private = both(found)
    assert "251 more are listed in report.json." in public.text
    assert f"{len(found.steps) - 200} more steps are in trace.jsonl." in private.text
    assert f"The first 200 of {len(found.limits)} refinements of A ruled out" in private.text
    assert f"{len(found.limits) - 200} more are in stopped.jsonl." in private.text


def test_what_was_ruled_out_is_kept_whole(tmp_path: Path, patients: Release) -> None:
    folder = ROOT / "examples/patients"
    reticent.release(str(folder / "patients.csv"), folder / "policy.toml", output=tmp_path / "out")
    text = (tmp_path / "out/private/stopped.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    assert records[0] == {
        "attribute": "Sex",
        "value": "ANY_Sex",
        "into": ["M", "F"],
        "after_step": 1,
        "stopped_by": [{"template": 2, "value": 4, "asked": 11}],
    }
    assert len(records) == len(patients.limits) == 3


def test_what_became_of_every_value(patients: Release) -> None:
    fates = [
        {
            fate: [patients.limits.label(slot) for slot in slots.tolist()]
            for fate, slots in one.items()
        }
        for one in map(patients.limits.fates, range(3))
    ]
    assert fates == [
        {
            "revealed": ["Carpenter", "Electrician", "Manager"],
            "stopped": [],
            "idle": ["Non_Technical", "Professional"],
            "open": [],
        },
        {"revealed": [], "stopped": ["ANY_Sex"], "idle": [], "open": []},
        {"revealed": [], "stopped": ["[0,37)", "[37,120]"], "idle": [], "open": []},
    ]


def test_what_could_go_on_is_open() -> None:
    policy = Policy.from_data({"anonymity": [{"over": ["A"], "k": 2}]})
    found = reticent.release(pa.table({"A": ["x", "y"] * 3}), policy, max_steps=0)
    assert {fate: len(slots) for fate, slots in found.limits.fates(0).items()} == {
        "revealed": 0, "stopped": 0, "idle": 0, "open": 2,
    }  # fmt: skip


def test_values_below_the_cut_are_not_on_the_public_page() -> None:
    table = pa.table({"Job": JOBS * 5, "Town": ["Rome", "Bonn"] * 10})
    towns = {"mask": "generalize", "taxonomy": {"World": ["Rome", "Bonn"]}}
    found = released(
        table, attributes={"Job": RANKS, "Town": towns}, anonymity=[{"over": ["Job"], "k": 10}],
        drop=["Town"],
    )  # fmt: skip
    page = pages.public(found)
    assert "Low" in page
    assert "World" in page
    assert not [name for name in (*JOBS, "Rome", "Bonn") if name in page]


def test_row_order_does_not_show(tmp_path: Path) -> None:
    folder = ROOT / "examples/bank_customers"
    head, *rows = rows_of(folder / "customers.csv")
    made = []
    for some in (rows, rows[::-1]):
        save(tmp_path / "data.csv", head, some)
        found = reticent.release(tmp_path / "data.csv", folder / "policy.toml")
        made.append(pages.public(found))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("kind", "parts", "said"),
    [
        ("anonymity", {"over": ["A"], "k": 1}, "Groups of equal A may be of any size."),
        ("anonymity", {"over": ["A"], "k": 2}, "Everybody shares A with at least 1 other."),
        (
            "anonymity",
            {"over": ["A", "B"], "k": 1000, "of": ["Id"]},
            "Knowing A and B leaves at least 1,000 different Id.",
        ),
        (
            "confidence",
            {"over": ["A"], "sensitive": {"S": ["x", "y", "z", "u"]}, "at_most": 0.5},
            "Nobody who knows A can be more than 50 % sure that S is “x”, “y”, “z” or one of 1 more.",
        ),
        (
            "confidence",
            {"over": ["A"], "sensitive": {"S": "*", "T": ["t"]}, "at_most": "1/3"},
            "Nobody who knows A can be more than 33.33 % (1/3) sure of anybody’s S or that T is “t”.",
        ),
    ],
)
def test_promises_in_words(kind: str, parts: dict[str, Any], said: str) -> None:
    [promise] = Policy.from_data({kind: [parts]}).promises
    assert promise.plain_words == said


def test_what_cannot_be_counted_is_said() -> None:
    [promise] = Policy.from_data({"anonymity": [{"over": ["A"], "k": 2}]}).promises
    assert "could not be counted" in promise.counted(None, 0)
    assert words.measured(None) == "not measured"
    assert words.measured(Fraction(1, 7)) == "14.29 % (1/7)"


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_apart() -> None:
    """Charts too, whose text browsers' checkers do not look at: light, dark and on paper."""
    css = (ROOT / "src/reticent/pages/style.css").read_text(encoding="utf-8")
    palettes = [
        dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in css.split(":root {")[1:]
    ]
    assert len(palettes) == 3
    for colours in palettes:
        for ground in ("paper", "sheet", "faint"):
            for text in ("ink", "quiet", "accent"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground, colours)
        for ground in ("accent", "accent-2"):
            assert contrast(colours["on-accent"], colours[ground]) >= 4.5
        for shape in ("accent", "accent-2", "plain"):
            assert contrast(colours[shape], colours["paper"]) >= 3


@pytest.mark.slow
def test_the_wheel_holds_the_templates(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("no wheel can be built here")
    [wheel] = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = [*(ROOT / "src").rglob("*.html"), *(ROOT / "src").rglob("*.css")]
    wanted = {str(path.relative_to(ROOT / "src")) for path in files}
    assert len(wanted) >= 10
    assert wanted <= inside
