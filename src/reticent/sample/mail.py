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
_FIRST = datetime(2025, 9, 1, 7, 30, tzinfo=UTC)
_OWNER = "Ines <ines@home.example>"


class _Matter(NamedTuple):
    """What people write about: how often of sixty times, who writes, subjects and sentences."""

    often: int
    people: Sequence[str]
    subjects: Sequence[str]
    sentences: Sequence[str]


_MATTERS = (
    _Matter(
        18,
        ("Karla <karla@sailing.example>", "Tomek <tomek@sailing.example>"),
        ("Regatta on Sunday", "Crew for the weekend", "Sails and weather", "Back from the island"),
        (
            "The regatta starts at ten, so the boat should leave the harbour at nine.",
            "There will be a strong wind from the west, we reef the sails before the start.",
            "Can you bring the new sheet for the jib? The old one is worn.",
            "The harbour master has a berth for our boat until Monday.",
            "With wind against the tide it gets rough at the harbour entrance.",
            "In the last regatta we lost two minutes because a sail was up too late.",
            "Tomek sails with us, so we are three in the boat.",
            "If the wind drops we stay in the harbour and look after the sails.",
            "We sail back with the tide on Sunday, the boat needs to be in by six.",
            "Nobody protested at this regatta, and our boat came in fourth.",
        ),
    ),
    _Matter(
        9,
        ("Boatyard Voss <yard@voss.example>", "Karla <karla@sailing.example>"),
        ("Paint for the hull", "Repairs before spring", "The winch again"),
        (
            "The hull is sanded, now the boat waits for paint.",
            "Varnish on the tiller needs three coats, and dry weather.",
            "The winch of your boat is repaired, it only needed grease.",
            "The yard takes the boat out of the harbour in October for repairs.",
            "For the hull we take the white paint of last year, below the water line the red one.",
            "Scratches at the bow can be repaired, the laminate of the boat is dry.",
        ),
    ),
    _Matter(
        14,
        ("Adaeze <adaeze@archive.example>", "Jonas <jonas@archive.example>"),
        ("Catalogue: next import", "Minutes of Tuesday", "Scans of the maps", "Metadata, again"),
        (
            "The import of the catalogue stopped at 12,000 records, the dates were wrong.",
            "Please look at the metadata of the maps before we publish the catalogue.",
            "The archive sends the scans of the second box next week.",
            "Every record in the catalogue needs a date and a place, or it is not found.",
            "Jonas checked a hundred records by hand, six had no metadata at all.",
            "The budget for scans is spent, the archive asks for more.",
            "The meeting about metadata moves to Thursday, the archive brings its scheme.",
            "Readers search the catalogue for streets, so records need the old street names.",
        ),
    ),
    _Matter(
        9,
        ("Mette <mette@bakers.example>", "Karla <karla@sailing.example>"),
        ("Starter for you", "Loaf with 80 % rye", "Crust!"),
        (
            "I keep a jar of starter for you, feed it with rye flour.",
            "My dough was too wet, but the bread has a good crust.",
            "Put the bread into a very hot oven and bake it for fifty minutes.",
            "Rye flour takes more water than wheat flour, so the dough sticks.",
            "Let the dough rise until it has doubled, then bake the bread at once.",
            "With an old starter the bread gets sour, with a young one it stays mild.",
        ),
    ),
    _Matter(
        6,
        ("Allotments Westpark <office@westpark.example>", "Gül <guel@westpark.example>"),
        ("Compost on Saturday", "Seedlings to give away"),
        (
            "There is compost for every garden on Saturday, bring a barrow.",
            "I have tomato seedlings to spare, they want sun and good compost.",
            "Beans and tomatoes of my garden were early, the potatoes late.",
            "Water the garden in the evening, the seedlings dry out.",
        ),
    ),
    _Matter(
        7,
        ("Physiotherapy Lindenhof <desk@lindenhof.example>",),
        ("Your appointment", "Exercises for the knee"),
        (
            "Your next appointment with the physiotherapist is on Wednesday.",
            "Please do the exercise for the knee three times a week.",
            "If the knee swells, leave out the exercise and call the physiotherapist.",
            "Bring the letter about your knee to the appointment.",
        ),
    ),
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
    often = [matter.often for matter in _MATTERS]
    when, made = _FIRST, []
    for number in range(1, count + 1):
        when += timedelta(minutes=rng.randrange(600, 9000))
        [matter] = rng.choices(_MATTERS, often)
        made.append(_message(number, when, matter, rng))
    return made


def _message(number: int, when: datetime, matter: _Matter, rng: random.Random) -> bytes:
    """A mail as a mailbox holds it: some answer an earlier one, some come as a page, too."""
    sender, subject = rng.choice(matter.people), rng.choice(matter.subjects)
    said = rng.sample(matter.sentences, k=min(len(matter.sentences), rng.randint(3, 4)))
    greeting, farewell = "Hi Ines,", sender.partition(" <")[0]
    text = "\n\n".join([greeting, " ".join(said), farewell])
    answers = rng.random() < 0.3
    if answers:
        text += f"\n\nInes wrote:\n> {rng.choice(matter.sentences)}\n"
    mail = EmailMessage(policy=SMTP.clone(linesep="\n"))
    mail["From"], mail["To"] = sender, _OWNER
    mail["Subject"] = f"Re: {subject}" if answers else subject
    mail["Date"] = format_datetime(when)
    mail["Message-ID"] = f"<{number}.{rng.getrandbits(32):08x}@{sender.partition('@')[2]}"
    mail.set_content(text)
    if rng.random() < 0.2:
        lines = "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
        mail.add_alternative(f"<html><body>{lines}</body></html>", subtype="html")
        mail.set_boundary(f"=={number}==")
    address = sender.partition("<")[2].rstrip(">")
    return f"From {address} {when:%a %b %d %H:%M:%S %Y}\n".encode() + mail.as_bytes() + b"\n"
