"""The rasterizer of gsplat, for CUDA tensors."""

from typing import Any

import torch

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render._twin import BLUR_PX2, NEAR
from kinema.render.image import Centers, Covariances, Features, Image, Opacities


def rasterize_gsplat(
    centers: Centers, covariances: Covariances, opacities: Opacities, features: Features, cameras: Cameras
) -> Image:
    """Render opacities and features per frame by `gsplat.rasterization`."""
    try:
        from gsplat import rasterization
    except ImportError as error:
        raise KinemaError(f"rasterize: CUDA tensors need gsplat ({error}); pip install 'kinema[gpu]'") from error
    last = torch.tensor([0.0, 0, 0, 1]).to(centers).expand(len(centers), 1, 4)
    fx, fy, cx, cy = cameras.focal_center_px.unbind(-1)
    zero, one = torch.zeros_like(fx), torch.ones_like(fx)
    intrinsics = torch.stack((fx, zero, cx, zero, fy, cy, zero, zero, one), -1).unflatten(-1, (3, 3))
    # A frame is a batch of one camera. gsplat reads the upper triangle, which would get all of the gradient.
    shapes: dict[str, Any] = {"quats": None, "scales": None, "covars": (covariances + covariances.mT) / 2}
    view = {"viewmats": torch.cat((cameras.T_camera_world, last), 1)[:, None], "Ks": intrinsics[:, None]}
    size = {"width": cameras.width, "height": cameras.height, "near_plane": NEAR, "eps2d": BLUR_PX2}
    looks = {"opacities": opacities, "colors": features[:, None]}
    image, alpha, _ = rasterization(centers, **shapes, **looks, **view, **size, packed=False, render_mode="RGB+D")
    image = image[:, 0].permute(0, 3, 1, 2)
    return Image(image[:, :-1], alpha[:, 0, ..., 0], image[:, -1])
