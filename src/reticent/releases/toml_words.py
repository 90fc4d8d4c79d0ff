"""What is wrong with a file that is no TOML, in words of ours: where, why, and what to write.

Python's reader says where it stopped and what it would have liked there, which is not always where
the mistake is. A line is quoted only where it can hold no value of a column: a key of ours, and a
short word or number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reticent.errors import Problem

_STATEMENT = re.compile(r"""^\s*([\w-]+|"[^"]*"|'[^']*')\s*=\s*([^#]*?)\s*(?:#.*)?$""")
_SECTION = re.compile(r"^\s*(\[\[?)\s*([A-Za-z_][^\[\]#,]*?)\s*\]?\]?\s*(?:#.*)?$")
_WHOLE = {"k", "p", "size", "min_support", "max_pattern", "seed"}  # keys that take whole numbers,
_SHARES = {"at_most", "h", "support", "min_confidence", "suppress_records"}  # shares,
_TRUTHS = {"trim", "allow_absent", "join", "round", "labels"}  # yes or no,
_TEXTS = {  # and words
    "class", "format", "method", "missing", "order", "score", "search", "separator", "strategy",
    "utility",
}  # fmt: skip
_SHORT = re.compile(r"[\w.,%+-]{1,24}")


def not_toml(text: str, said: str, where: str) -> Problem:
    """The problem of a text that Python's reader refused, by what it said."""
    lines = text.split("\n")
    at = re.search(r"at line (\d+)", said)
    number = int(at[1]) if at else max((i for i, s in enumerate(lines, 1) if s.strip()), default=1)
    reason = said.partition(" (at ")[0]
    if (
        reason == "Invalid value"
        and _STATEMENT.match(lines[number - 1])
        and _is_open(lines, number)
    ):
        reason = "Unclosed array"  # a key and its value stand where an item of a list was expected
    if reason == "Unclosed array" and "[" not in lines[number - 1]:
        number = _opened(lines, number)
    what, do = _words(lines, number, reason)
    return Problem(what, where=f"{where}, line {number}", do=do)


def zero_bytes(text: str, where: str) -> Problem:
    """The problem of a text that holds zero bytes."""
    line = text[: text.index("\0")].count("\n") + 1
    return Problem(
        "there are zero bytes in it, so it is no text, or in another encoding",
        where=f"{where}, line {line}", do="save it as UTF-8.",
    )  # fmt: skip


def _words(lines: Sequence[str], number: int, reason: str) -> tuple[str, str]:
    """What is wrong with a line, and what to do."""
    line = lines[number - 1]
    if reason.startswith("Cannot"):
        return _twice(lines, number)
    if "declaration" in reason and (section := _SECTION.match(line)):
        bare, close = re.fullmatch(r"[A-Za-z0-9_.-]+", section[2]), "]" * len(section[1])
        if not bare and line.rstrip().endswith(close):
            head, point, name = section[2].partition(".")
            named = f'{head}."{name}"' if point else f'"{head}"'
            return (
                "the name of a section has letters or blanks that need quotes",
                f"write  {section[1]}{named}{close}.",
            )
        return "the name of a section is not closed", f"write  {section[1]}{section[2]}{close}."
    if set("“”‘’„") & set(line):
        return "its quotes are curly ones", 'write straight ones, as "Age".'
    if reason.startswith("Unclosed"):
        return _unclosed(line, reason)
    if reason.startswith("Expected '='"):
        colon = ":" in line and "=" not in line
        return "a key and its value have no = between them", (
            "write  key = value,  and no colon." if colon else "write  key = value."
        )
    if "'\\n'" in reason or reason.startswith(("Expected \"'", "Expected '\"")):
        return "a text has no quote at its end", 'close it, as in  "Age".'
    if "character" in reason:
        return "there is a character that cannot be seen", "delete it, and write the line anew."
    if reason.startswith(("Unescaped", "Invalid hex", "Escaped")):
        return "a backslash means something else in double quotes", (
            "write paths with /, or the text in single quotes."
        )
    return _value(line, _section_of(lines, number))


def _value(line: str, section: str) -> tuple[str, str]:
    """What is wrong with the value of a key; of columns, no text is quoted."""
    found = _STATEMENT.match(line)
    if found is None:
        return (
            "this is no TOML",
            "a line is  key = value,  [section]  or  # a comment;  texts stand in quotes.",
        )
    key, value = found[1], found[2]
    ours = not section.startswith("attributes") and key in _WHOLE | _SHARES | _TRUTHS | _TEXTS
    known = ours and _SHORT.fullmatch(value)
    said = f"`{key} = {value}`" if known else f"the value of `{key}`"
    what = f"{said} is no TOML value"
    if not value:
        return f"`{key}` has no value", "write one, or leave the line out."
    if re.fullmatch(r"[+-]?\d+,\d+", value):
        return what, f"write {value.replace(',', '.') if known else '0.2'}, with a point."
    if re.fullmatch(r"[\d.,]+ ?%", value):
        return what, "write a share, as 0.1 for 10 %."
    if key in _WHOLE:
        return what, f"write a whole number, as  {key} = 10."
    if value.lower() in ("true", "false") or key in _TRUTHS:
        return what, "write  true  or  false."
    if key in _SHARES:
        return what, f'write a decimal or a fraction, as  {key} = 0.2  or  {key} = "1/5".'
    if value.startswith("["):
        return what, 'put every text in quotes, and commas between, as  ["Age", "Job"].'
    if re.match(r"[\"'{\d+-]", value):
        return f"something follows the value of `{key}`", "write one key a line, and commas in [ ]."
    return what, f'put texts in quotes, as  {key} = "{value if known else "…"}".'


def _unclosed(line: str, reason: str) -> tuple[str, str]:
    sign = "]" if "array" in reason else "}"
    found = _STATEMENT.match(line)
    of = f" of `{found[1]}`" if found else ""
    if sign == "}":
        return f"the table{of} is not closed", "close it with  }  on the same line."
    if line.count("[") == line.count("]"):
        return f"the list{of} lacks a comma between two values", "write  [0, 120],  with commas."
    return f"the list{of} is not closed, or lacks a comma", "write  [0, 120],  with both."


def _twice(lines: Sequence[str], number: int) -> tuple[str, str]:
    """A key or a section that stands twice; or is a value here and a section there."""
    line = lines[number - 1]
    section, statement = _SECTION.match(line), _STATEMENT.match(line)
    if section:
        same = [i for i in range(1, number) if _named(lines[i - 1], _SECTION, 2) == section[2]]
        what = f"the section [{section[2]}] is there already"
        do = "put its keys into one section."
        if section[1] == "[[" or not same:
            what, do = f"[{section[2]}] is written in another way above", "write it in one way."
    elif statement:
        begins = max((i for i in range(1, number) if _SECTION.match(lines[i - 1])), default=0)
        above = range(begins + 1, number)
        same = [i for i in above if _named(lines[i - 1], _STATEMENT, 1) == statement[1]]
        what, do = f"the key `{statement[1]}` is there already", "leave one of them."
    else:
        return "a key or a section stands twice", "leave one of them."
    return f"{what}, on line {same[0]}" if same else what, do


def _section_of(lines: Sequence[str], number: int) -> str:
    heads = (_named(line, _SECTION, 2) for line in reversed(lines[:number]))
    return next((head for head in heads if head is not None), "")


def _named(line: str, shape: re.Pattern[str], group: int) -> str | None:
    found = shape.match(line)
    return found[group] if found else None


def _is_open(lines: Sequence[str], number: int) -> bool:
    """Whether a list that was opened above a line is still open there."""
    above = [line.partition("#")[0] for line in lines[: number - 1]]
    return sum(line.count("[") - line.count("]") for line in above) > 0


def _opened(lines: Sequence[str], number: int) -> int:
    """The line of the list that was not closed when another line was reached."""
    above = [i for i in range(1, number + 1) if lines[i - 1].count("[") > lines[i - 1].count("]")]
    return above[-1] if above else number
