"""One job of one peer, in a process of its own: read a CSV file, anonymize it, write a CSV file.

    python jobs.py version PACKAGE
    python jobs.py anonypy TABLE OUT --quasi a,b --k K
    python jobs.py anjana  TABLE OUT --quasi a,b --k K --hierarchies FOLDER --suppress PERCENT
    python jobs.py pycanon TABLE     --quasi a,b

Runs in the peers' environment, which has pandas but not Reticent. Columns that are no
quasi-identifiers are carried along. Packages are imported where they are used: the others may be
absent, and the time of their import is no part of this job.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

NOTHING_BACK = 3  # the exit code of a tool that ended well and returned no table
GLUE = "\x1f"  # parts the values of kept columns; occurs in no table


def anonypy_release(table: pd.DataFrame, quasi: list[str], k: int) -> pd.DataFrame:
    """Mondrian as the package offers it; one row per record again.

    It returns one row per group and value of one "sensitive" column, with a count. At plain
    k-anonymity that column plays no other part, so all kept columns travel in it.
    """
    import anonypy

    kept = [name for name in table.columns if name not in quasi]
    data = table[quasi].copy()
    for name in quasi:
        numbers = pd.to_numeric(data[name], errors="coerce")
        data[name] = data[name].astype("category") if numbers.isna().any() else numbers
    data["kept"] = table[kept].agg(GLUE.join, axis=1).astype("category")
    groups = pd.DataFrame(anonypy.Preserver(data, quasi, "kept").anonymize_k_anonymity(k))
    rows = groups.loc[groups.index.repeat(groups["count"])].reset_index(drop=True)
    for name in quasi:
        rows[name] = rows[name].str[0]  # each label comes in a list of one
    rows[kept] = rows["kept"].str.split(GLUE, expand=True).to_numpy()
    return rows[[*quasi, *kept]]


def hierarchy_levels(path: Path) -> dict[int, Any]:
    """A hierarchy in anjana's form: level -> the label of each leaf on it."""
    rows = pd.read_csv(path, sep=";", header=None, dtype=str)
    return {int(level): rows[level].to_numpy() for level in rows.columns}


def anjana_release(
    table: pd.DataFrame, quasi: list[str], k: int, folder: Path, suppress: float
) -> pd.DataFrame:
    from anjana.anonymity import k_anonymity

    levels = {name: hierarchy_levels(folder / f"adult_hierarchy_{name}.csv") for name in quasi}
    released = k_anonymity(table, [], quasi, k, suppress, levels)
    return released.reindex(columns=table.columns) if len(released) else released


def pycanon_k(table: pd.DataFrame, quasi: list[str]) -> int:
    from pycanon.anonymity import k_anonymity

    return int(k_anonymity(table, quasi))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="One job of one peer.")
    parser.add_argument("job", choices=["version", "anonypy", "anjana", "pycanon"])
    parser.add_argument("what", help="the table; with version, a package")
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--quasi", type=lambda text: text.split(","), default=[])
    parser.add_argument("--k", type=int, default=0)
    parser.add_argument("--hierarchies", type=Path)
    parser.add_argument("--suppress", type=float, default=0.0, help="percent of the records")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    if asked.job == "version":
        try:
            print(version(asked.what))
        except PackageNotFoundError:
            return 1
        return 0
    table = pd.read_csv(asked.what, dtype=str, keep_default_na=False)
    if asked.job == "pycanon":
        print(pycanon_k(table, asked.quasi))
        return 0
    if asked.job == "anonypy":
        released = anonypy_release(table, asked.quasi, asked.k)
    else:
        released = anjana_release(table, asked.quasi, asked.k, asked.hierarchies, asked.suppress)
    if not len(released):
        return NOTHING_BACK
    released.to_csv(asked.out, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
