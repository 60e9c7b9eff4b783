"""The shared data's clips as a list: file, motion, words and kind of body of each, before anything is loaded."""

import csv
import json
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from kinema.asset.bvh import read_bvh
from kinema.asset.character import Character, Clip, Mesh, Skeleton
from kinema.asset.clips_npz import load_clips_npz
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.gait.beat import TAIL_BEATS, WING_BEATS
from kinema.gait.clip_names import ARTISTS_NAMES, CAPTIONS, CAPTURES, is_held, motion_of
from kinema.gait.plan import UP, GaitBody
from kinema.gait.recording import Recording, facing
from kinema.geometry.rotations import bone_offsets, continuous, from_matrix, place_joints, to_matrix
from kinema.motion.motion import Motion
from kinema.rig.ik import about
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

HELD_OUT = tuple(
    line.split("#")[0].strip()
    for line in (Path(__file__).parent / "held_out.txt").read_text().splitlines()
    if line.split("#")[0].strip()
)
"""Characters that no training may see."""
ALLOWED = {"kaykit_mannequin": r"Crawl|Crouch|Push_Ups|Sit_Ups|Bow|Rifle|Skeletons|Sneak|Waving|Summon|Idle_B"}
"""Clips of a twin of a held-out character that the held-out one does not have; the others are left out."""
GROUNDED = r"(?i)no_?height"
"""Jumps that stay on the ground, because a game lifts the body."""
KINDS = {
    "human": "upright", "quadruped": "quadruped", "bird": "bird", "insect": "crawler", "fish": "fish",
    "snake": "snake", "dragon": "winged", "other": "other", "body": "other",
}  # fmt: skip
UPRIGHT = ("m2m_kaiju", "m2m_trex", "velociraptor", "parasaurolophus", "character")
"""Stand on two legs, whatever the list calls them."""
SWIMMERS = ("dolphin", "fish1", "fish2", "fish3", "shark", "whale")
CMU_SCALE = 0.0564
"""Metres per unit of the motion capture's files."""
T_POSE = 8
"""Frames at the start of a capture that may hold a T-pose."""
SHORTEST = 8
"""Frames of the shortest clip that is used."""


@dataclass(frozen=True)
class Take:
    """One clip of one file."""

    file: Path
    clip: str
    """Name in the file; "" for a rig without clips."""
    name: str
    """The motion that it shows."""
    wording: str
    kind: str
    """upright, quadruped, bird, crawler, fish, snake, winged or other."""

    @property
    def variant(self) -> str:
        """Clips of the same name in one pack are one animation on several characters."""
        pack = self.file.parent.name if self.file.suffix == ".npz" else self.file.stem.split("_")[0]
        return re.sub(r"[^a-z0-9]+", " ", f"{pack} {self.name} {self.clip.split('|')[-1]}".lower()).strip()

    @property
    def captured(self) -> bool:
        """Motion capture: joints without a body."""
        return self.file.suffix == ".bvh"


def read_takes(shared: Path, *, leave_out: tuple[str, ...] = HELD_OUT) -> tuple[Take, ...]:
    """All clips below `shared` that show a motion of the vocabulary, and rigs without clips."""
    takes = [*_library(shared / "library"), *_rigs(shared / "clips"), *_captures(shared / "motion" / "cmu")]
    takes = [t for t in takes if t.file.stem not in leave_out and re.search(ALLOWED.get(t.file.stem, ""), t.clip)]
    takes = [t for t in takes if not re.search(GROUNDED, t.clip)]
    if not takes:
        raise KinemaError(f"{shared}: holds no library/index.tsv, clips/*.npz or motion/cmu/*.bvh")
    return tuple(takes)


def _library(folder: Path) -> list[Take]:
    if not (folder / "index.tsv").is_file():
        return []
    nouns = {entry["name"]: entry["noun"] for entry in json.loads((folder / "characters.json").read_text())}
    takes = []
    for row in csv.DictReader((folder / "index.tsv").read_text().splitlines(), delimiter="\t"):
        file, kind = folder / row["file"], KINDS[row["body"]]
        if "animated_drawings" in file.parts:
            continue  # their first frame is no T-pose
        kind = "upright" if file.stem in UPRIGHT else kind
        if not row["clip"]:
            takes.append(Take(file, "", "", "", kind))
            continue
        wording = re.sub(r"^an? ((drunk|old|strong|cartoon) )?\w+ ", "", row["caption"])
        if file.stem in nouns:
            wording = row["caption"].removeprefix(nouns[file.stem]).strip()
        name = motion_of(wording, CAPTIONS, kind=kind)
        if name and int(row["frames"]) >= SHORTEST:
            takes.append(Take(file, row["clip"], name, wording, kind))
    return takes


def _rigs(folder: Path) -> list[Take]:
    takes = []
    for file in sorted(folder.glob("*.npz")):
        kind = "fish" if file.stem in SWIMMERS else "upright" if file.stem in UPRIGHT else "quadruped"
        with np.load(file, allow_pickle=False) as data:
            clips = [str(name) for name in data["clip_names"]]
        names = [(clip, motion_of(clip.lower(), ARTISTS_NAMES)) for clip in clips]
        takes += [Take(file, clip, name, "", kind) for clip, name in names if name]
    return takes


def _captures(folder: Path) -> list[Take]:
    index = folder / "index_selected.tsv"
    rows = csv.DictReader(index.read_text().splitlines(), delimiter="\t") if index.is_file() else ()
    named = [(folder / f"{row['clip']}.bvh", motion_of(row["description"].lower(), CAPTURES)) for row in rows]
    return [Take(file, file.stem, name, "", "upright") for file, name in named if name and file.is_file()]


Performers = tuple[int, tuple[float, float]]
"""How many characters do something of themselves, and how they are built in the median (`Limbs.build`)."""


@cache
def performers(shared: Path) -> dict[str, Performers]:
    """Who does the clips of each variant; all that was captured was done by people of one build."""
    done: dict[str, dict[Path, tuple[float, float]]] = defaultdict(dict)
    found: dict[Path, tuple[float, float]] = {}
    for take in read_takes(shared):
        key = Path("captured") if take.captured else take.file
        if take.clip and key not in found:
            found[key] = find_limbs(load_character(take.file)).build
        if take.clip:
            done[take.variant][key] = found[key]
    medians = {variant: np.median(list(of.values()), axis=0).tolist() for variant, of in done.items()}
    return {variant: (len(done[variant]), (leg, joints)) for variant, (leg, joints) in medians.items()}


def load_character(file: Path) -> Character:
    """The character of a file, clips and all; joints alone for motion capture."""
    if file.suffix == ".npz":
        return load_clips_npz(file)
    if file.suffix != ".bvh":
        return load(file)
    skeleton, clip = rest_at_first_frame(*read_bvh(file, scale=CMU_SCALE))
    empty = np.zeros((0, 3))
    return Character(file.stem, Mesh(empty, np.zeros((0, 3), dtype=np.int64), empty), skeleton, clips=(clip,))


def rest_at_first_frame(skeleton: Skeleton, clip: Clip) -> tuple[Skeleton, Clip]:
    """The same motion of a skeleton that rests in its first frame, facing +Z on y = 0.

    Captures begin with a T-pose on straight legs; at zero angles their legs are spread and the root is the origin.
    """
    parents = skeleton.parents
    local = to_matrix(clip.wxyz_parent_joint)
    place, turn = place_joints(parents, bone_offsets(parents, skeleton.heads), local, clip.root_position)
    ahead = turn[0, 0, :, 2]
    back = about(UP, np.asarray(-np.arctan2(ahead[0], ahead[2])))
    ends = place[0] + (turn[0] @ (skeleton.tails - skeleton.heads)[..., None])[..., 0]
    floor = min(place[0, :, 1].min(), ends[:, 1].min())
    origin = np.array([place[0, 0, 0], floor, place[0, 0, 2]])
    heads, tails = (place[0] - origin) @ back.T, (ends - origin) @ back.T
    turned = turn @ turn[0].swapaxes(-1, -2) @ back.T
    above = np.stack([turned[:, max(parent, 0)] for parent in parents], 1)
    above[:, 0] = np.eye(3)
    wxyz = continuous(from_matrix(above.swapaxes(-1, -2) @ turned))
    root = clip.root_position - [0.0, floor, 0.0]
    return replace(skeleton, heads=heads, tails=tails, wxyz_world_file=None), Clip(clip.name, clip.fps, root, wxyz)


def gait_body(character: Character) -> GaitBody:
    """The body of a character, in double precision."""
    assert character.skeleton is not None
    return GaitBody.of(Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character))


def usual_heading(takes: list[Take], character: Character, body: GaitBody) -> float:
    """Where the clips of a character face, seen from its rest pose, in quarter turns [rad]."""
    clips = {clip.name: clip for clip in character.clips}
    names = sorted((take for take in takes if take.clip in clips), key=lambda take: take.name not in ("walk", "stand"))
    if not names:
        return 0.0
    quarter = np.pi / 2
    return quarter * round(facing(body, Motion.from_clip(body.rig, clips[names[0].clip])) / quarter)


def record(take: Take, clips: dict[str, Clip], body: GaitBody, *, heading: float | None) -> Recording | None:
    """The take as a recording; None if it repeats in its name only, or walks on legs that were not found.

    Args:
        heading: where it faces [rad]; None finds it.
    """
    clip = clips.get(take.clip) or (next(iter(clips.values())) if take.captured else None)
    if clip is None:
        return None
    motion = Motion.from_clip(body.rig, clip)
    motion = motion[T_POSE:].resample(30.0) if take.captured else motion
    held = is_held(take.wording)
    words = {"wording": take.wording, "variant": take.variant}
    recording = Recording.of(take.name, body, motion, **words, held=held, heading=heading)
    on_legs = recording.repeats and take.name not in TAIL_BEATS | WING_BEATS and take.kind not in ("snake", "other")
    if (on_legs and not body.limbs.legs) or (recording.repeats and recording.explained < 0.7):
        return None
    return recording
