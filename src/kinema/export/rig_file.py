"""Writing a rig: with its mesh in any format of `write`, or alone as JSON to be edited or as RigNet's text."""

from pathlib import Path

from kinema.asset.character import Character
from kinema.asset.options import AS_NAMED, NameOptions
from kinema.asset.rignet import write_rignet
from kinema.asset.rigs.orientation import unplace_skeleton
from kinema.asset.skeleton_json import write_skeleton_json
from kinema.errors import KinemaError
from kinema.export.write import check_target, write
from kinema.files import check_output

ALONE = (".json", ".txt")


def check_rig_target(path: Path) -> None:
    """Raise before the work if a rig cannot be written there."""
    if path.suffix.lower() in ALONE:
        check_output(path)
    else:
        check_target(path)


def write_rig(path: Path, character: Character, *, naming: NameOptions = AS_NAMED) -> None:
    """Write a rigged character, or its rig alone in the coordinates of the mesh's own file."""
    suffix = path.suffix.lower()
    if suffix not in ALONE:
        write(path, character, naming=naming)
        return
    if character.skeleton is None:
        raise KinemaError(f"{path}: {character.name} has no skeleton to write")
    if suffix == ".txt":
        write_rignet(path, character)
    else:
        write_skeleton_json(path, unplace_skeleton(character.skeleton, character.frame), roles=character.roles)
