"""Taxonomies: what is read, what is refused and what the makers make."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from at_hand import file_of, public_data, refusal
from reticent.data.taxonomy import Taxonomy, from_nested, from_rows, render
from reticent.data.taxonomy_making import (
    by_bins,
    by_date,
    by_equal,
    by_prefix,
    by_width,
    skeleton,
)
from reticent.errors import InputError
from reticent.files.taxonomies import load, save, save_rows

JOBS = {"ANY": {"Blue": ["Janitor", "Mover"], "White": {"Manager": {}, "Clerk": {}}}}
JOB_LABELS = ("ANY", "Blue", "Janitor", "Mover", "White", "Manager", "Clerk")
JOB_CSV = "Janitor,Blue,ANY\nMover,Blue,ANY\nManager,White,ANY\nClerk,White,ANY\n"


def complaints(folder: Path, content: str | bytes, name: str = "job.csv") -> list[tuple[str, str]]:
    """What is said about a file: (place after the file's name, text)."""
    path = file_of(folder, content, name)
    error = refusal(lambda: load(path))
    assert all(problem.where.startswith(str(path)) for problem in error.problems)
    assert not any(problem.values for problem in error.problems)
    return [(p.where.removeprefix(str(path)).strip(", "), p.what) for p in error.problems]


# The tree itself


def test_numbers_nodes_in_pre_order() -> None:
    jobs = from_nested(JOBS, "test")
    assert jobs.labels == JOB_LABELS
    assert jobs.parents == (-1, 0, 1, 1, 0, 4, 4)
    assert jobs.leaves == (2, 3, 5, 6)
    assert [jobs.children(node) for node in range(7)] == [(1, 4), (2, 3), (), (), (5, 6), (), ()]
    assert [jobs.depth(node) for node in range(7)] == [0, 1, 2, 2, 1, 2, 2]
    assert jobs.leaf_of == {"Janitor": 2, "Mover": 3, "Manager": 5, "Clerk": 6}
    assert jobs.node_of == {label: node for node, label in enumerate(JOB_LABELS)}


def test_is_a_value() -> None:
    one, other = from_nested(JOBS, "one"), from_nested(JOBS, "other")
    assert one == other
    assert hash(one) == hash(other)
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one
    assert copy.children(0) == (1, 4)


@pytest.mark.parametrize(
    ("labels", "parents"),
    [
        ((), ()),
        (("a",), ()),
        (("a",), (-1, 0)),
        (("a",), (0,)),
        (("a", "b"), (-1, -1)),  # two roots
        (("a", "b"), (-1, 1)),  # its own parent
        (("a", "b", "c"), (-1, 2, 1)),  # a cycle
        (("a", "b", "c", "d"), (-1, 0, 0, 1)),  # a tree, but not in pre-order
        (("a", "b", "a"), (-1, 0, 0)),
        (("a", ""), (-1, 0)),
        (("a", "\ud800"), (-1, 0)),
    ],
)
def test_invalid_tree_cannot_exist(labels: tuple[str, ...], parents: tuple[int, ...]) -> None:
    refusal(lambda: Taxonomy(labels, parents))


# Reading rows


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ("b|Y|* c|X|* a|Y|*", "b|Y|* a|Y|* c|X|*"),
        ("a|X|* b|*| || |", "a|X|* b|*"),
        ("A|A|* b|B|B|*|* A|*", "A|* b|B|*"),
    ],
    ids=["children in order of appearance", "depths and empty cells", "neighbouring repetition"],
)
def test_rows(rows: str, read: str) -> None:
    tree = from_rows([row.split("|") for row in rows.split(" ")], "test")
    assert " ".join("|".join(row) for row in tree.rows()) == read


def test_root_may_be_the_only_leaf(tmp_path: Path) -> None:
    for tree in (
        from_rows([["ALL"]], "test"),
        from_nested({"ALL": {}}, "test"),
        from_nested({"ALL": ["ALL"]}, "test"),
        load(file_of(tmp_path, "ALL")),
    ):
        assert tree == Taxonomy(("ALL",), (-1,))
        assert tree.leaves == (0,)


def test_from_rows_counts_rows() -> None:
    error = refusal(lambda: from_rows([["a", "*"], ["b", "", "*"]], "inline"))
    assert [problem.where for problem in error.problems] == ["inline, row 2"]


# Reading files


@pytest.mark.parametrize("name", ["job.csv", "JOB.CSV"])
@pytest.mark.parametrize(
    "content",
    [
        JOB_CSV, JOB_CSV.replace(",", ";"), JOB_CSV.replace("\n", "\r\n"), JOB_CSV.rstrip("\n"),
        "\n\n" + JOB_CSV.replace("\n", "\n\n"), JOB_CSV.replace("\n", ",,\n") + ",,,,\n",
        b"\xef\xbb\xbf" + JOB_CSV.encode(), JOB_CSV.replace("Janitor", '"Janitor"'),
    ],
)  # fmt: skip
def test_csv_spellings(tmp_path: Path, content: str | bytes, name: str) -> None:
    assert load(file_of(tmp_path, content, name)).labels == JOB_LABELS


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = file_of(tmp_path, "Küche;Büro\nFlur;Büro\n".encode(encoding))
    assert load(path).labels == ("Büro", "Küche", "Flur")


def test_cells_are_verbatim(tmp_path: Path) -> None:
    tree = load(file_of(tmp_path, ' a ,X,*\n"b, ""c""\nd",X,*\n5" pipe,X,*\n'))
    assert [tree.labels[leaf] for leaf in tree.leaves] == [" a ", 'b, "c"\nd', '5" pipe']


@pytest.mark.parametrize(
    ("content", "first"),
    [
        ("17;[0,18);[0,120]\n70;[18,120];[0,120]\n", ("17", "[0,18)", "[0,120]")),
        ('17,"[0,18)","[0;120]"\n70,old,"[0;120]"\n', ("17", "[0,18)", "[0;120]")),
        ("flu; acute,Lung,ANY\ncold,Lung,ANY\n", ("flu; acute", "Lung", "ANY")),
        ("a,X,any; all\nb,Y,any; all\n", ("a", "X", "any; all")),
        ("a;X;any, all\nb;Y;any, all\n", ("a", "X", "any, all")),
        ('a,"any; all"\nb,"any; all"\n', ("a", "any; all")),
        ('"a;b",X\n', ("a;b", "X")),
        ('"a;b"\n', ("a;b",)),
    ],
)
def test_separator_is_the_one_that_makes_a_tree(
    tmp_path: Path, content: str, first: tuple[str, ...]
) -> None:
    assert load(file_of(tmp_path, content)).rows()[0] == first


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("job.json", json.dumps(JOBS)),
        ("job.json", "\ufeff" + json.dumps(JOBS)),
        ("job.toml", '[ANY]\nBlue = ["Janitor", "Mover"]\nWhite = { Manager = {}, Clerk = [] }\n'),
        ("job.toml", '[ANY.Blue]\r\nJanitor={}\r\nMover={}\r\n[ANY]\r\nWhite=["Manager","Clerk"]'),
    ],
)
def test_nested_files(tmp_path: Path, name: str, content: str) -> None:
    assert load(file_of(tmp_path, content, name)).labels == JOB_LABELS


def test_numbers_in_lists_become_their_shortest_text() -> None:
    numbers = [1, 39.0, 0.5, -0.0, 1e16, 2**70]
    tree = from_nested({"*": {"X": numbers, "Y": (7,)}}, "test")
    texts = ["1", "39", "0.5", "0", "10000000000000000", "1180591620717411303424", "7"]
    assert [tree.labels[leaf] for leaf in tree.leaves] == texts


def test_leaf_listed_twice_under_one_parent_is_one_leaf() -> None:
    assert from_nested({"*": ["1", 1, 1.0]}, "test").labels == ("*", "1")


# Refusals: the shape; see also tests/cases/taxonomy


def test_many_cycles() -> None:
    rows = [row for n in range(5_000) for row in ([f"a{n}", f"b{n}", "*"], [f"b{n}", f"a{n}", "*"])]
    refusal(lambda: from_rows(rows, "test"))  # looking from every node again took minutes


def test_labels_that_would_spoil_a_message_are_escaped() -> None:
    error = refusal(lambda: from_rows([["\x1b[31m", "X", "*"], ["\x1b[31m", "Y", "*"]], "test"))
    assert "\x1b" not in error.text()


# Refusals: nested

CYCLE = ['a cycle: "B" above "A" above "B"']


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({}, ["there are no labels in it"]),
        ([], ["a taxonomy is a table with one key, its root"]),
        ("ANY", ["a taxonomy is a table with one key, its root"]),
        ({"A": {}, "B": {}}, ['there are 2 roots: "A", "B"']),
        ({"A": "b"}, ['there is neither a table nor a list under "A"']),
        ({"A": None}, ['there is neither a table nor a list under "A"']),
        ({"A": 3}, ['there is neither a table nor a list under "A"']),
        ({"": {}}, ["a label is empty"]),
        ({"A": {"": {}}}, ['a label under "A" is empty']),
        ({"A": ["", "b"]}, ['a label under "A" is empty']),
        ({"A": [True]}, ['a label under "A" is neither text nor a number']),
        ({"A": [None]}, ['a label under "A" is neither text nor a number']),
        ({"A": [float("nan")]}, ['a label under "A" is neither text nor a number']),
        ({"A": [float("inf")]}, ['a label under "A" is neither text nor a number']),
        ({"A": [{"b": {}}]}, ['a label under "A" is neither text nor a number']),
        ({"A": [["b"]]}, ['a label under "A" is neither text nor a number']),
        ({"*": {"X": ["a"], "Y": ["a"]}}, ['"a" has 2 parents: "X", "Y"']),
        (
            {"*": {"X": {"a": ["b"]}, "Y": ["a"]}},
            ['"a" has 2 parents: "X", "Y"', '"a" is both a leaf and a parent'],
        ),
        ({"A": {"B": ["A"]}}, CYCLE),
        ({"A": {"B": {"A": {}}}}, CYCLE),
        ({"*": {"A": ["A", "b"]}}, ['"A" is both a leaf and a parent']),
        (
            {"*": {"X": "x", "Y": [False], "Z": {"": {}}}},
            [
                'there is neither a table nor a list under "X"',
                'a label under "Y" is neither text nor a number',
                'a label under "Z" is empty',
            ],
        ),
    ],
)
def test_nested_refusals(tmp_path: Path, tree: dict[str, object], said: list[str]) -> None:
    error = refusal(lambda: from_nested(tree, "policy.toml"))
    assert {problem.where for problem in error.problems} == {"policy.toml"}
    assert [problem.what for problem in error.problems] == said
    refusal(lambda: load(file_of(tmp_path, json.dumps(tree), "tree.json")))


# Refusals: the file


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.json", '{"ANY": [' + "9" * 5000 + "]}"), ("t.toml", "ANY = [" + "9" * 5000 + "]\n")],
)
def test_numbers_too_long_to_be_read(tmp_path: Path, name: str, content: str) -> None:
    [(where, what)] = complaints(tmp_path, content, name)
    assert where == "line 1"
    assert what.startswith("this is not ")


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert complaints(tmp_path, JOB_CSV) == [("", "cannot be read: Permission denied")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.json", '{"a":' * 100_000 + "{}" + "}" * 100_000),
        ("t.toml", "a = " + "{a = " * 5_000 + "{}" + "}" * 5_000),
    ],
)
def test_nesting_that_the_parsers_cannot_follow(tmp_path: Path, name: str, content: str) -> None:
    assert complaints(tmp_path, content, name) == [("", "the tables are nested too deeply")]


# Writing and drawing


def test_save_writes_plain_csv_where_an_old_file_stood(tmp_path: Path) -> None:
    file_of(tmp_path, "old", "job.csv")
    save(from_nested(JOBS, "test"), tmp_path / "job.csv")
    assert (tmp_path / "job.csv").read_bytes() == JOB_CSV.encode()
    assert os.listdir(tmp_path) == ["job.csv"]


def test_save_quotes_only_what_needs_it(tmp_path: Path) -> None:
    rows = [["17", "[0,18)", "*"], ["a;b", "x", "*"], ['"', "x", "*"], [" s\r", "*"]]
    save(from_rows(rows, "test"), tmp_path / "t.csv")
    expected = '17,"[0,18)",*\n"a;b","x","*"\n"""",x,*\n" s\r",*\n'
    assert (tmp_path / "t.csv").read_bytes().decode() == expected


def test_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = file_of(tmp_path, "old", "job.csv")
    monkeypatch.setattr(os, "fsync", full)
    [problem] = refusal(lambda: save(from_nested(JOBS, "test"), path)).problems
    assert problem.what == "cannot write it: No space left on device"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["job.csv"]


def test_save_refuses_places_it_cannot_write(tmp_path: Path) -> None:
    jobs = from_nested(JOBS, "test")
    (tmp_path / "folder.csv").mkdir()
    file_of(tmp_path, "", "file")
    for name in ("none/job.csv", "folder.csv", "file/job.csv", "job.toml"):
        refusal(lambda name=name: save(jobs, tmp_path / name))  # type: ignore[misc]
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


def test_render() -> None:
    drawing = (
        "ANY\n├── Blue\n│   ├── Janitor\n│   └── Mover\n└── White\n    ├── Manager\n    └── Clerk"
    )
    jobs = from_nested(JOBS, "test")
    assert render(jobs) == drawing
    assert render(jobs, most=7) == drawing
    assert render(jobs, most=3) == "ANY\n├── Blue\n│   ├── Janitor\n… and 4 more labels"
    assert render(jobs, most=0) == "… and 7 more labels"
    assert render(Taxonomy(("*",), (-1,))) == "*"


def test_render_escapes_control_characters() -> None:
    assert render(from_rows([["a\nb", "\x1b[2J"]], "test")) == "'\\x1b[2J'\n└── 'a\\nb'"


# Round trips

labels = st.text(min_size=1, max_size=6) | st.text('ab,;"\r\n\ufeff *', min_size=1, max_size=4)


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Leaf-to-root rows of a tree with any labels, in pre-order."""
    names = draw(st.lists(labels, min_size=1, max_size=12, unique=True))
    paths: list[tuple[str, ...]] = [(names[0],)]
    for name in names[1:]:
        paths.append((name, *draw(st.sampled_from(paths))))
    inner = {label for path in paths for label in path[1:]}
    return [path for path in paths if path[0] not in inner]


@given(trees())
@example([("a", "x;y")])
@example([("a;b",)])
@example([("\ufeffa", "*")])
@example([("a\r", "\n")])
@example([("a", '";"'), ('b"', '";"')])
def test_rows_survive_saving(rows: list[tuple[str, ...]]) -> None:
    tree = from_rows(rows, "test")
    assert sorted(tree.rows()) == sorted(rows)
    assert from_rows(tree.rows(), "test") == tree
    with TemporaryDirectory() as folder:
        save(tree, Path(folder) / "t.csv")
        assert load(Path(folder) / "t.csv", unfinished=True) == tree


@given(trees())
def test_nested_survives(rows: list[tuple[str, ...]]) -> None:
    tree = from_rows(rows, "test")
    assert from_nested(tree.nested(), "test") == tree
    with TemporaryDirectory() as folder:
        path = file_of(Path(folder), json.dumps(tree.nested()), "t.json")
        assert load(path) == tree


@given(trees(), st.integers(0, 15))
def test_drawing_has_a_line_for_each_label(rows: list[tuple[str, ...]], most: int) -> None:
    tree = from_rows(rows, "test")
    assert len(render(tree).split("\n")) == len(tree.labels)
    assert len(render(tree, most=most).split("\n")) == min(most + 1, len(tree.labels))


@given(trees())
def test_links_agree(rows: list[tuple[str, ...]]) -> None:
    tree = from_rows(rows, "test")
    for node, parent in enumerate(tree.parents):
        assert all(tree.parents[child] == node for child in tree.children(node))
        assert (node in tree.leaves) == (not tree.children(node))
        if node:
            assert node in tree.children(parent)
            assert tree.depth(node) == tree.depth(parent) + 1


def tree_or_refusal(action: Callable[[], Taxonomy]) -> Taxonomy | InputError:
    """Let nothing else through: any other exception would be a traceback for the user."""
    try:
        return action()
    except InputError as error:
        return error


@given(st.lists(st.lists(st.sampled_from(["", *"abcd"]), max_size=4), max_size=5))
def test_any_rows_give_a_tree_or_an_input_error(rows: list[list[str]]) -> None:
    outcome = tree_or_refusal(lambda: from_rows(rows, "test"))
    if isinstance(outcome, Taxonomy):
        assert set(outcome.leaf_of) == {row[0] for row in rows if any(row)}
    else:
        assert outcome.problems


@pytest.mark.parametrize("kind", ["csv", "toml", "json"])
@given(st.text('ab,;"\r\n*', max_size=30) | st.text(max_size=20) | st.binary(max_size=20))
def test_any_content_gives_a_tree_or_an_input_error(kind: str, content: str | bytes) -> None:
    with TemporaryDirectory() as folder:
        path = file_of(Path(folder), content, f"t.{kind}")
        tree_or_refusal(lambda: load(path))


# Size


def test_a_large_file_loads(tmp_path: Path) -> None:
    lines = (f"v{n},a{n // 5},b{n // 50},c{n // 500},ANY\n" for n in range(50_000))
    path = file_of(tmp_path, "".join(lines))
    assert len(load(path).leaves) == 50_000


@pytest.mark.slow
def test_deep_trees_do_not_recurse(tmp_path: Path) -> None:
    chain = [str(n) for n in range(20_000)]
    tree = from_rows([chain], "test")
    assert tree.depth(len(chain) - 1) == len(chain) - 1
    save(tree, tmp_path / "deep.csv")
    assert load(tmp_path / "deep.csv") == tree
    assert from_nested(tree.nested(), "test") == tree
    assert render(tree, most=2) == "19999\n└── 19998\n… and 19998 more labels"


@pytest.mark.slow
def test_no_walk_of_a_deep_tree_recurses() -> None:
    chain = [f"n{n}" for n in range(5_000)]
    whole = from_rows([chain], "test")
    half = from_rows([chain[2_500:], ["other", chain[-1]]], "test")
    joined = half.with_below(whole)
    assert joined.rows() == [tuple(chain), ("other", chain[-1])]
    assert whole.with_below(half) == whole
    assert joined.depth(joined.node_of["n0"]) == 4_999
    assert joined.children(0) == (1, joined.node_of["other"])
    assert from_nested(joined.nested(), "test") == joined
    assert render(whole).count("└") == 4_999


# Makers


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (
            lambda: by_prefix(["01299", "01234", "09999", "01234"], [1, 2, 3]),
            ["01234|012**|01***|0****|*", "01299|012**|01***|0****|*", "09999|099**|09***|0****|*"],
        ),
        (
            lambda: by_prefix(["0", "01", "0123", "9"], [3, 2], root="ZIP", pad="x"),
            ["0|0xxx|ZIP", "01|01xx|ZIP", "0123|012x|01xx|ZIP", "9|9xxx|ZIP"],
        ),
        (lambda: by_prefix(["12", "34"], [2, 9]), ["12|*", "34|*"]),
        (
            lambda: by_date(["2024-05-02", "2023-12-31", "2024-05-01"]),
            [
                "2023-12-31|2023-12|2023|*",
                "2024-05-01|2024-05|2024|*",
                "2024-05-02|2024-05|2024|*",
            ],
        ),
        (
            lambda: by_date(
                ["2024-05-01T23:59:59.5+02:00", "2024-05-01 08:00", "2024-06-01T00:00Z"]
            ),
            [
                "2024-05-01 08:00|2024-05-01|2024-05|2024|*",
                "2024-05-01T23:59:59.5+02:00|2024-05-01|2024-05|2024|*",
                "2024-06-01T00:00Z|2024-06-01|2024-06|2024|*",
            ],
        ),
        (
            lambda: by_date(["3.2.2024", "01.03.1999"], "%d.%m.%Y", root="ANY"),
            ["01.03.1999|1999-03|1999|ANY", "3.2.2024|2024-02|2024|ANY"],
        ),
        (
            lambda: by_date(["03/02/24 17:05"], "%d/%m/%y %H:%M"),
            ["03/02/24 17:05|2024-02-03|2024-02|2024|*"],
        ),
        (lambda: by_date(["0999-05"], "%Y-%m"), ["0999-05|0999|*"]),
        (
            lambda: by_bins(["64", "0", "120", "17.5", "18", "9"], [0, "18", 65.0, 120]),
            [
                *(f"{n}|[0,18)|[0,120]" for n in ("0", "9", "17.5")),
                *(f"{n}|[18,65)|[0,120]" for n in ("18", "64")),
                "120|[65,120]|[0,120]",
            ],
        ),
        (lambda: by_bins(["1", "2"], [0, 5]), ["1|[0,5]", "2|[0,5]"]),
        (lambda: by_bins(["9"], [0, 5, 8, 10]), ["9|[8,10]|[0,10]"]),
        (
            lambda: by_bins(["0,5", "1,5", "-1e0"], ["-1", "0,75", 2.5], decimal=","),
            ["-1e0|[-1,0.75)|[-1,2.5]", "0,5|[-1,0.75)|[-1,2.5]", "1,5|[0.75,2.5]|[-1,2.5]"],
        ),
        (  # large whole numbers stay apart
            lambda: by_bins([str(2**53), str(2**53 + 1)], [0, 2**53 + 1, 2**60]),
            [
                f"{2**53}|[0,{2**53 + 1})|[0,{2**60}]",
                f"{2**53 + 1}|[{2**53 + 1},{2**60}]|[0,{2**60}]",
            ],
        ),
        (
            lambda: by_equal(["0", "3", "5", "10"], 4),
            ["0|[0,2.5)|[0,10]", "3|[2.5,5)|[0,10]", "5|[5,7.5)|[0,10]", "10|[7.5,10]|[0,10]"],
        ),
        (  # no rounding noise
            lambda: by_equal(["0.1", "0.25", "0.35", "0.4"], 3),
            [
                "0.1|[0.1,0.2)|[0.1,0.4]", "0.25|[0.2,0.3)|[0.1,0.4]",
                "0.35|[0.3,0.4]|[0.1,0.4]", "0.4|[0.3,0.4]|[0.1,0.4]",
            ],
        ),
        (lambda: by_equal(["5", "5.0"], 3), ["5|[5,5]", "5.0|[5,5]"]),
        (  # levels, in whatever order they are given; a label that stays is one node
            lambda: by_bins(["9", "50"], [0, 30, 120], coarser=[[0, 18, 30, 65, 120], [0, 120]]),
            ["9|[0,18)|[0,30)|[0,120]", "50|[30,65)|[30,120]|[0,120]"],
        ),
        (
            lambda: by_bins(["1", "9"], [0, 2, 4, 6, 8, 10], levels=3),
            ["1|[0,2)|[0,4)|[0,8)|[0,10]", "9|[8,10]|[0,10]"],
        ),
        (
            lambda: by_equal(["0", "10"], 4, coarser=[2]),
            ["0|[0,2.5)|[0,5)|[0,10]", "10|[7.5,10]|[5,10]|[0,10]"],
        ),
        (
            lambda: by_width(["3", "17,5", "40"], ["2,5", "10"], decimal=","),
            [
                "3|[2.5,5)|[0,10)|[0,40]", "17,5|[17.5,20)|[10,20)|[0,40]",
                "40|[37.5,40]|[30,40]|[0,40]",
            ],
        ),
        (lambda: by_width(["-1", "-1"], [20], levels=1), ["-1|[-20,0]"]),
        (lambda: by_width(["0.3"], ["0.1", "0.2"]), ["0.3|[0.3,0.4]|[0.2,0.4]"]),
    ],
    ids=lambda made: made[0] if isinstance(made, list) else "",
)  # fmt: skip
def test_makers(make: Callable[[], Taxonomy], rows: list[str]) -> None:
    assert ["|".join(row) for row in make().rows()] == rows


@given(st.lists(st.text("éü*", min_size=1, max_size=4), min_size=1), st.sets(st.integers(1, 5)))
def test_by_prefix_makes_a_tree_or_hides_what_it_refuses(
    values: list[str], lengths: set[int]
) -> None:
    outcome = tree_or_refusal(lambda: by_prefix(values, sorted(lengths)))
    if isinstance(outcome, Taxonomy):
        assert set(outcome.leaf_of) == set(values)
        assert by_prefix(reversed(values), sorted(lengths)) == outcome
    else:
        assert not set("éü") & set(outcome.text())


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(), min_size=1),
    st.integers(1, 9),
)
def test_by_equal_places_every_number(numbers: list[float], count: int) -> None:
    values = [repr(number) for number in numbers]
    tree = by_equal(values, count)
    assert set(tree.leaf_of) == set(values)
    assert len(tree.children(0)) <= max(count, len(values))


NUMBERS = st.lists(st.integers(-500, 500).map(lambda n: n / 4), min_size=1, max_size=20)


@given(NUMBERS, st.lists(st.sampled_from([1, 2, 3, 5]), min_size=1, max_size=4), st.integers(1, 3))
def test_by_width_nests(numbers: list[float], factors: list[int], levels: int) -> None:
    """Every label holds the value and all labels below it; borders are multiples of its width."""
    widths = [0.5 * math.prod(factors[: n + 1]) for n in range(len(factors))]
    several = len({*widths}) > 1
    tree = tree_or_refusal(
        lambda: by_width([repr(n) for n in numbers], widths, levels=1 if several else levels)
    )
    if not isinstance(tree, Taxonomy):
        assert levels > 1  # there are not as many intervals
        return
    assert set(tree.leaf_of) == {repr(n) for n in numbers}
    for value, *path in tree.rows():
        inside, held = (float(value), float(value)), True  # whether its upper end is in it
        for label in path:
            low, high = (float(end) for end in label[1:-1].split(","))
            assert low <= inside[0] <= inside[1] <= high
            assert inside[1] < high or not held or label.endswith("]")
            assert low % widths[0] == high % widths[0] == 0
            inside, held = (low, high), label.endswith("]")


def test_a_skeleton_is_filled_in(tmp_path: Path) -> None:
    """As a spreadsheet leaves it: in its own encoding, without quotes that are not needed."""
    values = ["Zoo", "Äpfel", "apple; green", "Nurse, head", "?", "apple; green"]
    rows = skeleton(values, 2)
    assert [row[0] for row in rows] == ["?", "Äpfel", "apple; green", "Nurse, head", "Zoo"]
    assert {tuple(row[1:]) for row in rows} == {("??", "??", "*")}
    assert {tuple(row) for row in skeleton(["*", "a", "**"])} == {
        ("*", "?", "***"), ("**", "?", "***"), ("a", "?", "***"),
    }  # fmt: skip
    kept = from_rows([["a", "*"]], "kept")
    refusal(lambda: skeleton(["*", "b"], keep=kept), "rename the group in what is kept")
    refusal(lambda: by_date(["01.02.2024"]), "tell --date-format, as %d.%m.%Y")
    assert [row[0] for row in skeleton(["10", "9", "-1"])] == ["-1", "9", "10"]
    for sign, bom in ((",", False), (";", True)):
        save_rows(rows, path := tmp_path / "t.csv", sign=sign, bom=bom)
        assert path.read_bytes().startswith(b"\xef\xbb\xbf") == bom
        found = load(path, unfinished=True)
        assert [*found.leaf_of] == [row[0] for row in rows]
        assert len(found.unassigned()) == 5
        refusal(lambda: load(tmp_path / "t.csv"), '5 of 5 values stand under "??"')
        refusal(lambda: load(tmp_path / "t.csv"), "in the place of each ??.")
    lines = ["?;Other;*", "Äpfel;Fruit;??;*", "apple; green;Fruit;??;*"]
    path.write_bytes("\r\n".join([*lines[:2], '"apple; green";Fruit;??;*']).encode("cp1252"))
    assert load(path, unfinished=True).unassigned() == ["Äpfel", "apple; green"]
    path.write_text("a;?\nb;?\n")  # which is the root here, and no group
    assert [load(path).labels[0], load(path).unassigned()] == ["?", []]


SECRET = "Zyzzyva"


GROUP = "of the 2 values are also the label of a group"


@pytest.mark.parametrize(
    ("make", "what", "hidden"),
    [
        (lambda: by_date([SECRET, "2024-05-01"]), "1 of the 2 values are no dates in ISO form", SECRET),
        *(
            (lambda form=form: by_date([SECRET], form), f'1 of the 1 values are no dates of the form "{form}"', SECRET)
            for form in ("%Y-%m-%d", "%Y %Q", "%Y %Y")
        ),
        (lambda: by_bins([SECRET, "1"], [0, 2]), "1 of the 2 values are no numbers", SECRET),
        (lambda: by_bins(["-7331", "5", "9441"], [0, 5.5, 10]), "2 of the 3 values lie outside [0,10]", "-7331 9441"),
        (lambda: by_equal([SECRET, "1"], 2), "1 of the 2 values are no numbers", SECRET),
        (lambda: by_prefix([SECRET, f"{SECRET}s"], [3], root=SECRET), f"1 {GROUP}", SECRET),
        (lambda: by_prefix([f"{SECRET}**", f"{SECRET}12"], [len(SECRET)]), f"1 {GROUP}", f"{SECRET}**"),
        (lambda: by_date(["2024-05-01", "2024-05-01T10:00"]), f"1 {GROUP}", "2024-05-01"),
        (lambda: by_date(["2024", "2025"], "%Y"), f"2 {GROUP}", "2024 2025"),
    ],
)  # fmt: skip
def test_makers_hide_values(make: Callable[[], Taxonomy], what: str, hidden: str) -> None:
    error = refusal(make)
    [problem] = error.problems
    assert (problem.what, problem.values) == (what, tuple(hidden.split()))
    for value in problem.values:
        assert value.lstrip("-")[:4] not in error.text()
        assert value in error.text(show_values=True)


@pytest.mark.parametrize(
    "bad", ["", "nan", "inf", "1_000", "0x10", "1e999", "1,5", "--1", "٣", "9" * 5000]
)
def test_texts_that_are_no_numbers(bad: str) -> None:
    refusal(lambda: by_equal([bad, "1"], 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: by_prefix(["1"], []), lambda: by_prefix(["1"], [0]),
        lambda: by_prefix(["1"], [2, -1]), lambda: by_prefix(["1"], [1], pad=""),
        lambda: by_prefix(["1"], [1], pad="**"), lambda: by_prefix(["12"], [1], root=""),
        lambda: by_prefix(["12"], [1], root="1*"), lambda: by_prefix(["*"], [1]),
        lambda: by_date(["2024-05-01"], root="2024"), lambda: by_date(["01.05."], "%d.%m."),
        lambda: by_bins(["1"], []), lambda: by_bins(["1"], [1]),
        lambda: by_bins(["1"], [0, 2, 2]), lambda: by_bins(["1"], [2, 0]),
        lambda: by_bins(["1"], [0, "many"]), lambda: by_bins(["1"], [0, float("inf")]),
        lambda: by_bins(["1.5"], [0, 2], decimal=","),
        lambda: by_equal(["1"], 0), lambda: by_prefix([], [1]), lambda: by_prefix(["", "1"], [1]),
        lambda: by_date([]), lambda: by_bins([], [0, 1]), lambda: by_equal([], 2),
        lambda: by_width(["1"], []), lambda: by_width(["1"], [0]), lambda: by_width(["1"], ["x"]),
        lambda: by_width(["0", "1"], [1e-9]), lambda: by_bins(["1"], [0, 2], levels=0),
        lambda: skeleton(["1"], 0), lambda: skeleton([]),
    ],
)  # fmt: skip
def test_makers_refuse_what_makes_no_tree(make: Callable[[], Taxonomy]) -> None:
    refusal(make)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: by_bins(["1"], [0, 5, 9], coarser=[[0, 4, 9]]), "cut: 4 is among the edges"),
        (lambda: by_bins(["1"], [0, 3, 5, 9], coarser=[[0, 4, 6, 9]]), "cut: 4, 6 are among"),
        (lambda: by_bins(["1"], [0, 3, 5, 9], coarser=[[0, 5]]), "ends elsewhere: 9 of the finer"),
        (lambda: by_bins(["1"], [0, 5, 9], coarser=[[0, 9]], levels=2), "levels are given already"),
        (lambda: by_bins(["1"], [0, 5, 9], levels=2), "1 levels in it, and not 2"),
        (lambda: by_equal(["1"], 10, coarser=[4]), "10 intervals of equal width do not make 4"),
        (lambda: by_width(["1"], [5, 12]), "12 is no multiple of 5"),
    ],
)
def test_levels_that_do_not_nest(make: Callable[[], Taxonomy], said: str) -> None:
    refusal(make, said)


# Real hierarchies


@pytest.mark.data
def test_hierarchies_of_the_arx_adult_data() -> None:
    folder = public_data("arx_adult")
    files = sorted(folder.glob("adult_hierarchy_*.csv"))
    table = re.findall(
        r"^\| ([\w-]+) \| (\d+) \| (\d+) \|", (folder / "README.md").read_text(), re.M
    )
    expected = {name: (int(columns), int(leaves)) for name, columns, leaves in table}
    found = {}
    for file in files:
        tree = load(file)
        depths = {tree.depth(leaf) for leaf in tree.leaves}
        assert len(depths) == 1, file.name
        assert tree.labels[0] == "*"
        name = file.stem.removeprefix("adult_hierarchy_")
        found[name] = (depths.pop() + 1, len(tree.leaves))
    assert found == expected
