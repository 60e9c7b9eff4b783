"""The options of `kinema train-prior`; light, so that the command line can show them without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kinema.options import named

SHARDS_PER_BLOCK = 8
"""Shards that one process makes: it takes a while to read the third-party characters."""
CLIPS_DONE = "clips.json"
"""The shards of a block, in its folder: the last file that is written."""


@dataclass(frozen=True)
class MakeClips:
    """Make the training clips of `kinema train-prior` on many cores or machines. What is there is not made again."""

    out: Annotated[Path, named("FOLDER", "-o")] = Path("runs/nano/data")
    """Folder of the shards, the `data` of the training's folder; in a folder for each block of them."""
    shards: int = 160
    """How many shards of 256 clips to make."""
    shared: Annotated[Path | None, named("FOLDER")] = None
    """Folder with third-party rigs and motions (`clips/`, `motion/`) to make clips of as well."""
    seed: int = 0
    """Seed of the clips; a training with this seed makes the same ones by itself."""
    workers: Annotated[int | None, named("INT")] = None
    """Processes at a time on this machine, by default one per core."""
    ray: Annotated[str | None, named("ADDRESS")] = None
    """Run on a Ray cluster, as in `kinema batch`."""
    block: Annotated[int | None, named("INT")] = None
    """Make one block of shards only, in FOLDER itself and in this process, as each job of the batch does."""


@dataclass(frozen=True)
class TrainPrior:
    """Train the embedded video prior."""

    out: Annotated[Path, named("FOLDER", "-o")] = Path("runs/nano")
    """Folder for data, checkpoints, log and the finished weights; an existing one is resumed."""
    minutes: float = 10.0
    """Time to train in all, over every resumption; the learning rate falls to zero towards its end."""
    shards: int = 160
    """How many shards of 256 clips to make at most."""
    makers: int = 1
    """Processes that make clips beside the training; 0 waits for those of `kinema make-clips`."""
    reuse: int = 3
    """How often a clip may be seen, on average, before a new shard is waited for."""
    ahead: int = 1
    """Shards to wait for before the first step."""
    shared: Annotated[Path | None, named("FOLDER")] = None
    """Folder with third-party rigs and motions (`clips/`, `motion/`) to learn from as well."""
    batch: int = 32
    """Clips per step and rank."""
    ranks: int = 1
    """Single-threaded processes that train together, each with a batch of its own; 1 trains with all threads in one."""
    width: int = 192
    """Channels of the network."""
    layers: int = 6
    """Blocks of the network."""
    heads: int = 6
    """Attention heads of a block."""
    rate: float = 1e-2
    """Learning rate of the matrices (Muon); all else gets a quarter of it (AdamW)."""
    average: float = 0.999
    """Decay of the weights' moving average, which is what is shipped."""
    checkpoint_minutes: float = 3.0
    """How often to save, which is what a killed run loses at most."""
    seed: int = 0
    """Seed of clips, batches, noise and the first weights."""
    start_from: Annotated[Path | None, named("FILE")] = None
    """Weights or a checkpoint of the same sizes to start a new run from."""
