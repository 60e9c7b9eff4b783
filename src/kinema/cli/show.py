"""`kinema render`, `film` and `view`: films, those of a video model that a motion guides, and the browser."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kinema.cli.arguments import AS_FOUND, LOCAL, Asset, Listen, OutFile, Reading, check_ranges
from kinema.cli.output import Output
from kinema.options import Flag, named


@dataclass(frozen=True)
class RenderCommand:
    """Film a character and its motion."""

    file: Asset
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    out: OutFile
    """.mp4, .gif, .png for a contact sheet, or a folder for PNG frames."""
    motion: Annotated[str | None, named("MOTION", "--clip")] = None
    """NPZ, BVH, JSON or GLB of the same joints, or the name of one of the file's clips; by default a turn at rest."""
    splats: Annotated[Path | None, named("FILE")] = None
    """A captured or refined cloud (.ply) in the character's place at rest; its mesh then only moves the cloud."""
    width: int = 640
    """Width of the picture [px]."""
    height: int = 480
    """Height of the picture [px]."""
    yaw: float = 40.0
    """0 sees the face, 90 the left side [degrees]."""
    elevation: float = 12.0
    """Angle of the camera over the horizon [degrees]."""
    transparent: Flag = False
    """Only the character, with alpha; for PNG."""
    look: Literal["color", "canonical"] = "color"
    """The asset's colours, or the canonical look that the embedded prior sees."""
    reading: Reading = AS_FOUND


def render(command: RenderCommand, output: Output) -> None:
    from kinema.asset.motion_npz import check_motion

    check_motion(command.motion)
    from kinema.files import check_output
    from kinema.motion.source import find_character, find_motion_of, find_path
    from kinema.render.follow import Viewpoint
    from kinema.render.show import FilmOptions, render_character

    check_ranges(command, width=(1, 16384), height=(1, 16384))
    if command.out.suffix:
        check_output(command.out)
    motion, path = None, find_path(command.file)
    if command.motion is None and not (path is not None and path.is_dir()):
        character = find_character(command.file, **command.reading.arguments())
    else:
        character, _, motion = find_motion_of(command.file, command.motion, **command.reading.arguments())
    look = {name: getattr(command, name) for name in ("width", "height", "transparent", "look")}
    options = FilmOptions(**look, viewpoint=Viewpoint(command.yaw, command.elevation))
    splats = None
    if command.splats is not None:
        from kinema.splat.ply import read_ply
        from kinema.splat.transfer import transfer_weights

        cloud = read_ply(command.splats)
        splats = cloud, None if motion is None else transfer_weights(character, cloud.centers)
    render_character(character, motion, command.out, options=options, splats=splats)
    output.say(str(command.out), file=command.out)


@dataclass(frozen=True)
class ViewCommand:
    """Show a finished run, a character or its clips in the browser, until Ctrl-C."""

    file: Asset
    """The folder of a finished run, a character file, a motion in a run's folder, or the words of a creature."""
    motion: Annotated[str | None, named("MOTION", "--clip")] = None
    """NPZ, BVH, JSON or GLB of the same joints, or the name of one of the file's clips; by default all clips."""
    listen: Listen = LOCAL
    """Where the page is found."""
    reading: Reading = AS_FOUND


def view(command: ViewCommand, output: Output) -> None:
    from kinema.asset.motion_npz import check_motion

    check_motion(command.motion)
    from kinema.view.exhibit import find_exhibit
    from kinema.view.viewer import serve

    exhibit = find_exhibit(command.file, command.motion, **command.reading.arguments())
    serve(exhibit, command.listen, announce=lambda url: output.say(f"{url}  (Ctrl-C ends)", url=url))


@dataclass(frozen=True)
class FilmCommand:
    """Make a video of a sentence that moves as a motion does: control films steer a video model."""

    file: Asset
    """The folder of a finished run, or a character file or words with --motion."""
    prompt: Annotated[tyro.conf.Positional[str], named("PROMPT")]
    """What the video shows: "a photo of a fox in the snow"."""
    motion: Annotated[str | None, named("MOTION", "--clip")] = None
    """NPZ, BVH, JSON or GLB of the same joints, or the name of one of the file's clips; by default its first clip."""
    maker: Annotated[str | None, tyro.conf.arg(name="with", metavar="NAME[=FOLDER]", help_behavior_hint="")] = None
    """wan-vace or cogvideox-fun, with a checkpoint in diffusers' layout; by default nano, whose joints are refitted."""
    out: Annotated[Path, named("FOLDER", "-o")] = Path("runs/film")
    """Folder for guided.mp4, the control films, the first frame and the report."""
    control: Literal["depth", "edges", "sticks", "body"] = "depth"
    """What the model follows; `body` keeps the rendered body (Wan VACE) and paints the world around it."""
    size: Annotated[tuple[int, int, int] | None, named("FRAMES HEIGHT WIDTH")] = None
    """Size of the films; by default what the model was trained with, as long as the motion."""
    yaw: float = 40.0
    """0 sees the face, 90 the left side [degrees]."""
    elevation: float = 12.0
    """Angle of the camera over the horizon [degrees]."""
    device: str = "cpu"
    """Where the video model runs: cpu, cuda, cuda:1 ..."""
    steps: int = 30
    """Steps of the video model's sampler."""
    guidance: Annotated[float | None, named("FLOAT")] = None
    """Classifier-free guidance; by default 5, of nano 2."""
    strength: float = 0.5
    """How far nano's videos of the motion are taken to noise: 0 keeps them, 0.98 keeps nothing."""
    seed: int = 0
    """Seed of everything random."""
    reading: Reading = AS_FOUND


def film(command: FilmCommand, output: Output) -> None:
    from kinema.asset.motion_npz import check_motion

    check_motion(command.motion)
    from kinema.cli.progress import Bar
    from kinema.job.film import GuidedFilm
    from kinema.job.film import film as make
    from kinema.motion.source import find_motion_of
    from kinema.render.follow import Viewpoint

    character, _, motion = find_motion_of(command.file, command.motion, **command.reading.arguments())
    names = ("prompt", "control", "size", "device", "steps", "guidance", "strength", "seed")
    options = {name: getattr(command, name) for name in names}
    guided = GuidedFilm(**options, model=command.maker, viewpoint=Viewpoint(command.yaw, command.elevation))
    with Bar(quiet=output.silent) as bar:
        report = make(guided, character, motion, command.out, progress=bar.update)
    lines = [f"{command.out}/guided.mp4: {report['frames']} frames by {report['with']}"]
    if "difference_deg" in report:
        lines.append(
            f"refitted joints differ by {report['difference_deg']:.1f}° (most {report['worst_joint']},"
            f" {report['worst_joint_deg']:.0f}°); gait {report['gait_before']} -> {report['gait_after']}"
        )
    output.say("\n".join(lines), folder=command.out, **report)
