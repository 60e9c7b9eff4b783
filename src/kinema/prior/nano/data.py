"""Training clips: creatures and rigs do procedural and recorded motions and are filmed in the canonical look."""

import multiprocessing
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.gait.captions import caption
from kinema.gait.make import Label
from kinema.gait.motions import MOTIONS
from kinema.prior.nano.actor import Actor, Shot
from kinema.prior.nano.cast import cast_shots
from kinema.prior.nano.codec import Codec, patches, still_tokens
from kinema.prior.nano.prior import FPS
from kinema.prior.nano.shards import ARRAYS, SHARD, Clips, read_codec, shard_path, write_shard

VIEWS = 2
"""Sides from which a motion is filmed."""
SESSION = 16
"""Motions that one random creature does, where there are no others."""


def conditions(label: Label) -> tuple[float, float, float, float]:
    """Repeats, phase, period and speed as the model is told them."""
    return float(label.repeats), label.phase, label.period * FPS, label.speed / FPS


def shots(rng: np.random.Generator, shared: Path | None) -> Iterator[Shot]:
    """An endless mixture of bodies and motions."""
    if shared is not None:
        yield from cast_shots(rng, shared)
    while True:
        actor = Actor.random(rng)
        yield from (actor.perform(rng) for _ in range(SESSION))


@torch.no_grad()
def make_clips(rng: np.random.Generator, count: int, codec: Codec, *, shared: Path | None = None) -> Clips:
    """A shuffled mixture of creatures, motions and views."""
    rows: list[tuple] = []
    for shot in shots(rng, shared):
        for _ in range(VIEWS):
            video, reference, camera = shot.film(rng)
            latents = codec.encode(video - reference).half().numpy()
            still = (still_tokens(reference[0].clamp(0, 1)) * 255).round().to(torch.uint8).numpy()
            upright = video.shape[-2] > video.shape[-1]
            rows.append((latents, still, upright, conditions(shot.label), camera, shot.natural, shot.label))
        if len(rows) >= count:
            break
    order = rng.permutation(len(rows))[:count]
    *arrays, label = zip(*(rows[i] for i in order))
    return Clips(**{key: np.array(column) for key, column in zip(ARRAYS, arrays)}, label=list(label))


@torch.no_grad()
def sample_patches(rng: np.random.Generator, shared: Path | None, *, count: int = 384) -> Float[Tensor, "n values"]:
    """Patches of the differences between videos and references, to fit a codec to."""
    parts = []
    for shot in shots(rng, shared):
        video, reference, _ = shot.film(rng)
        parts.append(patches(video - reference))
        if len(parts) == count:
            return torch.cat(parts)
    raise AssertionError("the mixture is endless")


def make_shards(folder: Path, indices: Iterable[int], seed: int, shared: Path | None) -> None:
    """Write every shard that is not there yet; each depends on the seed and its number alone."""
    torch.set_num_threads(1)
    trainer, codec = multiprocessing.parent_process(), read_codec(folder)
    for index in indices:
        if trainer is not None and not trainer.is_alive():
            return  # it was killed
        if not shard_path(folder, index).is_dir():
            write_shard(folder, index, make_clips(np.random.default_rng((seed, index)), SHARD, codec, shared=shared))


def caption_examples(rng: np.random.Generator, *, count: int) -> tuple[list[str], list[int], tuple[str, ...]]:
    """Captions with the index of their class, every class equally often."""
    captions, names = [], tuple(MOTIONS)
    labels = [index % len(names) for index in range(count)]
    for number in labels:
        body, side = str(rng.choice(["quadruped", "biped", "bird"])), int(rng.choice((-1, 1)))
        captions.append(caption(Label(names[number], False, 0.0, 0.0, 0.0, body, side), rng))
    return captions, labels, names
