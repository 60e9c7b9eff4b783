"""Gaussians that stay on the triangles of a mesh whose vertices move, whatever moves them."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from kinema.geometry.surface import SurfacePoints
from kinema.splat.pose import PosedSplats
from kinema.splat.splats import Splats


def pose_on_surface(
    splats: Splats, at: SurfacePoints, faces: Int[np.ndarray, "faces 3"], rest: Float[np.ndarray, "vertices 3"],
    vertices: Float[np.ndarray, "frames vertices 3"],
) -> PosedSplats:  # fmt: skip
    """Move each Gaussian with its triangle: Σ' = F Σ Fᵀ, F takes its edges and unit normal at rest to the moved ones.

    Args:
        at: The surface point of each Gaussian; it may lie a little off it and keeps that distance.
    """
    corners = torch.from_numpy(faces[at.face].astype(np.int64))
    share = torch.from_numpy(at.barycentric).to(splats.centers)
    frame, point = _frames(torch.from_numpy(rest).to(splats.centers)[None, corners], share)
    inverse, offset = torch.linalg.pinv(frame), splats.centers - point[0]
    centers, covariances = [], []
    for moved in torch.from_numpy(vertices).to(splats.centers):
        there, point = _frames(moved[None, corners], share)
        F = (there @ inverse)[0]
        centers.append(point[0] + (F @ offset[..., None])[..., 0])
        covariances.append(F @ splats.covariances @ F.mT)
    return PosedSplats(torch.stack(centers), torch.stack(covariances))


def _frames(
    triangles: Float[Tensor, "frames n 3 3"], share: Float[Tensor, "n 3"]
) -> tuple[Float[Tensor, "frames n 3 3"], Float[Tensor, "frames n 3"]]:
    """Edges and unit normal as columns, and the point with the given barycentric coordinates."""
    a, b, c = triangles.unbind(2)
    normal = torch.nn.functional.normalize(torch.linalg.cross(b - a, c - a), dim=-1)
    return torch.stack((b - a, c - a, normal), -1), (share[..., None] * triangles).sum(2)
