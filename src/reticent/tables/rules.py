"""What the verifier is told of a policy."""

from __future__ import annotations

from reticent.data.taxonomy import Taxonomy
from reticent.privacy.promises import columns_of
from reticent.privacy.rejoin import Meeting
from reticent.privacy.verify import VerifierRules
from reticent.tables.attributes import Bound
from reticent.tables.policy import Policy


def rules(
    policy: Policy,
    taxonomies: dict[str, Taxonomy],
    meeting: Meeting | None = None,
    commas: frozenset[str] = frozenset(),
) -> VerifierRules:
    """What the verifier needs to know of a policy, and of earlier releases.

    `commas`: the columns of numbers that are written with a decimal comma.
    """
    over, sensitive, _ = columns_of(policy.promises)
    labels: dict[str, frozenset[str] | None] = dict.fromkeys(sorted(over))
    intervals: dict[str, tuple[Bound, ...]] = {}
    fixed = set()
    for name in over & policy.attributes.keys():
        attribute = policy.attributes[name]
        if attribute.masked_by == "generalize":
            labels[name] = frozenset(taxonomies[name].labels)
        elif attribute.masked_by == "discretize":
            intervals[name] = attribute.intervals or attribute.range or ()
            fixed |= {name} if attribute.intervals else set()
    spellings = {
        name: frozenset(attribute.spellings) for name, attribute in policy.attributes.items()
        if attribute.same and labels.get(name) is None and name not in intervals
    }  # fmt: skip
    return VerifierRules(
        promises=policy.promises,
        labels=labels,
        intervals=intervals,
        fixed=frozenset(fixed),
        marker=policy.marker,
        dropped=frozenset(policy.drop),
        expected=frozenset(over | sensitive),
        missing_values=frozenset(policy.missing_values),
        missing_allowed=policy.missing == "value",
        meeting=meeting or Meeting(),
        commas=commas,
        floors=policy.floors(taxonomies),
        spellings=spellings,
        rule=policy.rule,
    )
