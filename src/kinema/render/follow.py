"""Cameras around a character: where they look, from which side, and how far away.

A further way to film is a name in `CameraName` and a branch of `film_cameras`.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from kinema.geometry.camera import Cameras, PerFrame, Points
from kinema.render.image import Centers
from kinema.render.shadow import bounding_boxes

CameraName = Literal["follow", "still", "turntable"]
"""Move with the character, stand still, or circle it once."""


@dataclass(frozen=True)
class Viewpoint:
    """The side from which a character is seen, and the lens."""

    yaw_deg: float = 40.0
    """0 sees the face, 90 the left side."""
    elevation_deg: float = 12.0
    """Angle over the horizon."""
    zoom: float = 1.0
    """At 1 the camera is as near as the whole character allows, at 2 half as far away."""
    fovy_deg: float = 35.0
    """Vertical field of view."""


def film_cameras(centers: Centers, viewpoint: Viewpoint, *, camera: CameraName, width: int, height: int) -> Cameras:
    """Cameras that have the whole character in every frame; no gradient passes."""
    boxes = bounding_boxes(centers)
    path, turn_deg = boxes.mean(1), 0.0
    if camera == "follow":
        path = smooth_path(path, sigma=4.0)
    elif camera == "still":
        path = (boxes[:, 0].amin(0) + boxes[:, 1].amax(0)).expand(len(boxes), 3) / 2
    else:
        turn_deg = torch.arange(len(boxes)).to(path) * (360.0 / len(boxes))
    # The box around the path that holds the character in every frame.
    extent = 2 * (boxes - path[:, None]).abs().amax((0, 1)).double().numpy()
    yaw_deg = None if camera == "turntable" else viewpoint.yaw_deg
    lens = {"elevation_deg": viewpoint.elevation_deg, "fovy_deg": viewpoint.fovy_deg, "width": width, "height": height}
    distance = framing_distance(extent, yaw_deg=yaw_deg, **lens)
    return follow(path, viewpoint, distance=distance, turn_deg=turn_deg, width=width, height=height)


def follow(
    path: Points, viewpoint: Viewpoint, *, distance: float, width: int, height: int, turn_deg: PerFrame = 0.0
) -> Cameras:
    """Cameras that look at the points of `path`, from `distance` [m] at zoom 1; `turn_deg` is added to the yaw."""
    lens = {"elevation_deg": viewpoint.elevation_deg, "fovy_deg": viewpoint.fovy_deg, "width": width, "height": height}
    return Cameras.orbit(path, yaw_deg=viewpoint.yaw_deg + turn_deg, distance=distance / viewpoint.zoom, **lens)


def smooth_path(path: Points, *, sigma: float) -> Points:
    """Smooth a path in time by a Gaussian of `sigma` frames.

    The path is continued beyond both ends by point reflection, so that a constant velocity stays exactly that.
    """
    reach = min(math.ceil(3 * sigma), len(path) - 1)
    if reach < 1:
        return path
    before = 2 * path[:1] - path[1 : reach + 1].flip(0)
    after = 2 * path[-1:] - path[-reach - 1 : -1].flip(0)
    window = torch.arange(-reach, reach + 1, dtype=path.dtype, device=path.device)
    kernel = torch.softmax(-0.5 * (window / sigma) ** 2, 0)
    return torch.cat((before, path, after)).unfold(0, len(window), 1) @ kernel


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
    """Distance from which a box fits into the image [m]; yaw None: from every yaw."""
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
    return float((near + margin * np.maximum(np.abs(right) / tan_x, np.abs(above) / tan_y)).max())
