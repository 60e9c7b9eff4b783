"""The rotations and root path of a tree that come nearest to how a file moves its vertices.

With x_v the vertices at rest, w_vj their weights and F_j the file's maps, we minimise for every frame

    Σ_j Σ_v w_vj |F_j x_v - (R_j (x_v - h_j) + p_j)|²,   p_child = p_j + R_j (h_child - h_j)

which bounds the error of the blended vertices (Jensen). It is quadratic in each global rotation R_j alone, so a sweep
from the leaves to the root turns one joint after another to its best, for all frames of all clips at once. The
vertices enter only through their moments, so the cost does not depend on the mesh.

Where rotations cannot follow, joints may slide: each is then where the file has it (`own_places`, `slides`).
"""

import numpy as np
from jaxtyping import Float

EXACT = 2e-6
"""Root mean square error, as a share of the size, below which there is nothing to fit."""

COMES_OFF = 0.08
"""A joint that leaves its place in its parent by this share of the size has come off: a dropped sword, a lost head."""

SEEN = 1e-5
"""A joint that leaves its place in its parent by less than this share of the size does not slide."""

PULL = 1e-3
"""What a vertex of a part that has come off counts against one of the rest."""


def nearest_rotation(matrix: Float[np.ndarray, "*b 3 3"]) -> Float[np.ndarray, "*b 3 3"]:
    """The rotation R with the largest tr(Rᵀ M)."""
    u, _, vt = np.linalg.svd(matrix)
    u[..., :, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))[..., None]
    return u @ vt


def coming_off(
    motion: Float[np.ndarray, "frames joints 3 4"],
    heads: Float[np.ndarray, "joints 3"],
    parents: tuple[int, ...],
    *,
    size: float,
) -> list[int]:
    """Joints that some frame takes away from the body. No rotation can follow, so they must not pull the rest along."""
    found = []
    for j, p in enumerate(parents):
        if p >= 0:
            gap = motion[:, j] @ np.append(heads[j], 1) - motion[:, p] @ np.append(heads[j], 1)
            if np.linalg.norm(gap, axis=-1).max(initial=0) > COMES_OFF * size:
                found.append(j)
    return found


def gather_targets(
    motion: Float[np.ndarray, "frames raw 3 4"], moments: Float[np.ndarray, "raw 4 4"], carrier: tuple[int, ...]
) -> tuple[Float[np.ndarray, "frames joints 3 4"], Float[np.ndarray, "joints 4 4"], Float[np.ndarray, "frames"]]:
    """What kept joints have to reach: Σ_v w (F x_v)(x_v, 1)ᵀ, their merged moments, and Σ_v w |F x_v|²."""
    reached = motion @ moments
    joints = max(carrier) + 1
    targets = np.zeros((len(motion), joints, 3, 4))
    merged = np.zeros((joints, 4, 4))
    for k, j in enumerate(carrier):
        targets[:, j] += reached[:, k]
        merged[j] += moments[k]
    return targets, merged, (reached * motion).sum((1, 2, 3))


def fit_rotations(
    motion: Float[np.ndarray, "frames joints 3 4"],
    targets: Float[np.ndarray, "frames joints 3 4"],
    target_square: Float[np.ndarray, "frames"],
    moments: Float[np.ndarray, "joints 4 4"],
    heads: Float[np.ndarray, "joints 3"],
    parents: tuple[int, ...],
    *,
    size: float,
    sweeps: int = 40,
) -> tuple[Float[np.ndarray, "frames 3"], Float[np.ndarray, "frames joints 3 3"], Float[np.ndarray, "frames"]]:
    """Root positions, global rotations from rest, and what is left: root mean square error as a share of the size.

    Args:
        motion: F of the kept joints, the first guess for their rotations.
        targets: where the vertices of each joint have to go (see `gather_targets`).
        target_square: Σ_v w |F x_v|² per frame.
        moments: Σ_v w (x_v, 1)(x_v, 1)ᵀ.
        heads: at rest.
        parents: joint 0 is the root, parents before children.
        size: of the body.
        sweeps: at most this many passes; each lowers the error.
    """
    guess = nearest_rotation(motion[..., :3])
    rotation = guess.copy()
    root = motion[:, 0, :, :3] @ heads[0] + motion[:, 0, :, 3]
    mass = moments[:, 3, 3]
    total = max(float(mass.sum()), 1e-30)
    below = mass.copy()
    for j in reversed(range(1, len(parents))):
        below[parents[j]] += below[j]
    # Enough to settle a twist about a bone that nothing else determines, too little to pull on anything else.
    hold = np.array(
        [1e-4 * (np.trace(_about(moments[j], heads[j])) + 1e-6 * size**2 * total) for j in range(len(mass))]
    )
    error = (
        fit_error(tree_positions(root, rotation, heads, parents), rotation, targets, target_square, moments, heads)
        / size
    )
    active = np.flatnonzero(error > EXACT)
    for _ in range(sweeps):
        if not len(active):
            break
        turned, moved = _sweep(
            root[active], rotation[active], guess[active], hold, targets[active], moments, below, heads, parents
        )
        placed = tree_positions(moved, turned, heads, parents)
        after = fit_error(placed, turned, targets[active], target_square[active], moments, heads) / size
        better = after < error[active]
        kept = active[better]
        rotation[kept], root[kept] = turned[better], moved[better]
        progress = error[kept] - after[better]
        error[kept] = after[better]
        active = kept[(progress > 2e-3 * error[kept]) & (error[kept] > EXACT)]
    return root, nearest_rotation(rotation), error


def _sweep(
    root: Float[np.ndarray, "frames 3"],
    rotation: Float[np.ndarray, "frames joints 3 3"],
    guess: Float[np.ndarray, "frames joints 3 3"],
    hold: Float[np.ndarray, "joints"],
    targets: Float[np.ndarray, "frames joints 3 4"],
    moments: Float[np.ndarray, "joints 4 4"],
    below: Float[np.ndarray, "joints"],
    heads: Float[np.ndarray, "joints 3"],
    parents: tuple[int, ...],
) -> tuple[Float[np.ndarray, "frames joints 3 3"], Float[np.ndarray, "frames 3"]]:
    """Every joint's best rotation given all others, leaves first, then the root's best place."""
    rotation = rotation.copy()
    position = tree_positions(root, rotation, heads, parents)
    children = [[c for c, p in enumerate(parents) if p == j] for j in range(len(parents))]
    residual: list[Float[np.ndarray, "frames 3"]] = [np.zeros(0)] * len(parents)
    for j in reversed(range(len(parents))):
        p, h = position[:, j], heads[j]
        lever = moments[j, :3, 3] - moments[j, 3, 3] * h
        cross = targets[:, j, :, :3] - targets[:, j, :, 3, None] * h - p[:, :, None] * lever + hold[j] * guess[:, j]
        for c in children[j]:
            d = heads[c] - h
            cross = cross + (residual[c] + below[c] * (rotation[:, j] @ d))[:, :, None] * d
        fresh = _turn_towards(rotation[:, j], cross)
        for c in children[j]:
            residual[c] = residual[c] - below[c] * ((fresh - rotation[:, j]) @ (heads[c] - h))
        rotation[:, j] = fresh
        own = targets[:, j, :, 3] - fresh @ lever - moments[j, 3, 3] * p
        residual[j] = own + sum((residual[c] for c in children[j]), np.zeros(3))
    return rotation, root + residual[0] / below[0]


def _turn_towards(
    rotation: Float[np.ndarray, "frames 3 3"], cross: Float[np.ndarray, "frames 3 3"]
) -> Float[np.ndarray, "frames 3 3"]:
    """Two Newton steps on SO(3) towards the rotation with the largest tr(Rᵀ C); several times faster than an SVD."""
    for _ in range(2):
        a = cross @ np.swapaxes(rotation, -1, -2)
        torque = np.stack((a[:, 2, 1] - a[:, 1, 2], a[:, 0, 2] - a[:, 2, 0], a[:, 1, 0] - a[:, 0, 1]), -1)
        trace = a[:, 0, 0] + a[:, 1, 1] + a[:, 2, 2]
        xx, yy, zz = trace - a[:, 0, 0], trace - a[:, 1, 1], trace - a[:, 2, 2]
        xy, xz, yz = (-0.5 * (a[:, i, k] + a[:, k, i]) for i, k in ((0, 1), (0, 2), (1, 2)))
        cof_x, cof_y, cof_z = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
        det = xx * cof_x + xy * cof_y + xz * cof_z
        inverse = np.stack(
            (
                cof_x, cof_y, cof_z,
                cof_y, xx * zz - xz * xz, xy * xz - xx * yz,
                cof_z, xy * xz - xx * yz, xx * yy - xy * xy,
            ),
            -1,
        ).reshape(-1, 3, 3)  # fmt: skip
        # Where the energy is not convex, a damped gradient step.
        convex = (det > 1e-12 * np.abs(trace) ** 3) & (xx > 0) & (cof_x > 0) & (xx * yy - xy * xy > 0)
        newton = (inverse @ torque[..., None])[..., 0] / np.where(convex, det, 1)[:, None]
        plain = torque / (np.linalg.norm(a, axis=(-1, -2)) + 1e-300)[:, None]
        step = np.where(convex[:, None], newton, plain)
        angle = np.linalg.norm(step, axis=-1)
        step = step * np.minimum(1, 1 / np.maximum(angle, 1e-12))[:, None]
        rotation = _exponential(step) @ rotation
    return rotation


def _exponential(vector: Float[np.ndarray, "frames 3"]) -> Float[np.ndarray, "frames 3 3"]:
    """Rodrigues' formula."""
    angle = np.maximum(np.linalg.norm(vector, axis=-1), 1e-12)[:, None, None]
    x, y, z = vector.T
    zero = np.zeros_like(x)
    k = np.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).reshape(-1, 3, 3) / angle
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def _about(moment: Float[np.ndarray, "4 4"], head: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """Σ w (x - h)(x - h)ᵀ."""
    cross = np.outer(moment[:3, 3], head)
    return moment[:3, :3] - cross - cross.T + moment[3, 3] * np.outer(head, head)


def tree_positions(
    root: Float[np.ndarray, "frames 3"],
    rotation: Float[np.ndarray, "frames joints 3 3"],
    heads: Float[np.ndarray, "joints 3"],
    parents: tuple[int, ...],
) -> Float[np.ndarray, "frames joints 3"]:
    """Where the heads are if no joint slides."""
    position = np.empty((len(root), len(parents), 3))
    position[:, 0] = root
    for j, p in enumerate(parents):
        if p >= 0:
            position[:, j] = position[:, p] + rotation[:, p] @ (heads[j] - heads[p])
    return position


def fit_error(
    position: Float[np.ndarray, "frames joints 3"],
    rotation: Float[np.ndarray, "frames joints 3 3"],
    targets: Float[np.ndarray, "frames joints 3 4"],
    target_square: Float[np.ndarray, "frames"],
    moments: Float[np.ndarray, "joints 4 4"],
    heads: Float[np.ndarray, "joints 3"],
) -> Float[np.ndarray, "frames"]:
    """Root mean square over the weighted vertices of joints that are placed and turned like this."""
    maps = np.concatenate((rotation, (position - (rotation @ heads[..., None])[..., 0])[..., None]), -1)
    square = ((maps @ moments - 2 * targets) * maps).sum((1, 2, 3)) + target_square
    return np.sqrt(np.maximum(square, 0) / max(float(moments[:, 3, 3].sum()), 1e-30))


def own_places(
    motion: Float[np.ndarray, "frames joints 3 4"], heads: Float[np.ndarray, "joints 3"]
) -> tuple[Float[np.ndarray, "frames joints 3"], Float[np.ndarray, "frames joints 3 3"]]:
    """Heads and rotations as the file has them."""
    return (motion[..., :3] @ heads[..., None])[..., 0] + motion[..., 3], nearest_rotation(motion[..., :3])


def translations(
    position: Float[np.ndarray, "frames joints 3"],
    rotation: Float[np.ndarray, "frames joints 3 3"],
    heads: Float[np.ndarray, "joints 3"],
    parents: tuple[int, ...],
    *,
    size: float,
) -> Float[np.ndarray, "frames joints 3"]:
    """How far each head is from its place in its parent, in the parent's frame: p_j = p_p + R_p (h_j - h_p + slide_j).

    Joints that stay in place but for rounding get exactly zero, which their children make good.
    """
    result, placed = np.zeros_like(position), position.copy()
    for j, p in enumerate(parents):
        if p < 0:
            continue
        offset = heads[j] - heads[p]
        away = np.einsum("tba,tb->ta", rotation[:, p], position[:, j] - placed[:, p]) - offset
        if np.linalg.norm(away, axis=-1).max(initial=0) > SEEN * size:
            result[:, j] = away
        placed[:, j] = placed[:, p] + np.einsum("tab,tb->ta", rotation[:, p], offset + result[:, j])
    return result
