"""Joints of legs, from the height at which each leg joins the body: rigs of many authors put them at the same shares.

The template tells which leg is which and where its joints lie on flesh of any thickness; where the leg ends is seen in
the mesh itself (`feet`).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from kinema.rig.embed.medial import Balls

Point = Float[np.ndarray, "3"]
NEAR = 0.12
"""Greatest distance of a leg's foot from one on the ground, seen from above, in lengths of the longest side."""


HANGS = 0.5
"""A leg hangs if its ankle is less far aside of its hip than this share of the height between them."""
SHORT_FOOT, BOOT = 0.7, (0.35, 0.9)
"""A foot that ends before this share of its boot is drawn to its end. A boot is as long, in lengths of the leg: feet of
other figures end where the template has them, and what is longer is the hem of a robe."""
FLESH = 1.5
"""Radius in which flesh is around a ball of the body, in radii of the ball."""


class Rule(NamedTuple):
    """Where artists put a joint of a leg, in heights of the highest slice that is of this leg alone."""

    part: str
    height: float
    weight: float
    """Share of that height beside the place in the template, in [0, 1]."""
    ahead: float
    """Shift forward."""
    beside: float
    """Share of the slice's own place, seen from above, beside the place in the template, in [0, 1]."""


RULES = {
    "hind": (
        Rule("upper", 1.73, 0.8, 0.1, 0.7),
        Rule("lower", 1.21, 0.65, 0.3, 0.0),
        Rule("foot", 0.77, 0.65, 0.0, 0.0),
    ),
    "front": (
        Rule("upper", 1.4, 0.5, 0.05, 0.7),
        Rule("lower", 0.65, 0.65, 0.0, 0.0),
        Rule("foot", 0.2, 0.65, 0.0, 0.0),
    ),
    "leg": (Rule("upper", 1.45, 0.5, 0.0, 0.8), Rule("lower", 0.74, 0.4, 0.0, 0.3), Rule("foot", 0.13, 0.3, 0.0, 0.2)),
}
"""By the name of a pair of legs; `leg` is that of bodies with two. Medians over the rigs for tuning."""


def place_legs(at: Mapping[str, Point], balls: Balls) -> dict[str, Point]:
    """The points of the legs that stand on a foot of their own."""
    placed: dict[str, Point] = {}
    for pair, rules in RULES.items():
        for side in ("left", "right"):
            stem = f"{side}_leg" if pair == "leg" else f"{pair}_{side}"
            top = _top(at, stem, balls)
            if top is not None:
                # A leg as thick as the body seems to end higher than it can: its first joint is not above the trunk's.
                trunk = at["chest" if pair == "front" else "hips"][1] - balls.low[1]
                top = top.copy()
                top[1] = min(top[1], balls.low[1] + trunk / rules[0].height)
                placed |= {
                    f"{stem}_{rule.part}": _by_rule(at[f"{stem}_{rule.part}"], rule, top, balls) for rule in rules
                }
    return placed


def straight_knees(at: Mapping[str, Point]) -> dict[str, Point]:
    """Knees of legs that hang, in the plane of hip and ankle that faces ahead: one that is bent aside at rest has its
    hinge there, and the leg could only fold sideways."""
    found: dict[str, Point] = {}
    for name, knee in at.items():
        stem = name.removesuffix("_lower")
        if name == stem or f"{stem}_foot" not in at or "arm" in name:
            continue
        hip, ankle = at[f"{stem}_upper"], at[f"{stem}_foot"]
        down = float(hip[1] - ankle[1])
        if abs(float(ankle[0] - hip[0])) < HANGS * down:
            share = float(np.clip((hip[1] - knee[1]) / down, 0.0, 1.0))
            found[name] = np.array([hip[0] + share * (ankle[0] - hip[0]), *knee[1:]])
    return found


def toe_tips(at: Mapping[str, Point], vertices: Float[np.ndarray, "vertices 3"]) -> dict[str, Point]:
    """Ends of the feet of a biped where its boots end: balls fill a boot only as far as it is thick."""
    found: dict[str, Point] = {}
    ground = float(vertices[:, 1].min())
    for side in ("left", "right"):
        if not {f"{side}_leg_upper", f"{side}_leg_foot", f"{side}_leg_end"} <= set(at):
            continue
        hip, ankle, tip = (at[f"{side}_leg_{part}"] for part in ("upper", "foot", "end"))
        tall, leg = float(ankle[1]) - ground, float(hip[1]) - ground
        aside = np.abs(vertices[:, 0] - ankle[0]) < max(abs(float(ankle[0] - at["hips"][0])), 0.2 * leg)
        shoe = vertices[aside & (vertices[:, 1] - ground < max(0.7 * tall, 0.05 * leg))]
        if len(shoe) < 4:
            continue
        end = float(shoe[:, 2].max())
        long = end - float(ankle[2])
        if tip[2] - ankle[2] < SHORT_FOOT * long and BOOT[0] * leg < long < BOOT[1] * leg:
            found[f"{side}_leg_end"] = np.array([ankle[0], ground + 0.3 * tall, end])
    return found


def _by_rule(place: Point, rule: Rule, top: Point, balls: Balls) -> Point:
    """The place in the template drawn to that of the rule, if that lies in flesh."""
    tall = top[1] - balls.low[1]
    x, y, z = place
    x, z = np.array([x, z]) + rule.beside * (top[[0, 2]] - [x, z])
    y = (1 - rule.weight) * y + rule.weight * (balls.low[1] + rule.height * tall)
    drawn = np.array([x, y, z + rule.ahead * tall])
    outside = np.linalg.norm(balls.centers - drawn, axis=1) - FLESH * balls.radii
    return drawn if outside.min() < 0 else place


def _top(at: Mapping[str, Point], stem: str, balls: Balls) -> Point | None:
    """Top of the leg whose foot lies where the points of this one do; none if there is no such foot."""
    if f"{stem}_end" not in at:
        return None
    foot = (at[f"{stem}_foot"] + at[f"{stem}_end"]) / 2
    gap = np.linalg.norm((balls.feet.tops - foot)[:, [0, 2]], axis=1)
    near = int(gap.argmin())
    return balls.feet.tops[near] if gap[near] < NEAR * float((balls.high - balls.low).max()) else None
