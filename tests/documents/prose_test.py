#!/usr/bin/env python3
"""Tests that scripts/check-prose.py refuses long sentences, pages of long sentences, and terms without a link, and that
it has no bound on the words of a page.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "scripts/check-prose.py"


def told(text: str, name: str = "page.md") -> str:
    """The complaints of the check about a page; empty if it has none."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / name
        page.write_text(text)
        done = subprocess.run([sys.executable, CHECK, page], capture_output=True, text=True)
    assert (done.returncode == 0) == (not done.stderr.strip()), done
    return done.stderr.strip()


def sentence(words: int) -> str:
    return "\n".join(["word"] * (words - 1) + ["`a piece of code`"]) + "."


def main() -> None:
    short = "\n".join(sentence(3) for _ in range(40)) + "\n"
    assert told(short + sentence(35) + "\n") == ""
    assert told(short + "\n" + sentence(36) + "\n").startswith("page.md:122: 36 words in the sentence 'word word")
    assert told("\n".join(sentence(18) for _ in range(9))) == ""
    assert told("\n".join(sentence(19) for _ in range(9))) == "page.md: 19.0 words a sentence on average, more than 18"
    assert told(("| " + "word " * 90 + "|\n") * 1000) == ""  # a table has no sentences, and words are not counted

    for first in (
        "The [effective\nprompts](glossary.md#effective-prompts) count.",
        "[Effective prompts](docs/glossary.md#effective-prompts) count.",
        "They have [effective prompts](#below).",
        "**Effective prompts** are prompts.",
        "# Effective prompts\n| effective prompts |\n`effective prompts` <!-- effective prompts -->",
        "```\neffective prompts\n```",
    ):
        assert told(f"{first}\n", "traces.md") == "", first
    fault = "traces.md:3: 'Effective prompt' first stands here; link it, [Effective prompt](glossary.md#effective-prompts)"
    assert told("One.\n\nEffective prompt and [effective prompts](glossary.md#effective-prompts).\n", "traces.md") == fault
    assert told("An effective prompt.\n") == ""  # other pages need no links
    assert told("The [judges](traces.md#judge) of another page.\n", "cascades.md") == ""
    assert "'judges'" in told("The [judges](glossary.md#promise) of another entry.\n", "cascades.md")


if __name__ == "__main__":
    main()
