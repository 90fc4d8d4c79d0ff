"""What the name of an item may tell of whoever has it: guesses for a draft, never a decision.

Words in the languages that shops and clinics of Europe write, ``*`` for any letters. A word that
means nothing here says nothing: the steward is asked about all items, whatever is found.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

from reticent.files.basket_forms import words_in

_TOPICS = {
    "illness": """
        hiv aids hepatitis* herpes* chlamydi* syphilis* gonorr* std sti cancer* krebs* chemo*
        tumor* tumour* diabet* insulin* epilep* dialys* dement* alzheimer* parkinson* psoria*
        covid* coronatest* tubercul* tuberkul* inkontinen* incontinen* haemorr* hemorr*
        """,
    "pregnancy and sex": """
        pregnan* schwanger* grossesse* enceinte* embaraz* gravidan* gravid* zwanger* ovulation*
        fertility fruchtbarkeit* contracept* verhuet* verhüt* condom* kondom* abortion*
        abtreib* miscarri* viagra* sildenafil* tadalafil* libido* lubricant* gleitgel* vibrator*
        dildo* erotic* erotik* porn* sex sexual* sextoy* adult lgbt* gay lesbian* lesbisch*
        """,
    "mind and addiction": """
        antidepress* depress* fluoxetin* prozac* sertralin* citalopram* lithium* benzodiaz*
        diazepam* valium* psych* methadon* naloxon* buprenorph* nicotine nikotin* rehab*
        alcoholi* alkoholi* suicid* suizid* cannabis* marijuana* heroin* cocain* kokain* sucht*
        """,
    "faith and origin": """
        bible* bibel* quran* koran* torah* thora* talmud* rosary* rosenkranz* halal* kosher*
        koscher* church* kirche* mosque* moschee* synagog* religio* genetic* gentest* dna
        ancestry* paternity* vaterschaft*
        """,
    "money and the law": """
        bankrupt* insolven* schulden* schuldner* debt* payday* gambling* casino* gluecksspiel*
        glücksspiel* criminal* prison* bewaehrung* bewährung* politic* politisch*
        """,
}  # fmt: skip


@cache
def topic_of(item: str) -> str:
    """What an item speaks of that may be private; empty where it says nothing of the kind.

    >>> topic_of("hiv-self-test"), topic_of("Schwangerschaftstest"), topic_of("contest")
    ('illness', 'pregnancy and sex', '')
    """
    words = words_in(item)
    for topic, patterns in _TOPICS.items():
        if any(fnmatchcase(word, pattern) for word in words for pattern in patterns.split()):
            return topic
    return ""
