"""What `cuts.py` found: how it is kept, compared with the paper's search, and written down.

A method is compared with `paper` split by split. Over the splits of a setting, the difference of
the errors has a mean and a standard error. It counts as a tie where the mean is within two standard
errors, or for Adult, which has few splits but 15,060 test records, within 0.3 points. Splits share
training records, so standard errors are somewhat too small; and even if they were not, chance alone
would pass two of them, over ten splits, in one setting of thirteen. Half of these would be losses.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lattice import KNOWN

RESULTS = Path(__file__).resolve().parent / "results"
PARTS = ("qi8", "columns", "small", "confidence", "noclass")
OTHERS = ("conditional", "thorough", "thorough + 2 %")
SHOWN_KS = (20, 100, 500)
ADULT_TIE = 0.3
Row = TypeVar("Row", "Line", "NoClass")
Setting = tuple[str, ...]

# Without a class: what is measured, under which utility, and how it is written.
MEASURES = (
    ("loss", "distortion", ".2f"),
    ("levels", "distortion", ".2f"),
    ("discernibility", "discernibility", ",d"),
)

# --- Results ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One release and the error that it led to."""

    part: str
    data: str
    masked: str
    promise: str
    mask: str
    method: str
    split: str
    classifier: str
    wrong: int
    tested: int
    left_out: int
    seconds: float  # of the search

    @property
    def error(self) -> float:
        """In percent of the test records."""
        return 100 * self.wrong / self.tested

    @property
    def setting(self) -> Setting:
        """What was asked for, whatever the method and the split."""
        return (self.part, self.data, self.masked, self.promise, self.mask, self.classifier)


@dataclass(frozen=True, slots=True)
class NoClass:
    """One release for no class in particular, or the best node of the lattice by some measure."""

    aim: str  # the utility, or the lattice's measure
    k: int
    method: str
    loss: float  # percent
    levels: float  # climbed by a record
    discernibility: int
    left_out: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    lines: tuple[Line, ...] = ()
    no_class: tuple[NoClass, ...] = ()

    @classmethod
    def read(cls) -> Results:
        """What was measured last; nothing if there are no files."""
        return cls(tuple(_read("cuts-splits.csv", Line)), tuple(_read("cuts-noclass.csv", NoClass)))

    def with_lines(self, lines: Iterable[Line], part: str, classifier: str) -> Results:
        """With one part anew."""
        others = [x for x in self.lines if (x.part, x.classifier) != (part, classifier)]
        found = sorted(
            [*others, *lines], key=lambda x: (PARTS.index(x.part), x.classifier != "tree")
        )
        return replace(self, lines=tuple(found))

    def write(self) -> None:
        """Keep all of it, and what it comes to: as read again, so that rounding is no matter."""
        RESULTS.mkdir(exist_ok=True)
        _write("cuts-splits.csv", _names(Line), map(astuple, self.lines))
        _write("cuts-noclass.csv", _names(NoClass), map(astuple, self.no_class))
        kept = Results.read()
        found = compared(kept.lines)
        heads = ["part", "data", "masked", "promise", "mask", "classifier", *_names(Compared)[1:-1]]
        _write("cuts.csv", heads, ((*x.setting, *astuple(x)[1:-1]) for x in found))
        text = "\n".join(report(found, kept))
        (RESULTS / "cuts.md").write_text(text + "\n", encoding="utf-8")


def _names(row: type) -> list[str]:
    return [field.name for field in fields(row)]


def _read(name: str, kind: type[Row]) -> Iterator[Row]:
    path = RESULTS / name
    if path.is_file():
        types = {"float": float, "int": int, "str": str}
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield kind(*(types[str(field.type)](row[field.name]) for field in fields(kind)))


def _write(name: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with (RESULTS / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        for row in rows:
            writer.writerow(f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row)


# --- Comparisons ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compared:
    """A method in one setting, beside the paper's."""

    setting: Setting
    method: str
    splits: int
    error: float  # mean over the splits, as is all that follows
    difference: float  # to the paper's error; negative is better
    standard_error: float | None  # of the difference; None for a single split
    left_out: float
    seconds: float
    verdict: str  # won, tied, lost
    alike: bool  # the same error on every split: mostly the same cut

    @property
    def paper(self) -> float:
        """The mean error of the paper's search."""
        return self.error - self.difference


def compared(lines: Iterable[Line]) -> list[Compared]:
    """Every method in every setting; in the order of the lines."""
    together: dict[tuple[Setting, str], dict[str, Line]] = {}
    for line in lines:
        together.setdefault((line.setting, line.method), {})[line.split] = line
    return [
        _compared(setting, method, by_split, together[setting, "paper"])
        for (setting, method), by_split in together.items()
    ]


def _compared(
    setting: Setting, method: str, by_split: dict[str, Line], paper: dict[str, Line]
) -> Compared:
    lines = list(by_split.values())
    differences = [line.error - paper[line.split].error for line in lines]
    error = standard_error(differences)
    return Compared(
        setting, method, len(lines), float(np.mean([line.error for line in lines])),
        float(np.mean(differences)), error, float(np.mean([line.left_out for line in lines])),
        float(np.mean([line.seconds for line in lines])),
        verdict(differences, ADULT_TIE if setting[1] == "Adult" else None),
        not any(differences),
    )  # fmt: skip


def standard_error(values: Sequence[float]) -> float | None:
    """Of their mean; None for a single one.

    >>> standard_error([1, 3])
    1.0
    """
    if len(values) < 2:
        return None
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def verdict(differences: Sequence[float], tie: float | None = None) -> str:
    """Whether errors are lower by more than `tie`, or else by more than two standard errors.

    >>> verdict([-1, -2, -3]), verdict([-1, 3, 1]), verdict([0.2, 0.2], tie=0.3)
    ('won', 'tied', 'tied')
    """
    bar = 2 * (standard_error(differences) or 0.0) if tie is None else tie
    mean = float(np.mean(differences))
    if abs(mean) <= bar + 1e-9:
        return "tied"
    return "won" if mean < 0 else "lost"


def tally(found: Sequence[Compared]) -> tuple[int, int, int, int]:
    """How many settings were won, tied and lost, and how many of the ties were alike."""
    verdicts = [x.verdict for x in found]
    return (
        verdicts.count("won"), verdicts.count("tied"), verdicts.count("lost"),
        sum(x.alike for x in found),
    )  # fmt: skip


# --- The report -------------------------------------------------------------------------------


def report(found: Sequence[Compared], results: Results) -> Iterator[str]:
    """All of cuts.md, line by line."""
    trees = [x for x in found if x.setting[-1] == "tree"]
    yield "# Cuts by several searches\n"
    yield "Made by `benchmarks/cuts.py`, which says what was compared. Errors are percent of the"
    yield "test records; a difference below 0 is better than `paper`.\n"
    yield from reading(trees, results.no_class)
    yield from quasi_identifiers(found, results.lines)
    yield from verdicts(trees)
    yield from losses(trees)
    yield from longest(results.lines)
    yield from no_class(results.no_class)


def reading(trees: Sequence[Compared], no_class: Sequence[NoClass]) -> Iterator[str]:
    """The numbers in three sentences."""
    said, means = [], []
    for method in OTHERS:
        if some := [x for x in trees if x.method == method]:
            won, tied, _, _ = tally(some)
            said.append(f"`{method}` {won + tied} of {len(some)} ({won} won)")
            mean = np.mean([x.difference for x in some])
            worst = max(some, key=lambda x: x.difference)
            means.append(f"`{method}` {mean:+.2f} (at worst {worst.difference:+.2f})")
    if said:
        yield f"- Won or tied against `paper`: {', '.join(said)}."
        yield f"- Mean difference of the error over these settings: {', '.join(means)} points."
    if no_class:
        parts = []
        for measure, utility, _ in MEASURES:
            lower = []
            for suffix in ("", " + 2 %"):
                ours = _costs(no_class, utility, f"thorough{suffix}", measure)
                best = _costs(no_class, measure, f"lattice{suffix}", measure)
                lower.append(sum(ours[k] <= best[k] for k in ours))
            parts.append(f"{measure} {lower[0]} and {lower[1]}")
        yield "- Without a class, `thorough` and `thorough + 2 %` are no worse than the lattice's"
        yield f"  best at so many of {len(ours)} k: {', '.join(parts)}."
    yield ""


def quasi_identifiers(found: Sequence[Compared], lines: Sequence[Line]) -> Iterator[str]:
    """Errors on Adult's eight quasi-identifiers, beside ARX's."""
    some = [line for line in lines if line.part == "qi8"]
    if not some:
        return
    yield "## (a) Adult, eight quasi-identifiers\n"
    yield "ARX's figures are J48's errors on its releases of the given split: by its classification"
    yield "metric with nobody suppressed, and its best with 2 % suppressed (`lattice.py`).\n"
    kinds = (
        ("Our tree, the given split", "tree", True),
        ("J48, the given split", "j48", True),
        ("Our tree, ten seeded splits: mean ± standard error of the mean", "tree", False),
    )
    for title, classifier, given in kinds:
        chosen = [x for x in some if x.classifier == classifier and (x.split == "given") == given]
        if chosen:
            yield f"**{title}**\n"
            yield from _by_k(chosen)
            yield ""


def _by_k(lines: Sequence[Line]) -> Iterator[str]:
    methods = ("paper", *OTHERS)
    yield from _head("k", "mask", *methods, "ARX", "ARX, 2 %")
    for k in SHOWN_KS:
        for mask in dict.fromkeys(line.mask for line in lines):
            cells = []
            for method in methods:
                errors = [
                    line.error
                    for line in lines
                    if (line.promise, line.mask, line.method) == (f"k = {k}", mask, method)
                ]
                spread = standard_error(errors) if errors else None
                mean = f"{np.mean(errors):.2f}" if errors else ""
                cells.append(mean + (f" ± {spread:.2f}" if spread is not None else ""))
            yield _row(k, mask, *cells, KNOWN[0.0, k], KNOWN[0.02, k])


def verdicts(trees: Sequence[Compared]) -> Iterator[str]:
    """Wins, ties and losses by data set and kind of promise."""
    yield "## (b) Won, tied, lost against `paper`\n"
    yield "A tie is a mean difference within two standard errors of the paired difference, or for"
    yield "Adult within 0.3 points. Alike: the same error on every split. Then the mean difference."
    yield "For confidence, no records are ever left out. Chance alone passes two standard errors,"
    yield "over ten splits, in 8 % of the settings.\n"
    yield from _head("data set, promise", *(f"{m}: won / tied / lost (alike)" for m in OTHERS))
    kinds = {"qi8": "k, QI8", "columns": "k, Top5–9", "small": "k, Top5–9"}
    by_kind: dict[str, list[Compared]] = {}
    for x in trees:
        by_kind.setdefault(f"{x.setting[1]}, {kinds.get(x.setting[0], x.setting[0])}", []).append(x)
    for kind, some in (*by_kind.items(), ("**all**", list(trees))):
        yield _row(kind, *(_tallied([x for x in some if x.method == m]) for m in OTHERS))
    shares = []
    for method in OTHERS:
        won, tied, lost, _ = tally([x for x in trees if x.method == method])
        shares.append(f"{100 * (won + tied) / max(won + tied + lost, 1):.1f} %")
    yield _row("won or tied", *shares)
    yield ""


def _tallied(some: Sequence[Compared]) -> str:
    if not some:
        return "–"
    won, tied, lost, alike = tally(some)
    mean = np.mean([x.difference for x in some])
    return f"{won} / {tied} / {lost} ({alike}); {mean:+.2f}"


def losses(trees: Sequence[Compared]) -> Iterator[str]:
    """Every setting in which the paper's search is better."""
    lost = [x for x in trees if x.verdict == "lost"]
    yield "### Every loss\n"
    if not lost:
        yield "None.\n"
        return
    heads = ["method", "data set", "masked", "promise", "mask", "paper", "error", "difference"]
    yield from _head(*heads, "standard error", "left out")
    for x in sorted(lost, key=lambda x: (OTHERS.index(x.method), -x.difference)):
        _, data, masked, promise, mask, _ = x.setting
        spread = "" if x.standard_error is None else f"{x.standard_error:.2f}"
        errors = (f"{x.paper:.2f}", f"{x.error:.2f}", f"{x.difference:+.2f}", spread)
        yield _row(x.method, data, masked, promise, mask, *errors, f"{x.left_out:.0f}")
    yield ""


def longest(lines: Sequence[Line]) -> Iterator[str]:
    """The searches that took longest."""
    yield "## (c) Longest searches\n"
    yield "Two at a time on two cores; medians and maxima over all splits and settings.\n"
    yield from _head("part", "data set", "method", "median, s", "longest, s", "where")
    by: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        if line.classifier == "tree":
            by.setdefault((line.part, line.data, line.method), []).append(line)
    for (part, data, method), some in by.items():
        most = max(some, key=lambda line: line.seconds)
        median = f"{np.median([line.seconds for line in some]):.2f}"
        where = f"{most.masked}, {most.promise}, {most.mask}"
        yield _row(part, data, method, median, f"{most.seconds:.2f}", where)
    yield ""


def no_class(found: Sequence[NoClass]) -> Iterator[str]:
    """What is lost without a class, beside the best node of the lattice."""
    if not found:
        return
    yield "## (d) Adult, eight quasi-identifiers, no class\n"
    yield "ARX's hierarchies. Loss: the mean over all cells, in percent. Levels: climbed by a"
    yield 'record on average, which is what utility = "distortion" counts. A record that is left'
    yield "out loses all, climbs to the top, and costs the number of records in discernibility; in"
    yield "brackets, how many. The lattice is at its best by the same measure.\n"
    methods = ("paper", "thorough", "lattice", "thorough + 2 %", "lattice + 2 %")
    for measure, utility, form in MEASURES:
        yield f'**{measure}, utility = "{utility}"**\n'
        yield from _head("k", *methods)
        aims = [measure if method.startswith("lattice") else utility for method in methods]
        pairs = list(zip(aims, methods, strict=True))
        costs = [_costs(found, aim, method, measure) for aim, method in pairs]
        left = [_costs(found, aim, method, "left_out") for aim, method in pairs]
        for k in costs[0]:
            cells = zip(costs, left, strict=True)
            yield _row(k, *(f"{c[k]:{form}}" + f" ({n[k]})" * (n[k] > 0) for c, n in cells))
        yield ""


def _costs(found: Sequence[NoClass], aim: str, method: str, measure: str) -> dict[int, Any]:
    """What a method costs, by k."""
    return {x.k: getattr(x, measure) for x in found if (x.aim, x.method) == (aim, method)}


def _head(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield _row(*("---" for _ in cells))


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
