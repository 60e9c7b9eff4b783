"""Hinge axes of legs and arms, and soft limits for every angle of a rig.

A knee that is bent at rest shows its axis by itself; the sign of a straight one comes from anatomy.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.surface import Points
from kinema.rig.kinematics import bone_axes
from kinema.rig.limbs import Leg, Limbs

CLEARLY_BENT = 0.12
"""Sine of the angle between two bones above which their plane is trusted as the hinge's."""


CROOKED = 0.6
"""Sine below which a knee of a hanging leg that is bent aside is crooked, and not a hinge that folds sideways."""


@dataclass(frozen=True)
class JointLimits:
    """A range for every angle, to be enforced softly."""

    hinges: tuple[int, ...]
    """Joints that bend about one axis and one way."""
    lower: Float[np.ndarray, "joints 3"]
    """[rad] about the rig's (flexion, abduction, twist); the root's are infinite."""
    upper: Float[np.ndarray, "joints 3"]


def chain_points(leg: Leg, heads: Float[np.ndarray, "joints 3"]) -> Points:
    """Hip, hinges and the end that they carry (ankle or tip) at rest."""
    end = heads[leg.joints[leg.foot]] if leg.foot < len(leg.joints) else heads[leg.joints[-1]] + leg.contact
    return np.concatenate((heads[list(leg.joints[: leg.foot])], end[None]))


def leg_hinges(points: Points, *, front: bool) -> tuple[list[Float[np.ndarray, "3"]], list[float]]:
    """Axis of each hinge of a leg, such that a positive angle folds it, and its bend at rest [rad].

    `points` come from `chain_points`; `front` is a fore leg of a body with more than one pair.
    """
    axes, angles, reach = [], [], points[-1] - points[0]
    height = max(float(points[0][1] - points[-1][1]), 1e-9)
    for k in range(1, len(points) - 1):
        above, below = _unit(points[k] - points[k - 1]), _unit(points[k + 1] - points[k])
        normal = np.cross(above, below)
        sine = float(np.linalg.norm(normal))
        if not is_spread(reach) and sine < CROOKED and abs(normal[0]) < 0.5 * sine:
            sine = 0.0  # bent aside by chance: legs that hang fold ahead or back
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
    """True for a leg that reaches sideways rather than down."""
    return bool(np.hypot(reach[0], reach[2]) > 0.9 * abs(reach[1]))


def joint_limits(character: Character, limbs: Limbs) -> JointLimits:
    """Soft limits of all angles; knees, hocks, elbows and wrists bend one way."""
    skeleton = character.skeleton
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton; rig it first")
    heads, axes = np.asarray(skeleton.heads, dtype=np.float64), bone_axes(skeleton.heads, skeleton.tails)
    upper = np.tile([0.5, 0.5, 0.4], (len(heads), 1))
    upper[0] = np.inf
    upper[[*limbs.spine]] = (0.5, 0.4, 0.4)
    upper[[*limbs.tail]] = (0.6, 0.6, 0.3)
    upper[[*limbs.neck, *((limbs.head,) if limbs.head is not None else ())]] = (0.9, 0.7, 0.7)
    one_way: dict[int, tuple[np.ndarray, float]] = {}
    for leg in limbs.legs:
        upper[leg.joints[0]] = (1.5, 0.7, 0.6)
        upper[[*leg.joints[leg.foot :]]] = (1.2, 0.4, 0.4)
        found = leg_hinges(chain_points(leg, heads), front=leg.rank == 0 and limbs.legs[-1].rank > 0)
        one_way |= {j: (axis, bent) for j, axis, bent in zip(leg.joints[1:], *found)}
    for arm in limbs.arms:
        # A clavicle, if there is one, comes before the upper arm.
        shoulder = 1 if len(arm.joints) >= 4 else 0
        upper[[*arm.joints[: shoulder + 1]]] = (2.2, 2.2, 1.2)
        if arm.kind == "wing":  # spread at rest, and folded flat against the body, joint upon joint
            upper[[*arm.joints]] = np.pi
        if shoulder + 2 < len(arm.joints) and not arm.wing:
            a, b, c = heads[list(arm.joints[shoulder : shoulder + 3])]
            above = _unit(b - a)
            normal = np.cross(above, _unit(c - b))
            sine = float(np.linalg.norm(normal))
            # A straight elbow folds the hand forward.
            axis = normal / sine if sine > CLEARLY_BENT else _unit(np.cross(above, [0.0, 0.0, 1.0]))
            one_way[arm.joints[shoulder + 1]] = axis, float(np.arcsin(min(sine, 1.0)))
    lower = -upper
    for j, (axis, bent) in one_way.items():
        # The rig's nearest axis gets the range of the hinge; the two others hold nearly still.
        along = axes[j].T @ axis
        k = int(np.abs(along[:2]).argmax())
        lower[j], upper[j] = -0.2, 0.2
        straight, folded = -bent - 0.1, max(2.8 - bent, 0.3)
        lower[j, k], upper[j, k] = (straight, folded) if along[k] > 0 else (-folded, -straight)
    return JointLimits(tuple(one_way), lower, upper)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
