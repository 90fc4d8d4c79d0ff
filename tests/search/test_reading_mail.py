"""Messages of people: what is said in them, without who said it to whom and when."""

from __future__ import annotations

import base64
import io
from email.message import EmailMessage
from pathlib import Path

import pytest

from at_hand import SECRET
from reading_at_hand import a_pdf, only, put, read, skipped
from reticent.search.documents import PersonalDocument, SkippedFile, mail
from reticent.search.documents.mail import without_envelopes
from reticent.search.documents.reading import read_documents

MARK = "From ann@example.org Mon Jan 03 10:00:00 2022\n"


@pytest.fixture(autouse=True)
def _here(work: Path) -> None:
    """Each test has an empty folder."""


def a_message(
    text: str = "Shall we play?", subject: str = "Badminton", **headers: str
) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Nameone Nametwo <nameone@example.org>"
    message["To"] = "Namethree <namethree@example.org>"
    message["Date"] = "Mon, 03 Jan 2022 10:00:00 +0100"
    message["Subject"] = subject
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def said(message: EmailMessage | str | bytes) -> str:
    data = bytes(message) if isinstance(message, EmailMessage) else message
    return only(put("a.eml", data)).text


def test_a_message() -> None:
    found = only(put("a.eml", bytes(a_message())))
    assert found == PersonalDocument("a.eml", "Badminton", "Badminton\nShall we play?", "mail")


@pytest.mark.parametrize("how", ["quoted-printable", "base64", "8bit"])
@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "cp1252"])
def test_messages_in_many_codes(how: str, charset: str) -> None:
    message = a_message(subject="Über Grüße")
    message.set_content("Schöne Grüße aus Köln", charset=charset, cte=how)
    assert said(message) == "Über Grüße\nSchöne Grüße aus Köln"


@pytest.mark.parametrize(
    "declared", ["us-ascii", "utf-8", "iso-8859-1", "no-such", "zlib", '"', "=?x"]
)
@pytest.mark.parametrize("real", ["utf-8", "latin-1"])
def test_messages_that_lie_about_their_code(declared: str, real: str) -> None:
    head = f"Subject: Grüße\nContent-Type: text/plain; charset={declared}\n\nSchöne Übung"
    assert said(head.encode(real)) == "Grüße\nSchöne Übung"


def test_subjects() -> None:
    for raw, title in [
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?= aus =?latin-1?B?S/ZsbiE=?=", "Grüße aus Köln!"),
        ("=?utf-8?q?broken", "=?utf-8?q?broken"),
        ("=?utf-8?b?!!!?= x", None),
        ("a long\n one", "a long one"),
        ("", "(no subject)"),
    ]:
        found = only(put("a.eml", f"Subject: {raw}\n\nword"))
        assert title is None or found.title == title
    assert said("Subject: Re: AW: Fwd: [club] Re-use\n\nword") == "[club] Re-use\nword"


def test_nothing_of_the_envelope_is_text() -> None:
    text = said(a_message("Write to bob@example.org, see https://example.org/nameone, or +49 123."))
    assert "name" not in text.lower()
    assert "example" not in text
    assert "Jan" not in text


def test_lines_that_only_greet_are_left_out() -> None:
    message = "Dear Namethree,\n\nthe tide turns.\nNameone sails on Monday with us.\n\nYours,\nNameone N.\n\n> Hi Nametwo!\n> Go"
    head = "From: =?utf-8?q?Nameone?= Nametwo <a@example.org>\nTo: b@example.org, 'Namethree' <b@example.org>\nSubject: tide\n\n"
    lines = [line for line in said(head + message).split("\n") if line.strip()]
    assert lines == [
        "tide",
        "the tide turns.",
        "Nameone sails on Monday with us.",
        "Yours,",
        "> Go",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "Gladly!\n\nOn Mon, 3 Jan 2022 at 10:00, Nameone <nameone@example.org> wrote:\n> Badminton?",
        "Gladly!\n\nOn Mon, 3 Jan 2022 at 10:00, Nameone Nametwo Namethree\n<nameone@example.org> wrote:\n\n> Badminton?",
        "Gladly!\n\nAm 03.01.22 um 10:00 schrieb Nameone:\n> Badminton?",
        "Gladly!\n\nLe lun. 3 janv. 2022 à 10:00, Nameone a écrit :\n> Badminton?",
        "Gladly!\n-----Original Message-----\nFrom: Nameone\nSent: Monday\nTo: Nametwo; Namethree;\n Namefour <f@example.org>\nSubject: Badminton?\n\nBadminton?",
        "Gladly!\n________________________________\nVon: Nameone\nGesendet: Montag\nAn: Nametwo\nBetreff: Re: x\n\nBadminton?",
        "Gladly!\n\n> From: Nameone\n> To: Nametwo\n>\n> Badminton?",
        "Gladly!\n\n---------- Forwarded message ---------\n*From:* Nameone\n*Date:* Mon\n\nBadminton?",
        "Gladly!\n\nBegin forwarded message:\n\n*From: *Nameone\n\nBadminton?",
        "Gladly!\n-- \nNameone Nametwo\nExample Ltd\n\nOn Monday, Nametwo wrote:\n> Badminton?",
        "Gladly!\n> Badminton?\n-- \nNameone\n+49 123 456",
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: Name256\n\nGladly! Badminton?\n-----BEGIN PGP SIGNATURE-----\n\nnameabc\n-----END PGP SIGNATURE-----\n",
    ],
)
def test_what_answers_repeat_of_envelopes_is_left_out(answer: str) -> None:
    left = without_envelopes(answer)
    assert "Gladly!" in left
    assert "Badminton?" in left
    assert "Name" not in left.replace("Name256", "")


@pytest.mark.parametrize(
    "text",
    [
        "To: do\nDate: open",
        "A: yes\nAn: no",
        "Subject: rowing",
        "Pro: fun\nContra: rain",
        "She wrote: go on",
        "---\nA rule",
        "--\nno signature",
    ],
)
def test_what_only_looks_like_an_envelope_stays(text: str) -> None:
    assert without_envelopes(text).strip() == text


def test_of_several_forms_the_plain_one_is_read() -> None:
    message = a_message("in plain")
    message.add_alternative("<p>in HTML</p>", subtype="html")
    assert said(message) == "Badminton\nin plain"
    message = a_message(" \n")
    message.add_alternative("<style>no</style><p>Half<b>bold</b><br>-- <br>Name", subtype="html")
    assert said(message) == "Badminton\nHalfbold"


def test_html_alone_with_what_it_quotes() -> None:
    message = a_message()
    message.set_content(
        "<p>Gladly!</p><hr><b>From:</b> Nameone<br><b>Sent:</b> Monday<br><b>To:</b> Nametwo<p>Badminton?",
        subtype="html",
    )
    assert said(message).split("\n") == ["Badminton", "Gladly!", "Badminton?"]


def test_attachments_by_their_type() -> None:
    message = a_message()
    for content, kind, name in [
        (a_pdf("In the PDF"), ("application", "pdf"), "a.pdf"),
        (a_pdf("In another"), ("application", "octet-stream"), "B.PDF"),
        ("In the Grüße".encode("latin-1"), ("text", "plain"), "c.txt"),
        (b"<script>no</script><p>In the page", ("text", "html"), "d.html"),
        (b"\x89PNG" + SECRET.encode(), ("image", "png"), "e.png"),
        (b"PK" + SECRET.encode(), ("application", "zip"), "f.zip"),
    ]:
        message.add_attachment(content, maintype=kind[0], subtype=kind[1], filename=name)
    message.add_attachment(a_message("within", subject="Fwd: inner"))
    assert said(message).split("\n") == [
        "Badminton", "Shall we play?", "inner", "within",
        "In the PDF", "In another", "In the Grüße", "In the page",
    ]  # fmt: skip


def test_attachments_that_cannot_be_read_are_told_beside_the_message() -> None:
    message = a_message()
    message.add_attachment(
        a_pdf(SECRET)[:50], maintype="application", subtype="pdf", filename=f"{SECRET}.pdf"
    )
    document, left_out = read_documents([put("a.eml", bytes(message))])
    assert isinstance(document, PersonalDocument)
    assert left_out == SkippedFile("a.eml", "attached and damaged")


def test_encrypted_messages() -> None:
    parts = "multipart/encrypted; boundary=b", "application/pkcs7-mime; smime-type=enveloped-data"
    for kind in parts:
        message = f"Subject: {SECRET}\nContent-Type: {kind}\n\n--b\n\n{SECRET}\n--b--\n"
        assert skipped(put("a.eml", message)) == "encrypted"


def test_spam_and_messages_without_a_word() -> None:
    assert skipped(put("a.eml", bytes(a_message(X_Spam_Flag="YES")))) == "marked as spam"
    labelled = a_message(X_Gmail_Labels="Spam,Unread")
    assert skipped(put("b.eml", bytes(labelled))) == "marked as spam"
    assert skipped(put("c.eml", "Subject:\n\n")) == "empty"


# --- many messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["inbox.mbox", "Inbox", "mail.txt", "All mail.mbx"])
def test_a_mailbox_by_numbers(name: str) -> None:
    body = "From here on\n\nFrom 10:00 to Monday we play\n>From the sea"
    put(name, MARK + a_message(body).as_string() + "\n" + MARK + a_message("two").as_string())
    first, second = read(name)
    assert (first.place, second.place) == (f"{name}#1", f"{name}#2")
    assert first.text == f"Badminton\n{body.replace('>From', 'From')}"
    assert second.text == "Badminton\ntwo"


def test_a_mailbox_of_few_words_and_windows_lines() -> None:
    put(
        "a.mbox",
        b"From x\r\nSubject: one\r\n\r\nme\r\nFrom me\r\n\r\nFrom y\r\nSubject: two\r\n\r\n",
    )
    assert [one.title for one in read("a.mbox")] == ["one", "two"]


def test_no_mailbox_under_its_name() -> None:
    assert skipped(put("a.mbox", f"Hello {SECRET}")) == "no mailbox, whatever its name says"


def test_a_mailbox_is_never_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "MOST_BYTES", 1_000_000)
    large = "Subject: large\n\n" + "words " * 10 + "\n"
    put("a.mbox", MARK + "Subject: one\n\n" + MARK + large * 20_000 + MARK + "Subject: three\n\n" + MARK
        + "Subject: four\n\n" + "x" * 3_000_000 + "\n" + MARK + "Subject: five\n\n")  # fmt: skip
    one, two, three, four, five = read_documents(["a.mbox"])
    assert two == SkippedFile("a.mbox#2", "larger than 1 MB")
    assert four == SkippedFile("a.mbox#4", "larger than 1 MB")
    assert [getattr(x, "title", "") for x in (one, three, five)] == ["one", "three", "five"]
    held = max(
        len(data or b"") for data in mail.in_mailbox(io.BytesIO(Path("a.mbox").read_bytes()))
    )
    assert held <= 1_000_000


def test_maildir() -> None:
    for folder in ("Mail", "Mail/.Sent"):
        for part in ("cur", "new", "tmp"):
            Path(folder, part).mkdir(parents=True)
    put("Mail/cur/1.M2.host:2,S", bytes(a_message("one")))
    put("Mail/new/2.M3.host", bytes(a_message("two")))
    put("Mail/tmp/3.M4.host", SECRET)
    put("Mail/.Sent/cur/4.M5.host:2,S", bytes(a_message("three")))
    put("Mail/dovecot.index.log", SECRET)
    found = [(one.place, one.kind, one.text.split()[-1]) for one in read("Mail")]
    assert found == [
        ("Mail/.Sent/cur/4.M5.host:2,S", "mail", "three"),
        ("Mail/cur/1.M2.host:2,S", "mail", "one"),
        ("Mail/new/2.M3.host", "mail", "two"),
    ]
    assert len(read("Mail/cur")) == 1


def test_a_message_without_a_name_for_what_it_is() -> None:
    assert only(put("17", bytes(a_message()))).kind == "mail"
    assert only(put("18", "Date: today\nTime: now\n\nwords")).kind == "text"


# --- messages made to do harm ----------------------------------------------------------------------


def nested(depth: int) -> bytes:
    opened = "".join(
        f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(depth)
    )
    return f"Subject: deep\n{opened}\n{SECRET}\n".encode()


@pytest.mark.parametrize(
    "message",
    [
        nested(200),
        nested(3_000),
        b"Content-Type: message/rfc822\n\n" * 3_000,
        b"Content-Type: text/plain" + b";" * 500_000 + b"\n\nword",
        b"Content-Type: text/plain" + b'; a="b' * 100_000 + b"\n\nword",
        b"Subject: " + b"=?" * 500_000 + b"\n\nword",
        b"Subject: x" + b"\n y" * 300_000 + b"\n\nword",
        b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 20_000,
        b"Subject: x\nContent-Transfer-Encoding: base64\n\n" + b"=!" * 100_000,
        b"Subject: x\nContent-Transfer-Encoding: x-uuencode\n\nbegin 666 a\nMx\n",
        b"Subject: x\n\n" + b"From: a\n" * 50_000,
        b"Subject: x\n\n" + b"On a wrote: " * 50_000,
        b"Subject: x\n\n" + b"a" * 500_000 + b"@",
        b"Subject: x\n\n" + b"www." * 200_000,
        b"\0" * 100_000,
        b"Subject: x\n\nmany\0\0\0\0",
    ],
)
def test_messages_made_to_do_harm(message: bytes) -> None:
    for one in read_documents([put("a.eml", message)]):
        assert isinstance(one, PersonalDocument) or SECRET not in one.reason


def test_an_attachment_of_broken_base64() -> None:
    head = b"Subject: x\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n"
    assert said(head + base64.encodebytes(a_pdf("Rowing"))).split() == ["x", "Rowing"]
    found = list(read_documents([put("a.eml", head + b"JVBERi0x" + SECRET.encode())]))
    assert found[1] == SkippedFile("a.eml", "attached and damaged")
