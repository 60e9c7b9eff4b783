"""What each command takes: mistakes are explained in one line before the parser sees them, and shells complete it."""

import re
import types
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

COMMON = ("--help", "--quiet", "--verbose", "--json")
SCRIPT = Path(__file__).with_name("completion.bash")
"""What is the same for all commands; words between @ are filled in."""


class UsageError(Exception):
    """A command, an option or a value that is not known."""


@dataclass(frozen=True)
class Option:
    """A named option of a command."""

    kind: Literal["flag", "choice", "number", "whole number", "text"]
    choices: tuple[str, ...] = ()


def options_of(command: type) -> dict[str, Option]:
    """The options of a command's dataclass by name, such as --seed; those of groups within it too."""
    found: dict[str, Option] = {}
    hints = get_type_hints(command, include_extras=True)
    for field in fields(command):
        plain, marks = _unwrap(hints[field.name])
        if is_dataclass(plain):
            found |= options_of(plain)  # pyright: ignore[reportArgumentType]
        elif tyro.conf.Positional not in marks:
            # The parser's name wins: `as` is a keyword and cannot be a field.
            given = (mark.name for mark in marks if getattr(mark, "name", None) is not None)
            name = next(given, field.name).replace("_", "-")
            aliases = (alias for mark in marks for alias in getattr(mark, "aliases", None) or ())
            found |= dict.fromkeys((f"--{name}", *(a for a in aliases if a.startswith("--"))), _option(plain))
            if plain is bool and tyro.conf.FlagCreatePairsOff not in marks:
                found[f"--no-{name}"] = Option("flag")
    return found


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type itself without None, and the marks around it."""
    if get_origin(hint) is Annotated:
        plain, marks = _unwrap(get_args(hint)[0])
        return plain, (*marks, *hint.__metadata__)
    if get_origin(hint) in (Union, types.UnionType):
        given = [part for part in get_args(hint) if part is not type(None)]
        return _unwrap(given[0]) if len(given) == 1 else (hint, ())
    return hint, ()


def _option(plain: Any) -> Option:
    if get_origin(plain) is Literal:
        return Option("choice", tuple(map(str, get_args(plain))))
    kinds: dict[Any, Option] = {bool: Option("flag"), float: Option("number"), int: Option("whole number")}
    return kinds.get(plain, Option("text"))


def check(arguments: list[str], commands: dict[str, type]) -> None:
    """Refuse an unknown command or option, and values that no number or choice is."""
    at = next((k for k, word in enumerate(arguments) if not word.startswith("-")), None)
    for word in arguments[:at]:
        if word.startswith("--") and word not in (*COMMON, "--version"):
            raise UsageError(f"no command before {word}: kinema COMMAND {word} ... (kinema --help lists the commands)")
    if at is None:
        return
    name = arguments[at]
    if name not in commands:
        raise UsageError(f"unknown command {name!r}{_perhaps(name, commands)} (kinema --help lists all)")
    known, words = options_of(commands[name]), iter(arguments[at + 1 :])
    for word in words:
        if not word.startswith("--") or word == "--":
            continue
        option, equals, value = word.partition("=")
        option = option.replace("_", "-")
        if option in COMMON:
            continue
        if option not in known:
            hint = _perhaps(option, (*known, *COMMON))
            raise UsageError(f"{name} has no option {option}{hint} (kinema {name} --help lists all)")
        if known[option].kind != "flag":
            given = value if equals else next(words, None)
            if given is not None:
                _check_value(option, known[option], given)


def _check_value(name: str, option: Option, value: str) -> None:
    if option.kind == "choice" and value not in option.choices:
        raise UsageError(f"{name} {value}: must be {_listed(option.choices)}{_perhaps(value, option.choices)}")
    if option.kind in ("number", "whole number"):
        try:
            float(value) if option.kind == "number" else int(value)
        except ValueError:
            example = "1.5" if option.kind == "number" else "12"
            raise UsageError(f"{name} {value}: must be a {option.kind}, such as {example}") from None


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _perhaps(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, list(known), n=1, cutoff=0.65)
    return f"; did you mean {near[0]}?" if near else ""


def bash_script(commands: dict[str, type], priors: tuple[str, ...]) -> str:
    """The script to be evaluated by a shell: eval "$(kinema completion bash)"."""
    known = {name: options_of(cls) for name, cls in commands.items()}
    values = [
        f"  {_quoted(f'{name} {option}')}) choices=$'{_lines(found)}' ;;"
        for name, options in known.items()
        for option, kind in options.items()
        if (found := priors if option == "--prior" else kind.choices)
    ]
    positional = {"completion": ("bash", "zsh", "fish")}
    values += [f"  {_quoted(f'{name} {name}')}) choices=$'{_lines(words)}' ;;" for name, words in positional.items()]
    options = [f"    {name}) choices=$'{_lines((*names, *COMMON))}' ;;" for name, names in known.items()]
    parts = {"COMMANDS": _lines(tuple(commands)), "COMMON": _lines((*COMMON, "--version"))}
    parts |= {"VALUES": "\n".join(values), "OPTIONS": "\n".join(options)}
    return re.sub(r"@(\w+)@", lambda found: parts[found[1]], SCRIPT.read_text(encoding="utf-8"))


def _lines(words: tuple[str, ...]) -> str:
    return "\\n".join(words)


def _quoted(text: str) -> str:
    return f'"{text}"'
