"""Fit Gaussians to images of the mesh: 3DGS optimisation with a fixed number of Gaussians."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.random import Generator
from scipy.spatial import KDTree
from torch import Tensor

from kinema.asset.character import Mesh
from kinema.geometry.camera import Cameras
from kinema.geometry.surface import SurfacePoints, sample_surface
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.learn.adam import Adam
from kinema.render.follow import framing_distance
from kinema.render.harmonics import sh_colors
from kinema.render.image import Image
from kinema.render.rasterize import rasterize
from kinema.render.raycast import raycast
from kinema.splat.colors import surface_colors
from kinema.splat.pose import rest_splats
from kinema.splat.splats import SH_DC, Splats

FOVY_DEG = 35.0


@dataclass(frozen=True)
class Refinement:
    """Images of the mesh and length of the fit."""

    views: int = 200
    size_px: int = 256
    """Edge of the square images."""
    samples: int = 2
    """Rays per pixel along each axis."""
    steps: int = 500
    batch: int = 4
    """Views per step."""
    density_every: int = 50
    """Steps between two rounds of pruning and splitting; they end after two thirds of all steps."""
    patience: int = 3
    """Stop after this many checks (one per round) without a gain of 0.02 dB on views held back for it."""


SETTINGS = Refinement()
Progress = Callable[[int, int, float], None]
"""Called with step, steps and PSNR [dB] after every round."""


def orbit_views(
    mesh: Mesh, count: int, *, size_px: int, rng: Generator, elevation_deg: tuple[float, float] = (-20.0, 60.0)
) -> Cameras:
    """Place cameras all around the mesh, each as near as its box allows."""
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    extent = (high - low).astype(np.float64)
    # Even in yaw by the golden angle; elevations uniform in height, as on a sphere.
    yaws = np.mod(rng.uniform(0, 360) + np.arange(count) * 137.50776, 360)
    rise = np.sin(np.radians(elevation_deg))
    ups = np.degrees(np.arcsin(rng.permutation(np.linspace(rise[0], rise[1], count))))
    lens = {"fovy_deg": FOVY_DEG, "width": size_px, "height": size_px}
    sides = zip(yaws.tolist(), ups.tolist(), strict=True)
    distances = [framing_distance(extent, yaw_deg=yaw, elevation_deg=up, **lens) for yaw, up in sides]
    yaw, up, distance = torch.tensor(np.array((yaws, ups, distances)), dtype=torch.float32)
    target = torch.from_numpy((low + high) / 2).float().expand(count, 3)
    return Cameras.orbit(target, yaw_deg=yaw, elevation_deg=up, distance=distance, **lens)


def render_splats(splats: Splats, cameras: Cameras) -> Image:
    """Render the cloud at rest."""
    posed, colors = rest_splats(splats, frames=len(cameras)), 0.5 + SH_DC * splats.sh[:, 0]
    if splats.sh.shape[1] > 1:
        colors = sh_colors(splats.sh, posed.centers, cameras.position_world)
    return rasterize(posed.centers, posed.covariances, splats.opacities, colors, cameras, depth=False)


def psnr(a: Float[Tensor, "views 3 h w"], b: Float[Tensor, "views 3 h w"]) -> float:
    """Mean over the views of -10 log10(MSE) [dB]."""
    return float((-10 * (a - b).square().mean((1, 2, 3)).clamp(min=1e-12).log10()).mean())


def vertex_splats(mesh: Mesh, *, least: int = 1, rng: Generator) -> Splats:
    """Round Gaussians at the mesh's vertices, as wide as their neighbours are far, for `refine` to start from.

    A mesh with fewer than `least` vertices gets the rest anywhere on its surface.
    """
    _, first = np.unique(mesh.vertices[mesh.faces.reshape(-1)], axis=0, return_index=True)
    places = SurfacePoints(first // 3, np.eye(3)[first % 3])
    if len(places) < least:
        more = sample_surface(mesh.vertices, mesh.faces, least - len(places), rng=rng)
        places = SurfacePoints(*(np.concatenate(x) for x in zip(vars(places).values(), vars(more).values())))
    points = places.interpolate(mesh.faces, mesh.vertices.astype(np.float64))
    # 3DGS: the mean distance to the three nearest others.
    near = KDTree(points).query(points, k=[2, 3, 4])[0]  # pyright: ignore[reportArgumentType]
    width = np.where(np.isfinite(near), near, 0.0).mean(-1).clip(min=1e-3 * np.ptp(mesh.vertices, axis=0).max())
    colors = torch.from_numpy(surface_colors(mesh, places)[:, :3]).float()
    return Splats(
        torch.from_numpy(points).float(),
        torch.from_numpy(np.log(width)).float()[:, None].repeat(1, 3),
        torch.tensor([1.0, 0, 0, 0]).repeat(len(points), 1),
        torch.full((len(points),), 0.9).logit(),
        ((colors - 0.5) / SH_DC)[:, None],
    )


def refine(
    splats: Splats, mesh: Mesh, *, settings: Refinement = SETTINGS, rng: Generator, progress: Progress | None = None
) -> Splats:
    """Optimise the cloud against images of the mesh; the number of Gaussians stays.

    Gaussians that have become invisible are pruned, and those whose positions have the largest gradients are split in
    their place. The best state on a few views held back from the fit is returned.
    """
    cameras = orbit_views(mesh, settings.views, size_px=settings.size_px, rng=rng)
    truth = raycast(mesh, cameras, samples=settings.samples)
    held = max(1, settings.views // 25)
    size = float(np.ptp(mesh.vertices, axis=0).max())
    state = _State(splats, size=size, steps=settings.steps)
    best, best_db, stale = splats, _score(splats, cameras[:held], truth[:held]), 0
    queue = np.empty(0, dtype=np.int64)
    for step in range(settings.steps):
        if len(queue) < settings.batch:
            queue = held + rng.permutation(settings.views - held)
        chosen, queue = torch.from_numpy(np.sort(queue[: settings.batch])), queue[settings.batch :]
        here = Cameras(cameras.T_camera_world[chosen], cameras.focal_center_px[chosen], cameras.width, cameras.height)
        # A new backdrop every step: only the right alpha fits all of them.
        backdrop = torch.from_numpy(rng.random((settings.batch, 3, 1, 1))).float()
        target = truth[chosen, :3] + (1 - truth[chosen, 3:]) * backdrop
        error = render_splats(Splats(*state.parameters), here).over(backdrop) - target
        loss = error.abs().mean() + 2 * error.square().mean()
        state.step(loss)
        if (step + 1) % settings.density_every == 0 or step + 1 == settings.steps:
            current = Splats(*(p.detach().clone() for p in state.parameters))
            found = _score(current, cameras[:held], truth[:held])
            if progress is not None:
                progress(step + 1, settings.steps, found)
            stale = 0 if found > best_db + 0.02 else stale + 1
            if found > best_db:
                best, best_db = current, found
            if stale >= settings.patience:
                break
            if step + 1 <= settings.steps * 2 // 3:
                state.densify()
    return best


def _score(splats: Splats, cameras: Cameras, truth: Tensor) -> float:
    with torch.no_grad():
        on_white = render_splats(splats, cameras).over(torch.ones(()))
        return psnr(on_white.clamp(0, 1), truth[:, :3] + 1 - truth[:, 3:])


class _State:
    """The parameters, their optimizer, and the sum of each position's gradient norms (`pull`)."""

    def __init__(self, splats: Splats, *, size: float, steps: int) -> None:
        values = (splats.centers, splats.scales_log, splats.wxyz, splats.opacity_logit, splats.sh)
        self.parameters = [value.detach().clone().requires_grad_() for value in values]
        # 3DGS's rates, the positions' relative to the size of the object.
        self.rates = (1.6e-4 * size, 5e-3, 1e-3, 2.5e-2, 1e-2)
        self.done, self.steps = 0, steps
        self.optimizer = Adam([{"params": [p]} for p in self.parameters], betas=(0.9, 0.99), epsilon=1e-15)
        self.pull = torch.zeros(len(splats))

    def step(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        grad = self.parameters[0].grad
        assert grad is not None
        self.pull += grad.norm(dim=-1)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * 0.05 ** (self.done / self.steps)
        self.optimizer.step()
        self.done += 1

    @torch.no_grad()
    def densify(self) -> None:
        """Replace invisible Gaussians by halves of those with the largest gradients; the number stays."""
        centers, scales_log, wxyz, opacity_logit, sh = self.parameters
        spread = scales_log.exp()
        area = spread.topk(2, dim=-1).values.prod(-1)
        weak = (opacity_logit.sigmoid() < 0.05) | (area * opacity_logit.sigmoid() < 0.02 * area.median())
        count = min(int(weak.sum()), len(weak) // 10)
        if count:
            free = torch.nonzero(weak)[:, 0][:count]
            pull = self.pull.clone()
            pull[weak] = -1
            source = pull.topk(count).indices
            # Two halves of 5/8 the length, half a deviation apart along the longest axis.
            longest = spread[source].argmax(-1, keepdim=True)
            axis = torch.take_along_dim(quaternion_to_matrix(wxyz[source]), longest[:, None], 2).squeeze(-1)
            reach = 0.5 * torch.take_along_dim(spread[source], longest, 1) * axis
            shorter = scales_log[source].scatter_add(1, longest, torch.full((count, 1), float(np.log(0.625))))
            for p in (wxyz, opacity_logit, sh):
                p[free] = p[source]
            scales_log[free] = scales_log[source] = shorter
            centers[free] = centers[source] + reach
            centers[source] -= reach
            for state in self.optimizer.state.values():
                for moment in ("exp_avg", "exp_avg_sq"):
                    state[moment][free] = 0
        self.pull.zero_()
