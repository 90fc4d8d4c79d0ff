"""Which search finds the better cut: the evidence for the defaults of `[goal]`.

    python benchmarks/cuts.py [--part qi8|columns|small|confidence|noclass] [--classifier j48]
    python benchmarks/cuts.py --again 120

    paper           score = "paper", search = "greedy": as Fung 2007 has it
    conditional     score = "conditional", search = "greedy"
    thorough        score = "conditional", search = "thorough"
    thorough + 2 %  the same, with suppress_records = 0.02

A mask is learnt on training records alone and masks the test records value by value, so no search
is praised for what it has seen of them. A classifier learns from the masked training records that
are released and is tested on all test records. Every release is one of `reticent.release`, which
recounts each promise.

    part        data sets          promise                           columns that a classifier sees
    qi8         Adult              k over eight quasi-identifiers    these eight
    columns     Adult              k over its top 5, 7 or 9          all 14
    small       CRX, German        k over their top 5, 7 or 9        all
    confidence  all three          as in figures/confidence_bounding the categorical ones
    noclass     Adult              k over the eight                  none: what is lost is counted

`results/cuts-splits.csv` has a line for every release, `cuts-noclass.csv` for every one without
a class; `cuts.csv` and `cuts.md` are made from both (`cuts_report`). A part that is run again
replaces its own lines and no others. J48's errors need Weka (see `figures/README.md`) and are
taken on the given split of `qi8` only. `--again` looks at the losses of the default search on the
small sets once more, on splits that nothing has seen, and writes `cuts-again.md`. But for times, a
second run writes the same files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).resolve().parent / "figures"))

import confidence_bounding
from cuts_report import PARTS, RESULTS, Line, NoClass, Results, compared
from datasets import CLASS, DATA_SETS, DataSet, NoData, Rows, folder
from experiment import each, mask_of, wrong
from lattice import KS, QUASI, Found, Hierarchy, Records, cheapest, published, survey
from reticent.files.tabular import from_arrow
from reticent.tables.evidence.aligned import for_classifiers
from reticent.tables.flow import release
from reticent.tables.report import Release

SHARE = 0.02
METHODS: dict[str, dict[str, Any]] = {
    "paper": {"goal": {"score": "paper", "search": "greedy"}},
    "conditional": {"goal": {"score": "conditional", "search": "greedy"}},
    "thorough": {"goal": {"score": "conditional", "search": "thorough"}},
    "thorough + 2 %": {
        "goal": {"score": "conditional", "search": "thorough"},
        "suppress_records": str(SHARE),
    },
}
TOPS = (5, 7, 9)
SMALL_KS = (5, 10, 20, 50, 100, 200)  # beyond half the records there is one group and no choice
RANDOM = 3
GIVEN = "given"
UTILITIES = ("distortion", "discernibility")

# --- Settings ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A setting, with all that it takes to run it."""

    part: str
    data: str
    masked: str  # for the eye, as are the next two
    promise: str
    mask: str
    columns: tuple[str, ...]  # that a classifier sees
    policy: Mapping[str, Any]
    sensitive: tuple[str, ...] = ()
    at_most: str = ""

    def policy_for(self, training: pa.Table) -> Mapping[str, Any] | None:
        """The policy; None if these records can keep no promise of it.

        Which values are sensitive does not depend on the split. Which of them are too frequent to
        be hard to infer does, by a record or two.
        """
        if not self.sensitive:
            return self.policy
        data = DATA_SETS[self.data]()
        part = replace(data, table=training)
        asked = {name: data.rarest_half(name) for name in self.sensitive}
        kept = {
            name: confidence_bounding.keepable(part, name, values, self.at_most)
            for name, values in asked.items()
        }
        promise = {
            "over": [name for name in self.columns if name not in self.sensitive],
            "sensitive": {name: values for name, values in kept.items() if values},
            "at_most": self.at_most,
            "allow_absent": True,  # a rare value may be in test records alone
        }
        return {**self.policy, "confidence": [promise]} if promise["sensitive"] else None


def cases(part: str) -> Iterator[Case]:
    """The settings of one part."""
    if part == "qi8":
        for mask in ("suppress", "hierarchies"):
            for k in KS:
                yield anonymous(part, "Adult", "QI8", QUASI, QUASI, k, mask)
    elif part == "columns":
        for mask in ("suppress", "generalize"):
            yield from tops(part, "Adult", KS, mask)
    elif part == "small":
        for name in ("CRX", "German"):
            yield from tops(part, name, SMALL_KS, "suppress")
    elif part == "confidence":
        for name in confidence_bounding.LEVELS:
            yield from bounded(part, name)


def tops(part: str, name: str, ks: tuple[int, ...], mask: str) -> Iterator[Case]:
    data = DATA_SETS[name]()
    for top in TOPS:
        for k in ks:
            over, seen = data.top[:top], tuple(data.attributes)
            yield anonymous(part, name, f"Top{top}", over, seen, k, mask)


def anonymous(
    part: str, data: str, masked: str, over: tuple[str, ...], seen: tuple[str, ...], k: int,
    mask: str,
) -> Case:  # fmt: skip
    policy: dict[str, Any] = {"class": CLASS, "keep": "*"}
    policy["anonymity"] = [{"over": list(over), "k": k}]
    policy["attributes"] = attributes(over, mask)
    return Case(part, data, masked, f"k = {k}", mask, seen, policy)


def attributes(over: tuple[str, ...], mask: str) -> dict[str, dict[str, str]]:
    """Masks other than the default ones: suppressed texts, discretized numbers."""
    if mask == "suppress":
        return {}
    if mask == "generalize":
        return {name: mask_of(name) for name in over}
    files = {name: folder() / f"arx_adult/adult_hierarchy_{name}.csv" for name in over}
    return {name: {"mask": "generalize", "taxonomy": str(at)} for name, at in files.items()}


def bounded(part: str, name: str) -> Iterator[Case]:
    """All top attributes sensitive, and a few random sets of the same sizes.

    Where no value at all can be promised to be hard to infer there is nothing to compare.
    """
    data = DATA_SETS[name]()
    sets: dict[str, tuple[str, ...]] = {}
    for (kind, size), drawn in confidence_bounding.sets_of(data, "tree").items():
        new = [names for names in dict.fromkeys(drawn) if names not in sets.values()]
        for number, names in enumerate(new[:RANDOM], 1):
            sets[f"{kind}{size}" + (f" no. {number}" if kind == "Ran" else "")] = names
    policy = {"class": CLASS, "keep": "*"}
    for label, sensitive in sets.items():
        for h in confidence_bounding.LEVELS[name]:
            if confidence_bounding.bounds(data, sensitive, h):
                seen = tuple(data.categorical)
                yield Case(part, name, label, f"h = {h}", "suppress", seen, policy, sensitive, h)


def splits(part: str, data: str) -> list[str]:
    """The splits of a setting, by name: the given one, or the number of a seeded one.

    German has no given split, and that of CRX has 188 test records: not worth a line of its own.
    """
    seeded = [str(number) for number in range(2 if data == "Adult" and part != "qi8" else 10)]
    return [GIVEN, *seeded] if data == "Adult" else seeded


def held_out(data: DataSet, split: str) -> Rows:
    """The test records of a split."""
    return data.for_testing() if split == GIVEN else data.splits(int(split) + 1)[-1]


# --- Errors -----------------------------------------------------------------------------------

Job = tuple[Case, str, str]  # setting, split, classifier
_ready = False


def measure(job: Job) -> list[Line]:
    """The error after every method, on one split of one setting."""
    global _ready
    if not _ready:  # the first search of a process loads compiled code: its time is not counted
        _ready = True
        measure(job)
    case, split, classifier = job
    data = DATA_SETS[case.data]()
    table, test = data.table.select([*case.columns, CLASS]), held_out(data, split)
    training = table.filter(pa.array(~test))
    policy = case.policy_for(training)
    if policy is None:
        return []
    lines = []
    for method, how in METHODS.items():
        if case.sensitive and "suppress_records" in how:
            continue  # records are left out for the sake of k only: this is `thorough` again
        found = release(training, {**policy, **how})
        lines.append(
            Line(
                case.part, case.data, case.masked, case.promise, case.mask, method, split,
                classifier, wrong_after(found, table, test, case.columns, classifier),
                int(test.sum()), _left_out(found), found.seconds["refine"],
            )
        )  # fmt: skip
    return lines


def wrong_after(
    found: Release, table: pa.Table, test: Rows, columns: tuple[str, ...], classifier: str
) -> int:
    """How many of all test records a classifier gets wrong that learns from the released ones."""
    shown = for_classifiers(from_arrow(table), found.recodings)
    there = np.ones(table.num_rows, dtype=bool)
    if found.left_out:
        there[np.flatnonzero(~test)[found.left_out.rows]] = False
    return wrong(shown.take(there), test[there], columns, classifier)


def _left_out(found: Release) -> int:
    return found.left_out.count if found.left_out else 0


def jobs(part: str, classifier: str) -> Iterator[Job]:
    for case in cases(part):
        for split in splits(part, case.data):
            if classifier == "tree" or split == GIVEN:
                yield case, split, classifier


# --- Without a class --------------------------------------------------------------------------


def without_class(job: tuple[str, int, str]) -> NoClass:
    """What the cells of Adult lose, and how much alike its records get, if there is no class."""
    utility, k, method = job
    data = DATA_SETS["Adult"]()
    table = data.table.select([*QUASI, CLASS]).filter(pa.array(~data.for_testing()))
    how = {**METHODS[method], "goal": {**METHODS[method]["goal"], "utility": utility}}
    promise = [{"over": list(QUASI), "k": k}]
    policy = {"attributes": attributes(QUASI, "hierarchies"), "anonymity": promise, **how}
    found = release(table.drop_columns([CLASS]), policy)
    costs = lost(found, table, published())
    return NoClass(utility, k, method, *costs, _left_out(found), found.seconds["refine"])


def lost(
    found: Release, table: pa.Table, hierarchies: Sequence[Hierarchy]
) -> tuple[float, float, int]:
    """The mean loss of a cell in percent, levels climbed a record, and discernibility.

    The first and the last as in `lattice`. Levels are what utility = "distortion" counts.
    """
    out = found.left_out.rows if found.left_out else np.zeros(table.num_rows, dtype=bool)
    kept = table.filter(pa.array(~out))
    shown, raised = [], 0
    for tree in hierarchies:
        labels = found.recodings[tree.name].labels
        # Two levels: the leaf, and what it is shown as.
        shown.append(Hierarchy.of(tree.name, [[leaf, labels[leaf]] for leaf in tree.leaves]))
        levels = [
            next(i for i, of in enumerate(tree.labels) if of[tree.codes[i, at]] == labels[leaf])
            for leaf, at in tree.leaves.items()
        ]
        raised += int(np.array(levels)[tree.coded(kept)].sum())
        raised += int(out.sum()) * (len(tree.labels) - 1)
    records, node = Records.of(kept, shown), (1,) * len(shown)
    _, sizes = np.unique(records.keys(node), return_counts=True)
    rows, left = table.num_rows, int(out.sum())
    loss = 100 * (float(records.losses(node).sum()) + left) / rows
    return loss, raised / rows, int((sizes**2).sum()) + left * rows


def of_the_lattice() -> list[NoClass]:
    """The best nodes by each measure, with nobody suppressed and with some."""
    data = DATA_SETS["Adult"]()
    records = Records.of(data.table.filter(pa.array(~data.for_testing())), published())
    surveyed = survey(records, KS)
    best = []
    for metric, k, share in product(("loss", "levels", "discernibility"), KS, (0.0, SHARE)):
        most = int(share * records.count)
        if metric == "levels":
            allowed = (node for node in surveyed[k] if node.suppressed <= most)
            node = min(allowed, key=lambda node: climbed(node, records))
        else:
            node = cheapest(surveyed[k], most, metric)
        costs = (node.loss, climbed(node, records), node.discernibility, node.suppressed, 0.0)
        best.append(NoClass(metric, k, "lattice + 2 %" if share else "lattice", *costs))
    return best


def climbed(found: Found, records: Records) -> float:
    """The levels that a node raises a record by, on average; to the top if it is suppressed."""
    top = sum(len(tree.labels) - 1 for tree in records.hierarchies)
    raised = sum(found.node) * (records.count - found.suppressed)
    return (raised + top * found.suppressed) / records.count


# --- The experiment ---------------------------------------------------------------------------


def run(part: str, classifier: str, results: Results) -> Results:
    """Run one part anew; the other parts' results stay."""
    if part != "noclass":
        found = each(measure, jobs(part, classifier))
        return results.with_lines([line for lines in found for line in lines], part, classifier)
    methods = [method for method in METHODS if method != "conditional"]
    asked = product(UTILITIES, KS, methods)
    return replace(results, no_class=(*each(without_class, asked), *of_the_lattice()))


def again(count: int, results: Results) -> str:
    """Every loss of the default search on the small sets, on so many splits that it has not seen.

    Of hundreds of settings some are lost by the luck of ten splits. A loss that is real is one on
    fresh splits, too.
    """
    trees = [line for line in results.lines if line.classifier == "tree"]
    lost = {
        x.setting
        for x in compared(trees)
        if x.method == "thorough" and x.verdict == "lost" and x.setting[1] != "Adult"
    }
    chosen = [
        case
        for part in ("small", "confidence")
        for case in cases(part)
        if (case.part, case.data, case.masked, case.promise, case.mask, "tree") in lost
    ]
    seen = {int(line.split) for line in trees if line.split != GIVEN}
    fresh = range(max(seen) + 1, max(seen) + 1 + count)
    jobs = [(case, str(split), "tree") for case in chosen for split in fresh]
    lines = [line for lines in each(measure, jobs) for line in lines]
    found = [x for x in compared(lines) if x.method == "thorough"]
    said = [
        f"Losses of `thorough` on the small sets, again on {count} other splits "
        f"(`cuts.py --again {count}`).\n",
        "| data set | masked | promise | paper | error | difference | standard error | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for x in found:
        _, data, masked, promise, _, _ = x.setting
        spread = "" if x.standard_error is None else f"{x.standard_error:.2f}"
        errors = f"{x.paper:.2f} | {x.error:.2f} | {x.difference:+.2f} | {spread}"
        said.append(f"| {data} | {masked} | {promise} | {errors} | {x.verdict} |")
    return "\n".join(said if found else ["There are none.\n"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare searches by the cuts that they find.")
    parser.add_argument("--again", type=int, metavar="N", help="look at losses on N other splits")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--classifier", choices=["tree", "j48"], default="tree")
    asked = parser.parse_args()
    parts = [asked.part] if asked.part else PARTS if asked.classifier == "tree" else ["qi8"]
    if asked.classifier == "j48" and parts != ["qi8"]:
        parser.error("J48 is for --part qi8 only")
    try:
        if asked.again:
            text = again(asked.again, Results.read())
            (RESULTS / "cuts-again.md").write_text(text, encoding="utf-8")
            print(text)
            return
        for part in parts:
            run(part, asked.classifier, Results.read()).write()
    except NoData as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
