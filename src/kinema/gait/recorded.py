"""Recorded motion as training data: rigs with clips (.npz) and motion capture (.bvh) from a folder, with labels."""

import csv
from pathlib import Path

import numpy as np
import torch

from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Mesh
from kinema.asset.clips_npz import load_clips_npz
from kinema.errors import KinemaError
from kinema.gait.make import Label
from kinema.gait.plan import GaitBody
from kinema.gait.retarget import Recording, retarget
from kinema.motion.feet import fundamental, track_feet
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

HELD_OUT = ("husky", "velociraptor", "frog", "khronos_fox")
"""Rigs that no training may see."""
CMU_SCALE = 0.0564
"""Metres per unit of the motion capture's files."""
T_POSE = 8
"""Frames at the start of a capture that may hold a T-pose."""


Words = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]
"""Words and the motions that they tell, the first one found counts; and words that tell of none."""
CLIP_WORDS: Words = (
    (("walk", "walk"), ("gallop", "gallop"), ("run", "run"), ("survey", "look"), ("idle_2", "look"), ("jump", "jump"),
     ("idle", "stand"), ("eating", "eat"), ("kick", "kick"), ("wave", "wave")),
    ("gun", "shoot", "hitreact", "death", "gallop_jump", "headbutt"),
)  # fmt: skip
CAPTURE_WORDS: Words = (
    (("limp", "limp"), ("walk", "walk"), ("run", "run"), ("jump", "jump"), ("kick", "kick"), ("march", "walk")),
    ("crawl", "to sneak", "ball", "on left foot", "stop"),
)


def motion_name(text: str, words: Words = CLIP_WORDS) -> str | None:
    """Name of the motion that an artist's clip (by its name) or a capture (by its line) shows; None if in no row."""
    (known, unless), text = words, text.lower()
    return None if any(word in text for word in unless) else next((name for w, name in known if w in text), None)


def load_recordings(shared: Path, *, leave_out: tuple[str, ...] = HELD_OUT) -> tuple[Recording, ...]:
    """All clips below `shared` (clips/*.npz, motion/cmu/*.bvh) that show one of our motions on legs."""
    result = []
    for path in sorted((shared / "clips").glob("*.npz")):
        if path.stem in leave_out:
            continue
        character = load_clips_npz(path)
        body = _body(character)
        for clip in character.clips if body.limbs.legs else ():
            name = motion_name(clip.name)
            if name is not None and len(clip.root_position) > 12:
                result.append(Recording.of(name, body, Motion.from_clip(body.rig, clip)))
    index = shared / "motion" / "cmu" / "index_selected.tsv"
    if index.is_file():
        for row in csv.DictReader(index.read_text().splitlines(), delimiter="\t"):
            path, name = index.parent / f"{row['clip']}.bvh", motion_name(row["description"], CAPTURE_WORDS)
            if name is not None and path.is_file():
                skeleton, clip = read_bvh(path, scale=CMU_SCALE)
                empty = np.zeros((0, 3))
                body = _body(Character(path.stem, Mesh(empty, np.zeros((0, 3), dtype=np.int64), empty), skeleton))
                result.append(Recording.of(name, body, Motion.from_clip(body.rig, clip)[T_POSE:].resample(30.0)))
    if not result:
        raise KinemaError(f"{shared}: holds no clips/*.npz and no motion/cmu/*.bvh")
    return tuple(r for r in result if not r.kind.repeats or (r.cycle.explained > 0.75 and _is_true(r)))


def _is_true(recording: Recording) -> bool:
    """Tell a walk from a trot by the feet: some artists let diagonal legs walk together."""
    gait = recording.kind.gait
    if gait is None or len(recording.body.limbs.legs) != 4 or not gait.footfalls.symmetrical:
        return True
    lag = (recording.cycle.phase[2] - recording.cycle.phase[0]) % 1.0
    return gait.footfalls.four[2] == 0.5 or bool(abs(lag - 0.5) > 0.1)


def _body(character: Character) -> GaitBody:
    assert character.skeleton is not None
    return GaitBody.of(Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character))


def recorded_motion(
    recording: Recording, target: GaitBody, *, frames: int, fps: float, rng: np.random.Generator,
    cycle_frames: float = 9.0,
) -> tuple[Motion, Label]:  # fmt: skip
    """Play the recording on another body with as many legs, entered at a random phase.

    Args:
        cycle_frames: frames per cycle of a gait; actions play at 0.8 to 1.3 times their own tempo.
    """
    count = len(recording.body.limbs.legs)
    if len(target.limbs.legs) != count:
        raise KinemaError(f"a recording on {count} legs does not fit a body with {len(target.limbs.legs)}")
    kind, gait, own = recording.kind, recording.kind.gait, recording.motion.fps
    length, side = (len(recording.motion) - 1) / own, _side(recording)
    if gait is None:
        tempo = float(rng.uniform(0.8, 1.3))
        event = float(rng.uniform(0.35, 0.65)) * (frames - 1) / fps
        start = float(rng.uniform(0, length)) if kind.still else _climax(recording) - event * tempo
        mirror = bool(rng.random() < 0.5)
        made = retarget(recording, target, frames=frames, fps=fps, start=start, tempo=tempo, mirror=mirror)
        return made, Label(kind.name, 0.0, 0.0, 0.0, event, target.limbs.body, -side if mirror else side)
    wanted, start = cycle_frames / fps, float(rng.uniform(0, length))
    tempo = recording.cycle.period / own / wanted
    if gait.footfalls.symmetrical:
        mirror = not gait.lame and gait.turn == 0.0 and bool(rng.random() < 0.5)
    else:
        # A gallop leads with one side: always with the one that our own gallop leads with.
        lead, ours = ((p[1] - p[0] + 0.5) % 1.0 - 0.5 for p in (recording.cycle.phase, gait.footfalls.four))
        mirror = len(recording.cycle.phase) == 4 and bool(lead * ours < 0)
    made = retarget(recording, target, frames=frames, fps=fps, start=start, tempo=tempo, mirror=mirror)
    # With stance at constant speed, a foot's first harmonic is farthest ahead (duty - 0.5) / 2 cycles after touchdown.
    ahead = track_feet(target.rig, target.limbs, made).world[:, :1, 2] - made.root_position.double().numpy()[:, 2:]
    farthest = -float(np.angle(fundamental(ahead, wanted * fps))[0]) / (2 * np.pi)
    phase = (0.5 * (gait.duty - 0.5) - farthest) % 1.0
    speed = recording.speed / recording.body.leg * tempo
    return made, Label(kind.name, phase, wanted, speed, 0.0, target.limbs.body, side)


def _climax(recording: Recording) -> float:
    """Time when the body is farthest from how it starts and ends, or highest in a jump [s]."""
    motion = recording.motion
    if recording.kind.airborne:
        return float(motion.root_position[:, 1].argmax()) / motion.fps
    place = motion.pose(recording.body.rig)[..., 3]
    away = (place - (place[:1] + place[-1:]) / 2).norm(dim=-1).mean(-1)
    # The middle of the time spent near the extreme, not its first moment.
    far = (away > 0.8 * away.max()).nonzero().flatten().double()
    return float(far.mean()) / motion.fps


def _side(recording: Recording) -> int:
    """The side whose arms (or, without arms, front legs) move more."""
    place = recording.motion.pose(recording.body.rig)[..., 3]
    parts = recording.body.limbs.arms or recording.body.limbs.legs[:2]
    moved = [(part.side, float((place[:, part.joints[-1]] - place[:, 0]).std(0).norm())) for part in parts]
    left, right = (sum(amount for side, amount in moved if side == wanted) for wanted in (1, -1))
    return 1 if left >= right else -1
