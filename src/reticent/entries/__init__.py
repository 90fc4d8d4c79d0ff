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

from reticent.entries.checking import Verdict, verify
from reticent.entries.flow import Release, Risk, check, release, risk
from reticent.entries.policy import Policy

__all__ = ["Policy", "Release", "Risk", "Verdict", "check", "release", "risk", "verify"]
