"""Files that are no TOML: what is wrong, on which line, and what to write instead."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from at_hand import SECRET, file_of, refusal
from reticent import Policy
from reticent.errors import InputError
from reticent.files.delimited import Reading, read_csv
from reticent.releases.policyfile import parsed

MISTAKES = {
    "k = ten": ("line 3: `k = ten` is no TOML value", "a whole number, as  k = 10"),
    "k = 10%": ("line 3: `k = 10%`", "0.1 for 10 %"),
    "k = 007": ("line 3: `k = 007`", "a whole number"),
    "at_most = 0,2": ("line 3: `at_most = 0,2` is no TOML value", "write 0.2, with a point"),
    "at_most = half": ("line 3: `at_most = half`", 'at_most = 0.2  or  at_most = "1/5"'),
    "h = 0,25  # a quarter": ("line 3: `h = 0,25`", "write 0.25, with a point"),
    "range = [0 120]": ("line 3: the list of `range` lacks a comma", "with commas"),
    "class = Outcome": ("line 3: `class = Outcome`", 'as  class = "Outcome"'),
    "class = the outcome": ("line 3: the value of `class`", 'as  class = "…"'),
    "trim = True": ("line 3: `trim = True`", "write  true  or  false"),
    "trim = yes": ("line 3: `trim = yes`", "write  true  or  false"),
    "over = [Age, Job]": ("line 3: the value of `over`", "put every text in quotes"),
    'over = ["Age", "Job"\nk = 3': ("line 3: the list of `over` is not closed", "[0, 120]"),
    'over = [\n"Age"\n"Job",\n]': ("line 3: the list of `over` is not closed, or lacks a", "both"),
    'sensitive = { Test = ["x"]\nk = 3': ("line 3: the table of `sensitive` is not closed", "}"),
    "[[anonymity]\nk = 3": ("line 3: the name of a section is not closed", "[[anonymity]]"),
    "[goal\nk = 3": ("line 3: the name of a section is not closed", "write  [goal]"),
    "k = 3\nk = 4": ("line 4: the key `k` is there already, on line 3", "leave one"),
    "[goal]\nx = 1\n[goal]": (
        "line 5: the section [goal] is there already, on line 3",
        "one section",
    ),
    "goal = 3\n[goal]": ("line 4: [goal] is written in another way above", "one way"),
    'class = "Outcome\nk = 3': ("line 3: a text has no quote at its end", 'as in  "Age"'),
    "class = 'Outcome": ("line 3: a text has no quote at its end", "close it"),
    "class = “Outcome”": ("line 3: its quotes are curly ones", "straight ones"),
    "k: 3": ("line 3: a key and its value have no =", "no colon"),
    "k 3": ("line 3: a key and its value have no =", "key = value"),
    "k =": ("line 3: `k` has no value", "leave the line out"),
    "= 3": ("line 3: this is no TOML", "key = value,  [section]"),
    'path = "C:\\data\\old"': ("line 3: a backslash", "single quotes"),
    'path = "C:\\Users\\me"': ("line 3: a backslash", "single quotes"),
    'class = "a\x01b"': ("line 3: there is a character that cannot be seen", "anew"),
    "k = 3\0": ("line 3: there are zero bytes in it", "save it as UTF-8"),
    "# \0": ("line 3: there are zero bytes in it", "save it as UTF-8"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
def test_a_mistake_is_told_with_its_line_and_remedy(mistake: str, ends: str) -> None:
    text = f'# a policy\nkeep = "*"\n{mistake}'.replace("\n", ends or "\n") + ends
    told = refusal(lambda: parsed(text, "p.toml")).text()
    for part in MISTAKES[mistake]:
        assert part in told
    assert told.startswith("p.toml, line ")
    assert "(at " not in told


def test_a_tab_is_no_mistake() -> None:
    assert parsed("\tk\t=\t3\n[a]\n\tb = 'x\ty'\n", "p") == {"k": 3, "a": {"b": "x\ty"}}


@pytest.mark.parametrize(
    "text",
    [
        f"sensitive = {{ Test = [{SECRET}] }}",
        f'sensitive = {{ Test = ["{SECRET}" "a"] }}',
        f"[[confidence]]\nsensitive.Test = [{SECRET}]",
        f"[attributes.Job]\nmask = {SECRET}",
        f"[attributes.Job]\nclass = {SECRET}",
        f"[attributes.Age]\nintervals = [{SECRET}, 3]",
        f"[attributes.Job]\ntaxonomy = {{ ANY = [{SECRET}] }}",
        f'private = [\n["{SECRET}"\nk = 3',
        f'private = ["{SECRET}]\nk = 3',
        f"private = {SECRET}",
        f"missing_values = {SECRET}",
        f'a = 1\na = [\n["{SECRET}"]]',
    ],
)
def test_what_may_be_a_value_is_not_told(text: str) -> None:
    assert "line" in refusal(lambda: parsed(text, "p.toml")).text()


def test_however_a_policy_is_spoilt_it_is_told_in_our_words() -> None:
    text = Policy.from_data(
        {
            "class": "Outcome",
            "keep": ["Ward"],
            "attributes": {"Age": {"mask": "discretize", "range": [0, 120]}},
            "anonymity": [{"over": ["Age", "Job"], "k": 4}],
            "confidence": [{"over": ["Job"], "sensitive": {"Test": ["HIV"]}, "at_most": "0.2"}],
        }
    ).canonical()
    rng, refused = random.Random(2), 0
    for _ in range(3000):
        at = rng.randrange(len(text))
        spoilt = text[:at] + rng.choice(["", "[", "]", '"', "'", "=", "\n", ",", "\\", "#", "\x02"])
        spoilt += text[at + rng.randrange(3) :]
        try:
            parsed(spoilt, "p.toml")
        except InputError as error:
            refused += 1
            [problem] = error.problems
            assert problem.where.startswith("p.toml, line ")
            assert problem.do
            assert "HIV" not in problem.text()
    assert refused > 500


def test_zero_bytes_in_the_header_of_a_table_tell_of_another_encoding(tmp_path: Path) -> None:
    path = file_of(tmp_path, "Age,Job\n1,a\n".encode("utf-16-le"))
    told = refusal(lambda: read_csv(path, Reading(), [])).text()
    assert f"{path}, line 1: there are zero bytes in it" in told
    assert "utf-16-le" in told
    table = read_csv(path, Reading(encoding="utf-16-le"), [])
    assert table.column_names == ["Age", "Job"]
    cell = read_csv(file_of(tmp_path, "Age,Job\n1,a\0b\n"), Reading(), [])
    assert cell.column("Job").to_pylist() == ["a\0b"]  # cells are taken as they are
