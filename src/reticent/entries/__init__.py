"""Single entries that somebody asked to hide: the rest of the table does not give them back.

>>> import pyarrow as pa
>>> from reticent import entries
>>> people = pa.table({"Job": ["cook"] * 4 + ["clerk"] * 4, "Ill": ["yes"] * 4 + ["no"] * 4})
>>> policy = {"conditions": ["Job"], "sensitive": "Ill", "requests": [1],
...           "min_support": 1, "min_confidence": 0.5, "may_hide": ["sensitive-of-others"]}
>>> found = entries.release(people, policy)
>>> found.table["Ill"].to_pylist().count(None)
2
>>> entries.verify(found.table, policy, original=people).holds
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.doors import opened_on_use

if TYPE_CHECKING:
    from reticent.entries.checking import verify as verify
    from reticent.entries.flow import check as check
    from reticent.entries.flow import release as release
    from reticent.entries.flow import risk as risk
    from reticent.entries.policy import EntryPolicy as Policy
    from reticent.entries.report import EntryRelease as Release
    from reticent.entries.report import EntryRisk as Risk
    from reticent.entries.report import EntryVerdict as Verdict

_HOMES = {
    "checking": ["verify"],
    "flow": ["check", "release", "risk"],
    "policy": ["Policy"],
    "report": ["Release", "Risk", "Verdict"],
}
_CALLED = {name: f"Entry{name}" for name in ["Policy", "Release", "Risk", "Verdict"]}
__getattr__, __dir__ = opened_on_use(__name__, _HOMES, _CALLED)
__all__ = ["Policy", "Release", "Risk", "Verdict", "check", "release", "risk", "verify"]
