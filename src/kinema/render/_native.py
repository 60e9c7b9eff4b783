"""Binding of the C++ rasterizer to autograd."""

import functools
import math
import warnings
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras

OPERANDS = ("centers", "covariances", "opacities", "features", "T_camera_world", "focal_center")
"""Names of the rasterizer's inputs in the kernel."""
SMALL = 1 << 18
"""Numbers, below which the allocator itself keeps memory for the next call."""


@functools.cache
def available() -> bool:
    """Whether the kernel was built; says once if not."""
    try:
        import kinema._rasterizer  # noqa: F401
    except ImportError as error:
        warnings.warn(f"no native rasterizer ({error}); rendering in torch, hundreds of times slower", stacklevel=4)
        return False
    return True


def rasterize_native(
    centers: Float[Tensor, "frames points 3"],
    covariances: Float[Tensor, "frames points 3 3"],
    opacities: Float[Tensor, "points"] | Float[Tensor, "frames points"],
    features: Float[Tensor, "points channels"] | Float[Tensor, "frames points channels"],
    cameras: Cameras,
    *,
    depth: bool = True,
    simd: int = 0,
) -> tuple[
    Float[Tensor, "frames channels height width"],
    Float[Tensor, "frames height width"],
    Float[Tensor, "frames height width"] | None,
]:
    """Features, alpha and, if wanted, depth. `simd` forces one of `_rasterizer.widths()`; 0 takes the widest."""
    if centers.dtype != torch.float32 or centers.device.type != "cpu":
        raise KinemaError(f"rasterize: native needs float32 on the CPU, got {centers.dtype} on {centers.device}")
    operands = (centers, covariances, opacities, features, cameras.T_camera_world, cameras.focal_center_px)
    # Inside an autograd.Function every tensor looks as if it needed no gradient.
    keep = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in operands)
    return _Rasterize.apply(*operands, cameras.width, cameras.height, depth, keep, simd)  # pyright: ignore[reportReturnType]


def new_output(*shape: int) -> Tensor:
    """Memory for a float32 result. Large ones are used again: to fetch fresh pages costs a tenth of a call."""
    size = math.prod(shape)
    if size < SMALL or not available():
        return torch.empty(shape, dtype=torch.float32)
    import kinema._rasterizer as _rasterizer

    return _rasterizer.empty(size).view(shape)


class _Rasterize(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor, Tensor | None]:
        import kinema._rasterizer as _rasterizer

        *operands, width, height, depth, keep, simd = arguments
        operands = [tensor.detach().contiguous() for tensor in operands]
        frames, channels = operands[0].shape[0], operands[3].shape[-1]
        image = (
            new_output(frames, channels, height, width),
            new_output(frames, height, width),
            new_output(frames, height, width) if depth else None,
        )
        try:
            saved = _rasterizer.forward(
                **dict(zip(OPERANDS, operands)),
                width=width,
                height=height,
                out_features=image[0],
                out_alpha=image[1],
                out_depth=image[2],
                threads=torch.get_num_threads(),
                keep=keep,
                simd=simd,
            )
        except ValueError as error:
            raise KinemaError(f"rasterize: {error}") from error
        if keep:
            ctx.saved, ctx.size = saved, (width, height)
            ctx.save_for_backward(*operands)
            ctx.set_materialize_grads(False)
        return image

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        import kinema._rasterizer as _rasterizer

        operands = ctx.saved_tensors
        incoming = [None if g is None else g.contiguous() for g in gradients]
        outgoing = [new_output(*tensor.shape) for tensor in operands[:4]]
        wants_camera = any(ctx.needs_input_grad[4:6])
        camera = torch.empty(operands[0].shape[0], 16, dtype=torch.float64) if wants_camera else None
        _rasterizer.backward(
            ctx.saved,
            **dict(zip(OPERANDS, operands)),
            width=ctx.size[0],
            height=ctx.size[1],
            **dict(zip(("grad_features", "grad_alpha", "grad_depth"), incoming)),
            **{f"out_{name}": out for name, out in zip(OPERANDS, outgoing)},
            out_cameras=camera,
            threads=torch.get_num_threads(),
        )
        if camera is None:
            return *outgoing, None, None, *[None] * 5
        camera = camera.to(torch.float32)
        transform = torch.cat((camera[:, :9].unflatten(-1, (3, 3)), camera[:, 9:12, None]), -1)
        return *outgoing, transform, camera[:, 12:].contiguous(), *[None] * 5
