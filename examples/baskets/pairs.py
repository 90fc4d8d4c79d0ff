"""Count the pairs of items in baskets and in their release: what is still there is as it was.

`python pairs.py BASKETS.csv RELEASED.csv`, both of them rows of basket and item.
"""

import csv
import sys
from collections import Counter, defaultdict
from itertools import combinations


def pairs(path: str) -> Counter[tuple[str, str]]:
    """In how many baskets each two items stand together."""
    baskets: dict[str, list[str]] = defaultdict(list)
    with open(path, encoding="utf-8", newline="") as file:
        for basket, item in list(csv.reader(file))[1:]:
            if item:  # an empty basket has one row, without an item
                baskets[basket].append(item)
    return Counter(pair for items in baskets.values() for pair in combinations(sorted(items), 2))


def main(original: str, released: str) -> None:
    """Say what became of the pairs."""
    before, after = pairs(original), pairs(released)
    same = sum(before[pair] == count for pair, count in after.items())
    print(f"{len(before)} pairs before, {len(after)} after, {same} of them as often as before.")
    for pair, count in before.most_common(10):
        print(f"{' and '.join(pair):20} {count:6,} {after[pair]:6,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
