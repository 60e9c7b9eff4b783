"""The options of `kinema collect-poses`; light, so that the command line can show them without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from kinema.options import named

Source = Literal["distilled", "recorded", "procedural"]


@dataclass(frozen=True)
class CollectPoses:
    """Collect poses of many bodies for `kinema train-poses`. What is there already is not made again."""

    out: Annotated[Path, named("FOLDER", "-o")] = Path("runs/poses")
    """Folder of the shards, one file per body."""
    source: Source = "distilled"
    """Videos of the embedded prior, recorded clips of third-party rigs, or procedural motions of creatures."""
    bodies: int = 100
    """How many bodies to collect in all; of recorded clips, there are as many as files."""
    minutes: float = 1e6
    """Stop after so many minutes; the same command goes on."""
    shared: Annotated[Path | None, named("FOLDER")] = None
    """Folder with third-party rigs and motions; needed for `recorded`, used by `distilled` where it is given."""
    clips: int = 8
    """Captions per body, of distilled poses."""
    weights: Annotated[Path | None, named("FILE")] = None
    """Weights of another nano to distil from; by default the one in the package."""
    only: Annotated[tuple[int, int], named("FIRST STEP")] = (0, 1)
    """Make bodies FIRST, FIRST + STEP and so on only, so that several processes share the work."""
    seed: int = 0
    """Seed of bodies, motions and videos."""
