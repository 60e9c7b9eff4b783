"""Binding of the C++ rasterizer to autograd."""

import functools
import math
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render.image import Centers, Covariances, Features, Image, Opacities

OPERANDS = ("centers", "covariances", "opacities", "features", "T_camera_world", "focal_center")
OUTPUTS = ("features", "alpha", "depth")
"""Names of the rasterizer's inputs and outputs in the kernel."""
SMALL = 1 << 18
"""Number of values below which the allocator itself keeps memory for the next call."""


@functools.cache
def native_rasterizer() -> Any:
    """The kernel of native/rasterizer, or None with a warning where it was not built."""
    try:
        import kinema._rasterizer as kernel
    except ImportError as error:
        warnings.warn(f"no native rasterizer ({error}); rendering in torch, hundreds of times slower", stacklevel=4)
        return None
    return kernel


def is_native(*tensors: Tensor) -> bool:
    """True if native kernels take these tensors: float32 on the CPU."""
    return all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in tensors)


def new_output(*shape: int) -> Tensor:
    """Memory for a float32 result. Large ones are used again: fetching fresh pages costs a tenth of a call."""
    size = math.prod(shape)
    if size < SMALL or native_rasterizer() is None:
        return torch.empty(shape, dtype=torch.float32)
    return native_rasterizer().empty(size).view(shape)


def rasterize_native(
    centers: Centers,
    covariances: Covariances,
    opacities: Opacities,
    features: Features,
    cameras: Cameras,
    *,
    simd: int = 0,
    depth: bool = True,
) -> Image:
    """Render on the CPU. `simd` forces one of the kernel's `widths()`; 0 takes the widest."""
    if not is_native(centers):
        raise KinemaError(f"rasterize: native needs float32 on the CPU, got {centers.dtype} on {centers.device}")
    operands = (centers, covariances, opacities, features, cameras.T_camera_world, cameras.focal_center_px)
    # Inside an autograd.Function every tensor looks as if it needed no gradient.
    keep = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in operands)
    return Image(*_Rasterize.apply(*operands, cameras.width, cameras.height, depth, keep, simd))


class _Rasterize(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor, Tensor | None]:
        *operands, width, height, depth, keep, simd = arguments
        operands = [tensor.detach().contiguous() for tensor in operands]
        size, channels = (len(operands[0]), height, width), operands[3].shape[-1]
        features = new_output(size[0], channels, height, width)
        image = (features, new_output(*size), new_output(*size) if depth else None)
        named = {f"out_{name}": out for name, out in zip(OUTPUTS, image)} | dict(zip(OPERANDS, operands))
        options = {"width": width, "height": height, "threads": torch.get_num_threads()}
        try:
            saved = native_rasterizer().forward(**named, **options, keep=keep, simd=simd)
        except ValueError as error:
            raise KinemaError(f"rasterize: {error}") from error
        if keep:
            ctx.saved, ctx.options = saved, options
            ctx.save_for_backward(*operands)
            ctx.set_materialize_grads(False)
        return image

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        operands = ctx.saved_tensors
        incoming = {f"grad_{name}": None if g is None else g.contiguous() for name, g in zip(OUTPUTS, gradients)}
        outgoing = [new_output(*tensor.shape) for tensor in operands[:4]]
        camera = torch.empty(len(operands[0]), 16, dtype=torch.float64) if any(ctx.needs_input_grad[4:6]) else None
        named = {f"out_{name}": out for name, out in zip(OPERANDS, outgoing)} | dict(zip(OPERANDS, operands))
        native_rasterizer().backward(ctx.saved, **named, **incoming, **ctx.options, out_cameras=camera)
        if camera is None:
            return *outgoing, None, None, *[None] * 5
        camera = camera.to(torch.float32)
        transform = torch.cat((camera[:, :9].unflatten(-1, (3, 3)), camera[:, 9:12, None]), -1)
        return *outgoing, transform, camera[:, 12:].contiguous(), *[None] * 5
