"""Training clips on disk: shards of fixed size, each written whole, so that makers and readers need no lock."""

import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Int
from torch import Tensor

from kinema.errors import KinemaError
from kinema.gait.make import Label
from kinema.gait.takes import Performers
from kinema.prior.nano.codec import covered_places
from kinema.prior.nano.model import Conditions, variant_row
from kinema.prior.nano.words import embed_motion
from kinema.prior.protocol import KnownMotion, Way

SHARD = 256
"""Clips per shard."""
ARRAYS = ("latents", "still", "upright", "motion", "camera", "natural")


@dataclass(frozen=True)
class Clips:
    """A batch of videos with what is known about them; pictures of both formats have as many tokens."""

    latents: Float16[np.ndarray, "clips tokens channels"]
    """All patches of a film of point maps."""
    still: Float16[np.ndarray, "clips places values"]
    """Patches of the body as it stands (`codec.still_tokens`)."""
    upright: Bool[np.ndarray, "clips"]
    """The picture is taller than wide."""
    motion: Float[np.ndarray, "clips 4"]
    """1 if it repeats, phase or progress at frame 0, frames per cycle or action, leg lengths per frame (see
    `Conditions`)."""
    camera: Float[np.ndarray, "clips 2"]
    """yaw and elevation [rad]."""
    natural: Float[np.ndarray, "clips 2"]
    """Duration of the cycle or action [s; 0: a state] and speed [leg lengths per second] before the tempo was drawn."""
    label: list[Label]
    """What is to be seen; captions are worded anew whenever a clip is shown."""


def shard_path(folder: Path, index: int) -> Path:
    return folder / f"shard_{index:05d}"


def find_shard(folder: Path, index: int) -> Path | None:
    """The shard in the folder or, made by a batch, in that of its block; None if it is not there yet."""
    name = shard_path(folder, index).name
    found = [path for path in (folder / name, *folder.glob(f"*/{name}")) if path.is_dir()]
    if len(found) > 1:
        raise KinemaError(f"{folder}: has {name} twice, in {found[0].parent.name} and {found[1].parent.name}")
    return found[0] if found else None


def write_shard(folder: Path, index: int, clips: Clips) -> None:
    """The folder is renamed into place last, so a reader never sees half a shard."""
    final = shard_path(folder, index)
    partial = final.with_name(final.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for key in ARRAYS:
        np.save(partial / f"{key}.npy", getattr(clips, key))
    (partial / "labels.json").write_text(json.dumps([asdict(label) for label in clips.label]))
    partial.rename(final)


@cache
def read_shard(folder: Path, index: int) -> Clips:
    """Latents and stills stay on disk (memory-mapped)."""
    path = find_shard(folder, index)
    if path is None:
        raise KinemaError(f"{shard_path(folder, index)}: no such shard; make it with kinema make-clips")
    labels = [Label(**entry) for entry in json.loads((path / "labels.json").read_text())]
    large = ARRAYS[:2]
    arrays = {key: np.load(path / f"{key}.npy", mmap_mode="r" if key in large else None) for key in ARRAYS}
    return Clips(**arrays, label=labels)


def told_batch(data: Path, rows: Int[np.ndarray, "clips"]) -> tuple[Tensor, Conditions]:
    """Latents of clips, by their number in the data, and all that the model can be told of them."""
    parts: list[tuple[Tensor, ...]] = []
    for shard in np.unique(rows // SHARD):
        clips = read_shard(data, int(shard))
        index = (rows[rows // SHARD == shard] % SHARD).tolist()
        labels = [clips.label[i] for i in index]
        text = torch.cat([embed_motion(label.name) for label in labels])
        variant = torch.tensor([variant_row(label.variant) for label in labels])
        side = torch.tensor([[float(label.side)] for label in labels])
        pace, camera = (torch.from_numpy(values[index]).float() for values in (clips.motion, clips.camera))
        motion = torch.cat((pace, torch.ones(len(index), 2), side), -1)
        still, latents = (torch.from_numpy(np.array(x[index])).float() for x in (clips.still, clips.latents))
        parts.append((latents, text, variant, still, torch.from_numpy(clips.upright[index]), motion, camera))
    latents, text, variant, still, upright, motion, camera = (torch.cat(column) for column in zip(*parts))
    places = covered_places(still)
    latents = latents.gather(1, places[..., None].expand(-1, -1, latents.shape[-1]))
    return latents, Conditions(text, variant, still, upright, motion, camera, places)


def motions_table(
    folder: Path, shards: Iterable[int], who: Mapping[str, Performers],
    missed: Mapping[tuple[str, str, str], tuple[float, float]],
) -> tuple[KnownMotion, ...]:  # fmt: skip
    """What the clips of some shards show: motions by kind of body, with their usual duration, speed and ways.

    `who` says who does each variant (`gait.takes.performers`), `missed` how well each way is known and how lively it is
    (`ways_missed`).
    """
    found: dict[tuple[str, str], list[tuple[Label, float, float]]] = defaultdict(list)
    for index in shards:
        clips = read_shard(folder, index)
        for label, (seconds, speed) in zip(clips.label, clips.natural.tolist()):
            found[label.name, label.body].append((label, seconds, speed))
    rows = []
    for (name, body), clips in sorted(found.items()):
        ways: dict[str, list[tuple[Label, float, float]]] = defaultdict(list)
        for clip in clips:
            ways[clip[0].variant].append(clip)
        repeats = np.mean([label.repeats for label, *_ in clips]) > 0.5
        known = tuple(
            _way(variant, of, who.get(variant), missed.get((name, body, variant), (0.0, 1.0)))
            for variant, of in sorted(ways.items())
        )
        speed = float(np.median([speed for *_, speed in clips]))
        rows.append(KnownMotion(name, body, len(clips), bool(repeats), _seconds(clips), speed, known))
    return tuple(rows)


def _way(
    variant: str, clips: list[tuple[Label, float, float]], who: Performers | None, known: tuple[float, float]
) -> Way:
    left = sum(label.side == 1 for label, *_ in clips)
    performers, build = who or (1, None)
    return Way(variant, _seconds(clips), 1 if 2 * left >= len(clips) else -1, performers, build, *known)


def _seconds(clips: list[tuple[Label, float, float]]) -> float:
    """Median duration. A clip of somebody who sits already has none; those of sitting down tell it."""
    timed = [seconds for _, seconds, _ in clips if seconds > 0]
    return float(np.median(timed)) if timed else 0.0
