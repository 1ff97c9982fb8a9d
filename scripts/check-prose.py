#!/usr/bin/env python3
"""Whether README.md and docs/ can be read: words in all, words a sentence, characters a line, and what has no place there.

usage: scripts/check-prose.py [PAGE...]   (a table; exit code 1 where a bound is passed)

The words in all are those of `wc -w`, code and tables included. A sentence is a paragraph's or list item's part up to a full stop,
question or exclamation mark, and its words are runs of letters, a piece of `code` being one; headings, tables and code have none.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS_IN_ALL, WORDS_A_SENTENCE, CHARACTERS = 35_000, 30, 120
# A document says what holds. What was once different stands in the changelog or nowhere.
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
    """Words, sentences of the prose, and faults of a page."""
    text = page.read_text()
    count = len(text.split())
    lines = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.S).split("\n")
    blocks, faults, code = [""], [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            code = not code
            blocks.append("")
            continue
        if code:
            continue
        table = line.lstrip().startswith("|")
        if not table and len(line) > CHARACTERS and " " in re.sub(r"\[[^]]*\]\([^)]*\)", "", line).strip():
            faults.append(f"{number}: {len(line)} characters")
        faults += [f"{number}: {what}" for what, pattern in MISPLACED.items() if pattern.search(line)]
        if table or line.startswith("#") or not line.strip():
            blocks.append("")
        elif re.match(r"\s*([-*]|\d+\.)\s", line):
            blocks.append(line)
        else:
            blocks[-1] += " " + line
    sentences = [words(s) for block in blocks for s in re.split(r"[.?!](?=[\s)*]|$)", block)]
    return count, [n for n in sentences if n], faults


def main() -> int:
    pages = [Path(p) for p in sys.argv[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    total, bad = 0, []
    print(f"{'page':<26}{'words':>7}{'a sentence':>12}{'longest':>9}")
    for page in pages:
        count, sentences, faults = read(page)
        total += count
        mean = sum(sentences) / max(len(sentences), 1)
        print(f"{page.name:<26}{count:>7}{mean:>12.1f}{max(sentences, default=0):>9}")
        bad += [f"{page.name}:{fault}" for fault in faults]
        if mean > WORDS_A_SENTENCE:
            bad.append(f"{page.name}: {mean:.1f} words a sentence, more than {WORDS_A_SENTENCE}")
    print(f"{'in all':<26}{total:>7}")
    if total > WORDS_IN_ALL:
        bad.append(f"{total} words in all, more than {WORDS_IN_ALL}")
    print(*bad, sep="\n", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
