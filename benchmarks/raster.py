"""Time the rasterizer on four sizes of cloud, A to D, and on a character at the size of nano's videos.

Metrics are CPU milliseconds summed over threads (the least of several rounds, the variants taking turns), forward and
backward with all gradients but the cameras', for all frames of one call. The clouds are balls of random Gaussians whose
widths were chosen so that `pairs_per_gaussian`, the number of pixels with alpha >= 1/255 a Gaussian has on average,
is about 55, 71, 106 and 125.

`python benchmarks/raster.py OTHER [WIDTH]` compares the installed kernel with another build, a file `_rasterizer*.so`,
at the machine's or the given vector width: the two take turns in processes of their own, and the least times of all
turns are divided.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kinema.geometry.camera import Cameras
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.render._native import rasterize_native
from kinema.render._twin import project
from kinema.render.image import Image
from kinema.render.rasterize import rasterize


@dataclass(frozen=True)
class Case:
    frames: int
    size: int
    points: int
    width_px: float
    """Median standard deviation of a Gaussian in the image, before the blur."""
    shell: bool = False
    """Flat Gaussians on a sphere, as on a character's skin, instead of a ball full of them."""


CASES = {
    "A": Case(16, 64, 5_000, 1.03),
    "B": Case(16, 128, 10_000, 1.19),
    "C": Case(49, 256, 20_000, 1.5),
    "D": Case(1, 512, 50_000, 1.64),
    "skin64": Case(24, 64, 5_000, 0.6, shell=True),
}


# Of C one frame: autograd through all 49 would not fit the memory.
TWIN = {"A": ("torch", 16), "B": ("torch", 16), "C": ("torch_one_frame", 1), "D": ("torch", 1)}


def build(case: Case, *, seed: int = 0) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], Cameras]:
    rng = torch.Generator().manual_seed(seed)
    n, frames = case.points, case.frames
    direction = torch.nn.functional.normalize(torch.randn(n, 3, generator=rng), dim=-1)
    radius = torch.ones(n, 1) if case.shell else torch.rand(n, 1, generator=rng) ** (1 / 3)
    metres_per_px = 2.6 / case.size  # the image shows 2.6 m at the distance of the ball of radius 1 m
    if case.shell:
        scales = case.width_px * metres_per_px * torch.tensor([1.0, 1.0, 0.05]).expand(n, 3)
        # The quaternion that turns +z to the normal.
        wxyz = torch.nn.functional.normalize(
            torch.stack((1 + direction[:, 2], -direction[:, 1], direction[:, 0], torch.zeros(n)), -1) + 1e-6, dim=-1
        )
    else:
        scales = case.width_px * metres_per_px * torch.exp(0.5 * torch.randn(n, 3, generator=rng))
        wxyz = torch.randn(n, 4, generator=rng)
    half = quaternion_to_matrix(wxyz) * scales[..., None, :]
    covariances = (half @ half.mT).expand(frames, -1, -1, -1).contiguous()
    sway = 0.02 * torch.randn(frames, n, 3, generator=rng)
    low = 0.8 if case.shell else 0.1
    opacities = low + (1 - low) * torch.rand(n, generator=rng)
    yaw = torch.linspace(0, 60, frames)
    cameras = Cameras.orbit(
        torch.zeros(frames, 3),
        yaw_deg=yaw,
        elevation_deg=15.0,
        distance=4.0,
        fovy_deg=math.degrees(2 * math.atan(1.3 / 4.0)),
        width=case.size,
        height=case.size,
    )
    return (direction * radius + sway, covariances, opacities, torch.rand(n, 3, generator=rng)), cameras


def pairs_per_gaussian(operands: tuple[Tensor, Tensor, Tensor, Tensor], cameras: Cameras) -> float:
    """Mean area of the ellipse alpha >= 1/255: 2π log(255 opacity) sqrt(det) [px²]."""
    covariances = project(
        operands[0][0],
        operands[1][0],
        cameras.T_camera_world[0],
        cameras.focal_center_px[0],
        cameras.width,
        cameras.height,
    )[1]
    return float((2 * math.pi * torch.log(255 * operands[2]) * torch.linalg.det(covariances).sqrt()).mean())


def measure(renders: dict[str, Callable], case: Case, rounds: int) -> dict[str, tuple[float, float]]:
    """CPU milliseconds forward and backward of each renderer."""
    operands, cameras = build(case)
    leaves = [t.clone().requires_grad_() for t in operands]
    best = dict.fromkeys(renders, (math.inf, math.inf))
    rng = torch.Generator().manual_seed(1)
    v = torch.randn(case.frames, 3, case.size, case.size, generator=rng)
    va = torch.randn(case.frames, case.size, case.size, generator=rng)
    for _ in range(rounds):
        for name, render in renders.items():
            start = time.process_time()
            image = render(*leaves, cameras)
            middle = time.process_time()
            torch.autograd.grad((image.features, image.alpha), leaves, (v, va))
            end = time.process_time()
            forward, backward = best[name]
            best[name] = min(forward, 1e3 * (middle - start)), min(backward, 1e3 * (end - middle))
    return best


def twin(*operands) -> Image:
    return rasterize(*operands, depth=False, backend="torch")


def run(*, quick: bool = False) -> Iterator[tuple[str, float]]:
    """Yield (metric, value): of the width that the machine takes, with and without depth, and of the narrower ones."""
    import kinema._rasterizer as _rasterizer

    for name, case in CASES.items():
        yield f"{name}.pairs_per_gaussian", pairs_per_gaussian(*build(case))
        renders: dict[str, Callable] = {
            "native": lambda *a: rasterize_native(*a, depth=False),
            "native_with_depth": rasterize_native,
        }
        for width in _rasterizer.widths()[:-1]:
            renders[f"native{width}"] = lambda *a, simd=width: rasterize_native(*a, depth=False, simd=simd)
        for variant, (forward, backward) in measure(renders, case, 3 if quick else 20).items():
            yield f"{name}.{variant}.forward_cpu_ms", forward
            yield f"{name}.{variant}.backward_cpu_ms", backward
        if not quick and name in TWIN:
            variant, frames = TWIN[name]
            forward, backward = measure({"torch": twin}, replace(case, frames=frames), 1)["torch"]
            yield f"{name}.{variant}.forward_cpu_ms", forward
            yield f"{name}.{variant}.backward_cpu_ms", backward


def load_kernel(path: str) -> None:
    """Take another build of the kernel in this process."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("kinema._rasterizer", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["kinema._rasterizer"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def ratios(other: str, width: str, *, turns: int = 4) -> Iterator[tuple[str, float]]:
    """CPU time of the installed kernel over that of the other build."""
    best: dict[tuple[str, str], float] = {}
    for _ in range(turns):
        for kernel in ("installed", other):
            child = [sys.executable, __file__, "turn", kernel, width]
            for line in subprocess.run(child, capture_output=True, text=True, check=True).stdout.splitlines():
                metric, value = line.split()
                best[kernel, metric] = min(best.get((kernel, metric), math.inf), float(value))
    for (kernel, metric), value in best.items():
        if kernel == "installed":
            yield f"{metric}_ratio", value / best[other, metric]


def turn(kernel: str, width: str) -> Iterator[tuple[str, float]]:
    if kernel != "installed":
        load_kernel(kernel)
    renders = {"native": lambda *a: rasterize_native(*a, depth=False, simd=int(width))}
    for name, case in CASES.items():
        forward, backward = measure(renders, case, 6 if name == "C" else 25)["native"]
        yield f"{name}.forward", forward
        yield f"{name}.backward", backward


if __name__ == "__main__":
    words = [*sys.argv[1:], "0"]
    figures = turn(*words[1:3]) if words[0] == "turn" else ratios(*words[:2])
    for metric, value in figures:
        print(f"{metric} {value:.4g}", flush=True)
