"""Commands of private search: what is made of documents, what leaves, and what is told of it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from at_hand import file_of, mode, refusal
from places_at_hand import GIVEN
from reticent import search
from reticent.search.exposing import ExposedProfile
from terminal import ROOT, answer, finished, run, start, table_of

WORDS_AS_THEY_ARE = ("--language", "none", "--minsup", 2)


@pytest.fixture
def interests(work: Path) -> Path:
    """The worked example: ten documents in docs."""
    return Path(shutil.copytree(GIVEN / "interests", work, dirs_exist_ok=True))


@pytest.fixture
def profile(interests: Path) -> str:
    """Their profile."""
    run("profile", "build", "docs", "-o", "profile.json", *WORDS_AS_THEY_ARE, "-q")
    return "profile.json"


def flat(nodes: list[dict[str, Any]], above: str = "") -> dict[str, tuple[str, str]]:
    found = {}
    for node in nodes:
        path = f"{above}{node['label']}"
        found[path] = (node["support"], node["others"])
        found |= flat(node["children"], f"{path} > ")
    return found


# --- the worked example --------------------------------------------------------------------------

TREE = {
    "research": ("5", "0"),
    "research > personalized/search": ("3", "0"),
    "research > ai": ("2", "0"),
    "sports": ("7/2", "3/2"),
    "sports > soccer": ("2", "0"),
    "sex": ("3/2", "0"),
}
EXPOSED = {
    "0.85": {
        "terms": [["personalized/search", 0.523], ["research", 0.301], ["sports", 0.456]],
        "ratio": 0.848,
        "min_detail": 0.3,
    },
    "0.7": {"terms": [["research", 0.301], ["sports", 0.456]], "ratio": 0.634, "min_detail": 0.35},
    "0.5": {"terms": [["research", 0.301]], "ratio": 0.44, "min_detail": 0.5},
    "0.25": {"terms": [], "ratio": 0, "min_detail": None},
}


def test_the_worked_example_as_a_tree(profile: str) -> None:
    told = answer("profile", "show", profile)
    assert told["documents"] == 10
    assert flat(told["tree"]) == TREE
    assert [node["label"] for node in told["tree"]] == ["research", "sports", "sex"]
    assert told["tree"][0]["children"][0]["terms"] == ["search", "personalized"]
    assert set(told) == {"documents", "tree"}
    assert set(told["tree"][0]) == {"label", "terms", "support", "children", "others"}


@pytest.mark.parametrize("ratio", EXPOSED)
def test_the_worked_example_exposed_by_ratio(profile: str, ratio: str) -> None:
    told = answer("profile", "expose", profile, "--ratio", ratio, "-o", "exposed.json")
    assert json.loads(Path("exposed.json").read_text()) == told["exposed"] == EXPOSED[ratio]
    assert told["kept"] + told["interests"] == len(TREE)
    shown = answer("profile", "show", profile, "--ratio", ratio)
    assert shown["exposed"] == EXPOSED[ratio]
    assert flat(shown["tree"]) == TREE


def test_the_file_that_leaves_is_as_it_is_described(profile: str) -> None:
    run("profile", "expose", profile, "--min-detail", "0.3", "-o", "exposed.json")
    assert Path("exposed.json").read_text() == (
        '{"terms": [["personalized/search", 0.523], ["research", 0.301], ["sports", 0.456]], '
        '"ratio": 0.848, "min_detail": 0.3}\n'
    )


def test_hidden_interests_stay_with_all_below_them(profile: str) -> None:
    given = ("--min-detail", "0.01", "--hide", "Search", "--hide", "SPORTS")
    told = answer("profile", "expose", profile, *given, "-o", "exposed.json")
    assert [label for label, _ in told["exposed"]["terms"]] == ["ai", "research", "sex"]
    said = run("profile", "expose", profile, *given, "-o", "exposed.json", "--force")
    assert "personalized" not in said.output
    assert "soccer" not in said.output


def test_a_tree_is_shown_without_what_is_hidden(profile: str) -> None:
    told = answer("profile", "show", profile, "--hide", "search", "--hide", "soccer")
    assert flat(told["tree"]) == {
        "research": ("5", "3"),  # what is hidden is one of the others
        "research > ai": ("2", "0"),
        "sports": ("7/2", "7/2"),
        "sex": ("3/2", "0"),
    }
    said = run("profile", "show", profile, "--hide", "search").stdout
    assert "6 interests on 2 levels, 1 of them hidden" in said
    assert "personalized" not in said
    assert "  (others)  3.0" not in said
    assert re.search(r"\n  \(others\) +3  ", said)
    every = [word for top in ("research", "sports", "sex") for word in ("--hide", top)]
    assert "Every interest is hidden." in run("profile", "show", profile, *every).stdout
    assert answer("profile", "show", profile, *every) == {"documents": 10, "tree": []}


def test_supports_are_decimals_for_people_and_exact_for_programs(profile: str) -> None:
    said = run("profile", "show", profile).stdout
    assert "3.5" in said
    assert "7/2" not in said
    assert answer("profile", "show", profile)["tree"][1]["support"] == "7/2"


def test_a_tree_is_shown_so_deep(profile: str) -> None:
    told = answer("profile", "show", profile, "--depth", 1)
    assert flat(told["tree"]) == {k: v for k, v in TREE.items() if ">" not in k}
    said, _, steps = run("profile", "show", profile, "--depth", 1).stdout.partition("What could")
    assert "sports" in said
    assert "soccer" not in said
    assert "0.85             3  personalized/search" in steps


def test_the_door_and_the_commands_do_the_same(profile: str) -> None:
    found = search.build_profile("docs", minsup=2, language="none", output="again.json")
    assert Path("again.json").read_bytes() == Path(profile).read_bytes()
    given = ("-o", profile, *WORDS_AS_THEY_ARE, "--force")
    told = answer("profile", "build", "docs", *given)
    assert {**told, "seconds": 0} == {**found.summary(), "output": profile, "seconds": 0}
    assert search.expose(found.profile, ratio=0.85).exposed.data() == EXPOSED["0.85"]
    whole = search.expose(found.profile, ratio=1, hide="sports")
    assert whole.hidden == search.expose(found.profile, ratio=1, hide=["sports"]).hidden
    assert "6 interests on 2 levels" in found._repr_html_()


def test_outputs_are_their_owners_alone(profile: str) -> None:
    run("profile", "expose", profile, "--ratio", "0.85", "-o", "exposed.json")
    assert [mode(profile), mode("exposed.json")] == [0o600, 0o600]


# --- what people have ----------------------------------------------------------------------------


def test_words_are_shown_as_they_are_written(work: Path) -> None:
    folder = work / "Übungen und Läufe"
    folder.mkdir()
    for i in range(6):
        file_of(folder, f"Die Übungen waren gut, die Läufer {i} auch.", f"Tag ä {i}.txt")
    told = answer("profile", "build", folder, "-o", "mein profil.json")
    assert (told["language"], told["language_guessed"]) == ("german", True)
    assert told["read"] == {"text": 6}
    said = run("profile", "show", "mein profil.json").stdout
    assert "übungen" in said
    shown = answer("profile", "show", "mein profil.json")
    assert "übungen" not in str(shown)  # it is told by its stem


def test_the_sample_has_the_interests_it_was_made_with(work: Path) -> None:
    run("sample", "mail", "-o", "made", "-q")
    told = answer("profile", "build", "made/mine", "-o", "profile.json")
    assert (told["language"], told["skipped"]) == ("english", [])
    assert told["read"] == {"mail": 60, "text": 7, "page": 1}
    shown = answer("profile", "show", "profile.json", "--depth", 1)
    terms = {term for node in shown["tree"] for term in node["terms"]}
    assert {"harbour", "catalogu", "bread", "knee", "garden"} <= terms


def test_further_stop_words_are_none_of_a_profile(interests: Path) -> None:
    Path("stop.txt").write_text("sports, Research\nsex")
    told = answer(
        "profile", "build", "docs", "-o", "p.json", "--minsup", 2, "--stop-words", "stop.txt",
        "--language", "english",
    )  # fmt: skip
    assert told["without_terms"] == 0
    assert "sport" not in run("profile", "show", "p.json").stdout


def test_an_interest_may_need_more_than_there_is(interests: Path) -> None:
    said = run("profile", "build", "docs", "-o", "p.json", "--minsup", 9)
    assert "No word stands in 9 documents or more" in said.stderr
    assert said.stdout.endswith("Written to p.json, for your eyes alone.\n")
    assert [*said.output.splitlines()][-1].startswith("No word stands")
    assert "There is no interest in it." in run("profile", "show", "p.json").stdout
    told = answer("profile", "expose", "p.json", "--ratio", 1, "-o", "e.json")
    assert told["exposed"] == {"terms": [], "ratio": 0, "min_detail": None}


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["build", "nowhere", "-o", "p.json"], "nowhere"),
        (["build", "empty", "-o", "p.json"], "no document"),
        (["build", "docs", "-o", "p.json", "--language", "klingon"], "klingon"),
        (["build", "docs", "-o", "p.json", "--language", "englsh"], 'Did you mean "english"?'),
        (["build", "docs", "-o", "p.json", "--delta", "1.5"], "give 0.6."),
        (["build", "docs", "-o", "p.json", "--keywords", "0"], "--keywords"),
        (["build", "docs", "-o", "p.json", "--keywords", "many"], "--keywords"),
        (["build", "docs", "-o", "p.json", "--keywords", "²"], "--keywords"),
        (["build", "docs", "-o", "p.json", "--minsup", "0"], "minsup"),
        (["build", "docs", "-o", "p.json", "--minsupp", "2"], "--minsup"),
        (["build", "docs", "-o", "p.json", "--stop-words", "nowhere.txt"], "nowhere.txt"),
        (["build", "docs", "-o", "profile.json"], "exists already"),
        (["build", "docs/d01.txt", "-o", "docs/d01.txt", "--force"], "input"),
        (["build", "docs"], "--output"),
        (["build", "-o", "p.json"], "DOCS"),
        (["show", "nowhere.json"], "nowhere.json"),
        (["show", "docs/d01.txt"], "no profile"),
        (["show", "profile.json", "--hide", "tea"], 'the word "tea"'),
        (["show", "profile.json", "--ratio", "0.5", "--min-detail", "0.5"], "--min-detail"),
        (["show", "profile.json", "--depth", "0"], "depth"),
        (["expose", "profile.json", "-o", "e.json"], "--ratio 0.25"),
        (["expose", "profile.json", "-o", "e.json", "--ratio", "25"], "between 0 and 1"),
        (["expose", "profile.json", "-o", "e.json", "--ratio", "0,25"], "not a comma: 0.25."),
        (["expose", "profile.json", "-o", "e.json", "--ratio", "1e-999999999"], "between 0 and 1"),
        (["expose", "profile.json", "-o", "e.json", "--ratio", "nan"], "between 0 and 1"),
        (
            ["expose", "profile.json", "-o", "e.json", "--ratio", "1", "--hide", "tea"],
            'the word "tea"',
        ),
        (["expose", "profile.json", "-o", "e.json", "--ratio", "1", "--hide", ""], "no word to"),
        (["expose", "profile.json", "-o", "e.json", "--ratio", "50%"], "percent: 0.5."),
        (["expose", "profile.json", "-o", "e.json", "--min-detail", "2"], "give 0.1."),
        (["expose", "profile.json", "-o", "profile.json", "--ratio", "1", "--force"], "input"),
        (["expose", "profile.json", "-o", "no/e.json", "--ratio", "1"], "no folder"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_cannot_be_done_is_said(profile: str, given: list[str], said: str) -> None:
    Path("empty").mkdir()
    before = Path(profile).read_bytes()
    result = run("profile", *given, code=2)
    assert said in result.stderr
    assert not Path("p.json").exists()
    assert not Path("e.json").exists()
    assert Path(profile).read_bytes() == before
    told = answer("profile", *given, code=2) if "Usage" not in result.stderr else None
    assert told is None or set(told) == {"error", "problems"}


def test_a_whole_profile_is_none_to_be_told(profile: str) -> None:
    refusal(lambda: ExposedProfile.load(profile), "stays with its owner", "profile expose")
    refusal(lambda: ExposedProfile.load("docs/d01.txt"), "no exposed profile")


def test_quiet_is_quiet_and_programs_hear_the_end(interests: Path) -> None:
    result = run("profile", "build", "docs", "-o", "p.json", *WORDS_AS_THEY_ARE, "-q")
    assert result.output == ""
    told = run(
        "profile", "build", "docs", "-o", "p.json", *WORDS_AS_THEY_ARE, "--force", "--progress",
        "json",
    ).stderr.splitlines()  # fmt: skip
    stages = [json.loads(line)["stage"] for line in told if line.startswith("{")]
    assert [*dict.fromkeys(stages)][:3] == ["read", "grow", "write"]


@pytest.mark.net
@pytest.mark.parametrize(
    "command", [("profile", "build", "-o", "p.json"), ("search", "index", "-o", "index")]
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_is_interrupted_writes_nothing(
    work: Path, command: tuple[str, ...], number: int, code: int
) -> None:
    folder = work / "many"
    folder.mkdir()
    for i in range(200):
        file_of(folder, f"boats and harbours {i} " * 20_000, f"{i}.txt")
    running = start(*command, "many", "--progress", "json")
    assert running.stderr is not None
    assert running.stderr.readline().startswith('{"stage": ')
    running.send_signal(number)
    ended, out, err = finished(running)
    assert (ended, out) == (code, "")
    assert "nothing was written" in err
    assert json.loads(err.splitlines()[-1]) == {"stage": "done", "exit": code}
    assert {path.name for path in work.iterdir()} == {"many"}


@pytest.mark.slow
def test_a_deep_tree_is_told_to_programs(work: Path) -> None:
    from fractions import Fraction

    node = search.ProfileNode(("bottom",), Fraction(1))
    for level in range(3000):
        node = search.ProfileNode((f"t{level}",), Fraction(level + 2, 2), (node,))
    deep = search.Profile(5000, (node,), "none", None, 1, Fraction(1, 2))
    search.write_profile(deep, "deep.json")
    line = run("profile", "show", "deep.json", "--json").stdout
    assert line.count('"label"') == 3001
    run("profile", "show", "deep.json")
    told = answer("profile", "show", "deep.json", "--depth", 2)
    assert len(flat(told["tree"])) == 2


# --- searching -----------------------------------------------------------------------------------


@pytest.fixture
def library(work: Path) -> Path:
    """An index of the library that comes with the sample, and what may be told of a sailor."""
    run("sample", "mail", "-o", "made", "-q")
    run("search", "index", "made/library", "-o", "index", "-q")
    exposed = {"terms": [["harbour/boat", 0.6], ["sail", 0.5]], "ratio": 0.4, "min_detail": 0.2}
    Path("exposed.json").write_text(json.dumps(exposed))
    return work


def places(*given: object) -> list[str]:
    told = answer("search", "query", *given)
    return [Path(one["place"]).stem for one in told["results"]]


def test_a_profile_brings_its_interest_forward(library: Path) -> None:
    plain = places("port", "--index", "index")
    told = places("port", "--index", "index", "--profile", "exposed.json")
    assert {*plain} == {*told}
    assert told.index("port-of-call") < plain.index("port-of-call")
    only = places("port", "--index", "index", "--profile", "exposed.json", "--alpha", 1)
    assert only[0] == "port-of-call"
    none = places("port", "--index", "index", "--profile", "exposed.json", "--alpha", 0)
    assert none == plain


def test_a_query_of_many_words_says_what_is_meant(library: Path) -> None:
    words = "port numbers of a computer program"
    plain = places(words, "--index", "index")
    assert places(*words.split(), "--index", "index") == plain  # without quotes
    assert places(words, "--index", "index", "--profile", "exposed.json") == plain
    said = run("search", "query", words, "--index", "index", "--profile", "exposed.json").stdout
    assert "the profile counts nothing" in said


def test_searching_by_the_door_and_by_the_command_is_the_same(library: Path) -> None:
    told = answer(
        "search", "query", "port", "--index", "index", "--profile", "exposed.json",
        "--fusion", "scores",
    )  # fmt: skip
    exposed = ExposedProfile.load("exposed.json")
    for profile in (exposed, exposed.data(), "exposed.json", Path("exposed.json")):
        found = search.query("port", index="index", profile=profile, fusion="scores")
        assert [one.page.place for one in found.pages] == [o["place"] for o in told["results"]]
        assert found.fusion == told["fusion"] == "scores"


def test_an_open_index_is_asked_again_and_again(library: Path) -> None:
    index = search.LocalIndex.open("index")
    exposed = ExposedProfile.load("exposed.json")
    for word in ("port", "current"):
        found = search.answer(index, word, exposed)
        assert found.pages == search.query(word, index="index", profile=exposed).pages


def test_every_name_of_the_door_is_there_and_explained() -> None:
    assert sorted(search.__all__) == sorted(dir(search))
    first = {name: getattr(search, name) for name in search.__all__}
    for name, thing in first.items():
        assert thing.__doc__.split("\n")[0].endswith((".", ":")), name
        assert getattr(search, name) is thing, f"a module of this name takes the place of {name}"
        assert thing.__name__ == name


def test_a_whole_profile_is_not_taken_for_what_may_be_told(library: Path) -> None:
    whole: Any = search.build_profile("made/library", output="profile.json").profile
    said = run("search", "query", "port", "--index", "index", "--profile", "profile.json", code=2)
    assert "a whole profile, which stays with its owner" in said.stderr
    assert "profile expose" in said.stderr
    refusal(lambda: search.query("port", index="index", profile=whole), "no exposed")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "--index INDEX  or  --engine URL"),
        (["--index", "index", "--engine", "http://127.0.0.1:1/_search"], "one of --index"),
        (["--index", "index", "--language", "english"], "an index knows its language"),
        (["--engine", "nowhere"], "no address"),
        (["--engine", "http://127.0.0.1:1/_search", "--language", "klingon"], "klingon"),
        (["--index", "index", "--fusion", "score"], "score"),
    ],
    ids=str,
)
def test_where_to_search_is_said_once(library: Path, given: list[str], said: str) -> None:
    assert said in run("search", "query", "port", *given, code=2).stderr


@pytest.mark.net
def test_an_engine_that_is_not_there_is_no_fault_of_the_query(work: Path) -> None:
    given = ("search", "query", "port", "--engine", "http://127.0.0.1:1/_search")
    result = run(*given, code=4)
    assert "cannot be reached" in result.stderr
    assert answer(*given, code=4)["error"] == "EngineError"


def test_an_index_is_its_owners_alone_and_keeps_its_language(library: Path) -> None:
    assert mode("index") == 0o700
    assert {mode(path) for path in Path("index").rglob("*") if path.is_file()} == {0o600}
    told = answer("search", "index", "made/library", "-o", "index")
    assert (told["unchanged"], told["language"], told["language_guessed"]) == (22, "english", False)
    found = search.index_texts("made/library", "again", language="english")
    summary = found.summary()
    assert (summary["added"], summary["language_guessed"]) == (22, False)
    run("search", "index", "made/library", "-o", "index", "--language", "none", code=2)
    told = answer("search", "index", "made/library", "-o", "index", "--language", "none", "--force")
    assert told["language"] == "none"


def test_a_profile_among_its_documents_is_none_of_them(interests: Path) -> None:
    for _ in range(2):
        given = ("-o", "docs/profile.json", *WORDS_AS_THEY_ARE, "--force")
        told = answer("profile", "build", "docs", *given)
        assert (told["documents"], told["skipped"]) == (10, [])


def test_all_terms_of_a_document_may_count(interests: Path) -> None:
    few = answer("profile", "build", "docs", "-o", "few.json", *WORDS_AS_THEY_ARE, "--keywords", 1)
    whole = answer(
        "profile", "build", "docs", "-o", "p.json", *WORDS_AS_THEY_ARE, "--keywords", "all"
    )
    assert (few["keywords"], whole["keywords"]) == (1, "all")
    assert few["interests"] < whole["interests"] == len(TREE)
    assert search.read_profile("p.json").keywords is None
    assert search.build_profile("docs", keywords=None, language="none", minsup=2).profile.nodes


def test_why_nothing_would_be_told(interests: Path, profile: str) -> None:
    said = run("profile", "show", profile, "--ratio", "0.25").stdout
    assert "every interest is more special than that" in said
    hide = [word for top in ("research", "sports", "sex") for word in ("--hide", top)]
    said = run("profile", "expose", profile, "--ratio", "1", *hide, "-o", "e.json").stdout
    assert "every interest is hidden" in said
    run("profile", "build", "docs", "-o", "none.json", "--minsup", 9)
    assert "there is no interest" in run("profile", "show", "none.json", "--ratio", "1").stdout


def test_an_index_among_what_it_is_of_is_no_part_of_it(library: Path) -> None:
    for _ in range(2):
        told = answer("search", "index", "made", "-o", "made/index", "--language", "english")
        assert not [one for one in told["skipped"] if "index" in one["place"]]


def test_nothing_to_read_empties_no_index(library: Path) -> None:
    Path("empty").mkdir()
    run("search", "index", "empty", "-o", "index", code=2)
    run("search", "index", "empty", "-o", "new", code=2)
    assert not Path("new").exists()
    assert len(places("port", "--index", "index")) == 4


def test_the_page_of_a_profile_is_its_owners_alone(profile: str) -> None:
    told = answer("profile", "show", profile, "--ratio", "0.85", "--html", "page.html")
    assert told == {"interests": 6, "levels": 2, "output": "page.html"}
    assert mode("page.html") == 0o600
    run("profile", "show", profile, "--html", "page.html", code=2)
    run("profile", "show", profile, "--html", profile, "--force", code=2)
    run("profile", "show", profile, "--html", "new.html", "--depth", 1, code=2)
    assert not Path("new.html").exists()


# --- serving -------------------------------------------------------------------------------------


def asked(url: str, token: str, given: object) -> tuple[int, Any]:
    """What a program gets for a request."""
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(given).encode(), head)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, None


@pytest.mark.net
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_serving_until_it_is_ended(library: Path, number: int, code: int) -> None:
    search.build_profile("made/mine", output="profile.json")
    given = ("--index", "index", "--profile", "profile.json", "--json")
    running = start("search", "serve", *given)
    assert running.stdout is not None
    at = json.loads(running.stdout.readline())
    assert at["url"].startswith("http://127.0.0.1:")
    exposed = json.loads(Path("exposed.json").read_text())
    status, found = asked(at["search"], at["token"], {"q": "port", "profile": exposed})
    told = answer("search", "query", "port", "--index", "index", "--profile", "exposed.json")
    assert (status, found) == (200, told)
    whole = json.loads(Path("profile.json").read_text())
    assert asked(at["search"], at["token"], {"q": "port", "profile": whole})[0] == 400
    assert asked(at["search"], "guess", {"q": "port", "profile": exposed})[0] in (401, 403)
    running.send_signal(number)
    ended, _, err = finished(running)
    assert ended == code
    assert "port" not in err
    assert "boat" not in err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "nothing to search in"),
        (["--index", "nowhere"], "there is no index"),
        (["--index", "index", "--profile", "exposed.json"], "no profile"),
        (["--index", "index", "--port", "99999"], "0 for any that is free"),
        (["--index", "index", "--address", "0.0.0.0"], "--allow-remote"),
        (["--index", "index", "--address", "localhost"], "--address"),
        (["--index", "index", "--certificate", "x.pem"], "belong together"),
        (["--engine", "nowhere"], "no address"),
    ],
    ids=str,
)
def test_what_cannot_be_served(library: Path, given: list[str], said: str) -> None:
    assert said in run("search", "serve", *given, code=2).stderr


# --- evaluating ----------------------------------------------------------------------------------


def collection(folder: Path) -> Path:
    """Sixteen topics, each with five queries; every two share the word that is asked for."""
    folder.mkdir()
    documents, queries, judged = [], [], []
    for topic in "abcdefghijklmnop":
        word, name = f"word{chr(97 + ord(topic) % 8)}", f"topic{topic}"
        for query in range(5):
            queries.append(f"{name}-{query}\t{word} {name} {name} own{topic}{query}x")
            for copy in range(3):
                place = f"{name}{query}n{copy}"
                text = f"{word} {name} {name} mood{(query + copy) % 2}x {place}x own{topic}{query}x"
                documents.append(json.dumps({"id": place, "text": text}))
                judged.append(f"{name}-{query} 0 {place} 1")
    (folder / "documents.jsonl").write_text("\n".join(documents))
    (folder / "topics.tsv").write_text("\n".join(queries))
    (folder / "qrels.txt").write_text("\n".join(judged))
    return folder


@pytest.mark.slow
def test_an_evaluation_is_the_same_by_command_and_door(work: Path) -> None:
    collection(work / "in")
    given = ("--seeds", "11,12", "--ratios", "0.25", "--language", "none")
    told = answer("search", "evaluate", "in", "-o", "out", *given)
    found = search.evaluate("in", seeds=[11, 12], ratios=["0.25"], language="none")
    assert {**told, "seconds": 0} == {**found.summary(), "output": "out", "seconds": 0}
    said = run("search", "evaluate", "in", "-o", "out", *given, "--force").stdout
    assert "80 judged queries" in said
    assert "Written to out" in said
    assert {path.name for path in Path("out").iterdir()} >= {"index.html", "curve.csv"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nowhere", "-o", "out"], "nowhere"),
        (["in", "-o", "out", "--seeds", "a"], "--seeds"),
        (["in", "-o", "out", "--seeds", "1,1"], "--seeds"),
        (["in", "-o", "out", "--ratios", "25"], "--ratios"),
        (["in", "-o", "in", "--force"], "input"),
        (["in"], "--output"),
    ],
    ids=str,
)
def test_evaluations_that_cannot_be_made(work: Path, given: list[str], said: str) -> None:
    collection(work / "in")
    assert said in run("search", "evaluate", *given, code=2).stderr
    assert not Path("out").exists()


def test_the_reference_names_what_is_printed_for_programs(profile: str) -> None:
    page = (ROOT / "docs/reference/profile-files.md").read_text(encoding="utf-8")
    rows = dict(table_of(f"{page}\n", "| command |"))
    exposed = {"terms": [["sports", 1]], "ratio": 0.5, "min_detail": None}
    Path("e.json").write_text(json.dumps(exposed))
    for command, given in {
        "profile build": ["docs", "-o", "p.json"],
        "profile show": [profile, "--ratio", "1"],
        "profile expose": [profile, "--ratio", "1", "-o", "exposed.json"],
        "search index": ["docs", "-o", "index"],
        "search query": ["sports", "--index", "index", "--profile", "e.json"],
    }.items():
        told = answer(*command.split(), *given)
        keys = {*told, *(key for one in told.get("results", ()) for key in one)}
        named = set(re.findall(r"`(\w+)`", rows[f"`{command}`"]))
        assert keys <= named, command
        assert named - keys <= {"place", "reason"}, command
    for path, known in (("profile.json", profile), ("exposed.json", "exposed.json")):
        keys = {*json.loads(Path(known).read_text())} - {"reticent", "version"}
        section = page.partition(f"`{path}`: ")[2].partition("\n## ")[0]
        assert keys <= {*re.findall(r"`(\w+)`", section)}, path
