"""Bodies as tensors: several of them padded to one size, their features for the network and their kinematics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from kinema.posespace.body import Body

FEATURES = 28
"""Numbers that describe a joint to the network."""
Places = Float[Tensor, "batch joints 3"]
Turns = Float[Tensor, "batch joints 3 3"]


@dataclass(frozen=True)
class Bodies:
    """A batch of bodies in units of their own scale; joints behind the last one are padding."""

    parents: Int[Tensor, "batch joints"]
    """The root's and the padding's own parent is number `joints`, a place that never moves."""
    mask: Bool[Tensor, "batch joints"]
    heads: Places
    """At rest, relative to the place of the root on the ground."""
    tails: Places
    """Relative to the heads."""
    skin_centers: Places
    """Relative to the heads."""
    skin_spreads: Turns
    facts: Float[Tensor, "batch joints 6"]
    """What does not depend on the rest pose: share of the surface, carries skin, depth, children, leaf, has a mirror
    partner."""
    codes: Int[Tensor, "batch tokens tokens"]
    """Relation and distance of each pair; the last token is the root's."""
    scale: Float[Tensor, "batch"]
    """[m]"""

    @staticmethod
    def of(bodies: Sequence[Body]) -> "Bodies":
        count = max(len(body.parents) for body in bodies)
        rows = [_row(body, count) for body in bodies]
        return Bodies(*(torch.from_numpy(np.stack(column)) for column in zip(*rows)))

    @property
    def offsets(self) -> Places:
        """Head relative to the parent's head; the root's own height over the ground."""
        padded = torch.cat((self.heads, torch.zeros_like(self.heads[:, :1])), 1)
        return self.heads - take(padded, self.parents)

    @property
    def token_mask(self) -> Bool[Tensor, "batch tokens"]:
        return torch.cat((self.mask, torch.ones_like(self.mask[:, :1])), 1)

    def expand(self, count: int) -> "Bodies":
        """One body, `count` times."""
        return replace(self, **{k: v.expand(count, *v.shape[1:]) for k, v in vars(self).items()})

    def __getitem__(self, index: Int[Tensor, "chosen"]) -> "Bodies":
        return Bodies(**{k: v[index] for k, v in vars(self).items()})


def take(values: Float[Tensor, "batch n *rest"], index: Int[Tensor, "batch m"]) -> Float[Tensor, "batch m *rest"]:
    """values[b, index[b]] for every b."""
    return values[torch.arange(len(index), device=index.device)[:, None], index]


def _row(body: Body, count: int) -> tuple[np.ndarray, ...]:
    joints, scale = len(body.parents), body.scale
    root = body.heads[0] * [1.0, 0.0, 1.0]
    parents = np.full(count, count)
    parents[1:joints] = body.parents[1:]
    mask = np.arange(count) < joints
    partner = body.partners != np.arange(joints)
    facts = (
        np.sqrt(body.skin_shares), body.skin_shares > 1e-6, body.depths / 8, body.counts / 3, body.counts == 0, partner
    )  # fmt: skip
    codes = np.full((count + 1, count + 1), int(body.codes[-1, -1]))
    inner = [*range(joints), count]
    codes[np.ix_(inner, inner)] = body.codes

    def padded(values: np.ndarray) -> np.ndarray:
        return np.concatenate((values, np.zeros((count - joints, *values.shape[1:])))).astype(np.float32)

    return (
        parents, mask, padded((body.heads - root) / scale), padded((body.tails - body.heads) / scale),
        padded(body.skin_centers / scale), padded(body.skin_spreads / scale**2),
        padded(np.stack(facts, -1).astype(np.float64)), codes, np.asarray(scale, np.float32),
    )  # fmt: skip


def place(bodies: Bodies, local: Turns, height: Float[Tensor, "batch"]) -> tuple[Turns, Places]:
    """World rotations and positions of all joints, in scales; the root is `height` over its place at rest.

    Every joint takes the place of its grandparent's grandparent, and so on: as many steps as the depth has binary
    digits, where one step per level would take as many as there are bones in a chain.
    """
    count = local.shape[1]
    up = height.new_tensor([0.0, 1.0, 0.0])
    offsets = bodies.offsets
    root = torch.zeros_like(offsets)
    root[:, 0] = height[:, None] * up
    position, rotation = offsets + root, local
    still = torch.eye(3).to(local).expand(len(local), 1, 3, 3)
    above = torch.cat((bodies.parents, torch.full_like(bodies.parents[:, :1], count)), 1)
    rotation = torch.cat((rotation, still), 1)
    position = torch.cat((position, torch.zeros_like(position[:, :1])), 1)
    while bool((above < count).any()):
        parent = take(rotation, above)
        position = (parent @ position[..., None]).squeeze(-1) + take(position, above)
        rotation = parent @ rotation
        above = above.gather(1, above)
    return rotation[:, :count], position[:, :count]


def features(bodies: Bodies) -> Float[Tensor, "batch joints 28"]:
    """What the network is told of each joint."""
    spread = bodies.skin_spreads
    deviation = spread.diagonal(dim1=-2, dim2=-1).clamp(min=1e-12).sqrt()
    relation = spread / (deviation[..., :, None] * deviation[..., None, :])
    corners = torch.stack((relation[..., 0, 1], relation[..., 0, 2], relation[..., 1, 2]), -1)
    corners = corners * bodies.facts[..., 1:2]
    offsets = bodies.offsets
    about_root = bodies.heads - bodies.heads[:, :1]
    length = torch.stack((offsets.norm(dim=-1), bodies.tails.norm(dim=-1)), -1)
    root = torch.zeros_like(length[..., :1])
    root[:, 0] = 1.0
    parts = (
        2 * about_root, 2 * bodies.heads[..., 1:2], 4 * offsets, 4 * bodies.tails, 4 * bodies.skin_centers,
        6 * deviation, corners, 4 * length, bodies.facts, root,
    )  # fmt: skip
    return torch.cat(parts, -1) * bodies.mask[..., None]
