"""gsplat as a judge of the image model, and of the way we call it.

Its kernels need CUDA. What runs here is its own Python around them and its own projection in torch; for what it does
per pixel the twin stands in.
"""

import sys

import pytest
import torch
from raster_oracle import covariances_from, layers
from torch import Tensor
from torch.testing import assert_close

from kinema.geometry.camera import Cameras
from kinema.render._gsplat import rasterize_gsplat
from kinema.render._twin import composite, project
from kinema.render.rasterize import rasterize

pytest.importorskip("gsplat", reason="gsplat is not installed")


def cloud(frames: int = 2, n: int = 40, *, spread: float = 0.7) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(3)
    centers = spread * torch.randn(frames, n, 3, generator=g, dtype=torch.float64)
    scales = 0.15 * torch.rand(frames, n, 3, generator=g, dtype=torch.float64) + 0.01
    covariances = covariances_from(scales, torch.randn(frames, n, 4, generator=g, dtype=torch.float64))
    opacities = torch.rand(frames, n, generator=g, dtype=torch.float64)
    return centers, covariances, opacities, torch.rand(frames, n, 5, generator=g, dtype=torch.float64)


def orbit(frames: int = 2) -> Cameras:
    return Cameras.orbit(
        torch.zeros(frames, 3, dtype=torch.float64),
        yaw_deg=torch.tensor([20.0, 75.0], dtype=torch.float64),
        elevation_deg=15.0,
        distance=3.0,
        fovy_deg=40.0,
        width=31,
        height=23,
    )


def pixels(means, conics, colors, opacities, width, height, tile_size, offsets, ids, *, backgrounds, packed, absgrad):
    """The twin's compositing, by depth, which is the last channel."""
    assert backgrounds is None
    assert not packed
    rows, columns = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    places = torch.stack((columns, rows), -1).flatten(0, 1).to(means)
    covariances = torch.linalg.inv(conics[..., [[0, 1], [1, 2]]])
    images = []
    for f in range(len(means)):  # of one camera each
        order = colors[f, 0, :, -1].argsort()
        operands = (x[f, 0][order] for x in (means, covariances, opacities, colors))
        image, alpha = composite(places, *operands)
        images.append(torch.cat((image, alpha[:, None]), 1).unflatten(0, (height, width))[None])
    both = torch.stack(images)
    return both[..., :-1], both[..., -1:]


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from gsplat.cuda._torch_impl import _fully_fused_projection

    def projection(means, covars, quats, scales, viewmats, Ks, width, height, *, packed, opacities, **options):
        assert quats is None
        assert scales is None
        covars = covars[..., [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]  # it hands on the upper triangle
        known = ("eps2d", "near_plane", "far_plane", "calc_compensations", "camera_model")
        return _fully_fused_projection(means, covars, viewmats, Ks, width, height, **{k: options[k] for k in known})

    rendering = sys.modules["gsplat.rendering"]
    nothing = torch.zeros(0)
    monkeypatch.setattr(rendering, "fully_fused_projection", projection)
    monkeypatch.setattr(rendering, "isect_tiles", lambda *_, **__: (nothing, nothing, nothing))
    monkeypatch.setattr(
        rendering, "isect_offset_encode", lambda _, images, width, height: torch.zeros(images * width * height)
    )
    monkeypatch.setattr(rendering, "rasterize_to_pixels", pixels)


@pytest.mark.usefixtures("on_the_cpu")
def test_our_call_of_gsplat_gives_the_twins_image_and_gradients():
    cameras, results = orbit(), []
    operands = cloud()
    g = torch.Generator().manual_seed(0)
    v = [torch.randn(2, *shape, generator=g, dtype=torch.float64) for shape in ((5, 23, 31), (23, 31), (23, 31))]
    for render in (rasterize_gsplat, lambda *a: rasterize(*a, backend="torch")):
        leaves = [x.clone().requires_grad_() for x in operands]
        outputs = layers(render(*leaves, cameras))
        results.append((*outputs, *torch.autograd.grad(outputs, leaves, v)))
    for ours, twin in zip(*results, strict=True):
        assert_close(ours, twin, atol=1e-9, rtol=1e-7)


def test_projection_is_gsplats_also_far_outside_of_the_image():
    from gsplat.cuda._torch_impl import _fully_fused_projection

    centers, covariances, *_ = cloud(spread=3.0, n=200)
    cameras = orbit()
    last = torch.tensor([[[0.0, 0, 0, 1]]], dtype=torch.float64).expand(2, 1, 4)
    fx, fy, cx, cy = cameras.focal_center_px.unbind(-1)
    K = torch.zeros(2, 3, 3, dtype=torch.float64)
    K[:, 0, 0], K[:, 1, 1], K[:, 0, 2], K[:, 1, 2], K[:, 2, 2] = fx, fy, cx, cy, 1.0
    view = torch.cat((cameras.T_camera_world, last), 1)
    _, means, depths, conics, _ = _fully_fused_projection(centers, covariances, view[:, None], K[:, None], 31, 23)
    for f in range(2):
        ours = project(
            centers[f], covariances[f], cameras.T_camera_world[f], cameras.focal_center_px[f], cameras.width, 23
        )
        ahead = ours[2] > 0.05
        assert 50 < ahead.sum() < 200
        inverse = torch.linalg.inv(ours[1][ahead])
        assert_close(means[f, 0][ahead], ours[0][ahead])
        assert_close(depths[f, 0][ahead], ours[2][ahead])
        assert_close(conics[f, 0][ahead], torch.stack((inverse[:, 0, 0], inverse[:, 0, 1], inverse[:, 1, 1]), -1))
