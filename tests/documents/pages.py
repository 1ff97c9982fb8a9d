"""Finds the parts of a Markdown page that numbers_test.py needs."""

import re
from collections.abc import Iterator

NUMBER = re.compile(r"(?<![\w.,])([-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)\.(\d+)(?:e([-+]?\d+))?)(?!\d|\.\d|,\d{3})(?=( ?%| ± [\d.]+ ?%)?)")
SMALL = "zero one two three four five six seven eight nine ten eleven twelve".split()
WHOLE = r"\d{1,3}(?:,\d{3})+|\d+"
COUNT = re.compile(rf"(?<![\w.,])({WHOLE}|{'|'.join(SMALL)})\s+of\s+(?:(?:all|the)\s+)*({WHOLE})(?![\d-]|[.,]\d)", re.I)
NAMED = re.compile(r"(?:Sections?|Tables?|Figures?|Theorem|Lemma|Assumption|Proposition|Corollary|Appendix|Python|CUDA|GCC|version|arXiv)[ :]$")
FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.S | re.M)
UNSEEN = re.compile(r"(`+).*?\1|\]\([^)]*\)|<!--.*?-->|https?://\S+")
COMMENT = re.compile(r"\s*<!--\s*(?:numbers:(.*))?.*?-->\s*")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
Lines = list[tuple[int, str]]


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def kind(line: str) -> str:
    return "heading" if line[0] == "#" else "table" if line.lstrip()[0] == "|" else "list" if ITEM.match(line) else "text"


def blocks(text: str) -> Iterator[tuple[list[str], Lines]]:
    """For each table, paragraph and list: the words of the comments before it, and its lines with their numbers."""
    words, lines, gap = [], [], False
    for number, line in enumerate([*FENCED.sub(blank, text).split("\n"), "# the end"]):
        if not line.strip():
            gap = True
            continue
        comment = COMMENT.fullmatch(line)
        if lines:
            now, before = kind(line), kind(lines[0][1])
            goes_on = before == "list" and (now == "list" or line[0] == " ") if gap else before != "heading"
            if comment or now == "heading" or (now == "table") != (before == "table") or not goes_on:
                yield words, lines
                words, lines = words if before == "heading" else [], []
        gap = False
        if not comment:
            lines.append((number, line))
        elif comment[1]:
            words = words + comment[1].split()


def numbers(line: str) -> Iterator[re.Match]:
    """Finds numbers with a decimal point, except in code, links and names such as Section 6.2. Group 2 has the digits
    after the point, group 3 the exponent, and group 4 a per cent sign.
    """
    shown = UNSEEN.sub(blank, line)
    return (match for match in NUMBER.finditer(shown) if not NAMED.search(shown[: match.start()]))


def counts(text: str) -> Iterator[re.Match]:
    """Finds counts such as 21 of 24 or ten of the 16 outside of code, also over the end of a line. Group 1 has the
    first number, and group 2 the second.
    """
    return COUNT.finditer(UNSEEN.sub(blank, text))


def whole(number: str) -> int:
    """The value of a whole number such as 21, 1,200 or ten."""
    return SMALL.index(number.lower()) if number.lower() in SMALL else int(number.replace(",", ""))


def cells(line: str) -> tuple[list[int], list[str]]:
    """The places of the bars in a table's line, and the texts between them."""
    bars = [match.start() for match in re.finditer(r"(?<!\\)\|", re.sub(r"(`+).*?\1", blank, line))]
    return bars, [line[a + 1 : b].strip() for a, b in zip(bars, bars[1:])]
