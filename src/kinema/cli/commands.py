"""The commands and their options: one dataclass each, whose field docstrings are the help.

Light, so that `kinema --help` and shell completion answer at once.
"""

import re
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from textwrap import fill
from typing import Annotated, Literal

import tyro

from kinema.distill.config import Animate
from kinema.options import Flag, named
from kinema.prior.nano.config import TrainPrior
from kinema.view.server import Address

Asset = Annotated[tyro.conf.Positional[str], named("ASSET")]
Axis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]


OutFile = Annotated[Path, named("FILE", "-o")]
OutFolder = Annotated[Path, named("FOLDER", "-o")]


@dataclass(frozen=True)
class Reading:
    """How a character file is read; what is not given is found."""

    skeleton: Annotated[Path | None, named("FILE")] = None
    """Joints for a mesh without a rig: GLB, BVH, BLEND, or JSON with name, parent, head and tail of each."""
    up: Annotated[Axis | None, named("AXIS")] = None
    """Up axis of the file: +x -x +y -y +z -z."""
    facing: Annotated[Axis | None, named("AXIS")] = None
    """The file's axis that the character looks along."""
    scale: Annotated[float | None, named("METRES")] = None
    """Metres per unit of the file."""
    ground: Annotated[float | None, named("HEIGHT")] = None
    """Height of the ground along the file's up axis, in the file's units."""


Read = tyro.conf.OmitArgPrefixes[Reading]


Listen = tyro.conf.OmitArgPrefixes[Address]
HERE = Address()


@dataclass(frozen=True)
class AnimateLive(Animate):
    """Animate a character from a sentence: the main job."""

    live: Flag = False
    """Show the motion in the browser while it comes about: pause, stop and keep, change the losses' weights."""
    listen: Listen = HERE
    """Where the page of --live is found."""

    @property
    def job(self) -> Animate:
        """The job itself: how it is watched is no part of what is saved with it."""
        return Animate(**{field.name: getattr(self, field.name) for field in fields(Animate)})


@dataclass(frozen=True)
class Inspect:
    """Tell what a character file holds and what is changed to make it a tree of rotations."""

    file: Asset
    """A character file or the words of a built-in creature."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Creature:
    """Make a built-in creature: kinema creature "a red fox" -o fox.glb"""

    words: Annotated[tyro.conf.Positional[str], named("WORDS")] = ""
    """Species with adjectives; without words the species are listed."""
    out: Annotated[Path | None, named("FILE", "-o")] = None
    """GLB, BVH, USD, FBX ...; by default WORDS.glb."""
    seed: Annotated[int | None, named("INT")] = None
    """Random variation of proportions and colours; by default none."""


@dataclass(frozen=True)
class Rig:
    """Give a mesh a skeleton and skin weights (bone heat)."""

    file: Annotated[tyro.conf.Positional[Path], named("MESH")]
    """OBJ, PLY, STL, OFF, GLB ..."""
    out: OutFile
    """GLB, FBX, USD ..."""
    body: Annotated[Literal["biped", "quadruped"] | None, named("BODY")] = None
    """biped or quadruped: the plan of joints for a mesh without any; found if not given."""
    visibility: Literal["field", "rays"] = "field"
    """How bone heat sees which bones a vertex lies open to: in Pinocchio's distance field, or by rays."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Splat:
    """Turn a character into 3D Gaussians (.ply of 3DGS)."""

    file: Asset
    """A character file or the words of a built-in creature."""
    out: OutFile
    """.ply"""
    count: int = 10_000
    """How many Gaussians."""
    refine: bool = True
    """Optimise against rendered views of the mesh; off: as covered directly."""
    seed: int = 0
    """Seed of the sampling of the surface."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Render:
    """Film a character and its motion."""

    file: Asset
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    out: OutFile
    """.mp4, .gif, .png for a contact sheet, or a folder for PNG frames."""
    motion: Annotated[str | None, named("MOTION")] = None
    """A .npz or .bvh of the same joints, or the name of one of the file's clips; by default a turn at rest."""
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
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Track:
    """Project a motion to one that can happen: gravity, contact, friction. A killed run goes on when called again."""

    file: Asset
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    out: OutFile
    """GLB, BVH, NPZ ..., or .xml for MJCF with the trajectory beside it."""
    motion: Annotated[str | None, named("MOTION")] = None
    """A .npz or .bvh motion of the same joints, or the name of one of the file's clips; by default the first clip."""
    iterations: int = 200
    """Steps of the search for the controls."""
    paper: Flag = False
    """Controls per substep, loss at frames, the motion itself as target."""
    simulator: Flag = False
    """With a USD file: rigid bodies, joints and ground of the physics schema instead of a skinned character."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Convert:
    """Convert a character with its clips from one format to another."""

    source: Annotated[tyro.conf.Positional[Path], named("SOURCE")]
    """GLB, glTF, BVH, OBJ, PLY, STL, OFF; FBX, BLEND and USD through Blender."""
    target: Annotated[tyro.conf.Positional[Path], named("TARGET")]
    """GLB, glTF, BVH, USD, NPZ, JSON, XML (MJCF); FBX and BLEND through Blender."""
    clip: Annotated[str | None, named("NAME")] = None
    """Name of the clip to write; by default all that the format can hold."""
    fps: Annotated[float | None, named("FLOAT")] = None
    """Frames per second of the result; by default the clip's."""
    in_place: Flag = False
    """Leave the root's travel out."""
    loop: Flag = False
    """Close the loop: the last frame meets the first."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class View:
    """Show a finished run, a character or its clips in the browser, until Ctrl-C."""

    file: Asset
    """The folder of a finished run, a character file, a motion in a run's folder, or the words of a creature."""
    motion: Annotated[str | None, named("MOTION")] = None
    """A .npz or .bvh motion of the same joints, or the name of one of the file's clips; by default all clips."""
    listen: Listen = HERE
    """Where the page is found."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Eval:
    """Measure a clip: its gait, how cleanly feet and ground are treated, and how well a sentence fits."""

    file: Asset
    """The folder of a finished run, a character file with a clip, or the words of a built-in creature with --motion."""
    motion: Annotated[str | None, named("MOTION")] = None
    """A .npz or .bvh motion of the same joints, or the name of one of the file's clips; by default the first clip."""
    prompt: Annotated[str | None, named("PROMPT")] = None
    """A sentence to score the clip with, by the embedded prior; by default that of the run."""
    score: bool = True
    """Ask the prior; off: measure only."""
    videophy: Annotated[Path | None, named("FOLDER")] = None
    """A clone of VideoPhy (github.com/Hritikbansal/videophy): its judge scores the film as well; needs CUDA."""
    videophy_weights: Annotated[Path | None, named("FOLDER")] = None
    """The folder of its weights videophysics/videocon_physics; by default videocon_physics in the clone."""
    videophy_python: Annotated[Path | None, named("FILE")] = None
    """The Python that has VideoPhy's requirements; by default this one."""
    reading: Read = Reading()
    """How the file is read; what is not given is found."""


@dataclass(frozen=True)
class Doctor:
    """Tell what is installed, what can run here, and how much memory and time a job would take."""

    prior: Annotated[str | None, named("NAME")] = None
    """Estimate the memory of a job with this video model, for cards of 8, 12, 24 and 40 GB (takes minutes)."""
    video_size: Annotated[tuple[int, int, int] | None, named("FRAMES HEIGHT WIDTH")] = None
    """Size of that job's videos; by default 49 frames at the size that the model was trained with."""


@dataclass(frozen=True)
class Completion:
    """Print a shell's completion script: eval "$(kinema completion bash)" """

    shell: Annotated[tyro.conf.Positional[Literal["bash", "zsh", "fish"]], named("{bash,zsh,fish}")]
    """Which shell."""


@dataclass(frozen=True)
class Demo:
    """What `make demo` runs: a built-in creature, a procedural walk, and one distilled from the embedded prior."""

    out: OutFolder = Path("demo")
    """Folder for the results; those of an earlier demo are replaced."""
    asset: str = "a red fox"
    """A character file or the words of a built-in creature."""
    prompt: str = "a fox is walking"
    """What it does in the distilled clip."""


Command = (
    Annotated[AnimateLive, tyro.conf.subcommand("animate")] | Inspect | Creature | Rig | Splat | Render | Track
    | Convert | View | Eval | Doctor
    | Annotated[TrainPrior, tyro.conf.subcommand("train-prior")] | Completion | Demo
)  # fmt: skip


@dataclass(frozen=True)
class Kinema:
    """Animate a 3D character from a sentence.

    `kinema --version` tells which one this is. Exit codes: 0 done, 1 an error that one line on stderr explains, 2 wrong
    usage, 70 a bug, 130 interrupted by Ctrl-C, 141 nobody reads the output, 143 terminated.
    """

    command: tyro.conf.OmitArgPrefixes[tyro.conf.OmitSubcommandPrefixes[Command]]
    """What to do."""
    quiet: Annotated[Flag, tyro.conf.arg(aliases=["-q"])] = False
    """Say nothing but errors (and JSON, if asked for)."""
    verbose: Annotated[Flag, tyro.conf.arg(aliases=["-v"])] = False
    """Say more: all warnings, the time of each stage, tracebacks."""
    json: Flag = False
    """Print the result as one line of JSON, for machines."""


def parse(arguments: list[str]) -> Kinema:
    if not {"-h", "--help"} & set(arguments):
        return _parse_or_one_line(arguments)
    shown = TextIOWrapper(BytesIO(), encoding=sys.stdout.encoding)
    shown.isatty = sys.stdout.isatty  # so that colours stay
    try:
        with redirect_stdout(shown):
            return _parse(arguments)
    finally:
        shown.seek(0)
        print(_folded(shown.read(), shutil.get_terminal_size().columns), end="")


def _parse_or_one_line(arguments: list[str]) -> Kinema:
    """tyro explains wrong usage in a box of many lines; what went wrong is in the first."""
    errors = StringIO()
    try:
        with redirect_stderr(errors):
            return _parse(arguments)
    except SystemExit as stop:
        if stop.code:
            print(f"kinema: {_one_line(errors.getvalue())}", file=sys.stderr)
        raise


def _one_line(box: str) -> str:
    plain = re.sub(r"\x1b\[[\d;]*m|[╭╮╰╯│]", "", box)
    # A title, then sections between rules; where there is no Unicode they are made of hyphens.
    _, *sections = [part.strip().split("\n") for part in re.split("─{2,}|-{5,}", plain) if part.strip()] or [[""]]
    said = " ".join(line.strip() for line in sections[0]) if sections else ""
    for section in sections[1:]:
        if section[0].startswith("Perhaps you meant"):
            said += f"; perhaps you meant {section[1].strip()}"
        elif section[0].startswith("Available"):
            said += f"; {' '.join(line.strip() for line in section)}"
    return f"{said or 'wrong usage'} (kinema --help, kinema COMMAND --help)"


def _parse(arguments: list[str]) -> Kinema:
    return tyro.cli(Kinema, args=arguments, prog="kinema", config=(tyro.conf.CascadeSubcommandArgs,))


def _folded(shown: str, width: int) -> str:
    """Help as tyro made it, but lines outside its boxes are folded too, and boxes have no empty ones."""
    lines = []
    for line in shown.splitlines():
        if not re.search("[╭│╰]", line):
            # The commands stand in a box of their own.
            line = re.sub(r"\{animate,.*\}", "COMMAND ...", line)
            line = fill(line, width, subsequent_indent="  " * ("usage:" in line))
        elif not re.search("[^│ ]", re.sub(r"\x1b\[[\d;]*m", "", line)):
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"
