"""`reticent transactions init`: drafts that can be released as they are, and what they tell."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from at_hand import refusal
from reticent import transactions
from reticent.files.basket_forms import BasketForm, form_of
from reticent.files.tabular import Reading
from reticent.transactions.drafting import drafted
from terminal import answer, run

WORD = "SEC" + "RET"
SPEAKING = ["hiv-test", "Schwangerschaftstest", "prozac 20 mg"]


def shop(rows: int, seed: int = 1, often: float = 0.05) -> list[list[str]]:
    rng = random.Random(seed)
    usual = [f"{WORD} thing {i}" for i in range(12)]
    return [
        [name for i, name in enumerate(usual) if rng.random() < 2 / (i + 3)]
        + [name for name in SPEAKING if rng.random() < often]
        for _ in range(rows)
    ]


FORMS: dict[str, tuple[str, BasketForm]] = {
    "commas.csv": ("whole milk,rolls\nmilk\nwhole milk,tea\n", BasketForm("basket", ",")),
    "padded.csv": ("whole milk,rolls,\nmilk,,\ntea,milk,rolls\n", BasketForm("basket", ",")),
    "equal.csv": ("whole milk,tea\ntea,rolls\nwhole milk,rolls\n", BasketForm("basket", ",")),
    "few.dat": ("a b\n" * 7 + "c d;a b\n" * 2, BasketForm("basket", ";")),
    "tabs.txt": ("whole milk\ttea\nwhole milk\n", BasketForm("basket", "\t")),
    "blanks.dat": ("a b\tc\n" + "1,5 2\n" * 9, BasketForm("basket")),
    "long.csv": ("id;item\n1;tea, green\n1;rolls\n2;tea, green\n", BasketForm("long")),
    "index.csv": (",basket,what\n0,1,tea\n1,1,rolls\n2,2,tea\n", BasketForm("long")),
    "people.csv": (
        "Member_number,Date,itemDescription\n7,1,tea\n7,2,rolls\n8,2,tea\n",
        BasketForm("long", columns=("Member_number", "itemDescription")),
    ),
    "bills.tsv": (
        "InvoiceNo\tQty\tStockCode\n7\t1\ttea\n7\t2\trolls\n8\t2\ttea\n",
        BasketForm("long", columns=("InvoiceNo", "StockCode")),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str, work: Path) -> None:
    content, form = FORMS[name]
    Path(name).write_text(content)
    assert form_of(name, Reading()) == form
    run("transactions", "init", name, "-o", "p.toml")
    policy = transactions.Policy.load("p.toml")
    assert (policy.format, policy.separator, policy.two_columns) == (
        form.form, form.separator, form.columns
    )  # fmt: skip
    run("policy", "check", "p.toml", name)


def test_what_is_told_wins(work: Path) -> None:
    Path("in.csv").write_text("x,y,z\n1,a,b\n2,c,d\n")
    assert form_of("in.csv", Reading(separator=",")) == BasketForm("basket", ",")
    assert form_of("in.csv", Reading(), "x", "z").columns == ("x", "z")
    said = run("transactions", "init", "in.csv", "--basket", "x", "--item", "z").stdout
    assert 'columns = { basket = "x", item = "z" }' in said
    assert 'delimiter = ","' in run("transactions", "init", "in.csv", "--delimiter", ",",
                                    "--basket", "x", "--item", "z").stdout  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", [3, 12, 60])
def test_a_draft_is_a_policy_that_can_be_kept(rows: int, seed: int) -> None:
    """As it is; and it costs what the draft says."""
    baskets = shop(rows, seed, often=random.Random(seed).choice([0.0, 0.1, 0.9]))
    from reticent.files.basket_files import taken
    from reticent.progress import Watch

    found = drafted(taken(baskets)[0], BasketForm("basket", ","), Reading(), Watch())
    policy = transactions.Policy.parse(transactions.draft(baskets))
    assert policy == found.policy()
    release = transactions.release(baskets, policy)
    assert release.finding.holds
    assert transactions.verify(release.table, policy).holds
    [cost] = [one for one in found.tried if (one.k, one.p) == (policy.k, policy.p)]
    assert (cost.suppressed, cost.loss) == (len(release.suppressed), release.loss)
    held = {name for row in baskets for name in row}
    assert {*policy.private} <= held & {*SPEAKING}


def test_a_draft_names_what_is_to_be_decided_alone(work: Path) -> None:
    Path("in.csv").write_text("".join(",".join(row) + "\n" for row in shop(80)))
    told = answer("transactions", "init", "in.csv", "-o", "p.toml")
    text = Path("p.toml").read_text()
    assert told["policy"] == text
    assert (told["transactions"], told["private"]) == (80, 3)
    assert WORD not in text
    assert all(name in text for name in SPEAKING)
    assert "(this draft)" in text
    run("transactions", "release", "in.csv", "-p", "p.toml", "-o", "out")
    assert run("transactions", "init", "in.csv").stdout == text
    assert f'#   "{WORD} thing 3"' in run("transactions", "init", "in.csv", "--show-values").stdout
    assert "exists" in run("transactions", "init", "in.csv", "-o", "p.toml", code=2).stderr
    run("transactions", "init", "in.csv", "-o", "p.toml", "--force")


def test_a_secret_that_too_many_have_is_asked_about(work: Path) -> None:
    baskets = [["hiv-test", "a"]] * 30 + [["a"]] * 30
    text = transactions.draft(baskets)
    assert "private = []" in text
    assert '# ? "hiv-test" (illness) is in too many baskets' in text
    Path("in.dat").write_text("a b\n" * 20)
    assert "no item is called private" in run("transactions", "init", "in.dat").stderr


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("a b\n", [], "one basket hides nobody"),
        ("red,green,blue\n1,2,3\n4,5,6\n", [], "--basket NAME --item NAME"),
        ("red,green\n1,2\n", ["--basket", "rod"], 'mean "red"'),
        ('x,"y\nz\n', ["--separator", ","], "line 1"),
        ("", [], "no transaction"),
    ],
)
def test_what_makes_no_draft(content: str, options: list[Any], said: str, work: Path) -> None:
    Path("in.csv").write_text(content)
    heard = run("transactions", "init", "in.csv", "-o", "p.toml", *options, code=2).stderr
    assert said in heard
    assert not Path("p.toml").exists()
    refusal(lambda: transactions.draft("no.csv"), "no such file")


def test_a_draft_says_why_it_allows_to_be_surer_than_is_usual() -> None:
    """The strictest h of a few that can be kept without losing most, and never silently more."""
    common = [["hiv-test", "a"]] * 29 + [["a"]] * 46
    text = transactions.draft(common)
    assert "\nh = 0.4 " in text
    assert "above the usual 0.2: 38.67 % of all baskets" in text
    told = [["hiv-test", "a", "b"]] * 15 + [["a", "b"]] * 35 + [["c"]] * 50
    text = transactions.draft(told)
    assert "\nh = 0.3 " in text
    assert "above the usual 0.2: 15 % of all" in text
    assert "tried, and cost too much here: h = 0.2." in text
    rare = [["hiv-test", "a"]] * 2 + [["a"]] * 73
    text = transactions.draft(rare)
    assert "\nh = 0.2 " in text
    assert "usual" not in text
