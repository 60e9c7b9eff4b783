"""The same image from gsplat, for CUDA tensors."""

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render._twin import BLUR_PX2, NEAR


def rasterize_gsplat(
    centers: Float[Tensor, "frames points 3"],
    covariances: Float[Tensor, "frames points 3 3"],
    opacities: Float[Tensor, "frames points"],
    features: Float[Tensor, "frames points channels"],
    cameras: Cameras,
) -> tuple[
    Float[Tensor, "frames channels height width"],
    Float[Tensor, "frames height width"],
    Float[Tensor, "frames height width"],
]:
    """Features, alpha and depth."""
    try:
        from gsplat import rasterization
    except ImportError as error:
        raise KinemaError(f"rasterize: CUDA tensors need gsplat ({error}); pip install 'kinema[gpu]'") from error
    frames = centers.shape[0]
    last = torch.tensor([0.0, 0, 0, 1], dtype=centers.dtype, device=centers.device).expand(frames, 1, 4)
    fx, fy, cx, cy = cameras.focal_center_px.unbind(-1)
    zero, one = torch.zeros_like(fx), torch.ones_like(fx)
    intrinsics = torch.stack((fx, zero, cx, zero, fy, cy, zero, zero, one), -1).unflatten(-1, (3, 3))
    # A frame is a batch of one camera. gsplat reads the upper triangle, which would get all of the gradient.
    image, alpha, _ = rasterization(
        centers,
        None,  # pyright: ignore[reportArgumentType]
        None,  # pyright: ignore[reportArgumentType]
        opacities,
        features[:, None],
        torch.cat((cameras.T_camera_world, last), 1)[:, None],
        intrinsics[:, None],
        cameras.width,
        cameras.height,
        near_plane=NEAR,
        eps2d=BLUR_PX2,
        packed=False,
        render_mode="RGB+D",
        covars=(covariances + covariances.mT) / 2,
    )
    image = image[:, 0].permute(0, 3, 1, 2)
    return image[:, :-1], alpha[:, 0, ..., 0], image[:, -1]
