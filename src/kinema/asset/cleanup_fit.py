"""The rotations and root path of a tree that come nearest to how a file moves its vertices.

With x_v the vertices at rest, w_vj their weights and F_j the file's maps, we minimise for every frame

    Σ_j Σ_v w_vj |F_j x_v - (R_j (x_v - h_j) + p_j)|²,   p_child = p_j + R_j (h_child - h_j)

which bounds the error of the blended vertices (Jensen). It is quadratic in each global rotation R_j alone, so a sweep
from the leaves to the root solves one orthogonal Procrustes problem per joint, all frames at once. The vertices enter
only through their moments, so the cost does not depend on the mesh.
"""

import numpy as np
from jaxtyping import Float

EXACT = 2e-6
"""Root mean square error, as a share of the size, below which there is nothing to fit."""


def nearest_rotation(matrix: Float[np.ndarray, "*b 3 3"]) -> Float[np.ndarray, "*b 3 3"]:
    """The rotation R with the largest tr(Rᵀ M)."""
    u, _, vt = np.linalg.svd(matrix)
    u[..., :, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))[..., None]
    return u @ vt


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
    sweeps: int = 24,
) -> tuple[Float[np.ndarray, "frames 3"], Float[np.ndarray, "frames joints 3 3"], float]:
    """Root positions, global rotations from rest, and the remaining root mean square error as a share of the size.

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
    children = [[c for c, p in enumerate(parents) if p == j] for j in range(len(parents))]
    below = mass.copy()
    for j in reversed(range(1, len(parents))):
        below[parents[j]] += below[j]
    # Enough to settle a twist about a bone that nothing else determines, too little to pull on anything else.
    hold = np.array(
        [1e-4 * (np.trace(_about(moments[j], heads[j])) + 1e-6 * size**2 * total) for j in range(len(mass))]
    )
    position = _positions(root, rotation, heads, parents)
    error = _error(rotation, position, targets, moments, heads, target_square, total) / size
    for _ in range(sweeps):
        if error.max(initial=0) < EXACT:
            break
        residual: list[Float[np.ndarray, "frames 3"]] = [np.zeros(0)] * len(parents)
        for j in reversed(range(len(parents))):
            p, h = position[:, j], heads[j]
            cross = (
                targets[:, j, :, :3] - targets[:, j, :, 3, None] * h
                - p[:, :, None] * (moments[j, :3, 3] - mass[j] * h)
            )  # fmt: skip
            for c in children[j]:
                d = heads[c] - h
                cross = cross + (residual[c] + below[c] * (rotation[:, j] @ d))[:, :, None] * d
            fresh = nearest_rotation(cross + hold[j] * guess[:, j])
            for c in children[j]:
                residual[c] = residual[c] - below[c] * ((fresh - rotation[:, j]) @ (heads[c] - h))
            rotation[:, j] = fresh
            own = targets[:, j, :, 3] - fresh @ (moments[j, :3, 3] - mass[j] * h) - mass[j] * p
            residual[j] = own + sum((residual[c] for c in children[j]), np.zeros(3))
        root = root + residual[0] / total
        position = _positions(root, rotation, heads, parents)
        after = _error(rotation, position, targets, moments, heads, target_square, total) / size
        settled = (error - after).max(initial=0) < 1e-3 * max(float(after.max(initial=0)), 1e-12)
        error = after
        if settled:
            break
    return root, rotation, float(np.sqrt((error**2).mean())) if len(error) else 0.0


def _about(moment: Float[np.ndarray, "4 4"], head: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """Σ w (x - h)(x - h)ᵀ."""
    cross = np.outer(moment[:3, 3], head)
    return moment[:3, :3] - cross - cross.T + moment[3, 3] * np.outer(head, head)


def _positions(
    root: Float[np.ndarray, "frames 3"],
    rotation: Float[np.ndarray, "frames joints 3 3"],
    heads: Float[np.ndarray, "joints 3"],
    parents: tuple[int, ...],
) -> Float[np.ndarray, "frames joints 3"]:
    position = np.empty((len(root), len(parents), 3))
    position[:, 0] = root
    for j, p in enumerate(parents):
        if p >= 0:
            position[:, j] = position[:, p] + rotation[:, p] @ (heads[j] - heads[p])
    return position


def _error(
    rotation: Float[np.ndarray, "frames joints 3 3"],
    position: Float[np.ndarray, "frames joints 3"],
    targets: Float[np.ndarray, "frames joints 3 4"],
    moments: Float[np.ndarray, "joints 4 4"],
    heads: Float[np.ndarray, "joints 3"],
    target_square: Float[np.ndarray, "frames"],
    total: float,
) -> Float[np.ndarray, "frames"]:
    """Root mean square over the weighted vertices."""
    maps = np.concatenate((rotation, (position - (rotation @ heads[..., None])[..., 0])[..., None]), -1)
    square = (
        np.einsum("tjab,jbc,tjac->t", maps, moments, maps) - 2 * (maps * targets).sum((1, 2, 3)) + target_square
    )  # fmt: skip
    return np.sqrt(np.maximum(square, 0) / total)
