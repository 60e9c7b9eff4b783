"""Compare Gaussians with the mesh that they stand for, at rest and posed, and time ground and shadow.

Per character: PSNR [dB] at 256² on white of `Splats.from_mesh` and of `refine` with 10,000 Gaussians on 20 views that
were not fitted, with the seconds that making them took (`_wall`: the clock; `_cpu`: the processor's, summed over
threads). Posed: the least and the mean PSNR over frames of the character's clips, one view each, against the ray-cast
skinned mesh. Scene: CPU milliseconds, forward and backward, of 49 frames at 256² of 20,000 Gaussians rasterized bare
and rendered with ground and shadow, and the process's peak memory [MB].

The characters are the third-party ones beside the checkout (KINEMA_SHARED, else ../shared/data); without them a
built-in creature takes their place.
"""

import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kinema.asset.character import Character
from kinema.motion.motion import Motion
from kinema.render.follow import Viewpoint, follow, framing_distance, smooth_path
from kinema.render.image import Image
from kinema.render.rasterize import rasterize
from kinema.render.raycast import raycast
from kinema.render.refine import orbit_views, psnr, refine, render_splats
from kinema.render.scene import Scene, render_video
from kinema.render.shadow import Shadow, bounding_boxes
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points
from kinema.splat.pose import PosedSplats, pose_splats
from kinema.splat.splats import Splats
from kinema.splat.transfer import transfer_weights

NAMES = ("khronos_fox", "kaykit_knight", "cow")
COUNT = 10_000


def characters(names: tuple[str, ...] = NAMES) -> Iterator[Character]:
    from kinema.asset.load import load

    folder = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data")) / "assets"
    if folder.is_dir():
        for name in names:
            yield load(folder / f"{name}.glb")
    else:
        from kinema.create.creatures import creature

        yield creature("fox")


def on_white(image: Image) -> Tensor:
    return image.over(torch.ones(())).clamp(0, 1)


def rest_quality(character: Character) -> Iterator[tuple[str, float]]:
    mesh = character.mesh
    cameras = orbit_views(mesh, 20, size_px=256, rng=np.random.default_rng(99), elevation_deg=(-5.0, 45.0))
    seen = raycast(mesh, cameras, samples=4)
    truth = on_white(Image(seen[:, :3], seen[:, 3]))
    wall, cpu = time.perf_counter(), time.process_time()
    splats, _ = Splats.from_mesh(mesh, COUNT, rng=np.random.default_rng(0))
    yield "direct_wall", time.perf_counter() - wall
    yield "direct_cpu", time.process_time() - cpu
    yield "direct_psnr", psnr(on_white(render_splats(splats, cameras)), truth)
    wall, cpu = time.perf_counter(), time.process_time()
    refined = refine(splats, mesh, rng=np.random.default_rng(1))
    yield "refined_wall", time.perf_counter() - wall
    yield "refined_cpu", time.process_time() - cpu
    yield "refined_psnr", psnr(on_white(render_splats(refined, cameras)), truth)


def posed_psnr(
    character: Character, splats: Splats, skin: Skin, *, per_clip: int, most: int = 30, size: int = 256
) -> list[float]:
    """PSNR of `per_clip` frames of the clips (at most `most`, evenly picked), each from another side and framed."""
    assert character.skeleton is not None
    mesh, rig = character.mesh, Rig.from_skeleton(character.skeleton)
    vertex_skin = Skin.from_character(character)
    vertices = torch.from_numpy(mesh.vertices).float()
    found = []
    step = -(-len(character.clips) * per_clip // most)
    for number, clip in enumerate(character.clips[::step]):
        motion = Motion.from_clip(rig, clip)
        for k in range(per_clip):
            frame = round((k + 0.5) / per_clip * (len(motion) - 1))
            T = motion[frame : frame + 1].pose(rig)
            truth_points = skin_points(blend(vertex_skin, rig, T), vertices)
            low, high = truth_points[0].amin(0), truth_points[0].amax(0)
            extent = (high - low).double().numpy()
            yaw, up = float((number * per_clip + k) * 137.5 % 360), 15.0
            image = {"width": size, "height": size}
            distance = framing_distance(extent, fovy_deg=35.0, yaw_deg=yaw, elevation_deg=up, **image)
            camera = follow(((low + high) / 2)[None], Viewpoint(yaw, up), distance=distance, **image)
            seen = raycast(mesh, camera, vertices=truth_points.double().numpy(), samples=3)
            posed = pose_splats(splats, skin, rig, T)
            ours = rasterize(posed.centers, posed.covariances, splats.opacities, splats.colors, camera)
            found.append(psnr(on_white(ours), on_white(Image(seen[:, :3], seen[:, 3]))))
    return found


def posed_quality(character: Character) -> Iterator[tuple[str, float]]:
    splats, places = Splats.from_mesh(character.mesh, COUNT, rng=np.random.default_rng(0))
    skin = transfer_weights(character, places)
    found = posed_psnr(character, splats, skin, per_clip=2)
    yield "posed_frames", len(found)
    yield "posed_psnr_least", min(found)
    yield "posed_psnr_mean", float(np.mean(found))


def scene_cost(*, rounds: int = 12) -> Iterator[tuple[str, float]]:
    """The same gradients in both: to centres and covariances."""
    character = next(characters(("khronos_fox",)))
    frames, count, size = 49, 20_000, 256
    splats, _ = Splats.from_mesh(character.mesh, count, rng=np.random.default_rng(0))
    drift = torch.linspace(0, 1, frames)[:, None, None] * torch.tensor([0.0, 0.0, 0.5])
    centers = (splats.centers + drift).requires_grad_()
    covariances = splats.covariances.expand(frames, -1, -1, -1).contiguous().requires_grad_()
    colors, opacities = splats.colors, splats.opacities
    weight = torch.randn(frames, 3, size, size, generator=torch.Generator().manual_seed(0))
    scene = Scene(shadow=Shadow())

    extent = np.ptp(character.mesh.vertices, axis=0).astype(np.float64)
    distance = framing_distance(extent, fovy_deg=35.0, width=size, height=size, yaw_deg=40.0, elevation_deg=12.0)
    path = smooth_path(bounding_boxes(centers).mean(1), sigma=4.0)
    cameras = follow(path, Viewpoint(40.0, 12.0), distance=distance, width=size, height=size)

    def bare() -> Tensor:
        return rasterize(centers, covariances, opacities, colors, cameras).features

    def whole() -> Tensor:
        return render_video(PosedSplats(centers, covariances), opacities, colors, cameras, scene=scene)

    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, render in (("bare", bare), ("whole", whole)):
            cpu = time.process_time()
            torch.autograd.grad(render(), (centers, covariances), weight)
            spent = 1e3 * (time.process_time() - cpu)
            best[name] = min(best.get(name, spent), spent)
    yield "bare_cpu_ms", best["bare"]
    yield "whole_cpu_ms", best["whole"]
    yield "ratio", best["whole"] / best["bare"]
    yield (
        "peak_memory_mb",
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1e3),
    )


def run() -> Iterator[tuple[str, float]]:
    # First, while the process is still small: its memory is one of the figures.
    for metric, value in scene_cost():
        yield f"scene.{metric}", value
    for character in characters():
        for metric, value in (*rest_quality(character), *posed_quality(character)):
            yield f"{character.name}.{metric}", value


if __name__ == "__main__":
    parts = {"scene": scene_cost, "all": run}
    chosen = sys.argv[1] if len(sys.argv) > 1 else "all"
    if chosen in parts:
        figures = parts[chosen]()
    else:
        character = next(characters((chosen,)))
        wanted = sys.argv[2] if len(sys.argv) > 2 else "rest"
        figures = {"rest": rest_quality, "posed": posed_quality}[wanted](character)
    for metric, value in figures:
        print(f"splat.{metric} {value:.4g}", flush=True)
