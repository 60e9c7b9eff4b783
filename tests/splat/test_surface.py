"""Gaussians on a mesh whose vertices are moved."""

import numpy as np
import torch
from torch.testing import assert_close

from kinema.asset.character import Character
from kinema.geometry.rotations import to_matrix
from kinema.splat.pose import pose_on_surface
from kinema.splat.splats import Splats


def test_a_rigid_motion_moves_centres_and_covariances(fox: Character) -> None:
    mesh, rng = fox.mesh, np.random.default_rng(0)
    cloud, at = Splats.from_mesh(mesh, 300, rng=rng)
    rest = np.asarray(mesh.vertices, dtype=np.float64)
    wxyz = rng.standard_normal((2, 4))
    R = to_matrix(wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True))
    away = rng.standard_normal((2, 3))
    moved = np.stack((rest, rest @ R[0].T + away[0], rest @ R[1].T + away[1]))
    posed = pose_on_surface(cloud, at, mesh.faces, rest, moved)
    turns = torch.from_numpy(np.concatenate((np.eye(3)[None], R))).float()
    shifts = torch.from_numpy(np.concatenate((np.zeros((1, 3)), away))).float()
    # x' = R x + t, Σ' = R Σ Rᵀ
    assert_close(posed.centers, cloud.centers @ turns.mT + shifts[:, None], atol=2e-5, rtol=1e-4)
    wanted = turns[:, None] @ cloud.covariances @ turns[:, None].mT
    assert_close(posed.covariances, wanted, atol=1e-6, rtol=1e-3)


def test_a_stretched_surface_stretches_its_gaussians() -> None:
    rest = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    faces = np.array([[0, 1, 2]])
    from kinema.geometry.surface import SurfacePoints

    one = Splats(torch.tensor([[1 / 3, 1 / 3, 0.1]]), torch.log(torch.tensor([[0.1, 0.2, 0.01]])),
                 torch.tensor([[1.0, 0, 0, 0]]), torch.zeros(1), torch.zeros(1, 1, 3))  # fmt: skip
    at = SurfacePoints(np.array([0]), np.full((1, 3), 1 / 3))
    posed = pose_on_surface(one, at, faces, rest, (rest * [2.0, 3.0, 1.0])[None])
    # Twice as long, three times as wide, as thick and as far off the surface as before.
    assert_close(posed.centers[0, 0], torch.tensor([2 / 3, 1.0, 0.1]), atol=1e-6, rtol=0)
    assert_close(posed.covariances[0, 0], torch.diag(torch.tensor([0.2, 0.6, 0.01]) ** 2), atol=1e-7, rtol=0)
