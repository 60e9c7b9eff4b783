"""The one exception a user is meant to see."""

import math
from typing import Any


class KinemaError(Exception):
    """A mistake in the input or the environment, told in one line that names the file and the value.

    The command line prints it without a traceback and exits with code 1; anything else is a bug.
    """


class MachineError(KinemaError):
    """A full disk, or a folder in which another process works: the same job may go well later (exit code 75)."""


def first_line(error: BaseException, most: int = 100) -> str:
    """What another library's exception says first, or its kind if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:most]


def check_number(option: str, value: int | float | None, least: int | float, most: int | float = math.inf) -> None:
    """Refuse a number out of its range, or NaN, by the name of the option that it came with; None is no number."""
    if value is None or least <= value <= most:
        return
    wanted = f"at least {least:g}" if value < least else f"at most {most:g}" if value > most else "a number"
    raise KinemaError(f"{option} {value}: must be {wanted}")


def is_text(value: Any) -> bool:
    """True for a string that can be written anywhere; JSON can spell half characters (lone surrogates) that cannot."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)
