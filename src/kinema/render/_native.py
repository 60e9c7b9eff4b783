"""Binding of the C++ rasterizer to autograd."""

import functools
import warnings

from jaxtyping import Float
from torch import Tensor

from kinema.camera import Cameras
from kinema.errors import KinemaError


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
) -> tuple[
    Float[Tensor, "frames channels height width"],
    Float[Tensor, "frames height width"],
    Float[Tensor, "frames height width"],
]:
    """Features, alpha and depth."""
    raise KinemaError("rasterize: the native kernel was not built; pass backend='torch'")
