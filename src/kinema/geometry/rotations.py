"""Rotations and joint trees in numpy, the counterpart of the torch functions in `geometry.transforms`.

Quaternions are wxyz. A joint tree is its array of parents, -1 for a root; parents need not come before children unless
a function says so.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial.transform import Rotation

Offsets = Float[np.ndarray, "*#b joints 3"]
Positions = Float[np.ndarray, "*b joints 3"]
Turns = Float[np.ndarray, "*b joints 3 3"]
RootPath = Float[np.ndarray, "*#b 3"]


def to_matrix(wxyz: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b 3 3"]:
    """Rotation matrices of quaternions of any non-zero length."""
    return _rotation(wxyz).as_matrix().reshape(*wxyz.shape[:-1], 3, 3)


def from_matrix(matrix: Float[np.ndarray, "*b 3 3"]) -> Float[np.ndarray, "*b 4"]:
    """Unit quaternions with w >= 0."""
    xyzw = Rotation.from_matrix(matrix.reshape(-1, 3, 3)).as_quat(canonical=True)
    return xyzw[:, [3, 0, 1, 2]].reshape(*matrix.shape[:-2], 4)


def normalize(wxyz: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b 4"]:
    """Unit quaternions; one of length zero, which only damaged files hold, becomes the identity."""
    length = np.linalg.norm(wxyz, axis=-1, keepdims=True)
    return np.where(length > 1e-12, wxyz / np.maximum(length, 1e-12), [1.0, 0.0, 0.0, 0.0])


def multiply(p: Float[np.ndarray, "*#b 4"], q: Float[np.ndarray, "*#b 4"]) -> Float[np.ndarray, "*b 4"]:
    """Hamilton product: `multiply(p, q)` rotates by q first, then by p."""
    pw, pv, qw, qv = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    w = pw * qw - (pv * qv).sum(-1, keepdims=True)
    return np.concatenate((w, pw * qv + qw * pv + np.cross(pv, qv)), -1)


def slerp(
    p: Float[np.ndarray, "*#b 4"], q: Float[np.ndarray, "*#b 4"], t: Float[np.ndarray, "*#b"] | float
) -> Float[np.ndarray, "*b 4"]:
    """Unit quaternions at the share `t` of the shorter way from p (0) to q (1)."""
    t = np.asarray(t)
    shape = np.broadcast_shapes(p.shape[:-1], q.shape[:-1], t.shape)
    start, end = (_rotation(np.broadcast_to(x, (*shape, 4))) for x in (p, q))
    way = (start.inv() * end).as_rotvec() * np.broadcast_to(t, shape).reshape(-1, 1)
    return (start * Rotation.from_rotvec(way)).as_quat()[:, [3, 0, 1, 2]].reshape(*shape, 4)


def change_axes(wxyz: Float[np.ndarray, "*b 4"], R_new_old: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "*b 4"]:
    """The same rotations with respect to other axes, R q Rᵀ: the vector part of a quaternion is rotated."""
    return np.concatenate((wxyz[..., :1], wxyz[..., 1:] @ R_new_old.T), -1)


def continuous(wxyz: Float[np.ndarray, "frames *b 4"]) -> Float[np.ndarray, "frames *b 4"]:
    """The same rotations with signs such that neighbouring frames lie in one hemisphere."""
    flips = np.cumprod(np.where((wxyz[1:] * wxyz[:-1]).sum(-1) < 0, -1.0, 1.0), axis=0)
    return np.concatenate((wxyz[:1], wxyz[1:] * flips[..., None]))


def nearest_rotation(matrix: Float[np.ndarray, "*b 3 3"]) -> Float[np.ndarray, "*b 3 3"]:
    """The rotation R with the largest tr(Rᵀ M)."""
    u, _, vt = np.linalg.svd(matrix)
    u[..., :, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))[..., None]
    return u @ vt


def place_joints(parents: Sequence[int], offsets: Offsets, local: Turns, root: RootPath) -> tuple[Positions, Turns]:
    """Forward kinematics: positions and rotations of all joints in the world.

    Joint 0, at `root`, is the root and parents come before children. `offsets` and `local` are each joint's position
    and rotation in its parent's frame; the root's rotation is relative to the world, its offset is not used.
    """
    rotation = local.copy()
    for j, p in enumerate(parents):
        if p >= 0:
            rotation[..., j, :, :] = rotation[..., p, :, :] @ local[..., j, :, :]
    return joint_positions(parents, offsets, rotation, root), rotation


def joint_positions(parents: Sequence[int], offsets: Offsets, rotation: Turns, root: RootPath) -> Positions:
    """Positions of all joints in the world, whose rotations there are known; arguments as in `place_joints`."""
    position = np.empty(rotation.shape[:-1])
    position[..., 0, :] = root
    for j, p in enumerate(parents):
        if p >= 0:
            away = rotation[..., p, :, :] @ offsets[..., j, :, None]
            position[..., j, :] = position[..., p, :] + away[..., 0]
    return position


def bone_offsets(parents: Sequence[int], heads: Float[np.ndarray, "joints 3"]) -> Float[np.ndarray, "joints 3"]:
    """Each joint's head relative to its parent's; a root's own head."""
    above = np.asarray(parents)
    return heads - np.where(above[:, None] >= 0, heads[above], 0.0)


def children(parents: Sequence[int]) -> list[list[int]]:
    """Children of each joint, in their own order."""
    result: list[list[int]] = [[] for _ in parents]
    for j, p in enumerate(parents):
        if p >= 0:
            result[p].append(j)
    return result


def depth_first(parents: Sequence[int], *, tops: Sequence[int] | None = None) -> list[int]:
    """Joints, parents before children and a whole branch before the next one; those of a cycle are left out.

    With `tops` these joints and their descendants only.
    """
    below = children(parents)
    order, stack = [], [*([j for j, p in enumerate(parents) if p < 0] if tops is None else tops)][::-1]
    while stack:
        order.append(stack.pop())
        stack += below[order[-1]][::-1]
    return order


def ancestors(parents: Sequence[int], joint: int) -> list[int]:
    """The joint's parent, that one's parent, and so on up to a root."""
    result = []
    while (joint := parents[joint]) >= 0:
        result.append(joint)
    return result


def is_below(parents: Sequence[int], joint: int, top: int) -> bool:
    """`joint` is `top` or one of its descendants."""
    return joint == top or top in ancestors(parents, joint)


def subtree_sums(parents: Sequence[int], values: Float[np.ndarray, "joints"]) -> Float[np.ndarray, "joints"]:
    """The sum of `values` over each joint and its descendants."""
    sums = values.copy()
    for j in reversed(depth_first(parents)):
        if parents[j] >= 0:
            sums[parents[j]] += sums[j]
    return sums


def runs(mask: Bool[np.ndarray, "n"]) -> list[tuple[int, int]]:
    """Start and end (excluded) of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _rotation(wxyz: Float[np.ndarray, "*b 4"]) -> Rotation:
    return Rotation.from_quat(wxyz.reshape(-1, 4)[:, [1, 2, 3, 0]])
