"""Arms and wings: they hang from wherever the rest pose holds them and swing against the legs."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from kinema.gait.kinds import Gait
from kinema.gait.plan import FORWARD, LEFT, Curve, FootPlan, GaitBody, Path, PerFrame
from kinema.rig.ik import about, between
from kinema.rig.limbs import Arm

TAU = 2 * np.pi


def swing_arms(body: GaitBody, plan: FootPlan, gait: Gait, cycles: Curve, *, amount: float) -> None:
    """Swing the arms against the legs; cycles is 0 in mid-stance of the left leg, when the left arm passes the hips."""
    still = np.zeros_like(cycles)
    for arm in body.limbs.arms:
        beat = np.sin(TAU * cycles) * (1 if arm.side > 0 else -1)
        if arm.wing or len(body.limbs.legs) != 2:
            flap = 0.05 * amount * np.cos(2 * TAU * cycles)
            hang_arm(body, plan, arm, swing=0.02 * beat, spread=flap, elbow=still)
        else:
            together = gait.footfalls.together
            swing = gait.arm_swing * np.cos(TAU * cycles) if together else (gait.arm_swing * amount) * beat
            hang_arm(body, plan, arm, swing=-swing, spread=still, elbow=gait.elbow)


def hang_arm(body: GaitBody, plan: FootPlan, arm: Arm, *, swing: Curve, spread: Curve, elbow: PerFrame) -> None:
    """Pose an arm: hanging, swung backward (+), spread out sideways (+) and bent at the elbow (+) [rad]."""
    upper, fore, direction = _bones(body, arm)
    if arm.wing:
        # The whole wing folds, which a first bone of its own direction may carry; a long one not into the ground.
        ends = body.heads[list(arm.joints)] + body.limbs.probes[list(arm.joints), 2] - body.heads[upper]
        direction = ends[np.linalg.norm(ends, axis=-1).argmax()]
    sink = 0.5 * float(body.heads[upper][1]) / max(float(np.linalg.norm(direction)), 1e-12)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-12)
    if abs(direction[0]) > 0.6:
        # Wings fold along the flanks.
        hanging = (0.22 * arm.side, -min(0.35, sink), -0.9) if arm.wing else (0.16 * arm.side, -1.0, 0.02)
        down = between(direction, np.array(hanging))
    else:
        down, elbow, swing = np.eye(3), np.asarray(elbow) * 0.25, swing * 0.5
    plan.turns[upper] = world = about(LEFT, swing) @ about(FORWARD, spread * arm.side) @ down
    if fore is not None and not arm.wing:
        # The forearm folds forward about the lateral axis, wherever the rest pose had it.
        bent = about(-LEFT, np.broadcast_to(elbow, swing.shape))
        plan.turns[fore] = world.swapaxes(-1, -2) @ about(LEFT, swing) @ bent @ about(LEFT, -swing) @ world


def point_arm(body: GaitBody, plan: FootPlan, arm: Arm, direction: Path, fore: Path) -> None:
    """Aim the upper arm and the forearm along directions given in the chest's frame."""
    upper, elbow, bone = _bones(body, arm)
    plan.turns[upper] = first = between(np.broadcast_to(bone, direction.shape), direction)
    if elbow is None:
        return
    hand = next((j for j in arm.joints if body.rig.parents[j] == elbow), None)
    bone = bone if hand is None else body.heads[hand] - body.heads[elbow]
    wanted = (first.swapaxes(-1, -2) @ fore[..., None])[..., 0]
    plan.turns[elbow] = between(np.broadcast_to(bone, fore.shape), wanted)


def _bones(body: GaitBody, arm: Arm) -> tuple[int, int | None, Float[np.ndarray, "3"]]:
    """Upper arm, forearm if there is one, and the vector along the upper arm [m].

    A clavicle before them carries but does not swing.
    """
    joints, start = arm.joints, 0
    if len(joints) == 1:
        # An arm of one bone ends in its farthest vertex.
        return joints[0], None, body.limbs.probes[joints[0], 2]
    if len(joints) >= 4:
        first, second = (np.linalg.norm(body.heads[b] - body.heads[a]) for a, b in pairwise(joints[:3]))
        start = 1 if first < 0.8 * second else 0
    return joints[start], joints[start + 1], body.heads[joints[start + 1]] - body.heads[joints[start]]
