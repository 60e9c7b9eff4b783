"""A checkerboard ground up to the horizon, ray-cast with an exact box filter instead of many rays per pixel."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.geometry.camera import Cameras
from kinema.render.image import Pixels

FARTHEST = 1e4
"""Hits beyond this many eye heights are as grey as the horizon; it keeps their coordinates exact."""

Color = tuple[float, float, float]
Values = Float[Tensor, "*b"]


@dataclass(frozen=True)
class Ground:
    """The plane y = `height` with a checkerboard of two colours."""

    light: Color = (0.60, 0.60, 0.60)
    dark: Color = (0.48, 0.48, 0.48)
    tile: float = 0.25
    """Edge of a square [m]."""
    height: float = 0.0
    """[m]."""


@dataclass(frozen=True)
class GroundHits:
    """Points where the rays through the pixel centres meet the ground."""

    x: Pixels
    z: Pixels
    width_x: Pixels
    """Extent of the pixel's footprint along x [m]."""
    width_z: Pixels
    coverage: Pixels
    """Share of the pixel that lies below the horizon, in [0, 1]."""


def cast_ground(cameras: Cameras, *, height: float = 0.0) -> GroundHits:
    """Hit points p = e + t d with t = (height - e_y) / d_y, and their exact derivatives along the pixel grid.

    Differentiable with respect to the cameras wherever the ground is seen.
    """
    R = cameras.T_camera_world[:, :, :3]
    fx, fy, cx, cy = cameras.focal_center_px.unbind(-1)
    like = {"dtype": R.dtype, "device": R.device}
    u = (torch.arange(cameras.width, **like) + 0.5 - cx[:, None]) / fx[:, None]
    v = (torch.arange(cameras.height, **like) + 0.5 - cy[:, None]) / fy[:, None]
    # World direction of a pixel: u R[0] + v R[1] + R[2]. One world axis at a time, as a sum of a row and a column.
    d_x, d_y, d_z = (
        (u * R[:, 0, k, None])[:, None, :] + (v * R[:, 1, k, None] + R[:, 2, k, None])[:, :, None] for k in range(3)
    )
    eye = cameras.position_world
    drop = height - eye[:, 1]
    # A ray that runs level or away from the plane never hits it: stop it far out, where all is grey.
    sign = torch.where(drop < 0, -1.0, 1.0)[:, None, None]
    slope = sign * torch.clamp(sign * d_y, min=1 / FARTHEST)
    t = drop[:, None, None] / slope
    x, z = eye[:, 0, None, None] + t * d_x, eye[:, 2, None, None] + t * d_z
    right, down = R[:, 0] / fx[:, None], R[:, 1] / fy[:, None]

    def width(axis: int, ratio: Tensor) -> Tensor:
        # dp/du = t (dd/du - d (dd_y/du) / d_y), and the same along v; the box spans the larger of the two.
        across = (right[:, axis, None, None] - ratio * right[:, 1, None, None]).abs()
        along = (down[:, axis, None, None] - ratio * down[:, 1, None, None]).abs()
        return t * torch.maximum(across, along)

    # d_y is linear in the pixel, so its distance from zero in pixels tells how much of a pixel the horizon leaves.
    per_pixel = (right[:, 1].abs() + down[:, 1].abs()).clamp(min=1e-9)[:, None, None]
    coverage = (0.5 + sign * d_y / per_pixel).clamp(0, 1)
    return GroundHits(x, z, width(0, d_x / slope), width(2, d_z / slope), coverage)


def checker(x: Values, z: Values, width_x: Values, width_z: Values) -> Values:
    """Mean over a box of the pattern that is 1 on the light squares and 0 on the dark ones; squares have edge 1.

    The pattern is (1 + s(x) s(z)) / 2 with the square wave s = 1 on [0, 1), -1 on [1, 2), so the mean over a box is
    the product of two means, each a difference of the triangle wave that is the integral of s.
    """

    def square_mean(x: Tensor, width: Tensor) -> Tensor:
        width = width.clamp(min=1e-4)
        low, high = (x - 0.5 * width) * 0.5, (x + 0.5 * width) * 0.5
        return 2 * ((low - low.floor() - 0.5).abs() - (high - high.floor() - 0.5).abs()) / width

    return 0.5 + 0.5 * square_mean(x, width_x) * square_mean(z, width_z)


def round_length(target: float) -> float:
    """Round to the nearest of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(target))
    return float(power * min((1, 2, 5, 10), key=lambda digit: abs(np.log(digit * power / target))))
