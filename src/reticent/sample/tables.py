"""Invented tables about invented people, so that a demo needs no download.

A sample is worth masking only if it behaves like the real thing: columns hang together (work
follows schooling, schooling follows age), rare combinations point at one person, a few groups give
a secret away, and the class depends on what gets masked, so that models can judge a release. So
each table is drawn from causes to effects: what a column depends on is packed into a small group
code, and a table of weights, one row a group, gives the odds of each value.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from reticent.errors import Problem, did_you_mean, refuse

Codes = NDArray[np.int64]

KINDS: Mapping[str, str] = {
    "census": "people of a labour survey; the class is an income above or below 50K",
    "bank": "customers of a bank; bankruptcy is sensitive, the class is a good or bad risk",
    "clinic": "visits to a clinic, several a patient, with gaps; the diagnosis is sensitive",
    "baskets": "what shoppers bought together, one row a basket and item; a few items are private",
}
PRIVATE_ITEMS = ("antidepressant", "hiv-self-test", "nicotine-patches", "pregnancy-test")


def make(kind: str, rows: int, seed: int) -> pa.Table:
    """Draw a table of exactly this many rows; the same seed gives the same table.

    >>> make("bank", rows=3, seed=1).column_names
    ['Customer', 'Job', 'Country', 'Child', 'Years', 'Bankruptcy', 'Class']
    """
    check(kind, rows, seed)
    return _MAKERS[kind](rows, np.random.default_rng(seed))


def policy(kind: str) -> tuple[str, dict[str, str]]:
    """Give a commented policy for a sample of a thousand rows or more, and its taxonomy files.

    >>> sorted(policy("census")[1])
    ['education.csv', 'occupation.csv', 'zip.csv']
    """
    check(kind)
    text = _POLICIES[kind]
    used = {name: values for name, values in _TAXONOMIES.items() if f'"{name}"' in text}
    return text, {name: "\n".join(values.paths) + "\n" for name, values in used.items()}


def check(kind: str, rows: int = 1, seed: int = 0, kinds: Collection[str] = tuple(KINDS)) -> None:
    """Refuse what is no sample, or none of so many rows."""
    hint = f"{did_you_mean(kind, kinds)} Samples are {', '.join(kinds)}.".strip()
    checks = [
        (kind in kinds, Problem(f'there is no sample "{kind}"', do=hint)),
        (rows >= 1, Problem(f"{rows} rows were asked for", do="ask for at least one row")),
        (seed >= 0, Problem(f"the seed is {seed}", do="take a seed of 0 or more")),
    ]
    refuse(problem for fine, problem in checks if not fine)


class _Values(NamedTuple):
    """The values of a column, their paths up a taxonomy, and what follows from each."""

    labels: list[str]
    paths: list[str]  # the lines of a taxonomy file, from the leaf to the root
    traits: NDArray[np.float64]  # one row a trait, one column a value


def _values(*lines: str) -> _Values:
    """Read lines of `place in the taxonomy: value trait trait; value trait trait`."""
    parts = [line.split(": ") for line in lines]
    cells = [(above, *value.split()) for above, values in parts for value in values.split(";")]
    traits = np.array([row[2:] for row in cells], dtype=np.float64).T
    return _Values([row[1] for row in cells], [f"{row[1]},{row[0]},ANY" for row in cells], traits)


def _draw(rng: np.random.Generator, weights: ArrayLike, group: Codes) -> Codes:
    """Draw one value a row, with the weights that its group has in `weights[group]`."""
    table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    upto = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
    upto[:, -1] = 1.0
    # All groups lie end to end on one line, group g between g and g + 1, so that one binary search
    # serves every row without a rows × values matrix.
    line = (upto + np.arange(len(table))[:, None]).ravel()
    found: Codes = np.searchsorted(line, rng.random(len(group)) + group, side="right")
    found -= group * table.shape[1]
    return found.clip(max=table.shape[1] - 1)  # just below 1 may round up into the next group


def _text(labels: Iterable[str], codes: ArrayLike, missing: ArrayLike | None = None) -> pa.Array:
    return pa.array(list(labels)).take(pa.array(np.asarray(codes, dtype=np.int64), mask=missing))


def _numbered(prefix: str, numbers: Codes) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width=6, padding="0")
    return pc.binary_join_element_wise(prefix, digits, "")


# Some postcodes begin with a zero on purpose: a tool that reads them as numbers loses it.
_TOWNS = ("021", "100", "112", "303", "606", "900", "941")
_AREAS = sorted((*_TOWNS, "010", "044", "061", "146", "331", "372", "612", "668", "973"))
_ZIP = _values(*[f"{a}**,{a[0]}****: {a}01 4; {a}08 3; {a}15 2; {a}39 1" for a in _AREAS])
_IN_TOWN = np.array([code[:3] in _TOWNS for code in _ZIP.labels], dtype=np.int64)
_PEOPLE = _ZIP.traits[0] * (1 + 2 * _IN_TOWN)

_EDUCATION = _values(  # years at school, share, earliest age
    "Elementary,School: Preschool 1 .2 17; 1st-4th 3 .6 17; 5th-6th 5 1.1 17; 7th-8th 7 2 17",
    "Unfinished,School: 9th 8 1.7 17; 10th 9 2.8 17; 11th 10 3.4 17; 12th 11 1.5 17",
    "School: High-school 12 31 18",
    "College,Higher: Some-college 13 20 18; Associate-trade 14 4 20; Associate-arts 14 4 20",
    "Degree,Higher: Bachelor 16 17 21; Master 18 6 23; Professional 19 2 25; Doctorate 20 1.5 27",
)
_AGES = (17, 25, 35, 50, 65, 90)
_MARITAL = _values(  # share at these ages, with straight lines between; a factor for men
    "All: Never-married 98 70 28 14 7 5 1; Divorced .2 3 11 18 16 8 .7",
    "All: Separated .3 2 3 4 2 1 .7; Widowed .05 .2 .6 2 13 46 .3; Married 1.5 25 57 62 62 40 1.15",
)
_OCCUPATION = _values(  # weight by schooling in four steps, share of men, worth
    "Office,White-collar: Executive 2 9 15 24 .65 1; Clerk 5 15 19 7 .3 0; Sales 9 12 14 10 .6 .3",
    "Expert,White-collar: Engineer 0 1 4 18 .8 1.1; Teacher 0 1 4 20 .3 .1; Doctor 0 0 1 10 .6 1.4",
    "Public,Service: Police 1 3 5 2 .85 .6; Carer 10 9 7 2 .15 -.8",
    "Hospitality,Service: Cook 13 8 5 1 .5 -1; Waiter 9 6 6 1 .4 -1",
    "Craft,Blue-collar: Carpenter 17 16 9 1 .95 .1; Electrician 5 9 9 2 .95 .4",
    "Industry,Blue-collar: Machinist 20 11 4 .5 .7 -.3; Driver 12 9 3 .5 .93 -.1",
)
_BY_SCHOOLING = _OCCUPATION.traits[:4]


def _census(rows: int, rng: np.random.Generator) -> pa.Table:
    alike = np.zeros(rows, dtype=np.int64)
    ages = np.arange(17, 91)
    age = _draw(rng, np.interp(ages, _AGES, (6, 10, 11, 9, 4, 0.3)), alike)
    male, place = _draw(rng, [0.51, 0.49], alike), _draw(rng, _PEOPLE, alike)
    town = _IN_TOWN[place]

    # The old went to school for fewer years, townspeople for more; nobody holds a degree too young.
    years, share, earliest = _EDUCATION.traits
    slope = np.array([[-0.03], [0.06]]) - 0.006 * np.clip(ages - 40, 0, None)
    fit = share * np.exp(slope[:, :, None] * (years - 12)) * (ages[:, None] >= earliest)
    school = _draw(rng, fit.reshape(-1, len(years)), town * len(ages) + age)
    *shares, men = _MARITAL.traits
    fit = np.array([np.interp(ages, _AGES, share) for share in np.transpose(shares)]).T
    marital = _draw(rng, np.concatenate([fit, fit * men]), male * len(ages) + age)
    men, worth = _OCCUPATION.traits[4:]
    fit = np.concatenate([_BY_SCHOOLING * (1 - men), _BY_SCHOOLING * men])
    work = _draw(rng, fit, male * 4 + np.digitize(years, (12, 13, 16))[school])
    age += 17
    part = np.where(age < 22, -12, np.where(age > 66, -14, 0))
    hours = np.rint(38 + 4 * worth[work] + part + 4 * male + 8 * rng.standard_normal(rows))
    contract = (rng.random(rows) < 0.4) & (part == 0)  # answers heap on the 40 of a contract
    hours = np.where(contract, 40, np.clip(hours, 1, 99)).astype(np.int64)
    rich = -4.3 + 0.55 * (years[school] - 12) + 1.7 * worth[work] + 0.08 * (hours - 40)
    rich += 3.8 * (marital == _MARITAL.labels.index("Married")) - 2.9 * ((age - 50) / 20) ** 2
    columns = {
        "Name": _numbered("Person ", np.arange(1, rows + 1)),
        "Age": pa.array(age),
        "Sex": _text(("Female", "Male"), male),
        "Education": _text(_EDUCATION.labels, school),
        "Marital": _text(_MARITAL.labels, marital),
        "Occupation": _text(_OCCUPATION.labels, work),
        "Zip": _text(_ZIP.labels, place),
        "Hours": pa.array(hours),
        "Income": _text(("<=50K", ">50K"), rng.logistic(size=rows) < rich + 0.5 * (male + town)),
    }
    return pa.table(columns)


_BANK_JOB = _values(  # share, weight of a current and a discharged bankruptcy, worth, parents
    "All: Artist 7 1.9 .15 -1.5 .3; Clerk 18 .15 .5 .9 .5; Cook 11 .9 .08 -1.9 .4",
    "All: Doctor 9 .03 .04 .7 .7; Driver 14 .3 .2 -.5 .6; Engineer 12 .04 .08 1.3 .5",
    "All: Farmer 8 .4 .3 -.2 .8; Teacher 12 .05 .1 .8 .7; Trader 9 .2 2.6 1.4 .2",
)
_COUNTRY = _values(  # share, factor on a current and on a discharged bankruptcy, worth
    "North-America: Canada 14 .6 1.3 .3; US 24 .9 .5 0",
    "Europe: France 14 2.2 .4 -.3; Germany 14 .6 .5 .6; Spain 8 1.2 .5 -.2; UK 14 .5 3 .2",
    "Asia-Pacific: Japan 7 .3 .3 .5; Australia 5 .5 .9 .2",
)


def _bank(rows: int, rng: np.random.Generator) -> pa.Table:
    jobs, current, discharged, worth, parents = _BANK_JOB.traits
    nations, more_current, more_discharged, wealth = _COUNTRY.traits
    country = _draw(rng, nations, np.zeros(rows, dtype=np.int64))
    job = _draw(rng, jobs * np.exp(0.6 * np.outer(wealth, worth)), country)
    child = _draw(rng, np.array([1 - parents, parents]).T, job)
    years = np.minimum(np.rint(rng.gamma(2.0, 4.0, rows) + 3 * child), 45).astype(np.int64)
    # Never : current : discharged. A few pairs (traders in the UK, artists in France) share a fate
    # so often that job and country give it away: what the policy is there to stop.
    now, past = np.outer(current, more_current), np.outer(discharged, more_discharged)
    odds = np.array([np.ones(now.size), now.ravel(), past.ravel()]).T
    fate = _draw(rng, odds, job * len(nations) + country)
    good = 1.8 * worth[job] + np.array([0.5, -2.2, 0.1])[fate] + 0.06 * (years - 8) - 0.5 * child
    columns = {
        "Customer": _numbered("C", np.arange(1, rows + 1)),
        "Job": _text(_BANK_JOB.labels, job),
        "Country": _text(_COUNTRY.labels, country),
        "Child": _text(("No", "Yes"), child),
        "Years": pa.array(years),
        "Bankruptcy": _text(("Never", "Current", "Discharged"), fate),
        "Class": _text(("Bad", "Good"), rng.logistic(size=rows) < good + wealth[country]),
    }
    return pa.table(columns)


# Patients work as in the census, or not at all; weights below 30, 50, 67 years and above.
_IDLE = _values("Not-employed: Student 60 4 .5 0; Homemaker 9 18 20 15; Retired 0 .5 30 400")
_JOB = _Values(_OCCUPATION.labels + _IDLE.labels, _OCCUPATION.paths + _IDLE.paths, _IDLE.traits)
_DIAGNOSIS = _values(  # weights by age as above, factor in town, log odds of recovery
    "Lasting: Asthma 9 7 5 5 1.3 .6; Cancer 1 3 8 14 1 -2.2; Depression 10 10 8 5 1.5 -.5",
    "Lasting: Diabetes 2 5 12 16 .8 -.8; HIV 4 6 3 .6 3 -1.8; Hepatitis 2 4 4 2 1.6 -.6",
    "Lasting: Hypertension 1 6 18 26 1 .2; Migraine 9 10 6 2 1.1 1",
    "Passing: Flu 20 16 12 12 1 2.6; Fracture 14 9 7 10 .7 1.8",
)


def _clinic(rows: int, rng: np.random.Generator) -> pa.Table:
    # One to six visits a patient; the last one drawn may lose some to the wanted number of rows.
    visits = 1 + _draw(rng, [40, 25, 15, 10, 6, 4], np.zeros(rows, dtype=np.int64))
    patients = int(np.searchsorted(np.cumsum(visits), rows)) + 1
    alike = np.zeros(patients, dtype=np.int64)
    years = 18 + _draw(rng, np.interp(np.arange(18, 95), (18, 60, 94), (8, 9, 2)), alike)
    days = ((years + rng.random(patients)) * 365.25).astype("timedelta64[D]")
    band = np.digitize(years, (30, 50, 67))
    male, place = _draw(rng, [0.54, 0.46], alike), _draw(rng, _PEOPLE, alike)
    job = _draw(rng, np.hstack([np.tile(_BY_SCHOOLING.mean(0), (4, 1)), _IDLE.traits]), band)
    by_age, (in_town, recovery) = _DIAGNOSIS.traits[:4], _DIAGNOSIS.traits[4:]
    illness = _draw(rng, np.concatenate([by_age, by_age * in_town]), _IN_TOWN[place] * 4 + band)
    # Rows follow the appointment book, so the visits of one patient lie apart. Most are about the
    # patient's own illness, some about one that comes and goes.
    day = np.sort(rng.integers(0, 731, rows)).astype("timedelta64[D]")
    who = rng.permutation(np.repeat(np.arange(patients), visits[:patients])[:rows])
    passing = np.flatnonzero(["Passing" in path for path in _DIAGNOSIS.paths])
    found = np.where(rng.random(rows) < 0.75, illness[who], rng.choice(passing, rows))
    manual = np.array([("Blue" in path) - ("White" in path) for path in _JOB.paths])
    well = recovery[found] - 0.05 * (years[who] - 48) - 0.7 * manual[job[who]] - 0.4 * male[who]
    start = np.datetime64("2024-01-01")
    columns = {
        "PatientId": _numbered("P", who + 1),
        "Job": _text(_JOB.labels, job[who], missing=rng.random(rows) < 0.04),
        "Sex": _text(("Female", "Male"), male[who]),
        "Birthdate": pa.array(start - days[who]).cast(pa.string()),
        "Zip": _text(_ZIP.labels, place[who], missing=rng.random(rows) < 0.02),
        "TestDate": pa.array(start + day).cast(pa.string()),
        "Diagnosis": _text(_DIAGNOSIS.labels, found, missing=rng.random(rows) < 0.02),
        "Outcome": _text(("Referred", "Recovered"), rng.logistic(size=rows) < well),
    }
    return pa.table(columns)


_ERRANDS = {"daily": 44, "dinner": 22, "party": 12, "baby": 9, "health": 8, "hoping": 5}  # shares
_ITEMS = _values(  # how likely each item is in a basket of this errand
    "daily: bread .5; milk .5; eggs .3; butter .3; apples .3; bananas .3; cheese .25; tomatoes .25",
    "dinner: pasta .5; tomatoes .5; onions .4; garlic .3; mince .3; cheese .4; wine .3; bread .2",
    "party: beer .7; chips .6; cola .5; salsa .3; ice .3; wine .3; chewing-gum .1; chocolate .2",
    "baby: nappies .7; wipes .5; baby-food .5; milk .4; bananas .4; pregnancy-test .03",
    "health: painkiller .5; tissues .4; antidepressant .2; nicotine-patches .15; hiv-self-test .1",
    "hoping: folic-acid .6; vitamins .5; pregnancy-test .45; ginger-tea .3; chocolate .2",
)


def _baskets(rows: int, rng: np.random.Generator) -> pa.Table:
    items, at = np.unique(_ITEMS.labels, return_inverse=True)
    errands = [list(_ERRANDS).index(path.split(",")[1]) for path in _ITEMS.paths]
    likely = np.full((len(_ERRANDS), len(items)), 0.005)  # anything may slip in anywhere
    likely[errands, at] = _ITEMS.traits[0]
    size = 8192  # baskets at a time, so that the baskets × items matrix stays small
    parts: list[Codes] = []
    while sum(map(len, parts)) < rows:
        errand = _draw(rng, list(_ERRANDS.values()), np.zeros(size, dtype=np.int64))
        # The nearest item is in whatever was drawn, so that no basket stays empty.
        reach = rng.random((size, len(items))) / likely[errand]
        reach[np.arange(size), reach.argmin(axis=1)] = 0
        parts.append(np.argwhere(reach < 1) + np.array([len(parts) * size + 1, 0]))
    basket, item = np.concatenate(parts)[:rows].T
    return pa.table({"basket": pa.array(basket), "item": _text(items.tolist(), item)})


_MAKERS = {"census": _census, "bank": _bank, "clinic": _clinic, "baskets": _baskets}
_TAXONOMIES = {"education.csv": _EDUCATION, "occupation.csv": _OCCUPATION, "zip.csv": _ZIP}
_TAXONOMIES |= {"country.csv": _COUNTRY, "job.csv": _JOB}
_POLICIES = {
    "census": """\
# Census: nobody can be singled out by what a neighbour knows, and income stays predictable.
class = "Income"      # what models are trained for
drop = ["Name"]       # never released
keep = ["Hours"]      # released as it is: hardly known to outsiders
missing = "error"     # the sample has no gaps

[attributes]
Age = { mask = "discretize", intervals = [15, 25, 35, 45, 55, 65, 91] }
Sex = { mask = "generalize", taxonomy = { ANY = ["Female", "Male"] } }
Education = { mask = "generalize", taxonomy = "education.csv" }
Marital = { mask = "suppress" }
Occupation = { mask = "generalize", taxonomy = "occupation.csv" }
Zip = { mask = "generalize", taxonomy = "zip.csv" }

[[anonymity]]         # every combination of these is shared by at least 20 people
over = ["Age", "Sex", "Education", "Marital", "Occupation", "Zip"]
k = 20
""",
    "bank": """\
# Bank: nobody can infer a customer's bankruptcy from what is known about the customer.
class = "Class"       # what models are trained for
drop = ["Customer"]   # never released
keep = ["Years"]      # released as it is: known to the bank alone
missing = "error"     # the sample has no gaps

[attributes]
Job = { mask = "suppress" }
Country = { mask = "generalize", taxonomy = "country.csv" }
Child = { mask = "generalize", taxonomy = { ANY = ["No", "Yes"] } }

[[confidence]]        # of those who look alike, at most three in four share either fate
over = ["Job", "Country", "Child"]
sensitive = { Bankruptcy = ["Current", "Discharged"] }
at_most = 0.75
""",
    "clinic": """\
# Clinic: no patient can be singled out, and nobody can infer a stigmatised illness.
class = "Outcome"     # what models are trained for
drop = ["PatientId"]  # never released, but counted below
missing = "value"     # an empty cell is a value like others, masked with them

[attributes]
Job = { mask = "generalize", taxonomy = "job.csv" }
Sex = { mask = "generalize", taxonomy = { ANY = ["Female", "Male"] } }
Birthdate = { mask = "discretize", range = [1925-01-01, 2008-12-31] }
Zip = { mask = "generalize", taxonomy = "zip.csv" }
TestDate = { mask = "discretize", range = [2024-01-01, 2025-12-31] }

[[anonymity]]         # shared by at least 10 patients, however many visits each of them made
over = ["Job", "Sex", "Birthdate", "Zip"]
k = 10
of = ["PatientId"]

[[confidence]]        # who knows a patient and the day of a visit still cannot tell the illness
over = ["Sex", "Birthdate", "TestDate"]
sensitive = { Diagnosis = ["HIV", "Hepatitis"] }
at_most = 0.25
""",
    "baskets": f"""\
# Baskets: whoever saw two items in a basket finds a crowd, and can only guess at private ones.
format = "long"       # a table of baskets and items; "basket" is for one basket a line
private = {json.dumps(PRIVATE_ITEMS)}
public = "*"          # what somebody may have seen: everything that is not private
p = 2                 # if up to 2 items were seen,
k = 10                # at least 10 baskets hold them,
h = 0.2               # and at most one in five of those holds the same private item
""",
}
