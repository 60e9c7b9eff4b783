"""Training clips on disk: shards of fixed size, each written whole, so that makers and readers need no lock."""

import json
import shutil
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int8, UInt8
from torch import Tensor

from kinema.gait.make import Label
from kinema.prior.nano.codec import still_tokens

SHARD = 256
"""Clips per shard."""


@dataclass(frozen=True)
class Clips:
    """A batch of videos with what is known about them."""

    residual: Int8[np.ndarray, "clips frames 3 height width"]
    """127 times the difference to the character at rest."""
    still: UInt8[np.ndarray, "clips 3 height width"]
    motion: Float[np.ndarray, "clips 3"]
    """phase, period, speed (see `Conditions`)."""
    camera: Float[np.ndarray, "clips 2"]
    label: list[Label]
    """What is to be seen; captions are worded anew whenever a clip is shown."""

    def residuals(self, index: list[int] | slice = slice(None)) -> Float[Tensor, "clips frames 3 height width"]:
        return torch.from_numpy(np.array(self.residual[index])).float() / 127

    def stills(self, index: list[int] | slice = slice(None)) -> Float[Tensor, "clips places values"]:
        return still_tokens(torch.from_numpy(np.array(self.still[index])).float() / 127.5 - 1)


def shard_path(folder: Path, index: int) -> Path:
    return folder / f"shard_{index:05d}"


def write_shard(folder: Path, index: int, clips: Clips) -> None:
    """The folder is renamed into place last, so a reader never sees half a shard."""
    final = shard_path(folder, index)
    partial = final.with_name(final.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for key in ("residual", "still", "motion", "camera"):
        np.save(partial / f"{key}.npy", getattr(clips, key))
    (partial / "labels.json").write_text(json.dumps([asdict(label) for label in clips.label]))
    partial.rename(final)


@cache
def read_shard(folder: Path, index: int) -> Clips:
    """Videos stay on disk (memory-mapped)."""
    path = shard_path(folder, index)
    labels = [Label(**entry) for entry in json.loads((path / "labels.json").read_text())]
    residual, still = (np.load(path / f"{key}.npy", mmap_mode="r") for key in ("residual", "still"))
    return Clips(residual, still, np.load(path / "motion.npy"), np.load(path / "camera.npy"), labels)
