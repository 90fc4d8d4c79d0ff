"""Baskets and click streams: release them so that a few known items single nobody out.

>>> from reticent import transactions
>>> baskets = [{"beer", "chips"}] * 4 + [{"beer", "wine"}, {"chips"}]
>>> found = transactions.release(baskets, {"private": [], "k": 2})
>>> found.suppressed
['wine']
>>> found.table[-1] == {"beer", "chips"}
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.doors import opened_on_use

if TYPE_CHECKING:
    from reticent.transactions.evaluation import Evaluation as Evaluation
    from reticent.transactions.evaluation import evaluate as evaluate
    from reticent.transactions.flow import Release as Release
    from reticent.transactions.flow import Risk as Risk
    from reticent.transactions.flow import Verdict as Verdict
    from reticent.transactions.flow import check as check
    from reticent.transactions.flow import release as release
    from reticent.transactions.flow import risk as risk
    from reticent.transactions.flow import verify as verify
    from reticent.transactions.policy import Policy as Policy

_HOMES = {
    "evaluation": ["Evaluation", "evaluate"],
    "flow": ["Release", "Risk", "Verdict", "check", "release", "risk", "verify"],
    "policy": ["Policy"],
}
__getattr__, __dir__ = opened_on_use(__name__, _HOMES)
__all__ = sorted(name for names in _HOMES.values() for name in names)
