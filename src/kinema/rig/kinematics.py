"""Forward kinematics of compound joints.

At rest all joint frames have the world's axes, so a joint is its head and three rotation axes. Joint j turns by
three angles about its own axes A_j = [flexion, abduction, twist], in that intrinsic order:

    R_parent_joint = A_j Rx(a) Ry(b) Rz(c) A_jᵀ

Twist runs along the bone. The root's axes are (up, forward, left): yaw and pitch are free to go round, only a roll
of 90 degrees is a gimbal. Angles of all joints are [joints, 3] with the root's orientation at index 0.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Skeleton
from kinema.geometry.transforms import euler_to_matrix, matrix_to_euler

Angles = Float[Tensor, "*b joints 3"]
Root = Float[Tensor, "*b 3"]
Rotations = Float[Tensor, "*b joints 3 3"]
Transforms = Float[Tensor, "*b joints 3 4"]
ROOT_AXES = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
"""Columns up (+Y), forward (+Z), left (+X)."""


@dataclass(frozen=True)
class Rig:
    """A skeleton as tensors, with the axes that its angles turn about."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    heads: Float[Tensor, "joints 3"]
    """At rest in the world [m]."""
    axes: Float[Tensor, "joints 3 3"]
    """Columns: the first, second and third rotation axis at rest in the world."""

    @property
    def offsets(self) -> Float[Tensor, "joints 3"]:
        """Head relative to the parent's head at rest; the root's is its head [m]."""
        parents = torch.tensor(self.parents, device=self.heads.device)
        return torch.where((parents < 0)[:, None], self.heads, self.heads - self.heads[parents.clamp(min=0)])

    @staticmethod
    def from_skeleton(skeleton: Skeleton, *, dtype: torch.dtype = torch.float32) -> "Rig":
        heads = torch.from_numpy(np.ascontiguousarray(skeleton.heads)).to(dtype)
        axes = torch.from_numpy(bone_axes(skeleton.heads, skeleton.tails)).to(dtype)
        return Rig(skeleton.names, skeleton.parents, heads, axes)

    def to(self, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> "Rig":
        return Rig(self.names, self.parents, self.heads.to(device, dtype), self.axes.to(device, dtype))


def bone_axes(heads: Float[np.ndarray, "n 3"], tails: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Axes per joint: twist along the bone; flexion about the lateral axis, so that +angle swings legs backwards,
    or about the forward axis for a bone that itself runs sideways (an arm in T-pose)."""
    twist = np.asarray(tails, dtype=np.float64) - heads
    length = np.linalg.norm(twist, axis=-1, keepdims=True)
    axes = frames_along(np.where(length > 1e-9, twist / np.maximum(length, 1e-9), [0.0, -1.0, 0.0]))
    axes[0] = ROOT_AXES
    return axes


def frames_along(directions: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Right-handed frames with the third axis along unit vectors, the first lateral or, where those are, forward."""
    side = np.where(np.abs(directions[:, :1]) < 0.8, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    side = side - (side * directions).sum(-1, keepdims=True) * directions
    side = side / np.linalg.norm(side, axis=-1, keepdims=True)
    return np.stack((side, np.cross(directions, side), directions), -1)


def local_rotations(rig: Rig, angles: Angles) -> Rotations:
    """R_parent_joint of each joint."""
    return rig.axes @ euler_to_matrix(angles) @ rig.axes.mT


def forward_kinematics(rig: Rig, root_position: Root, angles: Angles, translation: Angles | None = None) -> Transforms:
    """T_world_joint: joint frames have their origin at the head and, at rest, the world's axes.

    `translation` moves heads away from their rest place in the parent's frame [m]; joint 0 has `root_position`.
    """
    return place_joints(rig, root_position, local_rotations(rig, angles), translation)


def place_joints(
    rig: Rig, root_position: Root, R_parent_joint: Rotations, translation: Angles | None = None
) -> Transforms:
    """T_world_joint from local rotations, one batched product per level of the tree."""
    offsets = rig.offsets if translation is None else rig.offsets + translation
    rotation, position = R_parent_joint[..., :1, :, :], root_position[..., None, :]
    rotations, positions, level, order = [rotation], [position], [0], [0]
    while children := [j for j, p in enumerate(rig.parents) if p in level]:
        slot = torch.tensor([level.index(rig.parents[j]) for j in children], device=offsets.device)
        index = torch.tensor(children, device=offsets.device)
        parent = rotation.index_select(-3, slot)
        away = parent @ offsets.index_select(-2, index)[..., None]
        positions.append(position := position.index_select(-2, slot) + away.squeeze(-1))
        rotations.append(rotation := parent @ R_parent_joint.index_select(-3, index))
        level, order = children, order + children
    inverse = torch.tensor(np.argsort(order), device=offsets.device)
    stacked = torch.cat((torch.cat(rotations, -3), torch.cat(positions, -2).unsqueeze(-1)), -1)
    return stacked.index_select(-3, inverse)


def angles_from_rotations(rig: Rig, R_parent_joint: Rotations) -> Angles:
    """Angles [frames, joints, 3] of the given rotations, continuous in time.

    Each rotation has two triples (b and pi - b) modulo 2 pi; of these the one nearest to the frame before is taken,
    the first frame being nearest to zero. Near a gimbal the split between first and third angle is carried on.
    """
    matrices = rig.axes.mT @ R_parent_joint @ rig.axes
    previous, result = torch.zeros_like(matrices[0, :, 0]), []
    for matrix, euler in zip(matrices, matrix_to_euler(matrices)):
        a, b, c = euler.unbind(-1)
        other = torch.stack((a + torch.pi, torch.pi - b, c + torch.pi), -1)
        first, second = (_nearest_turn(angles, previous) for angles in (euler, other))
        nearer = (first - previous).abs().sum(-1) <= (second - previous).abs().sum(-1)
        locked, chosen = matrix[:, 0, 2].abs() > 1 - 1e-7, torch.where(nearer[:, None], first, second)
        previous = torch.where(locked[:, None], _through_gimbal(matrix, previous), chosen)
        result.append(previous)
    return torch.stack(result)


def _nearest_turn(angles: Tensor, to: Tensor) -> Tensor:
    """The same angles plus the full turns that bring them nearest to others."""
    return angles + 2 * torch.pi * torch.round((to - angles) / (2 * torch.pi))


def _through_gimbal(matrix: Rotations, previous: Angles) -> Angles:
    """With cos b = 0 only a + sign(b) c is determined: share the change of that sum equally."""
    sign = matrix[:, 0, 2].sign()
    middle = _nearest_turn(sign * torch.pi / 2, previous[:, 1])
    total = previous[:, 0] + sign * previous[:, 2]
    change = _nearest_turn(torch.atan2(matrix[:, 2, 1], matrix[:, 1, 1]), total) - total
    return torch.stack((previous[:, 0] + change / 2, middle, previous[:, 2] + sign * change / 2), -1)
