"""Xu 2008, figures 20 to 28: what coherence of transactions costs, and how long it takes.

    best            the product's search                greedy         the paper's, then giving back
    greedy alone    the paper's, exactly                every item     of every mole ("RmAll")
    whole baskets   every basket equals k - 1 others in all that is left ("k-Anonymizer")

Loss is in percent of all item occurrences, private copies not counted, or of all nuggets. Where a
part of the items is public, it is drawn by lot, and losses are means of five draws. Times are of
"best": all that is done between the transactions in memory and the items to suppress. Whatever an
experiment uses was recounted by the verifier first. The figures are drawings, so only what the
text says stands beside ours; a "bar" is no number of the paper but one that was to be reached.

What comes out otherwise than in the paper, and why:

1. h = 40 %, its default, cannot be kept: who knows nothing is 47.4 % (Connect) or 47.8 % (Retail)
   sure of the commonest private item, and only public items are suppressed. Here h is 100 %.
2. Nor has h "little impact". A private item is a copy of an item of the same transaction, so that
   who knows the item is sure of the copy wherever it is the commonest below one half. With all
   items public and h = 50 %, 48 of 129 items of Connect are moles alone (7 with h = 100 %), and
   15,009 of 16,470 of Retail.
3. Every item of every mole: with p above the size of a mole anything beside it is in a mole, too.
   Practically all items are, and what is lost is the share that was drawn as public, 40 % on
   average; the paper's 41.94 % is one such draw.
4. Retail, 20 % public: greedy loses 1 point less than that, not 8; the gap is 7 to 16 points
   where 40 % and more are public. Most items of Retail are rare, and almost all must go by any way.
   Whole baskets, which did not finish there in the paper, loses as little as greedy: where hardly
   anything can stay, it does not matter much which promise forbids it.
5. Nuggets of Connect: the paper says near zero, for no nugget would have an item in a mole. But p
   is unlimited, so that a whole transaction is known, nearly all are unique, and every item is in a
   mole. At k = 50 six of the 41 items that 40 % hold go, of supports 43 to 61 %, and
   `least_nuggets` shows that no choice loses less than these 7.7 %. With p = 4 nothing is lost.
   Perhaps the paper's way of counting hides it: it adds up overlapping edges, so sets of the most
   frequent items, which stay, count many times over.
6. Nuggets of Retail at 1 %: 75 to 78 % are lost, in the paper 70 %. Private copies make the
   difference: counted as nuggets, too, they stay, and 65 to 67 % are lost. Under "every item" all
   are lost for each k and support, by minimal moles alone as well. No reading of the text was
   found that spares them at 5 % and k = 10 or 20.
7. Greedy depends on ties. On Mushroom (k = 10, p = 3) one of them decides between 20.26 % (17.48 %
   after giving back) and 19.31 % (18.65 %); the first is what the smallest name gives. The swaps of
   "best" make up for it.
8. Else private copies are no part of nuggets here: the paper's count is of the raw data.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from datasets import HERE, NoData
from experiment import Claim, Kept, run, span
from reticent.pages.curves import Series
from reticent.privacy.coherence import Coherence, RoledBaskets, recount
from reticent.suppress.baskets.diagrams import Family
from reticent.suppress.baskets.methods import ItemSearch
from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles
from reticent.suppress.baskets.nuggets import find_nuggets
from reticent.suppress.baskets.worth import Itemsets, Occurrences, Worth
from reticent.suppress.engine import mask
from reticent.suppress.sets import Budget, Mask, Sets
from reticent.transactions import baselines as others

sys.path.append(str(HERE.parent))
import basket_shapes

SEEDS = (1, 2, 3, 4, 5)
ALL = Fraction(1)
HALF = Fraction(1, 2)
METHODS = ("best", "greedy", "greedy alone", "every item", "whole baskets")
Ints = NDArray[np.int64]

# --- transactions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shop:
    """A data set: its transactions as numbers, each with its private copy."""

    rows: basket_shapes.Rows
    names: list[str]  # ascending by code point, as the product numbers items
    private: NDArray[np.int32]  # of every transaction
    privates: int
    occurrences: int

    def known(self, share: Fraction, seed: int) -> KnownBaskets:
        """What an attacker may know, if a share of the items is public."""
        public = basket_shapes.public_items(self.rows, float(share), seed)
        number = {name: place for place, name in enumerate(public)}
        cut = [[number[item] for item in row if item in number] for row in self.rows]
        items = np.array([item for row in cut for item in sorted(row)], np.int32)
        own = np.arange(len(cut) + 1), self.private, self.privates
        return KnownBaskets(np.cumsum([0, *map(len, cut)]), items, len(public), *own)


@cache
def shop(name: str) -> Shop:
    try:
        rows = basket_shapes.rows_of(name)
    except FileNotFoundError as missing:
        text = f"{missing.filename} is not there: set RETICENT_DATA to the folder of data sets"
        raise NoData(text) from None
    names, copies = np.unique(basket_shapes.private_copies(rows), return_inverse=True)
    items = sorted({item for row in rows for item in row})
    return Shop(rows, items, copies.astype(np.int32), len(names), sum(map(len, rows)))


@cache
def known_of(name: str, share: Fraction, seed: int) -> KnownBaskets:
    return shop(name).known(share, seed)


def prove(known: KnownBaskets, gone: Mask, promise: Coherence) -> None:
    """The verifier's word on what is left; it shares nothing with the search."""
    left = known.without(gone)
    # Private copies are numbered after all others, so each stands last in its transaction.
    items = np.insert(left.items, left.starts[1:], left.private + left.count).astype(np.int32)
    public = np.arange(left.count + left.private_count) < left.count
    released = RoledBaskets(left.starts + np.arange(len(left.starts)), items, public, ~public)
    if not recount(released, promise).holds:
        raise AssertionError(f"the verifier does not say that this is kept: {promise.text}")


# --- loss of items ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """A data set, how much of it is public, and the promise."""

    data: str
    share: Fraction
    k: int
    p: int | None
    h: Fraction = ALL

    @property
    def seeds(self) -> tuple[int, ...]:
        """Nothing is drawn where all items are public."""
        return SEEDS[:1] if self.share == 1 else SEEDS

    @property
    def promise(self) -> Coherence:
        return Coherence(h=self.h, k=self.k, p=self.p)

    def search(self, seed: int, worth: Worth | None = None) -> ItemSearch:
        known = known_of(self.data, self.share, seed)
        return ItemSearch(known, self.k, self.h, self.p, worth or Occurrences(known.supports()))

    @property
    def cells(self) -> list[Any]:
        p = "unlimited" if self.p is None else self.p
        return [self.data, f"{float(self.share):.0%}", self.k, p, f"{float(self.h):.0%}"]


@dataclass(frozen=True, slots=True)
class Losses:
    """Percent of all occurrences that each method loses, and the seconds of the search."""

    setting: Setting
    lost: dict[str, list[float]]  # one for each seed
    seconds: list[float]
    mining: list[float]
    moles: list[int]

    def mean(self, method: str = "best") -> float:
        return mean(self.lost[method])


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


@cache
def losses(setting: Setting) -> Losses:
    """What every method loses, each held against the verifier."""
    found = Losses(setting, {name: [] for name in METHODS}, [], [], [])
    for seed in setting.seeds:
        known = known_of(setting.data, setting.share, seed)
        start = time.perf_counter()
        search = setting.search(seed)
        best = search.run("best").removed.gone
        found.seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
        listed = minimal_moles(known, setting.k, setting.h, setting.p)
        found.mining.append(time.perf_counter() - start)
        found.moles.append(len(listed))
        removed = search.greedy(Budget())
        assert removed is not None
        gone = {
            "best": mask(best, known.count),
            "greedy": mask(removed.gone, known.count),
            "greedy alone": mask(removed.order, known.count),
            "every item": others.every_item_of_every_mole(search),
            "whole baskets": others.whole_baskets_alike(search),
        }
        supports = known.supports()
        for name, away in gone.items():
            if name != "whole baskets" or setting.h == 1:  # it promises no confidence
                prove(known, away, setting.promise)
            found.lost[name].append(100 * supports[away].sum() / shop(setting.data).occurrences)
    tell(f"{setting.cells} {[f'{name} {found.mean(name):.2f}' for name in METHODS]}")
    return found


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """Loss of items over p, k and the share of public items, one at a time."""

    number: int
    default: Setting
    ps: tuple[int | None, ...]
    ks: tuple[int, ...]
    shares: tuple[int, ...]
    surer: tuple[tuple[Fraction, tuple[int, ...]], ...]  # some h below 100 %, and k for each

    def over_p(self) -> list[Losses]:
        one = self.default
        return [losses(Setting(one.data, one.share, one.k, p)) for p in self.ps]

    def over_k(self) -> list[Losses]:
        one = self.default
        return [losses(Setting(one.data, one.share, k, one.p)) for k in self.ks]

    def over_share(self) -> list[Losses]:
        one = self.default
        shares = [Fraction(share, 100) for share in self.shares]
        return [losses(Setting(one.data, share, one.k, one.p)) for share in shares]

    def over_h(self) -> list[Losses]:
        one = self.default
        return [
            losses(Setting(one.data, one.share, k, one.p, h)) for h, ks in self.surer for k in ks
        ]

    def at(self, **other: Any) -> Losses:
        one = self.default
        told = {"share": one.share, "k": one.k, "p": one.p, "h": one.h} | other
        return losses(Setting(one.data, **told))

    def keep(self, kept: Kept) -> None:
        """Tables and charts."""
        data = self.default.data
        panels = {"p": self.over_p(), "k": self.over_k(), "share": self.over_share()}
        rows = [
            [
                over, *found.setting.cells, *(found.mean(name) for name in METHODS),
                int(mean(found.moles)), mean(found.seconds), mean(found.mining),
            ]
            for over, some in {**panels, "h": self.over_h()}.items()
            for found in some
        ]  # fmt: skip
        kept.table(ITEMS, rows, f"items-{data}")
        labels = {"p": "items an attacker knows, p", "k": "k", "share": "% of items public"}
        for over, some in panels.items():
            kept.chart(
                f"{data.capitalize()}: loss of item occurrences",
                labels[over],
                [
                    Series(name, [(at(found, over), found.mean(name)) for found in limited(some)])
                    for name in METHODS
                    if name != "greedy alone"  # which no chart could tell from greedy
                ],
                part=f"items-{data}-{over}",
                y_label="loss, %",
            )


ITEMS = [
    "over", "data", "public", "k", "p", "h", *METHODS, "minimal moles", "seconds", "mining seconds",
]  # fmt: skip


def limited(some: Sequence[Losses]) -> list[Losses]:
    """Those that can be drawn."""
    return [found for found in some if found.setting.p is not None]


def at(found: Losses, over: str) -> float:
    share = found.setting.share
    return float(100 * share) if over == "share" else float(getattr(found.setting, over))


CONNECT = Figure(
    20, Setting("connect", Fraction(2, 5), 100, 5), (2, 3, 4, 5, 6, None), (50, 100, 200, 400),
    (10, 20, 40, 70, 100), ((HALF, (50, 100, 400)), (Fraction(12, 25), (100,))),
)  # fmt: skip
RETAIL = Figure(
    22, Setting("retail", Fraction(1, 5), 20, 4), (2, 3, 4, 5, None), (5, 10, 20, 50),
    (10, 20, 40, 100), ((HALF, (20,)),),
)  # fmt: skip

# --- loss of nuggets --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Nuggets:
    """What each way loses of them, in percent, all items being public."""

    setting: Setting
    percent: int  # the support of a nugget
    total: int
    nodes: int  # of the diagram that stands for them
    lost: dict[str, float]
    seconds: float
    dear: list[tuple[str, float]]  # frequent items that went, and their supports in percent


@cache
def family(data: str, percent: int) -> Family:
    known = known_of(data, ALL, 1)
    least = ceil(Fraction(percent * known.transactions, 100))
    found = find_nuggets(known.starts, known.items, known.count, least)
    assert found is not None
    return found


@cache
def nuggets(setting: Setting, percent: int) -> Nuggets:
    known, whole = known_of(setting.data, ALL, 1), family(setting.data, percent)
    supports = known.supports()
    start = time.perf_counter()
    search = setting.search(1, Itemsets(whole, np.arange(known.count), supports))
    best = mask(search.run("best").removed.gone, known.count)
    seconds = time.perf_counter() - start
    prove(known, best, setting.promise)
    gone = {"best": best, "whole baskets": others.whole_baskets_alike(search)}
    if setting.h == 1 and setting.p is None:
        gone["every item"] = in_rare_baskets(known, setting.k)
        prove(known, gone["every item"], setting.promise)
        prove(known, gone["whole baskets"], setting.promise)
    if search.complete:
        gone["every item, minimal"] = mask(search.pool.sets.items, known.count)
    lost = {
        name: 100 * (1 - whole.without(np.flatnonzero(away).tolist()).total / whole.total)
        for name, away in gone.items()
    }
    frequent = (100 * supports >= percent * known.transactions) & best
    dear = [
        (shop(setting.data).names[item], 100 * supports[item] / known.transactions)
        for item in np.flatnonzero(frequent).tolist()
    ]
    tell(f"{setting.cells} {percent} % {lost} {seconds:.1f} s")
    return Nuggets(setting, percent, whole.total, len(whole.nodes), lost, seconds, dear)


@cache
def lost_with_copies(setting: Setting, percent: int) -> tuple[float, int]:
    """The loss of nuggets if private copies are items like others; and how many nuggets."""
    known = known_of(setting.data, ALL, 1)
    items = np.insert(known.items, known.starts[1:], known.private + known.count).astype(np.int32)
    starts, count = known.starts + np.arange(len(known.starts)), known.count + known.private_count
    whole = find_nuggets(starts, items, count, ceil(Fraction(percent * known.transactions, 100)))
    assert whole is not None
    search = setting.search(1, Itemsets(whole, np.arange(known.count), known.supports()))
    found = search.run("best")
    prove(known, mask(found.removed.gone, known.count), setting.promise)
    return 100 * found.lost[0] / whole.total, whole.total


def in_rare_baskets(known: KnownBaskets, k: int) -> Mask:
    """Every item of every mole, whatever their size: all that stands in a basket that is rare."""
    rows = [tuple(row) for row in np.split(known.items, known.starts[1:-1])]
    held = Counter(rows)
    rare = np.repeat([held[row] < k for row in rows], np.diff(known.starts))
    return mask(np.unique(known.items[rare]), known.count)


NUGGET_KS = dict.fromkeys(("connect", "retail"), (10, 20, 30, 40, 50))
PERCENTS = {"connect": (40, 50, 60), "retail": (1, 2, 5)}
SURE = tuple(Fraction(percent, 100) for percent in (50, 60, 70, 80, 90, 100))  # 27b and 28b
SURE_K = {"connect": 50, "retail": 10}
NUGGETS = [
    "data", "k", "p", "h", "support of a nugget", "nuggets", "best", "every item", "whole baskets",
    "every item, minimal", "seconds",
]  # fmt: skip


def nuggets_over_k(data: str, percent: int) -> list[Nuggets]:
    return [nuggets(Setting(data, ALL, k, None), percent) for k in NUGGET_KS[data]]


def nuggets_over_h(data: str) -> list[Nuggets]:
    percent = PERCENTS[data][0]
    return [nuggets(Setting(data, ALL, SURE_K[data], 4, h), percent) for h in SURE]


def keep_nuggets(data: str, kept: Kept) -> None:
    by_support = {percent: nuggets_over_k(data, percent) for percent in PERCENTS[data]}
    every = [*(one for some in by_support.values() for one in some), *nuggets_over_h(data)]
    rows = [
        [
            data, *one.setting.cells[2:], f"{one.percent}%", one.total,
            *(one.lost.get(name, "") for name in NUGGETS[6:10]), one.seconds,
        ]
        for one in every
    ]  # fmt: skip
    kept.table(NUGGETS, rows, f"nuggets-{data}")
    kept.chart(
        f"{data.capitalize()}: loss of nuggets",
        "k",
        [
            Series(f"{name}, {percent} %", [(one.setting.k, one.lost[name]) for one in some])
            for name in ("best", "whole baskets")
            for percent, some in by_support.items()
            if name == "best" or percent == PERCENTS[data][0]
        ],
        part=f"nuggets-{data}",
        y_label="loss, %",
    )


# --- the optimum ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Optimum:
    """What an integer program knows of the least loss, and what was found, in percent."""

    setting: Setting
    bound: float
    solved: bool
    best: float
    greedy: float | None
    rounds: int
    seconds: float

    @property
    def gap(self) -> float:
        """How much more than the bound is lost, in percent of it."""
        return 100 * (self.best - self.bound) / self.bound if self.bound else 0.0


MOST_SECONDS = 45.0
Finder = Callable[[Mask], Sets]


def cheapest(costs: Ints, start: Sets, left: Finder, until: float) -> tuple[float, bool, int]:
    """The least cost of things that break every threat, if it is found in time; or a bound.

    The program begins with a few threats; whatever its answer leaves joins them, until nothing is
    left. Every answer on the way is a lower bound, for threats are only missing.
    """
    sets, bound, rounds = start, 0.0, 0
    while True:
        rounds += 1
        shape = len(sets), len(costs)
        table = csr_matrix((np.ones(len(sets.items)), sets.items, sets.begins), shape=shape)
        room = until - time.perf_counter()
        if room <= 0:
            return bound, False, rounds
        found = milp(
            costs, integrality=np.ones(len(costs)), bounds=Bounds(0, 1), 
            constraints=LinearConstraint(table, lb=1),
            options={"time_limit": room, "mip_rel_gap": 0},
        )  # fmt: skip
        if found.mip_dual_bound is not None:
            bound = max(bound, float(found.mip_dual_bound))
        if found.status != 0:
            return bound, False, rounds
        fresh = left(found.x > 0.5)
        if not len(fresh):
            return float(found.fun), True, rounds
        sets = Sets(
            np.concatenate([sets.begins, sets.begins[-1] + fresh.begins[1:]]),
            np.concatenate([sets.items, fresh.items]),
        )


FRESH = 3_000  # threats that join in a round


@cache
def optimum(setting: Setting) -> Optimum:
    """The least loss of occurrences that any choice of items has."""
    known = known_of(setting.data, setting.share, 1)
    start = time.perf_counter()
    search = setting.search(1)
    best = search.run("best")
    prove(known, mask(best.removed.gone, known.count), setting.promise)
    lost, listed = {"best": best.lost[0]}, best.complete
    if listed:
        removed = search.greedy(Budget())
        assert removed is not None
        lost["greedy"] = int(search.supports[mask(removed.gone, known.count)].sum())

    def left(gone: Mask) -> Sets:
        if listed:
            pool = search.pool.sets
            which = np.flatnonzero(search.pool.missing(gone) == 0)
            return pool.some(which[:: max(1, len(which) // FRESH)])
        return minimal_moles(
            known.without(gone), setting.k, setting.h, setting.p, budget=Budget(sets=FRESH)
        )

    pool = search.pool.sets
    step = max(1, len(pool) // FRESH) if len(pool) > 10 * FRESH else 1
    few = pool.some(np.arange(0, len(pool), step))
    until = time.perf_counter() + MOST_SECONDS
    bound, solved, rounds = cheapest(search.supports, few, left, until)
    whole = shop(setting.data).occurrences
    found = Optimum(
        setting, 100 * bound / whole, solved, 100 * lost["best"] / whole,
        100 * lost["greedy"] / whole if "greedy" in lost else None, rounds,
        time.perf_counter() - start,
    )  # fmt: skip
    tell(str(found))
    return found


def least_nuggets(data: str, k: int, percent: int) -> tuple[float, bool]:
    """The least share of nuggets that anybody loses, in percent, p unlimited and h = 100 %.

    Items that are in no nugget cost none: all of them may go. So only frequent items count, and
    what they must break are rare baskets of frequent items. Items that alone cost more than our
    own search lost in all are no part of it, and among the others all combinations are few.
    """
    known, whole = known_of(data, ALL, 1), family(data, percent)
    frequent = 100 * known.supports() >= percent * known.transactions
    table = np.zeros((known.transactions, int(frequent.sum())), np.uint8)
    place = np.cumsum(frequent) - 1
    of = np.repeat(np.arange(known.transactions), np.diff(known.starts))
    held = frequent[known.items]
    table[of[held], place[known.items[held]]] = 1
    names = np.flatnonzero(frequent)
    limit = nuggets(Setting(data, ALL, k, None), percent).lost["best"]

    def lost(gone: frozenset[int]) -> float:
        return 100 * (1 - whole.without([int(names[i]) for i in gone]).total / whole.total)

    def safe(gone: frozenset[int]) -> bool:
        kept = [i for i in range(len(names)) if i not in gone]
        packed = np.packbits(table[:, kept], axis=1)
        wide = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
        wide[:, : packed.shape[1]] = packed
        _, counts = np.unique(wide.view(f"V{wide.shape[1]}"), return_counts=True)
        return bool(counts.min() >= k)

    cheap = [i for i in range(len(names)) if lost(frozenset([i])) < limit - 1e-9]
    best = limit
    waiting: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    looked = 0
    while waiting:
        waiting.sort(reverse=True)
        so_far, chosen = waiting.pop()
        looked += 1
        if looked > 3_000:
            return so_far, False
        if so_far >= best - 1e-9:
            break
        if safe(frozenset(chosen)):
            return so_far, True
        for i in cheap:
            if not chosen or i > chosen[-1]:
                further = (*chosen, i)
                waiting.append((lost(frozenset(further)), further))
    return best, True


# --- what is asked ----------------------------------------------------------------------------

OTHERS = [
    Setting(data, ALL, 10, p)
    for data in ("mushroom", "msweb", "groceries", "epub")
    for p in (3, None)
]
OPTIMA = [
    Setting("mushroom", ALL, 10, 3), Setting("mushroom", ALL, 10, 4),
    Setting("mushroom", ALL, 20, None, HALF), Setting("msweb", ALL, 10, 3),
    Setting("groceries", ALL, 10, 2), Setting("connect", Fraction(2, 5), 100, 5),
    Setting("connect", ALL, 100, None, HALF), Setting("epub", Fraction(1, 5), 10, 3),
    Setting("retail", Fraction(1, 20), 20, 4),
]  # fmt: skip
PATIENT = [  # where the paper's greedy is done within a minute, however many moles there are
    *(Setting(data, ALL, k, p, h)
      for data in ("mushroom", "msweb", "groceries", "epub") for k in (5, 10, 20, 50)
      for p in (2, 3, 4, None) for h in (HALF, Fraction(4, 5), ALL)),
    *(Setting("retail", ALL, k, p, h)
      for k in (10, 20, 50) for p in (2, 3, None) for h in (Fraction(4, 5), ALL)),
    *(Setting("connect", ALL, k, p, h)
      for k in (50, 100, 200, 400) for p in (3, 4, 5) for h in (HALF, ALL)),
    Setting("connect", ALL, 100, None, HALF), Setting("connect", ALL, 400, None, HALF),
    Setting("connect", ALL, 400, None),
]  # fmt: skip


@cache
def by(method: str, setting: Setting) -> float:
    """The loss by one method, all items being public."""
    known = known_of(setting.data, ALL, 1)
    found = setting.search(1).run(method)
    assert method == "best" or found.method == method  # not given up
    prove(known, mask(found.removed.gone, known.count), setting.promise)
    return 100 * found.lost[0] / shop(setting.data).occurrences


# --- what the thesis says ---------------------------------------------------------------------


def in_percent(value: float) -> str:
    return f"{value:.1f} %"


def surest(data: str) -> float:
    """How sure of a private item is who knows nothing, in percent."""
    return 100 * float(np.bincount(shop(data).private).max()) / len(shop(data).rows)


def means(some: Iterable[Losses], method: str = "best") -> list[float]:
    return [found.mean(method) for found in some]


def items_of_connect() -> list[Claim]:
    what, one = "Fig. 20, Connect", CONNECT.at()
    ours, every, alike = (one.mean(name) for name in ("best", "every item", "whole baskets"))
    low, high = min(one.lost["every item"]), max(one.lost["every item"])
    shares = CONNECT.over_share()
    last = shares[-1]
    by_k, by_p = means(CONNECT.over_k()), means(CONNECT.over_p())
    surer = [CONNECT.at(h=h) for h in (HALF, Fraction(12, 25))]
    gaps = [found.mean("whole baskets") - found.mean() for found in shares]
    return [
        Claim(f"{what}: every item of every mole", "41.94 %",
              f"{in_percent(every)} (five draws: {span([low, high])})", low <= 41.94 <= high),
        Claim(f"{what}: greedy", "not told (bar: 3.9 %)",
              f"{in_percent(one.mean('greedy'))} ({span(one.lost['greedy'])})", None),
        Claim(f"{what}: best", "not told", f"{in_percent(ours)} ({span(one.lost['best'])})", None),
        Claim(f"{what}: k-anonymity of whole baskets", "significantly higher than greedy",
              in_percent(alike), alike > 2 * one.mean("greedy")),
        Claim(f"{what}: k from 50 to 400", "no major impact", f"{span(by_k)} %",
              max(by_k) - min(by_k) < 5),
        Claim(f"{what}: p from 2 to unlimited", "no major impact", f"{span(by_p)} %",
              max(by_p) - min(by_p) < 5),
        Claim(f"{what}: more public items", "both baselines suffer more",
              f"all public: best {in_percent(last.mean())}, whole baskets "
              f"{in_percent(last.mean('whole baskets'))}, every item "
              f"{in_percent(last.mean('every item'))}", gaps == sorted(gaps)),
        Claim(f"{what}: h = 40 %", "little impact",
              f"infeasible: anybody is {surest('connect'):.1f} % sure", False),
        Claim(f"{what}: h = 50 % and 48 %", "little impact",
              f"{in_percent(surer[0].mean())} and {in_percent(surer[1].mean())} "
              f"(100 %: {in_percent(ours)})", surer[0].mean() < ours + 2),
    ]  # fmt: skip


def items_of_retail() -> list[Claim]:
    what, one = "Fig. 22, Retail", RETAIL.at()
    gaps = [found.mean("every item") - found.mean("greedy") for found in RETAIL.over_share()]
    gap = one.mean("every item") - one.mean("greedy")
    relative = 100 * gap / one.mean("every item")
    shares = ", ".join(map(str, RETAIL.shares))
    search = RETAIL.default.search(1)
    start = time.perf_counter()
    others.whole_baskets_alike(search)
    taken = time.perf_counter() - start
    return [
        Claim(f"{what}: every item less greedy", "about 8 %",
              f"{gap:.1f} points, {relative:.1f} % of it", gap >= 7.5 or relative >= 7.5),
        Claim(f"{what}: the same, {shares} % public", "increases with the share",
              f"{', '.join(f'{gap:.1f}' for gap in gaps)} points", gaps == sorted(gaps)),
        Claim(f"{what}: best", "not told",
              f"{in_percent(one.mean())} (greedy {in_percent(one.mean('greedy'))})", None),
        Claim(f"{what}: k-anonymity of whole baskets", "did not finish",
              f"{in_percent(one.mean('whole baskets'))}, {taken:.1f} s", None),
        Claim(f"{what}: h = 50 %", f"h = 40 % (infeasible: {surest('retail'):.1f} % sure)",
              in_percent(RETAIL.at(h=HALF).mean()), None),
    ]  # fmt: skip


def nuggets_of_connect() -> list[Claim]:
    what = "Fig. 21, Connect"
    by_support = {n: nuggets_over_k("connect", n) for n in PERCENTS["connect"]}
    every = [one for some in by_support.values() for one in some]
    claims = [
        Claim(f"{what}: nuggets at 40 %", "52,218,553,280 (distinct: 339,915,255)",
              f"{by_support[40][0].total:,}", by_support[40][0].total == 339_915_255),
        Claim(f"{what}: nuggets at 60 %", "not told (distinct: 21,250,671)",
              f"{by_support[60][0].total:,}", by_support[60][0].total == 21_250_671),
        Claim(f"{what}: what stands for those at 40 %", "110,505 edges",
              f"{by_support[40][0].nodes:,} nodes", by_support[40][0].nodes < 110_505),
    ]  # fmt: skip
    for support, some in by_support.items():
        ours = [one.lost["best"] for one in some]
        least, solved = least_nuggets("connect", 50, support)
        word = "least possible at k = 50" if solved else "at k = 50 at least"
        claims.append(
            Claim(f"{what}: loss at {support} %, k from 10 to 50", "near zero",
                  f"{span(ours)} % ({word}: {in_percent(least)})", max(ours) < 1)
        )  # fmt: skip
    large = by_support[60][0].lost
    alike = [one.lost["whole baskets"] for one in every]
    whole = [one.lost["every item"] for one in every]
    return [
        *claims,
        Claim(f"{what}: every item of every mole", "near 100 % in most cases",
              f"{span(whole)} %", min(whole) > 95),
        Claim(f"{what}: k-anonymity of whole baskets", "near 100 % in most cases",
              f"{span(alike)} %, above 95 in {sum(a > 95 for a in alike)} of {len(alike)}",
              2 * sum(a > 95 for a in alike) > len(alike)),
        Claim(f"{what}: k-anonymity against every item, 60 %, k = 10", "loses more",
              f"{in_percent(large['whole baskets'])} against {in_percent(large['every item'])}",
              large["whole baskets"] > large["every item"]),
    ]  # fmt: skip


def nuggets_of_retail() -> list[Claim]:
    what = "Fig. 23, Retail"
    by_support = {n: nuggets_over_k("retail", n) for n in PERCENTS["retail"]}
    ours = {n: [one.lost["best"] for one in some] for n, some in by_support.items()}
    every = [one.lost["every item"] for some in by_support.values() for one in some]
    small = [one.lost["every item, minimal"] for one in by_support[5]]
    copies = [lost_with_copies(Setting("retail", ALL, k, None), 1) for k in (10, 50)]
    return [
        Claim(f"{what}: loss at 1 %", "as high as 70 %",
              f"{span(ours[1])} % of {by_support[1][0].total}", max(ours[1]) <= 70.5),
        Claim(f"{what}: loss at 1 %, private copies counted, k = 10, 50", "as high as 70 %",
              f"{span(loss for loss, _ in copies)} % of {copies[0][1]}",
              max(loss for loss, _ in copies) <= 70.5),
        Claim(f"{what}: loss at 2 and 5 %", "quickly less",
              f"{span(ours[2])} % of {by_support[2][0].total} and {span(ours[5])} % of "
              f"{by_support[5][0].total}", max(ours[5]) <= max(ours[2]) <= max(ours[1])),
        Claim(f"{what}: every item of every mole", "near 100 %; less at 5 %, k = 10 and 20",
              f"{span(every)} %", min(every) > 95),
        Claim(f"{what}: every item of every minimal mole, 5 %, k from 10 to 50",
              "less at k = 10 and 20", f"{', '.join(f'{loss:.0f}' for loss in small)} %",
              max(small[:2]) < 95),
    ]  # fmt: skip


def seconds(some: Iterable[Losses]) -> list[float]:
    return [mean(found.seconds) for found in some]


def told(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values) + " s"


def times() -> list[Claim]:
    c, r = CONNECT, RETAIL
    shares = {figure: seconds(figure.over_share()) for figure in (c, r)}
    ks = {figure: seconds(figure.over_k()) for figure in (c, r)}
    ps = {figure: seconds(figure.over_p()) for figure in (c, r)}
    by_k = {
        data: {n: [one.seconds for one in nuggets_over_k(data, n)] for n in PERCENTS[data]}
        for data in PERCENTS
    }
    by_h = {data: [one.seconds for one in nuggets_over_h(data)] for data in PERCENTS}
    claims = [
        Claim("Fig. 24, Connect: seconds, 10, 20, 40, 70, 100 % public",
              "increases quickly; 70 % at most", told(shares[c]), shares[c][-1] < 60),
        Claim("Fig. 24, Retail: seconds, 10, 20, 40, 100 % public",
              "increases quickly; 40 % at most", told(shares[r]), shares[r][-1] < 60),
        Claim("Fig. 25, Connect: seconds, k = 50, 100, 200, 400", "not reduced by a large k",
              told(ks[c]), None),
        Claim("Fig. 25, Retail: seconds, k = 5, 10, 20, 50", "drops quickly", told(ks[r]),
              ks[r][-1] < ks[r][0]),
        Claim("Fig. 26, Connect: seconds, p = 2 to 6 and unlimited", "boosted by p", told(ps[c]),
              None),
        Claim("Fig. 26, Retail: seconds, p = 2 to 5 and unlimited", "flat after p = 3",
              told(ps[r]), None),
    ]  # fmt: skip
    words = {"connect": ("nearly flat in k", "27"), "retail": ("a larger k reduces it", "28")}
    for data, (said, number) in words.items():
        claims += [
            Claim(f"Fig. {number}a, {data.capitalize()}: seconds, k' = {n} %, k = "
                  f"{', '.join(map(str, NUGGET_KS[data]))}", said, told(some), None)
            for n, some in by_k[data].items()
        ]  # fmt: skip
        levels = ", ".join(f"{float(h):.0%}" for h in SURE)
        claims.append(
            Claim(f"Fig. {number}b, {data.capitalize()}: seconds, k' = {PERCENTS[data][0]} %, k = "
                  f"{SURE_K[data]}, p = 4, h = {levels}",
                  "decreases with h" if data == "connect" else "not told", told(by_h[data]), None)
        )  # fmt: skip
    return claims


def others_and_optima(kept: Kept) -> list[Claim]:
    rows = [
        [*f.setting.cells, *(f.mean(name) for name in METHODS), f.moles[0], mean(f.seconds)]
        for f in map(losses, OTHERS)
    ]
    kept.table([*ITEMS[1:-2], "seconds"], rows, "others")
    optima = [optimum(setting) for setting in OPTIMA]
    heads = ["data", "public", "k", "p", "h", "bound", "solved", "best", "greedy", "gap"]
    kept.table(
        [*heads, "rounds", "seconds"],
        [
            [
                *o.setting.cells, o.bound, "yes" if o.solved else "no", o.best,
                "" if o.greedy is None else o.greedy, o.gap, o.rounds, o.seconds,
            ]
            for o in optima
        ],
        "optimum",
    )  # fmt: skip
    patient = [(setting, by("best", setting), by("greedy", setting)) for setting in PATIENT]
    kept.table(
        [*heads[:5], "best", "greedy"], [[*s.cells, *lost] for s, *lost in patient], "greedy"
    )
    above = sum(best > greedy + 1e-9 for _, best, greedy in patient)
    mushroom, unlimited = losses(OTHERS[0]), Setting("connect", ALL, 50, None)
    levels, best = by("levels", unlimited), by("best", unlimited)
    dense = optimum(Setting("connect", ALL, 100, None, HALF))
    solved = [o for o in optima if o.solved]
    optimal = sum(o.gap < 0.005 for o in solved)
    return [
        Claim("Mushroom, k = 10, p = 3: greedy, giving back", "bar: 18.65 %",
              f"{mushroom.mean('greedy'):.2f} % (alone: {mushroom.mean('greedy alone'):.2f} %)",
              mushroom.mean("greedy") < 18.655),
        Claim("Mushroom, k = 10, p = 3: best", "optimum, bar: 17.48 %",
              f"{mushroom.mean():.2f} %", mushroom.mean() < 17.485),
        Claim("Connect, all public, k = 50, p unlimited: by levels", "bar: 25.9 %",
              f"{in_percent(levels)} (best: {in_percent(best)})", levels < 25.95),
        Claim("Connect, all public, k = 100, p unlimited, h = 50 %: best",
              "bar: optimum 40.7 %, greedy 42.3 %",
              f"{in_percent(dense.best)} ({'optimum' if dense.solved else 'bound'} "
              f"{in_percent(dense.bound)})", dense.best < 40.75),
        Claim("The optimum, wherever an integer program knows it", "not in the paper",
              f"best finds it in {optimal} of {len(solved)} cases; at most "
              f"{max(o.gap for o in solved):.2f} % more", None),
        Claim("The same where it does not", "not in the paper", "; ".join(
            f"{o.setting.data} at most {o.gap:.1f} % more" for o in optima if not o.solved
        ) or "-", None),
        Claim("Best against the paper's greedy, giving back", "bar: never above",
              f"above in {above} of {len(patient)} settings", above == 0),
    ]  # fmt: skip


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("baskets", classifier)
    for figure in (CONNECT, RETAIL):
        figure.keep(kept)
    for data in PERCENTS:
        keep_nuggets(data, kept)
    said = [items_of_connect, items_of_retail, nuggets_of_connect, nuggets_of_retail, times]
    claims = [claim for some in said for claim in some()]
    return kept.claims([*claims, *others_and_optima(kept)])


if __name__ == "__main__":
    run(experiment)
