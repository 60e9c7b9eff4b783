"""`kinema film`: a motion guides a video model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kinema.cli.arguments import AS_FOUND, Asset, Reading
from kinema.cli.output import Output
from kinema.options import named


@dataclass(frozen=True)
class FilmCommand:
    """Make a video of a sentence that moves as a motion does: control films steer a video model."""

    file: Asset
    """The folder of a finished run, or a character file or words with --motion."""
    prompt: Annotated[tyro.conf.Positional[str], named("PROMPT")]
    """What the video shows: "a photo of a fox in the snow"."""
    motion: Annotated[str | None, named("MOTION")] = None
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
    """How the file is read; what is not given is found."""


def film(command: FilmCommand, output: Output) -> None:
    from kinema.cli.progress import Bar
    from kinema.job.film import GuidedFilm
    from kinema.job.film import film as make
    from kinema.motion.source import find_motion_of
    from kinema.render.follow import Viewpoint

    character, _, motion = find_motion_of(command.file, command.motion, **command.reading.arguments())
    names = ("prompt", "control", "size", "device", "steps", "guidance", "strength", "seed")
    options = {name: getattr(command, name) for name in names}
    view = Viewpoint(command.yaw, command.elevation)
    with Bar(quiet=output.silent) as bar:
        report = make(
            GuidedFilm(**options, model=command.maker, viewpoint=view),
            character,
            motion,
            command.out,
            progress=bar.update,
        )
    lines = [f"{command.out}/guided.mp4: {report['frames']} frames by {report['with']}"]
    if "difference_deg" in report:
        lines.append(
            f"refitted joints differ by {report['difference_deg']:.1f}° (most {report['worst_joint']},"
            f" {report['worst_joint_deg']:.0f}°); gait {report['gait_before']} -> {report['gait_after']}"
        )
    output.say("\n".join(lines), folder=command.out, **report)
