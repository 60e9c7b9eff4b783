"""Metrics of feet as papers on human motion define them, for bodies of any size.

Lengths are scaled to a body with human legs, so that thresholds in centimetres mean the same for a mouse.
"""

import numpy as np
from jaxtyping import Float

from kinema.motion.feet import Feet

HUMAN_LEG = 0.9
"""Leg length to which bodies are scaled [m]."""
SKATE_HEIGHT, SKATE_SPEED = 0.05, 0.5
"""A foot lower than this [m] that moves faster than this [m/s] skates (Karunratanakul et al. 2023, GMD)."""
EDGE_FPS = 30.0
"""Frame rate at which EDGE (Tseng et al. 2023) counts displacements."""


def skating_ratio(feet: Feet) -> float:
    """Share of frames in which some foot skates: low in two successive frames, and fast over the ground between."""
    if not feet.height.size or len(feet.height) < 2:
        return 0.0
    scale = HUMAN_LEG / feet.leg
    low = scale * feet.height < SKATE_HEIGHT
    fast = scale * np.linalg.norm(feet.velocity[..., [0, 2]], axis=-1) > SKATE_SPEED
    return float((low[1:] & low[:-1] & fast).any(1).mean())


def foot_contact_score(feet: Feet) -> float:
    """PFC: ×10⁴, how much a body accelerates while no foot stands still.

    EDGE's s = a/max(a) · v₁ · v₂, meaned over frames, with the acceleration a of the root (its part upwards at least 0:
    gravity needs no foot) and the displacements v of both feet per frame. On more legs, v are the two feet that move
    least: with two legs it is the same, and with any number it is 0 while a foot stands.
    """
    if len(feet.body) < 3 or feet.velocity.shape[1] < 2:
        return 0.0
    acceleration = np.diff(feet.body, n=2, axis=0)
    acceleration[:, 1] = np.maximum(acceleration[:, 1], 0.0)
    amount = np.linalg.norm(acceleration, axis=-1)
    if amount.max() <= 1e-12:
        return 0.0
    way = HUMAN_LEG / feet.leg / EDGE_FPS * np.linalg.norm(feet.velocity[1:, :, [0, 2]], axis=-1)
    least: Float[np.ndarray, "intervals 2"] = np.sort(way, axis=1)[:, :2]
    return float(1e4 * (amount / amount.max() * least.prod(1)).mean())
