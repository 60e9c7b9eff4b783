"""Stage 5: a motion is a root path and joint angles in time, and for clips of some files slides of joints."""

import importlib
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character, Clip
from kinema.errors import KinemaError
from kinema.files import replacing
from kinema.geometry.transforms import matrix_to_quaternion, quaternion_to_matrix
from kinema.rig.kinematics import Rig, angles_from_rotations, forward_kinematics, local_rotations


@dataclass(frozen=True)
class Motion:
    """Parameters Θ of a clip: where the root is and how every joint is turned."""

    root_position: Float[Tensor, "frames 3"]
    """Joint 0's head in the world [m]."""
    angles: Float[Tensor, "frames joints 3"]
    """About the rig's axes [rad]; index 0 is the root's yaw, roll and pitch."""
    fps: float
    translation: Float[Tensor, "frames joints 3"] | None = None
    """How far joints have left their places in their parents, in the parent's frame [m]. None but for clips of files
    that take bodies apart; physics and distillation know rotations only."""

    def __len__(self) -> int:
        return self.angles.shape[0]

    def __getitem__(self, frames: slice) -> "Motion":
        translation = None if self.translation is None else self.translation[frames]
        return Motion(self.root_position[frames], self.angles[frames], self.fps, translation)

    @staticmethod
    def rest(rig: Rig, *, frames: int, fps: float) -> "Motion":
        """The rest pose, held."""
        return Motion(rig.heads[0].expand(frames, 3).clone(), rig.heads.new_zeros(frames, len(rig.parents), 3), fps)

    @staticmethod
    def from_clip(rig: Rig, clip: Clip) -> "Motion":
        """The clip's rotations as angles, continuous in time."""

        def tensor(values: Float[np.ndarray, "frames *rest"]) -> Float[Tensor, "frames *rest"]:
            return torch.from_numpy(np.ascontiguousarray(values)).to(rig.heads)

        rotations = quaternion_to_matrix(torch.from_numpy(np.ascontiguousarray(clip.wxyz_parent_joint)).double())
        angles = angles_from_rotations(rig.to(torch.float64), rotations).to(rig.heads)
        translation = None if clip.translation is None else tensor(clip.translation)
        return Motion(tensor(clip.root_position), angles, clip.fps, translation)

    def to_clip(self, rig: Rig, *, name: str = "kinema") -> Clip:
        """Rotations from angles; neighbouring frames have quaternions of one hemisphere."""
        wxyz = matrix_to_quaternion(local_rotations(rig, self.angles.detach())).double().cpu().numpy()
        flip = np.cumprod(np.where((wxyz[1:] * wxyz[:-1]).sum(-1) < 0, -1.0, 1.0), axis=0)
        wxyz[1:] *= flip[..., None]
        translation = None if self.translation is None else self.translation.detach().double().cpu().numpy()
        return Clip(name, self.fps, self.root_position.detach().double().cpu().numpy(), wxyz, translation)

    def pose(self, rig: Rig) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint of every frame."""
        return forward_kinematics(rig, self.root_position, self.angles, self.translation)

    def resample(self, fps: float) -> "Motion":
        """Linear in the angles, which are continuous; the first frame stays, the length in seconds is kept."""
        count = max(1, round((len(self) - 1) * fps / self.fps) + 1)
        at = torch.linspace(0, len(self) - 1, count, dtype=self.angles.dtype)
        low = at.floor().long().clamp(max=max(0, len(self) - 2))
        high = (low + 1).clamp(max=len(self) - 1)
        t = at - low

        def between(values: Float[Tensor, "frames *rest"]) -> Float[Tensor, "count *rest"]:
            return torch.lerp(values[low], values[high], t.view(-1, *(1,) * (values.ndim - 1)))

        translation = None if self.translation is None else between(self.translation)
        return Motion(between(self.root_position), between(self.angles), fps, translation)

    @property
    def closes(self) -> bool:
        """Whether the last frame shows the pose of the first, its travel apart: played again and again, it goes on."""
        return len(self) > 2 and bool((self.angles[-1] - self.angles[0]).abs().max() < 1e-3)

    def repeat(self, times: int) -> "Motion":
        """A motion that closes, several times over; the travel goes on."""
        assert self.translation is None
        way = self.root_position[-1] - self.root_position[0]
        rounds = [self.root_position[:-1] + number * way for number in range(times)]
        root = torch.cat((*rounds, self.root_position[-1:] + (times - 1) * way))
        return Motion(root, torch.cat((*[self.angles[:-1]] * times, self.angles[-1:])), self.fps)

    def middle_round(self, times: int) -> "Motion":
        """Of a motion that repeats `times` times the middle one, closed, at the place where the first began.

        What does not quite meet is spread evenly over the round; the horizontal travel stays.
        """
        frames = (len(self) - 1) // times
        middle = self[times // 2 * frames : (times // 2 + 1) * frames + 1]
        share = torch.linspace(0, 1, frames + 1, dtype=self.angles.dtype)[:, None]
        level = torch.tensor([1.0, 0.0, 1.0]).to(self.root_position)
        begin = level * (self.root_position[0] - middle.root_position[0])
        rise = (1 - level) * (middle.root_position[0] - middle.root_position[-1])
        turn = middle.angles[0] - middle.angles[-1]
        return Motion(middle.root_position + begin + share * rise, middle.angles + share[..., None] * turn, self.fps)

    def show(self, character: Character, *, height: int = 480) -> Any:
        """A page that plays the motion on the character: a notebook shows it, `.save("motion.html")` keeps it."""
        # By name: an import statement would bind this layer to one far above it, and to a browser's packages.
        return importlib.import_module("kinema.view.notebook").play(self, character, height=height)


def smoothness(motion: Motion) -> Float[Tensor, ""]:
    """MAE of the second time difference of all parameters (AKD's L_smooth)."""
    angles = motion.angles.diff(n=2, dim=0).abs()
    root = motion.root_position.diff(n=2, dim=0).abs()
    return (angles.sum() + root.sum()) / (angles.numel() + root.numel())


def save_motion(path: Path, motion: Motion, rig: Rig) -> None:
    """Write .npz: parameters, joint names and fps. The file appears whole or not at all."""
    translation: dict[str, Any] = (
        {} if motion.translation is None else {"translation": motion.translation.detach().cpu().numpy()}
    )
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(
            file,
            root_position=motion.root_position.detach().cpu().numpy(),
            angles=motion.angles.detach().cpu().numpy(),
            fps=np.float64(motion.fps),
            names=np.array(rig.names),
            parents=np.array(rig.parents),
            **translation,
        )


def load_motion(path: Path, rig: Rig) -> Motion:
    """Read .npz and check that it fits the rig."""
    try:
        with np.load(path, allow_pickle=False) as file:
            data = {key: file[key] for key in ("root_position", "angles", "fps", "names")}
            translation = file["translation"] if "translation" in file.files else None
    except OSError as error:
        raise KinemaError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (EOFError, ValueError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error):
        # RuntimeError is zipfile's for methods and passwords that we never write. What the libraries say of bytes that
        # they did not expect helps nobody.
        raise KinemaError(f"{path}: not a Kinema motion (.npz with root_position, angles, fps, names)") from None
    if tuple(data["names"]) != rig.names:
        raise KinemaError(f"{path}: its {len(data['names'])} joints are not those of the rig ({len(rig.names)})")
    frames = len(data["angles"]) if data["angles"].ndim else 0
    if data["angles"].shape != (frames, len(rig.names), 3) or data["root_position"].shape != (frames, 3):
        raise KinemaError(f"{path}: angles of shape {data['angles'].shape} do not fit {len(rig.names)} joints")
    if translation is not None and translation.shape != data["angles"].shape:
        raise KinemaError(f"{path}: slides of shape {slide.shape} do not fit angles of {data['angles'].shape}")
    if not float(data["fps"]) > 0:
        raise KinemaError(f"{path}: {float(data['fps'])} frames per second")
    if not all(
        np.isfinite(values).all()
        for values in (data["angles"], data["root_position"], translation)
        if values is not None
    ):
        raise KinemaError(f"{path}: holds values that are not finite")
    return Motion(
        torch.from_numpy(data["root_position"]).to(rig.heads),
        torch.from_numpy(data["angles"]).to(rig.heads),
        float(data["fps"]),
        None if translation is None else torch.from_numpy(translation).to(rig.heads),
    )
