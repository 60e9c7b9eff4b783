"""Energies beside the prior's loss, which keep a body from what no body on the ground does, and their weights."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill.config import Resolved
from kinema.distill.parameters import Filmed
from kinema.geometry.transforms import apply
from kinema.motion.motion import Motion, smoothness
from kinema.rig.anatomy import Anatomy
from kinema.rig.limbs import Limbs

Pose = Float[Tensor, "frames joints 3 4"]
Points = Float[Tensor, "frames points 3"]
Energy = Float[Tensor, ""]

CLIMBING_WEIGHT = FLOATING_WEIGHT = 0.1
"""Weights relative to that of the ground."""
STANDING_HEIGHT = 0.04
"""Height below which a foot counts as standing [leg lengths]."""

GENTLE = 0.2
"""Change of an angle's speed from frame to frame up to which it counts less than in proportion [rad]: a tail that
swings by 10 degrees to either side in a walk has 0.09."""
SLOW = 0.05
"""Speed of a body below which all feet stand [leg lengths per frame]."""


def weighted_energies(
    filmed: Filmed, config: Resolved, anatomy: Anatomy, *, feet: float, repeats: bool = True
) -> Energy:
    """Sum of all energies of a window with the weights of a job; `feet` in [0, 1] scales those of the feet.

    Only what repeats has to stay at its height: an action may end on the ground.
    """
    size = anatomy.limbs.leg_length
    ground = config.ground_weight if anatomy.limbs.ground else 0.0
    if filmed.motion is None or filmed.T_world_joint is None:
        assert filmed.points is not None
        jerk = filmed.points.diff(n=2, dim=0).abs().mean() / size
        paper = config.preset == "paper"
        depth = mean_depth(filmed.points[..., 1]) if paper else penetration(filmed.points, size)
        total = config.smooth_weight * jerk + ground * depth
        return total if paper else total + _of_feet(filmed, config, feet, ground, size)
    motion = filmed.motion
    total = config.smooth_weight * (smoothness(motion) if config.preset == "paper" else roughness(motion))
    if config.preset == "paper":
        corners = torch.from_numpy(anatomy.cuboids.corners).to(filmed.T_world_joint)
        return total + ground * cuboid_penetration(filmed.T_world_joint, corners)
    if repeats:
        total = total + CLIMBING_WEIGHT * config.ground_weight * climbing(motion.root_position, size)
    total = total + _of_feet(filmed, config, feet, ground, size)
    if config.limits_weight:
        limits = torch.from_numpy(np.stack((anatomy.limits.lower, anatomy.limits.upper), -1)).to(motion.angles)
        total = total + config.limits_weight * beyond_limits(motion.angles, limits)
    return total


def _of_feet(filmed: Filmed, config: Resolved, feet: float, ground: float, size: float) -> Energy | float:
    """Soles under the ground, that slide on it, and all of them over it."""
    if filmed.soles is None:
        return 0.0
    slip = foot_slip(filmed.soles, size, per_frame=filmed.soles_per_frame)
    over = FLOATING_WEIGHT * floating(filmed.soles, size)
    return feet * (ground * (penetration(filmed.soles, size) + over) + config.slip_weight * slip)


def roughness(motion: Motion) -> Energy:
    """Mean second time difference of all parameters, that of the angles forgiven while it is small.

    Counted in full (AKD's L_smooth), it holds a tail still of which the picture shows a cell or two, and the gentle
    swing of a neck costs as much as noise does.
    """
    angles, root = motion.angles.diff(n=2, dim=0), motion.root_position.diff(n=2, dim=0).abs()
    eased = (angles.square() + GENTLE**2).sqrt() - GENTLE
    return (eased.sum() + root.sum()) / (angles.numel() + root.numel())


def cuboid_penetration(T_world_joint: Pose, corners: Float[Tensor, "joints 8 3"]) -> Energy:
    """AKD's L_ground, over the corners of the bones' cuboids [m]."""
    return mean_depth(apply(T_world_joint, corners.expand(len(T_world_joint), -1, -1, -1))[..., 1])


def mean_depth(heights: Float[Tensor, "frames *points"]) -> Energy:
    """mean(max(-v_y, 0)) (Eq. 10) [m]."""
    return (-heights).clamp(min=0).mean()


def sole_points(T_world_joint: Pose, limbs: Limbs) -> Points:
    """Front and back end of every foot's sole, and the heels of feet of two bones [m]."""
    ends = [(leg.joints[-1], end) for leg in limbs.legs for end in leg.soles]
    ends += [(leg.joints[leg.foot], leg.heel) for leg in limbs.legs if leg.heel is not None]
    points = torch.from_numpy(np.stack([point for _, point in ends])).to(T_world_joint)
    joints = torch.tensor([joint for joint, _ in ends], device=T_world_joint.device)
    return apply(T_world_joint[:, joints], points[:, None].expand(len(T_world_joint), -1, -1, -1)).flatten(1, 2)


def penetration(points: Points, size: float) -> Energy:
    """Squared depth of points under the ground, in units of `size`: all weight on the few points that matter."""
    return (-points[..., 1] / size).clamp(min=0).square().sum(-1).mean()


def foot_slip(points: Points, size: float, *, per_frame: int = 1) -> Energy:
    """Squared travel per frame of standing points, in units of `size`, at `per_frame` times per frame.

    A point stands while it is low and does not go along with the body: people swing their feet a finger's breadth over
    the ground, and would drag them if that counted. Which points stand is not differentiated: lifting a foot is no way
    to stop sliding.
    """
    height = (points[1:, :, 1] + points[:-1, :, 1]).detach() / (2 * size)
    travel = (points[1:] - points[:-1])[..., (0, 2)] * (per_frame / size)
    # Over whole cycles feet go as far as the body, standing half of the time and twice as fast in the other half.
    body = travel.detach().mean((0, 1)).norm().clamp(min=SLOW)
    moved = travel.detach().norm(dim=-1) / body
    high = height.clamp(min=0) / (1.5 * STANDING_HEIGHT)
    stands = torch.sigmoid((1 - (high.square() + moved.square()).sqrt()) / 0.25)
    return (stands * travel.square().sum(-1)).sum() / stands.sum().clamp(min=1.0)


def standing_speed(points: Points, size: float) -> float:
    """Forward travel of standing feet from one time to the next [m]: each is taken to stand where it is lowest.

    The median, weighted by how low a foot is: the fast ends of a swing are low as well.
    """
    height = (points[1:, :, 1] + points[:-1, :, 1]) / (2 * size)
    low = torch.sigmoid((STANDING_HEIGHT - height + height.amin(0)) / (0.3 * STANDING_HEIGHT))
    travel, order = points[..., 2].diff(dim=0).flatten().sort()
    weight = low.flatten()[order].cumsum(0)
    return float(travel[int((weight < weight[-1] / 2).sum())])


def floating(points: Points, size: float) -> Energy:
    """Squared height of the lowest foot, averaged over the clip: someone has to stand most of the time."""
    return (points[..., 1].amin(-1) / size).clamp(min=0).square().mean()


def climbing(root_position: Float[Tensor, "frames 3"], size: float) -> Energy:
    """Squared height that the root gains from the first to the second half of a window, in units of `size`."""
    first, second = root_position[:, 1].tensor_split(2)
    return ((second.mean() - first.mean()) / size).square()


def beyond_limits(angles: Float[Tensor, "frames joints 3"], limits: Float[Tensor, "joints 3 2"]) -> Energy:
    """Squared excess over soft joint limits [rad²]; infinite limits cost nothing."""
    over = (angles - limits[..., 1]).clamp(min=0) + (limits[..., 0] - angles).clamp(min=0)
    return over.square().sum((-1, -2)).mean()
