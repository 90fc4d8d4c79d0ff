"""What the name of a column tells, in the languages that hospitals and banks of Europe write.

A name is cut into words (``patientId``, ``Sample.yr``, ``Date of birth``) and each is looked up;
``*`` in a list stands for any letters. A word that means nothing here says nothing: then the cells
decide.
"""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

Topic = Literal[
    "person", "people", "number", "contact", "text", "private", "personal", "place", "time", "goal"
]

_WORDS: dict[Topic, str] = {
    # who somebody is: names, and numbers that stand for a name
    "person": """
        id ids uid uuid guid pid ssn nhs mrn iban bic ahv* bsn nir insee dni nie cpf cnp pesel
        identifier* identit* name names *name surname* forename* vorname* nachname* familienname*
        *namen prenom* nom noms apellido* nombre* cognome* nome nomes naam voornaam achternaam
        sobrenome* initials initialen passport* reisepass* pasaporte *personnummer user username
        login account konto *nummer
        """,
    # the same, if nothing else is said: a "patient" is a name or a number, a "patient sex" is not
    "people": """
        patient* person* subject* proband* teilnehmer* participant* kunde kunden kundin customer
        customers client clients cliente cliente* klant betreuer* arzt aerztin doctor physician
        medecin medico medecin* employee employees mitarbeiter* lehrer teacher contact kontakt
        """,
    # numbers that may stand for a name, where they are many
    "number": "nr nro no number numero nummer key schluessel index idx row rownum rowid record",
    # how to reach somebody
    "contact": """
        email* mail *mail e-mail phone* telephone* tel telefon* handy* mobile* mobil *phone fax*
        telefax* address* adress* anschrift* direccion* indirizzo* adres endereco* street*
        strasse* *strasse rue calle via straat rua url urls link website ip ipaddress
        """,
    "text": """
        note notes notiz* nota notas comment* kommentar* comentario* commento commenti
        commentaire* bemerkung* anmerkung* remark* remarque* observa* osserva* opmerking*
        toelichting* freetext freitext* text texts texte* description* descrip* descriz* descric*
        beschreibung* omschrijving* memo* message* nachricht* anamnes* narrative* verslag* befund*
        letter arztbrief* annotat* hinweis* bem sonstig* verlauf* apunte* anotac* annotaz*
        notitie* aantekening* obs anmerk*
        """,
    # what would hurt, told of somebody
    "private": """
        diagnos* icd* disease* illness* krankheit* maladie* enfermedad* malattia* ziekte* doenca*
        hiv aids drug* medic* treat* therap* behandlung* traitement* tratamiento* trattamento*
        tratamento* religio* konfession* politic* politi* partei* parti partito partido union
        gewerkschaft* syndicat* sexual* criminal* convict* vorstrafe* bankrupt* insolven* debt*
        schulden salary salaries wage wages gehalt* lohn salaire* sueldo* stipendio* disab*
        behinderung* handicap* genetic* pregnan* schwanger* abortion* suicid* addict* sucht*
        """,
    # what anybody around may know of somebody, and nobody needs to predict
    "personal": """
        sex sexe sexo sesso geschlecht* geslacht* gender* genre age ages alter edad eta leeftijd
        idade race rasse ethn* ethic* hautfarbe nation* nazion* nacion* citizen* staatsangeh*
        marital* married maried civil familienstand spouse partner child children kinder enfants
        hijos figli kinderen filhos household haushalt* language* sprache* langue* idioma* lingua*
        taal education* bildung* school* schul* occupation* beruf* job jobs profession* employment
        height weight groesse gewicht black white female male hispanic latino latina single
        foreign* kids genero raza etnia razza divorced native immigrant* migrant* minority urban
        rural altersgruppe* agegroup
        """,
    "place": """
        zip zipcode postcode* postal postleit* plz cp cap cep state states province* provinc*
        canton* kanton* bundesland region* county counties country countries land laender pays
        pais paese city cities town stadt ort ville ciudad citta stad cidade district* bezirk*
        commune* municip* gemeinde* place* location* residence* wohnort* origin* birthplace* kreis
        smsa msa borough wahlkreis
        """,
    "time": """
        date* datum* fecha* data dates day days tag month* monat* mois mes mese maand year* yr
        jahr* annee* ano anno jaar time* zeit* birth* born geburt* naissance* nacimiento* nascita*
        geboorte* nascimento* dob tod* deces 
        since
        """,
    # what people like to predict
    "goal": """
        class* klasse* target* ziel* label* outcome* ergebnis* result* resultat* churn* default*
        approved approval* income einkommen* status survival survived response* readmi* recidiv*
        relapse* grade risk risiko y death died mortality vote voted entlass* discharge* sortie
        heilung recovered response
        """,
}  # fmt: skip
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
)
_POSTCODE = "zip zipcode postcode* postal postleit* plz cp cap cep codepostal"


@lru_cache(maxsize=10_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a column name, without accents and case.

    >>> words_of("patientId"), words_of("Größe in cm"), words_of("T.categ")
    (('patient', 'id'), ('groesse', 'in', 'cm'), ('t', 'categ'))
    """
    spelt = unicodedata.normalize("NFKD", name.translate(_UMLAUTS))
    plain = "".join(sign for sign in spelt if not unicodedata.combining(sign))
    return tuple(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain))


def says(name: str, topic: Topic) -> bool:
    """Whether the name of a column speaks of something.

    >>> says("Patientennummer", "person"), says("Num_children", "person"), says("Note", "text")
    (True, False, True)
    """
    return _any_of(words_of(name), _WORDS[topic])


def says_only(name: str, topic: Topic) -> bool:
    """Whether a name speaks of something, and of nothing else.

    >>> says_only("Patient", "people"), says_only("patient_sex", "people")
    (True, False)
    """
    return len(words_of(name)) == 1 and says(name, topic)


def says_postcode(name: str) -> bool:
    """Whether a column is called a postcode."""
    return _any_of(words_of(name), _POSTCODE)


def means(name: str, meant: str) -> bool:
    """Whether a column is called any of some words; + joins words, = says that there are no others.

    >>> means("social_security_no", "social+security"), means("SocialClub", "social+security")
    (True, False)
    >>> means("Cell", "=cell"), means("T cell", "=cell")
    (True, False)
    """
    words = words_of(name)
    return any(
        _stands(words, pattern.removeprefix("=").split("+"), whole=pattern.startswith("="))
        for pattern in meant.split()
    )


def _stands(words: tuple[str, ...], parts: list[str], *, whole: bool) -> bool:
    """Whether some words that follow each other are like these; or all of them."""
    starts = range(len(words) - len(parts) + 1) if not whole or len(words) == len(parts) else ()
    return any(all(map(fnmatchcase, words[start:], parts)) for start in starts)


def _any_of(words: tuple[str, ...], meant: str) -> bool:
    return any(fnmatchcase(word, pattern) for word in words for pattern in meant.split())
