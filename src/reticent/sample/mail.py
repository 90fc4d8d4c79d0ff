"""An invented person's mail, notes and a saved page, and a small library to search in.

Whoever they belong to sails, works on an archive's catalogue, bakes, has an allotment, and a bad
knee that is nobody's business. The library tells the same words in several meanings: a port is a
harbour, a wine, or a number. All addresses end in `.example`, which nobody can have.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

MAILS = 60
HOLDS = ("library", "mine")
_MOST_SAID = 3  # sentences of a mail
_FIRST = datetime(2025, 9, 1, 7, 30, tzinfo=UTC)
_OWNER = "Ines <ines@home.example>"


class _Matter(NamedTuple):
    """What people write about: how often of sixty times, who writes, subjects and sentences.

    There are so many sentences that none comes often: what mails have in common is the matter.
    """

    often: int
    people: Sequence[str]
    subjects: Sequence[str]
    sentences: Sequence[str]


_MATTERS = (
    _Matter(
        19,
        ("Karla <karla@sailing.example>", "Tomek <tomek@sailing.example>"),
        ("Regatta on Sunday", "Who sails?", "Wind and tide", "Back from the island"),
        (
            "The regatta starts at ten, so the boat should be out of the harbour by nine.",
            "A strong wind from the west is forecast, we reef the sails early.",
            "Can you buy another sheet for the jib before the regatta?",
            "Our boat has a berth in the harbour until Monday.",
            "Wind against tide makes it rough outside the harbour.",
            "In June the regatta was lost because a sail went up too late.",
            "Tomek comes along, then we are three in the boat.",
            "If the wind drops, we stay in the harbour and mend sails.",
            "With the tide behind us the boat is home by six.",
            "Nobody protested, so our boat came in fourth at the regatta.",
            "The harbour was full, forty boats and no wind.",
            "I would rather sail round the island than win a regatta.",
            "Somebody took our berth, the harbour master sends him away.",
            "The tide turns at noon; whoever sails later has it against him.",
            "Two boats touched at the start, and the regatta went on without them.",
            "Ten knots of wind, a warm boat, what more does one want.",
            "My nephew wants to learn how to sail, is there room in your boat?",
            "The spinnaker is torn, we sail under jib and main.",
            "Let us moor in the inner harbour, the wind goes round tonight.",
            "A tide table hangs in the harbour office.",
            "Do not forget oilskins, the boat gets wet in such a wind.",
            "The regatta of the neighbours is open to boats under eight metres.",
            "Last year we waited two days for wind in that harbour.",
            "I marked the shallows; at low tide a boat like ours runs aground.",
            "The prize of the regatta is a barrel of herring.",
            "Fog, no wind, and the ferry in front of the harbour.",
        ),
    ),
    _Matter(
        8,
        ("Boatyard Voss <yard@voss.example>", "Karla <karla@sailing.example>"),
        ("Paint for the hull", "Repairs before spring", "The winch again"),
        (
            "The hull of the boat is sanded and can be painted.",
            "Three coats of varnish on the tiller, and a fourth one in spring.",
            "Your winch is repaired, it only wanted grease.",
            "In October the crane lifts every boat out of the harbour.",
            "White paint above the water line, red paint below it.",
            "Scratches at the bow are repaired, the laminate is sound.",
            "The boat lies on its cradle in hall two.",
            "A leak at the hatch, the sealing is brittle.",
            "We found the paint that you used on the hull ten years ago.",
            "The bill covers varnish, paint and the crane in the harbour.",
        ),
    ),
    _Matter(
        14,
        ("Adaeze <adaeze@archive.example>", "Jonas <jonas@archive.example>"),
        ("Catalogue: import", "Minutes of Tuesday", "Scans of the maps", "Metadata, again"),
        (
            "The import into the catalogue stopped at 12,000 records.",
            "Could you check the metadata of the maps once more?",
            "The archive sends a second box of scans.",
            "A record without a place is not found in the catalogue.",
            "Jonas looked at a hundred records by hand, six lacked metadata.",
            "There is no money left for scans, says the archive.",
            "The meeting about metadata moves to Thursday.",
            "People search the catalogue for streets by their former names.",
            "Half of the scans are upside down, a script can turn them.",
            "The archive wants its own field in every record.",
            "Dates in the catalogue: is 1801 a year or a shelf mark?",
            "I removed 300 records that stood twice in the catalogue.",
            "A student may help with metadata in summer.",
            "Please publish no scans of letters yet, the archive asks the heirs.",
            "The catalogue was down on Friday, a disk was full.",
            "Which licence do we give to scans and metadata?",
            "Spelling in records follows the original, the catalogue has both.",
            "The archive celebrates its hundredth birthday with an exhibition.",
        ),
    ),
    _Matter(
        8,
        ("Mette <mette@bakers.example>",),
        ("Starter for you", "Loaf with 80 % rye", "Crust!"),
        (
            "I keep a jar of starter for you, feed it with rye.",
            "My dough was too wet, and yet the bread has a crust.",
            "Bake the bread for fifty minutes.",
            "Rye flour drinks more than wheat flour, so the dough sticks.",
            "Let the dough double, then it goes into the oven.",
            "A young starter makes mild bread, a lazy one makes it sour.",
            "Salt comes last, or the starter sulks.",
            "The oven has to be as hot as it gets, and steam helps the bread.",
            "Caraway in rye bread: yes or no?",
            "Cold dough is easier to shape.",
        ),
    ),
    _Matter(
        5,
        ("Allotments Westpark <office@westpark.example>", "Gül <guel@westpark.example>"),
        ("Compost on Saturday", "Seedlings to give away"),
        (
            "Compost for every garden on Saturday, with your own barrow.",
            "I have tomato seedlings to spare, they want sun.",
            "Beans and tomatoes came early in our garden, potatoes did not.",
            "Water the garden in the evening, seedlings die of thirst.",
            "Hedges of a garden are cut before March.",
            "Slugs ate my seedlings, all but the tomatoes.",
        ),
    ),
    _Matter(
        6,
        ("Physiotherapy Lindenhof <desk@lindenhof.example>",),
        ("Your appointment", "Exercises for the knee"),
        (
            "Your appointment with the physiotherapist is on Wednesday.",
            "Please do the exercise for the knee on five days.",
            "If the knee swells, leave out the exercise and rest.",
            "For the appointment we need the letter about your knee.",
            "The exercise with the band is for the other knee, too.",
            "Stairs are good for the knee, jumping is not.",
        ),
    ),
)
_GREETINGS = (
    "Hello,",
    "",
    "",
    "Good morning,",
    "",
    "",
    "Dear Ines,",
    "",
    "",
    "Hi,",
    "",
    "",
    "",
    "",
)


def write_mail(folder: Path, mails: int, seed: int) -> list[Path]:
    """Write all of it into a folder that is there; the same seed writes the same bytes."""
    given = files("reticent.sample") / "given"
    places = [folder / "mine/notes", folder / "mine/pages", folder / "library"]
    for place in places:
        place.mkdir(parents=True)
        for file in (given / place.name).iterdir():
            (place / file.name).write_bytes(file.read_bytes())
    inbox = folder / "mine/inbox.mbox"
    inbox.write_bytes(b"".join(_messages(mails, random.Random(seed))))
    return [inbox, *places]


def _messages(count: int, rng: random.Random) -> list[bytes]:
    often = [matter for matter in _MATTERS for _ in range(matter.often)]
    left: dict[str, list[str]] = {matter.subjects[0]: [] for matter in _MATTERS}
    when, made, coming = _FIRST, list[bytes](), list[_Matter]()
    for number in range(1, count + 1):
        when += timedelta(minutes=rng.randrange(600, 9000))
        coming = coming or rng.sample(often, len(often))
        matter = coming.pop()
        sentences = left[matter.subjects[0]]
        if len(sentences) < _MOST_SAID:  # all have been said: begin again, in another order
            sentences += rng.sample(matter.sentences, len(matter.sentences))
        said = [sentences.pop(0) for _ in range(rng.randint(2, _MOST_SAID))]
        made.append(_message(number, when, matter, said, rng))
    return made


def _message(
    number: int, when: datetime, matter: _Matter, said: Sequence[str], rng: random.Random
) -> bytes:
    """A mail as a mailbox holds it: some answer an earlier one, some come as a page, too."""
    sender, subject = rng.choice(matter.people), rng.choice(matter.subjects)
    paragraphs = [_GREETINGS[number % len(_GREETINGS)], " ".join(said), sender.partition(" ")[0]]
    if answers := rng.random() < 0.3:
        paragraphs.append(f"> {rng.choice(matter.sentences)}")
    text = "\n\n".join(part for part in paragraphs if part) + "\n"
    mail = EmailMessage(policy=SMTP.clone(linesep="\n"))
    mail["From"], mail["To"] = sender, _OWNER
    mail["Subject"] = f"Re: {subject}" if answers else subject
    mail["Date"] = format_datetime(when)
    mail["Message-ID"] = f"<{number}.{rng.getrandbits(32):08x}@{sender.partition('@')[2]}"
    mail.set_content(text)
    if rng.random() < 0.2:
        lines = "".join(f"<p>{part}</p>" for part in text.rstrip().split("\n\n"))
        mail.add_alternative(f"<html><body>{lines}</body></html>", subtype="html")
        mail.set_boundary(f"=={number}==")
    address = sender.partition("<")[2].rstrip(">")
    return f"From {address} {when:%a %b %d %H:%M:%S %Y}\n".encode() + mail.as_bytes() + b"\n"
