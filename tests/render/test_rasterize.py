"""The native kernel and the torch twin against dense float64 autograd, and the laws of the image model."""

import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from raster_oracle import oracle

from kinema.camera import Cameras
from kinema.errors import KinemaError
from kinema.render.rasterize import covariances_from, rasterize

_rasterizer = pytest.importorskip("kinema._rasterizer", reason="the native kernel was not built")
from kinema.render._native import rasterize_native  # noqa: E402

SIZES = {  # standard deviations along the axes [m], for a camera at 2 m that sees about 1.5 m
    "plain": (0.05, 0.08, 0.12),
    "big": (1.0, 0.6, 2.0),
    "tiny": (1e-4, 2e-4, 1e-4),
    "needle": (1.5, 1e-4, 1e-4),
    "sheet": (0.4, 0.4, 1e-5),
}
unit = st.floats(-1, 1, width=32)
gaussian = st.tuples(
    st.sampled_from(sorted(SIZES)),
    st.tuples(unit, unit, st.one_of(unit, st.sampled_from((0.0, 0.5, -1.5, -3.0, 1.995)))),  # 2.0 is the eye
    st.sampled_from((0.0, 0.003, 0.05, 0.5, 0.9, 0.999, 1.0)),
    st.integers(0, 2**31),
)


def camera(frames: int, width: int, height: int, dtype: torch.dtype = torch.float32) -> Cameras:
    yaw = torch.linspace(0, 50, frames, dtype=torch.float32)
    made = Cameras.orbit(
        torch.zeros(frames, 3), yaw_deg=yaw, elevation_deg=10.0, distance=2.0, fovy_deg=40.0, width=width, height=height
    )
    return Cameras(made.T_camera_world.to(dtype), made.focal_center_px.to(dtype), width, height)


def scene(gaussians: list, frames: int, channels: int) -> tuple[torch.Tensor, ...]:
    """Centres, covariances (per frame), opacities and features (shared) as float32."""
    centers, covariances, opacities, features = [], [], [], []
    for kind, position, opacity, seed in gaussians:
        rng = torch.Generator().manual_seed(seed)
        shift = 0.02 * torch.randn(frames, 3, generator=rng)
        centers.append(torch.tensor(position) * torch.tensor([0.7, 0.7, 1.0]) + shift)
        turn = torch.randn(frames, 4, generator=rng)
        covariances.append(covariances_from(torch.tensor(SIZES[kind]).expand(frames, 3), turn))
        opacities.append(opacity)
        features.append(torch.rand(channels, generator=rng))
    return torch.stack(centers, 1), torch.stack(covariances, 1), torch.tensor(opacities), torch.stack(features)


def worst(found: torch.Tensor, true: torch.Tensor) -> float:
    """Largest error relative to the largest value."""
    return float((found.double() - true).abs().max() / true.abs().max().clamp(min=1e-3)) if true.numel() else 0.0


def compare(operands: tuple, width: int, height: int, *, render, image_bar: float, gradient_bar: float) -> None:
    frames = operands[0].shape[0]
    cameras = camera(frames, width, height)
    leaves = [t.clone().requires_grad_() for t in (*operands, cameras.T_camera_world, cameras.focal_center_px)]
    doubles = [t.detach().double().requires_grad_() for t in leaves]
    *true, doubt = oracle(*doubles[:4], Cameras(*doubles[4:], width, height))
    found = render(*leaves[:4], Cameras(*leaves[4:], width, height))
    rng = torch.Generator().manual_seed(1)
    loss, true_loss = 0.0, 0.0
    for mine, his in zip(found, true, strict=True):
        sure = ~doubt if his.ndim == 3 else ~doubt[:, None]
        assert float(((mine - his) * sure).detach().abs().max()) <= image_bar * max(
            1.0, float(his.detach().abs().max())
        )
        v = torch.randn(his.shape, generator=rng).double() * sure
        loss = loss + (mine * v.to(mine.dtype)).sum()
        true_loss = true_loss + (his * v.to(mine.dtype).double()).sum()
    loss.backward()
    true_loss.backward()
    names = "centers", "covariances", "opacities", "features", "T_camera_world", "focal_center_px"
    errors = {
        name: worst(mine.grad, his.grad)
        for name, mine, his in zip(names, leaves, doubles, strict=True)
        if his.grad is not None and mine.numel()
    }
    assert max(errors.values(), default=0.0) <= gradient_bar, errors


@given(
    st.lists(gaussian, min_size=1, max_size=24), st.sampled_from((1, 3, 4, 9)), st.sampled_from(_rasterizer.widths())
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_native_is_the_dense_image_and_its_gradient(gaussians, channels, simd):
    compare(
        scene(gaussians, 2, channels),
        19,
        13,
        render=lambda *a: rasterize_native(*a, simd=simd),
        image_bar=1e-5,
        gradient_bar=1e-4,
    )
