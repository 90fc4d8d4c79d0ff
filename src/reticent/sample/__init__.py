"""Invented data about invented people, so that trying things out needs no download."""

from __future__ import annotations

from pathlib import Path

from reticent.errors import InputError
from reticent.sample.tables import KINDS, PRIVATE_ITEMS, check, make, policy

MAIL = "mail"
SAMPLES = (*KINDS, MAIL)
_ROWS = 1000

__all__ = ["KINDS", "MAIL", "PRIVATE_ITEMS", "SAMPLES", "make", "make_sample", "policy"]


def make_sample(
    kind: str, rows: int | None, seed: int, *, output: str | Path, force: bool = False
) -> list[str]:
    """Write invented data: a table as one file, all else into a folder with what belongs to it.

    `rows`: of a table (1,000 unless told), or mails (60).
    """
    from reticent.sample.mail import MAILS

    count = rows if rows is not None else MAILS if kind == MAIL else _ROWS
    check(kind, count, seed, SAMPLES)
    write = _write_mail if kind == MAIL else _write_table
    return write(kind, count, seed, output, force=force)


def _write_mail(kind: str, mails: int, seed: int, output: str | Path, *, force: bool) -> list[str]:
    from reticent.files.output import whole_folder
    from reticent.releases.places import format_asked
    from reticent.sample.mail import HOLDS, write_mail

    target = Path(output)
    if format_asked(output):
        raise InputError(
            "mail and notes are a folder, and no table", where=str(output),
            do="give a name without a suffix.",
        )  # fmt: skip
    with whole_folder(target, force=force, holds=HOLDS) as folder:
        made = [path.relative_to(folder) for path in write_mail(folder, mails, seed)]
    return [str(target / path) for path in made]


def _write_table(kind: str, rows: int, seed: int, output: str | Path, *, force: bool) -> list[str]:
    from reticent.files.output import check_free, whole_file, whole_folder
    from reticent.files.sheets import sheet
    from reticent.files.sheets import write as write_rows
    from reticent.files.tabular import from_arrow
    from reticent.releases.places import format_asked

    target = Path(output)
    suffix = format_asked(output)
    text, taxonomies = policy(kind)
    files = {"policy.toml": text, **taxonomies}
    holds = (f"{kind}.csv", *files)
    check_free(target, force=force, holds=() if suffix else holds)
    table = make(kind, rows, seed)
    whole = sheet(list(from_arrow(table).columns.values()), order="input")
    if suffix:
        with whole_file(target, force=force) as path:
            write_rows(whole, path, suffix)
        return [str(target)]
    with whole_folder(target, force=force, holds=holds) as folder:
        write_rows(whole, folder / f"{kind}.csv", ".csv")
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
    return [str(target / name) for name in holds]
