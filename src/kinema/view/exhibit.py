"""The viewer's content: a character and its motions, found from the words of `kinema view WORDS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinema.asset.character import Character, Clip
from kinema.errors import KinemaError
from kinema.motion.motion import Motion, load_motion
from kinema.motion.source import CONFIG, find_character, find_motion_of, find_path, load_result, read_config
from kinema.rig.kinematics import Rig


@dataclass(frozen=True)
class Exhibit:
    """A character with its motions."""

    character: Character
    motions: Mapping[str, Motion | Clip] = field(default_factory=dict)
    """By name; without any the rest pose is shown."""
    before: Motion | None = None
    """The first motion as it was before physics."""
    title: str = ""

    @property
    def rig(self) -> Rig | None:
        return None if self.character.skeleton is None else Rig.from_skeleton(self.character.skeleton)

    def motion(self, name: str) -> Motion:
        """One of the motions; a file's clip becomes angles only here, because some files have dozens."""
        motion = self.motions[name]
        if isinstance(motion, Motion):
            return motion
        assert self.rig is not None
        return Motion.from_clip(self.rig, motion)


def find_exhibit(words: str, motion: str | None = None, **reading: Any) -> Exhibit:
    """Find a run's folder, a motion in it, a character file with its clips, or a creature by its words."""
    if motion is not None:
        character, _, chosen = find_motion_of(words, motion, **reading)
        return Exhibit(character, {Path(motion).stem: chosen}, title=character.name)
    path = find_path(words)
    if path is not None and path.is_dir():
        character, rig, chosen = load_result(path)
        prompt = read_config(path)[0].prompt or path.name
        earlier = path / "distilled.npz"
        before = load_motion(earlier, rig) if earlier.is_file() else None
        return Exhibit(character, {prompt: chosen}, before, f"{character.name}: “{prompt}”")
    if path is not None and path.suffix.lower() == ".npz":
        # Angles alone have no body: the run whose folder they are in knows it.
        if not (path.parent / CONFIG).is_file():
            raise KinemaError(f"{path}: a motion has no body; give the character and --motion {path}")
        character, _, chosen = find_motion_of(str(path.parent), words)
        return Exhibit(character, {path.stem: chosen}, title=f"{character.name}: {path.name}")
    character = find_character(words, **reading)
    clips = () if character.skeleton is None or character.weights is None else character.clips
    return Exhibit(character, {clip.name: clip for clip in clips}, title=character.name)
