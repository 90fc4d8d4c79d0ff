"""An evaluation as text for a terminal."""

from __future__ import annotations

from reticent.errors import listed, many
from reticent.search.evaluation.experiment import FORMS, FUSIONS, GROUPS
from reticent.search.evaluation.pages import ASKED, WHO
from reticent.search.evaluation.report import RATIOS, EvaluatedSearch, told
from reticent.terminal.text import composed, table


def evaluated(found: EvaluatedSearch) -> str:
    """Gains of everybody at the shares that were asked for, or a few, and where the rest is."""
    left_out = sum(run.left_out for run in found.runs)
    users = [run.users for run in found.runs]
    lines = [
        f"{many(found.documents, 'document')} and "
        f"{many(found.queries, 'judged query', 'judged queries')} of {listed(found.parts)}, "
        f"in {found.language}.",
        f"{many(len(found.runs), 'clustering')} of {min(users)} to {max(users)} simulated users; "
        f"{many(left_out, 'fold')} left out, with less than ten documents to read.",
        "",
        "AP, more than the engine's, by the share of a profile that is told; in brackets, between",
        "what it lies for 95 of a hundred draws of users:",
        "",
    ]  # fmt: skip
    shown = found.ratios
    if shown == RATIOS:  # nobody asked for one of them
        shown = tuple(ratio for ratio in shown if ratio in (shown[0], 1) or ratio * 4 == 1)
    rows = []
    for form in FORMS:
        for group in GROUPS:
            for fusion in FUSIONS:
                points = [found.point(group, form, fusion, ratio) for ratio in shown]
                gains = [told(one.gain, one.users) for one in points if one is not None]
                if len(gains) == len(shown):
                    rows.append([ASKED[form], WHO[group], fusion, *gains])
    heads = ["asked", "who", "by", *(f"{100 * float(ratio):g}% told" for ratio in shown)]
    lines.append(table(heads, rows))
    if found.output:
        lines += ["", f"Written to {found.output}; the curves are in index.html there."]
    return composed(lines)
