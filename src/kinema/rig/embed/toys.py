"""Toys, whose legs are short blocks: one bone for each limb, as artists rig them."""

import numpy as np

from kinema.asset.character import Skeleton
from kinema.rig.embed.arms import STOUT_ARM, arm_aside
from kinema.rig.embed.joints import Joints, Point
from kinema.rig.embed.medial import Balls

STUB, BLOCK = 4.9, 0.875
"""Length below which a leg that is a block has no knee, in its radii, and the squareness from which on it is a block.

Toys in the benchmark have up to 4.7 and 0.9 or more; short legs of animals are round."""
HIP = (2.1, 1.5)
"""Least height of the joint at the top of such a leg, of two and of four, in radii: of the shortest it lies within the
body."""
SHOULDER, NECK = 1.7, 1.93
"""Heights of the shoulders and the neck of a toy on two legs, in heights of its hips."""
SKULL = 0.4
"""Least radius of a head on such a body, in radii of the trunk."""


def stub_tops(balls: Balls) -> dict[str, Point]:
    """Tops of two or four legs that are short blocks, by the names of their joints; none of any other body."""
    feet, middle = balls.feet, float(balls.low[0] + balls.high[0]) / 2
    if (feet.lengths > STUB * feet.radii).any() or (feet.squareness < BLOCK).any():
        return {}
    least = balls.low[1] + HIP[len(feet.tops) > 2] * float(np.median(feet.radii))
    tops = [np.array([x, max(y, least), z]) for x, y, z in feet.tops[np.argsort(feet.tops[:, 2])]]
    sides = {side: [top for top in tops if (top[0] > middle) == (side == "left")] for side in ("left", "right")}
    if all(len(of) == 1 for of in sides.values()):
        return {f"{side}_leg_upper": of[0] for side, of in sides.items()}
    if all(len(of) == 2 for of in sides.values()):
        return {f"{end}_{side}_upper": top for side, of in sides.items() for end, top in zip(("hind", "front"), of)}
    return {}


def toy_person(tops: dict[str, Point], balls: Balls) -> Skeleton:
    """A trunk of one piece with legs, arms and a head of one bone."""
    hips, radius = np.mean(list(tops.values()), axis=0), float(np.median(balls.feet.radii))
    leg = hips[1] - balls.low[1]
    outer = max(abs(float(top[0] - hips[0])) for top in tops.values()) + radius
    shoulder_y, neck_y = balls.low[1] + SHOULDER * leg, balls.low[1] + NECK * leg
    if arm := arm_aside(balls, hips, outer, STOUT_ARM * radius, 1.0):
        shoulder_y = float(balls.centers[arm[0], 1])
        neck_y = shoulder_y + float(balls.radii[arm[0]])
    neck, crown = np.array([hips[0], neck_y, hips[2]]), np.array([hips[0], balls.high[1], hips[2]])
    joints = Joints([], [], [], [])
    joints.add("hips", -1, hips, neck)
    joints.add("head", 0, neck, np.maximum(crown, neck))
    for name, top in tops.items():
        out = 1.0 if "left" in name else -1.0
        shoulder = np.array([top[0] + 0.4 * out * radius, shoulder_y, hips[2]])
        hand = np.array([balls.high[0] if out > 0 else balls.low[0], shoulder[1], hips[2]])
        joints.add(name, 0, top, np.array([top[0], balls.low[1], top[2]]))
        joints.add(name.replace("leg", "arm"), 0, shoulder, hand)
    return joints.skeleton()


def toy_beast(at: dict[str, Point], tops: dict[str, Point], balls: Balls) -> Skeleton:
    """A body of one piece with four legs of one bone, and the head and the tail if they stick out of it."""
    between = np.array(list(tops.values()))[:, 2]
    trunk = np.flatnonzero((balls.centers[:, 2] > between.min()) & (balls.centers[:, 2] < between.max()))
    middle, radius = next(((balls.centers[k], balls.radii[k]) for k in trunk), (balls.centers[0], balls.radii[0]))
    joints = Joints([], [], [], [])
    joints.add("hips", -1, balls.feet.tops.mean(axis=0), middle)
    for name, top in tops.items():
        joints.add(name, 0, top, np.array([top[0], balls.low[1], top[2]]))
    for side in ("left", "right"):
        if f"{side}_wing_upper" in at:
            joints.add(f"{side}_wing_upper", 0, at[f"{side}_wing_upper"], at[f"{side}_wing_end"])
    gap = {name: float(np.linalg.norm(place - middle)) for name, place in at.items()}
    skull = float(balls.radii[np.linalg.norm(balls.centers - at["head"], axis=1).argmin()])
    # A nose is no head.
    if gap["head"] > radius and skull > SKULL * radius:
        joints.add("head", 0, at["neck"], at["head_end"])
    if gap["tail_1"] > radius and gap["tail_end"] > radius:
        joints.add("tail_1", 0, at["tail_1"], at["tail_end"])
    return joints.skeleton()
