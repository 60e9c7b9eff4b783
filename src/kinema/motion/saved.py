"""What a run was started with, without torch, whose import takes longer than to refuse a bad file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinema.asset.options import FileOptions
from kinema.errors import KinemaError
from kinema.files import read_json
from kinema.options import from_json

AS_FOUND = FileOptions()
CONFIG = "config.json"
"""The options of a run; its presence makes a folder the folder of a run."""


@dataclass(frozen=True)
class SavedJob:
    """What every run's config.json says about its job; the rest of its options are the job's own."""

    asset: str
    prompt: str = ""
    more: tuple[str, ...] = ()
    reading: FileOptions = AS_FOUND


@dataclass(frozen=True)
class SavedRun:
    """What a run was started with."""

    config: dict[str, Any]
    hashes: dict[str, str] = field(default_factory=dict)


def read_config(folder: Path) -> tuple[SavedJob, SavedRun]:
    """What a run was started with, from its folder."""
    path = folder / CONFIG
    if not folder.exists():
        raise KinemaError(f"{folder}: no such folder")
    if not path.is_file():
        raise KinemaError(f"{folder}: not the folder of a run of kinema animate (no {CONFIG} in it)")
    saved = from_json(SavedRun, read_json(path), about=path)
    return from_json(SavedJob, saved.config, about=path), saved
