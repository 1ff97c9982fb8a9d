#!/usr/bin/env python3
"""Compares the output that a document shows with what its commands printed; scripts/run-docs.sh calls it.

Usage: compare-output.py FILE.md OUTPUT      what was printed, the output of each `sh` block behind a mark (MARK, LINE)
       compare-output.py --self-test         whether wrong numbers, words and lines are found

A `console` block shows what the last `sh` block before it prints, from its first line to its last:
  ...                              a line of three dots stands for any number of lines
  <!-- varies: WORDS, WORDS -->    on the line before the block: a line that begins with such words need only be there
  <!-- not compared: REASON -->    on the line before the block: anything may be printed
Words must be the same, numbers may differ by one in their last decimal (33.5 and 33.6) or by one per cent sign (62% and
63%), and whole numbers not at all. Blank lines and the widths of gaps do not count.

Why one in the last decimal: processors that round differently, and blocks and precisions that sum in another order, change a
number in its last binary digits; where it lies near the middle of two printed ones, the other one is printed. More than
that means another result. The tutorial's output is the same in every digit for blocks of 8, 16, 32 and 64 periods and in
double precision.
"""
import re
import sys
from decimal import Decimal

MARK = "\x1e"
DOTS = "..."
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?%?")


def words_of(line):
    """The line without its numbers, with single blanks and rules of three dashes, because their lengths depend on the
    numbers."""
    return " ".join(re.sub(r"-{3,}", "---", NUMBER.sub(" # ", line)).split())


def same_number(shown, printed):
    if shown == printed:
        return True
    if shown.endswith("%") != printed.endswith("%"):
        return False
    rounded = shown.endswith("%")
    a, b = (Decimal(text.rstrip("%").replace(",", "")) for text in (shown, printed))
    if a.as_tuple().exponent != b.as_tuple().exponent:
        return False  # printed to another digit
    if not rounded and "." not in shown:
        return a == b
    return abs(a - b) <= Decimal(1).scaleb(a.as_tuple().exponent)


def same_line(shown, printed, varies=()):
    for words in varies:
        if shown.startswith(words):
            return printed.startswith(words)
    if words_of(shown) != words_of(printed):
        return False
    return all(map(same_number, NUMBER.findall(shown), NUMBER.findall(printed)))


def difference(shown, printed, varies=()):
    """None, or the line that is shown but not printed: (index in `shown`, the printed line that should be there or
    None)."""
    lines = [(at, line) for at, line in enumerate(shown) if line.strip()]
    printed = [line for line in printed if line.strip()]
    groups, dots = [[]], []  # lines between dots
    for at, line in lines:
        if line.strip() == DOTS:
            groups.append([])
            dots.append(at)
        else:
            groups[-1].append((at, line))

    def matching(group, start):
        count = 0
        for (_, line), other in zip(group, printed[start:]):
            if not same_line(line, other, varies):
                break
            count += 1
        return count

    position = 0
    for number, group in enumerate(groups):
        first, last = number == 0, number == len(groups) - 1
        starts = range(position, len(printed) + 1)
        if first:
            starts = [0]
        if last and not first:
            starts = [max(position, len(printed) - len(group))]
        if not group:
            continue
        best = max(starts, key=lambda start: (matching(group, start), -start))
        count = matching(group, best)
        if count < len(group):
            there = best + count
            return group[count][0], printed[there] if there < len(printed) else None
        position = best + len(group)
    if not dots and position < len(printed):
        return len(shown), printed[position]
    return None


def console_blocks(text):
    """For each `console` block: its line, the line of the last `sh` block before it and whether that is run, the
    comment before it, and its lines."""
    command, runs = None, False
    kind, before, opened, lines = None, "", 0, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(.*)$", line)
        if kind is None and fence:
            kind, opened, lines = fence.group(1).strip(), number, []
            if kind == "sh":
                command, runs = number, "<!-- not run:" not in before
        elif kind is not None and fence and not fence.group(1):
            if kind == "console":
                yield opened, command, runs, before, lines
            kind, before = None, ""
        elif kind is not None:
            lines.append(line)
        else:
            before = line


def outputs_of(text):
    """The lines that each `sh` block printed, by the line of the block."""
    result = {}
    for piece in text.split(MARK)[1:]:
        number, _, printed = piece.partition("\n")
        result[int(number)] = printed.splitlines()
    return result


def faults_of(name, text, printed):
    """The differences between the output that a document shows and the printed one, as lines of text."""
    outputs = outputs_of(printed)
    faults = []
    for opened, command, runs, before, lines in console_blocks(text):
        if re.search(r"<!-- not compared: .+ -->", before):
            continue
        if not runs or command not in outputs:
            faults.append(f"{name}:{opened}: output of a command that is not run: say `<!-- not compared: REASON -->` before it")
            continue
        varies = re.search(r"<!-- varies: (.+) -->", before)
        found = difference(lines, outputs[command], [words.strip() for words in varies.group(1).split(",")] if varies else ())
        if found:
            at, instead = found
            shown = lines[at] if at < len(lines) else "(the end)"
            faults.append(f"{name}:{opened + 1 + at}: the output shown is not what the block of line {command} prints\n"
                          f"  shown:   {shown}\n  printed: {'(the end)' if instead is None else instead}")
    return faults


def self_test():
    same = [
        ("DOW, known   39.90±3.66", "DOW, known  39.91±3.65"),
        ("1.4e+06", "1.5e+06"),
        ("62%", "63%"),
        ("a\n...\nd", "a\nb\nc\nd"),
        ("...\nc", "a\nb\nc"),
        ("a\n...", "a\nb"),
        ("a\n\nb", "a\nb\n"),
        ("a  b\n------", "a b\n-------"),
        ("time 2 s", "time 1.5 min", ("time",)),
    ]
    different = [
        ("DOW, known   39.90±3.66", "DOW, known  39.92±3.66"),
        ("DOW, known   39.90±3.66", "DOW, known  39.9±3.66"),
        ("700 lanes", "701 lanes"),
        ("p 0.0085", "p 0.0029"),
        ("62%", "64%"),
        ("-3.611", "3.611"),
        ("1.4e+06", "1.4e+07"),
        ("a\nb", "a\nc"),
        ("a\nb", "a"),
        ("a", "a\nb"),
        ("b", "a\nb"),
        ("...\nb", "a\nb\nc"),
        ("a\n...\nc\nd", "a\nc\nb\nd"),
        ("1.69±0.03 (1.69) boxes", "1.69±0.03 boxes"),
        ("memory 2\ntime 2 s", "memory 3\ntime 3 s", ("time",)),
        ("time 2 s", "speed 2 s", ("time",)),
    ]
    for expected, cases in ((True, same), (False, different)):
        for shown, printed, *varies in cases:
            found = difference(shown.split("\n"), printed.split("\n"), *varies)
            assert (found is None) == expected, (shown, printed, found)
    document = "```sh\nrun\n```\nIt prints\n\n```console\nregret 1.25\n```\n"
    assert not faults_of("a", document, f"{MARK}1\nregret 1.25\n")
    assert faults_of("a", document, f"{MARK}1\nregret 1.35\n")[0].startswith("a:7: ")
    assert faults_of("a", "<!-- not run: slow -->\n" + document, "")
    assert faults_of("a", document[document.index("It"):], "")
    unseen = document.replace("```console", "<!-- not compared: a small scale -->\n```console")
    assert not faults_of("a", unseen, f"{MARK}1\nregret 1.35\n")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    name, output = sys.argv[1:]
    with open(name, encoding="utf-8") as file:
        text = file.read()
    with open(output, encoding="utf-8", errors="replace") as file:
        faults = faults_of(name, text, file.read())
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
