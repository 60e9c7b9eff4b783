"""Who makes a mesh from words; light, so that the command line can show it without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kinema.options import named


@dataclass(frozen=True)
class MakerOptions:
    """Who makes the mesh."""

    maker: Annotated[str | None, tyro.conf.arg(name="with", metavar="MAKER", help_behavior_hint="")] = None
    """shap-e, shap-e=FOLDER (a checkpoint of it), or a program: 'CMD {prompt} {image} {out}'; not a built-in body."""
    image: Annotated[Path | None, named("FILE")] = None
    """A picture of the character, for a program that takes {image}."""
    maker_seconds: Annotated[float, named("FLOAT")] = 1800.0
    """How long a program may take."""
    most_faces: Annotated[int, named("INT")] = 40_000
    """A mesh with more triangles is made coarser."""


MADE_HERE = MakerOptions()
MADE = "character.glb"
"""The character that was made, or given in memory, in the folder of its run."""
