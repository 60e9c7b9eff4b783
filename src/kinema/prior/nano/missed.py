"""What clean estimates of known clips miss: how well a network knows each way of doing a motion."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.prior.nano.model import Conditions, Nano, signal_noise
from kinema.prior.nano.shards import SHARD, read_shard, told_batch

QUIET = 0.2
"""Mean square of a clip's latents at which its loss counts half: errors count relative to the clip's own motion, or
falls would be learnt and gestures would not."""
CLIPS = 10
"""Clips of each way that are looked at, at most."""
LEVEL = 0.98
"""Noise level at which they are: there the network has to know, because it hardly sees."""
BATCH = 64

WayKey = tuple[str, str, str]
"""Motion, kind of body, variant."""


@torch.no_grad()
def missed(
    model: Nano, clean: Float[Tensor, "clips tokens channels"], given: Conditions, level: float, *, seed: int
) -> tuple[Float[Tensor, "clips"], Float[Tensor, "clips"]]:
    """Squares of what the estimates miss and of the clips' own motion, both relative to `QUIET` and that motion."""
    noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(seed))
    alpha, sigma = signal_noise(torch.tensor(level))
    found = model.clean(alpha * clean + sigma * noise, torch.full((len(clean),), level), given)
    off, moved = ((x.square() * given.covered).sum((1, 2)) for x in (found - clean, clean))
    weight = 1 / (QUIET * given.covered.sum((1, 2)) + moved)
    return weight * off, weight * moved


def ways_missed(model: Nano, data: Path, shards: Iterable[int]) -> dict[WayKey, tuple[float, float]]:
    """By way, the share of the motion that is missed (0: known by heart, 1: nothing is), and how lively it is, from
    0 for what hardly moves to 1."""
    every: dict[WayKey, list[int]] = defaultdict(list)
    for shard in shards:
        for index, label in enumerate(read_shard(data, shard).label):
            every[label.name, label.body, label.variant].append(shard * SHARD + index)
    # At random: clips that lie together show the same bodies.
    rng = np.random.default_rng(0)
    rows = {way: rng.permutation(of)[:CLIPS].tolist() for way, of in every.items()}
    chosen = np.array(sorted(row for of in rows.values() for row in of))
    shares: dict[int, tuple[float, float]] = {}
    for begin in range(0, len(chosen), BATCH):
        batch = chosen[begin : begin + BATCH]
        off, moved = missed(model, *told_batch(data, batch), LEVEL, seed=begin)
        shares |= zip(batch.tolist(), zip(off.tolist(), moved.tolist()))
    means = {way: np.mean([shares[row] for row in of], axis=0) for way, of in rows.items()}
    return {way: (float(min(off / max(moved, 1e-6), 1.0)), float(moved)) for way, (off, moved) in means.items()}
