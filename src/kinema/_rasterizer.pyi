"""Native rasterizer of `kinema.render._native` (native/rasterizer). Arrays are dense float32 on the CPU."""

from torch import Tensor

class Saved:
    """The sorted lists of a forward call, for its backward."""

def widths() -> list[int]:
    """Vector widths that this processor has, narrowest first."""

def empty(size: int) -> Tensor:
    """Uninitialised memory from a pool, which takes it back when the tensor is gone."""

def forward(
    centers: Tensor,
    covariances: Tensor,
    opacities: Tensor,
    features: Tensor,
    T_camera_world: Tensor,
    focal_center: Tensor,
    width: int,
    height: int,
    out_features: Tensor,
    out_alpha: Tensor,
    out_depth: Tensor | None,
    threads: int,
    keep: bool,
    simd: int,
) -> Saved | None: ...
def backward(
    saved: Saved,
    centers: Tensor,
    covariances: Tensor,
    opacities: Tensor,
    features: Tensor,
    T_camera_world: Tensor,
    focal_center: Tensor,
    width: int,
    height: int,
    grad_features: Tensor | None,
    grad_alpha: Tensor | None,
    grad_depth: Tensor | None,
    out_centers: Tensor,
    out_covariances: Tensor,
    out_opacities: Tensor,
    out_features: Tensor,
    out_cameras: Tensor | None,
    threads: int,
) -> None:
    """`out_cameras` is [frames, 16], float64: R, t, fx, fy, cx, cy."""
