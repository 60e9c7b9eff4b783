"""How options look in `--help`; shared by the dataclasses of all commands."""

from typing import Annotated, Any

import tyro


def _hint(default: str) -> str:
    """What follows the text: nothing where the text itself says what happens by default."""
    return "" if default in ("None", "False", "", "''") else f"(default: {default})"


def named(metavar: str, *aliases: str) -> Any:
    """An option with the name of its value in capitals, and short forms such as -o."""
    return tyro.conf.arg(metavar=metavar, aliases=aliases or None, help_behavior_hint=_hint)


Flag = Annotated[tyro.conf.FlagCreatePairsOff[bool], tyro.conf.arg(help_behavior_hint=_hint)]
"""Off unless given; there is no --no- form."""
