#!/usr/bin/env python3
"""Whether README.md and docs/ can be read: words of the longest sentence and of a page's mean one, characters a line, and what has no place there.

usage: scripts/check-prose.py [PAGE...]   (a table; exit code 1 where a bound is passed)

A sentence is a paragraph's or list item's part up to a full stop, question or exclamation mark, and its words are runs of letters, a
piece of `code` being one; headings, tables and code have none. How many words a page has is shown and not bounded.

In README.md and the pages in LINKING, a term of docs/glossary.md whose heading is followed by <!-- linked --> is a link, to the
glossary or to a section of the page, or bold (a definition), where it first stands in the prose. Links to other pages do not count.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINKING = "tutorial cascades kinds promises logs frontier metrics serving traces studies keys python commands results".split()
LINKING += ["service-tables", "table-studies", "operating", "learning"]
LINKING += ["columns", "datasets", "routing", "cascade-json", "comparing", "story", "story-service"]
LONGEST_SENTENCE, MEAN_SENTENCE, CHARACTERS = 35, 18, 120
# A document says what holds now. Former behaviour belongs into the changelog only.
MISPLACED = {
    "a commit": re.compile(r"(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])"),
    "'older'": re.compile(r"\b[Oo]lder (?:than|program|build)"),
    "'today'": re.compile(r"\btoday\b"),
}


def words(text: str) -> int:
    text = re.sub(r"`[^`]*`", " code ", text)
    text = re.sub(r"\]\([^)]*\)", " ", text)
    return len(re.findall(r"[^\W\d_][\w'’*-]*", text))


def read(page: Path):
    """The number of a page's words, the words of each sentence of its prose, and its faults."""
    text = page.read_text()
    count = len(text.split())
    lines = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.S).split("\n")
    blocks, faults, code = [(0, "")], [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            code = not code
            blocks.append((number, ""))
            continue
        if code:
            continue
        table = line.lstrip().startswith("|")
        if not table and len(line) > CHARACTERS and " " in re.sub(r"\[[^]]*\]\([^)]*\)", "", line).strip():
            faults.append(f"{number}: {len(line)} characters")
        faults += [f"{number}: {what}" for what, pattern in MISPLACED.items() if pattern.search(line)]
        if table or line.startswith("#") or not line.strip():
            blocks.append((number, ""))
        elif re.match(r"\s*([-*]|\d+\.)\s", line):
            blocks.append((number, line))
        else:
            start, block = blocks[-1]
            blocks[-1] = (start if block.strip() else number, f"{block} {line}")
    sentences = []
    for number, block in blocks:
        for sentence in re.split(r"[.?!](?=[\s)*]|$)", block):
            if count_of := words(sentence):
                sentences.append(count_of)
                if count_of > LONGEST_SENTENCE:
                    begin = " ".join(sentence.split()[:6])
                    faults.append(f"{number}: {count_of} words in the sentence '{begin} ...', more than {LONGEST_SENTENCE}")
    return count, sentences, faults


def linked_terms() -> dict[str, re.Pattern]:
    """Of each marked term its anchor, and what finds it in a text, with or without the s of a plural."""
    headings = re.findall(r"^## (.+)\n<!-- linked -->", (ROOT / "docs/glossary.md").read_text(), flags=re.M)
    terms = {heading.lower().replace(" ", "-"): r"[\s-]+".join(heading.removesuffix("s").split()) for heading in headings}
    return {anchor: re.compile(rf"(?<![\w-]){term}s?(?![\w-])", re.I) for anchor, term in terms.items()}


def unlinked(page: Path) -> list[str]:
    """The terms that a reader meets on a page without a link or definition."""

    def blank(match: re.Match) -> str:
        return "\n" * match[0].count("\n")

    no_prose = r"<!--.*?-->|^ *```.*?^ *```$|^#.*?$|^ *\|.*?$|`[^`]*`|!\[[^]]*\]"
    elsewhere = r"\[[^]]*\]\((?![^)]*glossary\.md#|#)[^)]*\)"
    text = re.sub(f"{no_prose}|{elsewhere}", blank, page.read_text(), flags=re.S | re.M)
    faults = []
    for anchor, term in linked_terms().items():
        if first := term.search(text):
            told = re.finditer(rf"\[[^]]*\]\((?:[^)]*glossary\.md#{anchor}|#[^)]*)\)|\*\*[^*]+\*\*", text)
            if not any(link.start() < first.start() < link.end() for link in told):
                number, found = text.count("\n", 0, first.start()) + 1, " ".join(first[0].split())
                faults.append(f"{number}: '{found}' first stands here; link it, [{found}](glossary.md#{anchor})")
    return faults


def main() -> int:
    pages = [Path(p) for p in sys.argv[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    bad = []
    print(f"{'page':<26}{'words':>7}{'a sentence':>12}{'longest':>9}")
    for page in pages:
        count, sentences, faults = read(page)
        mean = sum(sentences) / max(len(sentences), 1)
        print(f"{page.name:<26}{count:>7}{mean:>12.1f}{max(sentences, default=0):>9}")
        if page.stem in LINKING or page.resolve() == ROOT / "README.md":
            faults += unlinked(page)
        bad += [f"{page.name}:{fault}" for fault in faults]
        if mean > MEAN_SENTENCE:
            bad.append(f"{page.name}: {mean:.1f} words a sentence on average, more than {MEAN_SENTENCE}")
    print(*bad, sep="\n", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
