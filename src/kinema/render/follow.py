"""Cameras that follow a character, stand still, or circle it."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.geometry.camera import Cameras
from kinema.render.shadow import bounding_boxes


@dataclass(frozen=True)
class View:
    """From where a character is seen."""

    yaw_deg: float = 40.0
    """0 sees its face, 90 its left side."""
    elevation_deg: float = 12.0
    distance: float = 2.0
    """In lengths of the longest edge of the character's box at rest."""
    fovy_deg: float = 35.0


@dataclass(frozen=True)
class ViewRange:
    """Ranges to draw views from, uniformly; the defaults are TC4D's."""

    yaw_deg: tuple[float, float] = (-180.0, 180.0)
    elevation_deg: tuple[float, float] = (0.0, 30.0)
    distance: tuple[float, float] = (1.5, 2.0)
    fovy_deg: tuple[float, float] = (15.0, 60.0)

    def sample(self, count: int, *, rng: np.random.Generator) -> tuple[View, ...]:
        ranges = np.array([self.yaw_deg, self.elevation_deg, self.distance, self.fovy_deg])
        drawn = rng.uniform(ranges[:, 0], ranges[:, 1], size=(count, 4))
        return tuple(View(*(float(value) for value in row)) for row in drawn)


def box_path(centers: Float[Tensor, "frames n 3"], *, smooth: float = 4.0) -> Float[Tensor, "frames 3"]:
    """Centre of the bounding box in time, smoothed by a Gaussian of `smooth` frames; no gradient passes.

    The path is continued beyond both ends by point reflection, so that a constant velocity stays exactly that.
    """
    with torch.no_grad():
        path = bounding_boxes(centers).mean(1)
        reach = min(math.ceil(3 * smooth), len(path) - 1)
        if reach < 1:
            return path
        before = 2 * path[:1] - path[1 : reach + 1].flip(0)
        after = 2 * path[-1:] - path[-reach - 1 : -1].flip(0)
        window = torch.arange(-reach, reach + 1, dtype=path.dtype, device=path.device)
        kernel = torch.exp(-0.5 * (window / smooth) ** 2)
        windows = torch.cat((before, path, after)).unfold(0, len(window), 1)
        return windows @ (kernel / kernel.sum())


def follow(
    path: Float[Tensor, "frames 3"],
    views: tuple[View, ...] | View,
    *,
    size: float,
    width: int,
    height: int,
) -> Cameras:
    """Cameras that look at `path` from each view: views × frames, one view after the other.

    Args:
        path: What to look at in every frame (`box_path`), or one point held still.
        views: One or several views.
        size: Longest edge of the character's box at rest [m]; distances are in this unit.
        width: Of the image [px].
        height: Of the image [px].
    """
    chosen = (views,) if isinstance(views, View) else views
    frames = len(path)
    rows = torch.tensor(
        [(v.yaw_deg, v.elevation_deg, v.distance * size, v.fovy_deg) for v in chosen],
        dtype=path.dtype,
        device=path.device,
    )
    yaw, elevation, distance, fovy = rows.repeat_interleave(frames, 0).unbind(-1)
    return Cameras.orbit(
        path.repeat(len(chosen), 1),
        yaw_deg=yaw,
        elevation_deg=elevation,
        distance=distance,
        fovy_deg=fovy,
        width=width,
        height=height,
    )


def turntable(target: Float[Tensor, "3"], view: View, *, frames: int, size: float, width: int, height: int) -> Cameras:
    """One full circle around a point, starting at the view's yaw."""
    turn = torch.arange(frames, dtype=target.dtype, device=target.device) * (360.0 / frames)
    return Cameras.orbit(
        target.expand(frames, 3),
        yaw_deg=view.yaw_deg + turn,
        elevation_deg=view.elevation_deg,
        distance=view.distance * size,
        fovy_deg=view.fovy_deg,
        width=width,
        height=height,
    )


def framing_distance(
    extent: Float[np.ndarray, "3"],
    *,
    fovy_deg: float,
    width: int,
    height: int,
    yaw_deg: float | None = None,
    elevation_deg: float = 0.0,
    margin: float = 1.1,
) -> float:
    """Distance from which a box fits into the image, in lengths of its longest edge; yaw None: from every yaw."""
    yaws = np.radians(np.arange(0.0, 360.0, 5.0) if yaw_deg is None else [yaw_deg])[:, None]
    up = math.radians(elevation_deg)
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * extent
    x, y, z = corners.T
    # In camera axes, relative to the box's centre: to the right, upwards, and towards the camera.
    right = x * np.cos(yaws) - z * np.sin(yaws)
    level = x * np.sin(yaws) + z * np.cos(yaws)
    above, near = y * math.cos(up) - level * math.sin(up), y * math.sin(up) + level * math.cos(up)
    tan_y = math.tan(math.radians(fovy_deg) / 2)
    tan_x = tan_y * width / height
    # |right| / (distance - near) <= tan_x / margin, and the same upwards.
    distance = near + margin * np.maximum(np.abs(right) / tan_x, np.abs(above) / tan_y)
    return float(distance.max()) / max(float(np.max(extent)), 1e-9)
