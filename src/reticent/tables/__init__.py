"""Tables for classification: no group too small, nobody too sure, and as much as possible shown.

The door for Python users; its names are those of the package itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.doors import opened_on_use

if TYPE_CHECKING:
    from reticent.tables.drafts.flow import draft as draft
    from reticent.tables.evaluation import Evaluation as Evaluation
    from reticent.tables.evaluation import evaluate as evaluate
    from reticent.tables.flow import apply as apply
    from reticent.tables.flow import check as check
    from reticent.tables.flow import release as release
    from reticent.tables.flow import risk as risk
    from reticent.tables.flow import verify as verify
    from reticent.tables.policy import Policy as Policy
    from reticent.tables.report import Release as Release
    from reticent.tables.report import Risk as Risk
    from reticent.tables.singling import SinglingOut as SinglingOut
    from reticent.tables.sweep_folder import Sweep as Sweep
    from reticent.tables.sweeps import sweep as sweep

_HOMES = {
    "drafts.flow": ["draft"],
    "evaluation": ["Evaluation", "evaluate"],
    "flow": ["apply", "check", "release", "risk", "verify"],
    "policy": ["Policy"],
    "report": ["Release", "Risk"],
    "singling": ["SinglingOut"],
    "sweep_folder": ["Sweep"],
    "sweeps": ["sweep"],
}
__getattr__, __dir__ = opened_on_use(__name__, _HOMES)
__all__ = sorted(name for names in _HOMES.values() for name in names)
