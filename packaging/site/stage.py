#!/usr/bin/env python3
"""Copies the documents, and what they link to, to build/site/pages, from which MkDocs makes the site (make site)."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/site/pages"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)]*)?\)")
PYTHON = ("pandora", "pandora.serving", "pandora.serving.litellm")


def tracked(path: str) -> list[str]:
    """Files of the repository."""
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", path],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return out.stdout.split()


def listing(folder: str) -> str:
    """A page for a folder that documents link to and that has no README."""
    files = tracked(folder)
    lines = [f"- [{file}]({Path(file).relative_to(folder)})" for file in files]
    return f"# {folder}\n\n" + "\n".join(lines) + "\n"


def stage(page: str, waiting: list[str]) -> None:
    """A page; files that it links to are copied, pages wait for their turn, links to folders lead to their pages."""

    def target(match: re.Match[str]) -> str:
        link, anchor = match[2], match[3] or ""
        if re.match(r"[a-z]+:", link):
            return match[0]
        path = (ROOT / page).parent / link
        there = path.resolve().relative_to(ROOT)
        if path.is_dir():
            link, there = f"{link.rstrip('/')}/README.md", there / "README.md"
            if not (ROOT / there).exists():
                (PAGES / there).parent.mkdir(parents=True, exist_ok=True)
                (PAGES / there).write_text(listing(str(there.parent)))
                for file in tracked(str(there.parent)):
                    waiting.append(file) if file.endswith(".md") else copy(file)
                return f"{match[1]}{link}{anchor})"
        if there.suffix == ".md":
            waiting.append(str(there))
        else:
            copy(str(there))
        return f"{match[1]}{link}{anchor})"

    text = (ROOT / page).read_text()
    parts = re.split(r"(^```.*?^```)", text, flags=re.S | re.M)  # code keeps what looks like a link
    text = "".join(part if part.startswith("```") else LINK.sub(target, part) for part in parts)
    # A list or table right below a paragraph is one on GitHub, and not in Markdown's first definition.
    text = re.sub(r"(?m)^((?![-*|#>\s]|\d+\.|```).+)\n(?=(?:[-*] |\d+\. |\|))", r"\1\n\n", text)
    (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
    (PAGES / page).write_text(text)


def copy(file: str) -> None:
    """A file that a page links to."""
    (PAGES / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / file, PAGES / file)


def main() -> None:
    """All pages that can be reached from the first ones."""
    shutil.rmtree(PAGES, ignore_errors=True)
    waiting = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/gateway/README.md", *tracked("docs/*.md")]
    done: set[str] = set()
    while waiting:
        page = waiting.pop()
        if page not in done:
            done.add(page)
            stage(page, waiting)
    subprocess.run([ROOT / "scripts/help-pages.py", PAGES / "docs/help"], check=True)
    reference = PAGES / "reference"
    reference.mkdir(exist_ok=True)
    modules = "\n\n".join(f"::: {module}" for module in PYTHON)
    (reference / "python.md").write_text(f"# Python\n\n{modules}\n")
    (reference / "cpp.md").write_text("# C++\n\nThe [public headers](../cpp/index.html), as Doxygen reads them.\n")


if __name__ == "__main__":
    main()
