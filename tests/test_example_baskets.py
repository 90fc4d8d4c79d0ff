"""What shoppers bought: the pages about baskets show what happens."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from at_hand import public_data
from reticent import sample, transactions
from terminal import ROOT, replay, run, shown, table_of

EXAMPLE = ROOT / "examples/baskets"
TUTORIAL = (ROOT / "docs/tutorials/baskets.md").read_text(encoding="utf-8")
METHOD = (ROOT / "docs/methods/coherence.md").read_text(encoding="utf-8")
INVENTED, REAL = TUTORIAL.split("\n## The same with real baskets\n")


pytestmark = pytest.mark.usefixtures("work")


@pytest.fixture(scope="module")
def market() -> Any:
    return sample.make("baskets", 100_000, seed=1)


# --- the tutorial --------------------------------------------------------------------------------


def test_the_tutorial_shows_real_output(tmp_path: Path) -> None:
    told = replay(shown(INVENTED))
    assert (told["risk"], told["release"], told["verify"]) == (1, 1, 2)
    chart = ROOT / "docs/tutorials/baskets-risk.svg"
    assert (tmp_path / "risk.svg").read_text(encoding="utf-8") == chart.read_text(encoding="utf-8")
    assert (tmp_path / "market/policy.toml").read_text(encoding="utf-8") in INVENTED
    page = (tmp_path / "shown/private/report.html").read_text(encoding="utf-8")
    drafted = run("transactions", "init", "market/baskets.csv").stdout
    assert drafted.partition("\np = ")[2].partition("\n[about]")[0].strip() in INVENTED
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))
    gone = table_of(INVENTED, "| Item | Baskets that had it |")
    assert len(gone) == 6
    assert "Item Baskets that had it " + " ".join(f"{item} {n}" for item, n in gone) in text


def test_which_items_told_of_pregnancy_tests(market: Any) -> None:
    baskets = list(sets(market))
    for item in ("ginger-tea", "vitamins", "folic-acid"):
        cohort = [basket for basket in baskets if item in basket]
        assert sum("pregnancy-test" in basket for basket in cohort) > len(cohort) / 5
    for item in ("chewing-gum", "ice", "chocolate"):
        cohort = [basket for basket in baskets if item in basket]
        others = set().union(*cohort) - {item, "ginger-tea", "vitamins", "folic-acid"}
        counts = [sum(other in basket for basket in cohort) for other in sorted(others)]
        assert 0 < min(counts) < 10


@pytest.mark.data
def test_real_baskets_give_what_the_tutorial_shows() -> None:
    shutil.copyfile(public_data("groceries/groceries.csv"), "groceries.csv")
    [policy] = re.findall(r"```toml\n(.*?)```", REAL, re.DOTALL)
    Path("groceries.toml").write_text(policy, encoding="utf-8")
    first = "".join(Path("groceries.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:3])
    assert f"```text\n{first}```" in REAL
    told = replay(shown(REAL))
    assert (told["risk"], told["release"], told["verify"]) == (1, 1, 1)
    words = {1: "one known item", 2: "two", 3: "three", 4: "four"}
    losses = [
        f"{words[p]} {lost('groceries.csv', policy, p=p)}{' of all' * (p == 1)}" for p in words
    ]
    said = re.sub(r"\s+", " ", REAL)
    assert all(f"or {loss}" in said for loss in losses)


# --- the method ----------------------------------------------------------------------------------


def test_the_method_page_shows_real_output() -> None:
    told = replay(shown(METHOD))
    assert (told["risk"], told["release"]) == (1, 1)


def test_losses_on_the_method_page(market: Any) -> None:
    policy = sample.policy("baskets")[0]
    for k, *losses in table_of(METHOD, "| | p = 1 | p = 2 | p = 3 | unlimited |"):
        for p, loss in zip((1, 2, 3, "unlimited"), losses, strict=True):
            assert lost(market, policy, k=int(k.removeprefix("k = ")), p=p) == loss
    [[_, *losses]] = table_of(METHOD, "| h | 1 | 1/2 | 1/5 | 1/10 | 1/20 |")
    for h, loss in zip(("1", "1/2", "1/5", "1/10", "1/20"), losses, strict=True):
        assert lost(market, policy, h=h) == loss


def test_other_numbers_on_the_method_page(market: Any) -> None:
    short = sum(len(basket) <= 2 for basket in sets(market))
    assert f"{short:,} of 35,925 baskets have up to two" in METHOD
    less = sample.make("baskets", 20_000, seed=1)
    found = transactions.release(less, changed(sample.policy("baskets")[0], k=5))
    tried = {method: f"{100 * loss:.2f} %" for method, loss in found.summary()["tried"].items()}
    assert {tried[method] for method in ("greedy", "levels", "grow")} == {"28.18 %"}
    assert tried["swaps"] == "26.88 %"
    assert "three of them lose 28.18 %, and swaps\n26.88 %" in METHOD


def test_what_knowing_an_absence_tells() -> None:
    """The example of an attack that coherence does not stop."""
    people = ["e f s1", "e f g s2", "g s3", "f g s2", "g s2", "e f g s1", "e f g s3"]
    assert [row[-1] for row in table_of(METHOD, "| | public | private | released |")] == people
    assert sum("e" in person for person in people) == 4
    assert [person for person in people if "e" in person and "g" not in person] == ["e f s1"]


# --- the example ---------------------------------------------------------------------------------


def test_the_example_shows_real_output(tmp_path: Path) -> None:
    for name in ("policy.toml", "pairs.py"):
        shutil.copyfile(EXAMPLE / name, tmp_path / name)
    told = replay(shown((EXAMPLE / "README.md").read_text(encoding="utf-8")))
    assert (told["release"], told["verify"]) == (1, 1)


def sets(table: Any) -> Iterator[set[str]]:
    """Baskets from rows of basket and item, one after the other."""
    baskets: dict[int, set[str]] = {}
    for basket, item in zip(*(column.to_pylist() for column in table.columns), strict=True):
        baskets.setdefault(basket, set()).add(item)
    return iter(baskets.values())


def changed(policy: str, **keys: object) -> dict[str, Any]:
    """A policy with other thresholds."""
    return transactions.Policy.parse(policy).model_dump() | keys


def lost(data: Any, policy: str, **keys: object) -> str:
    """The share of occurrences that a release loses, as pages write it."""
    return f"{100 * float(transactions.release(data, changed(policy, **keys)).loss):.2f} %"
