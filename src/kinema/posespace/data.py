"""Training batches: poses of bodies with about as many joints, drawn so that no family and no large body dominates."""

import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.posespace.augment import Variant, augment, regrown, shared_turns
from kinema.posespace.batch import Bodies
from kinema.posespace.pose import from_six
from kinema.posespace.shards import BodyPoses, read_shard, shards_in

SIZES = (7, 11, 15, 19, 23, 27, 32, 38, 46, 56, 68, 100)
"""Joints up to which bodies share batches, so that little is padding; larger bodies are left out."""
TOKENS = 29
"""Tokens of a pose of usual size: batches of smaller ones have more poses, of larger ones fewer, in the same time."""
LEAST_POSES = 4
UNWORDED = 0.4
"""Share of poses without words."""


@dataclass(frozen=True)
class Entry:
    """A body as it is, or a variant of it, among those of its size."""

    shard: BodyPoses
    variant: Variant


@dataclass(frozen=True)
class Group:
    """Bodies of about one size, as one batch of tensors."""

    entries: tuple[Entry, ...]
    bodies: Bodies
    weights: Float[np.ndarray, "entries"]


@dataclass(frozen=True)
class Batch:
    """Bodies in poses, with the captions of the motions that they are from ("" for none)."""

    bodies: Bodies
    rotations: Float[Tensor, "batch joints 3 3"]
    height: Float[Tensor, "batch"]
    """In scales."""
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """All poses of a folder, in memory."""

    groups: tuple[Group, ...]
    shards: tuple[BodyPoses, ...]

    @staticmethod
    def read(folder: Path, sources: tuple[str, ...], *, variants: bool, seed: int) -> "Dataset":
        shards = [shard for path in shards_in(folder) if (shard := read_shard(path)).source in sources]
        shards = [s for s in shards if len(s.height) >= LEAST_POSES and 2 <= len(s.body.parents) <= SIZES[-1]]
        if not shards:
            raise KinemaError(f"{folder}: has no poses of {', '.join(sources)}; make some with kinema collect-poses")
        families = Counter((shard.family, shard.source) for shard in shards)
        entries, weights = [], []
        for number, shard in enumerate(shards):
            # A body counts by the root of its poses, the bodies of a family and source by the root of their number: a
            # hundred artists' rigs shall be heard beside a thousand creatures.
            weight = len(shard.height) ** 0.5 / families[shard.family, shard.source] ** 0.5
            own = Variant.same(shard.body)
            changed = [regrown(shard.body, np.random.default_rng((seed, number)))] if variants else []
            changed = [variant for variant in changed if len(variant.source) <= SIZES[-1]]
            entries += [Entry(shard, variant) for variant in (own, *changed)]
            weights += [weight] * (1 + len(changed))
        sizes = np.array([len(entry.variant.source) for entry in entries])
        edges, groups = (0, *SIZES[:-1], 10**6), []
        for low, high in itertools.pairwise(edges):
            index = np.flatnonzero((sizes > low) & (sizes <= high))
            if len(index):
                here = [entries[i] for i in index]
                bodies = Bodies.of([entry.variant.body for entry in here])
                groups.append(Group(tuple(here), bodies, np.array(weights)[index]))
        return Dataset(tuple(groups), tuple(shards))

    def draw(self, rng: np.random.Generator, count: int, *, change: bool) -> Batch:
        """A batch of one group, as large as `count` poses of usual size; `change` augments it."""
        sizes = np.array([group.bodies.mask.shape[1] + 1 for group in self.groups])
        counts = np.clip(np.round(count * TOKENS / sizes), max(1, count // 2), 2 * count).astype(int)
        # Every pose is as likely as its body's weight says, whatever the size of its batches.
        totals = np.array([group.weights.sum() for group in self.groups]) / counts
        chosen = int(rng.choice(len(totals), p=totals / totals.sum()))
        group, count = self.groups[chosen], int(counts[chosen])
        index = rng.choice(len(group.entries), size=count, p=group.weights / group.weights.sum())
        bodies = group.bodies[torch.from_numpy(index)]
        joints = bodies.mask.shape[1]
        six, shares = np.zeros((2, count, joints, 6), np.float32), np.ones((count, joints), np.float32)
        height, captions = np.zeros(count, np.float32), []
        for row, number in enumerate(index):
            entry = group.entries[number]
            shard, source = entry.shard, list(entry.variant.source)
            pose, other = (int(k) for k in rng.integers(len(shard.height), size=2))
            six[0, row, : len(source)], six[1, row, : len(source)] = shard.six[pose, source], shard.six[other, source]
            shares[row, : len(source)] = entry.variant.shares
            height[row] = shard.height[pose] / float(bodies.scale[row])
            captions.append(shard.captions[shard.caption[pose]] if rng.random() > UNWORDED else "")
        raised, parts = torch.from_numpy(height), torch.from_numpy(shares)
        rotations, others = (shared_turns(turns, parts) for turns in from_six(torch.from_numpy(six)))
        if change:
            generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
            # Mirrored words would have to be told too: sides are left out.
            captions = ["" if "left" in c or "right" in c else c for c in captions]
            bodies, rotations, raised = augment(bodies, rotations, raised, others, generator=generator)
        return Batch(bodies, rotations, raised, tuple(captions))
