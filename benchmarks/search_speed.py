"""Private search: how long it takes to know somebody, to index what they have, and to answer.

    python benchmarks/search_speed.py [--only profile,index,update,query] [--csv FILE]

    case       what                                                            bar
    profile    10,000 files of 200 words, with default settings                5 s and 500 MB
    index      100,000 documents of 20 to 30 words, made by `update_index`     10 s
    update     the same again: as it was, 100 more, 100 gone
    query      50 results, ordered by a profile of 30 terms, warm              20 ms at the median

Beside index and query stands tantivy alone, on the same documents and queries: its own tokenizer
and English stems, title and text stored, as many threads as it likes, and nothing ordered anew.
Words are drawn so that the r-th of 30,000 comes with a share of 1/r. In "topics" the commonest are
stop words, and four of ten words are of one of 40 subjects, which have 200 words each. Without,
every document shares most of its terms with all others, which makes trees as large as they get. A
profile is made of files as they lie in a folder, reading included; documents for an index are in
memory, and so its bar is held by the index alone. Each case sits in a process of its own that has
imported what it needs and has done the same with a few documents before. Seconds are of the clock
on the wall, the processor's beside them: where they fall far apart, others kept the machine busy.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import Any

STOP_WORDS = """
the of and to a in is that for it as was with be by on not he i this are or his from at which but
have an had they you were there been their we will would what can if all has who when no more my
them him some than her so other its our these could out into she any up your only do then about
such very how over same through most before after where between those each under
"""  # in the order of how common they are
VOCABULARY, TOPICS, OF_TOPIC = 30_000, 40, 200
FILES, LONG = 10_000, 200
PAGES, SHORT = 100_000, (20, 30)
QUERIES, RESULTS, TERMS = 400, 50, 30

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Texts:
    """Words of a made-up person; the same for the same seed."""

    topics: bool = False
    seed: int = 5

    def words(self) -> list[str]:
        """The vocabulary, the most common first: stop words, and words with several endings."""
        rng = random.Random(self.seed)
        syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        ends = ["", "s", "ing", "ed", "er", "ation"]
        found = dict.fromkeys(STOP_WORDS.split() if self.topics else [])
        while len(found) < VOCABULARY:
            found["".join(rng.choices(syllables, k=rng.randint(2, 4))) + rng.choice(ends)] = None
        return [*found]

    def drawn(self, count: int, least: int, most: int) -> Iterator[str]:
        """So many texts."""
        rng = random.Random(self.seed + 1)
        words = self.words()
        shares = [*accumulate(1 / (rank + 1) for rank in range(VOCABULARY))]
        subjects = [rng.sample(words[100:], OF_TOPIC) for _ in range(TOPICS)]
        for _ in range(count):
            length = rng.randint(least, most)
            text = rng.choices(words, cum_weights=shares, k=length)
            if self.topics:
                subject = rng.choice(subjects)
                text[: length * 2 // 5] = rng.choices(
                    subject, cum_weights=shares[:OF_TOPIC], k=length * 2 // 5
                )
                rng.shuffle(text)
            yield " ".join(text)

    def queries(self) -> list[str]:
        """One word or two, neither the commonest nor the rarest."""
        rng = random.Random(self.seed + 2)
        return [" ".join(rng.sample(self.words()[100:5000], 1 + i % 2)) for i in range(QUERIES)]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one side needed."""

    seconds: float
    processor: float
    megabytes: int
    what: str = ""


def alone(job: Callable[..., Any], *said: Any) -> Any:
    """Do a job in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(job, *said).result()


def timed(work: Callable[[], Any], runs: int = 1) -> tuple[Spent, Any]:
    """The medians of some runs, and what the last one gave."""
    walls, processors, given = [], [], None
    for _ in range(runs):
        wall, processor = time.perf_counter(), time.process_time()
        given = work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Spent(statistics.median(walls), statistics.median(processors), held), given


# --- This product -----------------------------------------------------------------------------


def profile_made(topics: bool, folder: str, runs: int) -> Spent:
    """Files, read and grown into a profile."""
    from reticent.search.flow import build_profile
    from reticent.search.report import shape

    small, whole = Path(folder, "small"), Path(folder, "whole")
    for place, count in ((small, 50), (whole, FILES)):
        place.mkdir()
        for i, text in enumerate(Texts(topics).drawn(count, LONG, LONG)):
            (place / f"{i:05}.txt").write_text(text, encoding="utf-8")
    build_profile(small)
    spent, made = timed(lambda: build_profile(whole), runs)
    stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in made.seconds.items())
    size = shape(made.profile)
    told = f"{size['interests']:,} interests on {size['levels']} levels ({stages})"
    return Spent(spent.seconds, spent.processor, spent.megabytes, told)


def documents(count: int, skip: int = 0, more: int = 0) -> list[Any]:
    """Short documents with a title of three words."""
    from reticent.search.documents import PersonalDocument

    texts = Texts(topics=True).drawn(count + more, *SHORT)
    return [
        PersonalDocument(f"{i:06}.txt", " ".join(text.split()[:3]), text)
        for i, text in enumerate(texts)
        if i >= skip
    ]


def index_made(folder: str, runs: int) -> Spent:
    from reticent.search.index import update_index
    from reticent.search.words import Language

    given = documents(PAGES)
    update_index(Path(folder, "small"), given[:50], Language())
    spent, _ = timed(
        lambda: update_index(Path(folder, "ours"), given, Language(), force=True), runs
    )  # fmt: skip
    size = sum(file.stat().st_size for file in Path(folder, "ours").rglob("*") if file.is_file())
    return Spent(spent.seconds, spent.processor, spent.megabytes, f"{size / 1e6:.0f} MB on disk")


def index_updated(folder: str, skip: int, more: int) -> Spent:
    """The index again, without the first so many documents and with so many more."""
    from reticent.search.index import update_index
    from reticent.search.words import Language

    given = documents(PAGES, skip, more)
    spent, changes = timed(lambda: update_index(Path(folder, "ours"), given, Language()))
    told = f"{changes.added} added, {changes.removed} removed, {changes.unchanged:,} as they were"
    return Spent(spent.seconds, spent.processor, spent.megabytes, told)


def answered(folder: str) -> tuple[Spent, list[float]]:
    """Open the index; then the seconds of every query."""
    from reticent.search.exposing import ExposedProfile
    from reticent.search.index import LocalIndex
    from reticent.search.ranking import answer
    from reticent.search.words import Language

    opened, index = timed(lambda: LocalIndex.open(Path(folder, "ours")), 3)
    english = Language()
    terms = {english[word]: 1.0 for word in Texts(topics=True).words()[100 : 100 + TERMS]}
    exposed = ExposedProfile(tuple(sorted(terms.items())), 0.5, 0.1)
    return opened, times(lambda query: answer(index, query, exposed, top=RESULTS))


# --- tantivy alone ----------------------------------------------------------------------------


def tantivy_made(folder: str, runs: int) -> Spent:
    import tantivy

    given = documents(PAGES)

    def make(name: str, some: Sequence[Any]) -> None:
        place = Path(tempfile.mkdtemp(dir=folder), name)
        place.mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("place", stored=True, tokenizer_name="raw")
        schema.add_text_field("title", stored=True, tokenizer_name="en_stem")
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
        index = tantivy.Index(schema.build(), str(place))
        with index.writer() as writer:
            for one in some:
                writer.add_document(
                    tantivy.Document(place=one.place, title=one.title, text=one.text)
                )
            writer.commit()
            writer.wait_merging_threads()
        theirs = Path(folder, "theirs")
        theirs.unlink(missing_ok=True)
        theirs.symlink_to(place)

    make("small", given[:50])
    return timed(lambda: make("whole", given), runs)[0]


def tantivy_answered(folder: str) -> tuple[Spent, list[float]]:
    import tantivy

    def opened() -> Any:
        index = tantivy.Index.open(os.path.realpath(Path(folder, "theirs")))
        return index, index.searcher()

    spent, (index, searcher) = timed(opened, 3)

    def ask(query: str) -> list[Any]:
        hits = searcher.search(index.parse_query(query, ["title", "text"]), RESULTS).hits
        return [searcher.doc(address).to_dict() for _, address in hits]

    return spent, times(ask)


def times(ask: Callable[[str], Any]) -> list[float]:
    """Every query once, after all have been asked before."""
    queries = Texts(topics=True).queries()
    for query in queries:
        ask(query)
    found = []
    for query in queries:
        start = time.perf_counter()
        ask(query)
        found.append(time.perf_counter() - start)
    return found


# --- Cases ------------------------------------------------------------------------------------


def line(case: str, what: str, ours: Spent, theirs: Spent | None = None, bar: str = "") -> Line:
    found: Line = {
        "case": case,
        "what": what,
        "seconds": f"{ours.seconds:.4g}",
        "processor": f"{ours.processor:.4g}",
        "MB": ours.megabytes,
    }
    if theirs is not None:
        found |= {
            "tantivy, s": f"{theirs.seconds:.4g}",
            "tantivy, MB": theirs.megabytes,
            "ratio": f"{ours.seconds / theirs.seconds:.1f}",
        }
    return found | {"note": ours.what, "bar": bar}


def held(text: str, met: bool) -> str:
    return f"{text}: {'met' if met else 'MISSED'}"


def profile(folder: str, runs: int) -> Iterator[Line]:
    for what, topics in (("no topics", False), ("topics", True)):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            ours = alone(profile_made, topics, place, runs)
        met = ours.seconds < 5 and ours.megabytes < 500
        yield line("profile", what, ours, None, held("5 s, 500 MB", met))


def index(folder: str, runs: int) -> Iterator[Line]:
    ours, theirs = alone(index_made, folder, runs), alone(tantivy_made, folder, runs)
    yield line("index", f"{PAGES:,} documents", ours, theirs, held("10 s", ours.seconds < 10))


def update(folder: str, runs: int) -> Iterator[Line]:
    if not Path(folder, "ours").exists():
        alone(index_made, folder, 1)
    for what, skip, more in (("as it was", 0, 0), ("100 more", 0, 100), ("100 gone", 100, 100)):
        yield line("update", what, alone(index_updated, folder, skip, more))


def query(folder: str, runs: int) -> Iterator[Line]:
    if not Path(folder, "ours").exists():
        alone(index_made, folder, 1)
    if not Path(folder, "theirs").exists():
        alone(tantivy_made, folder, 1)
    (opened, ours), (other, theirs) = alone(answered, folder), alone(tantivy_answered, folder)
    yield line("query", "opening", opened, other)
    for what, place in (("median", 50), ("of a hundred, the slowest but five", 95)):
        a, b = (statistics.quantiles(found, n=100)[place - 1] for found in (ours, theirs))
        bar = held("20 ms", a < 0.020) if place == 50 else ""
        yield line(
            "query", what, Spent(a, a, opened.megabytes), Spent(b, b, other.megabytes), bar
        )  # fmt: skip


CASES = {"profile": profile, "index": index, "update": update, "query": query}
HEADS = ("case", "what", "seconds", "processor", "MB", "tantivy, s", "tantivy, MB", "ratio",
         "note", "bar")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=",".join(CASES), help="some cases")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only.split(","):
            for one in CASES[name](folder, asked.runs):
                lines.append(one)
                told(one)
                keep(lines, asked.csv)


def told(one: Line) -> None:
    parts = [f"{one['case']:8} {one['what']:35} {one['seconds']:>9} s {one['MB']:5} MB"]
    if "ratio" in one:
        parts.append(f"tantivy {one['tantivy, s']} s, {one['ratio']} times")
    print("  ".join(part for part in (*parts, one["note"], one["bar"]) if part), flush=True)


def keep(lines: Sequence[Line], path: Path | None) -> None:
    if path is not None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, HEADS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
