"""Text out of the bytes of one file: plain text, Markdown, HTML and PDF.

Whatever the bytes are, there comes a text of bounded length or `UnreadableText`, in a time that
grows with the size of the file. Addresses, of mail and of the web, are taken out of every text:
they say who and where, and would stand in a profile as interests.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from reticent.search.documents import UnreadableText

EMPTY = "empty"
MOST_LETTERS = 50_000_000  # of one text
MOST_PAGES = 20_000  # of a PDF
_TITLE = 200  # letters
_IN_AN_ADDRESS = 2_000  # letters at most; what is longer is cut, and its rest stays

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as the one of UTF-16 does: asked first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Codecs of Python that no text is written in: some are slow, some warn of what they read.
_NO_CHARSETS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs"}
_SEVEN_BITS = re.compile(
    r"utf-?(7|16|32)|iso-?2022|hz"
)  # what looks like ASCII or UTF-8 and is not

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
# Without a switch for capitals, and beginning where a name can: each takes a fourth of the time so.
_WEB = re.compile(
    rf"(?<!\w)(?:[a-zA-Z][a-zA-Z+.-]{{1,15}}+://|[wW]{{3}}\.)[^\s<>\"'()]{{1,{_IN_AN_ADDRESS}}}"
)
_IN_A_NAME = r"[\w.!#$%&'*+/=?^`{|}~-]"
_MAIL = re.compile(rf"(?:mailto:)?(?<!{_IN_A_NAME}){_IN_A_NAME}++@[\w-][\w.-]{{0,253}}")

_HEADING = re.compile(r"^(?:#{1,6}[ \t]+|title:[ \t]*)(\S.*)$", re.M)
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I)
_UNSHOWN = [
    "head",
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "object",
    "textarea",
]
_INLINE = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "dfn", "em", "font", "i",
    "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt",
    "u", "var", "wbr",
]  # fmt: skip
_ENDLESS_TAG = re.compile(r"<([a-zA-Z][^\s<>/]*+)[^<>]{5000,}")
_MOST_ATTRIBUTES = 1_000  # the parser compares each one with all before it
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s<>/]*+)")
_CLOSE_THEMSELVES = {
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "param", "source", "td", "th", "tr", "track", "wbr",
}  # fmt: skip
_MOST_STEPS = 500_000_000  # of the parser up its open elements: about a second


class TitledText(NamedTuple):
    """What a file says, and what it calls itself: "" where it does not."""

    title: str
    text: str


def plain(data: bytes, charset: str = "") -> TitledText:
    """A text file."""
    return TitledText("", _some(legible(decoded(data, charset))))


def markdown(data: bytes, charset: str = "") -> TitledText:
    """A text file whose first heading is its title."""
    text = legible(decoded(data, charset))
    heading = _HEADING.search(text, 0, 10_000)
    return TitledText(one_title(heading[1].strip("#\"' \t")) if heading else "", _some(text))


def html(data: bytes, charset: str = "") -> TitledText:
    """A page: what a reader sees of it, and its title, which is part of the text."""
    page = _page(decoded(data, charset or _declared(data)))
    return TitledText(page.title, _some("\n".join(part for part in page if part)))


def _declared(data: bytes) -> str:
    found = _DECLARED.search(data, 0, 4096)
    charset = found[1].decode("ascii") if found else ""
    # It was read out of single bytes, so whatever it says, it is not written in pairs of them.
    return "" if charset.lower().startswith(("utf-16", "utf-32")) else charset


def _page(source: str) -> TitledText:
    """The title of a page and, apart from it, its text: a line for each run of text in it."""
    from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

    try:
        page = LexborHTMLParser(_tamed(source), options=LexborDocumentOptions.WO_EVENTS)
        title = page.css_first("head title, h1")
        named = one_title(title.text()) if title is not None else ""
        page.strip_tags(_UNSHOWN)
        page.unwrap_tags(_INLINE)  # so that half a word in bold stays half a word
        page.merge_text_nodes()
        root = page.root
        nodes: Iterator[Any] = iter(()) if root is None else root.traverse(include_text=True)
        lines = (" ".join((node.text_content or "").split()) for node in nodes if node.is_text_node)
        return TitledText(named, legible("\n".join(line for line in lines if line)))
    except SelectolaxError:
        raise UnreadableText("damaged") from None


def _tamed(source: str) -> str:
    """A page as it is, unless it is made to take hours."""
    source = _ENDLESS_TAG.sub(
        lambda tag: tag[0] if len(tag[0].split(None, _MOST_ATTRIBUTES)) <= _MOST_ATTRIBUTES
        else f"<{tag[1]} ", source.replace("\0", " "),
    )  # fmt: skip
    if source.count("<") ** 2 > _MOST_STEPS:
        depth = steps = 0
        for closes, name in _TAG.findall(source):
            if name.lower() not in _CLOSE_THEMSELVES:
                depth = max(depth + (-1 if closes else 1), 0)
            steps += depth
        if steps > _MOST_STEPS:
            raise UnreadableText("nested too deep to be read")
    return source


def pdf(data: bytes) -> TitledText:
    """The text of a PDF file, page by page. In reading, it is asked for in another process."""
    import pypdfium2

    try:
        with closing(pypdfium2.PdfDocument(data)) as document:
            if len(document) > MOST_PAGES:
                raise UnreadableText(f"of more than {MOST_PAGES:,} pages")
            title = one_title(document.get_metadata_value("Title"))
            text = "\n".join(_pages(document))
    except pypdfium2.PdfiumError as error:
        encrypted = getattr(error, "err_code", None) in _ENCRYPTED
        raise UnreadableText("encrypted" if encrypted else "damaged") from None
    if not text.strip():
        raise UnreadableText("without any text, as scans are")
    return TitledText(title, legible(text))


_ENCRYPTED = (4, 5)  # what PDFium says of a file that wants a password, or another way to be opened


def _pages(document: Any) -> Iterator[str]:
    """The text of each page that can be read; one that is broken does not spoil the others."""
    import pypdfium2

    left = MOST_LETTERS
    for number in range(len(document)):
        try:
            with closing(document[number]) as page, closing(page.get_textpage()) as letters:
                if (left := left - letters.count_chars()) < 0:
                    raise UnreadableText("too long")
                # Words that a line's end divides: PDFium marks the hyphen as U+FFFE or U+0002.
                yield re.sub(r"[\ufffe\x02]\s*", "", letters.get_text_range())
        except pypdfium2.PdfiumError:
            continue


def decoded(data: bytes, charset: str = "") -> str:
    """Bytes as text: by their mark, as UTF-8, by what they are said to be, and as old Windows does.

    What says it is Latin and reads as UTF-8 is UTF-8: no other text does by chance.

    >>> decoded("Grüße".encode(), "latin-1"), decoded("Grüße".encode("cp1252"), "no-such-charset")
    ('Grüße', 'Grüße')
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if _is_text_in(charset) and _SEVEN_BITS.match(charset.lower()):
        return data.decode(charset, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    guess = data.decode("utf-8", "replace")
    bad = guess.count("\ufffd")
    if bad * 10 < sum(sign > "\x7f" for sign in guess) - bad:  # UTF-8, with a few broken places
        return guess
    if _is_text_in(charset) and codecs.lookup(charset).name not in ("ascii", "utf-8"):
        return data.decode(charset, "replace")
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _is_text_in(charset: str) -> bool:
    """Whether texts can be written in what is said to be a charset."""
    try:
        name = codecs.lookup(charset).name if charset else ""
        b" ".decode(charset or "ascii")  # refuses codecs that give bytes
    except (LookupError, ValueError, UnicodeError):
        return False
    return bool(name) and name.replace("_", "-") not in _NO_CHARSETS


def legible(text: str) -> str:
    """A text without addresses and signs that nobody can see; refused if many are such signs.

    >>> legible("Ask anna@example.org, or see https://example.org/x?id=1.")
    'Ask  , or see  '
    """
    if len(text) > MOST_LETTERS:
        raise UnreadableText("too long")
    unseen = 0
    if _CONTROL.search(text):
        text, unseen = _CONTROL.subn(" ", text)
    if unseen * 100 > len(text):
        raise UnreadableText("of a kind that is no text")
    if "@" in text:
        text = _MAIL.sub(" ", text)
    return _WEB.sub(" ", text) if "://" in text or "www." in text.lower() else text


def one_title(text: str) -> str:
    """A title as a short line."""
    return " ".join(printable(text[: 10 * _TITLE]).split())[:_TITLE]


def printable(text: str) -> str:
    """A text without what cannot be written or would speak to a terminal."""
    return _CONTROL.sub(" ", text)


def _some(text: str) -> str:
    if not text.strip():
        raise UnreadableText(EMPTY)
    return text
