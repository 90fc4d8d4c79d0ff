"""The page that searches: the slider is `expose`, results are `answer`, and nothing leaks."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pages_at_hand import Page
from reticent.errors import EngineError, InputError
from reticent.search.documents import PersonalDocument
from reticent.search.engines import FoundPage
from reticent.search.exposing import expose
from reticent.search.index import update_index
from reticent.search.profile import Profile, ProfileNode, grown
from reticent.search.profile_file import write_profile
from reticent.search.ranking import answer
from reticent.search.report import answer_data
from reticent.search.served import AskedEngine, ServedAt, ServedSearch, _engines, host_of, serve
from reticent.search.words import Language
from serving_at_hand import Visitor, served

pytestmark = pytest.mark.net

EXAMPLE = [
    "sports badminton", "ronaldo soccer sports", "sex playboy picture", "sports soccer premier",
    "research ai algorithm", "research adaptive personalized search", "fox channel sports sex",
    "msn search", "research ai network", "personalized search google research",
]  # fmt: skip
PROFILE = grown([text.split() for text in EXAMPLE], minsup=2)
MARKUP = '<img src=x onerror=alert(1)>"&amp;'
USUAL: dict[str, Any] = {
    "q": "cup", "engine": 0, "share": 85, "hide": [], "alpha": None, "fusion": "ranks"
}  # fmt: skip
EXPOSED = expose(PROFILE, ratio="0.85").exposed.data()


@dataclass
class FakeEngine:
    """Gives what it has, whatever is asked, and remembers what that was."""

    pages: Sequence[FoundPage]
    language: str | None = "none"
    asked: list[tuple[str, int]] = field(default_factory=list)

    def ask(self, query: str, top: int) -> Sequence[FoundPage]:
        self.asked.append((query, top))
        if query == "down":
            raise EngineError("the engine does not answer")
        return self.pages[:top]


def found(*texts: str) -> list[FoundPage]:
    return [
        FoundPage(f"/notes/{i}.txt", f"t{i}", f"t{i}\n{text}", 9.0 - i)
        for i, text in enumerate(texts)
    ]


PAGES = found("tea cup", "cup of sports", "research and research", "sports search")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(PAGES)


@pytest.fixture
def visitor(engine: FakeEngine) -> Iterator[Visitor]:
    with served(ServedSearch([AskedEngine(engine)], profile=PROFILE).app()) as server:
        visitor = Visitor(server)
        visitor.come_in()
        yield visitor


# --- the slider and hiding -----------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 1, 25, 50, 70, 85, 100])
@pytest.mark.parametrize("hide", [[], ["sports"], ["soccer", "ai"]])
def test_a_place_of_the_slider_is_what_the_command_exposes(share: int, hide: list[str]) -> None:
    desk = ServedSearch([AskedEngine(FakeEngine([]))], profile=PROFILE)
    told = desk.preview({"share": share, "hide": hide})
    assert told["leaves"] == expose(PROFILE, ratio=Fraction(share, 100), hide=hide).exposed.data()
    assert f"--ratio {share / 100:g}" in told["command"]
    for term in hide:
        assert f" --hide {term}" in told["command"]


def test_what_is_hidden_is_gone_and_what_it_was_part_of_is_not(visitor: Visitor) -> None:
    before = visitor.post("preview", {"share": 100, "hide": []}).data
    after = visitor.post("preview", {"share": 100, "hide": ["sports"]}).data
    assert {"sports", "soccer", "research"} <= {one["words"] for one in before["told"]}
    assert not {"sports", "soccer"} & {one["words"] for one in after["told"]}
    assert "research" in {one["words"] for one in after["told"]}


def test_a_stem_is_hidden_by_the_word_that_a_command_takes() -> None:
    english = Language("english")
    words = {word: english[word] for word in ("policies", "conferences", "universities")}
    assert "universiti" in words.values()
    nodes = tuple(ProfileNode((stem,), Fraction(5)) for stem in words.values())
    written = {stem: word for word, stem in words.items()}
    profile = Profile(20, nodes, "english", 20, 5, Fraction(3, 5), written)
    desk = ServedSearch([AskedEngine(FakeEngine([]))], profile=profile)
    told = desk.preview({"share": 100, "hide": ["universiti"]})
    assert "--hide universities" in told["command"]
    assert told["leaves"] == expose(profile, ratio=1, hide=["universities"]).exposed.data()
    assert {one["words"] for one in told["told"]} == {"policies", "conferences"}


def test_what_would_be_told_is_said_in_plain_words(visitor: Visitor) -> None:
    told = visitor.post("preview", {"share": 85, "hide": []}).data
    assert told["says"][0].startswith("3 interests would be told, 84.8% of what your profile says")
    assert "about research (50%), sports (35%) and personalized/search (30%)" in told["says"][1]
    assert told["changes"][0].startswith("A little more")
    none = visitor.post("preview", {"share": 0, "hide": []}).data
    assert (none["told"], none["leaves"]["terms"]) == ([], [])


def test_a_large_part_is_cut_and_counted() -> None:
    nodes = tuple(ProfileNode((f"t{i:04}",), Fraction(2)) for i in range(1500))
    profile = Profile(5000, nodes, "none", 20, 2, Fraction(3, 5))
    desk = ServedSearch([AskedEngine(FakeEngine([]))], profile=profile)
    told = desk.preview({"share": 100, "hide": []})
    assert (len(told["told"]), told["more"], len(told["leaves"]["terms"])) == (200, 1300, 200)


# --- both orders ---------------------------------------------------------------------------------


def test_both_orders_and_what_moved_a_result(visitor: Visitor, engine: FakeEngine) -> None:
    data = visitor.post("search", USUAL | {"alpha": 1}).data
    branches = [part for _, part in expose(PROFILE, ratio="0.85").branches()]
    right = answer(engine, "cup", branches, alpha=1)
    assert [one["place"] for one in data["results"]] == [one.page.place for one in right.pages]
    assert [one["engine_rank"] for one in data["results"]] == [
        one.engine_rank for one in right.pages
    ]
    first = data["results"][0]
    assert (first["title"], first["text"]) == ("t3", "sports search")
    assert first["because"] == [["search", 1], ["sports", 1]]
    assert data["says"] == (
        "4 results, 2 of them in another place; 3 have words of the interests that you allow."
    )


def test_a_title_is_not_said_twice() -> None:
    """A first line of Markdown is a title, and a text has its title before it."""
    texts = ["Port", "Port\n# Port\nA wine.", "Port\nPort\nA wine.", "Port\nPortal", "Port\n#tag"]
    pages = [FoundPage("p", "Port", text, 1.0) for text in texts]
    results = ServedSearch([AskedEngine(FakeEngine(pages))]).search(USUAL)["results"]
    assert [one["text"] for one in results] == ["", "A wine.", "A wine.", "Portal", "#tag"]


def test_terms_that_moved_a_result_stand_as_people_write_them() -> None:
    nodes = (ProfileNode(("confer",), Fraction(5)),)
    profile = Profile(20, nodes, "english", 20, 5, Fraction(3, 5), {"confer": "conference"})
    engine = FakeEngine(found("none", "conferences and a conference"), language=None)
    desk = ServedSearch([AskedEngine(engine)], profile=profile)
    results = desk.search(USUAL | {"share": 100, "alpha": 1})["results"]
    assert [one["title"] for one in results] == ["t1", "t0"]
    assert results[0]["because"] == [["conference", 2]]


def test_longer_queries_keep_the_engines_order_and_say_so(visitor: Visitor) -> None:
    data = visitor.post("search", USUAL | {"q": "which cup is best"}).data
    assert [one["engine_rank"] for one in data["results"]] == [1, 2, 3, 4]
    assert "others keep the engine's order" in data["says"]
    assert (
        "another place" in visitor.post("search", USUAL | {"q": "a b c", "alpha": 0.9}).data["says"]
    )


def test_without_a_told_interest_both_orders_are_the_same(visitor: Visitor) -> None:
    assert "both orders are the same" in visitor.post("search", USUAL | {"share": 0}).data["says"]


def test_an_engine_is_asked_once_while_the_slider_moves(
    visitor: Visitor, engine: FakeEngine
) -> None:
    for share in (0, 50, 100):
        visitor.post("search", USUAL | {"share": share})
    visitor.post("search", USUAL | {"hide": ["sports"], "fusion": "scores"})
    assert engine.asked == [("cup", 50)]
    visitor.post("search", USUAL | {"q": "another"})
    assert [query for query, _ in engine.asked] == ["cup", "another"]


def test_a_page_without_a_profile_searches_all_the_same(engine: FakeEngine) -> None:
    with served(ServedSearch([AskedEngine(engine)]).app()) as server:
        visitor = Visitor(server)
        page = Page(visitor.come_in().text)
        assert "share" not in page.ids
        data = visitor.post("search", USUAL).data
        assert [one["title"] for one in data["results"]] == ["t0", "t1", "t2", "t3"]
        assert data["says"] == "4 results."
        assert visitor.post("preview", {"share": 5, "hide": []}).status == 404


def test_the_page_says_what_goes_to_whom(engine: FakeEngine) -> None:
    host = host_of("https://me:secret@search.example/_search?key=secret")
    far, near = AskedEngine(engine, host), AskedEngine(FakeEngine(found("near")))
    with served(ServedSearch([far, near], profile=PROFILE).app()) as server:
        visitor = Visitor(server)
        page = visitor.come_in()
        words = Page(page.text).text
        assert "What you type goes to search.example, and nothing of your profile does" in words
        assert "the index is here" in words
        assert "secret" not in page.text
        here = visitor.post("search", USUAL | {"engine": 1}).data["results"]
        assert [one["text"] for one in here] == ["near"]
        assert engine.asked == []


def test_an_engine_that_fails_is_told(visitor: Visitor) -> None:
    answered = visitor.post("search", USUAL | {"q": "down"})
    assert (answered.status, answered.data) == (502, {"error": "the engine does not answer"})
    assert visitor.post("search", USUAL).status == 200


def test_what_an_index_loses_is_shown_no_more(tmp_path: Path) -> None:
    folder = tmp_path / "index"

    def made(language: str, **texts: str) -> None:
        documents = [PersonalDocument(name, name, text) for name, text in texts.items()]
        update_index(folder, documents, Language(language), force=language != "english")

    made("english", secret="a cup of pineapple", tea="a cup")
    [local] = _engines(folder, None, None)
    with served(ServedSearch([local], profile=PROFILE).app()) as server:
        visitor = Visitor(server)
        visitor.come_in()

        def asked() -> set[str]:
            page = {one["place"] for one in visitor.post("search", USUAL).data["results"]}
            program = visitor.call("/search", {"q": "cup", "profile": EXPOSED}).data["results"]
            assert page == {one["place"] for one in program}
            return page

        assert asked() == {"secret", "tea"}
        made("english", tea="a cup", new="cups")
        assert asked() == {"tea", "new"}
        made("none", tea="a cup", new="cups")
        assert asked() == {"tea"}
        (folder / "index.json").rename(tmp_path / "aside")
        for answered in (
            visitor.post("search", USUAL),
            visitor.call("/search", {"q": "cup", "profile": EXPOSED}),
        ):
            assert answered.status == 502
            assert answered.data["error"].startswith("The index is gone: make it again")
        (tmp_path / "aside").rename(folder / "index.json")
        assert asked() == {"tea"}


def test_a_query_of_blanks_is_told_in_plain_words(visitor: Visitor) -> None:
    told = visitor.post("search", USUAL | {"q": " \t"}).data["error"]
    assert told == "There is nothing to look for: the query is empty."


# --- programs ------------------------------------------------------------------------------------


def test_a_program_sends_an_exposed_profile(visitor: Visitor, engine: FakeEngine) -> None:
    told = visitor.call("/search", {"q": "cup", "profile": EXPOSED})
    exposed = expose(PROFILE, ratio="0.85").exposed
    assert told.data == json.loads(json.dumps(answer_data(answer(engine, "cup", exposed))))
    nothing = {"terms": [], "ratio": 0, "min_detail": None}
    assert visitor.call("/search", {"q": "cup", "profile": nothing}).data["alpha"] == 0


WRONG_CALLS: list[Any] = [
    None, [], "cup", {}, {"q": "cup"}, {"profile": EXPOSED}, {"q": "cup", "profile": None},
    {"q": "cup", "profile": EXPOSED, "top": 5}, {"q": "", "profile": EXPOSED},
    {"q": 5, "profile": EXPOSED}, {"q": "a" * 2000, "profile": EXPOSED},
    {"q": "cup", "profile": EXPOSED | {"name": "pineapple"}},
    {"q": "cup", "profile": {"terms": [], "ratio": 0}},
    {"q": "cup", "profile": EXPOSED | {"terms": [["pineapple", "1"]]}},
    {"q": "cup", "profile": EXPOSED | {"terms": [["pineapple", 1, 2]]}},
    {"q": "cup", "profile": EXPOSED | {"terms": {"pineapple": 1}}},
    {"q": "cup", "profile": EXPOSED | {"ratio": 2}},
    {"q": "cup", "profile": {"reticent": "profile", "documents": 5, "nodes": [["pineapple"]]}},
    {"q": "cup", "profile": [["pineapple", 1]]}, {"q": "cup", "profile": "pineapple"},
]  # fmt: skip


def test_anything_else_is_400_and_logged_without_its_content(
    visitor: Visitor, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for given in WRONG_CALLS:
        answered = visitor.call("/search", given)
        assert answered.status == 400, given
        assert "pineapple" not in answered.text
    assert engine.asked == []
    assert caplog.text.count("POST /search 400") == len(WRONG_CALLS)
    assert "pineapple" not in caplog.text


WRONG_ASKED: list[dict[str, Any]] = [
    {"engine": 1}, {"engine": -1}, {"engine": True}, {"engine": "0"}, {"share": 101}, {"share": -1},
    {"share": 0.5}, {"share": None}, {"share": True}, {"hide": "sports"}, {"hide": ["pineapple"]},
    {"hide": [1]}, {"hide": [["sports"]]}, {"alpha": 2}, {"alpha": "much"}, {"alpha": True},
    {"alpha": []}, {"fusion": "both"}, {"fusion": None}, {"fusion": []}, {"q": " "}, {"q": None},
    {"more": 1},
]  # fmt: skip


def test_the_page_is_held_to_the_same(visitor: Visitor) -> None:
    for wrong in WRONG_ASKED:
        answered = visitor.post("search", USUAL | wrong)
        assert answered.status == 400, wrong
        assert "pineapple" not in answered.text
    for given in (None, {}, {"share": 5}, {"share": 5, "hide": [], "more": 1}):
        assert visitor.post("preview", given).status == 400


# --- what must not happen ------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [MARKUP, "a\x1b[31mb\u202ec", "Grüße 日本 🦆", "a" * 5000])
def test_texts_of_all_kinds_come_as_texts(odd: str) -> None:
    nodes = (ProfileNode((odd,), Fraction(5)),)
    profile = Profile(20, nodes, "none", 20, 5, Fraction(3, 5), {odd: odd})
    pages = [FoundPage(f"/{odd}.txt", odd, f"{odd}\n{odd}", 1.0)]
    with served(ServedSearch([AskedEngine(FakeEngine(pages))], profile=profile).app()) as server:
        visitor = Visitor(server)
        page = visitor.come_in().text
        assert MARKUP not in page
        told = visitor.post("preview", {"share": 100, "hide": [odd]})
        shown = visitor.post("search", USUAL | {"share": 100, "q": odd[:900]})
        for one in (told, shown):
            assert one.status == 200
            assert one.headers["content-type"] == "application/json"  # markup is none there
            assert one.headers["x-content-type-options"] == "nosniff"
            assert not {*one.text} & {*"\x1b\u202e"}
        assert len(shown.data["results"][0]["text"]) <= 241


def test_only_pages_of_the_web_may_be_clicked() -> None:
    places = ["https://a.example/b", "http://a.example", "javascript:alert(1)", "JavaScript:alert(1)",
              "data:text/html,x", "file:///etc/passwd", "/notes/a.txt", "//a.example", "http://[", ""]  # fmt: skip
    pages = [FoundPage(place, "t", "t", 1.0) for place in places]
    results = ServedSearch([AskedEngine(FakeEngine(pages))]).search(USUAL)["results"]
    assert [one["link"] for one in results] == [*places[:2], *[None] * 8]


def test_the_page_is_sound_and_runs_nothing_of_others(visitor: Visitor) -> None:
    text = visitor.get("").text
    page = Page(text)
    assert len({*page.ids}) == len(page.ids)
    assert page.headings == sorted(page.headings, key=lambda level: level > 1)
    assert text.startswith("<!doctype html>")
    assert '<html lang="en">' in text
    for tag, given in page.tags:
        assert not {name for name in given if name.startswith("on") or name == "style"}
        if tag == "script":
            assert given == {"type": "module", "src": "serve.js"}
        if tag in ("input", "select") and given.get("type") != "radio":
            assert f'for="{given["id"]}"' in text or tag == "select"
    assert "<style" not in text
    assert not {"http://", "https://"} & {*text.split('"')}
    script = visitor.get("serve.js").text
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "http:", "https:",
                 "localStorage", "sessionStorage", "document.cookie", "location", "pushState"):  # fmt: skip
        assert word not in script
    style = visitor.get("style.css").text
    assert "url(" not in style
    assert "@import" not in style


def test_what_people_type_and_own_is_in_no_log_and_no_address(
    engine: FakeEngine, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    planted = "pineapple"
    nodes = (ProfileNode((f"{planted}term",), Fraction(5)),)
    profile = Profile(20, nodes, "none", 20, 5, Fraction(3, 5), {})
    page = FoundPage(f"/{planted}/file.txt", f"{planted} title", f"{planted} text", 1.0)
    desk = ServedSearch([AskedEngine(FakeEngine([page]))], profile=profile)
    with served(desk.app()) as server:
        visitor = Visitor(server)
        assert planted not in visitor.come_in().text
        visitor.post("preview", {"share": 100, "hide": [f"{planted}term"]})
        visitor.post("preview", {"share": 100, "hide": [f"{planted}other"]})
        assert planted in visitor.post("search", USUAL | {"q": planted}).text
        visitor.post("search", USUAL | {"q": planted, "alpha": planted})
        visitor.call("/search", {"q": planted, "profile": EXPOSED | {planted: 1}})
        visitor.call(f"/search?q={planted}", {})
        visitor.get(f"?q={planted}")
    told = capfd.readouterr()
    assert planted not in caplog.text + told.out + told.err
    assert caplog.text.count("reticent.serving") > 8


def test_many_ask_at_a_time(visitor: Visitor) -> None:
    """Stemmers are not for several threads at once; whoever asks gets the answer to what they asked."""
    answers: dict[int, Any] = {}

    def go(share: int) -> None:
        answers[share] = visitor.post(
            "search", USUAL | {"share": share, "q": f"cup {share % 3}"}
        ).data

    threads = [threading.Thread(target=go, args=(share,)) for share in range(0, 100, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    desk = ServedSearch([AskedEngine(FakeEngine(PAGES))], profile=PROFILE)
    for share, data in answers.items():
        assert data == desk.search(USUAL | {"share": share, "q": f"cup {share % 3}"})


# --- serving -------------------------------------------------------------------------------------


def test_there_is_something_to_search_in() -> None:
    with pytest.raises(InputError, match="nothing to search in"):
        serve(announce=lambda at: None)


SERVE = """
import sys
from reticent.search.served import serve
serve(sys.argv[1], profile=sys.argv[2], announce=lambda at: print(at.url, *at.notes, sep="\\n", flush=True))
print("ended")
"""


def test_an_index_is_served_until_ctrl_c(tmp_path: Path) -> None:
    documents = [
        PersonalDocument(f"{name}.txt", name, text)
        for name, text in {"tea": "a cup of tea", "cup": "the cup final", "sea": "sports"}.items()
    ]
    update_index(tmp_path / "index", documents, Language("english"))
    write_profile(PROFILE, tmp_path / "profile.json")
    running = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(tmp_path / "index"), str(tmp_path / "profile.json")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    try:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        assert "the index is here" in running.stdout.readline()
        visitor = visitor_of(url)
        visitor.come_in()
        data = visitor.post("search", USUAL).data
        assert {one["place"] for one in data["results"]} == {"tea.txt", "cup.txt"}
    finally:
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (0, "ended\n", "")


def visitor_of(url: str) -> Visitor:
    """Of a server in another process, known by what it prints."""
    from types import SimpleNamespace

    origin, _, token = url.partition("/?token=")
    port = int(origin.rpartition(":")[2])
    server: Any = SimpleNamespace(
        origin=origin, url=url, port=port, place=SimpleNamespace(address="127.0.0.1"),
        gate=SimpleNamespace(token=token, inside=""),
    )  # fmt: skip
    visitor = Visitor(server)
    first = visitor.ask("GET", f"/?token={token}")
    server.gate.inside = first.headers["location"]
    return visitor


def test_where_it_is_served_is_told_without_the_token_by_chance() -> None:
    at = ServedAt("http://127.0.0.1:1/?token=abc", "abc", "http://127.0.0.1:1/search", ())
    assert "abc" not in repr(at)
    assert at.data()["token"] == "abc"


def test_the_program_of_the_documentation_works(engine: FakeEngine, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/search-from-a-program.md").read_text("utf-8")
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "exposed.json").write_text(json.dumps(EXPOSED), encoding="utf-8")
    with served(ServedSearch([AskedEngine(engine)]).app()) as server:
        told = {"TOKEN": server.gate.token, "SEARCH": f"{server.origin}/search"}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, env=os.environ | told,
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert engine.asked == [("current", 50)]
    assert done.stdout.splitlines()[3] == "4 4 t3 [['search', 1], ['sports', 1]]"
