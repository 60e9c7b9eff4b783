"""Least-squares fit of a joint tree that only rotates to a file's motion.

With x_v the vertices at rest, w_vj their weights and F_j the file's maps, we minimise for every frame

    Σ_j Σ_v w_vj |F_j x_v - (R_j (x_v - h_j) + p_j)|²,   p_child = p_j + R_j (h_child - h_j)

which bounds the error of the blended vertices (Jensen). It is quadratic in each global rotation R_j alone, so a sweep
from the leaves to the root sets one joint after another to its best rotation, for all frames of all clips at once. The
vertices enter only through their moments, so the cost does not depend on the mesh.

Where rotations alone cannot follow the file, clips keep its own joint positions as translations (`file_poses`,
`translations`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from kinema.geometry.rotations import bone_offsets, children, joint_positions, nearest_rotation, subtree_sums

Maps = Float[np.ndarray, "frames joints 3 4"]
Rotations = Float[np.ndarray, "frames joints 3 3"]
Positions = Float[np.ndarray, "frames joints 3"]
Tree = Sequence[int]
"""Parents: joint 0 is the root, parents come before children."""
Heads = Float[np.ndarray, "joints 3"]
RootPath = Float[np.ndarray, "frames 3"]
PerFrame = Float[np.ndarray, "frames"]
PerJoint = Float[np.ndarray, "joints"]
Matrices = Float[np.ndarray, "frames 3 3"]

EXACT = 2e-6
"""Root mean square error, as a share of the size, at which the fit stops."""
DETACHED = 0.08
"""A joint is detached (a dropped sword, a lost head) if it leaves its place in its parent by this share of the size."""
DETACHED_WEIGHT = 1e-3
"""Factor on the weights of vertices of detached joints in the fit, so that they do not pull the body along."""
NEGLIGIBLE = 1e-5
"""Translations of a joint that stay below this share of the size are rounding and set to zero."""
MOST_EXTREMES = 2000
"""Vertices by which the worst of a clip is judged."""
LEAST_WEIGHT = 0.03
"""A joint with less weight takes a vertex nowhere."""
DIRECTIONS = np.array([d for d in np.ndindex(3, 3, 3) if d != (1, 1, 1)]) - 1.0
"""To the faces, edges and corners of a cube."""


def joint_maps(position: Positions, rotation: Rotations, heads: Heads) -> Maps:
    """Maps of points at rest to where joints with these heads take them."""
    return np.concatenate((rotation, (position - (rotation @ heads[..., None])[..., 0])[..., None]), -1)


@dataclass(frozen=True)
class Targets:
    """The vertices' motion in the file, summed up per joint: all that a least-squares fit needs of it."""

    cross: Maps
    """Σ_v w (F x_v)(x_v, 1)ᵀ"""
    square: PerFrame
    """Σ_v w |F x_v|²"""
    moments: Float[np.ndarray, "joints 4 4"]
    """Σ_v w (x_v, 1)(x_v, 1)ᵀ"""

    @staticmethod
    def from_motion(
        motion: Float[np.ndarray, "frames raw 3 4"], moments: Float[np.ndarray, "raw 4 4"], carrier: Sequence[int]
    ) -> "Targets":
        """Sums over the file's joints that each kept joint carries (`carrier[raw]` is the kept joint)."""
        merge = np.eye(max(carrier) + 1)[list(carrier)]
        reached = motion @ moments
        cross = np.einsum("trab,rj->tjab", reached, merge, optimize=True)
        return Targets(cross, (reached * motion).sum((1, 2, 3)), np.einsum("rab,rj->jab", moments, merge))

    def error(self, position: Positions, rotation: Rotations, heads: Heads) -> PerFrame:
        """Root mean square distance of the weighted vertices for joints with these positions and rotations."""
        maps = joint_maps(position, rotation, heads)
        square = ((maps @ self.moments - 2 * self.cross) * maps).sum((1, 2, 3)) + self.square
        return np.sqrt(np.maximum(square, 0) / max(float(self.moments[:, 3, 3].sum()), 1e-30))


@dataclass(frozen=True)
class Extremes:
    """The outermost vertices of each joint, among which is the one that a wrong map of the joint takes furthest off."""

    points: Float[np.ndarray, "n 3"]
    weights: Float[np.ndarray, "n raw"]

    @staticmethod
    def of(vertices: Float[np.ndarray, "vertices 3"], weights: Float[np.ndarray, "vertices raw"]) -> "Extremes":
        """In 26 directions, from among the vertices on which a joint has some weight."""
        chosen: set[int] = set()
        for joint in range(weights.shape[1]):
            own = np.flatnonzero(weights[:, joint] > LEAST_WEIGHT)
            if len(own):
                chosen |= set(own[(vertices[own] @ DIRECTIONS.T).argmax(0)].tolist())
        some = np.array(sorted(chosen))[:: -(-len(chosen) // MOST_EXTREMES)]
        return Extremes(vertices[some], weights[some])

    def errors(self, motion: Maps, maps: Maps) -> Float[np.ndarray, "n"]:
        """Largest distance over all frames between where two motions of the file's joints take each point."""
        points = np.append(self.points, np.ones((len(self.points), 1)), -1)
        lever = (self.weights[:, :, None] * points[:, None]).reshape(len(points), -1)
        worst = np.zeros(len(points))
        for start in range(0, len(motion), 64):  # bounds the memory
            apart = (motion[start : start + 64] - maps[start : start + 64]).transpose(0, 1, 3, 2)
            off = lever @ apart.reshape(len(apart), -1, 3)
            worst = np.maximum(worst, np.sqrt((off**2).sum(-1)).max(0))
        return worst


def detached_joints(motion: Maps, heads: Heads, parents: Tree, *, size: float) -> list[int]:
    """Joints that some frame takes away from the body, which no rotation can follow."""
    gaps = ((j, (motion[:, j] - motion[:, p]) @ np.append(heads[j], 1)) for j, p in enumerate(parents) if p >= 0)
    return [j for j, gap in gaps if np.linalg.norm(gap, axis=-1).max(initial=0) > DETACHED * size]


def fit_rotations(
    motion: Maps, targets: Targets, heads: Heads, parents: Tree, *, size: float, sweeps: int = 40
) -> tuple[RootPath, Rotations, PerFrame]:
    """Root positions, global rotations from rest, and root mean square errors as shares of the size.

    `motion` is F of the kept joints, the first guess for their rotations; each of the `sweeps` lowers the error.
    """
    guess = nearest_rotation(motion[..., :3])
    rotation = guess.copy()
    root = motion[:, 0, :, :3] @ heads[0] + motion[:, 0, :, 3]
    offsets, moments = bone_offsets(parents, heads), targets.moments
    mass = moments[:, 3, 3]
    # Second moments about the heads: tr Σ w (x - h)(x - h)ᵀ.
    spread = np.trace(moments[:, :3, :3], axis1=1, axis2=2) - 2 * (moments[:, :3, 3] * heads).sum(-1)
    spread = spread + mass * (heads**2).sum(-1)
    # A weak pull towards the guess: it settles a twist about a bone that nothing else determines.
    hold = 1e-4 * (spread + 1e-6 * size**2 * max(float(mass.sum()), 1e-30))
    error = targets.error(joint_positions(parents, offsets, rotation, root), rotation, heads) / size
    active = np.flatnonzero(error > EXACT)
    for _ in range(sweeps):
        if not len(active):
            break
        some = Targets(targets.cross[active], targets.square[active], moments)
        turned, moved = _sweep(root[active], rotation[active], guess[active], hold, some, heads, parents)
        after = some.error(joint_positions(parents, offsets, turned, moved), turned, heads) / size
        better = after < error[active]
        kept = active[better]
        rotation[kept], root[kept] = turned[better], moved[better]
        progress = error[kept] - after[better]
        error[kept] = after[better]
        active = kept[(progress > 2e-3 * error[kept]) & (error[kept] > EXACT)]
    return root, nearest_rotation(rotation), error


def _sweep(
    root: RootPath, rotation: Rotations, guess: Rotations, hold: PerJoint, targets: Targets, heads: Heads, parents: Tree
) -> tuple[Rotations, RootPath]:
    """Every joint's best rotation given all others, leaves first, then the root's best position."""
    rotation = rotation.copy()
    position = joint_positions(parents, bone_offsets(parents, heads), rotation, root)
    mass = targets.moments[:, 3, 3]
    below, residual = subtree_sums(parents, mass), np.zeros_like(position)
    lever = targets.moments[:, :3, 3] - mass[:, None] * heads
    bones = heads - heads[[max(p, 0) for p in parents]]
    for level in _levels(parents):
        cross = targets.cross[:, level.joints]
        pull = cross[..., :3] - cross[..., 3, None] * heads[level.joints, None]
        pull = pull - position[:, level.joints, :, None] * lever[level.joints, None]
        pull = pull + hold[level.joints, None, None] * guess[:, level.joints]
        own = cross[..., 3] - mass[level.joints, None] * position[:, level.joints]
        old, kids, d = rotation[:, level.joints], level.children, bones[level.children]
        if len(kids):
            arm = (old[:, level.owners] @ d[..., None])[..., 0]
            swung = (residual[:, kids] + below[kids, None] * arm)[..., None] * d[:, None]
            pull = pull + np.add.reduceat(swung, level.starts, axis=1)
        fresh = _rotate_towards(old.reshape(-1, 3, 3), pull.reshape(-1, 3, 3)).reshape(old.shape)
        if len(kids):
            arm = ((fresh - old)[:, level.owners] @ d[..., None])[..., 0]
            own = own + np.add.reduceat(residual[:, kids] - below[kids, None] * arm, level.starts, axis=1)
        rotation[:, level.joints] = fresh
        residual[:, level.joints] = own - (fresh @ lever[level.joints, :, None])[..., 0]
    return rotation, root + residual[:, 0] / below[0]


@dataclass(frozen=True)
class _Level:
    """Joints that are equally far above their farthest leaves: none of them waits for another."""

    joints: list[int]
    children: list[int]
    """Those of all of them, one joint after another."""
    owners: list[int]
    """Index into `joints` of each child's parent."""
    starts: list[int]
    """Where each joint's children begin."""


def _levels(parents: Tree) -> list[_Level]:
    """Leaves first."""
    branches, height = children(parents), [0] * len(parents)
    for j in reversed(range(1, len(parents))):
        height[parents[j]] = max(height[parents[j]], height[j] + 1)
    levels = []
    for at in range(height[0] + 1):
        joints = [j for j in range(len(parents)) if height[j] == at]
        kids = [branches[j] for j in joints]
        starts = np.cumsum([0, *(len(own) for own in kids[:-1])]).tolist()
        owners = [i for i, own in enumerate(kids) for _ in own]
        levels.append(_Level(joints, [c for own in kids for c in own], owners, starts))
    return levels


def _rotate_towards(rotation: Matrices, cross: Matrices) -> Matrices:
    """Two Newton steps on SO(3) towards the rotation with the largest tr(Rᵀ C); several times faster than an SVD."""
    for _ in range(2):
        a = cross @ np.swapaxes(rotation, -1, -2)
        gradient = a[:, [2, 0, 1], [1, 2, 0]] - a[:, [1, 2, 0], [2, 0, 1]]
        trace = np.trace(a, axis1=1, axis2=2)
        hessian = trace[:, None, None] * np.eye(3) - 0.5 * (a + np.swapaxes(a, -1, -2))
        x, y, z = np.moveaxis(hessian, 1, 0)
        adjugate = np.stack((_cross(y, z), _cross(z, x), _cross(x, y)), -1)
        det = (x * adjugate[..., 0]).sum(-1)
        # Where the energy is not convex, a damped gradient step.
        convex = (det > 1e-12 * np.abs(trace) ** 3) & (x[:, 0] > 0) & (adjugate[:, 2, 2] > 0)
        newton = (adjugate @ gradient[..., None])[..., 0] / np.where(convex, det, 1)[:, None]
        plain = gradient / (np.linalg.norm(a, axis=(-1, -2)) + 1e-300)[:, None]
        step = np.where(convex[:, None], newton, plain)
        step = step / np.maximum(1, np.linalg.norm(step, axis=-1))[:, None]
        rotation = Rotation.from_rotvec(step).as_matrix() @ rotation
    return rotation


def _cross(x: RootPath, y: RootPath) -> RootPath:
    """The cross product of each row; numpy's own takes several times as long for few rows."""
    after, before = [1, 2, 0], [2, 0, 1]
    return x[:, after] * y[:, before] - x[:, before] * y[:, after]


def file_poses(motion: Maps, heads: Heads) -> tuple[Positions, Rotations]:
    """Positions of the heads and global rotations as the file has them."""
    return (motion[..., :3] @ heads[..., None])[..., 0] + motion[..., 3], nearest_rotation(motion[..., :3])


def translations(
    position: Positions, rotation: Rotations, heads: Heads, parents: Tree, *, least: float
) -> tuple[Positions, Positions]:
    """Translations of joints in their parents' frames, p_j = p_p + R_p (h_j - h_p + translation_j), and where that is.

    Joints that come nowhere further than `least` from their position without get exactly zero; their children make up
    for the difference.
    """
    result, placed, offsets = np.zeros_like(position), position.copy(), bone_offsets(parents, heads)
    for j, p in enumerate(parents[1:], 1):
        away = np.einsum("tba,tb->ta", rotation[:, p], position[:, j] - placed[:, p]) - offsets[j]
        if np.linalg.norm(away, axis=-1).max(initial=0) > least:
            result[:, j] = away
        placed[:, j] = placed[:, p] + np.einsum("tab,tb->ta", rotation[:, p], offsets[j] + result[:, j])
    return result, placed
