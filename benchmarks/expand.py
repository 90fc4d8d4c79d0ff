"""Make the tables and policies of the speed benchmarks.

    python benchmarks/expand.py KIND [--rows N --seed S -o FILE.csv] [--policy POLICY.toml]

The Adult kinds start from real records. The first copy of each stands unmodified; in every further
copy a random non-empty subset of the attributes is redrawn, each uniformly from the values that
occur in its column (the "variations" of Fung 2007, §4.4.3, there with a uniform subset size).
`correlated` is synthetic. Each copy has its own random stream, so that with the same seed a short
file is the beginning of a long one.

    kind        records                                   redrawn   policy
    adult       45,222 complete, training and test        8         k = 50, as adult8
    adult8      30,162 complete training records          8         k = 50 over the 8
    adult14     30,162 complete training records          14        k = 50 over all 14
    adult8cat   30,162 complete training records          8         confidence <= 90 % over 7
    correlated  synthetic, see `correlated_chunk`         -         k = 50 over 6
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

Codes = npt.NDArray[np.int64]

REPO = Path(__file__).resolve().parent.parent
K = 50

QUASI = ["sex", "age", "race", "marital-status", "education"]
QUASI += ["native-country", "workclass", "occupation"]
ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status"]
ADULT += ["occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"]
ADULT += ["hours-per-week", "native-country", "class"]
CONTINUOUS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
CATEGORICAL = [name for name in ADULT if name not in CONTINUOUS and name != "class"]
SENSITIVE = "marital-status"

KINDS = ("adult", "adult8", "adult14", "adult8cat", "correlated")


class NoData(Exception):
    """The public data sets are not on this machine."""


# --- Adult ------------------------------------------------------------------------------------


def data_folder() -> Path:
    """The folder of public data sets: RETICENT_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("RETICENT_DATA") or REPO.parent / "shared" / "data").absolute()


def data_file(name: str) -> Path:
    path = data_folder() / name
    if not path.is_file():
        raise NoData(f"{path} is not there; set RETICENT_DATA to the folder that holds it")
    return path


def complete_adult(*files: str) -> pl.DataFrame:
    """The records of UCI Adult that miss nothing, in file order, every cell as text."""
    rows: list[list[str]] = []
    for file in files:
        for line in data_file(f"adult/{file}").read_text(encoding="utf-8").splitlines():
            cells = line.removesuffix(".").split(", ")  # adult.test ends its labels in a full stop
            if len(cells) == len(ADULT) and "?" not in cells:
                rows.append(cells)
    return pl.DataFrame(rows, schema=ADULT, orient="row")


def original(kind: str) -> pl.DataFrame:
    """The records that `kind` starts from; the last column is the class."""
    if kind == "adult":
        return complete_adult("adult.data", "adult.test").select([*QUASI, "class"])
    if kind == "adult8":
        path = data_file("arx_adult/adult.csv")
        table = pl.read_csv(path, separator=";", infer_schema=False)
        return table.rename({"salary-class": "class"}).select([*QUASI, "class"])
    if kind == "adult14":
        return complete_adult("adult.data")
    return complete_adult("adult.data").select([*CATEGORICAL, "class"])


@dataclass(frozen=True, slots=True)
class Coded:
    """A table as codes: cell (i, j) is `domains[j][codes[i, j]]`."""

    names: list[str]
    domains: list[pl.Series]
    codes: Codes

    @classmethod
    def of(cls, table: pl.DataFrame) -> Coded:
        columns = [np.unique(table[name].to_list(), return_inverse=True) for name in table.columns]
        domains = [pl.Series(values.tolist()) for values, _ in columns]
        return cls(table.columns, domains, np.column_stack([codes for _, codes in columns]))

    def frame(self, codes: Codes) -> pl.DataFrame:
        return pl.DataFrame(
            {
                name: domain.gather(codes[:, j])
                for j, (name, domain) in enumerate(zip(self.names, self.domains, strict=True))
            }
        )


def variation(table: Coded, rng: np.random.Generator) -> Codes:
    """One further copy of every record, a random non-empty subset of the attributes redrawn."""
    codes = table.codes.copy()
    attributes = len(table.names) - 1  # the class stays
    subset = rng.integers(1, 2**attributes, size=len(codes))  # bit j: attribute j is redrawn
    for j in range(attributes):
        drawn = rng.integers(0, len(table.domains[j]), size=len(codes))
        codes[:, j] = np.where(subset >> j & 1, drawn, codes[:, j])
    return codes


def expanded(table: Coded, rows: int, seed: int) -> Iterator[pl.DataFrame]:
    """Copy after copy, until there are `rows` records."""
    for copy, start in enumerate(range(0, rows, len(table.codes))):
        codes = variation(table, np.random.default_rng([seed, copy])) if copy else table.codes
        yield table.frame(codes[: rows - start])


# --- Correlated -------------------------------------------------------------------------------

SHARED_BITS = 6  # of each latent variable, seen by all its attributes: 64 values
NOISE_BITS = 3  # below them, drawn anew for each attribute
CHUNK = 100_000
ALL_BITS = SHARED_BITS + NOISE_BITS
TREES = ["postcode", "clinic", "job", "employer"]  # binary taxonomies, 9 levels, 512 leaves
CORRELATED = ["postcode", "clinic", "distance", "job", "employer", "union"]


def label(code: int, bits: int) -> str:
    """A node of a binary taxonomy is the path to it: "v", "v0", "v01", …

    The letter keeps leaves from being read as numbers.
    """
    return "v" + (f"{code:0{bits}b}" if bits else "")


def class_effect(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """What each value of a latent variable adds to the log odds of the class.

    Each node of the latent tree pushes its two children apart, so that every level is worth
    refining and no level is worth so much that the others are not.
    """
    effect = np.zeros(1)
    for _ in range(SHARED_BITS):
        push = rng.choice([-0.35, 0.35], size=len(effect))
        effect = np.column_stack([effect - push, effect + push]).ravel()
    return effect


def correlated_chunk(rows: int, seed: int, chunk: int) -> pl.DataFrame:
    """Some records of two latent variables, `place` and `work`, each behind three attributes.

    Why hundreds of refinements stay valid at k = 50: an attribute's upper six levels are its
    latent variable's, so refining them in all six attributes makes 64 x 64 groups of about 244
    records per million. That is 63 inner nodes in each of four taxonomies, 63 cuts and 64 disclosed
    values; with one million records and seed 1 the greedy search makes 437 steps and ends in 8,192
    groups. The lower three levels are noise: they make 996,304 of a million records distinct, so
    that collapsing duplicates saves nothing, and they soon break k.
    """
    fixed = np.random.default_rng([seed, 0])
    place_effect, work_effect = class_effect(fixed), class_effect(fixed)
    rng = np.random.default_rng([seed, chunk + 1])
    place, work = rng.integers(0, 2**SHARED_BITS, size=(2, CHUNK))

    def noisy(latent: Codes) -> Codes:
        return (latent << NOISE_BITS) + rng.integers(0, 2**NOISE_BITS, size=CHUNK)

    leaves = pl.Series([label(code, ALL_BITS) for code in range(2**ALL_BITS)])
    unions = pl.Series([f"union {code:02}" for code in range(2**SHARED_BITS)])
    odds = place_effect[place] + work_effect[work]
    yes = rng.random(CHUNK) < 1 / (1 + np.exp(-odds))
    columns = {
        "postcode": leaves.gather(noisy(place)),
        "clinic": leaves.gather(noisy(place)),
        "distance": pl.Series(noisy(place)),
        "job": leaves.gather(noisy(work)),
        "employer": leaves.gather(noisy(work)),
        "union": unions.gather(work),
        "class": pl.Series(["no", "yes"]).gather(yes.astype(np.int64)),
    }
    return pl.DataFrame(columns).head(rows)


def correlated(rows: int, seed: int) -> Iterator[pl.DataFrame]:
    for chunk, start in enumerate(range(0, rows, CHUNK)):
        yield correlated_chunk(rows - start, seed, chunk)


def write_taxonomy(path: Path) -> None:
    """One row a leaf: leaf, parent, …, root."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for leaf in range(2**ALL_BITS):
            path_up = [label(leaf >> up, ALL_BITS - up) for up in range(ALL_BITS + 1)]
            file.write(",".join(path_up) + "\n")


# --- Policies ---------------------------------------------------------------------------------


def quoted(text: str | Path) -> str:
    """A TOML string; for the characters that occur here JSON's is the same."""
    return json.dumps(str(text), ensure_ascii=False)


def listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(map(quoted, names)) + "]"


def attribute(name: str, mask: str, taxonomy: Path | None = None) -> str:
    lines = [f"[attributes.{quoted(name)}]", f"mask = {quoted(mask)}"]
    if taxonomy:
        lines.append(f"taxonomy = {quoted(taxonomy)}")
    return "\n".join(lines)


GREEDY = '[goal]\nscore = "paper"\nsearch = "greedy"'  # one pass: what the engine itself takes


def anonymity(over: Sequence[str]) -> str:
    return f"[[anonymity]]\nover = {listed(over)}\nk = {K}"


def adult_attribute(name: str) -> str:
    if name in CONTINUOUS:
        return attribute(name, "discretize")
    if name in QUASI:  # the categorical ones of them come with a hierarchy
        return attribute(name, "generalize", data_file(f"arx_adult/adult_hierarchy_{name}.csv"))
    return attribute(name, "suppress")


def rarest_half(values: Sequence[str]) -> list[str]:
    """The rarer half of the values that occur, rounded down as the papers do: three of seven."""
    counts = Counter(values)
    rarest = sorted(counts, key=lambda value: (counts[value], value))
    return rarest[: len(rarest) // 2]


def confidence() -> list[str]:
    """The sections of `adult8cat`: suppression, and marital status as the secret."""
    over = [name for name in CATEGORICAL if name != SENSITIVE]
    secret = listed(rarest_half(original("adult8cat")[SENSITIVE].to_list()))
    promise = (
        f"[[confidence]]\nover = {listed(over)}\n"
        f"sensitive = {{ {quoted(SENSITIVE)} = {secret} }}\nat_most = 0.9"
    )
    return [*(attribute(name, "suppress") for name in over), promise]


def write_policy(kind: str, path: Path) -> None:
    """Write the policy of a kind, and beside it the taxonomies that no data set brings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "correlated":
        taxonomy = path.with_suffix(".taxonomy.csv").absolute()
        write_taxonomy(taxonomy)
        sections = [attribute(name, "generalize", taxonomy) for name in TREES]
        sections += [attribute("distance", "discretize"), attribute("union", "suppress")]
        sections.append(anonymity(CORRELATED))
    elif kind == "adult8cat":
        sections = confidence()
    else:
        over = [name for name in ADULT if name != "class"] if kind == "adult14" else QUASI
        sections = [*map(adult_attribute, over), anonymity(over)]
    sections.append(GREEDY)
    path.write_text("\n\n".join(['class = "class"', *sections]) + "\n", encoding="utf-8")


# --- Command ----------------------------------------------------------------------------------


def write_table(kind: str, path: Path, rows: int | None, seed: int) -> None:
    """Write the table whole or not at all, so that a cached file is a finished one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "correlated":
        frames = correlated(1_000_000 if rows is None else rows, seed)
    else:
        table = Coded.of(original(kind))
        frames = expanded(table, len(table.codes) if rows is None else rows, seed)
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as file:
        for number, frame in enumerate(frames):
            frame.write_csv(file, include_header=number == 0)
    partial.replace(path)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description="Make a table of the speed benchmarks.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--rows", type=positive, help="default: as many as the original records")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.csv", help="write the table")
    parser.add_argument("--policy", type=Path, metavar="POLICY.toml", help="write its policy")
    asked = parser.parse_args()
    if not (asked.output or asked.policy):
        parser.error("nothing to write: give -o, --policy or both")
    try:
        if asked.policy:
            write_policy(asked.kind, asked.policy)
        if asked.output:
            write_table(asked.kind, asked.output, asked.rows, asked.seed)
    except NoData as missing:
        print(f"skipped: {missing}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
