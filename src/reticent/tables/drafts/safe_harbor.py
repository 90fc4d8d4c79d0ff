"""A policy by a rule instead of a promise: 45 CFR 164.514(b)(2), the safe harbor of HIPAA.

Every column is one of four: dropped, as one of 18 kinds of identifiers; coarsened, as dates, ages
and postcodes may stay in part; kept, as nothing speaks against it; or a question. In doubt a
column is dropped. What the draft found of each identifier stands at its top, so that a steward
sees what was looked for, and that a column nobody recognized is still there to be decided.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from reticent.data.columns import Column, Table, without_missing
from reticent.data.door import Coarsening, Prefixes, Tops, Years
from reticent.data.texts import is_text
from reticent.errors import InputError, many, visible
from reticent.files.tabular import Reading
from reticent.privacy.identifying import DATE, IP, MAC, MAIL, PHONE, SSN, WEB, seen_in
from reticent.releases.about import about_draft
from reticent.releases.policyfile import toml_key, toml_lines, toml_value
from reticent.tables.drafts.identifiers import BY_LETTER, IDENTIFIERS, Identifier, named_as
from reticent.tables.drafts.looks import Look, gaps_in, look, other_dates, reached_by, read_as
from reticent.tables.drafts.words import means, says, says_postcode
from reticent.tables.drafts.writing import asked

RULE = "hipaa-safe-harbor"
_UNKNOWN = {
    "unknown", "unk", "unbekannt", "none", "missing", "n.a.", "k.a.", "k. a.", "inconnu", "nil",
    "desconocido", "sconosciuto", "onbekend", "null", "nan", "na", "n/a", "#n/a", "?", "-", "--",
    ".", "not available", "not known", "keine angabe",
}  # fmt: skip
_FEW = 12  # values that may be categories, each shared by two records or more
_LARGE = 10_000  # whole numbers from here on that nearly all differ are codes
_MOST_COUNTED = 30  # of relatives, and of years at school
_LATEST = 2099  # later years stand for no time at all
_YEARS_OLD = 90
_DOUBTFUL = 80  # nobody is over 89 who was born less than so long before the latest date
_HOW_MANY = "number+of numbers+of num+of no+of nr+of n+of anzahl count counts"  # not who
_COUNTS = f"{_HOW_MANY} num+* number+*"
_STATES = "state states province* provinz* bundesland bundeslaender canton kanton country land"
_STATES += " countries laender pays pais paese nation* citizen* staat*"
_PARTS = (
    "month *month *monat mois mes weekday wochentag day tag quarter quartal week woche dow season*"
)
_PARTS += " jahreszeit*"
_AGES = "agegr* altersgruppe* age ages alter edad eta leeftijd idade *alter"
_AGES += " ageat* agein* agedays agemonths agemos ageyears ageyrs agey ptage patage"
_AGES += " years+old yrs+old =years =yrs =jahre"
_AGE_UNITS = (  # how names say that ages are in another unit, and not at which day they were asked
    ("age+months age+in+months age+mos months+old alter+monate alter+in+monaten", "months"),
    ("agemonths ageinmonths agemos", "months"),
    ("age+days age+in+days days+old alter+tage alter+in+tagen agedays ageindays", "days"),
)
_OTHER_UNITS = "day* month* mos week* hour* monat* tag tage tagen woche* stunde*"
_A_YEAR = {"months": 12, "days": 365}
_OLDEST_EVER = 130
_BIRTHS = "birth* born geburt* naissance* nacimiento* nascita* dob yob birthdate* birthday*"
_BIRTHS += " bdate bday bdt b+date b+day b+dt d+o+b yrborn byear b+year jahrgang* geb gebdat*"
_BIRTHS += " gebjahr*"
_YEARS = "year years yr jahr* annee* ano anno jaar *jahr"
_SAFE = "As it stands it is safe, and tells little."
_DATES = "date dates datum *datum fecha fechas timestamp dt dts *[!a]dt dte dttm datetime"
_EVENTS = "admi* disch* deceased died death* onset* gestorben verstorben* tod todes* entlassung*"
_EVENTS += " aufnahme* sterbe* dod beginn"
_RELATIVES = (  # columns of which may also say whether there is one, or how many
    "spouse* partner* child children kind kinder son sons daughter* sohn tochter sibling* brother*"
)
_RELATIVES += " sister* parent* eltern* enfant* hijo* hija* figlio figli husband wife relative*"
_RELATIVES += " mother father mutter vater guardian* contact* kontakt* nurse* doctor* arzt school*"
_RELATIVES += " schul* kids"
_DOUBTFUL_NAMES = "ward wards clinic clinics site sites school* schul* station room bed zimmer bett"
_DOUBTFUL_NAMES += " =code =codes =case =card =fall registration* partner* kind parent* face"
_ANSWERS = {
    "yes", "no", "y", "n", "true", "false", "t", "f", "ja", "nein", "j", "0", "1", "oui", "non",
    "si", "sí", "1.0", "0.0",
}  # fmt: skip
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_WHOLE = r"([.,]0+)?"  # the end of a number that a program wrote with a point
_SIGNS = (  # what cells alone tell, however few there are
    ("G", "social security numbers", r"[0-9]{3}-[0-9]{2}-[0-9]{4}"),
    ("O", "IP addresses", r"([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"),
    ("R", "UUIDs", r"\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?"),
    ("R", "hashes", r"(?=.*[0-9])[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{56}([0-9a-fA-F]{8})?"),
    ("M", "hardware addresses", r"([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}"),
    (
        "M",
        "numbers of mobile devices",
        rf"[0-9]{{15}}{_WHOLE}|[0-9]{{2}}-[0-9]{{6}}-[0-9]{{6}}-[0-9]",
    ),
    ("L", "numbers of vehicles", r"(?=.*[0-9])(?=.*[A-Za-z])[A-HJ-NPR-Za-hj-npr-z0-9]{17}"),
    (
        "J",
        "numbers of cards",
        rf"[0-9]{{4}}([ -]?[0-9]{{4}}){{3}}{_WHOLE}|[0-9]{{4}} [0-9]{{6}} [0-9]{{5}}",
    ),
    ("J", "numbers of accounts", r"[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?"),
    ("I", "numbers of Medicare", r"[1-9][A-Z][A-Z0-9][0-9]-?[A-Z][A-Z0-9][0-9]-?[A-Z]{2}[0-9]{2}"),
    ("B", "places on a map", r"\(?[+-]?[0-9]{1,3}\.[0-9]+[,;] ?[+-]?[0-9]{1,3}\.[0-9]+\)?"),
    ("A", "names", r"(Dr|Prof|Mr|Mrs|Ms|Miss|Herr|Frau|Mme)\b\.? .*|.*, (MD|RN|DO|NP|PhD|M\.D\.)"),
    (
        "C",
        "months or days of the week",
        r"(?i)(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez)[a-zä]{0,6}\.?"
        r"|(mon|tue|wed|thu|fri|sat|sun)([a-z]{0,3}day)?|(mon|diens|donners|frei|sams|sonn)tag|mittwoch",
    ),
    ("R", "names of users", r"@\w+"),
)
_FULL_NAME = r"[^\W\d_a-z][^\W\d_]+(['’-][^\W\d_]+)?,? ([A-Z]\.? )?[^\W\d_a-z]['’]?[^\W\d_]+"
_CODED = r"[A-Za-z]{1,5}[-_/ ]?[0-9]{4,}[A-Za-z]?"
_CODE_SYSTEMS = "icd* cpt hcpcs *drg drg* loinc snomed* ops ndc atc rxnorm proc* *code codes"
_FIVE_DIGITS = rf"[0-9]{{5}}(-[0-9]{{4}}|{_WHOLE})"
_HINTS_OF_PLACES = (
    "zip* home area areas loc local* res live* mail* postc* pcode pc wohn* living ort"
)
_NEARLY_ALL = 0.9
_FORBIDDEN = {DATE: "C", PHONE: "D", MAIL: "F", SSN: "G", MAC: "M", WEB: "N", IP: "O"}
_REACHED = {"mail": "F", "link": "N", "phone": "D"}
_BY_AGES = "\0ages"  # no column is called so
Fate = Literal["drop", "coarsen", "keep"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a column, as which identifier, and why."""

    look: Look
    fate: Fate
    why: str
    identifier: Identifier | None = None
    coarsen: Coarsening | None = None
    is_question: bool = False
    births: bool = False  # dates that tell how old somebody is

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.look.name

    @property
    def in_years(self) -> dict[str, int]:
        """The year of every date that can be read."""
        return self.years_of(_texts(self.look))

    def years_of(self, texts: Sequence[str]) -> dict[str, int]:
        """The year of each date among some texts that can be read."""
        if not isinstance(self.coarsen, Years):
            return {}
        shown = self.coarsen.reading(())
        return {text: int(year) for text in texts if (year := shown(text))}

    @property
    def remark(self) -> str:
        """It as a comment."""
        of = f"({self.identifier.letter}) " if self.identifier else ""
        return f"{of}{self.look.words}: {'? ' if self.is_question else ''}{self.why}"


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """What a draft by the rule says."""

    table: Table
    reading: Reading
    gaps: tuple[str, ...]
    rulings: tuple[Ruling, ...]
    oldest: int | None  # whoever was born then or before may be over 89
    by: str = ""  # the column whose latest date tells, or _BY_AGES
    doubt: str = ""  # why that year can hardly be meant

    def text(self) -> str:
        """The policy."""
        read = self.reading.policy_keys()
        parts = [
            self._head(),
            f"rule = {toml_value(RULE)}  # no record is counted: nothing is promised of groups\n",
            "".join(f"{line}\n" for line in self._columns()),
            f"[reading]  # how the file is written\n{toml_lines(read)}" if read else "",
            *(self._attribute(ruling) for ruling in self._of("coarsen")),
            about_draft(),
        ]
        return visible("\n".join(part for part in parts if part))

    def beside(self, place: Any) -> dict[Any, str]:
        """The files that the policy needs beside it: none."""
        return {}

    def _of(self, fate: Fate) -> list[Ruling]:
        return [ruling for ruling in self.rulings if ruling.fate == fate]

    def _head(self) -> str:
        rows, columns = many(self.table.rows, "row"), many(len(self.table.known), "column")
        said = [
            f"Drafted from {self.table.name}, {rows} and {columns}, by 45 CFR 164.514(b)(2), the",
            "safe harbor of HIPAA. It is a start, not advice: lines marked  ?  are questions only",
            "you can answer.",
            *asked(self.table.notes),
            "",
            "The identifiers of the rule, and where names and cells of columns speak of them:",
            *self._found(),
            "",
            *(f"{line}" for line in NOT_SETTLED),
        ]
        return "".join(f"# {line}".rstrip() + "\n" for line in said)

    def _found(self) -> Iterator[str]:
        for one in IDENTIFIERS:
            names = [ruling.name for ruling in self.rulings if ruling.identifier == one]
            yield f"  {one}: {', '.join(map(toml_value, names)) or 'none found'}"

    def _columns(self) -> Iterator[str]:
        yield "drop = ["
        yield from (f"  {toml_value(r.name)},  # {r.remark}" for r in self._of("drop"))
        yield "]\n"
        yield "keep = [  # ? Does any of these tell who somebody is, alone or with others?"
        for ruling in self._of("keep"):
            yield f"  {toml_value(ruling.name)},  # {ruling.remark}"
        for ruling in self._of("coarsen"):
            yield f"  {toml_value(ruling.name)},  # coarsened below"
        yield "]"
        if any(ruling.look.missing for ruling in self.rulings):
            yield 'missing = "value"  # cells that nobody filled stay empty'
        if self.gaps:
            yield f"missing_values = {toml_value(list(self.gaps))}  # ? Does nobody know, then?"

    def _attribute(self, ruling: Ruling) -> str:
        lines = [f"[attributes.{toml_key(ruling.name)}]  # {ruling.remark}"]
        one = ruling.coarsen
        if isinstance(one, Tops):
            lines.append(f"coarsen = {{ top = {one.top} }}")
        elif isinstance(one, Prefixes):
            told = small_regions()
            lines.append(f"coarsen = {{ digits = 3, small = {toml_value(told['prefixes'])} }}")
            lines.append(
                f"# These have {told['most_people']:,} people or fewer by the census of "
                f"{told['census']} (guidance of the Office for Civil Rights, "
                f"{told['published']})."
            )
            lines.append("# ? Are there newer figures? The rule asks for the current ones.")
        elif self.oldest is not None:
            lines.append(f"coarsen = {{ year = true, oldest = {self.oldest} }}")
            lines.append(f"# {self.doubt or f'{self._told_by()} may be over 89.'}")
        elif ruling.births:
            lines.append('coarsen = { year = true, oldest = "?" }')
            lines.append(
                "# ? No other date tells when people were how old. Write the year of the latest "
                f"data, less {_YEARS_OLD}."
            )
        else:
            lines.append('coarsen = "year"')
        return "".join(f"{line}\n" for line in lines)

    def _told_by(self) -> str:
        born = f"who was born in {self.oldest} or before"
        if self.by == _BY_AGES or self.oldest is None:
            return f"By the ages in the table, which are of later than its dates, {born}"
        return (
            f"The latest date, in {toml_value(self.by)}, is of {self.oldest + _YEARS_OLD}: {born}"
        )


NOT_SETTLED = (
    "What the rule settles once you have answered, and verify recounts: no dropped column is",
    "there, dates are years, ages over 89 are one, postcodes are three digits.",
    "What no draft can settle:",
    "  - Actual knowledge: if you know that what is left tells who somebody is, it is not",
    "    de-identified, whatever was removed: a rare disease, an occupation, what was in the news.",
    "  - Identifiers of relatives, employers and household members count, too.",
    "  - Free text, images and codes derived from identifiers; a code for re-identification must",
    "    not be derived from them, and the key not be disclosed.",
    "  - It is no k-anonymity: somebody who knows a few things may find one record. Add an",
    "    [[anonymity]] template for that.",
    "docs/how-to/hipaa-safe-harbor.md says more. It is not legal advice.",
)


def small_regions() -> Mapping[str, Any]:
    """The three-digit postcode areas in which few people live, and who said so."""
    text = files("reticent.tables.drafts").joinpath("small_regions.toml").read_text("utf-8")
    return tomllib.loads(text)


def drafted_by_rule(
    table: Table, reading: Reading, dates: Mapping[str, Sequence[str]] | None = None
) -> RuleDraft:
    """Look at a table, and decide by the rule what becomes of each column.

    `dates`: those of all rows by their columns, if these are not all.
    """
    unknown = tuple(dict.fromkeys(text for c in table.columns.values() for text in _unknown_in(c)))
    without = replace(
        table,
        columns={n: without_missing(c, _unknown_in(c)) for n, c in table.columns.items()},
    )
    reading = read_as(without, reading)
    table = replace(table, notes=(*table.notes, *other_dates(without, reading)))
    gaps = tuple(dict.fromkeys([*gaps_in(without, reading), *unknown]))
    looks = look(without, reading, gaps)
    rulings = tuple(_ruled(seen, reading) for seen in looks)
    if all(ruling.fate == "drop" for ruling in rulings):
        raise InputError(
            "there is no column that could be released", where="init",
            why="each speaks of an identifier, or is of a kind that cannot be.",
        )  # fmt: skip
    oldest, by, doubt = _oldest(rulings, dates or {})
    return RuleDraft(table, reading, gaps, rulings, oldest, by, doubt)


def _unknown_in(column: Column) -> list[str]:
    """Texts that mean nobody knows, where all others are dates, times, numbers or codes."""
    if not is_text(column.values.type):
        return []
    texts = [text for text in column.values.to_pylist() if text]
    held = [text for text in texts if text.strip().casefold() in _UNKNOWN]
    left = (text for text in texts if text.strip().casefold() not in _UNKNOWN)
    readable = all(re.search(r"[0-9]", t) and not re.search(r"[^\W\d_]{4}", t) for t in left)
    return held if held and readable and len(held) < len(texts) else []


def _oldest(
    rulings: Sequence[Ruling], dates: Mapping[str, Sequence[str]]
) -> tuple[int | None, str, str]:
    """The last year in which somebody over 89 may have been born, by the latest other date.

    Ages may be as of later than any date: whoever is over 89 by them was born no later than that.
    Beside it, what tells, and why it can hardly be so.
    """
    latest: tuple[int, str] | None = None
    for ruling in (r for r in rulings if r.in_years and not r.births):
        told = ruling.years_of(dates.get(ruling.name, ())) | ruling.in_years
        years = [year for year in told.values() if year <= _LATEST]
        latest = max(latest or (0, ""), (max(years, default=0), ruling.name))
    if latest is None or not latest[0]:
        return None, "", ""
    births = [r for r in rulings if r.births and r.in_years]
    ages = [r for r in rulings if isinstance(r.coarsen, Tops)]
    born = max((_born_before(b, a) for b in births for a in ages), default=0)
    if born > latest[0] - _YEARS_OLD:
        against = (
            f"? By an age, somebody born in {born} is over 89; but the latest date, in "
            f"{toml_value(latest[1])}, is of {latest[0]}. Which is right? {_SAFE}"
        )
        return born, _BY_AGES, against if born > latest[0] - _DOUBTFUL else ""
    oldest = latest[0] - _YEARS_OLD
    years = [year for birth in births for year in birth.in_years.values()]
    most = 2 * sum(year <= oldest for year in years) > len(years)
    if not most:
        return oldest, latest[1], ""
    against = (
        f"? Most dates of birth are of {oldest} or before, 90 years before the latest date, in "
        f"{toml_value(latest[1])}. Does that say when the data are of? {_SAFE}"
    )
    return oldest, latest[1], against


def _born_before(birth: Ruling, age: Ruling) -> int:
    """The latest year of birth of those whose age is among the highest; 0 if nobody's is."""
    assert age.coarsen is not None
    shown = age.coarsen.reading(())
    high = [text is not None and shown(text) != text for text in age.look.column.texts()]
    told = birth.in_years
    years = [told.get(text or "", 0) for text in birth.look.column.texts()]
    if not any(high) or not years:
        return 0
    old = np.array(high)[age.look.column.codes]
    return int(np.array(years)[birth.look.column.codes][old].max(initial=0))


# --- one column ----------------------------------------------------------------------------------


def _ruled(seen: Look, reading: Reading) -> Ruling:
    """What becomes of a column, the most telling first."""
    found = _not_there(seen) or _postcode(seen) or _date(seen, reading) or _reaching(seen)
    found = found or _named(seen, reading)
    if found and found.fate != "keep":
        return found
    found = found or _unnamed(seen)
    return _forbidden(seen, at_least=1 if found.fate == "keep" else seen.distinct / 2) or found


def _forbidden(seen: Look, at_least: float) -> Ruling | None:
    """What a release by the rule would refuse to keep, for the forms of so many values."""
    told = {t: n for t, n in seen_in(RULE, seen.name, _texts(seen)).items() if n >= at_least}
    if DATE in told or (seen.kind in ("date", "timestamp") and not told):
        dates = many(told.get(DATE, seen.distinct), "value")
        why = f"{dates} may be dates, and cannot be read for sure: write years with four digits"
        return _drop(seen, "C", why, asks=True)
    for thing, count in told.items():
        why = f"{many(count, 'value')} may hold {thing}"
        return _drop(seen, _FORBIDDEN[thing], why, asks=True)
    return None


def _drop(seen: Look, letter: str, why: str, *, asks: bool = False) -> Ruling:
    return Ruling(seen, "drop", why, BY_LETTER[letter] if letter else None, is_question=asks)


def _keep(seen: Look, why: str, *, asks: bool = True) -> Ruling:
    return Ruling(seen, "keep", why, is_question=asks)


def _texts(seen: Look) -> list[str]:
    return [text for text in seen.column.texts() if text is not None]


def _share_read(seen: Look, coarsening: Coarsening) -> float:
    """How many of a column's values can be read so."""
    texts = _texts(seen)
    shown = coarsening.reading(texts)
    return sum(shown(text) is not None for text in texts) / max(len(texts), 1)


def _not_there(seen: Look) -> Ruling | None:
    if seen.form == "odd":
        return _drop(seen, "", "values of its kind cannot be released")
    if seen.form == "unnamed":
        return _drop(seen, "", "it has no name: most likely the row numbers of another program")
    return _drop(seen, "", "it is empty") if seen.form == "empty" else None


def _postcode(seen: Look) -> Ruling | None:
    if not says_postcode(seen.name):
        return None
    place = BY_LETTER["B"]
    read = _share_read(seen, Prefixes(3))
    if read < 0.5:
        return _drop(seen, "B", "postcodes that are no digits: nobody says how many live there")
    why = "the first three digits may stay" + _unread(seen, read)
    return Ruling(seen, "coarsen", why, place, Prefixes(3), is_question=read < 1)


def _unread(seen: Look, read: float) -> str:
    left = round((1 - read) * seen.distinct)
    return f"; {many(left, 'value')} cannot be read and must be corrected" if left else ""


def _date(seen: Look, reading: Reading) -> Ruling | None:
    births = means(seen.name, _BIRTHS)
    years = Years(date_format=reading.date_format)
    texts = _texts(seen)
    plain = sum(re.fullmatch(r"[0-9]{4}", text) is not None for text in texts) / max(len(texts), 1)
    read = _share_read(seen, years)
    time = BY_LETTER["C"]
    if read >= 0.5 and plain < 0.5:
        shown = years.reading(texts)
        unread = seen_in(RULE, seen.name, [text for text in texts if shown(text) is None])
        if DATE in unread:
            some = many(unread[DATE], "value")
            return _drop(seen, "C", f"dates, of which {some} cannot be read for sure", asks=True)
        why = ("dates of birth: the year" if births else "dates: the year") + " may stay"
        why += _unread(seen, read)
        return Ruling(seen, "coarsen", why, time, years, is_question=read < 1, births=births)
    called = births or means(seen.name, f"{_YEARS} {_DATES} {_EVENTS}")
    if called and plain == 1 and all(1850 <= int(text) <= 2150 for text in texts):
        return Ruling(seen, "coarsen", "years may stay", time, years, births=births)
    if texts and all(re.fullmatch(_CLOCK, text) for text in texts):
        return _drop(seen, "C", "times of day are parts of dates", asks=True)
    return None


def _reaching(seen: Look) -> Ruling | None:
    """What tells how to reach somebody, by its cells or by its name."""
    for letter, what, sign in _SIGNS:
        if _nearly_all(seen, sign):
            return _drop(seen, letter, f"its cells have the form of {what}", asks=True)
    if _nearly_all(seen, _FIVE_DIGITS) and means(seen.name, _HINTS_OF_PLACES):
        return _drop(seen, "B", "its cells have the form of postcodes", asks=True)
    if any(one.letter == "B" for one in named_as(seen.name)):
        return None  # house numbers look like many things
    way = reached_by(seen)
    return None if way is None else _drop(seen, _REACHED[way], "its cells look like that")


def _nearly_all(seen: Look, form: str) -> bool:
    """Whether so many values have a form that the others may be slips."""
    texts = [text.strip() for text in _texts(seen)]
    found = sum(re.fullmatch(form, text) is not None for text in texts)
    return bool(texts) and found >= _NEARLY_ALL * len(texts)


def _named(seen: Look, reading: Reading) -> Ruling | None:
    """What the name of a column speaks of."""
    name = seen.name
    if means(name, _AGES):
        return _age(seen, reading)
    if means(name, _STATES) and all(one.letter == "C" for one in named_as(name)):
        many_values = seen.distinct > 60
        if many_values:
            return _drop(seen, "B", "more than 60 values, so hardly states", asks=True)
        return _keep(seen, "states and what is larger may stay; nothing smaller", asks=False)
    for one in named_as(name):
        if one.letter == "C":
            if found := _part_of_date(seen):
                return found
            continue
        if one.letter in "RAB" and _counts(seen, _COUNTS if one.letter == "R" else _HOW_MANY):
            return _keep(seen, "how many of something, and no number of its own")
        if means(name, _RELATIVES) and (_is_answer(seen) or _is_small_number(seen)):
            return _keep(seen, "whether there are any, or how many, and who is not told?")
        asks = seen.distinct <= _FEW and 2 * seen.distinct <= seen.present
        asks |= means(name, _DOUBTFUL_NAMES)
        return _drop(seen, one.letter, f"its name speaks of {one.title}", asks=asks)
    return None


def _counts(seen: Look, words: str) -> bool:
    """Whether numbers say how many, and do not stand for somebody."""
    counts = means(seen.name, words) and not means(seen.name, "id ids *id key code* user")
    return counts and seen.kind == "number" and not _is_coded(seen)


def _is_answer(seen: Look) -> bool:
    texts = _texts(seen)
    return seen.kind == "boolean" or {text.strip().casefold() for text in texts} <= _ANSWERS


def _is_small_number(seen: Look) -> bool:
    """Whether numbers are so few and small that they count something."""
    if seen.scale is None or seen.scale.kind != "number":
        return False
    return seen.distinct <= 2 * _FEW and float(seen.scale.points[-1]) < _MOST_COUNTED


def _age(seen: Look, reading: Reading) -> Ruling:
    tops, doubt = Tops(_YEARS_OLD, reading.decimal or "."), ""
    spoken, unit = next((told for told in _AGE_UNITS if means(seen.name, told[0])), ("", ""))
    if unit and not _implausible_as_years(seen):
        unit = ""
    if unit:
        tops = replace(tops, top=_YEARS_OLD * _A_YEAR[unit])
        unit = f" {unit}"
    elif spoken or means(seen.name, _OTHER_UNITS):
        doubt = "; they are taken for years, though its name speaks of months or days"
    elif seen.scale is not None and float(seen.scale.points[-1]) > _OLDEST_EVER:
        doubt = f"; some are above {_OLDEST_EVER}: are these years?"
    read = _share_read(seen, tops)
    if read < 0.5:
        why = "groups of ages: keep them if all from 90 on are one group"
        return _drop(seen, "C", why, asks=True)
    why = f"ages from {tops.top}{unit} on are one" + _unread(seen, read) + doubt
    broken = seen.scale is not None and bool((np.asarray(seen.scale.points) % 1).any())
    why += "; fractions of years tell part of a date of birth" if broken else ""
    asks = read < 1 or broken or bool(unit or doubt)
    return Ruling(seen, "coarsen", why, BY_LETTER["C"], tops, is_question=asks)


def _implausible_as_years(seen: Look) -> bool:
    """Whether most ages are above what anybody ever reached; a few may be codes for no answer."""
    if seen.scale is None or seen.scale.kind != "number":
        return False
    points = np.asarray(seen.scale.points, dtype=float)
    return bool(np.median(points) > _OLDEST_EVER)


def _part_of_date(seen: Look) -> Ruling | None:
    if means(seen.name, _PARTS) and seen.distinct <= 53:
        return _drop(seen, "C", "months, weeks and days are parts of dates", asks=True)
    if means(seen.name, _BIRTHS):
        return _drop(seen, "C", "it speaks of births, and cannot be read as dates", asks=True)
    if means(seen.name, _DATES):
        return _drop(seen, "C", "it speaks of dates, and cannot be read as such", asks=True)
    if means(seen.name, _EVENTS) and not _is_answer(seen) and _may_be_days(seen):
        return _drop(seen, "C", "it speaks of an event, and may say on which day", asks=True)
    return None


def _may_be_days(seen: Look) -> bool:
    """Whether cells may count days or seconds since long ago, or are of digits and more."""
    if seen.scale is not None and seen.scale.kind == "number":
        return float(seen.scale.points[-1]) >= _LARGE
    texts = _texts(seen)
    return 2 * sum(any(c.isdigit() for c in text) for text in texts) >= len(texts)


def _unnamed(seen: Look) -> Ruling:
    """What nothing speaks of but its cells."""
    if seen.form == "free text":
        return _drop(seen, "R", "free text: anything may stand in it, (A) to (R)", asks=True)
    if seen.form == "name":
        return _drop(seen, "A", "its name speaks of a person", asks=True)
    if seen.postcodes:
        return _drop(seen, "B", "codes of digits with zeros in front: postcodes?", asks=True)
    if seen.form in ("identifier", "numbered") or (_is_nearly_unique(seen) and _is_coded(seen)):
        return _drop(seen, "R", "nearly every record has a value of its own", asks=True)
    if says(seen.name, "place") and not says(seen.name, "personal"):
        return _drop(seen, "B", "its name speaks of a place: smaller than a state?", asks=True)
    if seen.form == "contact":
        return _drop(seen, "D", "its name or its cells tell how to reach somebody", asks=True)
    texts = _texts(seen)
    if all(re.fullmatch(r"(19[0-9]|20[0-3])[0-9](\.0)?", text) for text in texts):
        why = "numbers that look like years; of birth, too?"
        years = Years()
        return Ruling(seen, "coarsen", why, BY_LETTER["C"], years, is_question=True, births=True)
    known = any(says(seen.name, topic) for topic in ("personal", "private", "goal"))
    known |= means(seen.name, _CODE_SYSTEMS)
    each = seen.distinct > _FEW or 2 * seen.distinct > seen.present
    if not known and each and _nearly_all(seen, _FULL_NAME):
        return _drop(seen, "A", "its cells have the form of names", asks=True)
    if not known and _nearly_all(seen, _CODED):
        return _drop(seen, "R", "its cells have the form of numbers that are assigned", asks=True)
    counts = np.bincount(seen.column.codes, minlength=len(seen.column.values))
    if seen.column.missing is not None:
        counts[seen.column.missing] = 0
    alone = int((counts == 1).sum()) if seen.scale is None else 0
    if alone:
        return _keep(seen, f"{many(alone, 'value')} of one record each: may one be known by it?")
    if _is_nearly_unique(seen):
        return _keep(seen, "nearly every record has a value of its own: may one be known by it?")
    if seen.form == "constant":
        return _keep(seen, "every record has the same value: does it tell of whom all are?")
    if not known and _nearly_all(seen, _FIVE_DIGITS):
        return _keep(seen, "whole numbers of five digits: postcodes? Then drop it")
    if known:
        return _keep(seen, "no identifier of the rule", asks=False)
    return _keep(seen, "nothing speaks for an identifier; what is it?")


def _is_coded(seen: Look) -> bool:
    """Whether values are no measures and no counts: texts, or large whole numbers."""
    if seen.scale is None:
        return True
    whole = seen.scale.kind == "number" and seen.scale.points.dtype.kind in "iu"
    return seen.form == "numbered" or (whole and bool(seen.scale.points[0] >= _LARGE))


def _is_nearly_unique(seen: Look) -> bool:
    return seen.present > 20 and seen.distinct >= 0.9 * seen.present
