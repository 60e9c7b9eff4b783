"""Gaussians to images, forwards and backwards: one function, three back ends.

The image model is that of 3D Gaussian splatting in gsplat's classic mode: perspective EWA projection with 0.3 px² of
blur, pixel centres at +0.5, alpha = min(0.999, opacity exp(-σ)), contributions below 1/255 skipped, and a pixel is
finished before its transmittance would fall to 1e-4. `_twin.py` writes that down in torch; `native/rasterizer` is the
fast path on the CPU and gsplat the one on CUDA.
"""

from dataclasses import replace
from typing import Literal

from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render._native import is_native, native_rasterizer, rasterize_native
from kinema.render.image import Centers, Covariances, Features, Image, Opacities

Backend = Literal["auto", "native", "gsplat", "torch"]
"""`auto` takes gsplat for CUDA tensors, native for float32 on the CPU, and the torch twin otherwise."""


def rasterize(
    centers: Centers,
    covariances: Covariances,
    opacities: Opacities,
    features: Features,
    cameras: Cameras,
    *,
    depth: bool = True,
    backend: Backend = "auto",
) -> Image:
    """Render one image per frame; differentiable in all four operands and in the cameras' tensors.

    Of the covariances only the symmetric part counts. Without depth a call takes a twentieth less time.
    """
    _check(centers, covariances, opacities, features, cameras)
    backend = chosen_backend(centers, backend)
    if backend == "native":
        return rasterize_native(centers, covariances, opacities, features, cameras, depth=depth)
    operands = (centers, covariances, opacities.expand(len(centers), -1), features.expand(len(centers), -1, -1))
    if backend == "gsplat":
        if centers.device.type == "cpu":
            raise KinemaError("rasterize: gsplat renders CUDA tensors only, these are on cpu")
        from kinema.render._gsplat import rasterize_gsplat as render
    else:
        from kinema.render._twin import rasterize_torch as render

        for name, tensor in zip(("centers", "covariances", "opacities"), operands[:3], strict=True):
            if not tensor.isfinite().all():
                raise KinemaError(f"rasterize: {name} holds NaN or infinity")
    image = render(*operands, cameras)
    return image if depth else replace(image, depth=None)


def chosen_backend(centers: Tensor, backend: Backend = "auto") -> Backend:
    """The back end that `auto` means for these operands."""
    if backend != "auto":
        return backend
    if centers.device.type != "cpu":
        return "gsplat"
    return "native" if is_native(centers) and native_rasterizer() is not None else "torch"


def _check(centers: Tensor, covariances: Tensor, opacities: Tensor, features: Tensor, cameras: Cameras) -> None:
    """Raise an error that names the operand with the wrong shape, type or device."""
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
