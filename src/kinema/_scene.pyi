"""Native kernels of posing, shadow and backdrop (native/scene). Arrays are dense float32 unless they say otherwise."""

from torch import Tensor

def pose_forward(
    transforms: Tensor,
    rest: Tensor,
    joints: Tensor,
    weights: Tensor,
    offsets: Tensor | None,
    centers: Tensor,
    covariances: Tensor,
    threads: int,
) -> None:
    """Linear blend skinning of `kinema.splat.pose`; `joints` are int32."""

def pose_backward(
    transforms: Tensor,
    rest: Tensor,
    joints: Tensor,
    weights: Tensor,
    offsets: Tensor | None,
    grad_centers: Tensor,
    grad_covariances: Tensor,
    grad_transforms: Tensor,
    threads: int,
) -> None: ...
def bounds(centers: Tensor, boxes: Tensor, threads: int) -> None:
    """Least and greatest x, y, z of every frame: `boxes` is [frames, 2, 3]."""

def shadow_forward(
    centers: Tensor,
    covariances: Tensor,
    opacities: Tensor,
    origin: Tensor,
    mass: Tensor,
    step: int,
    cell: float,
    gain: float,
    kappa: float,
    height: float,
    strength: float,
    tiny: float,
    factor: Tensor,
    threads: int,
) -> None:
    """Shadow map of `kinema.render.shadow`."""

def shadow_backward(
    centers: Tensor,
    covariances: Tensor,
    opacities: Tensor,
    origin: Tensor,
    mass: Tensor,
    step: int,
    cell: float,
    gain: float,
    kappa: float,
    height: float,
    strength: float,
    tiny: float,
    grad_factor: Tensor,
    grad_centers: Tensor,
    threads: int,
) -> None:
    """Adds to `grad_centers`."""

def paint_forward(
    features: Tensor,
    alpha: Tensor,
    cameras: Tensor,
    shadow: Tensor | None,
    origin: Tensor | None,
    colors: Tensor,
    cell: float,
    tile: float,
    height: float,
    farthest: float,
    image: Tensor,
    kept: Tensor | None,
    spans: Tensor | None,
    threads: int,
) -> None:
    """Ground, shadow and sky of `kinema.render.scene` behind an image; `kept` and `spans` are int32."""

def paint_backward(
    alpha: Tensor,
    cameras: Tensor,
    shadow: Tensor | None,
    origin: Tensor | None,
    colors: Tensor,
    cell: float,
    tile: float,
    height: float,
    farthest: float,
    kept: Tensor,
    spans: Tensor,
    grad_image: Tensor,
    grad_alpha: Tensor,
    grad_shadow: Tensor | None,
    threads: int,
) -> None: ...
