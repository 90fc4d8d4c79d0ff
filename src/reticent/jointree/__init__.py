"""One decision tree over tables that join, learnt from counts: the join is never built.

>>> import pyarrow as pa
>>> from reticent import jointree
>>> tables = {
...     "visit": pa.table({"ward": ["a", "a", "b", "b"], "ill": ["yes", "yes", "no", "no"]}),
...     "ward": pa.table({"name": ["a", "a", "b"], "beds": [30, 40, 8]})}
>>> schema = {"class": "visit.ill", "tables": {"visit": {}, "ward": {}},
...           "joins": [{"left": "visit.ward", "right": "ward.name"}]}
>>> found = jointree.train(schema, tables)
>>> found.rows
6
>>> print(found.tree.text())
ward.beds ≤ 8: no (2)
ward.beds > 8: yes (4)
>>> new = pa.table({"ward": ["b", "c"]})
>>> jointree.classify(found, schema, tables, rows=new).table["class"].to_pylist()
['no', None]

The tree shows values and counts of its tables; it is no anonymised release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.doors import opened_on_use

if TYPE_CHECKING:
    from reticent.jointree.flow import classify as classify
    from reticent.jointree.flow import save as save
    from reticent.jointree.flow import train as train
    from reticent.jointree.model import JoinTree as Tree
    from reticent.jointree.model import read_model as read_model
    from reticent.jointree.report import JoinClasses as Classes
    from reticent.jointree.report import JoinTest as Test
    from reticent.jointree.report import TrainedTree as Trained
    from reticent.jointree.schema import JoinSchema as Schema
    from reticent.jointree.sites.experiment import train_at_sites as train_at_sites

_HOMES = {
    "flow": ["classify", "save", "train"],
    "model": ["Tree", "read_model"],
    "report": ["Classes", "Test", "Trained"],
    "schema": ["Schema"],
    "sites.experiment": ["train_at_sites"],
}
_CALLED = {
    "Classes": "JoinClasses", "Schema": "JoinSchema", "Test": "JoinTest",
    "Trained": "TrainedTree", "Tree": "JoinTree",
}  # fmt: skip
__getattr__, __dir__ = opened_on_use(__name__, _HOMES, _CALLED)
__all__ = [
    "Classes",
    "Schema",
    "Test",
    "Trained",
    "Tree",
    "classify",
    "read_model",
    "save",
    "train",
    "train_at_sites",
]
