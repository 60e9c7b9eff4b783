"""Joints fitted to films of point maps in closed form: damped least squares over all frames at once.

A cell of a point map is a sum of rest points that joints carry, so it is linear in the joints' transforms. When joint j
turns by ω in the world, everything below it follows: cell c moves by ω × b, with b_jc the carried points of all joints
below j less their share of j's head. Products of the b's are all that Gauss and Newton need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.distill.skeleton import scales
from kinema.geometry.rotations import ancestors
from kinema.geometry.transforms import rotation_matrix, rotation_vector
from kinema.render.points import PointView
from kinema.rig.kinematics import Rig, Transforms, local_rotations, place_joints
from kinema.rig.limbs import Limbs
from kinema.skin import from_rest

ROUNDS = 6
"""Steps of Gauss and Newton; the first comes after the whole body was turned as one."""
LARGEST = 0.7
"""Largest turn of a joint in one step [rad]."""
SURE, COUNTED = 0.08, 60.0
"""Error of a sampled cell [units], and how many cells a film is worth: neighbours err alike."""
ROOT_TURN, ROOT_WAY = 2.0, 2.0
"""How far the root may be expected to turn [rad] and to go from its base path [units]: it may lie down or leap."""
Turns = Float[Tensor, "frames joints 3 3"]
Ways = Float[Tensor, "frames 3"]


@dataclass(frozen=True)
class Cells:
    """Cells of several views of a body, of which films tell where they go."""

    rig: Rig
    carry: Float[Tensor, "joints 4 cells"]
    """Weighted rest positions (and weights) of each cell's points."""
    standing: Float[Tensor, "3 cells"]
    """[m]"""
    unit: float
    """[m]"""
    kept: tuple[Bool[Tensor, "all"], ...]
    """Which cells of each view's picture these are."""

    @staticmethod
    def of(views: Sequence[PointView], kept: Sequence[Bool[Tensor, "all"]]) -> "Cells":
        """The cells of each view that a film tells of."""
        parts = [(view.carry[..., k], view.standing[:, k]) for view, k in zip(views, kept, strict=True)]
        carry, standing = (torch.cat(column, -1) for column in zip(*parts))
        return Cells(views[0].rig, carry, standing, views[0].unit, tuple(kept))

    def places(self, films: Sequence[Float[Tensor, "frames 3 all"]]) -> Float[Tensor, "frames 3 cells"]:
        """Where films of the views have the cells, as the body is carried along its base path [m]."""
        moved = [film[..., k] for film, k in zip(films, self.kept, strict=True)]
        return self.standing + self.unit * torch.cat(moved, -1)


@dataclass(frozen=True)
class Ease:
    """How joints stand before they move, and how far they may be expected to go from there."""

    standing: Float[Tensor, "joints 3 3"]
    """R_parent_joint."""
    stiffness: Float[Tensor, "joints 3 3"]
    """Inverse covariance of each joint's turn from there, in the world's axes at rest [1 / rad²]."""

    @staticmethod
    def of(rig: Rig, limbs: Limbs, standing: Float[Tensor, "joints 3"]) -> "Ease":
        """What the distiller expects of actions, about each joint's own axes; the root is free."""
        spread, _ = scales(rig, limbs, acts=True)
        spread[0] = ROOT_TURN
        stiffness = rig.axes @ torch.diag_embed(spread.to(rig.heads) ** -2) @ rig.axes.mT
        return Ease(local_rotations(rig, standing.to(rig.heads)), stiffness)


@dataclass(frozen=True)
class Fitted:
    """Joints of every frame, with the root beside its base path, and what the films still miss."""

    rotations: Turns
    """R_parent_joint."""
    root: Ways
    """[m]"""
    missing: Float[Tensor, "frames"]
    """Root mean square distance of the cells to the films [units]."""
    moved: Float[Tensor, "frames"]
    """The same of the standing body: how much the films ask for."""


def fit_frames(cells: Cells, ease: Ease, wanted: Float[Tensor, "frames 3 cells"], *, rounds: int = ROUNDS) -> Fitted:
    """Rotations and root of each frame that bring the cells to their places, and no farther from standing than that.

    Minimises COUNTED / cells · Σ |cell - wanted|² / (SURE · unit)² + Σ eᵀ stiffness e + |root|² / ROOT_WAY², where e is
    a joint's turn from standing, whose derivative is taken as one.
    """
    rig, frames = cells.rig, len(wanted)
    below = _below(rig).to(wanted)
    share = below @ cells.carry[:, 3]  # [joints, cells]: how much of a cell hangs below a joint
    standing = ease.standing.expand(frames, -1, -1, -1)
    root = rig.heads[0].expand(frames, 3)
    moved = _root_mean_square(cells, place_joints(rig, root, standing), wanted)
    rotations, root = _turned_whole(cells, standing, root, wanted)
    precision = COUNTED / (cells.carry.shape[-1] * (SURE * cells.unit) ** 2)
    fit = _Fit(rotations, root, place_joints(rig, root, rotations))
    for _ in range(rounds):
        fit = _step(cells, ease, wanted, fit, below, share, precision)
    return Fitted(fit.rotations, fit.root, _root_mean_square(cells, fit.placed, wanted), moved)


@dataclass(frozen=True)
class _Fit:
    """The joints so far."""

    rotations: Turns
    root: Ways
    placed: Transforms


def _below(rig: Rig) -> Float[Tensor, "joints joints"]:
    """1 where the second joint is the first or hangs below it."""
    result = torch.eye(len(rig.parents))
    for j in range(len(rig.parents)):
        result[ancestors(rig.parents, j), j] = 1.0
    return result


def _carried(cells: Cells, T_world_joint: Transforms) -> Float[Tensor, "frames joints 3 cells"]:
    """Each joint's part of each cell [m]."""
    return from_rest(cells.rig, T_world_joint) @ cells.carry


def _root_mean_square(
    cells: Cells, T_world_joint: Transforms, wanted: Float[Tensor, "frames 3 cells"]
) -> Float[Tensor, "frames"]:
    away = _carried(cells, T_world_joint).sum(1) - wanted
    return away.square().sum(1).mean(-1).sqrt() / cells.unit


def _turned_whole(
    cells: Cells, rotations: Turns, root: Ways, wanted: Float[Tensor, "frames 3 cells"]
) -> tuple[Turns, Ways]:
    """The standing body, turned and moved as one to where its cells are wanted (Kabsch)."""
    now = _carried(cells, place_joints(cells.rig, root, rotations)).sum(1)
    center, aim = now.mean(-1, keepdim=True), wanted.mean(-1, keepdim=True)
    u, _, vh = torch.linalg.svd((wanted - aim) @ (now - center).mT)
    sign = torch.ones_like(u[:, 0])
    sign[:, 2] = torch.linalg.det(u @ vh).sign()
    turn = u @ torch.diag_embed(sign) @ vh
    turned = torch.cat((turn[:, None] @ rotations[:, :1], rotations[:, 1:]), 1)
    return turned, (turn @ (root[..., None] - center) + aim).squeeze(-1)


def _step(
    cells: Cells, ease: Ease, wanted: Float[Tensor, "frames 3 cells"], fit: _Fit, below: Tensor, share: Tensor,
    precision: float,
) -> _Fit:  # fmt: skip
    """One step, in each joint's turn within its parent and in the root's way."""
    rig, (frames, joints) = cells.rig, fit.rotations.shape[:2]
    carried = _carried(cells, fit.placed)
    missing = wanted - carried.sum(1)
    # b_jc, and beside them the residuals and ones: every sum over cells is an entry of one product.
    arms = (below @ carried.flatten(2)).unflatten(-1, (3, -1)) - fit.placed[..., 3, None] * share[:, None]
    rows = torch.cat((arms.flatten(1, 2), missing, torch.ones_like(missing[:, :1])), 1)
    sums = rows @ rows.mT
    turns = 3 * joints
    gram = sums[:, :turns, :turns].unflatten(1, (joints, 3)).unflatten(3, (joints, 3))
    eye = torch.eye(3).to(wanted)
    # (ω_i × b_i) · (ω_j × b_j) = ω_iᵀ ((b_i · b_j) 1 - b_j b_iᵀ) ω_j
    inner = gram.diagonal(dim1=2, dim2=4).sum(-1)
    hessian = inner[:, :, None, :, None] * eye[:, None, :] - gram.permute(0, 1, 4, 3, 2)
    slope = _turning(sums[:, :turns, turns : turns + 3].unflatten(1, (joints, 3)))
    # The root's way moves all cells alike: b × 1.
    with_way = _crossed(sums[:, :turns, -1].unflatten(1, (joints, 3)))
    # From turns in the world to turns in the parent's frame.
    parents = fit.placed[:, [max(p, 0) for p in rig.parents], :, :3].clone()
    parents[:, 0] = eye
    hessian = torch.einsum("fiax,fiajb,fjby->fixjy", parents, hessian, parents).flatten(3, 4).flatten(1, 2)
    slope = (parents.mT @ slope[..., None]).flatten(1)
    with_way = (parents.mT @ with_way).flatten(1, 2)
    away = rotation_vector(fit.rotations @ ease.standing.mT)
    pull = (ease.stiffness @ away[..., None]).flatten(1)
    way_pull = (fit.root - rig.heads[0]) / (ROOT_WAY * cells.unit) ** 2
    matrix = wanted.new_zeros(frames, turns + 3, turns + 3)
    matrix[:, :turns, :turns] = precision * hessian + torch.block_diag(*ease.stiffness)
    matrix[:, :turns, turns:] = precision * with_way
    matrix[:, turns:, :turns] = precision * with_way.mT
    matrix[:, turns:, turns:] = eye * (precision * cells.carry.shape[-1] + (ROOT_WAY * cells.unit) ** -2)
    vector = torch.cat((precision * slope - pull, precision * missing.sum(-1) - way_pull), -1)
    found = torch.cholesky_solve(vector[..., None], torch.linalg.cholesky(matrix)).squeeze(-1)
    turn = found[:, :turns].unflatten(-1, (joints, 3))
    turn = turn * (LARGEST / turn.norm(dim=-1, keepdim=True).clamp(min=LARGEST))
    rotations, root = rotation_matrix(turn) @ fit.rotations, fit.root + found[:, turns:]
    return replace(fit, rotations=rotations, root=root, placed=place_joints(rig, root, rotations))


def _turning(m: Float[Tensor, "*b 3 3"]) -> Float[Tensor, "*b 3"]:
    """Σ b × r from Σ b rᵀ."""
    parts = (m[..., 1, 2] - m[..., 2, 1], m[..., 2, 0] - m[..., 0, 2], m[..., 0, 1] - m[..., 1, 0])
    return torch.stack(parts, -1)


def _crossed(b: Float[Tensor, "*b 3"]) -> Float[Tensor, "*b 3 3"]:
    """(ω × b) · w = ωᵀ [b]× w."""
    x, y, z = b.unbind(-1)
    none = torch.zeros_like(x)
    return torch.stack((none, -z, y, z, none, -x, -y, x, none), -1).unflatten(-1, (3, 3))
