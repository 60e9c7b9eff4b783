"""`kinema inspect`, `create`, `splat`, `convert`: characters in and out of files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kinema.cli.arguments import AS_FOUND, AS_NAMED, SEEDS, Asset, Naming, OutFile, Reading, check_ranges
from kinema.cli.output import Output
from kinema.create.options import MADE_HERE, MakerOptions
from kinema.errors import KinemaError
from kinema.files import unused
from kinema.options import Flag, named


@dataclass(frozen=True)
class InspectCommand:
    """Show what a character file holds and what is changed so that it can be animated."""

    file: Asset
    """A character file or the words of a built-in creature."""
    reading: Reading = AS_FOUND


def inspect(command: InspectCommand, output: Output) -> None:
    from kinema.create.find import find_character

    character = find_character(command.file, **command.reading.arguments())
    from kinema.asset.inspect import describe, inspect_lines
    from kinema.rig.describe import describe_roles, role_lines

    roles = describe_roles(character) if character.skeleton is not None else None
    text = "" if output.json else "\n".join(inspect_lines(character, roles=role_lines(roles) if roles else ()))
    output.say(text, **describe(character), roles=roles)


@dataclass(frozen=True)
class SplatCommand:
    """Turn a character into 3D Gaussians (.ply of 3DGS)."""

    file: Asset
    """A character file or the words of a built-in creature."""
    out: OutFile
    """.ply"""
    count: int = 10_000
    """Number of Gaussians."""
    refine: bool = True
    """Optimise against rendered views of the mesh; off: as covered directly."""
    seed: int = 0
    """Seed of the sampling of the surface."""
    reading: Reading = AS_FOUND


def splat(command: SplatCommand, output: Output) -> None:
    import numpy as np

    from kinema.files import check_output
    from kinema.motion.source import find_character
    from kinema.splat.ply import write_ply
    from kinema.splat.splats import Splats

    check_ranges(command, count=(1, 16_000_000), seed=SEEDS)
    if command.out.suffix.lower() != ".ply":
        raise KinemaError(f"{command.out}: Gaussians are written as .ply")
    check_output(command.out)
    mesh = find_character(command.file, **command.reading.arguments()).mesh
    splats, _ = Splats.from_mesh(mesh, command.count, rng=np.random.default_rng(command.seed))
    if command.refine:
        from kinema.render.refine import refine

        splats = refine(splats, mesh, rng=np.random.default_rng(command.seed))
    write_ply(command.out, splats)
    output.say(str(command.out), file=command.out, count=len(splats.centers))


@dataclass(frozen=True)
class ConvertCommand:
    """Convert a character with its clips, or with a motion, from one format to another."""

    source: Annotated[tyro.conf.Positional[str], named("SOURCE")]
    """GLB, glTF, BVH, OBJ, PLY, STL, OFF; FBX, BLEND and USD through Blender; the folder of a run, or a creature."""
    target: Annotated[tyro.conf.Positional[Path], named("TARGET")]
    """GLB, glTF, BVH, USD, VRMA, NPZ, JSON, XML (MJCF); FBX and BLEND through Blender."""
    clip: Annotated[str | None, named("NAME")] = None
    """Name of the clip to write; by default all that the format can hold."""
    motion: Annotated[str | None, named("FILE")] = None
    """A motion of the same joints (NPZ, BVH, JSON, GLB), such as the viewer gives, to write with the character."""
    fps: Annotated[float | None, named("FLOAT")] = None
    """Frames per second of the result; by default the clip's."""
    in_place: Flag = False
    """Leave the root's travel out."""
    loop: Flag = False
    """Close the loop: the last frame meets the first."""
    naming: Naming = AS_NAMED
    """How joints and clips are called."""
    reading: Reading = AS_FOUND


def convert(command: ConvertCommand, output: Output) -> None:
    from kinema.export.convert import convert as convert_file
    from kinema.export.targets import check_target

    check_ranges(command, fps=(1, 240))
    check_target(command.target)
    timing = {"fps": command.fps, "in_place": command.in_place, "loop": command.loop}
    chosen = {"clip": command.clip, "motion": command.motion, "naming": command.naming}
    convert_file(command.source, command.target, **chosen, **timing, **command.reading.arguments())
    output.say(str(command.target), file=command.target)


@dataclass(frozen=True)
class CreateCommand:
    """Make a character from words: kinema create "a small black wolf" -o wolf.glb"""

    words: Annotated[tyro.conf.Positional[str], named("WORDS")] = ""
    """What it is, with adjectives; without words the built-in species are listed."""
    out: Annotated[Path | None, named("FILE", "-o")] = None
    """GLB, BVH, USD, FBX ...; by default WORDS.glb, numbered if that is there."""
    seed: Annotated[int | None, named("INT")] = None
    """Random variation of proportions and colours, or of what a model makes; by default none."""
    making: tyro.conf.OmitArgPrefixes[MakerOptions] = MADE_HERE
    """Who makes the mesh; by default it is a built-in body."""
    naming: Naming = AS_NAMED
    """How joints are called."""


@dataclass(frozen=True)
class CreatureCommand(CreateCommand):
    """The same as `kinema create`."""


def create(command: CreateCommand, output: Output) -> None:
    from kinema.create.creatures import species

    check_ranges(command, seed=SEEDS)
    if not command.words.strip() and command.making.image is None:
        text = "\n".join(f"{s.name:14s} {s.family}" for s in species())
        output.say(text, species={s.name: s.family for s in species()})
        return
    from kinema.create.make import make_character
    from kinema.export.targets import check_target

    called = command.words.strip() or (command.making.image or Path("made")).stem
    out = command.out or unused(Path(called.replace(" ", "_")[:60] + ".glb"))
    check_target(out)
    made = make_character(command.words, command.making, seed=command.seed)
    for note in made.notes:
        output.hint(note)
    from kinema.export.write import write
    from kinema.motion.source import rigged

    write(out, rigged(made.character), naming=command.naming)
    output.say(str(out), file=out, **({"notes": made.notes} if made.notes else {}))
