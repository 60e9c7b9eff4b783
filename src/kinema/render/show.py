"""Render a character and its motion to video files: what `kinema render` does."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.motion.loop import closes
from kinema.motion.motion import Motion
from kinema.render.follow import CameraName, Viewpoint, film_cameras
from kinema.render.harmonics import sh_colors
from kinema.render.rasterize import rasterize
from kinema.render.scene import Scene, render_video
from kinema.render.stage import Look
from kinema.render.video import check_video_output, write_video
from kinema.rig.kinematics import Rig
from kinema.skin import Skin
from kinema.splat.colors import canonical_colors
from kinema.splat.pose import PosedSplats, pose_on_surface, pose_splats, rest_splats
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
    """Under what stands or crawls; swimmers and fliers have none."""
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
) -> None:
    """Render the motion, or a turn around the rest pose when there is none, once for all outputs.

    Args:
        outputs: .mp4, .gif, .png for a contact sheet, or a folder for PNG frames.
        splats: A refined or captured cloud instead of one made from the mesh, with the skin that moves it.
    """
    options, outputs = options or FilmOptions(), [outputs] if isinstance(outputs, Path) else outputs
    for path in outputs:
        check_video_output(path)
        if options.transparent and path.suffix.lower() not in (".png", ""):
            raise KinemaError(f"{path}: only PNG keeps transparency; give .png or a folder")
    if options.width < 1 or options.height < 1:
        raise KinemaError(f"--width {options.width}, --height {options.height}: cannot render pictures of that size")
    rng = np.random.default_rng(0)
    if splats is not None:
        cloud, skin = splats
    elif motion is None:
        cloud, skin = Splats.from_mesh(character.mesh, options.count, rng=rng)[0], None
    else:
        cloud, skin = splat_character(character, options.count, rng=rng)
    options = replace(options, camera="turntable") if motion is None else options
    fps = motion.fps if motion else 24.0
    if motion is not None and closes(motion) and all(path.suffix for path in outputs):
        motion = motion[:-1]  # players repeat films: the last frame of a loop would be shown twice
    lit = options.light if splats is None else 0.0
    _film(character, cloud, lambda c: _posed(character, c, skin, motion, options.turn), outputs, options, lit, fps)


def render_vertices(
    character: Character, vertices: Float[np.ndarray, "frames vertices 3"], outputs: Path | Sequence[Path], *,
    fps: float, options: FilmOptions | None = None,
) -> None:  # fmt: skip
    """Render a mesh whose vertices are known in time, such as that of a deformation field."""
    options = options or FilmOptions()
    mesh = character.mesh
    cloud, at = Splats.from_mesh(mesh, options.count, rng=np.random.default_rng(0))
    rest = np.asarray(mesh.vertices, dtype=np.float64)
    moving = lambda c: pose_on_surface(c, at, mesh.faces, rest, vertices)  # noqa: E731
    _film(character, cloud, moving, outputs, options, options.light, fps)


@torch.no_grad()
def _film(
    character: Character, cloud: Splats, pose: Callable[[Splats], PosedSplats], outputs: Path | Sequence[Path],
    options: FilmOptions, light: float, fps: float,
) -> None:  # fmt: skip
    """Render the cloud as `pose` moves it."""
    posed, shade = pose(cloud), None
    if light and options.look == "color":
        # The cloud one deviation further out: posing both tells where each Gaussian's outside is.
        normal = quaternion_to_matrix(cloud.wxyz)[:, :, 2]
        outer = replace(cloud, centers=cloud.centers + cloud.scales_log[:, :1].exp() * normal)
        outside = pose(outer).centers - posed.centers
        # Light from a wide sky above, a little in front and to the left: 1 - light (1 - n·l) / 2.
        facing = normalize(outside, dim=-1) @ normalize(torch.tensor([0.35, 0.85, 0.4]), dim=0)
        shade = 1 - light * (1 - facing)[..., None] / 2
    write_video(outputs, _frames(options, character, cloud, posed, shade), fps=fps)


def _posed(character: Character, cloud: Splats, skin: Skin | None, motion: Motion | None, turn: int) -> PosedSplats:
    if motion is None:
        return rest_splats(cloud, frames=turn)
    if character.skeleton is None or skin is None:
        raise KinemaError(f"{character.name}: has no rig to play a motion on")
    rig = Rig.from_skeleton(character.skeleton)
    return pose_splats(cloud, skin, rig, motion.pose(rig))


def _frames(
    options: FilmOptions, character: Character, cloud: Splats, posed: PosedSplats, shade: Tensor | None
) -> Iterator[Tensor]:
    """Frames of the film, with alpha if they are transparent; `shade` is a factor of the colours [frames, n, 1]."""
    scene = Scene.under(character, ground=options.ground, shadow=options.shadow)
    canonical = canonical_colors(character, cloud.centers) if options.look == "canonical" else None
    image = {"width": options.width, "height": options.height}
    cameras = film_cameras(posed.centers, options.viewpoint, camera=options.camera, **image)
    for start in range(0, len(posed), CHUNK):
        here = slice(start, start + CHUNK)
        part, seen = posed[here], cameras[here]
        colors = sh_colors(cloud.sh, part.centers, seen.position_world) if canonical is None else canonical
        colors = colors if shade is None else colors * shade[here]
        if options.transparent:
            image = rasterize(part.centers, part.covariances, cloud.opacities, colors, seen, depth=False)
            # PNG has colours that are not multiplied by alpha.
            straight = image.features / image.alpha[:, None].clamp(min=1e-6)
            yield torch.cat((straight, image.alpha[:, None]), 1).clamp(0, 1)
        else:
            yield render_video(part, cloud.opacities, colors, seen, scene=scene)
