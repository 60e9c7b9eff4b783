"""Legs that put their feet where they are wanted, with as little change of the motion as that takes."""

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.geometry.transforms import euler_to_matrix
from kinema.motion.motion import Motion
from kinema.physics.feet import Foot
from kinema.rig.kinematics import Rig

FIRM = 1e4
"""Of a contact point's place (in leg lengths), against 1 for an angle of the leg [rad]."""
LEVEL = 0.2
"""Of the foot's orientation in the world."""


def reach(
    rig: Rig,
    corners: Float[Tensor, "joints 8 3"],
    feet: tuple[Foot, ...],
    motion: Motion,
    offset: Float[Tensor, "frames feet 3"],
    *,
    leg_length: float,
    iterations: int = 6,
) -> Motion:
    """Move what is lowest of each foot by `offset`; of all ways to do so, that which turns the joints least.

    Per frame and leg, Gauss–Newton on FIRM |place - goal|² + LEVEL |turn of the foot|² + |θ - θ₀|², where θ₀ is the
    motion given, so that nothing drifts and a leg that cannot reach stretches towards its goal.
    """
    start = motion.pose(rig)
    plans = [_Plan(rig, corners, foot, start, offset[:, k]) for k, foot in enumerate(feet)]
    angles = motion.angles.clone()
    for _ in range(iterations):
        T = Motion(motion.root_position, angles, motion.fps).pose(rig)
        change = torch.zeros_like(angles)
        for plan in plans:
            chain = plan.chain
            axes = world_axes(rig, T, angles, chain)
            place, arms = plan.arms(T)
            J = torch.linalg.cross(axes, arms[:, :, None].expand_as(axes), dim=-1).flatten(1, 2) / leg_length
            error = (plan.goal - place) / leg_length
            turn = _turn(T[:, chain[-1], :, :3], start[:, chain[-1], :, :3])
            A = axes.flatten(1, 2)
            back = (motion.angles - angles)[:, chain].flatten(1)
            normal = FIRM * J @ J.mT + LEVEL * A @ A.mT + torch.eye(J.shape[1], dtype=J.dtype)
            pull = FIRM * (J @ error[..., None]) + LEVEL * (A @ turn[..., None]) + back[..., None]
            step = torch.linalg.solve(normal, pull).squeeze(-1)
            change[:, chain] += step.clamp(-0.3, 0.3).unflatten(-1, (len(chain), 3))
        angles = angles + change
    return Motion(motion.root_position, angles, motion.fps)


class _Plan:
    """One foot's goal: the point of it that is lowest, moved."""

    def __init__(
        self,
        rig: Rig,
        corners: Float[Tensor, "joints 8 3"],
        foot: Foot,
        T: Float[Tensor, "frames joints 3 4"],
        offset: Float[Tensor, "frames 3"],
    ):
        self.chain, self.boxes = list(foot.chain), list(foot.boxes)
        self.local = corners[self.boxes]
        world = self._world(T)
        self.weight = lowest_weights(world.flatten(1, 2), foot_size(self.local)).unflatten(1, world.shape[1:3])
        # Whether a joint of the chain moves a box of the foot.
        self.moves = torch.tensor([[_above(rig, j, b) for b in self.boxes] for j in self.chain], dtype=T.dtype)
        self.goal = (self.weight[..., None] * world).sum((1, 2)) + offset

    def _world(self, T: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames boxes 8 3"]:
        boxes = T[:, self.boxes]
        return (boxes[:, :, None, :, :3] @ self.local[..., None]).squeeze(-1) + boxes[:, :, None, :, 3]

    def arms(
        self, T: Float[Tensor, "frames joints 3 4"]
    ) -> tuple[Float[Tensor, "frames 3"], Float[Tensor, "frames chain 3"]]:
        """Where the point is, and its lever about each joint of the chain."""
        part = (self.weight[..., None] * self._world(T)).sum(2)
        share = self.weight.sum(2) @ self.moves.T
        arms = torch.einsum("fbx,cb->fcx", part, self.moves) - share[..., None] * T[:, self.chain, :, 3]
        return part.sum(1), arms


def contact_jacobian(
    rig: Rig, corners: Float[Tensor, "joints 8 3"], feet: tuple[Foot, ...], motion: Motion
) -> Float[Tensor, "frames feet 3 dofs"]:
    """How the lowest point of each foot moves with the coordinates of the motion [m, m/rad]."""
    T = motion.pose(rig)
    J = T.new_zeros(len(T), len(feet), 3, 3 + motion.angles[0].numel())
    for k, foot in enumerate(feet):
        chain = [j for j in range(len(rig.parents)) if _above(rig, j, foot.chain[-1])]
        plan = _Plan(rig, corners, Foot(tuple(chain), foot.boxes), T, T.new_zeros(len(T), 3))
        axes = world_axes(rig, T, motion.angles, chain)
        levers = torch.linalg.cross(axes, plan.arms(T)[1][:, :, None].expand_as(axes), dim=-1)
        J[:, k, :, :3] = torch.eye(3, dtype=J.dtype)
        columns = (3 + 3 * torch.tensor(chain)[:, None] + torch.arange(3)).flatten()
        J[:, k, :, columns] = levers.flatten(1, 2).mT
    return J


def foot_size(local: Float[Tensor, "boxes 8 3"]) -> float:
    """Largest extent of a foot's boxes, each in its own frame [m]."""
    points = local.flatten(0, 1)
    return float((points.amax(0) - points.amin(0)).max())


def lowest_weights(points: Float[Tensor, "n points 3"], size: float) -> Float[Tensor, "n points"]:
    """Weights towards the lowest points: a few hundredths of the foot's size count as touching."""
    return torch.softmax(-points[..., 1] / (0.03 * size + 1e-6), -1)


def _above(rig: Rig, j: int, box: int) -> bool:
    while box > j:
        box = rig.parents[box]
    return box == j


def _turn(R: Float[Tensor, "n 3 3"], goal: Float[Tensor, "n 3 3"]) -> Float[Tensor, "n 3"]:
    """Rotation vector from R to the goal, to first order: half the sum of column cross products."""
    return 0.5 * torch.linalg.cross(R, goal, dim=1).sum(-1)


def world_axes(
    rig: Rig, T: Float[Tensor, "frames joints 3 4"], angles: Float[Tensor, "frames joints 3"], chain: list[int]
) -> Float[Tensor, "frames chain 3 3"]:
    """Rows: the three rotation axes of each joint of the chain as they stand in the world."""
    above = [rig.parents[j] for j in chain]
    identity = torch.eye(3, dtype=T.dtype).expand(len(T), 1, 3, 3)
    parents = torch.cat([T[:, p, None, :, :3] if p >= 0 else identity for p in above], 1)
    frame = parents @ rig.axes[chain]
    a, b, _ = angles[:, chain].unbind(-1)
    zero = torch.zeros_like(a)
    second = frame @ euler_to_matrix(torch.stack((a, zero, zero), -1))
    third = frame @ euler_to_matrix(torch.stack((a, b, zero), -1))
    return torch.stack((frame[..., 0], second[..., 1], third[..., 2]), -2)
