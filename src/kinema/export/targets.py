"""What can be written, told by the suffix of a path. Imports nothing heavy, so that a bad path is refused at once."""

from pathlib import Path

from kinema.errors import KinemaError
from kinema.files import check_output

GLTF, BLENDER, USD = (".glb", ".gltf"), (".fbx", ".blend"), (".usd", ".usda", ".usdc", ".usdz")
SUFFIXES = (*GLTF, ".bvh", *USD, *BLENDER, ".npz", ".json", ".xml", ".vrma")
"""Formats of characters and motions; `export.write` has a writer for each."""
ALONE = (".json", ".txt")
"""Formats of a rig without its mesh."""


def check_target(path: Path, *, simulator: bool = False) -> None:
    """Raise before the work if `path` cannot be written; a simulator's scene can only be a USD that is not packed."""
    known = USD[:-1] if simulator else SUFFIXES
    if path.is_dir():
        raise KinemaError(f"{path}: is a folder; give the name of a file: {' '.join(known)}")
    if path.suffix.lower() not in known:
        raise KinemaError(f"{path}: cannot write {path.suffix or 'files without a suffix'}; can: {' '.join(known)}")
    check_output(path)


def check_rig_target(path: Path) -> None:
    """Raise before the work if a rig cannot be written there."""
    if path.suffix.lower() in ALONE:
        check_output(path)
    else:
        check_target(path)
