"""Films of a motion that steer a video model: colours, depth, edges, pose sticks and the body's mask, of one camera."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv2d, pad

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.motion.motion import Motion
from kinema.render.follow import Viewpoint, film_cameras
from kinema.render.image import Pixels, Video
from kinema.render.rasterize import rasterize
from kinema.render.rig_picture import OTHER, joint_colors
from kinema.render.scene import Scene, render_video
from kinema.rig.kinematics import Rig, Transforms
from kinema.rig.limbs import find_limbs
from kinema.splat.pose import pose_splats
from kinema.splat.transfer import splat_character

SOLID = 0.5
"""Opacity from which a pixel is the body's."""
FARTHEST = 0.25
"""Brightness of the farthest point of the body in a depth film; the background is black, the nearest point white."""
EDGE = 0.12
"""Step of brightness or depth over three pixels from which on there is an edge."""
PALE = "#dddddd"
"""Sticks of the trunk, on black."""
STICK = 0.008
"""Thickness of a pose stick, in heights of the picture."""


@dataclass(frozen=True)
class Controls:
    """Films of one motion, all of one size; values in [0, 1]."""

    color: Video
    depth: Video
    """Brighter is nearer."""
    edges: Video
    sticks: Video
    """Bones, coloured by limb, on black."""
    mask: Video
    """White is the body."""
    fps: float


@torch.no_grad()
def render_controls(
    character: Character, motion: Motion, *, width: int, height: int, viewpoint: Viewpoint | None = None,
    count: int = 20_000, seed: int = 0,
) -> Controls:  # fmt: skip
    """Film a motion by a camera that follows the character."""
    if character.skeleton is None:
        raise KinemaError(f"{character.name}: has no rig to play a motion on")
    rig = Rig.from_skeleton(character.skeleton)
    cloud, skin = splat_character(character, count, rng=np.random.default_rng(seed))
    placed = motion.pose(rig)
    posed = pose_splats(cloud, skin, rig, placed)
    cameras = film_cameras(posed.centers, viewpoint or Viewpoint(), camera="follow", width=width, height=height)
    scene = Scene.under(character)
    color = render_video(posed, cloud.opacities, cloud.colors, cameras, scene=scene).clamp(0, 1)
    image = rasterize(posed.centers, posed.covariances, cloud.opacities, cloud.colors, cameras)
    assert image.depth is not None
    body = (image.alpha > SOLID).to(color)
    depth = _brightness(image.depth / image.alpha.clamp(min=1e-6), body)
    edges = torch.maximum(_edges(depth), _edges(image.features.mean(1)) * body)
    colors = [PALE if color == OTHER else color for color in joint_colors(find_limbs(character), len(rig.parents))]
    sticks = draw_sticks(placed, cameras, rig, colors)
    grey = (x[:, None].expand(-1, 3, -1, -1) for x in (depth, edges, body))
    depth, edges, mask = (x.contiguous() for x in grey)
    return Controls(color, depth, edges, sticks, mask, motion.fps)


def _brightness(depth: Pixels, body: Pixels) -> Pixels:
    """White at the nearest point of the whole film, `FARTHEST` at the farthest, black where there is no body.

    It falls with the inverse of the depth, as estimators of depth have it.
    """
    if not bool(body.any()):
        return torch.zeros_like(depth)
    inverse = 1 / depth.clamp(min=1e-6)
    low, high = inverse[body > 0].min(), inverse[body > 0].max()
    return body * (FARTHEST + (1 - FARTHEST) * ((inverse - low) / (high - low).clamp(min=1e-9)).clamp(0, 1))


def _edges(values: Pixels) -> Pixels:
    """White where the values step (Sobel)."""
    kernel = values.new_tensor([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]]) / 4
    padded = pad(values[:, None], (1, 1, 1, 1), mode="replicate")
    slopes = conv2d(padded, torch.stack((kernel, kernel.T))[:, None])
    return (slopes.norm(dim=1) > EDGE).to(values)


def draw_sticks(T_world_joint: Transforms, cameras: Cameras, rig: Rig, colors: list[str]) -> Video:
    """Bones and joints as lines and dots, in the limbs' colours."""
    from PIL import Image, ImageDraw

    width = max(1, round(STICK * cameras.height))
    frames = []
    for places in project(T_world_joint[..., 3], cameras).tolist():
        picture = Image.new("RGB", (cameras.width, cameras.height))
        draw = ImageDraw.Draw(picture)
        for joint, parent in enumerate(rig.parents):
            if parent >= 0:
                draw.line([*places[parent], *places[joint]], fill=colors[joint], width=width)
        for (x, y), color in zip(places, colors):
            draw.ellipse([x - width, y - width, x + width, y + width], fill=color)
        frames.append(torch.from_numpy(np.array(picture)))
    return (torch.stack(frames).float() / 255).permute(0, 3, 1, 2).contiguous()


def project(points: Float[Tensor, "frames n 3"], cameras: Cameras) -> Float[Tensor, "frames n 2"]:
    """Places in the picture [px]."""
    seen = points @ cameras.T_camera_world[:, :, :3].mT + cameras.T_camera_world[:, None, :, 3]
    focal, center = cameras.focal_center_px[:, None].split(2, -1)
    return focal * seen[..., :2] / seen[..., 2:].clamp(min=1e-6) + center
