"""The key of a job: a hash of the character's bytes, the prompt, the seed, all other options, and of what runs it."""

import contextlib
import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import kinema
from kinema.distill.config import Animate
from kinema.errors import KinemaError
from kinema.files import inside_folder

LENGTH = 16
"""Hexadecimal digits of a key."""
NOT_THE_RESULT = ("out", "resume", "overwrite", "checkpoint_seconds")
"""Options that do not change what comes out."""


def key_of(content: Animate | str) -> str:
    """The same content has the same key, wherever its files lie."""
    if isinstance(content, Animate):
        told = {name: value for name, value in asdict(content).items() if name not in NOT_THE_RESULT}
        told["asset"] = _named(content.asset)
        content = json.dumps([_plain(told), kinema.__version__, embedded_weights()], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:LENGTH]


def files_of(asset: str | Path) -> list[Path]:
    """A character's file and those that it refers to; none for the words of a built-in creature."""
    path = Path(asset)
    try:
        if not path.is_file():
            return []
    except (OSError, ValueError):  # a sentence that is too long for a name
        return []
    if path.suffix.lower() != ".gltf":
        return [path]
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        parts = [part.get("uri", "") for kind in ("buffers", "images") for part in document.get(kind, ())]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return [path]  # whoever reads it will say what is wrong
    found = [path]
    for uri in parts:
        if isinstance(uri, str) and uri and "data:" not in uri:
            # What leads out of the folder will be refused; it must not travel with the job before.
            with contextlib.suppress(KinemaError):
                inside_folder(path.parent, unquote(uri), about=path)
                found.append(path.parent / unquote(uri))
    return [file for file in found if file.is_file()]


def digest(paths: list[Path]) -> str:
    """SHA-256 of files one after the other."""
    found = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise KinemaError(f"{path}: cannot be read ({error.strerror or error})") from None
    return found.hexdigest()


@cache
def embedded_weights() -> str:
    """What the networks of the package have learned: the prior, the reader of prompts and the pose space."""
    return digest(sorted(Path(kinema.__file__).parent.rglob("*.safetensors")))


def _named(asset: str | Path) -> str:
    """A file by its content, anything else by its name."""
    files = files_of(asset)
    return f"{files[0].suffix.lower()} {digest(files)}" if files else str(asset)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON, with files by their content."""
    return {
        key: _plain(value) if isinstance(value, dict) else _named(value) if isinstance(value, Path) else value
        for key, value in values.items()
    }
