"""What somebody at a terminal sees of the search: other cuts, records left out, how long it looks."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import reticent
from at_hand import refusal, rows_of, save
from terminal import answer, run

RARE = "Zeppelinpilot"  # a job so rare that it keeps everybody's from being shown
HOME = "Nirgendheim"  # where only they live
POLICY = f"""\
class = "Buys"
keep = "*"
[attributes.Job]
mask = "generalize"
taxonomy = {{ ANY = ["Cook", "Clerk", "Boss", "{RARE}"] }}
[attributes.Age]
mask = "discretize"
range = [0, 100]
[[anonymity]]
over = ["Job", "Age", "Town"]
k = 20
"""


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    rng = random.Random(4)
    rows = []
    for number in range(1500):
        job = RARE if number < 9 else rng.choice(["Cook", "Clerk", "Boss"])
        age, town = rng.randint(20, 69), rng.choice(["Ulm", "Bonn", "Kiel"])
        town = HOME if job == RARE else town
        wealthy = {"Boss": 0.9, "Clerk": 0.5, RARE: 0.5, "Cook": 0.1}[job]
        buys = rng.random() < (wealthy if age >= 40 else wealthy / 2)
        rows.append([job, age, town, "yes" if buys else "no"])
    save("data.csv", ["Job", "Age", "Town", "Buys"], rows)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    Path("lenient.toml").write_text("suppress_records = 0.02\n" + POLICY, encoding="utf-8")


def release(policy: str, out: str, *more: str) -> dict[str, Any]:
    said: dict[str, Any] = answer("release", "data.csv", "-p", f"{policy}.toml", "-o", out, *more)
    return said


def texts(folder: str) -> str:
    return "".join(p.read_text(encoding="utf-8") for p in Path(folder).rglob("*") if p.is_file())


def test_rare_people_are_left_out_if_the_policy_says_so() -> None:
    said = release("lenient", "out")
    assert said["left_out"] == {"records": 9, "of": 1500, "at_most": "1/50"}
    assert (said["rows_in"], said["rows_out"]) == (1500, 1491)
    assert len(said["attributes"]["Job"]["values"]) == 3
    assert said["templates"][0]["verified"] is True
    assert run("verify", "out", "-p", "lenient.toml").exit_code == 0
    everybody = release("policy", "all")
    assert everybody["left_out"] is None
    assert everybody["attributes"]["Job"]["values"] == ["ANY"]
    assert said["error"] < everybody["error"]


def test_the_others_are_all_there() -> None:
    found = reticent.release("data.csv", "lenient.toml")
    jobs = Counter(row[0] for row in rows_of("data.csv")[1:] if row[0] != RARE)
    assert Counter(found.table.column("Job").to_pylist()) == jobs


def test_who_was_left_out_stays_with_the_owner() -> None:
    done = run("release", "data.csv", "-p", "lenient.toml", "-o", "out")
    assert "9 rare records left out" in done.output
    assert HOME not in done.output
    assert HOME not in texts("out/public")
    assert RARE not in Path("out/public/data.csv").read_text(encoding="utf-8")
    assert json.loads(Path("out/public/report.json").read_text(encoding="utf-8"))["left_out"] == 9
    assert "9 rare records are left out" in Path("out/public/report.html").read_text("utf-8")
    told = json.loads(Path("out/private/left_out.json").read_text(encoding="utf-8"))
    jobs = next(column for column in told["differences"] if column["column"] == "Job")
    assert jobs["shares"][0] == {"value": RARE, "left_out": 1.0, "others": 0.0}
    ages = next(column for column in told["differences"] if column["column"] == "Age")
    assert [len(ages[who]) for who in ("left_out", "others")] == [3, 3]
    page = Path("out/private/report.html").read_text(encoding="utf-8")
    assert "Who was left out" in page
    assert HOME in page


@pytest.mark.slow
def test_a_release_without_some_can_be_evaluated_and_swept() -> None:
    release("lenient", "out")
    said = answer("evaluate", "data.csv", "out", "-p", "lenient.toml")
    assert said["classification"]["tested"] == 1491 // 3
    words = ["sweep", "data.csv", "-p", "lenient.toml", "--k", "10,20", "-o", "swept"]
    points = answer(*words)["points"]
    assert all(0 < point["left_out"] <= 30 for point in points)
    assert run("verify", "swept/k-20", "-p", "lenient.toml").exit_code == 0


def test_a_release_that_lacks_more_than_the_policy_allows_is_no_release_of_the_table() -> None:
    release("lenient", "out")
    Path("strict.toml").write_text("suppress_records = 0.001\n" + POLICY, encoding="utf-8")
    run("evaluate", "data.csv", "out", "-p", "strict.toml", code=2)
    run("evaluate", "data.csv", "out", "-p", "policy.toml", code=2)


@pytest.mark.parametrize("share", ["0.6", "-0.1", '"a few"', "true"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    Path("odd.toml").write_text(f"suppress_records = {share}\n" + POLICY, encoding="utf-8")
    done = run("release", "data.csv", "-p", "odd.toml", "-o", "out", code=2)
    assert "suppress_records" in done.output
    assert not Path("out").exists()


def test_another_cut_can_be_taken() -> None:
    first = release("policy", "out")
    assert 1 <= len(first["alternatives"]) <= 3
    numbers = [other["alternative"] for other in first["alternatives"]]
    assert numbers == [*range(1, len(numbers) + 1)]
    second = release("policy", "other", "--alternative", "1")
    assert second["attributes"] != first["attributes"]
    assert second["error"] == first["alternatives"][0]["error"]
    for name, (here, there) in first["alternatives"][0]["finer"].items():
        assert here < there == len(second["attributes"][name]["values"])
    assert second["templates"][0]["verified"] is True
    assert "--alternative 1" in Path("other/private/report.html").read_text(encoding="utf-8")
    back = release("policy", "back", "--alternative", "1", "--search-rounds", str(first["rounds"]))
    assert back["attributes"] == second["attributes"]


def test_there_are_only_so_many_cuts() -> None:
    done = run(
        "release", "data.csv", "-p", "policy.toml", "-o", "out", "--alternative", "9", code=2
    )
    assert "there is no alternative 9" in done.output
    assert not Path("out").exists()


def test_other_cuts_stay_with_the_owner() -> None:
    release("policy", "out")
    assert "lternative" not in texts("out/public")
    assert "Other cuts" in Path("out/private/report.html").read_text(encoding="utf-8")


def test_one_round_is_the_greedy_search() -> None:
    Path("greedy.toml").write_text(POLICY + '[goal]\nsearch = "greedy"\n', encoding="utf-8")
    greedy, once = release("greedy", "a"), release("policy", "b", "--search-rounds", "1")
    assert (greedy["rounds"], once["rounds"]) == (1, 1)
    assert greedy["alternatives"] == once["alternatives"] == []
    assert greedy["attributes"] == once["attributes"]


def test_what_was_found_in_some_seconds_is_found_again_in_as_many_rounds() -> None:
    timed = release("policy", "a", "--search-time", "0.3")
    assert timed["rounds"] > 1
    assert f"--search-rounds {timed['rounds']}" in Path("a/private/report.html").read_text("utf-8")
    again = release("policy", "b", "--search-rounds", str(timed["rounds"]))
    assert again["attributes"] == timed["attributes"]
    refusal(lambda: reticent.release("data.csv", "policy.toml", search_rounds=0), "at least 1")
