"""Poses of artists' clips and of motion capture, on their own rigs (not those of `gait/held_out.txt`)."""

from collections import defaultdict
from pathlib import Path

from kinema.collect.keep import keep
from kinema.gait.takes import T_POSE, Take, load_character, read_takes
from kinema.gait.vocabulary import vocabulary
from kinema.motion.motion import Motion
from kinema.posespace.body import Body
from kinema.posespace.shards import BodyPoses
from kinema.posespace.skinned import Skinned

MOST_PER_CLIP, MOST_PER_BODY = 16, 900
"""Poses that are taken of a clip and of a body."""


def recorded_files(shared: Path) -> dict[Path, list[Take]]:
    """Files with clips that may be trained on, and their clips."""
    files: dict[Path, list[Take]] = defaultdict(list)
    for take in read_takes(shared):
        if take.clip:
            files[take.file].append(take)
    return dict(sorted(files.items()))


def recorded_poses(file: Path, takes: list[Take]) -> BodyPoses | None:
    """Poses of the clips of one file; None if none of its clips can be used."""
    character = load_character(file)
    body, clips = Skinned.of(character), {clip.name: clip for clip in character.clips}
    parts, most = [], max(4, min(MOST_PER_CLIP, MOST_PER_BODY // len(takes)))
    for take in takes:
        clip = clips.get(take.clip) or (character.clips[0] if take.captured and character.clips else None)
        if clip is None:
            continue
        motion = Motion.from_clip(body.rig, clip)
        poses = keep(body, motion[T_POSE:] if take.captured else motion, most=most)
        parts += [(poses, words_of(take.name, take.wording))] if poses is not None else []
    return BodyPoses.of(file.stem, takes[0].kind, "recorded", Body.of(character), parts) if parts else None


def words_of(motion: str, wording: str = "") -> str:
    """A verb phrase for a motion: its own, or the first of the vocabulary."""
    return wording or (vocabulary()[motion].wordings[0].doing if motion in vocabulary() else motion)
