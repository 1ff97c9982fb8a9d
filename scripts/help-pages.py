#!/usr/bin/env python3
"""Makes a page of Markdown of each command's `--help`: FOLDER/run.md, FOLDER/cascade-fit.md and so on, and FOLDER/README.md with the list.

usage: scripts/help-pages.py FOLDER        PANDORA=path/to/pandora (default: build/pandora)

What follows "Examples:" becomes blocks that scripts/run-docs.sh runs. Exit code 1 for a command without an example, and where a list of
commands says something else of a command than its own help.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PANDORA", str(ROOT / "build/pandora"))
NOT_RUN = {"serve": "a server, which does not end"}


def help_of(*words: str) -> str:
    run = subprocess.run([PROGRAM, *words, "--help"], check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"})
    return run.stdout


def listed(text: str) -> dict[str, str]:
    """The commands that a help lists, each with what the list says of it, on one line."""
    names = re.findall(r"^  ([a-z]+) {2,}(\S.*(?:\n {20,}\S.*)*)", text.partition("\nSubcommands:\n")[2], re.M)
    return {name: " ".join(said.split()) for name, said in names}


def page_of(words: tuple[str, ...], text: str) -> str:
    """A command's page. Raises ValueError for a help without an example."""
    before, mark, after = re.sub(r"(?m)^examples:$", "Examples:", text).partition("\nExamples:\n")
    if not mark:
        raise ValueError(f"pandora {' '.join(words)} --help: has no example")
    usage = next(line for line in before.splitlines() if line.lower().startswith("usage:"))
    sentences, *rest = (block for block in before.replace(usage + "\n", "").split("\n\n") if block.strip())
    options = "\n\n".join([usage, *(block.strip("\n") for block in rest)])
    out = [f"# pandora {' '.join(words)}\n\n{' '.join(sentences.split())}\n\n```text\n{options}\n```\n\n## Examples\n"]
    # Commands stand two columns in, what they print six, and the next example begins where a command follows that.
    for commands, meaning in re.findall(r"((?:^  \S.*\n?)+)((?:^ {6}\S.*\n?)*)", after, re.M):
        skip = f"<!-- not run: {NOT_RUN[words[0]]} -->\n" if words[0] in NOT_RUN else ""
        said = " ".join(meaning.split())
        lines = "\n".join(line.strip() for line in commands.splitlines())
        out.append(f"{skip}```sh\n{lines}\n```\n\nThis {said}\n")
    return "\n".join(out)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    waiting, faults, lines = [()], [], ["# All commands\n\nThe text of each page is what `--help` prints.\n"]
    while waiting:
        words = waiting.pop(0)
        text = help_of(*words)
        inside = listed(text)
        for name, said in inside.items():
            command = (*words, name)
            waiting.append(command)
            own = " ".join(help_of(*command).split())
            if said.rstrip(".") not in own:
                faults.append(f"pandora {' '.join(command)}: is listed as \"{said}\", which its own help does not say")
        if not words or inside:
            continue
        name = "-".join(words)
        try:
            (folder / f"{name}.md").write_text(page_of(words, text))
        except ValueError as error:
            faults.append(str(error))
        lines.append(f"- [pandora {' '.join(words)}]({name}.md)")
    (folder / "README.md").write_text("\n".join(lines) + "\n")
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
