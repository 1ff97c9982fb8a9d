"""The command line of the options that are declared in options.py: how it is read, what its help says."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn, Optional

from ..errors import UsageError
from .errors import as_option
from .options import COMMANDS, SPELT, Command, Option, command_of
from .text import nearest, nearest_text


def spelt(name: str, value: Optional[str] = None) -> str:
    """An option as the command line has it."""
    return as_option(SPELT.get(name, name), value)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (--[^\s=]+)", message)
        near = (
            nearest_text(nearest(unknown[1], [o for a in self._actions for o in a.option_strings])) if unknown else ""
        )
        raise UsageError(f"{message}{near}; see `{self.prog} --help`")


class _Once(argparse.Action):
    """An option that is given twice is a slip of the hand."""

    def __call__(self, parser: Any, given: Any, values: Any, option: Optional[str] = None) -> None:
        if getattr(given, "_given", None) is None:
            given._given = set()
        if option is not None and self.dest in given._given:
            parser.error(f"{option}: is given twice")
        given._given.add(self.dest)
        setattr(given, self.dest, values)


def read(words: Sequence[str]) -> tuple[Optional[Command], dict[str, Any]]:
    """The command, and its options by name; no command where help was printed. Raises UsageError."""
    command = _command(words)
    if command is None:
        return None, {}
    parser = _parser(command)
    rest = list(words[len(command.words) :])
    if "-h" in rest or "--help" in rest:
        parser.print_help()
        return None, {}
    given = vars(parser.parse_args(_joined(rest, command)))
    given.pop("_given", None)
    return command, {option.name: _value(option, given[option.name]) for option in command.options}


def _command(words: Sequence[str]) -> Optional[Command]:
    """By the words before the first option."""
    groups = list(dict.fromkeys(command.words[0] for command in COMMANDS))
    names: Sequence[str] = groups
    for place in range(2):
        word = words[place] if place < len(words) else ""
        called = " ".join(["pandora", *words[:place]])
        if word in ("-h", "--help"):
            helps = {" ".join(c.words): c.help for c in COMMANDS if list(c.words[:place]) == list(words[:place])}
            width = max(map(len, helps))
            print(f"usage: {called} COMMAND ...\n\n" + "\n".join(f"  {k:{width}}  {v}" for k, v in helps.items()))
            return None
        if word.startswith("-") or not word:
            raise UsageError(f"a command is missing; `{called} --help` lists the commands")
        if word not in names:
            said = " ".join([*words[:place], word])
            raise UsageError(
                f"{said}: unknown command{nearest_text(nearest(word, names))}; `{called} --help` lists the commands"
            )
        names = [command.words[1] for command in COMMANDS if command.words[0] == word]
    return command_of(words[:2])


def _parser(command: Command) -> argparse.ArgumentParser:
    out = _Parser(
        prog=" ".join(["pandora", *command.words]), description=command.help, allow_abbrev=False, formatter_class=_Help
    )
    for option in command.options:
        told = (option.help + _default_text(option)).replace("%", "%%")
        if option.place:
            out.add_argument(option.name, help=told)
        elif option.type == "flag":
            out.add_argument(spelt(option.name), dest=option.name, action="store_true", help=told)
        elif option.type in ("numbers", "texts"):
            out.add_argument(
                spelt(option.name), dest=option.name, action="append", metavar="LIST", required=option.needed, help=told
            )
        else:
            out.add_argument(
                spelt(option.name),
                dest=option.name,
                action=_Once,
                metavar=_metavar(option),
                required=option.needed,
                help=told,
            )
    return out


class _Help(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)


def _metavar(option: Option) -> str:
    return {"number": "NUMBER", "file": "FILE", "folder": "FOLDER"}.get(option.type, "WORD")


def _default_text(option: Option) -> str:
    if option.needed or option.default in (None, "", (), False):
        return ""
    if isinstance(option.default, tuple):
        return f" (default: {','.join(f'{x:g}' if isinstance(x, float) else x for x in option.default)})"
    return f" (default: {option.default:g})" if isinstance(option.default, float) else f" (default: {option.default})"


def _joined(words: Sequence[str], command: Command) -> list[str]:
    """Options whose value is a negative number as one word, which argparse takes for an option else."""
    takes = {spelt(option.name) for option in command.options if not option.place and option.type != "flag"}
    out: list[str] = []
    for word in words:
        if out and out[-1] in takes and re.match(r"-(\d|\.|inf|nan)", word):
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out


def _value(option: Option, given: Any) -> Any:
    """Of the words that were given; the default where there are none. Raises Refusal, UsageError."""
    if given is None or option.place or option.type == "flag":
        return option.default if given is None else given
    if option.type == "number":
        value: Any = _number(option, given)
    elif option.type in ("numbers", "texts"):
        parts = given if option.name == "scale" else [part for one in given for part in one.split(",")]
        value = tuple(_number(option, part) for part in parts) if option.type == "numbers" else tuple(parts)
    else:
        value = given
    option.check(value)
    return value


def _number(option: Option, word: str) -> float:
    try:
        found = math.nan if "_" in word else float(word)
    except ValueError:
        found = math.nan
    if math.isnan(found):
        said = f'{spelt(option.name)} "{word}"' if not word.strip() else spelt(option.name, word)
        raise UsageError(f"{said}: is no number; give {option.wanted or 'one'}")
    return found
