"""`kinema render` and `kinema view`: films and the browser."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from kinema.cli.arguments import AS_FOUND, LOCAL, Asset, Listen, OutFile, Reading
from kinema.cli.output import Output
from kinema.errors import check_number
from kinema.options import Flag, named


@dataclass(frozen=True)
class RenderCommand:
    """Film a character and its motion."""

    file: Asset
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    out: OutFile
    """.mp4, .gif, .png for a contact sheet, or a folder for PNG frames."""
    motion: Annotated[str | None, named("MOTION")] = None
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
    """How the file is read; what is not given is found."""


def render(command: RenderCommand, output: Output) -> None:
    from kinema.files import check_output
    from kinema.motion.source import find_character, find_motion_of, find_path
    from kinema.render.follow import Viewpoint
    from kinema.render.show import FilmOptions, render_character

    check_number("--width", command.width, 1, 16384)
    check_number("--height", command.height, 1, 16384)
    if command.out.suffix:
        check_output(command.out)
    motion, path = None, find_path(command.file)
    if command.motion is None and not (path is not None and path.is_dir()):
        character = find_character(command.file, **command.reading.arguments())
    else:
        character, _, motion = find_motion_of(command.file, command.motion, **command.reading.arguments())
    options = FilmOptions(
        width=command.width,
        height=command.height,
        viewpoint=Viewpoint(command.yaw, command.elevation),
        transparent=command.transparent,
        look=command.look,
    )
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
    motion: Annotated[str | None, named("MOTION")] = None
    """NPZ, BVH, JSON or GLB of the same joints, or the name of one of the file's clips; by default all clips."""
    listen: Listen = LOCAL
    """Where the page is found."""
    reading: Reading = AS_FOUND
    """How the file is read; what is not given is found."""


def view(command: ViewCommand, output: Output) -> None:
    from kinema.view.exhibit import find_exhibit
    from kinema.view.viewer import serve

    exhibit = find_exhibit(command.file, command.motion, **command.reading.arguments())
    serve(exhibit, command.listen, announce=lambda url: output.say(f"{url}  (Ctrl-C ends)", url=url))
