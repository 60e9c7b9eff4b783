"""Ways from pose to pose through the space, at an even speed, and clips of keyframes that are joined by them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.transforms import matrix_to_quaternion, quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.motion.plant import plant
from kinema.posespace.flow import END, Denoiser, rather
from kinema.posespace.model import poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig

FINE = 17
"""Poses of a walk that the network makes; those in between are interpolated."""
LESS = (1.0, 0.75, 0.5, 0.25)
"""Shares of the noise, from one time that the network is asked to the next."""


@dataclass(frozen=True)
class Key:
    """A pose at a time."""

    seconds: float
    pose: Poses
    """One pose."""


def walk(rig: Rig, clean: Denoiser, a: Poses, b: Poses, count: int, *, scale: float) -> Poses:
    """`count` poses from a to b, both exact, through the space, evenly spaced by how far the joints move.

    Between the ends joints turn the shorter way, and then the network is asked again and again, under ever less noise,
    what it would rather see: in the middle under so much that the ends could hardly be told apart.
    """
    ends = poses_to_values(Poses.cat((a, b)), scale)
    apart, shares = float((ends[0] - ends[1]).norm()), torch.linspace(0, 1, FINE)
    values = poses_to_values(between(Poses.cat((a, b)), shares), scale)
    most = apart / (1 + apart) * torch.sin(torch.pi * shares)
    for part in LESS:
        level = part * most
        asked = torch.nonzero(level > END).flatten()
        if len(asked):
            values[asked] = rather(clean, values[asked], level[asked])
    fine = Poses.cat((a, values_to_poses(values[1:-1], scale), b))
    # Once more between the resampled poses: their arcs are shorter than the way that was measured.
    for _ in range(2):
        fine = _even(rig, fine, max(count, FINE))
    return _even(rig, fine, count)


def between(poses: Poses, at: Float[Tensor, "n"]) -> Poses:
    """Poses at fractions of the index: the shorter way of every joint."""
    low = at.floor().long().clamp(0, max(len(poses) - 2, 0))
    high = (low + 1).clamp(max=len(poses) - 1)
    share = (at - low).to(poses.height)
    a, b = (matrix_to_quaternion(poses.rotations[i]) for i in (low, high))
    b = torch.where((a * b).sum(-1, keepdim=True) < 0, -b, b)
    angle = torch.arccos((a * b).sum(-1, keepdim=True).clamp(-1, 1))
    s = share[:, None, None]
    near = angle < 1e-4
    sine = torch.where(near, torch.ones_like(angle), angle.sin())
    parts = (torch.where(near, 1 - s, ((1 - s) * angle).sin() / sine), torch.where(near, s, (s * angle).sin() / sine))
    rotations = quaternion_to_matrix(parts[0] * a + parts[1] * b)
    return Poses(rotations, torch.lerp(poses.height[low], poses.height[high], share))


def speeds(rig: Rig, poses: Poses) -> Float[Tensor, "steps"]:
    """Root mean square way of the joints from each pose to the next [m]."""
    return poses.place(rig)[..., 3].diff(dim=0).square().sum(-1).mean(-1).sqrt()


def _even(rig: Rig, poses: Poses, count: int) -> Poses:
    """The same way in `count` poses of even distance."""
    way = torch.cat((torch.zeros(1), speeds(rig, poses).double().cumsum(0).float()))
    if float(way[-1]) < 1e-9:
        return poses[[0] * count]
    wanted = torch.linspace(0, float(way[-1]), count)
    at = np.interp(wanted.numpy(), way.numpy(), np.arange(len(way)))
    return between(poses, torch.from_numpy(at).float())


def check_keys(keys: Sequence[Key]) -> None:
    """Refuse keys that make no clip."""
    if len(keys) < 2:
        raise KinemaError(f"{len(keys)} keys: a clip needs two or more")
    times = [key.seconds for key in keys]
    for before, after in itertools.pairwise(times):
        if not (after > before and np.isfinite(after)):
            raise KinemaError(f"keys out of order: {after:g} s does not come after {before:g} s")


def in_between(rig: Rig, clean: Denoiser, keys: Sequence[Key], *, fps: float, scale: float) -> tuple[Poses, list[int]]:
    """Poses of every frame, and the frames of the keys, which are exact."""
    check_keys(keys)
    start = keys[0].seconds
    frames = [round((key.seconds - start) * fps) for key in keys]
    if any(b <= a for a, b in itertools.pairwise(frames)):
        raise KinemaError(f"two keys fall into one frame at {fps:g} frames per second")
    parts = []
    for a, b, first, last in zip(keys, keys[1:], frames, frames[1:]):
        parts.append(walk(rig, clean, a.pose, b.pose, last - first + 1, scale=scale)[: last - first])
    return Poses.cat([*parts, keys[-1].pose]), frames


def plant_between(anatomy: Anatomy, motion: Motion, keys: list[int]) -> Motion:
    """The motion with its stance feet planted. What that changes at the keys is taken back there, and in between by
    interpolation, so that the keys stay exact."""
    if not anatomy.limbs.legs or not anatomy.limbs.ground or len(motion) < 3:
        return motion
    firm, given = plant(anatomy.rig, anatomy.cuboids, anatomy.limbs, motion), motion.detached(torch.float64)
    lost = Motion(given.root_position - firm.root_position, given.angles - firm.angles, motion.fps)
    at = np.interp(np.arange(len(motion)), keys, np.arange(len(keys)))
    back = lost.at(torch.tensor(keys).double()).at(torch.from_numpy(at))
    found = Motion(firm.root_position + back.root_position, firm.angles + back.angles, motion.fps)
    return found.detached(motion.angles)
