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

    def to(self, dtype: torch.dtype) -> "Rig":
        return Rig(self.names, self.parents, self.heads.to(dtype), self.axes.to(dtype))


def bone_axes(
    heads: Float[np.ndarray, "joints 3"], tails: Float[np.ndarray, "joints 3"]
) -> Float[np.ndarray, "joints 3 3"]:
    """Axes per joint: twist along the bone; flexion about the lateral axis, so that +angle swings legs backwards.

    A bone that itself runs sideways (an arm in T-pose) flexes about the forward axis instead.
    """
    twist = np.asarray(tails, dtype=np.float64) - heads
    length = np.linalg.norm(twist, axis=-1, keepdims=True)
    twist = np.where(length > 1e-9, twist / np.maximum(length, 1e-9), [0.0, -1.0, 0.0])
    flexion = np.where(np.abs(twist[:, :1]) < 0.8, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    flexion = flexion - (flexion * twist).sum(-1, keepdims=True) * twist
    flexion = flexion / np.linalg.norm(flexion, axis=-1, keepdims=True)
    axes = np.stack((flexion, np.cross(twist, flexion), twist), -1)
    axes[0] = ROOT_AXES
    return axes


def local_rotations(rig: Rig, angles: Float[Tensor, "*b joints 3"]) -> Float[Tensor, "*b joints 3 3"]:
    """R_parent_joint of each joint."""
    return rig.axes @ euler_to_matrix(angles) @ rig.axes.mT


def forward_kinematics(
    rig: Rig,
    root_position: Float[Tensor, "*b 3"],
    angles: Float[Tensor, "*b joints 3"],
    translation: Float[Tensor, "*b joints 3"] | None = None,
) -> Float[Tensor, "*b joints 3 4"]:
    """T_world_joint: joint frames have their origin at the head and, at rest, the world's axes.

    `slide` moves heads out of their places in the parent, in the parent's frame [m]; joint 0 has `root_position`.
    """
    return place_joints(rig, root_position, local_rotations(rig, angles), translation)


def place_joints(
    rig: Rig,
    root_position: Float[Tensor, "*b 3"],
    R_parent_joint: Float[Tensor, "*b joints 3 3"],
    translation: Float[Tensor, "*b joints 3"] | None = None,
) -> Float[Tensor, "*b joints 3 4"]:
    """T_world_joint from local rotations, one batched product per level of the tree."""
    offsets = rig.offsets
    order, rotation, position = [0], R_parent_joint[..., :1, :, :], root_position[..., None, :]
    rotations, positions = [rotation], [position]
    level = [0]
    while True:
        children = [j for j, p in enumerate(rig.parents) if p in level]
        if not children:
            break
        slot = torch.tensor([level.index(rig.parents[j]) for j in children], device=offsets.device)
        index = torch.tensor(children, device=offsets.device)
        parent = rotation.index_select(-3, slot)
        offset = offsets[index] if translation is None else offsets[index] + translation.index_select(-2, index)
        position = position.index_select(-2, slot) + (parent @ offset[..., None]).squeeze(-1)
        rotation = parent @ R_parent_joint.index_select(-3, index)
        rotations.append(rotation)
        positions.append(position)
        order += children
        level = children
    inverse = torch.tensor(np.argsort(order), device=offsets.device)
    stacked = torch.cat((torch.cat(rotations, -3), torch.cat(positions, -2).unsqueeze(-1)), -1)
    return stacked.index_select(-3, inverse)


def angles_from_rotations(
    rig: Rig, R_parent_joint: Float[Tensor, "frames joints 3 3"]
) -> Float[Tensor, "frames joints 3"]:
    """Angles whose rotations are the given ones, continuous in time.

    Each rotation has two triples (b and pi - b) modulo 2 pi; of these the one nearest to the frame before is taken,
    the first frame being nearest to zero. Near a gimbal the split between first and third angle is carried on.
    """
    euler = matrix_to_euler(rig.axes.mT @ R_parent_joint @ rig.axes)
    matrix = rig.axes.mT @ R_parent_joint @ rig.axes
    result = []
    previous = torch.zeros_like(euler[0])
    for frame in range(euler.shape[0]):
        here = euler[frame]
        other = torch.stack((here[:, 0] + torch.pi, torch.pi - here[:, 1], here[:, 2] + torch.pi), -1)
        candidates = torch.stack((here, other))
        candidates = candidates + 2 * torch.pi * torch.round((previous - candidates) / (2 * torch.pi))
        distance = (candidates - previous).abs().sum(-1)
        chosen = torch.where((distance[0] <= distance[1])[:, None], candidates[0], candidates[1])
        chosen = torch.where(_locked(matrix[frame])[:, None], _through_gimbal(matrix[frame], previous), chosen)
        result.append(chosen)
        previous = chosen
    return torch.stack(result)


def _locked(matrix: Float[Tensor, "joints 3 3"]) -> Tensor:
    return matrix[:, 0, 2].abs() > 1 - 1e-7


def _through_gimbal(
    matrix: Float[Tensor, "joints 3 3"], previous: Float[Tensor, "joints 3"]
) -> Float[Tensor, "joints 3"]:
    """With cos b = 0 only a + sign(b) c is determined: share the change of that sum equally."""
    sign = matrix[:, 0, 2].sign()
    total = torch.atan2(matrix[:, 2, 1], matrix[:, 1, 1])
    middle = sign * torch.pi / 2
    middle = middle + 2 * torch.pi * torch.round((previous[:, 1] - middle) / (2 * torch.pi))
    change = total - (previous[:, 0] + sign * previous[:, 2])
    change = change - 2 * torch.pi * torch.round(change / (2 * torch.pi))
    return torch.stack((previous[:, 0] + change / 2, middle, previous[:, 2] + sign * change / 2), -1)
