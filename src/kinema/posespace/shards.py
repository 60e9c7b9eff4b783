"""Poses on disk: one .npz per body, written whole, so that collecting and training need no lock."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int

from kinema.array_files import Array, read_arrays
from kinema.files import replacing
from kinema.posespace.body import Body
from kinema.posespace.pose import Poses, from_six, to_six

PER_JOINT = {name: Array("joints 3") for name in ("heads", "tails", "skin_centers")} | {
    "skin_spreads": Array("joints 3 3"),
    "skin_shares": Array("joints"),
}
"""Fields of a `Body` beside its parents, in their order."""
SCHEMA = {
    "about": Array("facts", kind="text"),
    "parents": Array("joints", kind="integer"),
    **PER_JOINT,
    "six": Array("poses joints 6"),
    "height": Array("poses"),
    "caption": Array("poses", kind="integer"),
    "captions": Array("words", kind="text"),
}
"""What a shard holds."""


@dataclass(frozen=True)
class BodyPoses:
    """A body with poses, each with the words of the motion that it is from."""

    name: str
    family: str
    """Kind of body; balances training."""
    source: str
    """distilled, recorded or procedural."""
    body: Body
    six: Float[np.ndarray, "poses joints 6"]
    """Rotations by `pose.to_six`."""
    height: Float[np.ndarray, "poses"]
    """[m] over rest."""
    caption: Int[np.ndarray, "poses"]
    captions: tuple[str, ...]

    @staticmethod
    def of(name: str, family: str, source: str, body: Body, parts: list[tuple[Poses, str]]) -> "BodyPoses":
        """From poses of several clips with their captions."""
        poses = Poses.cat([p for p, _ in parts])
        captions = tuple(dict.fromkeys(words for _, words in parts))
        index = np.repeat([captions.index(words) for _, words in parts], [len(p) for p, _ in parts])
        six = to_six(poses.rotations.double()).numpy().astype(np.float32)
        return BodyPoses(name, family, source, body, six, poses.height.double().numpy(), index, captions)

    def poses(self) -> Poses:
        return Poses(from_six(torch.from_numpy(self.six).float()), torch.from_numpy(self.height).float())


def shard_path(folder: Path, source: str, index: int) -> Path:
    return folder / f"{source}_{index:06d}.npz"


def write_shard(path: Path, shard: BodyPoses) -> None:
    """One file, which appears whole or not at all."""
    body = shard.body
    arrays = {
        "about": np.array([shard.name, shard.family, shard.source]), "parents": np.array(body.parents),
        "six": shard.six.astype(np.float16), "height": shard.height.astype(np.float32),
        "caption": shard.caption.astype(np.int32), "captions": np.array(shard.captions),
    } | {name: getattr(body, name) for name in PER_JOINT}  # fmt: skip
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_shard(path: Path) -> BodyPoses:
    data = read_arrays(path, SCHEMA, what="a shard of poses")
    name, family, source = data["about"].tolist()[:3]
    body = Body(tuple(data["parents"].tolist()), *(data[name].astype(np.float64) for name in PER_JOINT))
    six, height = data["six"].astype(np.float32), data["height"].astype(np.float64)
    return BodyPoses(name, family, source, body, six, height, data["caption"], tuple(data["captions"].tolist()))


def shards_in(folder: Path) -> Iterator[Path]:
    """Finished shards of a folder and of the blocks in it, in the order of their names."""
    number = "*_[0-9][0-9][0-9][0-9][0-9][0-9].npz"
    yield from sorted((*folder.glob(number), *folder.glob(f"*/{number}")), key=lambda path: (path.name, path))
