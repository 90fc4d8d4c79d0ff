"""Other releases that stand beside the new one, and that the policy does not name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reticent.errors import listed, quoted
from reticent.releases import folder as release_folder
from reticent.tables import folder
from reticent.tables.prepare import Prepared


def warn_of_neighbours(prepared: Prepared, output: Path) -> Prepared:
    """Warn of releases beside the new one that publish some of its columns and are not named.

    Two releases of one kind are mostly about the same people, and somebody will have both.
    """
    named = {path.resolve() for path in prepared.policy.earlier}
    released = set(prepared.roles.released)
    beside: dict[str, list[str]] = {}
    for place in sorted(_folders_beside(output)):
        here = place.resolve()
        if here == output.resolve() or not release_folder.is_release(place):
            continue
        if any(here == path or here in path.parents for path in named):
            continue
        if shared := [name for name in folder.columns_in(place) if name in released]:
            beside[place.name] = shared
    if not beside:
        return prepared
    shared = list(dict.fromkeys(name for names in beside.values() for name in names))
    one, *more = beside
    aside = (
        f"the releases {listed(list(beside))} stand beside this one and publish some of "
        f"{quoted(shared)}, too: whoever has them can join them. If they are about the same "
        "people, name them in [previous], or with --previous."
    )
    if not more:
        aside = (
            f"the release {one} stands beside this one and publishes {quoted(shared)}, too: "
            "whoever has both can join them. If it is about the same people, name it in "
            "[previous], or with --previous."
        )
    return replace(prepared, asides=(aside,))


def _folders_beside(output: Path) -> list[Path]:
    try:
        return list(output.absolute().parent.iterdir())
    except OSError:  # a folder that may be written to, and not looked into
        return []
