"""Several owners, one release: columns about the same people that lie with different owners.

>>> import pyarrow as pa
>>> from reticent import joint
>>> bank = pa.table({"Id": ["1", "2", "3", "4", "5"], "Job": ["cook"] * 2 + ["clerk"] * 3})
>>> card = pa.table({"Id": ["4", "3", "2", "1", "9"], "Sex": ["f", "f", "f", "m", "m"]})
>>> policy = {"id": "Id", "anonymity": [{"over": ["Job", "Sex"], "k": 2}],
...           "owners": {"bank": {"columns": ["Job"]}, "card": {"columns": ["Sex"]}}}
>>> released = joint.integrate(policy, {"bank": bank, "card": card})
>>> released["bank"].table.to_pydict()
{'Job': ['clerk', 'clerk', 'cook', 'cook'], 'Sex': ['*', '*', '*', '*']}
>>> released["card"].proof.holds, released["card"].joint.not_common
(True, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.doors import opened_on_use

if TYPE_CHECKING:
    from reticent.joint.experiment import integrate as integrate
    from reticent.joint.flow import check as check
    from reticent.joint.flow import verify as verify
    from reticent.joint.policy import JointPolicy as Policy
    from reticent.joint.report import JointRelease as Release

_HOMES = {
    "experiment": ["integrate"],
    "flow": ["check", "verify"],
    "policy": ["Policy"],
    "report": ["Release"],
}
_CALLED = {name: f"Joint{name}" for name in ["Policy", "Release"]}
__getattr__, __dir__ = opened_on_use(__name__, _HOMES, _CALLED)
__all__ = ["Policy", "Release", "check", "integrate", "verify"]
