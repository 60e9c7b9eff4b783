"""Skin weights from the implicit body: which part a point belongs to, and where along its chain of joints it lies."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from kinema.create.creatures.body import Body
from kinema.create.creatures.field import part_distances


def smoothstep(low: float | np.ndarray, high: float | np.ndarray, x: np.ndarray) -> np.ndarray:
    """0 up to `low`, 1 from `high` on (which may be the smaller one), smooth between."""
    t = np.clip((x - low) / (np.asarray(high) - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def skin_weights(body: Body, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n joints"]:
    """Weights of surface points, rows sum to one.

    A limb owns a point as far as it is nearer than the core, and nearer than every other limb: between two limbs the
    core takes over, so no point is ever moved by two of them.
    """
    parts = part_distances(body, points)
    weights, left = np.zeros((len(points), len(body.names))), np.ones(len(points))
    for index, limb in enumerate(body.limbs):
        d, others, width = parts[1 + index], np.delete(parts[1:], index, axis=0), limb.blend
        own = smoothstep(-width, width, parts[0] - d)
        if len(others):
            own = own * smoothstep(0.0, width, others.min(0) - d)
        weights[:, limb.joints] = own[:, None] * _along(body, limb.joints, points)
        left = left - own
    weights[:, body.core] += np.maximum(left, 0)[:, None] * _along(body, body.core, points)
    weights[weights < 1e-3] = 0
    return weights / weights.sum(1, keepdims=True)


def _along(body: Body, joints: Sequence[int], points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n chain"]:
    """Shares of a chain's joints: each takes over from the one before across the plane that halves their angle."""
    heads, tails = np.array([body.heads[j] for j in joints]), np.array([body.tails[j] for j in joints])
    length = np.linalg.norm(tails - heads, axis=-1)
    direction = (tails - heads) / np.maximum(length, 1e-9)[:, None]
    reached = [np.ones(len(points))]
    for k in range(1, len(joints)):
        normal, band = direction[k - 1] + direction[k], 0.32 * min(length[k - 1], length[k])
        normal = normal / max(np.linalg.norm(normal), 1e-6)
        reached.append(reached[-1] * smoothstep(-band, band, (points - heads[k]) @ normal))
    reached.append(np.zeros(len(points)))
    return -np.diff(reached, axis=0).T
