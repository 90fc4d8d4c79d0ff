"""What the parts of a released workbook may hold, and a look at one that tells what else it does.

Whatever is not listed here is told: a list of what is bad would never be complete. Texts stand in
cells; everywhere else stand numbers, references to cells, and words of this vocabulary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat


def _words(text: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for word in text.split())


# --- the vocabulary ------------------------------------------------------------------------------

_TEXT = _words("r rPr t b i u sz color rFont family scheme charset vertAlign strike")
_SHEET = _TEXT | _words(
    "worksheet dimension sheetViews sheetView pane selection sheetFormatPr cols col sheetData row "
    "c is v f autoFilter pageMargins sheetPr pageSetUpPr outlinePr pageSetup printOptions tabColor "
    "ignoredErrors ignoredError phoneticPr"
)
_BOOK = _words(
    "workbook fileVersion workbookPr bookViews workbookView sheets sheet definedNames definedName "
    "calcPr revisionPtr extLst ext calcFeatures feature AlternateContent Choice"
)
_STYLES = _words(
    "styleSheet numFmts numFmt fonts font b i u strike sz color name family scheme charset fills "
    "vertAlign fill patternFill fgColor bgColor gradientFill stop borders border left right top "
    "bottom diagonal start end vertical horizontal cellStyleXfs cellXfs xf alignment protection "
    "cellStyles cellStyle dxfs dxf tableStyles tableStyle colors indexedColors rgbColor mruColors "
    "extLst ext slicerStyles timelineStyles"
)
_CORE = _words("coreProperties creator lastModifiedBy created modified")
_APP = _words(
    "Properties Application DocSecurity ScaleCrop HeadingPairs vector variant lpstr i4 "
    "TitlesOfParts Company Manager HyperlinkBase LinksUpToDate SharedDoc HyperlinksChanged "
    "AppVersion TotalTime Template"
)
_THEME = _words(
    "accent1 accent2 accent3 accent4 accent5 accent6 alpha bevelT bgFillStyleLst bodyPr camera "
    "clrScheme cs dk1 dk2 ea effectLst effectRef effectStyle effectStyleLst ext extLst "
    "extraClrSchemeLst fillRef fillStyleLst fillToRect fmtScheme folHlink font fontRef fontScheme "
    "gradFill gs gsLst hlink latin lightRig lin ln lnDef lnRef lnStyleLst lstStyle lt1 lt2 lumMod "
    "majorFont minorFont miter objectDefaults outerShdw path prstDash rot satMod scene3d "
    "schemeClr shade solidFill sp3d spPr srgbClr style sysClr theme themeElements themeFamily "
    "tint"
)  # fmt: skip
_NAMES = _words(
    "Aptos Aptos_Display Aptos_Narrow Arab Arial Armn Bad Beng Bopo Bugi Calculation Calibri "
    "Calibri_Light Cambria Cans Carlito Check_Cell Cher Comma Comma_[0] Consolas Courier_New "
    "Currency Currency_[0] DaunPenh Default DejaVu_Sans Deva Dezimal DokChampa "
    "Droid_Sans_Fallback Ebrima Estrangelo_Edessa Ethi Euphemia Explanatory_Text "
    "Followed_Hyperlink FreeSans Gautami Geor Georgia Good Gujr Guru Hang Hans Hant Heading "
    "Heading_1 Heading_2 Heading_3 Heading_4 Hebr Helvetica Helvetica_Neue Hyperlink Input "
    "Iskoola_Pota Java Javanese_Text Jpan Kalinga Kartika Khmr Knda Laoo Latha Leelawadee_UI "
    "Liberation_Sans Liberation_Serif Linked_Cell Lisu Lohit_Devanagari Lucida_Sans MV_Boli "
    "Mangal Menlo Microsoft_Himalaya Microsoft_JhengHei Microsoft_New_Tai_Lue Microsoft_Tai_Le "
    "Microsoft_Uighur Microsoft_YaHei Microsoft_Yi_Baiti Milliers Mlym Mong Mongolian_Baiti "
    "Monétaire MoolBoran Myanmar_Text Mymr Neutral Nirmala_UI Nkoo Normal Normale Normalny Note "
    "Noto_Sans Noto_Sans_CJK_SC Nyala Office Office_Theme Olck Orya Osma Output Percent Phag "
    "Phagspa Plantagenet_Cherokee Pourcentage Prozent Raavi Segoe_UI Shruti Sinh Sora Standaard "
    "Standard Sylfaen Syrc Syre Syrj Syrn Tahoma Tale Talu Taml Telu Tfng Thaa Thai Tibt "
    "Times_New_Roman Title Total Tunga UTF-8 Uigh Verdana Viet Vrinda Warning_Text Währung Yiii "
    "宋体 新細明體 游ゴシック 游ゴシック_Light 等线 等线_Light 맑은_고딕 ＭＳ_Ｐゴシック"
)  # fmt: skip
_TOKENS = _words(
    "1.0 PivotStyleLight16 PivotStyleMedium9 SlicerStyleLight1 TableStyleMedium2 "
    "TableStyleMedium9 TimeSlicerStyleLight1 accent1 all asDisplayed atEnd auto autoNoTable b "
    "baseline bottom bottomLeft bottomRight center circle context ctr d dashed dcterms:W3CDTF "
    "displayed distributed dotted double downThenOver e fill flat frozen frozenSplit "
    "fullwidthKatakana general gray125 hair i4 inlineStr iterate justify landscape left linear lo "
    "lpstr major manual medium microsoft.com:RD minor n noConversion none normal "
    "orthographicFront overThenDown pageBreakPreview pageLayout percent phClr placeholders "
    "portrait preserve rels right s screen single sng solid split str subscript superscript t "
    "thick thin threePt top topLeft topRight tx1 userSet variant visible window windowText x14 "
    "x14ac x15 x15ac x16r2 xl xml xr xr10 xr2 xr3 xr6 yes"
)  # fmt: skip
_ATTRIBUTES = _words(
    "ContentType Extension Id Ignorable PartName Requires Target TargetMode Type a activeCell "
    "activeCellId activePane activeTab algn alignment ang appName applyAlignment applyBorder "
    "applyFill applyFont applyNumberFormat applyProtection auto autoFilterDateGrouping b "
    "backupFile baseColWidth baseType bestFit blackAndWhite blurRad borderId bottom builtinId "
    "calcId calcMode calcOnSave cap cellComments cmpd coauthVersionLast coauthVersionMax codeName "
    "collapsed colorId concurrentCalc copies count cp customBuiltin customFormat customHeight "
    "customList customWidth date1904 dc dcmitype dcterms defaultColWidth defaultGridColor "
    "defaultPivotStyle defaultRowHeight defaultSlicerStyle defaultTableStyle defaultThemeVersion "
    "defaultTimelineStyle degree diagonalDown diagonalUp dir dist documentId draft dyDescent "
    "enableFormatConditionsCalculation encoding fillId filterMode filterPrivacy firstPageNumber "
    "firstSheet fitToHeight fitToPage fitToWidth fontId footer formatCode formatColumns "
    "formatRows fullCalcOnLoad gradientType gridLines gridLinesSet h header headings hidden "
    "horizontal horizontalCentered horizontalDpi ht iLevel id idx indent indexed iterate "
    "iterateCount iterateDelta justifyLastLine knownFonts l lastClr lastEdited lat left lim "
    "localSheetId locked lon lowestEdited max mc min minimized name numFmtId numberStoredAsText "
    "orientation outline outlineLevel outlineLevelCol outlineLevelRow pageOrder pane panose "
    "paperSize path patternType pivotButton pos position prst published quotePrefix r "
    "readingOrder ref refMode relativeIndent rev rgb rig right rightToLeft rotWithShape rupBuild "
    "s scale scaled script sheetId showFormulas showGridLines showHorizontalScroll showObjects "
    "showOutlineSymbols showRowColHeaders showSheetTabs showVerticalScroll showZeros shrinkToFit "
    "size space spans sqref standalone state style summaryBelow summaryRight syncHorizontal t "
    "tabRatio tabSelected textRotation theme thickBot thickTop thm15 tint top topLeftCell "
    "transitionEvaluation type typeface uid uniqueCount uri useFirstPageNumber val version "
    "vertical verticalCentered verticalDpi vid view visibility vt w width windowHeight "
    "windowProtection windowWidth workbookViewId wrapText x14 x14ac x15 x15ac x16r2 xSplit "
    "xWindow xfId xmlns xr xr10 xr2 xr3 xr6 xsi ySplit yWindow zeroHeight zoomScale "
    "zoomScaleNormal zoomScalePageLayoutView"
)  # fmt: skip

_URI = (
    r"http://(?:schemas\.openxmlformats\.org|schemas\.microsoft\.com|purl\.org|www\.w3\.org)/"
    r"[a-zA-Z0-9/.-]{1,120}"
)
_CELL = r"\$?[A-Z]{1,3}\$?\d{1,7}"
_RANGES = rf"{_CELL}(?::{_CELL})?(?: {_CELL}(?::{_CELL})?)*"
_RANGE = re.compile(_RANGES, re.ASCII)
_PLAIN = re.compile(
    rf"|-?\d{{1,10}}(?:\.\d{{1,20}})?(?:E-?\d{{1,3}})?|[0-9A-F]{{6,8}}|true|false|rId\d+|\d+:\d+"
    rf"|[A-Z]{{1,3}}:[A-Z]{{1,3}}|{_RANGES}|\{{[0-9A-F-]{{36}}\}}|{_URI}",
    re.ASCII | re.IGNORECASE,
)
_SHOWN_AS = re.compile(  # a format of numbers, without words of its own
    r"(?:General|AM/PM|A/P|[EeyYmMdDhHsS0#?.,:/%+\-@;()*]|_.|\\?[ -]|\[\$-?[0-9A-F\u20ac$\u00a3]*"
    r"(?:-[0-9A-F]+)?\]|\[(?:h+|m+|s+|Red|Black)\]|\"[ -]?\")*"
)
_TYPES = re.compile(
    r"application/(?:xml|vnd\.openxmlformats-(?:package|officedocument)\.[A-Za-z.+-]{1,90})|image/png"
)
_MAKERS = re.compile(
    r"(?:Microsoft (?:Macintosh )?Excel(?: Online)?"
    r"|LibreOffice/[\d.]+\$\w{1,12} LibreOffice_project/[0-9a-f]{0,40}"
    r"|Worksheets|Data|Promises|Named Ranges|Data!(?:_xlnm\.)?_FilterDatabase)?"
    r"|[\d.]{1,12}|true|false"
)
_NUMBER = re.compile(r"[-+]?\d*\.?\d*(?:[eE][-+]?\d+)?", re.ASCII)
_CELL_VALUES: Mapping[str, re.Pattern[str]] = {
    "": _NUMBER, "n": _NUMBER, "s": re.compile(r"\d+", re.ASCII), "b": re.compile("[01]"),
    "e": re.compile(r"#[A-Z0-9/]+[!?]?"), "d": re.compile(r"[\d:.TZ+-]+", re.ASCII),
}  # fmt: skip
_ADDRESS = re.compile(r"([A-Z]{1,3})(\d{1,7})", re.ASCII)
_KINDS: Sequence[tuple[str, frozenset[str]]] = (
    (r"xl/worksheets/.*", _SHEET),
    (r"xl/sharedStrings\.xml", _TEXT | {"sst", "si", "phoneticPr"}),
    (r"xl/workbook\.xml", _BOOK),
    (r"xl/styles\.xml", _STYLES),
    (r"xl/theme/.*", _THEME),
    (r"docProps/core\.xml", _CORE),
    (r"docProps/app\.xml", _APP),
    (r"xl/calcChain\.xml", frozenset({"calcChain", "c"})),
    (r".*\.rels", frozenset({"Relationships", "Relationship"})),
    (r"\[Content_Types\]\.xml", frozenset({"Types", "Default", "Override"})),
)
_PARENTS = {  # where alone texts are shown
    "row": {"sheetData"}, "c": {"row", "calcChain"}, "is": {"c"}, "v": {"c"}, "f": {"c"},
    "t": {"is", "si", "r"}, "r": {"is", "si"}, "si": {"sst"}, "sheetData": {"worksheet"},
}  # fmt: skip
_ONCE = {"t", "is", "v", "f", "sheetData"}  # in what holds them
_TOLD = {  # what people call it
    "headerFooter": "headers or footers of pages", "rPh": "phonetic texts",
    "dataValidations": "lists of values to choose from", "mergeCells": "merged cells",
    "conditionalFormatting": "formats on conditions", "hyperlinks": "links",
    "extLst": "extensions", "drawing": "pictures", "legacyDrawing": "comments on cells",
    "tableParts": "tables", "filterColumn": "filters by values", "absPath": "where it was saved",
    "customSheetViews": "views", "scenarios": "scenarios", "sheetProtection": "a protection",
}  # fmt: skip


# --- one part ------------------------------------------------------------------------------------


class _Cut(Exception):
    """What follows cannot be looked at: it may mean anything."""


@dataclass(slots=True)
class LookedAtPart:
    """What a part of a workbook holds: `look` at its text, piece after piece, and `end`."""

    name: str
    parts: frozenset[str]  # the names of all parts
    odd: Counter[str] = field(default_factory=Counter)  # what has no place in a release
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # of short parts
    said: dict[str, str] = field(default_factory=dict)  # texts by the element around them
    shown: set[int] = field(default_factory=set)  # shared texts, by number
    rows: int = 0  # that show something
    texts: int = 0  # held in common
    hidden: int = 0
    formulas: int = 0
    _allowed: frozenset[str] = frozenset()
    _path: list[str] = field(default_factory=list)
    _once: list[set[str]] = field(default_factory=list)
    _skipped: int = 0  # levels below an element that is told as a whole
    _text: list[str] = field(default_factory=list)
    _type: str = ""
    _row: int = 0
    _column: int = 0
    _filled: bool = False
    _parser: expat.XMLParserType = field(default_factory=expat.ParserCreate)

    def __post_init__(self) -> None:
        self._allowed = next(names for form, names in _KINDS if re.fullmatch(form, self.name))
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._starts
        self._parser.EndElementHandler = self._ends
        self._parser.CharacterDataHandler = self._text.append
        self._parser.CommentHandler = lambda _: self._tell("comments in its text")
        self._parser.ProcessingInstructionHandler = lambda *_: self._tell("instructions")
        self._parser.StartDoctypeDeclHandler = self._declares

    def look(self, text: bytes, *, last: bool = False) -> None:
        """Look at more of it."""
        try:
            self._parser.Parse(text, last)
        except (expat.ExpatError, _Cut):
            raise ValueError(self.name) from None

    def named(self, element: str) -> list[str]:
        """The names that elements of a kind have."""
        return [given.get("name", "") for name, given in self.elements if name == element]

    def _tell(self, what: str) -> None:
        self.odd[what] += 1

    def _declares(self, *_: object) -> None:
        self._tell("declarations")
        raise _Cut

    def _starts(self, full: str, attributes: dict[str, str]) -> None:
        self._flush()
        name = full.rpartition(":")[2]
        parent = self._path[-1] if self._path else ""
        if self._skipped or not self._fits(name, parent):
            if not self._skipped:
                self._tell(_TOLD.get(name, "elements that released workbooks do not have"))
            self._skipped += 1
            return
        self._path.append(name)
        self._once.append(set())
        for key, value in attributes.items():
            self._attribute(name, key, value)
        if name == "row":
            self._begins_row(attributes)
        elif name == "c" and parent == "row":
            self._begins_cell(attributes)
        elif name == "f":
            self.formulas += 1
        elif name == "si":
            self.texts += 1
        elif name not in ("v", "t", "is", "r"):
            self._hides(name, attributes)
            if not self.name.startswith("xl/theme"):
                self.elements.append((name, attributes))

    def _fits(self, name: str, parent: str) -> bool:
        if name not in self._allowed or parent not in _PARENTS.get(name, {parent}):
            return False
        if name in _ONCE:
            if name in self._once[-1]:
                return False
            self._once[-1].add(name)
        return not (name == "r" and "t" in self._once[-1])

    def _ends(self, full: str) -> None:
        if self._skipped:
            self._skipped -= 1
            self._text.clear()
            return
        self._flush()
        if self._path[-1] == "row":
            self.rows += self._filled
        self._path.pop()
        self._once.pop()

    def _flush(self) -> None:
        """See whether the text that just ended has a place where it stands."""
        text = "".join(self._text)
        self._text.clear()
        if self._skipped or not text:
            return
        name = self._path[-1] if self._path else ""
        if name == "t" or (name == "v" and self._type == "str"):
            self._filled = True
        elif name == "v":
            self._filled = True
            if self._type not in _CELL_VALUES or not _CELL_VALUES[self._type].fullmatch(text):
                self._tell("cells that show another value than they hold")
            elif self._type == "s":
                self.shown.add(int(text))
        elif name == "definedName":
            sheet, _, cells = text.rpartition("!")
            if sheet.strip("'") not in self.named("sheet") or not _RANGE.fullmatch(cells):
                self._tell("names for something else than cells")
        elif name == "f":
            return  # all formulas are told
        elif self.name.startswith("docProps"):
            if name == "lpstr" or name not in _CORE | {"Company", "Manager", "HyperlinkBase"}:
                if text.strip() and not _MAKERS.fullmatch(text):
                    self._tell("texts among its properties")
            else:
                self.said[name] = text
        elif text.strip():
            self._tell("texts outside of its cells")

    def _attribute(self, name: str, full: str, value: str) -> None:
        key = full.rpartition(":")[2]
        fits: object
        if key == "formatCode":
            fits = _SHOWN_AS.fullmatch(value)
        elif key == "ContentType":
            fits = _TYPES.fullmatch(value)
        elif key in ("PartName", "Target"):
            base = "xl/" if self.name.startswith("xl/_rels") else ""
            fits = value.removeprefix("/") in self.parts or base + value in self.parts
        elif name in ("sheet", "definedName") and key == "name":
            fits = True  # looked at by who knows all sheets
        else:
            words = value.split() if key in ("Ignorable", "Requires") else [value]
            fits = all(_PLAIN.fullmatch(w) or w in _TOKENS or w in _NAMES for w in words)
        if not fits or key not in _ATTRIBUTES:
            self._tell("values that released workbooks do not have")

    # --- cells -----------------------------------------------------------------------------------

    def _hides(self, name: str, attributes: Mapping[str, str]) -> None:
        hides = attributes.get("hidden") in ("1", "true") and name != "definedName"
        none = attributes.get("width" if name == "col" else "ht", "1")
        no_room = name in ("col", "row") and none.strip("0.") == ""
        self.hidden += hides or no_room or attributes.get("zeroHeight") in ("1", "true")

    def _begins_row(self, attributes: Mapping[str, str]) -> None:
        self._hides("row", attributes)
        row = int(attributes["r"]) if attributes.get("r", "").isdecimal() else self._row + 1
        if row <= self._row:
            self._tell("rows behind others")
        self._row, self._column, self._filled = row, 0, False

    def _begins_cell(self, attributes: Mapping[str, str]) -> None:
        column = self._column + 1
        if at := _ADDRESS.fullmatch(attributes.get("r", "")):
            column = 0
            for letter in at[1]:
                column = 26 * column + ord(letter) - 64
            if int(at[2]) != self._row or column <= self._column:
                self._tell("cells behind others")
        self._column = column
        self._type = attributes.get("t", "")
        # A cell shows the one or the other.
        self._once[-1].add("v" if self._type == "inlineStr" else "is")
