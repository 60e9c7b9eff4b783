"""Pinhole cameras in OpenCV's convention: x right, y down, z forward; the centre of the first pixel is (0.5, 0.5)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

Points = Float[Tensor, "frames 3"]
PerFrame = float | Float[Tensor, "frames"]


@dataclass(frozen=True)
class Cameras:
    """One camera per frame of a video, all of one image size."""

    T_camera_world: Float[Tensor, "frames 3 4"]
    focal_center_px: Float[Tensor, "frames 4"]
    """fx, fy, cx, cy [px]."""
    width: int
    height: int

    def __len__(self) -> int:
        return self.T_camera_world.shape[0]

    def __getitem__(self, frames: slice) -> "Cameras":
        return Cameras(self.T_camera_world[frames], self.focal_center_px[frames], self.width, self.height)

    @property
    def position_world(self) -> Points:
        """Eye points [m]."""
        return -(self.T_camera_world[:, :, :3].mT @ self.T_camera_world[:, :, 3:]).squeeze(-1)

    @staticmethod
    def look_at(eye: Points, target: Points, *, fovy_deg: PerFrame, width: int, height: int) -> "Cameras":
        """Cameras at `eye` that look at `target` with the world's +Y up; `fovy_deg` spans the image height."""
        forward = torch.nn.functional.normalize(target - eye, dim=-1)
        # Looking straight up or down leaves "right" open; +Z is up there.
        steep = forward[:, 1:2].abs() > 1 - 1e-6
        up = torch.where(steep, eye.new_tensor([0.0, 0.0, 1.0]), eye.new_tensor([0.0, 1.0, 0.0]))
        right = torch.nn.functional.normalize(torch.linalg.cross(forward, up), dim=-1)
        rotation = torch.stack((right, torch.linalg.cross(forward, right), forward), -2)
        translation = -(rotation @ eye.unsqueeze(-1))
        fovy = torch.as_tensor(fovy_deg, dtype=eye.dtype, device=eye.device).expand(len(eye))
        focal = 0.5 * height / torch.tan(torch.deg2rad(fovy) / 2)
        center = eye.new_tensor([width / 2, height / 2]).expand(len(eye), 2)
        intrinsics = torch.cat((focal[:, None], focal[:, None], center), -1)
        return Cameras(torch.cat((rotation, translation), -1), intrinsics, width, height)

    @staticmethod
    def orbit(
        target: Points,
        *,
        yaw_deg: PerFrame,
        elevation_deg: PerFrame,
        distance: PerFrame,
        fovy_deg: PerFrame,
        width: int,
        height: int,
    ) -> "Cameras":
        """Cameras on a sphere around `target`: yaw 0 sees the character's face (+Z), yaw 90 its left side (+X)."""
        like = {"dtype": target.dtype, "device": target.device}
        yaw, elevation = (
            torch.deg2rad(torch.as_tensor(x, **like)).expand(len(target)) for x in (yaw_deg, elevation_deg)
        )
        direction = torch.stack((elevation.cos() * yaw.sin(), elevation.sin(), elevation.cos() * yaw.cos()), -1)
        reach = torch.as_tensor(distance, **like).expand(len(target))[:, None]
        return Cameras.look_at(target + reach * direction, target, fovy_deg=fovy_deg, width=width, height=height)
