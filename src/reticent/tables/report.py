"""What the flows have to say, as plain data and in words; front ends only print it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.privacy.identifying import RULED
from reticent.privacy.promises import Anonymity, ours
from reticent.privacy.verify import Proof
from reticent.privacy.words import NOTHING
from reticent.releases.facts import Facts, seconds
from reticent.releases.spoken import Spoken

if TYPE_CHECKING:
    from reticent.data.recode import Recoding
    from reticent.data.taxonomy import Taxonomy
    from reticent.files.sheets import Sheet
    from reticent.privacy.floors import FloorFinding
    from reticent.privacy.people import PeopleInBoth
    from reticent.privacy.risk import Exposure
    from reticent.privacy.verify import PromiseFinding
    from reticent.refine.engine import Step
    from reticent.refine.limits import Limits
    from reticent.tables.held_back import HeldBack
    from reticent.tables.prepare import Prepared
    from reticent.tables.previous.exposure import LinkedRelease
    from reticent.tables.search.greedy import Found
    from reticent.tables.search.rare import LeftOut


@dataclass(frozen=True, slots=True, repr=False)
class Release(Spoken):
    """A masked table, how it came about, and the verifier's word on it."""

    prepared: Prepared = field(repr=False)
    sheet: Sheet = field(repr=False)
    found: Found = field(repr=False)  # the search's own word, with the cuts that it passed over
    before: tuple[Exposure, ...] = field(repr=False)
    proof: TableVerdict = field(repr=False)
    seconds: dict[str, float]
    left_out: LeftOut | None = field(default=None, repr=False)  # records that the policy lets go
    # Options of the command that decided all this.
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)
    meets: tuple[LinkedRelease, ...] = field(default=(), repr=False)
    held_back: tuple[HeldBack, ...] = field(default=(), repr=False)  # hidden for a few's sake
    table: Any = field(default=None, repr=False)  # the released rows, in the kind that came in
    output: str | None = None
    # How well a classifier learns from it: errors by name (see `tables.pages.public`), or the
    # reason why that was not measured.
    utility: Mapping[str, Any] | None = field(default=None, repr=False)
    # How its file is written, where somebody said so; what readers of its manifest are told.
    writing: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was revealed, one value at a time."""
        return self.found.steps

    @property
    def recodings(self) -> Mapping[str, Recoding]:
        """How each masked column is shown."""
        return self.found.recodings

    @property
    def implied(self) -> Mapping[int, int]:
        """Which promises another one already keeps."""
        return self.found.implied

    @property
    def stopped_early(self) -> bool:
        """Whether more could have been revealed."""
        return self.found.stopped_early

    @property
    def limits(self) -> Limits:
        """Why nothing more was revealed."""
        return self.found.limits

    @property
    def warnings(self) -> tuple[str, ...]:
        """What breaks no promise but should be looked at."""
        policy, proof = self.prepared.policy, self.proof
        return (*policy.emptiness, *self.prepared.warnings, *proof.warnings)

    @property
    def cuts(self) -> dict[str, list[str]]:
        """Every label that each masked column shows."""
        return shown_labels(self.sheet, self.recodings)

    def as_written(self, mask: str, label: str) -> str:
        """A label as the file shows it."""
        from reticent.data.decimals import comma_interval

        commas = mask == "discretize" and self.writing.get("decimal") == ","
        return comma_interval(label) if commas else label

    def facts(self) -> Facts:
        """All there is to say of it, as plain data."""
        return facts(self)

    def summary(self) -> dict[str, Any]:
        """What ``release --json`` prints."""
        return release_summary(self.facts())

    def trace(self) -> Iterator[dict[str, Any]]:
        """One record a step, as ``--trace`` writes them."""
        return trace(self)

    def _says(self, words: Any) -> str:
        said: str = words.release(self.facts())
        return said


@dataclass(frozen=True, slots=True, repr=False)
class Risk(Spoken):
    """What an attacker could do with a table as it is."""

    prepared: Prepared = field(repr=False)
    exposures: tuple[Exposure, ...]

    def summary(self) -> dict[str, Any]:
        """What ``risk --json`` prints."""
        return risk_summary(risk_facts(self))

    def _says(self, words: Any) -> str:
        said: str = words.risk(risk_facts(self))
        return said


@dataclass(frozen=True, slots=True, repr=False)
class TableVerdict(Spoken, Proof):
    """What the verifier says of a table, for whoever asks from Python."""

    @classmethod
    def of(cls, proof: Proof) -> TableVerdict:
        """The same word, as one that says itself."""
        return cls(*(getattr(proof, one.name) for one in fields(Proof)))

    def summary(self) -> dict[str, Any]:
        """What ``verify --json`` prints."""
        return verify_summary(proof_facts(self))

    def _says(self, words: Any) -> str:
        said: str = words.verdict(proof_facts(self))
        return said


def plain(value: int | Fraction | None) -> int | str | None:
    """A measured value as JSON carries it: counts as numbers, confidences as exact text.

    >>> plain(4), plain(Fraction(2, 6)), plain(Fraction(1))
    (4, '1/3', '1')
    """
    return str(value) if isinstance(value, Fraction) else value


def shown_labels(sheet: Sheet, recodings: Mapping[str, Recoding]) -> dict[str, list[str]]:
    """Every label that each masked column shows: intervals rising, others by code point."""
    shown = {}
    for name, values in zip(sheet.names, sheet.values, strict=True):
        if name in recodings:
            rising = {interval.label: i for i, interval in enumerate(recodings[name].intervals)}
            labels = [label or "" for label in values.to_pylist()]
            shown[name] = sorted(labels, key=lambda label: (rising.get(label, -1), label))
    return shown


def facts(release: Release) -> Facts:
    """All there is to say of a release.

    Nothing in the public part tells more than the released rows do, but for the errors of a
    classifier: one of them was counted on the original, over hundreds of records.
    """
    prepared, found, left = release.prepared, release.found, release.left_out
    labels, alone = release.cuts, release.proof.singled_out
    public = {
        **prepared.policy.about.told(),
        "rows": release.sheet.rows,
        "left_out": left.count if left else 0,
        "steps": len(release.steps),
        "stopped_early": release.stopped_early,
        "promises": [
            promise_facts(finding, number, release.implied.get(number - 1, -1) + 1)
            for number, finding in enumerate(release.proof.findings, 1)
        ],
        "coarse": [floor_facts(finding) for finding in release.proof.floors],
        "rule": RULES.get(prepared.policy.rule or ""),
        "attributes": {
            domain.name: {
                "mask": domain.mask,
                "values": [release.as_written(domain.mask, label) for label in labels[domain.name]],
            }
            for domain in prepared.domains
        },
        "utility": release.utility,
        "warnings": list(release.warnings),
        "singled_out": alone and alone.facts(),
        "alone": alone.text if alone and not alone.blamed else "",  # else a warning says it
        "joined_with": [
            {"release": one.release, "records": one.records, "by": list(one.columns)}
            for one in release.meets
        ],
    }
    private = {
        "rows_in": prepared.rows_in,
        "incomplete": prepared.rows_in - release.sheet.rows - (left.count if left else 0),
        "before": [exposure.value for exposure in release.before],
        "who_was_left_out": None
        if left is None
        else {
            "records": left.count,
            "of": left.before.table.records,
            "at_most": plain(prepared.policy.suppress_records),
            "differences": list(left.differences()),
        },
        "rounds": found.rounds,
        "error": found.error,
        "alternatives": alternatives(release),
        "candidates": [
            {"candidates_before": round(one.before, 2), "candidates_after": round(one.now, 2)}
            for one in release.meets
        ],
        "people": people_facts(prepared.people),
        "asides": list(prepared.asides),
        "held_back": [
            {"column": one.column, "missing": one.records, "says": one.says, "do": one.do}
            for one in release.held_back
        ],
        "output": release.output,
        "seconds": seconds(release.seconds),
    }
    return Facts(public, private)


def promise_facts(finding: PromiseFinding, number: int, implied_by: int) -> dict[str, Any]:
    """A promise, and what the verifier measured on the released rows."""
    promise = finding.promise
    return {
        "number": number,
        "about": promise.facts(),
        "text": promise.told,
        "short": promise.short,
        "says": promise.plain_words,
        "found": promise.counted(finding.value, finding.groups),
        "field": promise.in_the_field(finding.value),
        "asked": promise.bound,
        "value": finding.value,
        "groups": finding.groups,
        "holds": finding.holds,
        "nothing": NOTHING if finding.holds and promise.emptiness else "",
        "implied_by": implied_by,
        "is_count": isinstance(promise, Anonymity),
        "joined": bool(promise.releases),
    }


_FORMS = RULED["hipaa-safe-harbor"]
RULES = {
    "hipaa-safe-harbor": {
        "name": "hipaa-safe-harbor",
        "says": "The policy was drafted by the safe harbor of HIPAA, 45 CFR 164.514(b)(2), which "
        "lists 18 kinds of identifiers to be removed.",
        "checked": f"{_FORMS[0].upper()}{_FORMS[1:]}.",
        "open": "Whether every column was recognized for what it is, and whether its owner knows "
        "that what is left tells who somebody is, no program can check.",
    }
}


def floor_facts(finding: FloorFinding) -> dict[str, Any]:
    """How fine a column may be at most, and what the verifier saw."""
    return {
        "column": finding.floor.column,
        "says": finding.floor.text,
        "values": finding.values,
        "rows": finding.rows,
        "holds": finding.holds,
    }


def _coarse(public: Mapping[str, Any]) -> dict[str, Any]:
    """The same for programs, where a policy says so of some column."""
    told = [{k: v for k, v in one.items() if k != "values"} for one in public["coarse"]]
    rule = {"rule": public["rule"]["name"]} if public.get("rule") else {}
    return rule | ({"coarse": told} if told else {})


def people_facts(people: Sequence[PeopleInBoth]) -> list[dict[str, Any]]:
    """How many people a table shares with earlier releases, for its owner."""
    return [one.facts() | {"text": one.text, "same": one.same} for one in people]


def _counted_people(private: Mapping[str, Any]) -> dict[str, Any]:
    """The same as programs read it, where there are earlier releases."""
    words = ("text", "same")
    people = [{key: one[key] for key in one if key not in words} for one in private["people"]]
    return {"people": people} if people else {}


def template_facts(promise: Mapping[str, Any]) -> dict[str, Any]:
    """A promise and what became of it, as summaries and reports for programs say it."""
    said = {"after": plain(promise["value"]), "verified": bool(promise["holds"])}
    implied = {"implied_by": promise["implied_by"]} if promise["implied_by"] else {}
    return {**promise["about"], **said, **implied}


def release_summary(told: Facts) -> dict[str, Any]:
    """What ``release --json`` prints."""
    public, private = told.public, told.private
    who = private["who_was_left_out"]
    return {
        "rows_in": private["rows_in"],
        "rows_out": public["rows"],
        "steps": public["steps"],
        "stopped_early": public["stopped_early"],
        "templates": [
            template_facts(promise) | {"before": plain(before)}
            for promise, before in zip(public["promises"], private["before"], strict=True)
        ],
        **_coarse(public),
        "attributes": public["attributes"],
        "left_out": who and {key: who[key] for key in ("records", "of", "at_most")},
        "rounds": private["rounds"],
        "error": private["error"],
        "alternatives": private["alternatives"],
        "joined_with": [
            one | more
            for one, more in zip(public["joined_with"], private["candidates"], strict=True)
        ],
        **_counted_people(private),
        "held_back": private["held_back"],
        "singled_out": public["singled_out"],
        "warnings": [*public["warnings"], *private["asides"]],
        "output": private["output"],
        "seconds": private["seconds"],
    }


def public(told: Facts) -> dict[str, Any]:
    """The report that may be published."""
    facts = told.public
    there = ", joined with the releases named." if facts["joined_with"] else " alone."
    return {
        **{key: facts[key] for key in ("about",) if key in facts},
        **{key: facts[key] for key in ("rows", "left_out", "steps", "stopped_early")},
        "templates": [template_facts(p) | {"groups": p["groups"]} for p in facts["promises"]],
        **_coarse(facts),
        **{
            key: facts[key]
            for key in ("attributes", "utility", "singled_out", "warnings", "joined_with")
        },
        "note": f"The templates were recounted on the released rows{there}",
    }


def alternatives(release: Release) -> list[dict[str, Any]]:
    """The other cuts that the search passed over: what each tells more of, and what less.

    `error` is that of a tree, estimated while searching; it compares cuts of one table.
    """
    names = [domain.name for domain in release.prepared.domains]
    ours = _values_shown(release.found)
    found = []
    for other in release.found.alternatives:
        pairs = list(zip(names, ours, _values_shown(other), strict=True))
        both = zip(names, release.found.shown, other.shown, strict=True)
        changed = {name for name, mine, theirs in both if mine.tolist() != theirs.tolist()}
        found.append(
            {
                "alternative": other.number,
                "error": other.error,
                "finer": {name: [a, b] for name, a, b in pairs if b > a},
                "coarser": {name: [a, b] for name, a, b in pairs if b < a},
                "otherwise": [name for name, a, b in pairs if a == b and name in changed],
            }
        )
    return found


def _values_shown(found: Found) -> list[int]:
    return [int(shown.max(initial=0)) + 1 for shown in found.shown]


def role(release: Release, name: str) -> str:
    """What a released column is for."""
    roles = release.prepared.roles
    if name == roles.class_:
        return "class"
    if name in roles.masked:
        return "masked"
    return "sensitive" if name in roles.sensitive else "keep"


def as_far_as_shown(taxonomy: Taxonomy, recoding: Recoding | None) -> dict[str, Any]:
    """The taxonomy down to the cut: what lies below it may name values that are hidden."""
    cut = {taxonomy.node_of[label] for label in recoding.labels.values()} if recoding else {0}
    above: set[int] = set()
    for node in cut:
        while node not in above and node >= 0:
            above.add(node)
            node = taxonomy.parents[node]
    trees: dict[int, dict[str, Any]] = {}
    for node in sorted(above):
        trees[node] = {}
        if taxonomy.parents[node] >= 0:
            trees[taxonomy.parents[node]][taxonomy.labels[node]] = trees[node]
    return {taxonomy.labels[0]: trees[0]}


def trace(release: Release) -> Iterator[dict[str, Any]]:
    """One record a step, promises in the order of the policy."""
    promises, searched = release.prepared.policy.promises, searched_promises(release)
    for step in release.steps:
        values = dict(zip(searched, step.values, strict=True))
        templates = [
            {"kind": promise.kind, "value": plain(values.get(i)), "asked": promise.asked}
            | ({"implied_by": release.implied[i] + 1} if i in release.implied else {})
            for i, promise in enumerate(promises)
        ]
        yield {
            "step": step.number,
            "attribute": step.attribute,
            "value": step.value,
            "into": list(step.into),
            "info_gain": step.info_gain,
            "privacy_loss": step.privacy_loss,
            "score": step.score,
            "templates": templates,
        }


def stopped(release: Release) -> Iterator[dict[str, Any]]:
    """One record for each refinement that a promise ruled out: which, when, and by how much."""
    asked = [promise.asked for promise in release.prepared.policy.promises]
    searched = searched_promises(release)
    missing = {(one.column, one.value): one.records for one in release.held_back}
    for stop in release.limits.stops():
        broken = [(searched[measure], plain(value)) for measure, value in stop.broken]
        alone = missing.get((stop.attribute, stop.value), 0)
        yield {
            "attribute": stop.attribute,
            "value": stop.value,
            "into": list(stop.into),
            "after_step": stop.after,
            "stopped_by": [{"template": i + 1, "value": v, "asked": asked[i]} for i, v in broken],
            **({"for_missing": alone} if alone else {}),
        }


def searched_promises(release: Release) -> list[int]:
    """The promises that the search looked at: those that no other one implies."""
    count = len(release.prepared.policy.promises)
    return [position for position in range(count) if position not in release.implied]


def risk_facts(risk: Risk) -> Facts:
    """What an attacker could do with a table as it is; all of it for its owner."""
    promises = [
        {
            "about": exposure.promise.facts(),
            "short": exposure.promise.short,
            "says": exposure.promise.plain_words,
            "bound": exposure.promise.bound,
            "is_count": isinstance(exposure.promise, Anonymity),
            "value": exposure.value,
            "breaking": exposure.breaking,
            "groups": exposure.groups,
            "above": exposure.above,
        }
        for exposure in risk.exposures
    ]
    rows, warnings = risk.prepared.table.records, list(risk.prepared.foreseen)
    people = people_facts(risk.prepared.people)
    told = {"rows": rows, "promises": promises, "people": people, "warnings": warnings}
    return Facts({}, told)


def risk_summary(told: Facts) -> dict[str, Any]:
    """What ``risk --json`` prints."""
    templates = []
    for promise in told.private["promises"]:
        at_worst, beyond = "largest", "inferences_above"
        if promise["is_count"]:
            at_worst, beyond = "smallest", "records_below"
        measured = {at_worst: plain(promise["value"]), beyond: promise["breaking"]}
        above = {} if promise["is_count"] else {"above": promise["above"]}
        templates.append(promise["about"] | measured | {"groups": promise["groups"]} | above)
    rows, warnings = told.private["rows"], told.private["warnings"]
    people = _counted_people(told.private)
    return {"rows": rows, "templates": templates, **people, "warnings": warnings}


def shown_in_full(release: Release) -> list[str]:
    """The columns that promises are about of which a release still tells all values apart."""
    found, columns = [], release.prepared.cleaned.columns
    hidden = {"", release.prepared.policy.marker}
    for name in dict.fromkeys(name for e in release.before for name in ours(e.promise.over)):
        labels = release.cuts.get(name)
        values = {text for text in columns[name].texts() if text}
        if labels is None or len({*labels} - hidden) == len(values) > 1:
            found.append(name)
    return found


def riskiest(release: Release) -> list[dict[str, Any]]:
    """The groups that were worst before masking, for the owner's eyes."""
    found = []
    everybody = release.left_out.before if release.left_out else release.prepared
    for exposure in release.before:
        names = ours(exposure.promise.over)
        texts = [everybody.cleaned.columns[name].texts() for name in names]
        worst = [
            ([text[code] for text, code in zip(texts, group, strict=True)], plain(value))
            for group, value in exposure.worst
        ]
        found.append(
            exposure.promise.facts()
            | {
                "before": plain(exposure.value),
                "breaking": exposure.breaking,
                "groups": exposure.groups,
                "worst_groups": [
                    {"group": dict(zip(names, cells, strict=True)), "value": value}
                    for cells, value in worst
                ],
            }
        )
    return found


def proof_facts(proof: Proof) -> Facts:
    """What the verifier says of a table that somebody hands over."""
    public = {
        "rows": proof.rows,
        "holds": proof.verdict,
        "promises": [promise_facts(finding, i, 0) for i, finding in enumerate(proof.findings, 1)],
        "coarse": [floor_facts(finding) for finding in proof.floors],
        "leftovers": [problem.text() for problem in proof.leftovers],
        "warnings": list(proof.warnings),
    }
    match = proof.original
    return Facts(
        public,
        {
            "original": match
            and {
                "records": match.records,
                "strange": match.strange,
                "left_out": match.lacking,
                "may_be_left_out": match.may_lack,
                "matches": match.matches,
                "compared": list(match.compared),
                "not_compared": list(match.absent),
            },
            "people": people_facts(proof.people),
        },
    )


def verify_summary(told: Facts) -> dict[str, Any]:
    """What ``verify --json`` prints."""
    facts = told.public
    return {
        "rows": facts["rows"],
        "holds": facts["holds"],
        "templates": [
            one["about"]
            | {"after": plain(one["value"]), "groups": one["groups"], "holds": one["holds"]}
            for one in facts["promises"]
        ],
        **_coarse(facts),
        **_counted_people(told.private),
        "leftovers": facts["leftovers"],
        "warnings": facts["warnings"],
        **({"original": match} if (match := told.private.get("original")) else {}),
    }
