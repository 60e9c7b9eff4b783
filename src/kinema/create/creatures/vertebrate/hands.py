"""Hands with five fingers of three bones each."""

import numpy as np

from kinema.create.creatures.body import Body, Rgb, Vector

FINGERS = {
    "index": (0.72, 0.50, 0.92),
    "middle": (0.24, 0.53, 1.0),
    "ring": (-0.24, 0.51, 0.94),
    "little": (-0.72, 0.47, 0.74),
}
"""Place across the hand [hand radii], where it begins along the hand, and length relative to the middle finger's."""
BONES = (0.46, 0.30, 0.24)
"""Shares of a finger's length."""


def add_fingers(body: Body, side: str, hand: int, wrist: Vector, along: Vector, *, length: float, radius: float,
                color: Rgb) -> None:  # fmt: skip
    """Chains of joints below the joint `hand`, each bone a small closed part; the thumb points ahead.

    Args:
        wrist: Where the hand begins.
        along: Unit vector from there to the tip of the middle finger, which is `length` away.
        radius: Half the width of the palm [m].
    """
    ahead = np.array([0.0, 0.0, 1.0]) - along[2] * along
    ahead = ahead / np.linalg.norm(ahead)
    thick = 0.19 * radius
    for name, (across, start, share) in FINGERS.items():
        knuckle = wrist + start * length * along + across * radius * ahead
        way = along + 0.06 * across * ahead
        _finger(body, f"{side}_{name}", hand, knuckle, way / np.linalg.norm(way), 0.5 * share * length, thick, color)
    root, way = wrist + 0.16 * length * along + 0.62 * radius * ahead, 0.72 * along + 0.7 * ahead
    _finger(body, f"{side}_thumb", hand, root, way / np.linalg.norm(way), 0.44 * length, 1.15 * thick, color)


def _finger(
    body: Body, name: str, hand: int, root: Vector, way: Vector, length: float, thick: float, color: Rgb
) -> None:
    nodes = [root + share * length * way for share in (0.0, *np.cumsum(BONES))]
    joints = body.chain([f"{name}_{k + 1}" for k in range(3)], hand, nodes)
    for k, joint in enumerate(joints):
        radius = thick * (1.0 - 0.1 * k)
        ends = nodes[k] - 0.7 * radius * way, nodes[k + 1] + (0.3 if k == 2 else -0.4) * radius * way
        path = np.linspace(*ends, 6)
        body.tube(path, radius * np.array([0.0, 0.8, 1.0, 0.98, 0.78, 0.0]), color, joint)
