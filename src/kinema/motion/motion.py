"""`Motion`: a root path and joint angles in time, and for clips of some files translations of joints."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Clip
from kinema.asset.motion_npz import read_motion_arrays
from kinema.errors import KinemaError
from kinema.files import replacing
from kinema.geometry.rotations import continuous
from kinema.geometry.transforms import matrix_to_quaternion, quaternion_to_matrix
from kinema.rig.kinematics import Rig, angles_from_rotations, forward_kinematics, local_rotations

GRAVITY = 9.81
"""[m/s²]"""


@dataclass(frozen=True)
class Motion:
    """Parameters Θ of a clip: where the root is and how every joint is turned."""

    root_position: Float[Tensor, "frames 3"]
    """Joint 0's head in the world [m]."""
    angles: Float[Tensor, "frames joints 3"]
    """About the rig's axes [rad]; index 0 is the root's yaw, roll and pitch."""
    fps: float
    translation: Float[Tensor, "frames joints 3"] | None = None
    """How far joints have left their places in their parents, in the parent's frame [m]; None except for clips of
    files that take bodies apart. Physics and distillation know rotations only."""

    def __len__(self) -> int:
        return self.angles.shape[0]

    def __getitem__(self, frames: slice) -> "Motion":
        translation = None if self.translation is None else self.translation[frames]
        return Motion(self.root_position[frames], self.angles[frames], self.fps, translation)

    @staticmethod
    def rest(rig: Rig, *, frames: int, fps: float) -> "Motion":
        """The rest pose, held still."""
        return Motion(rig.heads[0].expand(frames, 3).clone(), rig.heads.new_zeros(frames, len(rig.parents), 3), fps)

    @staticmethod
    def from_clip(rig: Rig, clip: Clip) -> "Motion":
        """The clip's rotations as angles, continuous in time."""
        arrays = (clip.wxyz_parent_joint, clip.root_position, clip.translation)
        wxyz, root, *moved = (torch.from_numpy(np.ascontiguousarray(x)) for x in arrays if x is not None)
        angles = angles_from_rotations(rig.to(torch.float64), quaternion_to_matrix(wxyz.double())).to(rig.heads)
        return Motion(root.to(rig.heads), angles, clip.fps, moved[0].to(rig.heads) if moved else None)

    def to_clip(self, rig: Rig, *, name: str = "kinema") -> Clip:
        """Rotations from angles; neighbouring frames have quaternions of one hemisphere."""
        wxyz = matrix_to_quaternion(local_rotations(rig, self.angles.detach())).double().cpu().numpy()
        translation = None if self.translation is None else self.translation.detach().double().cpu().numpy()
        root = self.root_position.detach().double().cpu().numpy()
        return Clip(name, self.fps, root, continuous(wxyz), translation)

    def pose(self, rig: Rig) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint of every frame."""
        return forward_kinematics(rig, self.root_position, self.angles, self.translation)

    def at(self, frames: Float[Tensor, "n"]) -> "Motion":
        """The motion between frames: linear in the angles, which are continuous."""
        low = frames.floor().long().clamp(max=max(0, len(self) - 2))
        high = (low + 1).clamp(max=len(self) - 1)
        t = (frames - low).to(self.angles)

        def between(values: Float[Tensor, "frames *rest"]) -> Float[Tensor, "n *rest"]:
            return torch.lerp(values[low], values[high], t.view(-1, *(1,) * (values.ndim - 1)))

        translation = None if self.translation is None else between(self.translation)
        return Motion(between(self.root_position), between(self.angles), self.fps, translation)

    def detached(self, *kind: Any) -> "Motion":
        """Root path and angles without gradients and translations, of another type or on another device."""
        return Motion(self.root_position.detach().to(*kind), self.angles.detach().to(*kind), self.fps)

    def resample(self, fps: float) -> "Motion":
        """The same seconds at another frame rate; the first frame stays."""
        count = max(1, round((len(self) - 1) * fps / self.fps) + 1)
        return replace(self.at(torch.linspace(0, len(self) - 1, count, dtype=self.angles.dtype)), fps=fps)


def smoothness(motion: Motion) -> Float[Tensor, ""]:
    """MAE of the second time difference of all parameters (AKD's L_smooth)."""
    angles = motion.angles.diff(n=2, dim=0).abs()
    root = motion.root_position.diff(n=2, dim=0).abs()
    return (angles.sum() + root.sum()) / (angles.numel() + root.numel())


def rotation_angles(rig: Rig, first: Motion, second: Motion) -> Float[Tensor, "frames joints"]:
    """Angle between the local rotations of two motions [rad]."""
    rig = rig.to(torch.float64)
    a, b = (local_rotations(rig, m.angles.detach().double()) for m in (first, second))
    # sin(θ/2) from the chord is exact for small angles, where acos of the trace is not.
    return 2 * torch.asin(((3 - (a * b).sum((-2, -1))) / 4).clamp(0, 1).sqrt())


def save_motion(path: Path, motion: Motion, rig: Rig) -> None:
    """Write .npz: parameters, joint names and fps. The file appears whole or not at all."""
    tensors = {"root_position": motion.root_position, "angles": motion.angles, "translation": motion.translation}
    arrays: dict[str, Any] = {name: x.detach().cpu().numpy() for name, x in tensors.items() if x is not None}
    about = {"fps": np.float64(motion.fps), "names": np.array(rig.names), "parents": np.array(rig.parents)}
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **about, **arrays)


def load_motion(path: Path, rig: Rig) -> Motion:
    """Read .npz and check that it fits the rig."""
    data = read_motion_arrays(path)
    if tuple(data["names"].tolist()) != rig.names:
        raise KinemaError(f"{path}: its {len(data['names'])} joints are not those of the rig ({len(rig.names)})")
    fps = float(data["fps"])
    tensors = {key: torch.from_numpy(data[key]).to(rig.heads) for key in data if key not in ("fps", "names")}
    return Motion(tensors["root_position"], tensors["angles"], fps, tensors.get("translation"))
