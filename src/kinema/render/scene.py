"""Compose a posed character with the ground, its shadow and the sky."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render._native import is_native, new_output
from kinema.render.ground import FARTHEST, Color, Ground, cast_ground, checker, round_length
from kinema.render.image import Features, Image, Video
from kinema.render.rasterize import Backend, chosen_backend, rasterize
from kinema.render.shadow import Shadow, ShadowMap, bounding_boxes, cast_shadow, look_up
from kinema.rig.limbs import has_ground
from kinema.splat.pose import PosedSplats, native_scene

CHUNK_PX = 1 << 16
"""Frames are painted in groups of about this many pixels, so that the many small steps stay in the cache."""
WIDEST = 4096
"""Most pixels of a row that the native kernel has room for."""


@dataclass(frozen=True)
class Scene:
    """Surroundings of the character: ground, shadow and sky."""

    ground: Ground | None = field(default_factory=Ground)
    shadow: Shadow | None = None
    """Needs a ground to fall on."""
    sky: Color = (0.78, 0.86, 0.94)

    @staticmethod
    def under(character: Character, *, ground: bool = True, shadow: bool = True) -> "Scene":
        """Squares and shadow to the measure of the character; swimmers and fliers have no ground."""
        size = float(np.ptp(character.mesh.vertices, axis=0).max())
        below = Ground(tile=round_length(size / 4)) if ground and has_ground(character) else None
        return Scene(ground=below, shadow=Shadow(falloff=4 / size) if shadow and below else None)


PLAIN = Scene()
"""Grey low-contrast checker and a pale sky."""


def render_video(
    posed: PosedSplats,
    opacities: Float[Tensor, "n"],
    colors: Features,
    cameras: Cameras,
    *,
    scene: Scene = PLAIN,
    backend: Backend = "auto",
) -> Video:
    """Render the character on its ground: video in [0, 1].

    Gaussians whose centre is below the ground get opacity 0. That is a step: no gradient tells a hidden Gaussian to
    come up again (the ground loss of the distiller does), and the opacity of the others is untouched by it.
    """
    if len(cameras) != len(posed):
        raise KinemaError(f"{len(cameras)} cameras do not fit {len(posed)} frames")
    shadows = None
    if scene.ground is not None:
        height, boxes = scene.ground.height, bounding_boxes(posed.centers)
        # Otherwise the frames share one set; on a GPU nobody waits for the answer.
        if not is_native(posed.centers) or bool((boxes[:, 0, 1] < height).any()):
            opacities = torch.where(posed.centers[..., 1].detach() < height, 0.0, opacities)
        if scene.shadow is not None:
            again, shadows = cast_shadow(posed, opacities, scene.shadow, height=height, boxes=boxes)
            posed = again if chosen_backend(posed.centers, backend) == "native" else posed
    image = rasterize(posed.centers, posed.covariances, opacities, colors, cameras, depth=False, backend=backend)
    return composite(image, cameras, scene=scene, shadows=shadows)


def composite(image: Image, cameras: Cameras, *, scene: Scene = PLAIN, shadows: ShadowMap | None = None) -> Video:
    """Put the image over the backdrop.

    Differentiable in the image and the shadow, and by the twin (`image.over(backdrop(...))`) in the cameras as well.
    """
    pinholes = (cameras.T_camera_world, cameras.focal_center_px)
    native = native_scene() is not None and is_native(image.features, image.alpha, *pinholes)
    if scene.ground is None or cameras.width > WIDEST or any(x.requires_grad for x in pinholes) or not native:
        return image.over(backdrop(cameras, scene, shadows))
    R = cameras.T_camera_world[:, :, :3].flatten(1)
    packed = torch.cat((R, cameras.position_world, cameras.focal_center_px), 1).contiguous()
    factor = None if shadows is None else shadows.factor
    return _Paint.apply(image.features.contiguous(), image.alpha.contiguous(), factor, packed, scene, shadows)


def backdrop(cameras: Cameras, scene: Scene, shadows: ShadowMap | None = None) -> Video | Float[Tensor, "1 3 1 1"]:
    """Render sky, ground and shadow without the character; a bare sky is one pixel."""
    ground, like = scene.ground, {"dtype": cameras.T_camera_world.dtype, "device": cameras.T_camera_world.device}
    if ground is None:
        return torch.tensor(scene.sky, **like)[None, :, None, None]
    sky, dark, light = torch.tensor((scene.sky, ground.dark, ground.light), **like)[..., None, None].split(1)
    group = max(1, CHUNK_PX // (cameras.width * cameras.height))
    parts = []
    for start in range(0, len(cameras), group):
        frames = slice(start, start + group)
        hits = cast_ground(cameras[frames], height=ground.height)
        squares = (value * (1 / ground.tile) for value in (hits.x, hits.z, hits.width_x, hits.width_z))
        color = torch.lerp(dark, light, checker(*squares)[:, None])
        if shadows is not None:
            here = ShadowMap(shadows.factor[frames], shadows.origin[frames], shadows.cell)
            color = color * look_up(here, hits.x, hits.z)[:, None]
        parts.append(torch.lerp(sky, color, hits.coverage[:, None]))
    return torch.cat(parts) if len(parts) > 1 else parts[0]


class _Paint(torch.autograd.Function):
    """Backdrop and compositing in one pass over the pixels.

    Kept for the backward pass: 32 bits per pixel, the light colour's share and the shadow in 16 each.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, alpha: Tensor, factor: Tensor | None, *constants: Any) -> Tensor:
        pinholes, scene, shadows = constants
        origin, cell = (None, 1.0) if shadows is None else (shadows.origin.contiguous(), shadows.cell)
        factor = None if factor is None else factor.detach().contiguous()
        ground, image = scene.ground, new_output(*features.shape)
        colors = torch.tensor((scene.sky, ground.dark, ground.light), dtype=torch.float32)
        operands = (pinholes.detach(), factor, origin, colors, cell, ground.tile, ground.height, FARTHEST)
        kept = spans = None
        if any(ctx.needs_input_grad):
            kept = new_output(*alpha.shape).view(torch.int32)
            spans = torch.empty(*alpha.shape[:2], 2, dtype=torch.int32)
        inputs, threads = (features.detach(), alpha.detach(), *operands), torch.get_num_threads()
        native_scene().paint_forward(*inputs, image, kept, spans, threads)
        ctx.save_for_backward(alpha, kept, spans)
        ctx.operands = operands
        return image

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        alpha, kept, spans = ctx.saved_tensors
        grad = grads[0].contiguous()
        grad_alpha = new_output(*alpha.shape)
        grad_factor = torch.empty_like(ctx.operands[1]) if ctx.needs_input_grad[2] else None
        inputs, threads = (alpha.detach(), *ctx.operands, kept, spans, grad), torch.get_num_threads()
        native_scene().paint_backward(*inputs, grad_alpha, grad_factor, threads)
        return grad, grad_alpha, grad_factor, None, None, None
