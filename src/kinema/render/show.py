"""A character and its motion to a film: what `kinema render` does."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.camera import Cameras
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.render.follow import View, box_path, follow, framing_distance, turntable
from kinema.render.ground import Ground
from kinema.render.harmonics import sh_colors
from kinema.render.scene import Scene, render_rgba, render_video
from kinema.render.shadow import Shadow, bounding_boxes
from kinema.render.video import check_video_output, write_video
from kinema.rig.kinematics import Rig
from kinema.skin import Skin
from kinema.splat.colors import canonical_colors
from kinema.splat.pose import PosedSplats, pose_splats, rest_splats
from kinema.splat.splats import Splats
from kinema.splat.transfer import splat_character

CHUNK = 24
"""Frames that are rendered at a time."""


@dataclass(frozen=True)
class Film:
    """How a character is shown."""

    width: int = 640
    height: int = 480
    yaw_deg: float = 40.0
    """0 sees the face, 90 the left side."""
    elevation_deg: float = 12.0
    fovy_deg: float = 35.0
    distance: float | None = None
    """In lengths of the longest edge of the character's box; None: so that the whole motion fits."""
    camera: Literal["follow", "still"] = "follow"
    """Whether the camera moves with the character."""
    look: Literal["color", "canonical"] = "color"
    """The asset's colours, or where on the body a point is (what the embedded prior sees)."""
    light: float = 0.4
    """How much darker the colours are where the surface looks down; 0 shows the asset's own colours. A cloud that was
    given is never lit: it has its light in its colours."""
    ground: bool = True
    shadow: bool = True
    transparent: bool = False
    """Only the character, with alpha; for PNG."""
    count: int = 20_000
    """Gaussians."""
    turn: int = 72
    """Frames of the turntable that is shown without a motion."""


def render_character(
    character: Character,
    motion: Motion | None,
    out: Path,
    *,
    film: Film | None = None,
    splats: tuple[Splats, Skin | None] | None = None,
    seed: int = 0,
) -> None:
    """Write a film of the motion, or of a turn around the rest pose when there is none.

    Args:
        character: Rigged if there is a motion.
        motion: In the character's own rig.
        out: .mp4, .gif, .png for a contact sheet, or a folder for PNG frames.
        film: Size, camera and surroundings.
        splats: A refined or captured cloud instead of one made from the mesh, with the skin that moves it.
        seed: Of the sampling of the surface.
    """
    film = film or Film()
    check_video_output(out)
    if film.transparent and out.suffix.lower() not in (".png", ""):
        raise KinemaError(f"{out}: only PNG keeps transparency; give .png or a folder")
    if film.width < 1 or film.height < 1:
        raise KinemaError(f"--width {film.width}, --height {film.height}: cannot render pictures of that size")
    rng = np.random.default_rng(seed)
    if splats is not None:
        cloud, skin = splats
    elif motion is None:
        cloud, skin = Splats.from_mesh(character.mesh, film.count, rng=rng)[0], None
    else:
        cloud, skin = splat_character(character, film.count, rng=rng)
    with torch.no_grad():
        posed = _posed(character, cloud, skin, motion)
        shade = None
        if film.light and splats is None and film.look == "color":
            shade = _shade(film, posed, _posed(character, _lifted(cloud), skin, motion))
        cameras, posed = _cameras(film, posed, still_life=motion is None)
        chunks = _frames(film, character, cloud, posed, cameras, shade)
        write_video(out, chunks, fps=motion.fps if motion else 24.0)


def _posed(character: Character, cloud: Splats, skin: Skin | None, motion: Motion | None) -> PosedSplats:
    if motion is None:
        return rest_splats(cloud)
    if character.skeleton is None or skin is None:
        raise KinemaError(f"{character.name}: has no rig to play a motion on")
    rig = Rig.from_skeleton(character.skeleton)
    return pose_splats(cloud, skin, rig, motion.pose(rig))


def _lifted(cloud: Splats) -> Splats:
    """The cloud one deviation further out, so that posing both tells where each Gaussian's outside is."""
    normal = quaternion_to_matrix(cloud.wxyz)[:, :, 2]
    return replace(cloud, centers=cloud.centers + cloud.scales_log[:, :1].exp() * normal)


def _shade(film: Film, posed: PosedSplats, lifted: PosedSplats) -> Float[Tensor, "frames n 1"]:
    """Light from a wide sky above, a little in front and to the left: 1 - light (1 - n·l) / 2."""
    normal = torch.nn.functional.normalize(lifted.centers - posed.centers, dim=-1)
    toward = torch.nn.functional.normalize(torch.tensor([0.35, 0.85, 0.4]), dim=0)
    return 1 - film.light * (1 - normal @ toward)[..., None] / 2


def _cameras(film: Film, posed: PosedSplats, *, still_life: bool) -> tuple[Cameras, PosedSplats]:
    boxes = bounding_boxes(posed.centers)
    path = box_path(posed.centers)
    if film.camera == "still":
        path = (boxes[:, 0].amin(0) + boxes[:, 1].amax(0)).expand(len(posed), 3) / 2
    # The box around the path that holds the character in every frame.
    extent = 2 * (boxes - path[:, None]).abs().amax((0, 1)).double().numpy()
    options = {"fovy_deg": film.fovy_deg, "width": film.width, "height": film.height}
    distance = film.distance or framing_distance(
        extent, yaw_deg=None if still_life else film.yaw_deg, elevation_deg=film.elevation_deg, **options
    )
    view = View(film.yaw_deg, film.elevation_deg, distance, film.fovy_deg)
    place = {"size": float(extent.max()), "width": film.width, "height": film.height}
    if not still_life:
        return follow(path, view, **place), posed
    held = PosedSplats(posed.centers.expand(film.turn, -1, -1), posed.covariances.expand(film.turn, -1, -1, -1))
    return turntable(path[0], view, frames=film.turn, **place), held


def _frames(
    film: Film,
    character: Character,
    cloud: Splats,
    posed: PosedSplats,
    cameras: Cameras,
    shade: Float[Tensor, "frames n 1"] | None,
) -> Iterator[Tensor]:
    low, high = character.mesh.vertices.min(0), character.mesh.vertices.max(0)
    size = float((high - low).max())
    ground = Ground(tile=_round_tile(size)) if film.ground else None
    scene = Scene(ground=ground, shadow=Shadow(falloff=4 / size) if film.shadow and film.ground else None)
    canonical = canonical_colors(character, cloud.centers) if film.look == "canonical" else None
    for start in range(0, len(cameras), CHUNK):
        part, seen = posed[start : start + CHUNK], cameras[start : start + CHUNK]
        colors = sh_colors(cloud.sh, part.centers, seen.position_world) if canonical is None else canonical
        if shade is not None:
            colors = colors * (shade if len(shade) == 1 else shade[start : start + CHUNK])
        if film.transparent:
            yield render_rgba(part, cloud.opacities, colors, seen)
        else:
            yield render_video(part, cloud.opacities, colors, seen, scene=scene)


def _round_tile(size: float) -> float:
    """A quarter of the character, rounded to 1, 2 or 5 times a power of ten."""
    target = size / 4
    power = 10.0 ** np.floor(np.log10(target))
    return float(power * min((1, 2, 5, 10), key=lambda digit: abs(np.log(digit * power / target))))
