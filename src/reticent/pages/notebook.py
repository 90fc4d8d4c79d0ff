"""A few facts as a small table, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping


def small_table(head: str, rows: Mapping[str, str]) -> str:
    """Facts by name."""
    lines = "".join(
        f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in rows.items()
    )
    return f"<p><b>{head}</b></p><table><tbody>{lines}</tbody></table>"
