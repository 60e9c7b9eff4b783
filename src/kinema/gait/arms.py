"""Arms and wings: they hang from wherever the rest pose holds them and swing against the legs."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from kinema.gait.plan import LEFT, Body, Plan
from kinema.rig.ik import about, between
from kinema.rig.limbs import Arm

TAU = 2 * np.pi


def swing_arms(body: Body, plan: Plan, name: str, cycles: Float[np.ndarray, "frames"], *, amount: float) -> None:
    """Counter-swing: cycles is 0 in mid-stance of the left leg, when the left arm passes the hips going forward."""
    two = len(body.limbs.legs) == 2
    for arm in body.limbs.arms:
        beat = np.sin(TAU * cycles) * (1 if arm.side > 0 else -1)
        if arm.wing or not two:
            flap = 0.05 * amount * np.cos(2 * TAU * cycles)
            hang_arm(body, plan, arm, swing=0.02 * beat, spread=flap, elbow=np.zeros_like(beat))
            continue
        reach = {"run": 0.75, "walk": 0.38, "hop": 0.2, "sneak": 0.15, "limp": 0.22}.get(name, 0.3) * amount
        bent = {"run": 1.35, "walk": 0.25, "hop": 0.9, "sneak": 0.9}.get(name, 0.3)
        swing = -reach * beat if name != "hop" else -0.3 * np.cos(TAU * cycles)
        hang_arm(body, plan, arm, swing=swing, spread=np.zeros_like(beat), elbow=bent + 0.25 * reach * 0.0)


def hang_arm(
    body: Body, plan: Plan, arm: Arm, *, swing: Float[np.ndarray, "frames"], spread: Float[np.ndarray, "frames"],
    elbow: Float[np.ndarray, "frames"] | float,
) -> None:  # fmt: skip
    """Pose an arm: hanging, swung backward (+), spread out sideways (+) and bent at the elbow (+) [rad]."""
    upper, fore = _bones(body, arm)
    direction = _unit(body.heads[fore] - body.heads[upper])
    raised = abs(direction[0]) > 0.6
    if arm.wing and raised:
        # Wings fold along the flanks.
        down = between(direction, np.array([0.22 * arm.side, -0.35, -0.9]))
    elif raised:
        down = between(direction, np.array([0.16 * arm.side, -1.0, 0.02]))
    else:
        down = np.eye(3)
        elbow = np.asarray(elbow) * 0.25
        swing = swing * 0.5
    forward = np.array([0.0, 0.0, 1.0])
    world = about(LEFT, swing) @ about(forward, spread * arm.side) @ down
    plan.turns[upper] = world
    if not arm.wing:
        # The forearm folds forward about the lateral axis, wherever the rest pose had it.
        bent = about(-LEFT, np.broadcast_to(elbow, swing.shape))
        local = world.swapaxes(-1, -2) @ about(LEFT, swing) @ bent @ about(LEFT, -swing) @ world
        plan.turns[fore] = local


def point_arm(
    body: Body, plan: Plan, arm: Arm, direction: Float[np.ndarray, "frames 3"], fore: Float[np.ndarray, "frames 3"]
) -> None:
    """Aim the upper arm and the forearm along directions given in the chest's frame."""
    upper, elbow = _bones(body, arm)
    first = between(np.broadcast_to(body.heads[elbow] - body.heads[upper], direction.shape), direction)
    after = [j for j in arm.joints if body.rig.parents[j] == elbow]
    bone = body.heads[after[0]] - body.heads[elbow] if after else body.heads[elbow] - body.heads[upper]
    plan.turns[upper] = first
    wanted = (first.swapaxes(-1, -2) @ fore[..., None])[..., 0]
    plan.turns[elbow] = between(np.broadcast_to(bone, fore.shape), wanted)


def _bones(body: Body, arm: Arm) -> tuple[int, int]:
    """Upper arm and forearm: a clavicle before them carries but does not swing."""
    joints, start = arm.joints, 0
    if len(joints) >= 4:
        first, second = (np.linalg.norm(body.heads[b] - body.heads[a]) for a, b in pairwise(joints[:3]))
        start = 1 if first < 0.8 * second else 0
    return joints[start], joints[start + 1]


def _unit(v: np.ndarray) -> np.ndarray:
    return v / max(float(np.linalg.norm(v)), 1e-12)
