"""What a user's words for a character mean: a file or a built-in creature. Needs no torch, so that it answers soon."""

import re
import warnings
from pathlib import Path
from typing import Any

from kinema.asset.character import Character
from kinema.asset.load import as_told, load
from kinema.create.creatures import creature, read_words
from kinema.errors import KinemaError

LONGEST_NAME = 1000
"""Characters beyond which words cannot be meant as a file."""


def find_path(words: str) -> Path | None:
    """The file or folder of that name, if there is one; a sentence too long for a name is none."""
    try:
        return Path(words) if words.strip() and Path(words).exists() else None
    except (OSError, ValueError):
        return None


def find_character(words: str, **reading: Any) -> Character:
    """A file if there is one of that name (`reading` as `load` takes it), else a built-in creature."""
    if not words.strip():
        raise KinemaError("no character: give a file or the words of a built-in creature, such as 'a red fox'")
    path = find_path(words)
    if path is not None:
        return load(path, **reading)
    if len(words) < LONGEST_NAME and (re.search(r"\.\w{2,5}$", words) or "/" in words):
        raise KinemaError(f"{words}: no such file")
    note = read_words(words).note
    if note:
        warnings.warn(note, stacklevel=2)
    return as_told(creature(words), ground=reading.get("ground"), legs=reading.get("legs"))
