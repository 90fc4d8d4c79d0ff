"""The flows for baskets: what happens between a command and its answer.

    read ─► who is who ─► which items to suppress ─► write beside ─► recount ─► rename

An item is suppressed in all transactions or in none, so that every itemset that survives has the
support it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.baskets import Baskets
from reticent.errors import Broken, InputError, Problem, Stopped, Unsatisfiable, quoted
from reticent.files import basket_files, basket_lines
from reticent.files.delimited import Reading, read_lines
from reticent.privacy import coherence
from reticent.privacy.basket_lines import LinesAgain
from reticent.privacy.coherence import BasketFinding
from reticent.progress import Clock, Watch
from reticent.releases.places import Place, Spot
from reticent.releases.publish import proven, publish
from reticent.sources.arrival import inputs
from reticent.transactions import folder
from reticent.transactions.policy import BasketPolicy, ItemRoles, Mask, Nuggets
from reticent.transactions.report import MOST_KNOWN, BasketRelease, BasketRisk, BasketVerdict, roled

if TYPE_CHECKING:
    from reticent.suppress.baskets.diagrams import Family
    from reticent.suppress.baskets.methods import Suppressed
    from reticent.suppress.baskets.moles import KnownBaskets
    from reticent.suppress.baskets.worth import Worth


def release(
    data: Any,
    policy: BasketPolicy | Mapping[str, Any] | str | Path,
    *,
    output: str | Path | None = None,
    names: Sequence[str | int] | None = None,
    reading: Reading | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> BasketRelease:
    """Suppress items so that the baskets keep the promise of a policy.

    `data` is a file, a folder or glob of files, a list of sets, a table of ids and items (pandas,
    Polars, PyArrow, DuckDB) or a SciPy sparse matrix, whose columns `names` may name; the same kind
    comes back as `table` of the result. With `output` it is written instead: a data file by its
    suffix, or a release folder.
    """
    clock = Clock(watch or Watch())
    policy = BasketPolicy.of(policy)
    reading = policy.reads(reading)
    place = None
    if output is not None:
        place = Place.of(
            output, basket_files.suffixes(policy.format), inputs=[*inputs(data), *policy.files()],
            force=force, form=f' with format = "{policy.format}"',
        )  # fmt: skip
    with clock.stage("read"):
        baskets, kind = read(data, policy, reading, names)
    roles = policy.roles(baskets.names, original=True)
    refuse_infeasible(baskets, roles, policy)
    with clock.stage("search"):
        search, gone, nuggets = find(baskets, roles, policy, clock.watch)
    chosen = Choice(roles, search, gone, nuggets)
    source = BasketSource(data, baskets, kind, reading, names)
    return released(source, policy, chosen, place, clock)


@dataclass(frozen=True, slots=True)
class BasketSource:
    """What is released: baskets, and where they came from."""

    data: Any
    baskets: Baskets
    kind: str  # of thing that `data` is
    reading: Reading
    names: Sequence[str | int] | None = None  # of the columns of a matrix


@dataclass(frozen=True, slots=True)
class Choice:
    """Which items go."""

    roles: ItemRoles
    search: Suppressed
    gone: Mask
    nuggets: tuple[int, int] | None = None  # before and after, if they matter


def released(
    source: BasketSource, policy: BasketPolicy, chosen: Choice, place: Place | None, clock: Clock
) -> BasketRelease:
    """The release of a choice, recounted; written, if there is a place."""
    baskets, reading, data = source.baskets, source.reading, source.data
    with clock.stage("mask"):
        masked = baskets.without(chosen.gone)
        masked = masked.arranged() if policy.order == "sorted" else masked
    result = partial(
        BasketRelease, policy, baskets, chosen.roles, chosen.gone, chosen.search, masked,
        nuggets=chosen.nuggets,
        warnings=(
            *_emptiness(policy, chosen.roles),
            *_warnings(policy, chosen.search, baskets.occurrences, masked.occurrences),
        ),
        seconds=clock.seconds, reading=reading,
    )  # fmt: skip
    if place is None:
        with clock.stage("verify"):
            finding = _proven(masked, policy, baskets)
        plain = "sets" if policy.format == "basket" else "pyarrow"
        kind = plain if source.kind == "file" else source.kind
        return result(finding, table=basket_files.handed_back(masked, kind, data, source.names))

    def write(spot: Spot) -> None:
        told = clock.rows(masked.transactions)
        basket_files.write(masked, spot.data, policy.format, spot.suffix, told, reading.separator)

    def recount(spot: Spot, _: None) -> BasketFinding:
        own = folder.written(policy.format, spot.suffix, reading.separator)
        written = basket_files.read(spot.data, policy.format, own, spot.suffix, policy.two_columns)
        _read_twice(spot.data, written, policy, own)
        return _proven(written, policy, baskets)

    return publish(
        place,
        clock,
        usual=lambda: folder.suffix_for(data, policy.format),
        write=write,
        recount=recount,
        released=lambda _, finding: result(finding, output=place.name),
        contents=lambda released, _: folder.contents(released, data),
    )


def find(
    baskets: Baskets,
    roles: ItemRoles,
    policy: BasketPolicy,
    watch: Watch,
    counted: Family | None = None,
) -> tuple[Suppressed, Mask, tuple[int, int] | None]:
    """Which items to suppress; and the nuggets before and after, if they matter.

    `counted`: the policy's nuggets, where they have been counted already.
    """
    from reticent.suppress.baskets.methods import ItemSearch
    from reticent.suppress.baskets.worth import Itemsets, Occurrences
    from reticent.suppress.sets import GaveUp, Halt

    known, public = known_of(baskets, roles)
    if counted is None and policy.nuggets is not None:
        counted = nuggets_of(baskets, policy.nuggets)
    worth: Worth = Occurrences(known.supports())
    if counted is not None and policy.utility == "itemsets":
        worth = Itemsets(counted, public, known.supports())
    halt = Halt(watch.stop, watch.started)
    try:
        search = ItemSearch(known, policy.k, policy.promise.h, policy.p, worth, halt)
        found = search.run(policy.method)
    except GaveUp:
        if halt.heard:
            raise Stopped("Stopped before any choice was safe; nothing was written.") from None
        raise InputError(
            "there are too many sets of items to look at, so nobody knows which are safe",
            where=baskets.name,
            do="set p (an attacker rarely knows more than a few items), or raise k.",
        ) from None
    gone = np.zeros(len(baskets.names), np.bool_)
    gone[public[list(found.removed.gone)]] = True
    if counted is None:
        return found, gone, None
    return found, gone, (counted.total, counted.without(np.flatnonzero(gone).tolist()).total)


def nuggets_of(baskets: Baskets, nuggets: Nuggets) -> Family:
    """The frequent itemsets that should be kept, counted."""
    from reticent.suppress.baskets.nuggets import find_nuggets

    least = nuggets.least(baskets.transactions)
    found = find_nuggets(baskets.starts, baskets.items, len(baskets.names), least, nuggets.size)
    if found is None:
        raise InputError(
            "there are too many nuggets to be counted", where=baskets.name,
            do="raise their support, or limit their size.",
        )  # fmt: skip
    return found


def known_of(baskets: Baskets, roles: ItemRoles) -> tuple[KnownBaskets, np.ndarray]:
    """Baskets as the search sees them, and which item each of its public ones is."""
    from reticent.suppress.baskets.moles import KnownBaskets

    def part(which: Mask) -> tuple[np.ndarray, np.ndarray, int]:
        numbers = np.full(len(which), -1, np.int32)
        numbers[which] = np.arange(which.sum())
        held = which[baskets.items]
        before = np.concatenate([[0], np.cumsum(held)])
        return before[baskets.starts], numbers[baskets.items[held]], int(which.sum())

    return KnownBaskets(*part(roles.public), *part(roles.private)), np.flatnonzero(roles.public)


def refuse_infeasible(baskets: Baskets, roles: ItemRoles, policy: BasketPolicy) -> None:
    """Who knows nothing is an attacker, too: suppressing items cannot help against that one."""
    rows, problems = baskets.transactions, []
    if rows < policy.k:
        said = f"k = {policy.k:,} asks for more transactions than there are: {rows:,}"
        problems.append(Problem(said, baskets.name, do=f"lower k to {rows:,} or less."))
    supports = baskets.supports()
    most = int(np.where(roles.private, supports, 0).max(initial=0))
    share = Fraction(most, max(rows, 1))
    if policy.promise.h < share:
        problems.append(
            Problem(
                f"{most:,} of {rows:,} transactions hold the same private item: "
                f"anybody is {float(share):.2%} sure of it without knowing anything",
                where=baskets.name,
                why="only public items are suppressed, so no release can lower that.",
                do=f'the strictest h that can be kept is "{share}".',
                values=(str(baskets.names[int(np.argmax(np.where(roles.private, supports, -1)))]),),
            )
        )
    if problems:
        raise Unsatisfiable(problems)


def _emptiness(policy: BasketPolicy, roles: ItemRoles | None = None) -> Iterator[str]:
    """Why a policy promises nothing, if so."""
    if why := policy.promise_about(roles).emptiness:
        yield why


def _warnings(policy: BasketPolicy, search: Suppressed, before: int, left: int) -> Iterator[str]:
    """What looks as if it were not meant."""
    if before and not left:
        yield "nothing is left: every item was suppressed."
    if policy.method == "greedy" and search.method != "greedy":
        yield (
            'method "greedy" was given up: there are more moles than can be counted '
            f'({search.moles:,} were found); "{search.method}" was used.'
        )


def _proven(released: Baskets, policy: BasketPolicy, original: Baskets) -> BasketFinding:
    """What the verifier says of baskets that are about to appear; roles are told by name anew."""
    finding = coherence.recount(roled(released, policy.roles(released.names)), policy.promise)
    whole = released.transactions == original.transactions
    proven(finding.holds and whole, original.name, undecided="set p, or raise k")
    return finding


# --- what comes in, and where it goes ------------------------------------------------------------


def read(
    data: Any,
    policy: BasketPolicy,
    reading: Reading | None,
    names: Sequence[str | int] | None = None,
) -> tuple[Baskets, str]:
    """Baskets, and what kind of thing they were."""
    if isinstance(data, str | Path):
        baskets = basket_files.read(data, policy.format, reading, columns=policy.two_columns)
        _refuse_tables(baskets, data, policy, reading or Reading())
        hints = _hints(baskets, policy, reading or Reading())
        return replace(baskets, notes=(*baskets.notes, *hints)), "file"
    return basket_files.taken(data, names, policy.two_columns)


def _refuse_tables(
    baskets: Baskets, data: str | Path, policy: BasketPolicy, reading: Reading
) -> None:
    """A table that is read as lines would make every row a basket, with its id as an item."""
    by_sign = basket_lines.sign_of(reading.separator)
    if policy.format != "basket" or by_sign or ".csv" not in Path(data).name.lower():
        return
    names = baskets.names.to_pylist()
    if 2 * sum("," in name or ";" in name for name in names) > len(names):
        sign = basket_lines.seems_parted_by(baskets) or ","
        raise InputError(
            "most items hold a comma or a semicolon", where=str(data),
            why='with format = "basket" items are separated by blanks.',
            do=f'if this sign parts items, set  separator = "{sign}";  if this is a table of id '
            'and item,  format = "long".',
        )  # fmt: skip


def _hints(baskets: Baskets, policy: BasketPolicy, reading: Reading) -> Iterator[str]:
    """What looks as if lines had been cut at the wrong sign."""
    if policy.format != "basket":
        return
    if sign := basket_lines.sign_of(reading.separator):
        if basket_lines.seems_whole(baskets, sign):
            yield (
                f"Warning: no line of {baskets.name} holds the separator "
                f"{basket_lines.shown(sign)}, so each is one item."
            )
    elif sign := basket_lines.seems_parted_by(baskets):
        yield (
            f'Warning: most lines of {baskets.name} hold a "{sign}" within or behind items, which '
            f'blanks part now; if that sign parts them, say  separator = "{sign}".'
        )


# --- asking without writing ----------------------------------------------------------------------


def verify(
    data: Any,
    policy: BasketPolicy | Mapping[str, Any] | str | Path,
    *,
    names: Sequence[str | int] | None = None,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> BasketVerdict:
    """Recount the promise on baskets that anybody hands over, without the original."""
    clock = Clock(watch or Watch())
    policy = BasketPolicy.of(policy)
    with clock.stage("read"):
        place = folder.opened_as(data, policy, reading)
        own = place.read_as(policy.reads_released(reading))
        baskets, _ = read(place.data, policy, own, names)
        _refuse_wrong_cut(baskets, policy, own, reading)
        _read_twice(place.data, baskets, policy, own)
    roles = policy.roles(baskets.names)
    with clock.stage("verify"):
        finding = coherence.recount(roled(baskets, roles), policy.promise)
    altered = (*place.altered, *_more_columns(baskets))
    return BasketVerdict(
        finding, baskets.transactions, baskets.occurrences, baskets.names, roles, altered,
        (*_emptiness(policy, roles), *place.warnings, *_worth_a_look(baskets)),
    )  # fmt: skip


def _refuse_wrong_cut(
    baskets: Baskets, policy: BasketPolicy, own: Reading, told: Reading | None
) -> None:
    """Judge no lines that look parted by another sign, unless who asks says which one it is."""
    if policy.format != "basket" or not policy.private or (told and told.separator):
        return
    sign = basket_lines.sign_of(own.separator)
    roles = policy.roles(baskets.names)
    hidden = basket_lines.cut_otherwise(baskets.names.filter(pa.array(~roles.private)), sign)
    other = "; ".join(basket_lines.shown(one) for one, parts in hidden if policy.protects(parts))
    if not other and sign:
        blanks = " ".join(baskets.names.to_pylist()).split()
        named = policy.protects(blanks)
        other = "another sign" * basket_lines.seems_whole(baskets, sign, blanks=named)
    elif not other and "separator" not in policy.model_fields_set:
        found = basket_lines.seems_parted_by(baskets)
        other = basket_lines.shown(found) if found else ""
    if other:
        option = f'"{sign}"'.replace("\t", "tab") if sign else "blank"
        raise InputError(
            f"its lines look as if {other} parted their items, and the policy says "
            f"{basket_lines.shown(sign) if sign else 'blanks'}",
            where=baskets.name,
            why="lines that are cut at the wrong sign hide the private items in them, so nobody "
            "can tell whether the promise holds.",
            do=f"correct the separator of the policy; if it is right, say  --separator {option}.",
        )


def _read_twice(data: Any, baskets: Baskets, policy: BasketPolicy, own: Reading) -> None:
    """Let the verifier cut lines by itself: a fault in how they are read must not go unseen."""
    if policy.format != "basket" or not isinstance(data, str | Path):
        return
    first, fault = 0, ""
    for path in basket_files.paths_of(data, "basket"):
        cut = LinesAgain(baskets, basket_lines.sign_of(own.separator), first)
        first, differs = read_lines(path, own, [], cut.until)
        if differs is not None:
            fault = f"{path}, line {differs:,}"
            break
    if fault or first != baskets.transactions:
        raise Broken(
            "two ways to read these lines do not agree", where=fault or baskets.name,
            why="items are not cut as the verifier would, which is a fault of this program; so "
            "nobody can tell whether the promise holds.",
            do="please report it, with the separator but without the data.",
        )  # fmt: skip


def _worth_a_look(baskets: Baskets) -> Iterator[str]:
    """What looks wrong in how they were read; to be told as a warning."""
    said = "Warning: "
    yield from (note.removeprefix(said) for note in baskets.notes if note.startswith(said))


def _more_columns(baskets: Baskets) -> list[Problem]:
    """What a table that is out tells besides its baskets; the promise knows nothing of it."""
    if not baskets.others:
        return []
    return [
        Problem(
            f"the table also has {quoted(baskets.others)}", where=baskets.name,
            why="no release of baskets holds more than ids and items.",
            do="leave them out.",
        )
    ]  # fmt: skip


def risk(
    data: Any,
    policy: BasketPolicy | Mapping[str, Any] | str | Path,
    *,
    most: int = MOST_KNOWN,
    names: Sequence[str | int] | None = None,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> BasketRisk:
    """Count how many people are unique by one, two, three, … known items, and what is told."""
    clock = Clock(watch or Watch())
    policy = BasketPolicy.of(policy)
    if most < 1:
        raise InputError("an attacker who knows nothing is counted anyway", where="--known")
    with clock.stage("read"):
        place = folder.opened_as(data, policy, reading)
        baskets, _ = read(place.data, policy, place.read_as(policy.reads(reading)), names)
    roles = policy.roles(baskets.names, original=not place.manifest)
    with clock.stage("count"):
        levels = coherence.exposure(roled(baskets, roles), policy.promise, most=most)
    return BasketRisk(
        policy, levels, baskets.transactions, len(baskets.names), roles, baskets.notes
    )


def check(
    policy: BasketPolicy | Mapping[str, Any] | str | Path,
    data: Any = None,
    *,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> tuple[str, ...]:
    """Look for every problem of a policy, and of its fit to baskets if there are some.

    Returns what is worth a look all the same.
    """
    policy = BasketPolicy.of(policy)
    if data is None:
        return tuple(_emptiness(policy))
    with Clock(watch or Watch()).stage("read"):
        baskets, _ = read(data, policy, policy.reads(reading))
    roles = policy.roles(baskets.names, original=True)
    refuse_infeasible(baskets, roles, policy)
    return (*_emptiness(policy, roles), *_worth_a_look(baskets), *roles.warnings)
