"""Dragging: a joint is pulled, and the rest of the body follows through the pose space, from event to event."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from kinema.posespace.model import poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.reach import Point, Target, check_targets, reach, residuals
from kinema.posespace.space import PoseSpace

LEVEL = 0.25
"""Noise level at which the network is asked what the body would rather do."""
FOLLOW = 0.3
"""Share of the way to its answer that is gone with each event."""
ROUNDS = 4
"""Steps of least squares towards the targets; the pose of the event before is near already."""


@dataclass(frozen=True)
class Drag:
    """The body while a joint of it is dragged. Lengths as in `Target`: the root is over its place at rest."""

    space: PoseSpace
    joint: int
    pose: Poses
    """One pose: the solution of the last event."""
    held: tuple[Target, ...]
    """Pinned joints, at the places that they had when the drag began."""
    miss: float = 0.0
    """How far the dragged joint is from where it is wanted [m]."""

    @staticmethod
    def begin(space: PoseSpace, pose: Poses, joint: int, pins: Sequence[int] = ()) -> "Drag":
        """Take hold of a joint of a pose."""
        check_targets(space.rig, [Target(j) for j in (joint, *pins)])
        places = pose.place(space.rig)[0, :, :, 3].tolist()
        return Drag(space, joint, pose[:1], tuple(Target(j, tuple(places[j])) for j in pins if j != joint))

    def to(self, place: Point) -> "Drag":
        """Pull the joint to a place, as near as it comes."""
        space, scale = self.space, self.space.body.scale
        targets = [Target(self.joint, place), *self.held]
        check_targets(space.rig, targets)
        values = poses_to_values(self.pose, scale)
        with torch.no_grad():
            values = values + FOLLOW * (space.rather(values, LEVEL) - values)
            pose = reach(
                space.rig, values_to_poses(values, scale), targets, scale=scale, rounds=ROUNDS, metric=space.metric
            )
            missing = residuals(space.rig, pose.place(space.rig), targets[:1], scale)
        return replace(self, pose=pose, miss=float(missing.norm()) * scale)
