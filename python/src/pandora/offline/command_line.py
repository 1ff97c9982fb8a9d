"""The command line of the options that are declared in options.py: how it is read, what its help says."""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections.abc import Sequence
from textwrap import fill, indent
from typing import Any, NoReturn, Optional

from ..errors import UsageError
from ..spelling import as_option
from .errors import Refusal
from .options import COMMANDS, LISTS, SPELT, Command, Option
from .text import nearest_text


def spelt(name: str, value: Optional[str] = None) -> str:
    """An option as the command line has it."""
    return as_option(SPELT.get(name, name), value)


class _Parser(argparse.ArgumentParser):
    def __init__(self, command: Command) -> None:
        places = [SPELT.get(option.name, option.name) for option in command.options if option.place]
        super().__init__(
            prog=" ".join(["pandora", *command.words]),
            usage=" ".join(["pandora", *command.words, "[OPTIONS]", *places]),
            description=fill(command.help, 80),
            epilog=f"examples:\n{indent(command.examples, '  ')}",
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=80),
        )
        groups = [self.add_argument_group(heading) if heading else self for heading, _ in command.groups]
        for group, option in ((group, one) for group, (_, options) in zip(groups, command.groups) for one in options):
            how: dict[str, Any] = {"action": _Once, "metavar": option.type.upper(), "required": option.needed}
            if option.type == "flag":
                how = {"action": "store_true"}
            elif option.type in LISTS:
                how |= {"action": "append", "metavar": "LIST"}
            elif option.type == "text":
                how |= {"metavar": "WORD"}
            help = (option.help + _default_text(option)).replace("%", "%%")
            if option.place:
                group.add_argument(option.name, metavar=SPELT.get(option.name), help=help)
            else:
                group.add_argument(spelt(option.name), dest=option.name, help=help, **how)

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (--[^\s=]+)", message)
        names = [name for action in self._actions for name in action.option_strings]
        near = nearest_text(unknown[1], names) if unknown else ""
        raise UsageError(f"{message}{near}; see `{self.prog} --help`")


class _Once(argparse.Action):
    """An option that is given twice is a slip of the hand."""

    def __call__(self, parser: Any, given: Any, values: Any, option: Optional[str] = None) -> None:
        if getattr(given, self.dest) is not None:
            parser.error(f"{option}: is given twice")
        setattr(given, self.dest, values)


def read(words: Sequence[str]) -> tuple[Optional[Command], dict[str, Any]]:
    """The command, and its options by name; no command where help was printed. Raises UsageError."""
    command = _command(words)
    if command is None:
        return None, {}
    parser, rest = _Parser(command), words[len(command.words) :]
    if "-h" in rest or "--help" in rest:
        parser.print_help()
        return None, {}
    takes = {spelt(option.name) for option in command.options if not option.place and option.type != "flag"}
    joined: list[str] = []
    for word in rest:  # argparse takes a negative number for an option: --c -1 becomes --c=-1
        if joined and joined[-1] in takes and re.match(r"-(\d|\.|inf|nan)", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    given = vars(parser.parse_args(joined))
    return command, {option.name: _value(option, given[option.name]) for option in command.options}


def _command(words: Sequence[str]) -> Optional[Command]:
    """The command that the first two words name; None where help was printed."""
    matching: Sequence[Command] = COMMANDS
    for place in range(2):
        if len(matching[0].words) == place:  # a command of one word
            break
        word = words[place] if place < len(words) else ""
        called = " ".join(["pandora", *words[:place]])
        if word in ("-h", "--help"):
            helps = {" ".join(command.words): command.help.split(". ")[0] for command in matching}
            width = max(map(len, helps))
            print(f"usage: {called} COMMAND ...\n\n" + "\n".join(f"  {k:{width}}  {v}" for k, v in helps.items()))
            return None
        remedy = f"`{called} --help` lists the commands"
        if word.startswith("-") or not word:
            raise UsageError(f"a command is missing; {remedy}")
        names = list(dict.fromkeys(command.words[place] for command in matching))
        if word not in names:
            near = nearest_text(word, names)
            raise UsageError(f"{' '.join(words[: place + 1])}: unknown command{near}; {remedy}")
        matching = [command for command in matching if command.words[place] == word]
    return matching[0]


def _default_text(option: Option) -> str:
    if option.needed or option.default in (None, "", (), False):
        return ""
    values = option.default if isinstance(option.default, tuple) else (option.default,)
    return f" (default: {','.join(f'{x:g}' if isinstance(x, float) else x for x in values)})"


def _value(option: Option, given: Any) -> Any:
    """The value of an option from the words that were given, or its default. Raises Refusal, UsageError."""
    if given is None or option.type == "flag":
        return option.default if given is None else given
    words = given if option.type == "items" else [given]
    if option.type in ("numbers", "texts"):
        words = [part for one in given for part in _parts(option, one)]
    elif option.name == "against" and given.startswith('"'):
        words = [",".join(_parts(option, given))]
    values = tuple(_number(option, word) for word in words) if "number" in option.type else tuple(words)
    value = values if option.type in LISTS else values[0]
    try:
        option.check(value)
    except Refusal as error:
        if option.place:
            raise UsageError(
                f"{SPELT.get(option.name, option.name)} {value}: {error.problem}; {error.remedy}"
            ) from None
        raise
    return value


def _parts(option: Option, word: str) -> list[str]:
    """What stands between commas; what holds one stands in quotes, as in CSV."""
    if '"' not in word:
        return word.split(",")
    try:
        return next(csv.reader([word], strict=True))
    except csv.Error as problem:
        remedy = "put a name with a comma in quotes, as in CSV, and write a quote within it twice"
        raise Refusal(option.name, word, str(problem), remedy) from None


def _number(option: Option, word: str) -> float:
    try:
        found = math.nan if "_" in word else float(word)
    except ValueError:
        found = math.nan
    if math.isnan(found):
        said = spelt(option.name, word) if word.strip() else f'{spelt(option.name)} "{word}"'
        raise UsageError(f"{said}: is no number; give {option.wanted or 'one'}")
    return found
