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
    from reticent.transactions.drafting import draft as draft
    from reticent.transactions.evaluation import BasketEvaluation as Evaluation
    from reticent.transactions.evaluation import evaluate as evaluate
    from reticent.transactions.flow import check as check
    from reticent.transactions.flow import release as release
    from reticent.transactions.flow import risk as risk
    from reticent.transactions.flow import verify as verify
    from reticent.transactions.policy import BasketPolicy as Policy
    from reticent.transactions.report import BasketRelease as Release
    from reticent.transactions.report import BasketRisk as Risk
    from reticent.transactions.report import BasketVerdict as Verdict
    from reticent.transactions.sweep_folder import BasketSweep as Sweep
    from reticent.transactions.sweeps import sweep as sweep

_HOMES = {
    "drafting": ["draft"],
    "evaluation": ["Evaluation", "evaluate"],
    "flow": ["check", "release", "risk", "verify"],
    "policy": ["Policy"],
    "report": ["Release", "Risk", "Verdict"],
    "sweep_folder": ["Sweep"],
    "sweeps": ["sweep"],
}
_CALLED = {
    name: f"Basket{name}"
    for name in ["Evaluation", "Policy", "Release", "Risk", "Sweep", "Verdict"]
}
__getattr__, __dir__ = opened_on_use(__name__, _HOMES, _CALLED)
__all__ = [
    "Evaluation",
    "Policy",
    "Release",
    "Risk",
    "Sweep",
    "Verdict",
    "check",
    "draft",
    "evaluate",
    "release",
    "risk",
    "sweep",
    "verify",
]
