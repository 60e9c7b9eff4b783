"""Argument types that several commands share."""

from pathlib import Path
from typing import Annotated

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


def check_seed(seed: int | None) -> None:
    """Refuse a seed that numpy or torch would."""
    check_number("--seed", seed, 0, 2**63 - 1)
