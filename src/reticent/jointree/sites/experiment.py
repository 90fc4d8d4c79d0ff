"""All sites in one process: for experiments, and for tests of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from reticent.files.tabular import Reading
from reticent.jointree.model import JoinTree, model_of
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.flow import SiteTree, site_tree
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.tables import load_some
from reticent.parties.experiment import play_together
from reticent.parties.session import Deadlines
from reticent.progress import Clock, Watch


def train_at_sites(
    schema: JoinSchema | Mapping[str, Any] | str | Path,
    tables: Mapping[str, Any] | None = None,
    *,
    reading: Reading | None = None,
) -> dict[str, JoinTree]:
    """Let the sites of a schema grow their tree, all of them in this process.

    `tables` stand in for the paths of the schema, as for `train`. The tree as each site has it:
    with the questions of its own tables, and without those of others.
    """
    trees = grown_together(SiteLayout.of(JoinSchema.of(schema)), tables, reading=reading)
    return {site: model_at(tree) for site, tree in trees.items()}


def grown_together(
    layout: SiteLayout,
    tables: Mapping[str, Any] | None = None,
    *,
    reading: Reading | None = None,
    deadlines: Deadlines | None = None,
    folder: Path | None = None,
) -> dict[str, SiteTree]:
    """The same as the sites come to it. `folder`: where their transcripts stay."""
    # What one site cannot read keeps nobody waiting.
    own = {
        site: load_some(layout.schema, layout.tables_of(site), tables, reading)
        for site in layout.sites
    }
    flows = {
        site: partial(
            site_tree, layout=layout, tables=own[site], clock=Clock(Watch()), reading=reading
        )
        for site in layout.sites
    }
    return play_together(layout.agreement, flows, deadlines=deadlines, folder=folder)


def model_at(tree: SiteTree) -> JoinTree:
    """The model as a site keeps it."""
    return model_of(tree.joined, tree.root, tree.layout.schema, tree.site)
