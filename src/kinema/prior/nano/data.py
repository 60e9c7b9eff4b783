"""Training clips: creatures and rigs do procedural and recorded motions and are filmed as point maps."""

import json
import multiprocessing
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch

from kinema.files import make_folder, write_text
from kinema.gait.make import Label
from kinema.prior.nano.actor import Actor, Shot
from kinema.prior.nano.cast import cast_shots
from kinema.prior.nano.codec import SCALE, patches, still_tokens
from kinema.prior.nano.config import CLIPS_DONE, SHARDS_PER_BLOCK, MakeClips
from kinema.prior.nano.prior import FPS
from kinema.prior.nano.shards import ARRAYS, SHARD, Clips, shard_path, write_shard

VIEWS = 3
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
def make_clips(rng: np.random.Generator, count: int, *, shared: Path | None = None) -> Clips:
    """A shuffled mixture of creatures, motions and views."""
    rows: list[tuple] = []
    for shot in shots(rng, shared):
        for _ in range(VIEWS):
            video, still, camera = shot.film(rng)
            latents, stands = (x.half().numpy() for x in (SCALE * patches(video), still_tokens(still)))
            upright = video.shape[-2] > video.shape[-1]
            rows.append((latents, stands, upright, conditions(shot.label), camera, shot.natural, shot.label))
        if len(rows) >= count:
            break
    order = rng.permutation(len(rows))[:count]
    *arrays, label = zip(*(rows[i] for i in order))
    return Clips(**{key: np.array(column) for key, column in zip(ARRAYS, arrays)}, label=list(label))


def make_shards(folder: Path, indices: Iterable[int], seed: int, shared: Path | None) -> None:
    """Write every shard that is not there yet; each depends on the seed and its number alone."""
    torch.set_num_threads(1)
    trainer = multiprocessing.parent_process()
    for index in indices:
        if trainer is not None and not trainer.is_alive():
            return  # it was killed
        if not shard_path(folder, index).is_dir():
            write_shard(folder, index, make_clips(np.random.default_rng((seed, index)), SHARD, shared=shared))


def make_block(config: MakeClips) -> list[int]:
    """Write the shards of a block that are missing, then a note that all are there; returns their numbers."""
    assert config.block is not None
    folder, first = make_folder(config.out), SHARDS_PER_BLOCK * config.block
    shards = range(first, min(first + SHARDS_PER_BLOCK, config.shards))
    make_shards(folder, shards, config.seed, config.shared)
    write_text(folder / CLIPS_DONE, json.dumps(list(shards)))
    return list(shards)
