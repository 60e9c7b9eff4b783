"""Which joints are hinges, which way they bend, and soft limits for every angle of a rig.

A knee that is bent at rest says itself about which axis it folds; the sign of a straight one comes from anatomy.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.rig.kinematics import bone_axes
from kinema.rig.limbs import Leg, Limbs

CLEARLY_BENT = 0.12
"""Sine of the angle between two bones from which on their plane is trusted."""


@dataclass(frozen=True)
class JointLimits:
    """A range for every angle, to be enforced softly."""

    hinges: tuple[int, ...]
    """Joints that bend about one axis and one way."""
    lower: Float[np.ndarray, "joints 3"]
    """[rad] about the rig's (flexion, abduction, twist); the root's are infinite."""
    upper: Float[np.ndarray, "joints 3"]


def chain_points(leg: Leg, heads: Float[np.ndarray, "joints 3"]) -> Float[np.ndarray, "points 3"]:
    """Hip, hinges and the end that they carry (ankle or tip) at rest."""
    bending = min(leg.foot, len(leg.joints))
    joints = heads[list(leg.joints[:bending])]
    end = heads[leg.joints[leg.foot]] if leg.foot < len(leg.joints) else heads[leg.joints[-1]] + leg.contact
    return np.concatenate((joints, end[None]))


def leg_hinges(
    points: Float[np.ndarray, "points 3"], *, front: bool
) -> tuple[list[Float[np.ndarray, "3"]], list[float]]:
    """Axis of each hinge of a leg, positive folding it, and its bend at rest [rad].

    Args:
        front: a fore leg of a body with more than one pair.
    """
    axes, angles = [], []
    height = max(float(points[0][1] - points[-1][1]), 1e-9)
    reach = points[-1] - points[0]
    for k in range(1, len(points) - 1):
        above, below = _unit(points[k] - points[k - 1]), _unit(points[k + 1] - points[k])
        normal = np.cross(above, below)
        sine = float(np.linalg.norm(normal))
        if sine > CLEARLY_BENT:
            axes.append(normal / sine)
        elif is_spread(reach):
            # The knee of a spider stands above its hip: the shank folds down.
            axes.append(_unit(np.cross(reach * [1, 0, 1], [0.0, -1.0, 0.0])))
        else:
            # Knees point forward, hocks and elbows back; the wrist below a straight elbow points forward again.
            elbow = front and (points[k][1] - points[-1][1]) > 0.5 * height
            back = elbow if len(points) == 3 else (k % 2 == 1) == front
            axes.append(np.array([-1.0 if back else 1.0, 0.0, 0.0]))
        angles.append(float(np.arctan2(sine, above @ below)) if sine > CLEARLY_BENT else 0.0)
    return axes, angles


def is_spread(reach: Float[np.ndarray, "3"]) -> bool:
    """Does a leg reach sideways rather than down?"""
    return bool(np.hypot(reach[0], reach[2]) > 0.9 * abs(reach[1]))


def joint_limits(character: Character, limbs: Limbs) -> JointLimits:
    """Soft limits of all angles; knees, hocks, elbows and wrists bend one way."""
    skeleton = character.skeleton
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton; rig it first")
    heads, axes = np.asarray(skeleton.heads, dtype=np.float64), bone_axes(skeleton.heads, skeleton.tails)
    half = np.tile([0.5, 0.5, 0.4], (len(heads), 1))
    half[0] = np.inf
    half[[*limbs.spine]] = (0.5, 0.4, 0.4)
    half[[*limbs.tail]] = (0.6, 0.6, 0.3)
    half[[*limbs.neck, *((limbs.head,) if limbs.head is not None else ())]] = (0.9, 0.7, 0.7)
    lower, upper = -half, half.copy()
    found = []
    ranks = max((leg.rank for leg in limbs.legs), default=0) + 1
    for leg in limbs.legs:
        points = chain_points(leg, heads)
        lower[leg.joints[0]], upper[leg.joints[0]] = (-1.5, -0.7, -0.6), (1.5, 0.7, 0.6)
        lower[[*leg.joints[leg.foot :]]], upper[[*leg.joints[leg.foot :]]] = (-1.2, -0.4, -0.4), (1.2, 0.4, 0.4)
        for j, axis, bent in zip(leg.joints[1:], *leg_hinges(points, front=leg.rank == 0 and ranks > 1)):
            found.append(j)
            lower[j], upper[j] = _one_way(axes[j], axis, bent)
    for arm in limbs.arms:
        # A clavicle, if there is one, comes before the upper arm.
        start = 1 if len(arm.joints) >= 4 else 0
        for j in arm.joints[: start + 1]:
            lower[j], upper[j] = (-2.2, -2.2, -1.2), (2.2, 2.2, 1.2)
        j = arm.joints[start + 1]
        if start + 2 < len(arm.joints) and not arm.wing:
            above = _unit(heads[j] - heads[arm.joints[start]])
            below = _unit(heads[arm.joints[start + 2]] - heads[j])
            normal = np.cross(above, below)
            sine = float(np.linalg.norm(normal))
            # A straight elbow folds the hand forward.
            axis = normal / sine if sine > CLEARLY_BENT else _unit(np.cross(above, [0.0, 0.0, 1.0]))
            found.append(j)
            lower[j], upper[j] = _one_way(axes[j], axis, float(np.arcsin(min(sine, 1.0))))
    return JointLimits(tuple(found), lower, upper)


def _one_way(
    axes: Float[np.ndarray, "3 3"], axis: Float[np.ndarray, "3"], bent: float
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Give the range of the hinge to the rig's nearest axis; the two others hold nearly still."""
    along = axes.T @ axis
    k = int(np.abs(along[:2]).argmax())
    lower, upper = np.full(3, -0.2), np.full(3, 0.2)
    straight, folded = -bent - 0.1, max(2.8 - bent, 0.3)
    if along[k] > 0:
        lower[k], upper[k] = straight, folded
    else:
        lower[k], upper[k] = -folded, -straight
    return lower, upper


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
