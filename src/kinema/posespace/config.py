"""The options of `kinema train-poses`; light, so that the command line can show them without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kinema.options import named


@dataclass(frozen=True)
class TrainPoses:
    """Train the pose space on the poses of `kinema collect-poses`."""

    data: Annotated[Path, named("FOLDER")] = Path("runs/poses")
    """Folder of the shards."""
    out: Annotated[Path, named("FOLDER", "-o")] = Path("runs/posespace")
    """Folder for checkpoint, log and the finished weights; an existing one is resumed."""
    start_from: Annotated[Path | None, named("FILE")] = None
    """Finished weights of the same size to begin with instead of random ones."""
    minutes: float = 10.0
    """Time to train in all, over every resumption; the learning rate falls to zero towards its end."""
    sources: Annotated[str, named("A,B")] = "distilled,recorded,procedural"
    """Kinds of poses to learn from."""
    batch: int = 64
    """Poses per step."""
    width: int = 128
    """Channels of the network."""
    layers: int = 4
    """Blocks of the network."""
    heads: int = 4
    """Attention heads of a block."""
    rate: float = 4e-3
    """Learning rate of the matrices (Muon); all else gets two thirds of it (AdamW)."""
    average: float = 0.998
    """Decay of the weights' moving average, which is what is shipped."""
    augment: bool = True
    """Mirror bodies, change their rest pose, proportions and joints."""
    checkpoint_minutes: float = 2.0
    """How often to save, which is what a killed run loses at most."""
    seed: int = 0
    """Seed of batches, noise and the first weights."""
