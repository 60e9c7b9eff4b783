"""`kinema create` (and `creature`, its former name): words, or a picture, to a rigged character."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kinema.cli.arguments import AS_NAMED, Naming, check_seed
from kinema.cli.output import Output
from kinema.create.options import MADE_HERE, MakerOptions
from kinema.options import named


@dataclass(frozen=True)
class CreateCommand:
    """Make a character from words: kinema create "a small black wolf" -o wolf.glb"""

    words: Annotated[tyro.conf.Positional[str], named("WORDS")] = ""
    """What it is, with adjectives; without words the built-in species are listed."""
    out: Annotated[Path | None, named("FILE", "-o")] = None
    """GLB, BVH, USD, FBX ...; by default WORDS.glb."""
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

    check_seed(command.seed)
    if not command.words.strip() and command.making.image is None:
        text = "\n".join(f"{s.name:14s} {s.family}" for s in species())
        output.say(text, species={s.name: s.family for s in species()})
        return
    from kinema.create.make import make_character
    from kinema.export.write import check_target, write
    from kinema.motion.source import rigged

    called = command.words.strip() or (command.making.image or Path("made")).stem
    out = command.out or Path(called.replace(" ", "_")[:60] + ".glb")
    check_target(out)
    made = make_character(command.words, command.making, seed=command.seed)
    for note in made.notes:
        output.hint(note)
    write(out, rigged(made.character), naming=command.naming)
    output.say(str(out), file=out, **({"notes": made.notes} if made.notes else {}))
