"""Gaussians to images, forwards and backwards: one function, three back ends.

The image model is that of 3D Gaussian splatting in gsplat's classic mode: perspective EWA projection with 0.3 px² of
blur, pixel centres at +0.5, alpha = min(0.999, opacity exp(-σ)), contributions below 1/255 skipped, and a pixel is
finished before its transmittance would fall to 1e-4. `_twin.py` writes that down in torch; `native/rasterizer` is the
fast path on the CPU and gsplat the one on CUDA.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.geometry.transforms import quaternion_to_matrix


@dataclass(frozen=True)
class Image:
    """What a camera sees; the background is left to the caller, who adds (1 - alpha) times it."""

    features: Float[Tensor, "frames channels height width"]
    """Premultiplied: sum of weight times feature over the Gaussians of a pixel."""
    alpha: Float[Tensor, "frames height width"]
    """Sum of the weights, in [0, 1)."""
    depth: Float[Tensor, "frames height width"] | None
    """Sum of weight times depth along the optical axis [m]: divide by alpha for the mean depth of what is there."""


Backend = Literal["auto", "native", "gsplat", "torch"]


def rasterize(
    centers: Float[Tensor, "frames points 3"],
    covariances: Float[Tensor, "frames points 3 3"],
    opacities: Float[Tensor, "points"] | Float[Tensor, "frames points"],
    features: Float[Tensor, "points channels"] | Float[Tensor, "frames points channels"],
    cameras: Cameras,
    *,
    depth: bool = True,
    backend: Backend = "auto",
) -> Image:
    """Render one image per frame; differentiable in all four operands and in the cameras' tensors.

    Args:
        centers: world positions [m].
        covariances: world covariances [m²]; only their symmetric part counts.
        opacities: in [0, 1], shared by the frames or per frame.
        features: colours or anything else that is to be blended, shared by the frames or per frame.
        cameras: one per frame.
        depth: off where nobody asks for it, which saves a twentieth of the time.
        backend: `auto` takes gsplat for CUDA tensors, native for float32 on the CPU, and the torch twin otherwise.
    """
    _check(centers, covariances, opacities, features, cameras)
    backend = chosen_backend(centers, backend)
    if backend == "native":
        from kinema.render._native import rasterize_native

        return Image(*rasterize_native(centers, covariances, opacities, features, cameras, depth=depth))
    frames = centers.shape[0]
    opacities = opacities.expand(frames, -1)
    features = features.expand(frames, -1, -1)
    if backend == "gsplat":
        if not centers.is_cuda:
            raise KinemaError(f"rasterize: gsplat renders CUDA tensors only, these are on {centers.device}")
        from kinema.render._gsplat import rasterize_gsplat

        image = Image(*rasterize_gsplat(centers, covariances, opacities, features, cameras))
        return image if depth else replace(image, depth=None)
    from kinema.render._twin import rasterize_torch

    for name, tensor in (("centers", centers), ("covariances", covariances), ("opacities", opacities)):
        if not tensor.isfinite().all():
            raise KinemaError(f"rasterize: {name} holds NaN or infinity")
    image = Image(*rasterize_torch(centers, covariances, opacities, features, cameras))
    return image if depth else replace(image, depth=None)


def chosen_backend(centers: Tensor, backend: Backend = "auto") -> Backend:
    """What `auto` means for these operands."""
    if backend != "auto":
        return backend
    if centers.is_cuda:
        return "gsplat"
    if centers.dtype != torch.float32 or centers.device.type != "cpu":
        return "torch"
    from kinema.render._native import available

    return "native" if available() else "torch"


def _check(centers: Tensor, covariances: Tensor, opacities: Tensor, features: Tensor, cameras: Cameras) -> None:
    """Shapes, types and devices, in one line that names what is wrong."""
    if centers.ndim != 3 or centers.shape[-1] != 3:
        raise KinemaError(f"rasterize: centers are {tuple(centers.shape)}, not (frames, points, 3)")
    frames, points = centers.shape[:2]
    allowed = {
        "covariances": (covariances, [(frames, points, 3, 3)]),
        "opacities": (opacities, [(points,), (frames, points)]),
        "features": (features, [(points, features.shape[-1]), (frames, points, features.shape[-1])]),
        "T_camera_world": (cameras.T_camera_world, [(frames, 3, 4)]),
        "focal_center_px": (cameras.focal_center_px, [(frames, 4)]),
    }
    for name, (tensor, shapes) in allowed.items():
        if tuple(tensor.shape) not in shapes:
            wanted = " or ".join(map(str, shapes))
            raise KinemaError(f"rasterize: {name} is {tuple(tensor.shape)}, not {wanted}")
        if tensor.dtype != centers.dtype or tensor.device != centers.device:
            found, wanted = f"{tensor.dtype} on {tensor.device}", f"{centers.dtype} on {centers.device}"
            raise KinemaError(f"rasterize: {name} is {found}, but centers are {wanted}")
    if not centers.is_floating_point():
        raise KinemaError(f"rasterize: centers are {centers.dtype}, not floating point")
    if cameras.width < 1 or cameras.height < 1:
        raise KinemaError(f"rasterize: the image is {cameras.width}x{cameras.height} px")


def covariances_from(scales: Float[Tensor, "*b 3"], wxyz: Float[Tensor, "*b 4"]) -> Float[Tensor, "*b 3 3"]:
    """Σ = R diag(scales²) Rᵀ of standard deviations [m] along the axes of a quaternion."""
    half = quaternion_to_matrix(wxyz) * scales[..., None, :]
    return half @ half.mT
