"""The judge of the rasterizers: float64, every Gaussian at every pixel, no tiles, no bounds, plain autograd."""

import torch
from torch import Tensor

from kinema.geometry.camera import Cameras
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.render.image import Image


def covariances_from(scales: Tensor, wxyz: Tensor) -> Tensor:
    """Σ = R diag(scales²) Rᵀ of standard deviations [m] along the axes of a quaternion."""
    half = quaternion_to_matrix(wxyz) * scales[..., None, :]
    return half @ half.mT


def layers(image: Image) -> list[Tensor]:
    return [layer for layer in (image.features, image.alpha, image.depth) if layer is not None]


def oracle(
    centers: Tensor, covariances: Tensor, opacities: Tensor, features: Tensor, cameras: Cameras
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Features, alpha, depth, and the mask of pixels where a threshold of the image model is too close to call."""
    frames, points = centers.shape[:2]
    y, x = torch.meshgrid(
        torch.arange(cameras.height, dtype=torch.float64) + 0.5,
        torch.arange(cameras.width, dtype=torch.float64) + 0.5,
        indexing="ij",
    )
    out = []
    for f in range(frames):
        R, t = cameras.T_camera_world[f, :, :3], cameras.T_camera_world[f, :, 3]
        fx, fy, cx, cy = cameras.focal_center_px[f]
        p = centers[f] @ R.T + t
        # Depths are compared as single precision numbers; equal ones keep the order of the points.
        order = torch.argsort(p[:, 2].detach().float(), stable=True)
        order = order[p[order, 2] >= 0.01]
        p = p[order]
        w, h = cameras.width, cameras.height
        sx = (p[:, 0] / p[:, 2]).clamp((-cx - 0.15 * w) / fx, (1.15 * w - cx) / fx)
        sy = (p[:, 1] / p[:, 2]).clamp((-cy - 0.15 * h) / fy, (1.15 * h - cy) / fy)
        J = torch.zeros(len(order), 2, 3, dtype=torch.float64)
        J[:, 0, 0], J[:, 0, 2] = fx / p[:, 2], -fx * sx / p[:, 2]
        J[:, 1, 1], J[:, 1, 2] = fy / p[:, 2], -fy * sy / p[:, 2]
        M = J @ R
        S = covariances[f, order]
        cov = M @ ((S + S.mT) / 2) @ M.mT + 0.3 * torch.eye(2, dtype=torch.float64)
        mean = torch.stack((fx * p[:, 0] / p[:, 2] + cx, fy * p[:, 1] / p[:, 2] + cy), -1)
        d = torch.stack((x, y), -1)[..., None, :] - mean
        sigma = 0.5 * torch.einsum("hwni,nij,hwnj->hwn", d, torch.linalg.inv(cov), d)
        o = opacities.expand(frames, points)[f, order]
        raw = o * torch.exp(-sigma)
        alpha = torch.where(raw >= 1 / 255, raw.clamp(max=0.999), 0)
        T = torch.cumprod(1 - alpha, -1)
        before = torch.cat((torch.ones_like(T[..., :1]), T[..., :-1]), -1)
        weight = torch.where(T > 1e-4, before * alpha, 0)
        feature = torch.cat((features.expand(frames, points, -1)[f, order], p[:, 2:]), -1)
        doubt = ((raw * 255 - 1).abs() < 1e-4) | ((T * 1e4 - 1).abs() < 1e-3) | ((raw / 0.999 - 1).abs() < 1e-5)
        out.append((weight @ feature, weight.sum(-1), doubt.any(-1)))
    image = torch.stack([o[0] for o in out]).permute(0, 3, 1, 2)
    return image[:, :-1], torch.stack([o[1] for o in out]), image[:, -1], torch.stack([o[2] for o in out])
