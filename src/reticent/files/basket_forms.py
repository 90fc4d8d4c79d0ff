"""In which form a file holds baskets: lines of items, or rows of basket and item.

It goes by the first lines. A table has a header, and as many cells in every line; lines of items
have neither, as a rule. Where a table has more than two columns their names tell which two matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reticent.errors import InputError, Problem, did_you_mean, quoted, refuse
from reticent.files import tabular
from reticent.files.basket_files import Columns, Form
from reticent.files.basket_lines import SIGNS, items_of, sign_of
from reticent.files.delimited import Reading, read_lines

_LOOKED_AT = 2000  # lines
_OFTEN = 0.2  # of all lines, from which on a sign parts items: many baskets have one item alone
# Who came is asked before which visit it was: all that one person has is to be one basket.
_PEOPLE = """
    customer* member* person* people patient* user* visitor* client* household* card* loyalty*
    kunde* kundin* mitglied* haushalt* nutzer* besucher* cliente* membre* utilisateur* usuario*
    """
_VISITS = """
    basket* order* invoice* receipt* bill transaction* trans tid session* visit* ticket* cart bon
    beleg* rechnung* warenkorb* bestellung* einkauf* panier* commande* facture* factura* pedido*
    ordine* scontrino* case id ids
    """
_ITEMS = """
    item* product* article* artikel* produkt* produit* producto* prodotto* articolo* sku stock*
    page* seite* url* document* doc docs diagnos* icd drug* medic* mood* event* song* track* movie*
    film* book* isbn title* description* beschreibung* bezeichnung* ware* name code
    """


@dataclass(frozen=True, slots=True)
class BasketForm:
    """How a file holds baskets."""

    form: Form
    separator: str = " "  # of items in lines
    columns: Columns | None = None  # of id and item, where a table has more than two


def form_of(
    data: str | Path, reading: Reading, basket: str | None = None, item: str | None = None
) -> BasketForm:
    """The form of a file, by what is told of it and by how it looks."""
    known = tuple(dict.fromkeys([*tabular.SUFFIXES, *tabular.LINES]))
    path = tabular.paths_of(data, known)[0]
    told = basket is not None or item is not None or reading.header_row is not None
    told = told or reading.delimiter not in (None, " ", "\t")
    if reading.separator is not None and not told:
        return BasketForm("basket", sign_of(reading.separator) or " ")
    if tabular.suffix_of(path) and not tabular.suffix_of(path, tabular.LINES):
        return _table(data, reading, basket, item)
    head = read_lines(path, reading, [], lambda blocks: next(iter(blocks), ""))
    lines = [line for line in head.split("\n")[:_LOOKED_AT] if line.strip()]
    if told or _is_table(lines):
        return _table(data, reading, basket, item)
    return BasketForm("basket", _separator(lines))


def _is_table(lines: Sequence[str]) -> bool:
    """Whether these are a header and rows."""
    for sign in SIGNS:
        rows = [items_of(line, sign) for line in lines]
        widths = {0 if row is None else len(row) for row in rows}
        header = rows[0] if rows else None
        if not header or len(widths) != 1 or len(header) < 2 or len(rows) < 2:
            continue
        below = {cell for row in rows[1:] for cell in row or ()}
        if not header[0]:  # the index that some programs write has no name
            header, below = header[1:], below - {""}
        named = all(re.search(r"[^\W\d]", name) for name in header)
        if named and len({*header}) == len(header) and not below & {*header}:
            return True
    return False


def _separator(lines: Sequence[str]) -> str:
    """What parts items: the sign that stands in most lines, if it does in enough; 1,5 is one."""
    found: dict[str, int] = {}
    often = _OFTEN * len(lines)
    for sign in SIGNS:
        at = re.escape(sign)
        parts = re.compile(f"{at}$|[^0-9]{at}|{at}[^0-9]|{at}.*{at}" if sign == "," else at)
        holding = [line for line in lines if parts.search(line)]
        blanks = sum(" " in line.strip() for line in holding)  # or a tab is a blank like others
        if holding and len(holding) >= often and (sign != "\t" or blanks >= often):
            found[sign] = len(holding)
    return max(found, key=lambda sign: found[sign], default=" ")  # of equals the first


def _table(data: str | Path, reading: Reading, basket: str | None, item: str | None) -> BasketForm:
    """Which two columns of a table matter."""
    names = tabular.parse(data, reading).arrow.column_names
    named = [name for name in names if not tabular.is_made_up(name)]
    refuse(
        Problem(
            f'there is no column "{name}"', where=str(data),
            do=did_you_mean(name, names) or f"the table has {quoted(names)}.",
        )
        for name in (basket, item)
        if name is not None and name not in names
    )  # fmt: skip
    if basket is None and item is None and 2 in (len(names), len(named)):
        return BasketForm("long")
    baskets = [basket] if basket is not None else _called(named, _PEOPLE, _VISITS)
    left = [name for name in named if name not in {*baskets[:1]}]
    items = left if len(left) == 1 else _called(left, _ITEMS)
    items = items if item is None else [item]
    if not baskets or not items:
        raise InputError(
            f"the table has {len(names)} columns: {quoted(names)}", where=str(data),
            why="one is the id of a basket and one an item, and their names do not tell which.",
            do="name them, as  --basket NAME --item NAME;  if each line is a basket, take out the "
            'header, and what is no item, and say  --separator ",".',
        )  # fmt: skip
    return BasketForm("long", columns=(baskets[0], items[0]))


def _called(names: Sequence[str], *topics: str) -> list[str]:
    """The columns whose names speak of the first of some topics that any does; words in order."""
    for topic in topics:
        for word in topic.split():
            if found := [n for n in names if any(fnmatchcase(w, word) for w in words_in(n))]:
                return found
    return []


def words_in(name: str) -> list[str]:
    """The words of a name, without case.

    >>> words_in("itemDescription"), words_in("Member_number"), words_in("HIV-Selbsttest (2er)")
    (['item', 'description'], ['member', 'number'], ['hiv', 'selbsttest', 'er'])
    """
    parts: list[Any] = re.findall(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_a-z]?[^\W\d_A-Z]+", name)
    return [part.lower() for part in parts]
