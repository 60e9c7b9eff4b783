"""The native kernel and the torch twin against dense float64 autograd, and the laws of the image model."""

import functools
import subprocess
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from raster_oracle import covariances_from, layers, oracle

from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.render.rasterize import rasterize
from kinema.splat.splats import Splats

_rasterizer = pytest.importorskip("kinema._rasterizer", reason="the native kernel was not built")
from kinema.render._native import SMALL, native_rasterizer, new_output, rasterize_native  # noqa: E402

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
    cameras = camera(frames, width, height, operands[0].dtype)
    leaves = [t.clone().requires_grad_() for t in (*operands, cameras.T_camera_world, cameras.focal_center_px)]
    doubles = [t.detach().double().requires_grad_() for t in leaves]
    *true, doubt = oracle(*doubles[:4], Cameras(*doubles[4:], width, height))
    found = layers(render(*leaves[:4], Cameras(*leaves[4:], width, height)))
    rng = torch.Generator().manual_seed(1)
    loss, true_loss = 0.0, 0.0
    for mine, his in zip(found, true, strict=True):
        sure = ~doubt if his.ndim == 3 else ~doubt[:, None]
        assert float(((mine - his) * sure).detach().abs().max()) <= image_bar * max(
            1.0, float(his.detach().abs().max())
        )
        # Positive, so that the sum over pixels does not cancel down to its rounding error.
        v = torch.rand(his.shape, generator=rng).double() * sure
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
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
def test_native_is_the_dense_image_and_its_gradient(gaussians, channels, simd):
    compare(
        scene(gaussians, 2, channels),
        19,
        13,
        render=lambda *a: rasterize_native(*a, simd=simd),
        image_bar=1e-5,
        gradient_bar=1e-4,
    )


@pytest.mark.parametrize("simd", _rasterizer.widths())
def test_needle_just_before_the_near_plane(simd):
    # Its mean lies hundreds of pixels outside of the image: moments around it were off by 3e-3 in single precision.
    gaussians = [("big", (0.0, 0.0, 0.0), 0.0, 0), ("needle", (1.0, -1.0, 1.995), 0.05, 256)]
    compare(
        scene(gaussians, 2, 1),
        19,
        13,
        render=lambda *a: rasterize_native(*a, simd=simd),
        image_bar=1e-5,
        gradient_bar=1e-4,
    )


@pytest.mark.parametrize("simd", _rasterizer.widths())
def test_points_smaller_than_a_pixel_anywhere_in_a_block(simd):
    # The blur alone makes the steepest fall from pixel to pixel; the rows of a block grow out of its first.
    rng = torch.Generator().manual_seed(0)
    frames, n = 9, 150
    centers = 0.7 * (2 * torch.rand(frames, n, 3, generator=rng) - 1)
    scales = torch.tensor([1e-5, 1e-5, 0.02]) * torch.rand(frames, n, 3, generator=rng)
    covariances = covariances_from(scales, torch.randn(frames, n, 4, generator=rng))
    operands = (centers, covariances, torch.rand(n, generator=rng), torch.rand(n, 3, generator=rng))
    compare(operands, 64, 48, render=lambda *a: rasterize_native(*a, simd=simd), image_bar=1e-5, gradient_bar=1e-4)


def test_native_is_the_dense_image_on_larger_clouds():
    for seed, (frames, width, height, channels) in enumerate(((1, 150, 21, 3), (9, 33, 18, 2), (2, 41, 140, 6))):
        rng = torch.Generator().manual_seed(seed)
        n = 60
        centers = 0.5 * torch.randn(frames, n, 3, generator=rng)
        scales = 0.15 * torch.rand(frames, n, 3, generator=rng) ** 3 + 1e-3
        covariances = covariances_from(scales, torch.randn(frames, n, 4, generator=rng))
        opacities = torch.rand(frames, n, generator=rng)
        features = torch.randn(frames, n, channels, generator=rng)
        operands = (centers, covariances, opacities, features)
        compare(operands, width, height, render=rasterize_native, image_bar=1e-5, gradient_bar=1e-4)


@given(st.lists(gaussian, min_size=1, max_size=8), st.sampled_from((1, 3)))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
def test_twin_is_the_dense_image_and_its_gradient(gaussians, channels):
    operands = tuple(t.double() for t in scene(gaussians, 1, channels))
    twin = functools.partial(rasterize, backend="torch")
    compare(operands, 19, 13, render=twin, image_bar=1e-10, gradient_bar=1e-8)


def test_twin_gradient_is_the_finite_difference():
    operands = tuple(
        t.double() for t in scene([("plain", (0.1, 0.2, 0.0), 0.7, 1), ("sheet", (0, 0, 0.5), 0.9, 2)], 1, 2)
    )
    cameras = camera(1, 5, 4, torch.float64)

    def render(*t):
        image = rasterize(*t, cameras, backend="torch")
        return image.features, image.alpha, image.depth

    leaves = [t.requires_grad_() for t in operands]
    # The step stays off the thresholds of alpha, where the image jumps.
    assert torch.autograd.gradcheck(render, leaves, eps=1e-7, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("frames", "width", "height"), [(1, 150, 70), (9, 40, 24)])
def test_native_is_bit_identical_over_runs_and_threads(frames, width, height):
    rng = torch.Generator().manual_seed(3)
    n = 400
    leaves = [
        0.5 * torch.randn(frames, n, 3, generator=rng),
        covariances_from(0.05 * torch.rand(frames, n, 3, generator=rng), torch.randn(frames, n, 4, generator=rng)),
        torch.rand(n, generator=rng),
        torch.rand(n, 3, generator=rng),
    ]
    leaves = [t.requires_grad_() for t in leaves]
    cameras = camera(frames, width, height)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 2):
            torch.set_num_threads(threads)
            image = layers(rasterize_native(*leaves, cameras))
            gradients = torch.autograd.grad(image, leaves, [torch.ones_like(t) for t in image])
            results.append([t.detach().clone() for t in (*image, *gradients)])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("simd", _rasterizer.widths())
@pytest.mark.parametrize("channels", [2, 3, 5])
def test_without_depth_all_else_is_the_same(simd, channels):
    gaussians = [("plain", (0.1 * k - 0.5, 0.2, 0.1 * k), 0.5, k) for k in range(10)] + [("big", (0, 0, -1.0), 0.5, 11)]
    leaves = [tensor.requires_grad_() for tensor in scene(gaussians, 2, channels)]
    cameras = camera(2, 40, 30)
    results = []
    for depth in (True, False):
        image = rasterize_native(*leaves, cameras, depth=depth, simd=simd)
        assert (image.depth is not None) == depth
        gradients = torch.autograd.grad((image.features + image.alpha[:, None]).square().sum(), leaves)
        results.append((image.features, image.alpha, *gradients))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
    for backend in ("native", "torch"):
        assert rasterize(*leaves, cameras, depth=False, backend=backend).depth is None


@pytest.mark.parametrize("simd", _rasterizer.widths())
def test_a_large_video_is_made_of_small_images(simd):
    # From 4 MB on whole lines are written past the cache; one frame alone is a small image.
    frames, width, height = 4, 320, 240
    gaussians = [("plain", (0.1 * k - 0.5, 0.2, 0.1 * k), 0.5, k) for k in range(10)] + [("big", (0, 0, -1.0), 0.5, 11)]
    centers, covariances, opacities, features = scene(gaussians, frames, 3)
    cameras = camera(frames, width, height)
    video = rasterize_native(centers, covariances, opacities, features, cameras, simd=simd)
    for k in range(frames):
        one = slice(k, k + 1)
        image = rasterize_native(centers[one], covariances[one], opacities, features, cameras[one], simd=simd)
        assert all(torch.equal(a[one], b) for a, b in zip(layers(video), layers(image), strict=True))


def test_memory_of_results_is_used_again_only_when_they_are_gone():
    first = new_output(SMALL + 1)
    first.fill_(1.0)
    place, other = first.data_ptr(), new_output(SMALL + 1)
    assert other.data_ptr() != place
    view = first[5:]
    del first
    other = new_output(SMALL + 1)
    assert other.data_ptr() != place
    assert float(view.min()) == 1.0
    del view
    assert new_output(SMALL + 1).data_ptr() == place


def test_one_gaussian_in_closed_form():
    # A round Gaussian on the axis: σ_px² = (f s / z)² + 0.3, alpha(d) = o exp(-d² / 2 σ_px²).
    size, focal, z, s, o = 33, 40.0, 2.0, 0.1, 0.8
    transform = torch.eye(3, 4)[None]
    cameras = Cameras(transform, torch.tensor([[focal, focal, size / 2, size / 2]]), size, size)
    image = rasterize(
        torch.tensor([[[0.0, 0.0, z]]]), s**2 * torch.eye(3)[None, None], torch.tensor([o]), torch.ones(1, 1), cameras
    )
    d = torch.arange(size) + 0.5 - size / 2
    variance = (focal * s / z) ** 2 + 0.3
    # Off the axis the linearisation is still taken at the centre, so the image is the exact Gaussian.
    alpha = o * torch.exp(-(d[:, None] ** 2 + d[None] ** 2) / (2 * variance))
    alpha = torch.where(alpha < 1 / 255, 0, alpha)
    torch.testing.assert_close(image.alpha[0], alpha, atol=1e-5, rtol=0)
    torch.testing.assert_close(image.features[0, 0], alpha, atol=1e-5, rtol=0)
    torch.testing.assert_close(image.depth[0], z * alpha, atol=2e-5, rtol=0)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_nothing_to_see(backend):
    for frames, points in ((2, 0), (0, 4), (2, 4)):
        centers = torch.full((frames, points, 3), 5.0, requires_grad=True)  # behind the cameras
        covariances = 0.01 * torch.eye(3).expand(frames, points, 3, 3)
        image = rasterize(
            centers, covariances, torch.ones(points), torch.ones(points, 3), camera(frames, 9, 7), backend=backend
        )
        assert image.features.shape == (frames, 3, 7, 9)
        for plane in (image.features, image.alpha, image.depth):
            assert torch.equal(plane, torch.zeros_like(plane))
        if backend == "native":
            (gradient,) = torch.autograd.grad(image.features.sum(), centers)
            assert torch.equal(gradient, torch.zeros_like(centers))


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_nan_is_an_error(backend, which):
    operands = list(scene([("plain", (0, 0, 0), 0.5, 0)], 2, 3))
    operands[which] = operands[which].clone()
    operands[which].flatten()[0] = float("nan")
    with pytest.raises(KinemaError, match="NaN"):
        rasterize(*operands, camera(2, 8, 8), backend=backend)


def test_wrong_shapes_and_types_are_errors():
    centers, covariances, opacities, features = scene([("plain", (0, 0, 0), 0.5, 0)] * 2, 2, 3)
    from jaxtyping import TypeCheckError

    wrong = (KinemaError, TypeCheckError)  # whichever looks first: the suite runs with checked annotations
    with pytest.raises(wrong):
        rasterize(centers, covariances[:, :1], opacities, features, camera(2, 8, 8))
    with pytest.raises(wrong):
        rasterize(centers, covariances, opacities, features, camera(3, 8, 8))
    with pytest.raises(wrong):
        rasterize(centers, covariances, opacities, features.double(), camera(2, 8, 8))
    doubles = [t.double() for t in (centers, covariances, opacities, features)]
    with pytest.raises(KinemaError, match="float32"):
        rasterize(*doubles, camera(2, 8, 8, torch.float64), backend="native")
    with pytest.raises(KinemaError, match="gsplat"):
        rasterize(centers, covariances, opacities, features, camera(2, 8, 8), backend="gsplat")


def test_auto_takes_the_twin_for_doubles_and_without_the_kernel(monkeypatch):
    operands = scene([("plain", (0, 0, 0), 0.5, 0)], 1, 3)
    native = rasterize(*operands, camera(1, 8, 8))
    doubles = rasterize(*(t.double() for t in operands), camera(1, 8, 8, torch.float64))
    torch.testing.assert_close(native.features.double(), doubles.features, atol=1e-5, rtol=0)
    monkeypatch.setitem(sys.modules, "kinema._rasterizer", None)
    native_rasterizer.cache_clear()
    with pytest.warns(UserWarning, match="no native rasterizer"):
        fallback = rasterize(*operands, camera(1, 8, 8))
    native_rasterizer.cache_clear()
    torch.testing.assert_close(native.features, fallback.features, atol=1e-5, rtol=0)


def test_interrupt_ends_a_long_call():
    # The child sets its own alarm clock, so that a busy machine cannot make the signal come too late.
    code = """
import signal, torch
from kinema.geometry.camera import Cameras
from kinema.render.rasterize import rasterize
n, frames = 2000, 1000
torch.set_num_threads(2)
centers = torch.rand(1, n, 3).expand(frames, -1, -1) - 0.5
covariances = (0.5 ** 2 * torch.eye(3)).expand(frames, n, 3, 3)
cameras = Cameras.orbit(torch.zeros(frames, 3), yaw_deg=0.0, elevation_deg=0.0, distance=2.0, fovy_deg=40.0,
                        width=128, height=128)
centers, covariances = centers.contiguous(), covariances.contiguous()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    rasterize(centers, covariances, torch.full((n,), 0.005), torch.rand(n, 3), cameras)
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert child.stdout == "interrupted\n", child.stderr


def test_covariances_have_the_squared_scales_as_eigenvalues():
    rng = torch.Generator().manual_seed(0)
    scales = torch.rand(5, 3, generator=rng, dtype=torch.float64) + 0.1
    wxyz = torch.randn(5, 4, generator=rng, dtype=torch.float64)

    def covariances(scales, wxyz):
        zeros = torch.zeros(5, 3, dtype=torch.float64)
        return Splats(zeros, scales.log(), wxyz, zeros[:, 0], zeros[:, None]).covariances

    # Σ = R diag(s²) Rᵀ
    found = torch.linalg.eigvalsh(covariances(scales, wxyz))
    torch.testing.assert_close(found, (scales**2).sort(-1).values)
    torch.testing.assert_close(covariances(scales, wxyz), covariances_from(scales, wxyz))
    assert torch.autograd.gradcheck(covariances, (scales.requires_grad_(), wxyz.requires_grad_()))
