"""`Poses`: rotations of joints and the height of the root, without heading and travel, which say nothing of a pose."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from kinema.errors import KinemaError
from kinema.geometry.transforms import matrix_to_quaternion, quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig, Transforms, angles_from_rotations, local_rotations, place_joints

Turns = Float[Tensor, "*b joints 3 3"]


@dataclass(frozen=True)
class Poses:
    """Poses of one rig."""

    rotations: Float[Tensor, "poses joints 3 3"]
    """R_parent_joint with the world's axes at rest; joint 0: its lean, the orientation without heading."""
    height: Float[Tensor, "poses"]
    """Height of the root's head over its place at rest [m]."""

    def __len__(self) -> int:
        return len(self.height)

    def __getitem__(self, index: slice | Tensor | list[int]) -> "Poses":
        return Poses(self.rotations[index], self.height[index])

    @staticmethod
    def cat(parts: "Sequence[Poses]") -> "Poses":
        return Poses(torch.cat([p.rotations for p in parts]), torch.cat([p.height for p in parts]))

    @staticmethod
    def rest(rig: Rig, count: int = 1) -> "Poses":
        joints = len(rig.parents)
        return Poses(torch.eye(3).to(rig.heads).expand(count, joints, 3, 3), rig.heads.new_zeros(count))

    @staticmethod
    def of_motion(rig: Rig, motion: Motion) -> "Poses":
        """Every frame of a motion as a pose."""
        if motion.angles.shape[1] != len(rig.parents):
            raise KinemaError(f"a pose of {motion.angles.shape[1]} joints does not fit a rig of {len(rig.parents)}")
        if not bool(motion.angles.isfinite().all() and motion.root_position.isfinite().all()):
            raise KinemaError("a pose has values that are not finite")
        rotations = local_rotations(rig, motion.angles.to(rig.heads))
        lean, _ = without_heading(rotations[:, 0])
        rotations = torch.cat((lean[:, None], rotations[:, 1:]), 1)
        return Poses(rotations, motion.root_position[:, 1].to(rig.heads) - rig.heads[0, 1])

    def mirrored(self, partners: Sequence[int]) -> "Poses":
        """Left and right exchanged; `partners` are the joints' mirror images (`Body.partners`)."""
        flip = torch.tensor([-1.0, 1.0, 1.0]).to(self.rotations)
        return Poses(flip[:, None] * self.rotations[:, list(partners)] * flip, self.height)

    def place(self, rig: Rig) -> Transforms:
        """T_world_joint, with the root over its place at rest."""
        return place_joints(rig, self._root(rig), self.rotations)

    def angles_near(self, rig: Rig, heading: Float[Tensor, "3 3"], angles: Float[Tensor, "joints 3"]) -> Tensor:
        """Angles [joints, 3] of the only pose under a heading, of all triples those nearest to given ones."""
        rotations = torch.cat((heading @ self.rotations[:, :1], self.rotations[:, 1:]), 1).double()
        double = rig.to(torch.float64)
        pair = angles_from_rotations(double, torch.cat((local_rotations(double, angles[None].double()), rotations)))
        return angles + (pair[1] - pair[0]).to(angles)

    def motion(self, rig: Rig, *, fps: float = 1.0) -> Motion:
        """One frame per pose; neighbouring frames have continuous angles."""
        angles = angles_from_rotations(rig.to(torch.float64), self.rotations.double()).to(rig.heads)
        return Motion(self._root(rig), angles, fps)

    def _root(self, rig: Rig) -> Float[Tensor, "poses 3"]:
        return rig.heads[0] + self.height[:, None] * rig.heads.new_tensor([0.0, 1.0, 0.0])


def without_heading(rotation: Float[Tensor, "*b 3 3"]) -> tuple[Float[Tensor, "*b 3 3"], Float[Tensor, "*b 3 3"]]:
    """Lean and heading with rotation = heading lean, where heading turns about the vertical and lean does not
    (swing and twist)."""
    w, _, y, _ = matrix_to_quaternion(rotation).unbind(-1)
    # A body upside down by half a turn has no heading of its own: it keeps that of rest.
    heading = torch.stack((w, torch.zeros_like(w), y, torch.zeros_like(w)), -1)
    none = heading.new_tensor([1.0, 0.0, 0.0, 0.0]).expand_as(heading)
    heading = quaternion_to_matrix(torch.where(heading.norm(dim=-1, keepdim=True) > 1e-4, heading, none))
    return heading.mT @ rotation, heading


def to_six(rotations: Float[Tensor, "*b 3 3"]) -> Float[Tensor, "*b 6"]:
    """The first two columns, less those of the identity: zero at rest."""
    six = rotations[..., :2].mT.flatten(-2)
    return six - six.new_tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])


def from_six(six: Float[Tensor, "*b 6"]) -> Float[Tensor, "*b 3 3"]:
    """The rotation nearest in the sense of Gram and Schmidt."""
    a, b = (six + six.new_tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])).unflatten(-1, (2, 3)).unbind(-2)
    x = normalize(a, dim=-1, eps=1e-6)
    y = normalize(b - (x * b).sum(-1, keepdim=True) * x, dim=-1, eps=1e-6)
    return torch.stack((x, y, torch.linalg.cross(x, y, dim=-1)), -1)
