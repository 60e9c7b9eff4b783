"""`kinema COMMAND`: a command is a dataclass whose field docstrings are its help; it calls one public function.

Nothing heavy is imported here, so `kinema --help` answers at once.
"""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kinema.distill.config import Animate
from kinema.errors import KinemaError
from kinema.prior.nano.config import TrainPrior

Positional = tyro.conf.Positional
Out = Annotated[Path, tyro.conf.arg(aliases=["-o"])]
Axis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]


@dataclass(frozen=True)
class Reading:
    """How a character file is read; what is not given is found."""

    skeleton: Path | None = None
    """Joints for a mesh without a rig: GLB, BVH, BLEND, or JSON with name, parent, head and tail of each."""
    up: Axis | None = None
    """Up axis of the file."""
    facing: Axis | None = None
    """The file's axis that the character looks along."""
    scale: float | None = None
    """Metres per unit of the file."""
    ground: float | None = None
    """Height of the ground along the file's up axis, in the file's units."""


Read = tyro.conf.OmitArgPrefixes[Reading]


@dataclass(frozen=True)
class Inspect:
    """Tell what a character file holds and what is changed to make it a tree of rotations."""

    file: Positional[str]
    """A character file or the words of a built-in creature."""
    reading: Read = Reading()
    json: bool = False
    """Print JSON for machines."""


@dataclass(frozen=True)
class Creature:
    """Make a built-in creature: kinema creature "a red fox" -o fox.glb"""

    words: Positional[str] = ""
    """Species with adjectives; nothing lists the species."""
    out: Out | None = None
    """GLB, BVH, USD, FBX ...; by default WORDS.glb."""
    seed: int | None = None
    """Random variation of proportions and colours."""


@dataclass(frozen=True)
class Rig:
    """Give a mesh a skeleton and skin weights (bone heat)."""

    file: Positional[Path]
    """OBJ, PLY, STL, OFF, GLB ..."""
    out: Out
    """GLB, FBX, USD ..."""
    body: Literal["biped", "quadruped"] | None = None
    """Plan of the skeleton that is put into a mesh when neither the file nor --skeleton has one; found if not given."""
    reading: Read = Reading()


@dataclass(frozen=True)
class Splat:
    """Turn a character into 3D Gaussians (.ply of 3DGS)."""

    file: Positional[str]
    """A character file or the words of a built-in creature."""
    out: Out
    """.ply"""
    count: int = 10_000
    refine: bool = True
    """Optimise against rendered views of the mesh; off: as covered directly."""
    seed: int = 0
    reading: Read = Reading()


@dataclass(frozen=True)
class Render:
    """Film a character and its motion."""

    file: Positional[str]
    """A character file or the words of a built-in creature."""
    out: Out
    """.mp4, .gif, .png for a contact sheet, or a folder for PNG frames."""
    motion: str | None = None
    """A .npz or .bvh motion, or the name of one of the file's clips; nothing turns around the rest pose."""
    width: int = 640
    height: int = 480
    yaw: float = 40.0
    """0 sees the face, 90 the left side [degrees]."""
    elevation: float = 12.0
    transparent: bool = False
    """Only the character, with alpha; for PNG."""
    look: Literal["color", "canonical"] = "color"
    """The asset's colours, or the canonical look that the embedded prior sees."""
    reading: Read = Reading()


@dataclass(frozen=True)
class Track:
    """Project a motion to one that can happen: gravity, contact, friction."""

    file: Positional[str]
    """A character file, the words of a built-in creature, or the folder of a finished run."""
    out: Out
    """GLB, BVH, NPZ ..., or .xml for MJCF with the trajectory beside it."""
    motion: str | None = None
    """A .npz or .bvh motion, or the name of one of the file's clips; by default the first clip."""
    iterations: int = 200
    paper: bool = False
    """Controls per substep, loss at frames, the motion itself as target."""
    simulator: bool = False
    """With a USD file: rigid bodies, joints and ground of the physics schema instead of a skinned character."""
    reading: Read = Reading()


@dataclass(frozen=True)
class Convert:
    """Convert a character with its clips from one format to another."""

    source: Positional[Path]
    """GLB, glTF, BVH, OBJ, PLY, STL, OFF; FBX, BLEND and USD through Blender."""
    target: Positional[Path]
    """GLB, glTF, BVH, USD, NPZ, JSON; FBX and BLEND through Blender."""
    clip: str | None = None
    """Name of the clip to write; by default all that the format can hold."""
    fps: float | None = None
    """Frames per second of the result; by default the clip's."""
    in_place: bool = False
    """Leave the root's travel out."""
    loop: bool = False
    """Close the loop: the last frame meets the first."""
    reading: Read = Reading()


@dataclass(frozen=True)
class Demo:
    """What `make demo` runs: a built-in creature, a procedural walk, and one distilled from the embedded prior."""

    out: Out = Path("demo")
    """Folder for the results."""
    asset: str = "a red fox"
    prompt: str = "a fox is walking"


Command = (
    Animate | Inspect | Creature | Rig | Splat | Render | Track | Convert
    | Annotated[TrainPrior, tyro.conf.subcommand("train-prior")] | Demo
)  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, and turn every expected failure into one line and an exit code."""
    command = tyro.cli(Command, args=arguments, prog="kinema", description="Animate a 3D character from a sentence.")
    try:
        _RUN[type(command)](command)
    except KinemaError as error:
        _fail(str(error), 1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(141) from None
    except MemoryError:
        _fail("out of memory", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 1)


def _fail(message: str, code: int) -> None:
    print(f"kinema: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code)


def _character(words: str, reading: Reading):
    from kinema.pipeline import find_character

    return find_character(words, **asdict(reading))


def _motion(character, name: str | None):
    """The rig with a motion file, a clip of the character by name, or its first clip."""
    from kinema.motion import Motion, load_motion
    from kinema.rig.kinematics import Rig as KinematicRig

    if character.skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton to move")
    rig = KinematicRig.from_skeleton(character.skeleton)
    if name is not None and name.lower().endswith(".npz"):
        return rig, load_motion(Path(name), rig)
    clips = {clip.name: clip for clip in character.clips}
    if name is None and clips:
        return rig, Motion.from_clip(rig, next(iter(clips.values())))
    if name not in clips:
        raise KinemaError(f"{character.name}: has no clip {name!r}; it has {', '.join(clips) or 'none'}")
    return rig, Motion.from_clip(rig, clips[name])


def _inspect(command: Inspect) -> None:
    import json

    from kinema.asset.inspect import describe, inspect_lines

    character = _character(command.file, command.reading)
    print(json.dumps(describe(character)) if command.json else "\n".join(inspect_lines(character)))


def _creature(command: Creature) -> None:
    from kinema.asset.creatures import creature, species

    if not command.words:
        print("\n".join(f"{s.name:14s} {s.family}" for s in species()))
        return
    from kinema.export.write import write

    out = command.out or Path(command.words.strip().replace(" ", "_") + ".glb")
    write(out, creature(command.words, seed=command.seed))
    print(out)


def _rig(command: Rig) -> None:
    from kinema.asset.load import load
    from kinema.export.write import write
    from kinema.rig.bone_heat import rig_character
    from kinema.rig.embed import auto_rig

    character = load(command.file, **asdict(command.reading))
    skeleton = character.skeleton
    write(command.out, rig_character(character, skeleton) if skeleton else auto_rig(character, command.body))
    print(command.out)


def _splat(command: Splat) -> None:
    import numpy as np

    from kinema.splat.ply import write_ply
    from kinema.splat.splats import Splats

    mesh = _character(command.file, command.reading).mesh
    splats, _ = Splats.from_mesh(mesh, command.count, rng=np.random.default_rng(command.seed))
    if command.refine:
        from kinema.render.refine import refine

        splats = refine(splats, mesh, rng=np.random.default_rng(command.seed))
    write_ply(command.out, splats)
    print(command.out)


def _render(command: Render) -> None:
    from kinema.render.show import Film, render_character

    character = _character(command.file, command.reading)
    motion = _motion(character, command.motion)[1] if command.motion is not None else None
    film = Film(
        width=command.width,
        height=command.height,
        yaw_deg=command.yaw,
        elevation_deg=command.elevation,
        transparent=command.transparent,
        look=command.look,
    )
    render_character(character, motion, command.out, film=film)
    print(command.out)


def _track(command: Track) -> None:
    from dataclasses import asdict as fields
    from dataclasses import replace

    from kinema.physics.track import Tracking
    from kinema.pipeline import load_result
    from kinema.terminal import track_with_progress

    if Path(command.file).is_dir():
        character, rig, motion = load_result(Path(command.file))
    else:
        character = _character(command.file, command.reading)
        rig, motion = _motion(character, command.motion)
    options = replace(Tracking.paper() if command.paper else Tracking(), iterations=command.iterations)
    result = track_with_progress(character, rig, motion, options, command.out, simulator=command.simulator)
    print(f"{command.out}: joints {result.joint_error_deg:.1f} degrees from the motion; before and after:")
    before, after = fields(result.before), fields(result.after)
    print("\n".join(f"  {key:14s} {before[key]:10.4g} {after[key]:10.4g}" for key in after))


def _convert(command: Convert) -> None:
    from kinema.export.write import convert

    convert(
        command.source,
        command.target,
        clip=command.clip,
        fps=command.fps,
        in_place=command.in_place,
        loop=command.loop,
        **asdict(command.reading),
    )
    print(command.target)


def _animate(command: Animate) -> None:
    from kinema.terminal import animate_with_progress

    animate_with_progress(command)


def _train_prior(command: TrainPrior) -> None:
    from kinema.terminal import train_with_progress

    train_with_progress(command)


def _demo(command: Demo) -> None:
    from kinema.terminal import demo_with_progress

    demo_with_progress(command.out, command.asset, command.prompt)


_RUN = {
    Animate: _animate,
    Inspect: _inspect,
    Creature: _creature,
    Rig: _rig,
    Splat: _splat,
    Render: _render,
    Track: _track,
    Convert: _convert,
    TrainPrior: _train_prior,
    Demo: _demo,
}
