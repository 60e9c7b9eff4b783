"""Argument types that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import tyro

from kinema.asset.options import AS_NAMED as AS_NAMED
from kinema.asset.options import FileOptions, NameOptions
from kinema.distill.config import AS_FOUND as AS_FOUND
from kinema.errors import check_number
from kinema.options import named
from kinema.view.server import Address

Asset = Annotated[tyro.conf.Positional[str], named("ASSET")]
OutFile = Annotated[Path, named("FILE", "-o")]
OutFolder = Annotated[Path, named("FOLDER", "-o")]
Reading = tyro.conf.OmitArgPrefixes[FileOptions]
Naming = tyro.conf.OmitArgPrefixes[NameOptions]
Listen = tyro.conf.OmitArgPrefixes[Address]
LOCAL = Address()
SEEDS = (0, 2**63 - 1)
"""What numpy and torch take as a seed."""


def check_ranges(command: Any, **ranges: tuple[int | float, int | float]) -> None:
    """Refuse options of a command that are out of their range; None is in every range."""
    for name, (least, most) in ranges.items():
        check_number(f"--{name.replace('_', '-')}", getattr(command, name), least, most)
