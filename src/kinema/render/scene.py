"""A posed character on its ground under its sky, as video."""

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render._native import new_output
from kinema.render.ground import FARTHEST, Color, Ground, cast_ground, ground_pattern
from kinema.render.rasterize import chosen_backend, rasterize
from kinema.render.shadow import Shadow, ShadowMap, bounding_boxes, look_up, shadow_map, with_shadow
from kinema.splat.pose import PosedSplats, native_scene

CHUNK_PX = 1 << 16
"""Frames are painted in groups of about this many pixels, so that the many small steps stay in the cache."""
WIDEST = 4096
"""Pixels in a row that the native kernel has room for."""


@dataclass(frozen=True)
class Scene:
    """All that is not the character."""

    ground: Ground | None = field(default_factory=Ground)
    shadow: Shadow | None = None
    """Needs a ground to fall on."""
    sky: Color = (0.78, 0.86, 0.94)


PLAIN = Scene()
"""Grey low-contrast checker and a pale sky: what the embedded prior was trained on."""


def render_video(
    posed: PosedSplats,
    opacities: Float[Tensor, "n"],
    colors: Float[Tensor, "n 3"] | Float[Tensor, "frames n 3"],
    cameras: Cameras,
    *,
    scene: Scene = PLAIN,
    backend: Literal["auto", "native", "gsplat", "torch"] = "auto",
) -> Float[Tensor, "frames 3 h w"]:
    """Render the character on its ground: video in [0, 1].

    Gaussians whose centre is below the ground get opacity 0. That is a step: no gradient tells a hidden Gaussian to
    come up again (the ground loss of the distiller does), and the opacity of the others is untouched by it.

    Args:
        posed: One entry per frame.
        opacities: Of the Gaussians, in [0, 1].
        colors: sRGB, or any three features to be seen as colours.
        cameras: One per frame.
        scene: Ground, shadow and sky.
        backend: The rasterizer's.
    """
    if len(cameras) != len(posed):
        raise KinemaError(f"{len(cameras)} cameras do not fit {len(posed)} frames")
    shadows = None
    if scene.ground is not None:
        height, boxes = scene.ground.height, bounding_boxes(posed.centers)
        if bool((boxes[:, 0, 1] < height).any()):  # otherwise the frames share one set
            opacities = torch.where(posed.centers[..., 1].detach() < height, 0.0, opacities)
        if scene.shadow is not None:
            if chosen_backend(posed.centers, backend) == "native":
                posed, shadows = with_shadow(posed, opacities, scene.shadow, height=height, boxes=boxes)
            else:
                shadows = shadow_map(posed, opacities, scene.shadow, height=height)
    image = rasterize(posed.centers, posed.covariances, opacities, colors, cameras, depth=False, backend=backend)
    return composite(image.features, image.alpha, cameras, scene=scene, shadows=shadows)


def render_rgba(
    posed: PosedSplats,
    opacities: Float[Tensor, "n"],
    colors: Float[Tensor, "n 3"] | Float[Tensor, "frames n 3"],
    cameras: Cameras,
) -> Float[Tensor, "frames 4 h w"]:
    """The character alone: colours that are not multiplied by alpha, as PNG has them, and alpha. No gradient."""
    with torch.no_grad():
        image = rasterize(posed.centers, posed.covariances, opacities, colors, cameras, depth=False)
        straight = image.features / image.alpha[:, None].clamp(min=1e-6)
        return torch.cat((straight, image.alpha[:, None]), 1).clamp(0, 1)


def composite(
    features: Float[Tensor, "frames 3 h w"],
    alpha: Float[Tensor, "frames h w"],
    cameras: Cameras,
    *,
    scene: Scene = PLAIN,
    shadows: ShadowMap | None = None,
) -> Float[Tensor, "frames 3 h w"]:
    """Premultiplied colours over the backdrop.

    Differentiable in the colours, alpha and shadow, and by the twin (`composite_torch`) in the cameras as well.
    """
    if scene.ground is not None and _fast(features, alpha, cameras):
        R = cameras.T_camera_world[:, :, :3].flatten(1)
        pinholes = torch.cat((R, cameras.position_world, cameras.focal_center_px), 1).contiguous()
        factor = None if shadows is None else shadows.factor
        return _Paint.apply(features.contiguous(), alpha.contiguous(), factor, pinholes, scene, shadows)
    return composite_torch(features, alpha, cameras, scene=scene, shadows=shadows)


def composite_torch(
    features: Float[Tensor, "frames 3 h w"],
    alpha: Float[Tensor, "frames h w"],
    cameras: Cameras,
    *,
    scene: Scene = PLAIN,
    shadows: ShadowMap | None = None,
) -> Float[Tensor, "frames 3 h w"]:
    """The same, written down."""
    return features + (1 - alpha)[:, None] * backdrop(cameras, scene, shadows)


def backdrop(
    cameras: Cameras, scene: Scene, shadows: ShadowMap | None = None
) -> Float[Tensor, "frames 3 h w"] | Float[Tensor, "1 3 1 1"]:
    """Sky, ground and shadow without the character."""
    like = {"dtype": cameras.T_camera_world.dtype, "device": cameras.T_camera_world.device}
    sky = torch.tensor(scene.sky, **like)[None, :, None, None]
    if scene.ground is None:
        return sky
    light = torch.tensor(scene.ground.light, **like)[None, :, None, None]
    dark = torch.tensor(scene.ground.dark, **like)[None, :, None, None]
    group = max(1, CHUNK_PX // (cameras.width * cameras.height))
    parts = []
    for start in range(0, len(cameras), group):
        frames = slice(start, start + group)
        hits = cast_ground(cameras[frames], height=scene.ground.height)
        pattern = ground_pattern(scene.ground, hits)[:, None]
        color = torch.lerp(dark, light, pattern)
        if shadows is not None:
            here = ShadowMap(shadows.factor[frames], shadows.origin[frames], shadows.cell)
            color = color * look_up(here, hits.x, hits.z)[:, None]
        parts.append(torch.lerp(sky, color, hits.coverage[:, None]))
    return torch.cat(parts) if len(parts) > 1 else parts[0]


def _fast(features: Tensor, alpha: Tensor, cameras: Cameras) -> bool:
    pinholes = (cameras.T_camera_world, cameras.focal_center_px)
    return (
        all(x.dtype == torch.float32 and x.device.type == "cpu" for x in (features, alpha, *pinholes))
        and not any(x.requires_grad for x in pinholes)
        and cameras.width <= WIDEST
        and native_scene() is not None
    )


class _Paint(torch.autograd.Function):
    """Backdrop and compositing in one pass over the pixels.

    Kept for the backward pass: 32 bits per pixel, the light colour's share and the shadow in 16 each.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        alpha: Tensor,
        factor: Tensor | None,
        pinholes: Tensor,
        scene: Scene,
        shadows: ShadowMap | None,
    ) -> Tensor:
        assert scene.ground is not None
        ground = scene.ground
        origin = None if shadows is None else shadows.origin.contiguous()
        cell = 1.0 if shadows is None else shadows.cell
        factor = None if factor is None else factor.detach().contiguous()
        colors = torch.tensor((scene.sky, ground.dark, ground.light), dtype=torch.float32)
        image = new_output(*features.shape)
        constants = (pinholes.detach(), factor, origin, colors, cell, ground.tile, ground.height, FARTHEST)
        kept = spans = None
        if any(ctx.needs_input_grad):
            kept = new_output(*alpha.shape).view(torch.int32)
            spans = torch.empty(*alpha.shape[:2], 2, dtype=torch.int32)
        native_scene().paint_forward(
            features.detach(), alpha.detach(), *constants, image, kept, spans, torch.get_num_threads()
        )
        ctx.save_for_backward(alpha, kept, spans)
        ctx.constants = constants
        return image

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None, None, None]:
        alpha, kept, spans = ctx.saved_tensors
        grad = grads[0].contiguous()
        grad_alpha = new_output(*alpha.shape)
        grad_factor = torch.empty_like(ctx.constants[1]) if ctx.needs_input_grad[2] else None
        native_scene().paint_backward(
            alpha.detach(), *ctx.constants, kept, spans, grad, grad_alpha, grad_factor, torch.get_num_threads()
        )
        return grad, grad_alpha, grad_factor, None, None, None
