"""`kinema inspect`, `splat`, `convert`: characters in and out of files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kinema.cli.arguments import AS_FOUND, AS_NAMED, Asset, Naming, OutFile, Reading, check_seed
from kinema.cli.output import Output
from kinema.errors import KinemaError, check_number
from kinema.options import Flag, named


@dataclass(frozen=True)
class InspectCommand:
    """Show what a character file holds and what is changed so that it can be animated."""

    file: Asset
    """A character file or the words of a built-in creature."""
    reading: Reading = AS_FOUND
    """How the file is read; what is not given is found."""


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
    """How the file is read; what is not given is found."""


def splat(command: SplatCommand, output: Output) -> None:
    import numpy as np

    from kinema.files import check_output
    from kinema.motion.source import find_character
    from kinema.splat.ply import write_ply
    from kinema.splat.splats import Splats

    check_number("--count", command.count, 1, 16_000_000)
    check_seed(command.seed)
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
    """GLB, glTF, BVH, USD, NPZ, JSON, XML (MJCF); FBX and BLEND through Blender."""
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
    """How the file is read; what is not given is found."""


def convert(command: ConvertCommand, output: Output) -> None:
    from kinema.export.write import check_target
    from kinema.export.write import convert as convert_file

    check_number("--fps", command.fps, 1, 240)
    check_target(command.target)
    timing = {"fps": command.fps, "in_place": command.in_place, "loop": command.loop}
    chosen = {"clip": command.clip, "motion": command.motion, "naming": command.naming}
    convert_file(command.source, command.target, **chosen, **timing, **command.reading.arguments())
    output.say(str(command.target), file=command.target)
