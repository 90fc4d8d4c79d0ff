"""A first policy for baskets that nobody has described: `reticent transactions init`.

Nobody but the steward knows what must not be inferred of somebody. So a draft promises crowds to
begin with, calls those items private whose names speak of it, asks for the others, and tells what
its promise costs in this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data.baskets import Baskets
from reticent.errors import InputError, many, visible
from reticent.files import basket_files
from reticent.files.basket_forms import BasketForm, form_of
from reticent.files.tabular import Reading
from reticent.privacy import words
from reticent.progress import Clock, Watch
from reticent.releases.about import about_draft
from reticent.releases.policyfile import toml_lines, toml_value
from reticent.sources.arrival import inputs
from reticent.transactions.flow import find
from reticent.transactions.item_words import topic_of
from reticent.transactions.policy import BasketPolicy

_CROWDS = (10, 5)  # baskets that hold what is known, the more the better
_KNOWN = (1, 2, 3)  # items that somebody may know
_USUAL_P = 2
_SURE = tuple(Fraction(tenths, 10) for tenths in (2, 3, 4, 5, 6, 8))
_TOO_COMMON = Fraction(2, 5)  # of all baskets: what so many hold is no secret that h could keep
_DEAR = Fraction(1, 2)  # of all occurrences: a promise that costs more is not proposed
_TRIED = 1_000_000  # occurrences up to which it is tried out what a promise costs
_SHOWN = 300  # items that are listed, where they may be shown


@dataclass(frozen=True, slots=True)
class TriedPromise:
    """What one promise would cost."""

    k: int
    p: int
    suppressed: int | None  # items; None: there are too many sets of items to look at
    loss: Fraction  # of all occurrences

    @property
    def dear(self) -> bool:
        """Whether little would be left."""
        return self.suppressed is None or self.loss > _DEAR

    def facts(self) -> dict[str, Any]:
        """The same for machines."""
        loss = None if self.suppressed is None else round(float(self.loss), 6)
        return {"k": self.k, "p": self.p, "suppressed": self.suppressed, "loss": loss}


@dataclass(frozen=True, slots=True)
class BasketDraft:
    """What a draft says."""

    baskets: Baskets
    form: BasketForm
    reading: Reading
    private: tuple[tuple[str, str], ...]  # items, and what their names speak of
    common: tuple[tuple[str, str], ...]  # the same, of items that too many have to be kept secret
    k: int
    p: int = _USUAL_P
    h: Fraction = _SURE[0]
    most: Fraction = Fraction(0)  # of all baskets, what hold the commonest private item
    dear: tuple[Fraction, ...] = ()  # stricter h that could be kept, and would leave too little
    tried: tuple[TriedPromise, ...] = ()
    show_values: bool = False

    def text(self) -> str:
        """The policy, with comments."""
        lines = [*self._head(), "", *self._form(), "", *self._items(), "", *self._promise()]
        if read := self._read():
            lines += ["", "[reading]  # how the file is written", toml_lines(read).rstrip("\n")]
        lines += ["", about_draft().rstrip("\n")]
        return visible("".join(f"{line}\n" for line in lines))

    def policy(self) -> BasketPolicy:
        """The policy as a release would read it."""
        return BasketPolicy.parse(self.text())

    def facts(self) -> dict[str, Any]:
        """What ``transactions init --json`` prints, but for where it went."""
        return {
            "policy": self.text(),
            "format": self.form.form,
            "transactions": self.baskets.transactions,
            "items": len(self.baskets.names),
            "occurrences": self.baskets.occurrences,
            "private": len(self.private),
            "tried": [one.facts() for one in self.tried],
        }

    def _head(self) -> Iterator[str]:
        baskets, sizes = self.baskets, self.baskets.sizes()
        yield (
            f"# Drafted from {baskets.name}: {many(baskets.transactions, 'basket')}, "
            f"{many(len(baskets.names), 'item')}, {many(baskets.occurrences, 'occurrence')}."
        )
        least, most = int(sizes.min()), int(sizes.max())
        half = int(np.quantile(sizes, 0.5, method="lower"))
        if least < most:
            yield f"# A basket has {least:,} to {many(most, 'item')}, half of them up to {half:,}."
        else:
            yield f"# Every basket has {many(most, 'item')}."
        yield from (f"# {note}" for note in baskets.notes)
        yield "# It is a start, not advice: lines marked  ?  are questions only you can answer."
        yield "# These comments tell of your file: take them out before you hand the policy on."

    def _form(self) -> Iterator[str]:
        if self.form.form == "basket":
            yield 'format = "basket"  # one basket a line'
            if (sign := self.form.separator) != " ":
                yield f"separator = {toml_value(sign)}  # this sign parts items"
        else:
            yield 'format = "long"  # rows of basket and item'
            if self.form.columns:
                basket, item = map(toml_value, self.form.columns)
                yield f"columns = {{ basket = {basket}, item = {item} }}  # others are not released"
        if int(self.baskets.sizes().max()) < 2:
            yield "# ? No basket has two items. Is this read as it was meant?"
        yield "# ? Does a basket hold all that one person has? If somebody has several, whoever"
        yield "#   knows items of two of them finds a smaller crowd than is promised."

    def _items(self) -> Iterator[str]:
        yield "# What nobody may infer of somebody; it is never suppressed, others go for its sake."
        if self.private:
            yield "private = ["
            yield from (f"  {toml_value(item)},  # {topic}" for item, topic in self.private)
            yield "]"
            yield "# ? Their names speak of something private. Are they, and which others?"
        else:
            yield "private = []"
            no_name = "" if self.common else " No name speaks of it by itself."
            yield f"# ? Which items would hurt, told of somebody?{no_name}"
        yield '#   Name them, or write patterns: private = ["hiv-*", "*pregnancy*"].'
        for item, topic in self.common:
            yield f"# ? {toml_value(item)} ({topic}) is in too many baskets to be kept secret."
        yield 'public = "*"  # ? What may somebody have seen? All that is not private.'
        if self.show_values:
            names = self.baskets.names.to_pylist()
            yield f"# All items, by name{f' (the first {_SHOWN})' if len(names) > _SHOWN else ''}:"
            yield from (f"#   {toml_value(name)}" for name in names[:_SHOWN])

    def _promise(self) -> Iterator[str]:
        yield f"p = {self.p}  # ? Somebody may know up to so many items of a basket,"
        yield f"k = {self.k}  # ? and finds at least so many baskets that hold them"
        if self.p == 1 and self.tried:
            yield "#   Whoever has seen two items is not held off: that would cost too much here."
        share = float(self.h)
        if self.private:
            yield f"h = {share}  # ? of which at most this share hold the same private item."
            yield from self._why_so_sure()
        else:
            yield f"# h = {share}  # ? of which at most this share hold the same private item:"
            yield "#   needed as soon as an item is private. Until then crowds alone are promised,"
            yield "#   and what all of a crowd have is told of each of them."
        yield from self._costs()

    def _why_so_sure(self) -> Iterator[str]:
        """Why h is above the usual one, if so."""
        if self.h == _SURE[0]:
            return
        held = f"{words.percent(self.most)} of all baskets hold the commonest of them"
        lasting = ", and no release can lower that" if self.most > _SURE[0] else ""
        yield f"#   It is above the usual {float(_SURE[0])}: {held}{lasting}."
        stricter = ", ".join(str(float(h)) for h in self.dear)
        if stricter:
            yield f"#   Stricter ones were tried, and cost too much here: h = {stricter}."
        elif not self.tried:
            yield "#   What a stricter one costs, `reticent transactions sweep --h` tells."

    def _costs(self) -> Iterator[str]:
        if not self.tried:
            yield "# The file is long: what the promise costs, `reticent transactions sweep` tells."
            return
        yield "# What it would cost here, of all occurrences of items:"
        whole = len(self.baskets.names)
        for one in self.tried:
            asked = f"p = {one.p}, k = {one.k}"
            if one.suppressed is None:
                yield f"#   {asked}: not known, there are too many sets of items to look at"
                continue
            ours = "  (this draft)" if (one.p, one.k) == (self.p, self.k) else ""
            lost = words.percent(one.loss)
            yield f"#   {asked}: {one.suppressed:,} of {whole:,} items go, {lost}{ours}"

    def _read(self) -> dict[str, Any]:
        """The keys of [reading]; how lines are parted stands above."""
        return replace(self.reading, separator=None).policy_keys()


def draft(
    data: Any,
    *,
    output: str | Path | None = None,
    basket: str | None = None,
    item: str | None = None,
    reading: Reading | None = None,
    force: bool = False,
    show_values: bool = False,
    watch: Watch | None = None,
) -> str:
    """Draft a commented policy from baskets; write it if asked.

    `basket` and `item` name the two columns of a table that has more. The draft names the items
    that it calls private, and no others unless values may be shown.
    """
    return draft_of(
        data, output, basket, item, reading or Reading(), force, show_values, watch or Watch()
    ).text()


def draft_of(
    data: Any,
    output: str | Path | None,
    basket: str | None,
    item: str | None,
    reading: Reading,
    force: bool,
    show_values: bool,
    watch: Watch,
) -> BasketDraft:
    """The same, before it is text."""
    from reticent.files.output import check_free, refuse_inputs, whole_file, write_text

    place = None if output is None else Path(output)
    if place is not None:
        check_free(place, force=force)
        refuse_inputs([place], inputs(data))
    clock = Clock(watch)
    with clock.stage("read"):
        baskets, form = _arrived(data, reading, basket, item)
    with clock.stage("search"):
        found = drafted(baskets, form, reading, watch, show_values=show_values)
    if place is not None:
        with whole_file(place, force=force) as path:
            write_text(path, found.text())
    return found


def _arrived(
    data: Any, reading: Reading, basket: str | None, item: str | None
) -> tuple[Baskets, BasketForm]:
    """Baskets, and the form that they have."""
    if isinstance(data, str | Path):
        form = form_of(data, reading, basket, item)
        lines = form.form == "basket"
        told = replace(reading, separator=form.separator if lines else None)
        return basket_files.read(data, form.form, told, columns=form.columns), form
    columns = (basket, item) if basket is not None and item is not None else None
    baskets, kind = basket_files.taken(data, columns=columns)
    if kind in ("sets", "sparse"):
        return baskets, BasketForm("basket", ",")  # as a file of them would be written
    return baskets, BasketForm("long", columns=columns)


def drafted(
    baskets: Baskets, form: BasketForm, reading: Reading, watch: Watch, *, show_values: bool = False
) -> BasketDraft:
    """Look at baskets, and decide what their draft says."""
    rows = baskets.transactions
    if rows < 2:
        raise InputError(
            "one basket hides nobody", where=baskets.name, do="give more than one transaction."
        )
    supports = baskets.supports()
    speaking = [
        (name, topic, Fraction(int(support), rows))
        for name, support in zip(baskets.names.to_pylist(), supports, strict=True)
        if (topic := topic_of(name))
    ]
    private = tuple((name, topic) for name, topic, share in speaking if share <= _TOO_COMMON)
    common = tuple((name, topic) for name, topic, share in speaking if share > _TOO_COMMON)
    most = max((share for _, _, share in speaking if share <= _TOO_COMMON), default=Fraction(0))
    loosest = next(h for h in _SURE if h >= min(2 * most, _SURE[-1]))
    found = BasketDraft(
        baskets, form, reading, private, common, min(_CROWDS[0], rows), h=loosest,
        most=most, show_values=show_values,
    )  # fmt: skip
    return _affordable(found, watch) if baskets.occurrences <= _TRIED else found


def _affordable(found: BasketDraft, watch: Watch) -> BasketDraft:
    """The same with the strictest of some promises that leaves most of what there is.

    Smaller crowds come first, then being surer, and last less knowledge: what somebody has seen,
    nobody can choose.
    """
    crowds = sorted({min(k, found.baskets.transactions) for k in _CROWDS}, reverse=True)
    levels = [h for h in _SURE if found.most <= h <= found.h]
    tried: dict[tuple[Fraction, int, int], TriedPromise] = {}

    def cost(h: Fraction, k: int, p: int) -> TriedPromise:
        if (h, k, p) not in tried:
            tried[h, k, p] = _cost(replace(found, h=h, k=k, p=p), watch)
        return tried[h, k, p]

    asked = [(h, k, p) for p in (_USUAL_P, 1) for h in levels for k in crowds]
    h, k, p = next((one for one in asked if not cost(*one).dear), asked[-1])
    for known in _KNOWN:
        cost(h, k, known)
    order = sorted((one for one in tried if one[0] == h), key=lambda one: (-one[1], one[2]))
    costs = tuple(tried[one] for one in order)
    stricter = tuple(level for level in levels if level < h)
    return replace(found, h=h, k=k, p=p, tried=costs, dear=stricter)


def _cost(found: BasketDraft, watch: Watch) -> TriedPromise:
    policy = BasketPolicy(
        private=tuple(item for item, _ in found.private), h=found.h, k=found.k, p=found.p
    )
    roles = policy.roles(found.baskets.names)
    try:
        _, gone, _ = find(found.baskets, roles, policy, watch)
    except InputError:
        return TriedPromise(found.k, found.p, None, Fraction(1))
    lost = int(found.baskets.supports()[gone].sum())
    share = Fraction(lost, max(found.baskets.occurrences, 1))
    return TriedPromise(found.k, found.p, int(gone.sum()), share)
