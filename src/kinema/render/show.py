"""Render a character and its motion to video files: what `kinema render` does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.motion.motion import Motion
from kinema.render.follow import CameraName, Viewpoint, film_cameras
from kinema.render.ground import Ground, round_length
from kinema.render.harmonics import sh_colors
from kinema.render.scene import Scene, render_rgba, render_video
from kinema.render.shadow import Shadow
from kinema.render.stage import Look
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
class FilmOptions:
    """Size, camera and look of a film."""

    width: int = 640
    height: int = 480
    viewpoint: Viewpoint = field(default_factory=Viewpoint)
    camera: CameraName = "follow"
    """Without a motion it is always the turntable."""
    look: Look = "color"
    """The asset's colours, or the position on the body as a colour."""
    light: float = 0.4
    """Share by which surfaces that look down are darker; 0 shows the asset's own colours. A cloud that was given is
    never lit: it has its light in its colours."""
    ground: bool = True
    shadow: bool = True
    transparent: bool = False
    """Only the character, with alpha; for PNG."""
    count: int = 20_000
    """Gaussians."""
    turn: int = 72
    """Frames of the turntable."""


def render_character(
    character: Character,
    motion: Motion | None,
    outputs: Path | Sequence[Path],
    *,
    options: FilmOptions | None = None,
    splats: tuple[Splats, Skin | None] | None = None,
    seed: int = 0,
) -> None:
    """Render the motion, or a turn around the rest pose when there is none, once for all outputs.

    Args:
        character: Rigged if there is a motion.
        motion: In the character's own rig.
        outputs: One path or several: .mp4, .gif, .png for a contact sheet, or a folder for PNG frames.
        options: Size, camera and surroundings.
        splats: A refined or captured cloud instead of one made from the mesh, with the skin that moves it.
        seed: Seed of the sampling of the surface.
    """
    options = options or FilmOptions()
    for path in [outputs] if isinstance(outputs, Path) else outputs:
        check_video_output(path)
        if options.transparent and path.suffix.lower() not in (".png", ""):
            raise KinemaError(f"{path}: only PNG keeps transparency; give .png or a folder")
    if options.width < 1 or options.height < 1:
        raise KinemaError(f"--width {options.width}, --height {options.height}: cannot render pictures of that size")
    rng = np.random.default_rng(seed)
    if splats is not None:
        cloud, skin = splats
    elif motion is None:
        cloud, skin = Splats.from_mesh(character.mesh, options.count, rng=rng)[0], None
    else:
        cloud, skin = splat_character(character, options.count, rng=rng)
    with torch.no_grad():
        posed = _posed(character, cloud, skin, motion, options.turn)
        shade = None
        if options.light and splats is None and options.look == "color":
            shade = _shade(options.light, posed, _posed(character, _lifted(cloud), skin, motion, options.turn))
        camera = "turntable" if motion is None else options.camera
        chunks = _frames(options, camera, character, cloud, posed, shade)
        write_video(outputs, chunks, fps=motion.fps if motion else 24.0)


def _posed(character: Character, cloud: Splats, skin: Skin | None, motion: Motion | None, turn: int) -> PosedSplats:
    if motion is None:
        return rest_splats(cloud, frames=turn)
    if character.skeleton is None or skin is None:
        raise KinemaError(f"{character.name}: has no rig to play a motion on")
    rig = Rig.from_skeleton(character.skeleton)
    return pose_splats(cloud, skin, rig, motion.pose(rig))


def _lifted(cloud: Splats) -> Splats:
    """The cloud one deviation further out, so that posing both tells where each Gaussian's outside is."""
    normal = quaternion_to_matrix(cloud.wxyz)[:, :, 2]
    return replace(cloud, centers=cloud.centers + cloud.scales_log[:, :1].exp() * normal)


def _shade(light: float, posed: PosedSplats, lifted: PosedSplats) -> Float[Tensor, "frames n 1"]:
    """Light from a wide sky above, a little in front and to the left: 1 - light (1 - n·l) / 2."""
    normal = torch.nn.functional.normalize(lifted.centers - posed.centers, dim=-1)
    toward = torch.nn.functional.normalize(torch.tensor([0.35, 0.85, 0.4]), dim=0)
    return 1 - light * (1 - normal @ toward)[..., None] / 2


def _frames(
    options: FilmOptions,
    camera: CameraName,
    character: Character,
    cloud: Splats,
    posed: PosedSplats,
    shade: Float[Tensor, "frames n 1"] | None,
) -> Iterator[Tensor]:
    size = float(np.ptp(character.mesh.vertices, axis=0).max())
    ground = Ground(tile=round_length(size / 4)) if options.ground else None
    scene = Scene(ground=ground, shadow=Shadow(falloff=4 / size) if options.shadow and options.ground else None)
    canonical = canonical_colors(character, cloud.centers) if options.look == "canonical" else None
    cameras = film_cameras(posed.centers, options.viewpoint, camera=camera, width=options.width, height=options.height)
    for start in range(0, len(posed), CHUNK):
        here = slice(start, start + CHUNK)
        part, seen = posed[here], cameras[here]
        colors = sh_colors(cloud.sh, part.centers, seen.position_world) if canonical is None else canonical
        if shade is not None:
            colors = colors * shade[here]
        if options.transparent:
            yield render_rgba(part, cloud.opacities, colors, seen)
        else:
            yield render_video(part, cloud.opacities, colors, seen, scene=scene)
