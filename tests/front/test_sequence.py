"""Releases beside earlier ones, as somebody at a terminal sees them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

import reticent
from reticent.sources import means
from terminal import answer, run

PLACES = 'taxonomy = { ANY = { Europe = ["UK", "FR"], America = ["US", "CA"] } }'
POLICY = f"""\
class = "Class"
drop = ["Id"]
keep = ["Sex"]
[previous.clinic]
path = "old.csv"
drop = ["Id"]
[attributes.Place]
mask = "generalize"
{PLACES}
[[confidence]]
over = ["Job", "Place", "clinic.Place", "clinic.Zip"]
sensitive = {{ Test = ["HIV"] }}
at_most = 0.3
[[anonymity]]
over = ["Job", "Place", "clinic.Place", "clinic.Zip"]
of = ["Id"]
k = 10
"""
OLD = f"""\
drop = ["Id"]
keep = ["Sex", "Zip"]
[attributes.Place]
mask = "generalize"
{PLACES}
[[anonymity]]
over = ["Place"]
k = 150
"""


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    rng = random.Random(3)
    new, old = ["Id,Test,Job,Place,Sex,Class"], ["Id,Place,Sex,Zip"]
    for i in range(400):
        place, sex, job = rng.choice(["UK", "FR", "US", "CA"]), rng.choice("MF"), rng.choice("ABCD")
        test = rng.choice(["HIV", "Eye", "Eye", "Flu", "Flu", "Flu"])
        goal = "yes" if (job in "AB") ^ (rng.random() < 0.2) else "no"
        new.append(f"{i},{test},{job},{place},{sex},{goal}")
        old.append(f"{i},{place},{sex},Z{rng.randrange(3)}")
    Path("new.csv").write_text("\n".join(new) + "\n")
    Path("old.csv").write_text("\n".join(old) + "\n")
    Path("policy.toml").write_text(POLICY)


def release(*words: object, code: int = 0, policy: str = "policy.toml") -> str:
    return run("release", "new.csv", "-p", policy, *words, code=code).output


def test_risk_release_and_verify() -> None:
    risk = answer("risk", "new.csv", "-p", "policy.toml")["templates"]
    assert risk[0]["joined_with"] == ["clinic"]
    told = answer("release", "new.csv", "-p", "policy.toml", "-o", "out")
    assert all(template["verified"] for template in told["templates"])
    [meets] = told["joined_with"]
    assert meets["by"] == ["Place", "Sex"]
    assert meets["records"] == 400
    assert 1 < meets["candidates_before"] <= meets["candidates_after"] < 400
    public = json.loads(Path("out/public/report.json").read_text(encoding="utf-8"))
    assert public["joined_with"] == [{"release": "clinic", "records": 400, "by": ["Place", "Sex"]}]
    private = Path("out/private/report.html").read_text(encoding="utf-8")
    assert "Earlier releases about the same people" in private
    page = Path("out/public/report.html").read_text(encoding="utf-8")
    assert "Even joined with clinic: nobody who knows Job, Place, clinic.Place and" in page
    said = run("verify", "out", "-p", "policy.toml", code=2).output  # Id is not published
    assert "not checkable" in said
    run("verify", "out", "-p", "policy.toml", "--skip-uncheckable")


def test_an_earlier_release_folder_tells_its_own_marker_and_taxonomies() -> None:
    Path("old.toml").write_text(OLD)
    run("release", "old.csv", "-p", "old.toml", "-o", "clinic-2025")
    folder = POLICY.replace('path = "old.csv"\ndrop = ["Id"]', 'path = "clinic-2025"')
    folder = folder.replace('of = ["Id"]\n', "")
    Path("policy.toml").write_text(folder)
    release("-o", "out")
    run("verify", "out", "-p", "policy.toml")
    shown = {row.split(",")[0] for row in
             Path("clinic-2025/public/data.csv").read_text().splitlines()[1:]}  # fmt: skip
    assert shown == {"Europe", "America"}


def test_a_release_can_be_named_or_found_elsewhere() -> None:
    Path("old.csv").rename("moved.csv")
    assert "there is no such file" in release("-o", "out.csv", code=2)
    release("-o", "out.csv", "--previous", "clinic=moved.csv")
    bare = POLICY.replace('[previous.clinic]\npath = "old.csv"\ndrop = ["Id"]\n', "")
    Path("bare.toml").write_text(bare)
    assert 'no column "clinic.Place"' in release("-o", "b.csv", code=2, policy="bare.toml")
    release("-o", "b.csv", "--previous", "clinic=moved.csv", policy="bare.toml")
    assert "NAME=PATH" in release("-o", "c.csv", "--previous", "moved.csv", code=2)
    assert "no database" in release("-o", "c.csv", "--previous", "clinic=sqlite:///x.db", code=2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"clinic.Place", "clinic.Zip"]\nsens', '"clinic.Zip"]\nsens', "only one side of it"),
        ("{ Test = [\"HIV\"] }", '{ Test = ["HIV"], "clinic.Zip" = "*" }', "of several tables"),
        ('"clinic.Zip"]\nof', '"clinic.Zap"]\nof', 'no column "Zap"'),
        ('"clinic.Zip"]\nof', '"clinc.Zip"]\nof', 'Did you mean "clinic.Zip"?'),
        ('"clinic.Zip"]\nof', '"clinic.Zip", "clinic.Id"]\nof', "never published"),
        ('of = ["Id"]', 'of = ["clinic.Ids"]', 'no column "Ids"'),
        ('drop = ["Id"]\n[attr', 'drop = ["Name"]\n[attr', 'it has no column "Name"'),
        ('path = "old.csv"', 'path = "gone.csv"', "there is no such file"),
        ('path = "old.csv"', "", "path"),
        ("[previous.clinic]", '[previous."a.b"]', "is no name"),
        ('"Job", "Place", "clinic.Place", "clinic.Zip"]', '"clinic.Zip"]', "nothing could be masked"),
        ("class =", "suppress_records = 0.02\nclass =", "cannot be left out"),
        ('["US", "CA"]', '["US"], Else = ["CA", "XX"]', None),
        ('"FR"], America', '"XX"], America', "no leaf for"),
        ("[[anonymity]]", '[[inconsistent]]\nSex = "M"\n[[anonymity]]', "name two columns"),
        ("[[anonymity]]", '[[inconsistent]]\nSex = "M"\nZap = "x"\n[[anonymity]]', "no release has"),
        ("[attributes.Place]", "[attributes.Palace]\njoin = false\n[attributes.Place]", "Palace"),
        ('{ Test = ["HIV"] }', '{ "clinic.Sex" = ["X"] }', "never occur"),
        ('{ Test = ["HIV"] }', '{ "clinic.Zip" = "*" }', "is sensitive and stands in `over`"),
        ('path = "old.csv"', 'path = "sqlite:///old.db"', "and no database"),
    ],
)  # fmt: skip
def test_what_can_be_wrong_with_a_policy(old: str, new: str, said: str | None) -> None:
    assert old in POLICY
    policy = POLICY.replace(old, new)
    if "masked" in (said or ""):
        policy = policy.replace('["Sex"]', '["Sex", "Job", "Place"]')
    if "Test" not in policy:
        policy = policy.replace('keep = ["Sex"]', 'keep = ["Sex", "Test"]')
    Path("policy.toml").write_text(policy)
    found = release("-o", "out.csv", code=2 if said else 0)
    assert (said or "") in found
    assert Path("out.csv").exists() == (said is None)


def test_people_who_are_not_in_both() -> None:
    rows = Path("old.csv").read_text().splitlines()
    Path("old.csv").write_text("\n".join([rows[0], *[r for r in rows[1:] if ",CA," not in r]]))
    said = release("-o", "out.csv", code=2)
    missing = sum(",CA," in row for row in Path("new.csv").read_text().splitlines())
    assert f"{missing} records of this table match nothing in release clinic" in said


def test_values_outside_the_taxonomy_are_told_only_when_asked() -> None:
    text = Path("old.csv").read_text().replace(",UK,", ",Atlantis,", 3)
    Path("old.csv").write_text(text)
    said = release("-o", "out.csv", code=2)
    assert '1 values of column "Place" are neither' in said
    assert "Atlantis" not in said
    assert "Atlantis" in release("-o", "out.csv", "--show-values", code=2)


def test_continuous_columns_need_fixed_intervals_or_no_join() -> None:
    for name in ("new.csv", "old.csv"):
        head, *rows = Path(name).read_text().splitlines()
        lines = [f"{head},Age", *(f"{row},{20 + i % 50}" for i, row in enumerate(rows))]
        Path(name).write_text("\n".join(lines) + "\n")
    kept = POLICY.replace('["Sex"]', '["Sex", "Age"]')
    Path("policy.toml").write_text(kept)
    said = release("-o", "a.csv", code=2)
    assert "it is continuous" in said
    assert "give it fixed  intervals" in said
    Path("policy.toml").write_text(f"{kept}[attributes.Age]\njoin = false\n")
    release("-o", "b.csv")
    Path("policy.toml").write_text(f"{kept}[attributes.Age]\nintervals = [0, 30, 100]\n")
    release("-o", "kept.csv")  # which takes no mask
    bins = '[attributes.Age]\nmask = "discretize"\nintervals = [0, 30, 50, 100]\n'
    masked = POLICY.replace('"Job", ', '"Job", "Age", "clinic.Age", ')
    Path("policy.toml").write_text(masked.replace("k = 10", "k = 2").replace("0.3", "0.9") + bins)
    said = release("-o", "c.csv", "--json")
    told = json.loads(said.splitlines()[-1])
    assert "Age" in told["joined_with"][0]["by"]
    run("verify", "c.csv", "-p", "policy.toml", "--skip-uncheckable")


def test_the_policy_that_is_kept_finds_the_earlier_release() -> None:
    Path("far").mkdir()
    release("-o", "far/out")
    run("verify", "far/out", "-p", "far/out/private/policy.toml", "--skip-uncheckable")
    run("release", "new.csv", "-p", "far/out/private/policy.toml", "-o", "again")
    again = Path("again/public/data.csv").read_bytes()
    assert again == Path("far/out/public/data.csv").read_bytes()


def test_infeasible_says_what_fails() -> None:
    Path("policy.toml").write_text(POLICY.replace("at_most = 0.3", "at_most = 0.01"))
    said = release("-o", "out.csv", code=3)
    assert "fully masked table breaks" in said
    assert "joined with clinic" in said


def test_a_release_beside_another_is_told_of() -> None:
    plain = 'keep = "*"\n[[anonymity]]\nover = ["Place"]\nk = 5\n'
    Path("plain.toml").write_text(plain)
    first = release("-o", "first", policy="plain.toml")
    assert "stands beside" not in first
    second = release("-o", "second", policy="plain.toml")
    assert "the release first stands beside this one and publishes" in second
    assert "first" not in Path("second/public/report.json").read_text(encoding="utf-8")
    third = release("-o", "third", policy="plain.toml")
    assert third.count("beside this one") == 1
    assert "the releases first, second stand beside this one and publish" in third
    named = POLICY.replace('path = "old.csv"\ndrop = ["Id"]', 'path = "first"')
    named = named.replace("clinic.Zip", "clinic.Test").replace('of = ["Id"]\n', "")
    named = named.replace('keep = ["Sex"]', 'keep = ["Sex"]\n')
    Path("named.toml").write_text(named)
    run("policy", "check", "named.toml")


def test_whatever_counts_our_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    release("-o", "a.csv", "--engine", "memory", "--trace", "a.jsonl")
    monkeypatch.setattr(means, "free_memory", lambda: 10_000)
    release("-o", "b.csv", "--trace", "b.jsonl")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


def test_sweep_and_evaluate_know_of_joins() -> None:
    release("-o", "out")
    given = ["-p", "policy.toml", "--classifiers", "tree", "-o", "page.html"]
    said = run("evaluate", "new.csv", "out", *given).output
    assert "Who knows Job, Place" in said
    assert "what a join with clinic reveals" in Path("page.html").read_text(encoding="utf-8")
    run("sweep", "new.csv", "-p", "policy.toml", "--k", "5,20", "-o", "sweep")
    for k in (5, 20):
        strict = Path("policy.toml").read_text().replace("k = 10", f"k = {k}")
        Path(f"k{k}.toml").write_text(strict)
        run("release", "new.csv", "-p", f"k{k}.toml", "-o", f"k{k}.csv")
        swept = Path(f"sweep/k-{k}/public/data.csv").read_bytes()
        assert swept == Path(f"k{k}.csv").read_bytes()


def test_previous_releases_in_python() -> None:
    policy = reticent.Policy.load("policy.toml")
    found = reticent.release("new.csv", policy, previous={"clinic": Path("old.csv")})
    assert found.meets[0].release == "clinic"
    assert reticent.verify(found.table, policy).holds
    again = reticent.Policy.parse(policy.canonical())
    assert again.model_dump() == policy.model_dump()
    assert again.releases == ("clinic",)


def test_what_is_said_and_changes_nothing() -> None:
    plain = 'keep = "*"\ndrop = ["Id"]\n[previous.clinic]\npath = "old.csv"\ndrop = ["Id"]\n'
    plain += '[[anonymity]]\nover = ["Place"]\nk = 5\n'
    Path("plain.toml").write_text(plain)
    said = release("-o", "a.csv", policy="plain.toml")
    assert "clinic is declared, but no template names a column of it" in said
    Path("policy.toml").write_text(POLICY + '[[inconsistent]]\nSex = "M"\nZip = "Z9"\n')
    assert '[[inconsistent]] 1 rules nothing out: column "Zip"' in release("-o", "b.csv")


# --- verify, as careful as release ----------------------------------------------------------------


def elsewhere(policy: str) -> None:
    """Two releases as somebody else gets them: their public sides, and no taxonomy file."""
    Path("place.csv").write_text("UK,Europe,ANY\nFR,Europe,ANY\nUS,America,ANY\nCA,America,ANY\n")
    Path("old.toml").write_text(OLD.replace("k = 150", "k = 2"))
    run("release", "old.csv", "-p", "old.toml", "-o", "first")
    Path("alone.toml").write_text(
        'class = "Class"\ndrop = ["Id"]\nkeep = ["Sex", "Test"]\n'
        '[attributes.Place]\nmask = "generalize"\ntaxonomy = "place.csv"\n'
        '[[anonymity]]\nover = ["Job", "Place"]\nk = 40\n'
    )
    run("release", "new.csv", "-p", "alone.toml", "-o", "second")
    with_file = policy.replace(PLACES, 'taxonomy = "place.csv"')
    Path("joined.toml").write_text(
        with_file.replace('path = "old.csv"\ndrop = ["Id"]', 'path = "first"')
    )
    Path("there").mkdir()
    shutil.copytree("second/public", "there/public")
    shutil.copytree("first/public", "there/first")
    shutil.copy("joined.toml", "there/policy.toml")


def test_a_broken_promise_is_found_without_the_taxonomy_files() -> None:
    elsewhere(POLICY.replace("at_most = 0.3", "at_most = 0.2"))
    assert not Path("there/place.csv").exists()
    at_home = run("verify", "second", "-p", "joined.toml", "--skip-uncheckable", code=1).output
    there = ["verify", "there/public", "-p", "there/policy.toml", "--skip-uncheckable"]
    abroad = run(*there, code=1).output
    assert "BROKEN" in at_home
    assert at_home.splitlines()[:4] == abroad.splitlines()[:4]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("clinic.Zip", "clinic.Zap", 'there is no column "Zap"'),
        ('"clinic.Place", "clinic.Zip"]\nsens', '"clinic.Zip"]\nsens', "only one side of it"),
        ("[[anonymity]]", '[[inconsistent]]\nSax = "M"\nZip = "Z1"\n[[anonymity]]', '"Sex"?'),
        ('path = "old.csv"', 'path = "few.csv"', "match nothing"),
        ('path = "old.csv"', 'path = "odd.csv"', "neither in its taxonomy"),
    ],
)
def test_verify_refuses_what_release_refuses(old: str, new: str, said: str) -> None:
    release("-o", "out")
    lines = Path("old.csv").read_text().splitlines()
    Path("few.csv").write_text("\n".join(lines[:2]) + "\n")
    Path("odd.csv").write_text("\n".join(lines).replace(",UK,", ",Mars,") + "\n")
    Path("policy.toml").write_text(POLICY.replace(old, new))
    assert said in run("verify", "out", "-p", "policy.toml", "--skip-uncheckable", code=2).output


def test_verify_says_what_changes_nothing() -> None:
    release("-o", "out")
    idle = POLICY + '[[inconsistent]]\nSex = "X"\nZip = "Z1"\n'
    Path("policy.toml").write_text(idle)
    said = run("verify", "out", "-p", "policy.toml", "--skip-uncheckable").output
    assert 'column "Sex" has no value "X"' in said


def test_an_earlier_release_that_was_changed_is_refused() -> None:
    Path("old.toml").write_text(OLD)
    run("release", "old.csv", "-p", "old.toml", "-o", "first")
    Path("policy.toml").write_text(POLICY.replace('"old.csv"\ndrop = ["Id"]', '"first"'))
    release("-o", "out")
    data = Path("first/public/data.csv")
    data.write_text(data.read_text().replace("Z1", "Z2"))
    for command in (["release", "new.csv", "-o", "again"], ["risk", "new.csv"], ["verify", "out"]):
        said = run(*command, "-p", "policy.toml", code=2).output
        assert "not the file that manifest.json describes" in said


def test_an_earlier_release_is_never_written_into() -> None:
    Path("old.toml").write_text(OLD)
    run("release", "old.csv", "-p", "old.toml", "-o", "first")
    Path("policy.toml").write_text(POLICY.replace('"old.csv"\ndrop = ["Id"]', '"first"'))
    before = Path("first/public/data.csv").read_bytes()
    assert "part of an input" in release("-o", "first/public/data.csv", "--force", code=2)
    assert Path("first/public/data.csv").read_bytes() == before


def test_where_earlier_releases_stand_can_be_told_to_every_command() -> None:
    Path("policy.toml").write_text(POLICY.replace('path = "old.csv"\n', ""))
    assert "nobody says where it stands" in release("-o", "out", code=2)
    told = ["-p", "policy.toml", "--previous", "clinic=old.csv"]
    release("-o", "out", "--previous", "clinic=old.csv")
    run("evaluate", "new.csv", "out", *told, "--classifiers", "tree")
    run("sweep", "new.csv", *told, "--k", "10", "-o", "sweep")
    run("verify", "out", *told, "--skip-uncheckable")
    assert 'Did you mean "clinic"' in release("-o", "o", "--previous", "clinik=old.csv", code=2)
    assert "two paths" in run("risk", "new.csv", *told, "--previous", "clinic=x.csv", code=2).output
    assert "NAME=PATH" in release("-o", "o", "--previous", "clinic=", code=2)


def test_names_of_releases_that_nobody_declared() -> None:
    bare = POLICY.replace('[previous.clinic]\npath = "old.csv"\ndrop = ["Id"]\n', "")
    Path("bare.toml").write_text(bare)
    said = run("policy", "check", "bare.toml").output
    assert "no release clinic is named in [previous]" in said
    said = release("-o", "out", policy="bare.toml", code=2)
    assert "if clinic is an earlier release: add  [previous.clinic]" in said


def test_columns_of_earlier_releases_are_checked_without_our_table() -> None:
    Path("policy.toml").write_text(POLICY.replace("clinic.Zip", "clinic.Zap"))
    assert 'no column "Zap"' in run("policy", "check", "policy.toml", code=2).output
    both = POLICY.replace("clinic.Zip", "clinic.Zap").replace('of = ["Id"]', 'of = ["Idd"]')
    Path("policy.toml").write_text(both)
    said = run("policy", "check", "policy.toml", "new.csv", code=2).output
    assert 'no column "Zap"' in said
    assert 'no column "Idd"' in said


def test_the_page_says_how_to_count_again() -> None:
    release("-o", "out")
    page = Path("out/public/report.html").read_text(encoding="utf-8")
    assert "verify public/ --policy policy.toml --previous clinic=PATH --skip-uncheckable" in page


def test_nobody_is_told_where_earlier_releases_stand() -> None:
    Path("of the clinic").mkdir()
    Path("old.csv").rename("of the clinic/moved.csv")
    release("-o", "out", "--previous", f"clinic={Path('of the clinic/moved.csv').absolute()}")
    for file in Path("out/public").iterdir():
        assert b"of the clinic" not in file.read_bytes()
    assert "moved.csv" in Path("out/public/report.html").read_text(encoding="utf-8")


def test_the_owner_recounts_joined_promises_whose_people_are_not_published() -> None:
    made = answer("release", "new.csv", "-p", "policy.toml", "-o", "out.csv")
    alone = answer("verify", "out.csv", "-p", "policy.toml", code=2)
    assert [one["holds"] for one in alone["templates"]] == [None, True]
    found = answer("verify", "out.csv", "-p", "policy.toml", "--original", "new.csv")
    assert [one["after"] for one in found["templates"]] == [
        one["after"] for one in made["templates"]
    ]
    assert found["holds"] is True


def test_how_many_people_are_in_both() -> None:
    """Told by the owner's ids; to be about the same people is said only where it is so."""
    both = {"release": "clinic", "by": ["Id"], "here": 400, "there": 400, "both": 400}
    assert answer("risk", "new.csv", "-p", "policy.toml")["people"] == [both]
    assert "clinic is about the same 400 people, as Id tells." in release("-o", "out")
    public = "".join(path.read_text() for path in Path("out/public").iterdir())
    assert "as Id tells" not in public
    lines = Path("old.csv").read_text().splitlines()
    old = [lines[0], *lines[3:], *(f"x{line}" for line in lines[1:3])]
    Path("old.csv").write_text("\n".join(old) + "\n")
    assert answer("release", "new.csv", "-p", "policy.toml", "-o", "again")["people"] == [
        both | {"both": 398}
    ]
    page = Path("again/private/report.html").read_text(encoding="utf-8")
    assert "Earlier releases about the same people" not in page
    assert "398 of 400 people here are in clinic, too" in page
    given = ("verify", "again", "-p", "policy.toml")
    assert answer(*given, "--original", "new.csv")["people"] == [both | {"both": 398}]
    [nobody] = answer(*given, "--skip-uncheckable")["people"]
    assert nobody == {"release": "clinic", "by": [], **dict.fromkeys(("here", "there", "both"))}


def test_people_of_a_release_folder_are_those_of_what_it_was_made_from() -> None:
    Path("old.toml").write_text(OLD)
    run("release", "old.csv", "-p", "old.toml", "-o", "clinic-2025")
    named = POLICY.replace('path = "old.csv"\ndrop = ["Id"]', 'path = "clinic-2025"')
    Path("policy.toml").write_text(named)
    assert "clinic is about the same 400 people, as Id tells." in release("-o", "out")
    Path("old.csv").write_text(Path("old.csv").read_text() + "1,UK,M,Z1\n")  # another since
    assert "Nothing tells how many people are both here and in clinic" in release("-o", "more")
