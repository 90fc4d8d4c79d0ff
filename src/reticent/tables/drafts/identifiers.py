"""The 18 kinds of identifiers of 45 CFR 164.514(b)(2)(i), and the words that columns of each bear.

English and German words first, and some of other languages; ``*`` stands for any letters, ``+``
joins words that stand together, ``=`` says that a name has no others. A column is
looked up in the order of the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reticent.tables.drafts.words import means


@dataclass(frozen=True, slots=True)
class Identifier:
    """One kind of identifier: its letter in the rule, what it is, and words of column names."""

    letter: str
    title: str
    words: str = ""

    def __str__(self) -> str:
        return f"({self.letter}) {self.title}"


IDENTIFIERS = (
    Identifier("A", "names", """
        name names *name surname* forename* vorname* nachname* familienname* *namen prenom* nom noms
        apellido* nombre* cognome* nome nomes naam sobrenome* initials initialen mother father
        mutter vater guardian* relative* kin employer arbeitgeber* spouse* partner* ehepartner*
        ehefrau ehemann husband wife child children kids =household kind kinder son sons daughter*
        sohn tochter sibling* brother* sister* bruder schwester parent* eltern* enfant* hijo* hija*
        figlio figli conjoint* alias aliases nickname* maiden* contact contacts kontakt* provider*
        prvdr* nurse* surgeon* doctor* physician* physn* attending clinician* practitioner*
        prescriber* therapist* caregiver* caretaker* midwife arzt *arzt aerztin *aerztin chirurg*
        pfleger* pflegekraft krankenschwester hebamme betreuer* medecin* medico* interviewer*
        investigator*
        """),
    Identifier("B", "places smaller than a state", """
        address* addr adress* anschrift* street* strasse* *strasse hausnr hausnummer* rue calle
        via straat city cities town stadt ort wohnort* ville ciudad citta cidade county counties
        kreis landkreis* district* bezirk* precinct* parish commune* municip* gemeinde* village
        borough neighborhood neighbourhood suburb gps hospital* krankenhaus* klinik facility*
        care+site zip zipcode postcode* postal postleit* plz cap geocode* latitude longitude lat
        lon lng coordinates tract block+group birthplace* geburtsort* residence* msa smsa fips zcta
        puma cbsa clinic clinics ward wards site sites school* schule* hochschule* university
        universitaet* college* station zimmer room bed bett
        """),
    Identifier("C", "dates other than the year, and ages over 89", """
        date* *datum datum* fecha* data+nascita dob birth* born geburt* naissance* nacimiento*
        nascita* dod death+date admission* admitted discharged entlassung* aufnahme* sterbe*
        month *month *monat mois mes weekday wochentag day tag quarter quartal week woche dow
        season* jahreszeit* yob agegr* altersgruppe* age ages alter edad eta leeftijd idade time
        zeit timestamp uhrzeit bdate bday bdt b+date b+day b+dt d+o+b yrborn byear b+year jahrgang*
        geb gebdat* gebjahr* dt dts *[!a]dt dte dttm datetime admit* disch disch* deceased died
        death* onset* gestorben verstorben* tod todes* beginn
        """),
    Identifier("D", "telephone numbers", """
        phone* *phone telephone* tel telefon* handy* mobile* mobil pager cellphone* cell+phone
        =cell cell+number cell+num cell+no cell+nr
        """),
    Identifier("E", "fax numbers", "fax* telefax* *fax"),
    Identifier("F", "e-mail addresses", "email* mail *mail e+mail"),
    Identifier("G", "social security numbers", """
        ssn sin social+security sozialversicherung* svnr rentenversicherung* nir insee nino
        national+insurance tin steuer+id steuernummer* taxid tax+id
        soc+sec soc+security socsec* =ss ss+num ss+number ss+no ssan
        """),
    Identifier("H", "medical record numbers", """
        mrn medical+record patient+id patientid patient+nr patient+no patient+number
        patientennummer* patientenid fallnummer* fall+nr case+id case+number encounter+id
        visit+id chart charts aufnahmenummer* record+number nhs aktenzeichen* subject+id
        =encounter =encounters encounter+nr encounter+no encounter+num encounter+number =case
        case+no case+nr case+num =fall =akte
        """),
    Identifier("I", "health plan beneficiary numbers", """
        member+id memberid beneficiary* subscriber* policy+number policy+no insurance+id
        insurance+number health+plan versichertennummer* versicherten+nr kvnr krankenkassen*
        medicare* medicaid* plan+id egk hicn hic+no hic+num mbi bene+id
        """),
    Identifier("J", "account numbers", """
        account* acct* konto* iban bic bankleitzahl* invoice* rechnung* creditcard* credit+card
        debit+card card+number card+num card+no card+nr =card kreditkarte* kartennummer
        """),
    Identifier("K", "certificate and licence numbers", """
        license* licence* certificate* zertifikat* driver* fuehrerschein* passport* reisepass*
        ausweis* npi dea approbation* lanr =dl dl+no dl+nr dl+num dl+number registration*
        reg+no reg+nr reg+num
        """),
    Identifier("L", "vehicle identifiers and plates", """
        vin vehicle* plate* kennzeichen* kfz fahrzeug* fahrgestell* licence+plate
        """),
    Identifier("M", "device identifiers and serial numbers", """
        device* serial* seriennummer* imei imsi udi mac geraet* implant* pacemaker*
        s+n =sn
        """),
    Identifier("N", "web addresses", "url* link links website* homepage* webseite* uri"),
    Identifier("O", "IP addresses", "ip ipaddress* ipadresse* ipv"),
    Identifier("P", "biometric identifiers", """
        biometr* fingerprint* fingerabdruck* finger iris retina* voice* stimm* voiceprint*
        genome* dna gait
        """),
    Identifier("Q", "full-face photographs and the like", """
        photo* foto* image* img bild bilder picture* portrait* video* scan avatar face gesicht*
        headshot* head+shot mugshot* selfie*
        """),
    Identifier("R", "any other unique number, characteristic or code", """
        id ids *id num accession* handle twitter uid uuid guid pid identifier* identit* *nummer
        *number nr nro number numero key code+number barcode* sample+id probe+nr probennummer*
        token hash user username login =code =codes patient+code subject+code person+code
        participant+code
        """),
)  # fmt: skip
BY_LETTER = {one.letter: one for one in IDENTIFIERS}
_ORDER = "FONEDGHIJLKMPQBCAR"  # an address of mail, or of the web, is no place


def named_as(name: str) -> Iterator[Identifier]:
    """The identifiers that the name of a column speaks of, the most telling first.

    >>> [one.letter for one in named_as("email_address")], [str(one) for one in named_as("Wohnort")]
    (['F', 'B'], ['(B) places smaller than a state'])
    """
    return (BY_LETTER[letter] for letter in _ORDER if means(name, BY_LETTER[letter].words))
