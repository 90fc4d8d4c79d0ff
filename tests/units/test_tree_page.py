"""The page of a tree over tables that join: sound, honest about what it leaves out, and small."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from at_hand import refusal
from pages_at_hand import Page
from reticent.jointree import text
from reticent.jointree.model import JoinNode, JoinTree, Question, write_model
from reticent.jointree.pages import tree_page, write_page
from reticent.pages.opening import MOST_NODES

CLASSES = ("no", "yes")


def leaf(no: Any = 0, yes: Any = 0) -> JoinNode:
    return JoinNode((no, yes))


def fork(asks: Question, *branches: JoinNode) -> JoinNode:
    counts = tuple(map(sum, zip(*(branch.counts for branch in branches), strict=True)))
    return JoinNode(counts, asks, list(branches))


def age(at: int) -> Question:
    return Question("ward", "beds", "at_most", (at,), 0)


def full(depth: int) -> JoinNode:
    """Every question has two answers, so deep."""
    level = [leaf(i % 3, 2) for i in range(2**depth)]
    while len(level) > 1:
        level = [fork(age(i), *level[2 * i : 2 * i + 2]) for i in range(len(level) // 2)]
    return level[0]


def long(depth: int) -> JoinNode:
    node = leaf(1, 0)
    for i in range(depth):
        node = fork(age(i), node, leaf(0, 1))
    return node


def read(root: JoinNode, classes: tuple[str, ...] = CLASSES, **more: Any) -> Page:
    text = tree_page(JoinTree("visit.ill", classes, root, **more))
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "iframe", "img", "object"} & {*names}
    assert "default-src 'none'" in text
    assert len({*page.ids}) == len(page.ids)
    assert all(link[1:] in page.ids for link in page.links)
    assert page.headings == sorted(page.headings)
    assert "It is no anonymised release." in page.text
    return page


def test_every_node_and_its_counts_are_there() -> None:
    root = fork(
        age(8), leaf(2, 0), fork(Question("visit", "drug", "is", ("x",), 1), leaf(1, 7), leaf(4, 1))
    )
    page = read(root)
    for words in (
        "all 15: yes 8, no 7", "ward.beds ≤ 8 : no 2: no 2", "ward.beds > 8 13: yes 8, no 5",
        "visit.drug = x : yes 8: yes 7, no 1", "visit.drug ≠ x : no 5: no 4, yes 1",
    ):  # fmt: skip
        assert words in page.text
    assert "on this page" not in page.text.partition("The tree")[2].partition("What is asked")[0]
    assert "3 leaves, at most 2 questions deep, over columns of 2 tables" in page.text
    [svg] = [given for tag, given in page.tags if tag == "svg" and "560" in (given["width"] or "")][
        :1
    ]
    assert svg["role"] == "img"


def test_a_page_goes_beside_a_model_and_not_into_it(tmp_path: Path) -> None:
    """There, the next training would find another thing in its folder, and refuse to go on."""
    folder = tmp_path / "model"
    folder.mkdir()
    tree = JoinTree("visit.ill", CLASSES, full(2))
    write_model(tree, folder)
    for model in (folder, folder / "model.json"):
        refusal(partial(write_page, tree, folder / "p.html", model), "holds nothing else")
        write_page(tree, tmp_path / "p.html", model, force=True)
    assert [path.name for path in folder.iterdir()] == ["model.json"]


def test_a_leaf_alone_has_a_page() -> None:
    page = read(leaf(3, 1))
    assert "A single leaf" in page.text
    assert "The first questions" not in page.text


@pytest.mark.parametrize("root", [full(12), long(5000)], ids=["wide", "deep"])
def test_large_trees_are_cut_with_words(root: JoinNode) -> None:
    """8,191 and 10,001 nodes: the page stays small, and every node that is not there is counted."""
    page = read(root)
    nodes = len(root.walk())
    listed = sum(tag == "li" for tag, _ in page.tags[page.tags.index(("ul", {"class": "tree"})) :])
    assert listed < MOST_NODES + 600
    assert f"of {nodes:,} nodes are on this page, those nearest to the root." in page.text
    left = sum(
        int(words.partition(" more node")[0].replace(",", ""))
        for words in page.words
        if " more node" in words and "not on this page" in words
    )
    shown = int(page.text.partition(" of " + f"{nodes:,}")[0].rpartition(" ")[2].replace(",", ""))
    assert shown + left == nodes
    assert shown <= MOST_NODES


def test_a_question_with_many_answers_is_cut_too() -> None:
    values = tuple(f"v{i}" for i in range(3000))
    root = fork(Question("T", "c", "by", values, 0), *(leaf(1, i) for i in range(3000)))
    page = read(root)
    assert "2,900 more nodes below, not on this page" in page.text
    assert "2,992 more branches" in page.text


def test_odd_labels_and_counts_are_told_as_they_are() -> None:
    words = "<script>alert(1)</script>\x00"
    root = fork(Question("T", "<b>", "is", (words,), 0), leaf(2**70, 1), leaf(1, 3))
    page = read(root, ("<i>no</i>", "yes"))
    assert "<i>no</i> 1,180,591,620,717,411,303,424" in page.text
    assert "<script>alert(1)</script>" in page.text
    page = read(fork(age(1), leaf(Fraction(7, 3), 1), leaf(0, 2)), weight="record")
    assert "weights of records" in page.text
    assert "3.333: no 2.333, yes 1" in page.text
    assert "The records weigh 5.333 in all." in page.text
    assert "over columns of one table." in page.text
    assert "how much the records weigh that meet in it, and how much of each class" in page.text
    assert "many weights" not in page.text
    assert "many records" not in page.text


ODD = "R&amp;D\x1b[31m\u009b2J\u202eevil\u2066\n\u2028end\x7f"


def test_no_value_speaks_to_a_terminal_or_turns_its_line() -> None:
    """Of whatever way to show a tree: lines stay lines, and counts stand where they belong."""
    asks = Question("T", "c", "is", (ODD,), 0)
    tree = JoinTree(
        "T.Class", ("no", ODD), fork(asks, leaf(2, 1), leaf(1, 3)), seen={"T": {"c": (ODD,)}}
    )
    shown, drawn, page, told = (
        text.shown(tree),
        text.dot(tree),
        tree_page(tree),
        text.json_line(tree),
    )
    for one in (shown, drawn, page, told):
        assert not {*one} & {*"\x1b\x7f\u009b\u202e\u2066"}
    for one in (shown, drawn, told):
        assert "\u2028" not in one
    assert shown.count("\n") == 3
    assert drawn.count("\n") == 8
    assert json.loads(told)["classes"] == ["no", ODD]
    assert "R&amp;amp;D" in drawn


def test_dot_cuts_values_and_not_what_it_says_of_them() -> None:
    long = "v" * 90
    asks = Question("T", "c", "is", (long,), 1)
    drawn = text.dot(JoinTree("T.Class", ("no", "y" * 80), fork(asks, leaf(0, 5), leaf(4, 1))))
    assert 'label="≠ vvv' in drawn
    assert '… or missing"' in drawn
    assert '… (5)"' in drawn


def test_many_classes_are_counted() -> None:
    classes = tuple(f"c{i:03}" for i in range(300))
    root = fork(age(1), JoinNode(tuple(range(300))), JoinNode((1,) * 300))
    page = read(root, classes)
    assert "and 295 more classes" in page.text
    assert "280 more classes are not drawn" in page.text
    assert "And 100 more classes." in page.text


def test_the_same_bytes_twice() -> None:
    tree = JoinTree("visit.ill", CLASSES, full(4))
    assert tree_page(tree) == tree_page(tree)
