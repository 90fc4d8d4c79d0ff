"""What a released workbook says of itself, on a sheet beside its data: what everybody may know."""

from __future__ import annotations

from collections.abc import Sequence

from reticent.privacy.verify import Proof
from reticent.privacy.words import NOTHING, measured
from reticent.tables.policy import Policy
from reticent.version import __version__


def notes(policy: Policy, proof: Proof) -> list[Sequence[str]]:
    """Every promise with what was asked for and found, then whose release it is.

    A file appears only if a verifier that recounts it finds just this.
    """
    told: list[Sequence[str]] = [("Promise", "Asked", "Found", "Verified")]
    for finding in proof.findings:
        promise = finding.promise
        verified = NOTHING if promise.emptiness else "yes"
        told.append((promise.plain_words, promise.bound, measured(finding.value), verified))
    told.append(())
    about = policy.about
    said = {"Title": about.title or "", **about.labelled(), "Rows": f"{proof.rows:,}"}
    told += [(label, text) for label, text in said.items() if text]
    told.append(("Made by", f"reticent {__version__}"))
    return told
