"""The options of `kinema collect-poses`; light, so that the command line can show them without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from kinema.options import named

Source = Literal["distilled", "recorded", "procedural"]
BLOCK = 120
"""Bodies that one process makes: starting and templates of skeletons take it ten seconds."""
BLOCK_DONE = "bodies.json"
"""What became of each body of a block, in its folder: the last file that is written."""


@dataclass(frozen=True)
class CollectPoses:
    """Collect poses of many bodies for `kinema train-poses`. What is there already is not made again."""

    out: Annotated[Path, named("FOLDER", "-o")] = Path("runs/poses")
    """Folder of the shards, one file per body, in a folder for each block of them."""
    source: Source = "distilled"
    """Videos of the embedded prior, recorded clips of third-party rigs, or procedural motions of creatures."""
    bodies: int = 100
    """How many bodies to collect in all; of recorded clips, there are as many as files."""
    shared: Annotated[Path | None, named("FOLDER")] = None
    """Folder with third-party rigs and motions; needed for `recorded`, used by `distilled` where it is given."""
    clips: int = 8
    """Captions per body, of distilled poses."""
    weights: Annotated[Path | None, named("FILE")] = None
    """Weights of another nano to distil from; by default the one in the package."""
    seed: int = 0
    """Seed of bodies, motions and videos."""
    workers: Annotated[int | None, named("INT")] = None
    """Processes at a time on this machine, by default one per core."""
    ray: Annotated[str | None, named("ADDRESS")] = None
    """Run on a Ray cluster, as in `kinema batch`."""
    block: Annotated[int | None, named("INT")] = None
    """Make one block of bodies only, in FOLDER itself and in this process, as each job of the batch does."""
