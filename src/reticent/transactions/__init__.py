"""Baskets and click streams: release them so that a few known items single nobody out.

>>> from reticent import transactions
>>> baskets = [{"beer", "chips"}] * 4 + [{"beer", "wine"}, {"chips"}]
>>> found = transactions.release(baskets, {"private": [], "k": 2})
>>> found.suppressed
['wine']
>>> found.table[-1] == {"beer", "chips"}
True
"""

from reticent.transactions.evaluation import Evaluation, evaluate
from reticent.transactions.flow import Release, Risk, Verdict, check, release, risk, verify
from reticent.transactions.policy import Policy

__all__ = [
    "Evaluation",
    "Policy",
    "Release",
    "Risk",
    "Verdict",
    "check",
    "evaluate",
    "release",
    "risk",
    "verify",
]
