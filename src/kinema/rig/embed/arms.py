"""Arms and folded wings of a body on two legs, where the template put hands into the trunk."""

from itertools import pairwise

import numpy as np

from kinema.rig.embed.fit import Fit
from kinema.rig.embed.joints import Point
from kinema.rig.embed.medial import Balls

REACH = 1.4
"""Distance of a hand from the line of the trunk from which on it is one, in radii of the trunk: arms of the figures for
tuning reach 1.9 or more and a T. rex's 1.5; birds that have folded their wings reach 1.2 at most."""
LEVEL = 0.5
"""How far the head of a bird is before its hips, at least, in heights above them; one without arms that is upright is
no bird."""
WING, WING_HEIGHT = (("upper", 0.0, 0.6), ("lower", 0.4, 0.9), ("hand", 0.8, 0.9), ("end", 1.2, 0.8)), 0.3
"""Joints of a folded wing: places between chest and hips, and distances from the middle and height above that line in
radii of the trunk."""
STOUT_ARM = 0.4
"""Least radius of an arm of such a toy, in radii of its legs: ears and hair are thinner."""


def has_arms(found: Fit, balls: Balls) -> bool:
    """Do the hands of a fitted biped stick out of its trunk?"""
    at = dict(zip(found.template.names, found.places))
    trunk = [at[name] for name in ("tail_1", "hips", "spine", "chest", "neck", "head", "head_end") if name in at]
    line = np.concatenate([a + np.linspace(0, 1, 12)[:, None] * (b - a) for a, b in pairwise(trunk)])
    gap = np.linalg.norm(balls.centers[:, None] - line[None], axis=2)
    # The largest ball around each place of the trunk, or the nearest.
    thick = np.where(gap < balls.radii[:, None], balls.radii[:, None], 0.0).max(axis=0)
    thick = np.where(thick > 0, thick, balls.radii[gap.argmin(axis=0)])
    hands = [at[f"{side}_hand"] for side in ("left", "right")]
    return max(float((np.linalg.norm(line - hand, axis=1) / thick).min()) for hand in hands) > REACH


def find_arm(at: dict[str, Point], above: dict[str, str], side: str, balls: Balls, *, there: bool) -> None:
    """Put an arm of two bones, which the template missed, where something sticks out beside the body, or none."""
    for part in ("arm_upper", "arm_lower", "hand", "hand_end"):
        del at[f"{side}_{part}"]
    if not there:
        return
    thick = float(np.median(balls.feet.radii)) if len(balls.feet.radii) else 0.0
    outer = abs(float(at[f"{side}_leg_foot"][0] - at["hips"][0])) + thick
    arm = arm_aside(balls, at["hips"], outer, STOUT_ARM * thick, 1.0 if side == "left" else -1.0)
    if arm is not None:
        shoulder, tip = balls.centers[arm[0]], balls.centers[arm[1]]
        for part, share in (("upper", 0.0), ("lower", 0.5), ("end", 1.0)):
            at[f"{side}_arm_{part}"] = shoulder + share * (tip - shoulder)
        above[f"{side}_arm_end"] = f"{side}_arm_lower"


def fold_wings(at: dict[str, Point], above: dict[str, str], balls: Balls) -> None:
    """Put wings along the sides of a trunk that lies level: a bird that stands has folded them."""
    chest, hips = at["chest"], at["hips"]
    near = np.linalg.norm(balls.centers - (chest + hips) / 2, axis=1).argmin()
    for side, out in (("left", 1.0), ("right", -1.0)):
        parent = "chest"
        for part, share, beside in WING:
            name, radius = f"{side}_wing_{part}", float(balls.radii[near])
            at[name] = chest + share * (hips - chest) + [out * beside * radius, WING_HEIGHT * radius, 0.0]
            above[name], parent = parent, name


def arm_aside(balls: Balls, hips: Point, outer: float, stout: float, side: float) -> tuple[int, int] | None:
    """Balls at the shoulder and at the tip of the limb that sticks out most on a side (1 or -1), farther than `outer`
    from the middle, above the hips, of balls larger than `stout`; none if nothing does."""
    aside = side * (balls.centers[:, 0] - float(balls.low[0] + balls.high[0]) / 2)
    arm = np.flatnonzero((balls.centers[:, 1] > hips[1]) & (aside > outer) & (balls.radii > stout))
    if len(arm) == 0:
        return None
    tip = arm[aside[arm].argmax()]
    to_tip, to_middle = balls.paths[tip], balls.paths[balls.middle]
    # Balls on the way from the tip to the trunk: the last one beside the legs is the shoulder.
    on_way = arm[to_tip[arm] + to_middle[arm] < 1.1 * to_tip[balls.middle]]
    return int(on_way[aside[on_way].argmin()]), int(tip)
