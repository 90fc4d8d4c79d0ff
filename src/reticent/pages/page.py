"""The kit that pages are made with: a template filled with facts, and what several of them show.

A page is one self-contained HTML file: no script, no network, light and dark, printable. Each
system keeps its own templates; those beside this file are what all of them extend.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reticent.errors import InputError, few
from reticent.files.output import (
    check_free,
    refuse_inputs,
    refuse_published,
    whole_file,
    write_text,
)
from reticent.files.tabular import Reading
from reticent.pages import charts, curves, drawing
from reticent.privacy import words
from reticent.version import __version__

MOST = 200  # rows of a table on a page; files beside it hold all


@cache
def _environment() -> Environment:
    environment = Environment(
        # What all share goes by its name; a system's own by its place: tables/templates/public.html
        loader=ChoiceLoader([PackageLoader("reticent", "pages"), PackageLoader("reticent", ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = drawing.number
    environment.filters["measured"] = words.measured
    environment.filters["few"] = few
    return environment


def _finalized(value: Any) -> Any:
    """Every text that a template prints, without what no page can hold."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return drawing.printable(value) if is_text else value


def page(template: str, facts: Mapping[str, Any]) -> str:
    """A template filled with facts; it may ask for nothing that is not there."""
    return _environment().get_template(template).render({"version": __version__, **facts})


def command(words: str, reading: Reading, options: Mapping[str, str | None] | None = None) -> str:
    """What makes a release again, of a file of which this has to be told besides."""
    every = {
        "--delimiter": "tab" if reading.delimiter == "\t" else reading.delimiter,
        "--encoding": reading.encoding,
        "--decimal": reading.decimal,
        "--date-format": reading.date_format,
        "--header-row": reading.header_row and str(reading.header_row),
        **(options or {}),
    }
    given = [f" {name} {shlex.quote(value)}" for name, value in every.items() if value]
    return f"{words} DATA --policy policy.toml -o OUT/" + "".join(given)


def page_place(output: str | Path, inputs: Iterable[Path], what: str, *, force: bool) -> Path:
    """Where a page that a command writes besides will stand; refused before any work."""
    place = Path(output)
    if place.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"{what} is written as a page", where=str(place),
            do="give a name that ends in .html; --json prints the numbers for programs.",
        )  # fmt: skip
    if place.is_dir():
        raise InputError("this is a folder", where=str(place), do="choose another name.")
    check_free(place, force=force)
    refuse_inputs([place], inputs)
    refuse_published(place)
    return place


def write_private_page(text: str, place: Path, *, force: bool) -> None:
    """Write a page that its owner alone may read."""
    with whole_file(place, force=force, private=True) as path:
        write_text(path, text)


_TRAINED_ON = {
    "BE": "the table as it was",
    "AE": "this release",
    "UE": "masked columns left out",
    "majority": "always the largest class",
}


def usefulness(found: Mapping[str, Any] | None, target: str | None, reason: str) -> dict[str, Any]:
    """The errors of a classifier of `target`, drawn; or the reason why there are none."""
    if not found or "AE" not in found:
        return {"measured": False, "reason": (found or {}).get("reason", reason)}
    names = [key for key in _TRAINED_ON if found.get(key) is not None]
    drawn = [charts.Bar(_TRAINED_ON[key], found[key], matters=key == "AE") for key in names]
    reference = ("the table as it was", found["BE"]) if "BE" in names else None
    title = "Share of records that a classifier gets wrong"
    return {
        "measured": True,
        "classifier": found.get("classifier", "classifier"),
        "how": found.get("how", ""),
        "class": target,
        "errors": {key: found[key] for key in names},
        "bars": drawn,
        **{key: found.get(key) for key in ("train", "test", "rows")},
        "unsure": curves.uncertainty(found["AE"], found.get("test")),
        "chart": charts.bars(title, "records told wrong", drawn, reference=reference, share=True),
    }
