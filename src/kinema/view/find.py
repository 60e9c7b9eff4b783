"""What `kinema view WORDS` means."""

from pathlib import Path
from typing import Any

from kinema.errors import KinemaError
from kinema.motion.motion import load_motion
from kinema.motion.source import (
    CONFIG,
    find_character,
    find_motion_of,
    find_path,
    load_result,
    read_config,
    rigged,
)
from kinema.rig.kinematics import Rig
from kinema.view.viewer import Exhibit, exhibit_character


def find_exhibit(words: str, motion: str | None = None, **reading: Any) -> Exhibit:
    """The folder of a run, a motion in it, a character file with its clips, or the words of a creature."""
    if motion is not None:
        character, _, chosen = find_motion_of(words, motion, **reading)
        return Exhibit(character, {Path(motion).stem: chosen}, title=character.name)
    path = find_path(words)
    if path is not None and path.is_dir():
        return _result(path)
    if path is not None and path.suffix.lower() == ".npz":
        return _motion_file(path)
    return exhibit_character(find_character(words, **reading))


def _result(folder: Path) -> Exhibit:
    character, rig, motion = load_result(folder)
    prompt = str(read_config(folder)["config"].get("prompt", "")) or folder.name
    path = folder / "distilled.npz"
    before = load_motion(path, rig) if path.is_file() else None
    return Exhibit(character, {prompt: motion}, before, f"{character.name}: “{prompt}”")


def _motion_file(path: Path) -> Exhibit:
    """Angles alone have no body: the run that they lie in knows it."""
    if not (path.parent / CONFIG).is_file():
        raise KinemaError(f"{path}: a motion has no body; give the character and --motion {path}")
    character = rigged(find_character(read_config(path.parent)["config"]["asset"]))
    assert character.skeleton is not None
    motion = load_motion(path, Rig.from_skeleton(character.skeleton))
    return Exhibit(character, {path.stem: motion}, title=f"{character.name}: {path.name}")
