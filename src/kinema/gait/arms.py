"""Arms and wings: they hang from wherever the rest pose holds them and swing against the legs."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from kinema.gait.kinds import Gait
from kinema.gait.plan import FORWARD, LEFT, UP, Curve, FootPlan, GaitBody, Path, PerFrame
from kinema.rig.ik import about, between
from kinema.rig.limbs import Arm

TAU = 2 * np.pi
FOLDED_EDGE, FOLDED = 0.45, (-2.6, 2.7)
"""A folded wing: how far its leading edge turns down, and the bends of forearm and hand in its plane [rad]."""


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
            # The elbow folds as the arm comes forward.
            elbow = gait.elbow + 0.3 * np.maximum(gait.elbow, 0.2) * swing / max(gait.arm_swing, 1e-6)
            hang_arm(body, plan, arm, swing=-swing, spread=still, elbow=elbow)


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
        hanging = (0.22 * arm.side, -min(0.35, sink), -0.9) if arm.wing else (0.16 * arm.side, -1.0, 0.02)
        down = between(direction, np.array(hanging))
        if arm.wing:
            # Wings fold along the flanks: the edge turned down, forearm and hand laid together.
            down = down @ about(LEFT, np.array(FOLDED_EDGE))
            for joint, angle in zip(arm.joints[1:], FOLDED):
                plan.turns[joint] = np.broadcast_to(about(UP, np.array(angle * arm.side)), (len(swing), 3, 3))
    else:
        down, elbow, swing = np.eye(3), np.asarray(elbow) * 0.25, swing * 0.5
    plan.turns[upper] = world = about(LEFT, swing) @ about(FORWARD, spread * arm.side) @ down
    if fore is not None and not arm.wing:
        # The forearm folds forward about the lateral axis, wherever the rest pose had it.
        bent = about(-LEFT, np.broadcast_to(elbow, swing.shape))
        plan.turns[fore] = world.swapaxes(-1, -2) @ about(LEFT, swing) @ bent @ about(LEFT, -swing) @ world


def beat_wing(
    body: GaitBody, plan: FootPlan, arm: Arm, cycles: Curve, *, amplitude: float, fold: float, opens: bool
) -> None:
    """Beat a wing or fin: highest at whole cycles; it folds on the upstroke, and its outer part follows the inner.

    `opens` spreads a wing that lies along the body at rest.
    """
    joints, side = arm.joints, float(arm.side)
    direction = body.heads[joints[1]] - body.heads[joints[0]] if len(joints) > 1 else np.array([side, 0.0, 0.0])
    spread = np.eye(3)
    if opens and abs(direction[0]) < 0.6 * np.linalg.norm(direction):
        spread = between(direction, np.array([side, 0.05, -0.1]))
    upstroke = np.maximum(-np.sin(TAU * cycles), 0.0) ** 2 * fold
    share = 0.62 if len(joints) > 2 else 1.0
    for k, j in enumerate(joints[:4]):
        lag = 0.09 * k
        roll = amplitude * (share if k == 0 else (1 - share) * 1.1) * np.cos(TAU * (cycles - lag))
        yaw = (0.6, -1.7, 1.9, 0.0)[k] * upstroke
        turn = about(FORWARD, side * (roll - (0.25 * upstroke if k == 1 else 0.0))) @ about(UP, side * yaw)
        plan.turns[j] = turn @ spread if k == 0 else turn


def key_arm(body: GaitBody, plan: FootPlan, arm: Arm, upper: Path, fore: Path) -> None:
    """Aim an arm as `point_arm` does, by directions of the left arm: those of the right one are mirrored."""
    mirror = np.array([arm.side, 1.0, 1.0])
    point_arm(body, plan, arm, upper * mirror, fore * mirror)


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
