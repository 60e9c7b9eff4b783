"""How options look in `--help`, and how they are read back from JSON; shared by the dataclasses of all commands."""

import contextlib
import types
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro

from kinema.errors import KinemaError

T = TypeVar("T")
WORDS = {str: "text", Path: "a path", int: "a whole number", float: "a finite number", bool: "true or false"}
WORDS |= {list: "a list", tuple: "a list", dict: "an object"}
"""Types as error messages call them."""


def _hint(default: str) -> str:
    """What follows the text: nothing where the text itself says what happens by default."""
    return "" if default in ("None", "False", "", "''") else f"(default: {default})"


def named(metavar: str, *aliases: str) -> Any:
    """An option with the name of its value in capitals, and short forms such as -o."""
    return tyro.conf.arg(metavar=metavar, aliases=aliases or None, help_behavior_hint=_hint)


Flag = Annotated[tyro.conf.FlagCreatePairsOff[bool], tyro.conf.arg(help_behavior_hint=_hint)]
"""Off unless given; there is no --no- form."""


def from_json(cls: type[T], values: Any, *, about: Path | str) -> T:
    """A dataclass from the JSON that its fields were saved as: every value has the type of its field.

    Fields that are not in the JSON keep their defaults, and what is no field is left out, so that files of older and
    newer versions can be read. A KinemaError names the file `about` and the value.
    """
    try:
        return _typed(cls, values)
    except ValueError as error:
        raise KinemaError(f"{about}: {error}") from None


def _dataclass(cls: Any, values: Any) -> Any:
    hints, known = get_type_hints(cls), {}
    for field in fields(cls):
        if field.name in values:
            try:
                known[field.name] = _typed(hints[field.name], values[field.name])
            except ValueError as error:
                raise ValueError(f"{field.name} {error}") from None
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{field.name} is missing")
    return cls(**known)


def _typed(wanted: Any, value: Any) -> Any:
    """The value as the wanted type; a ValueError says what it is instead."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return value
    if origin in (Union, types.UnionType):
        options = [option for option in inner if option is not type(None)]
        return None if value is None and len(options) < len(inner) else _one_of(options, value)
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if is_dataclass(wanted) and isinstance(value, dict):
        return _dataclass(wanted, value)
    if origin is tuple and isinstance(value, list | tuple) and inner[1:] == (...,):
        return tuple(_typed(inner[0], entry) for entry in value)
    if origin is tuple and isinstance(value, list) and len(value) == len(inner):
        return tuple(_typed(each, entry) for each, entry in zip(inner, value))
    if origin is list and isinstance(value, list):
        return [_typed(inner[0], entry) for entry in value]
    if origin is dict and isinstance(value, dict):
        return {key: _typed(inner[1], entry) for key, entry in value.items()}
    if isinstance(value, bool):
        pass  # which Python takes for a number
    elif wanted is float and isinstance(value, int | float) and abs(value) <= 1e300:
        return float(value)
    elif wanted is int and isinstance(value, int) and abs(value) < 2**63:
        return value
    if wanted is bool and isinstance(value, bool):
        return value
    if wanted in (str, Path) and isinstance(value, str) and "\0" not in value:
        return wanted(value)
    shown = repr(value)
    kind = " or ".join(map(str, inner)) if origin is Literal else WORDS.get(origin or wanted, "an object")
    raise ValueError(f"is {shown if len(shown) < 40 else shown[:37] + '...'}, not {kind}")


def _one_of(options: list[Any], value: Any) -> Any:
    """The value as the first of several types that it can have."""
    for option in options:
        with contextlib.suppress(ValueError):
            return _typed(option, value)
    return _typed(options[0], value)  # raises
