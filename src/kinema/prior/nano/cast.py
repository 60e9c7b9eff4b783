"""Who does what in the training clips, where third-party characters and recordings are at hand."""

import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Clip
from kinema.gait.make import can_do
from kinema.gait.motions import MOTIONS
from kinema.gait.plan import GaitBody
from kinema.gait.recorded import recorded_motion
from kinema.gait.recording import Recording
from kinema.gait.takes import Take, gait_body, load_character, read_takes, record, usual_heading
from kinema.gait.vocabulary import vocabulary
from kinema.motion.motion import Motion
from kinema.prior.nano.actor import FAMILIES, Actor, Shot, draw_motion
from kinema.prior.nano.codec import FRAMES
from kinema.prior.nano.prior import CYCLE_FRAMES, FPS
from kinema.skin import blend, skin_points

KIND_SHARES = {
    "upright": 0.44, "quadruped": 0.34, "bird": 0.06, "crawler": 0.05, "fish": 0.04, "snake": 0.02, "winged": 0.03,
    "other": 0.02,
}  # fmt: skip
OWN_SHARE = 0.2
"""Share of clips that show a character of the library with its own clip, where a kind of body has both: whoever asks
for a motion has another body, and must be given the ways of these."""
RIG_SHARE = 0.4
"""Share of the other bodies that are third-party rigs, not random creatures."""
SESSION = 12
"""Motions that one random creature does."""
GAITS = 0.4
"""Share of the others' motions that are gaits of the tables: most prompts ask for one, and feet must not slide."""
PROCEDURAL = 12
"""How many recorded clips a motion of the tables counts for when any is drawn."""
TURNED = frozenset(("sleep", "lie", "climb", "swim", "fly", "float", "glide", "sit_ups", "push_ups", "crawl", "flip"))
"""Motions that other bodies are not given: they rest on more than feet, or on nothing."""

WITH_TAIL = frozenset(("tail_whip", "wag"))
LONGEST_STRIDE = 3.2
"""Stride up to which a gait is given to other bodies [leg lengths]; big-headed figures run with longer ones."""


@dataclass(frozen=True)
class Member:
    """A character of the library without its mesh: an actor, and clips to be recorded when they are needed."""

    actor: Actor
    clips: dict[str, Clip]
    heading: float


class Cast:
    """Characters and recordings of the shared folder, each loaded when it is first needed."""

    def __init__(self, shared: Path) -> None:
        self.takes = read_takes(shared)
        self.members: dict[Path, Member] = {}
        self.recordings: dict[Take, Recording | None] = {}

    def of_kind(self, kind: str) -> dict[str, list[Take]]:
        """Takes of a kind of body by motion."""
        found: dict[str, list[Take]] = defaultdict(list)
        for take in self.takes:
            if take.kind == kind and take.clip:
                found[take.name].append(take)
        return dict(found)

    def member(self, file: Path) -> Member:
        """The character of a file; its Gaussians depend on its name alone."""
        if file not in self.members:
            character = load_character(file)
            rng = np.random.default_rng(zlib.crc32(file.stem.encode()))
            takes = [take for take in self.takes if take.file == file]
            actor = Actor.of(character, rng)
            clips = {clip.name: clip for clip in character.clips}
            self.members[file] = Member(actor, clips, usual_heading(takes, character, actor.body))
        return self.members[file]

    def recording(self, take: Take) -> Recording | None:
        """The take, measured; None if it cannot be used."""
        if take not in self.recordings:
            if take.captured:
                character = load_character(take.file)
                clips, body, heading = {clip.name: clip for clip in character.clips}, gait_body(character), None
            else:
                member = self.member(take.file)
                clips, body, heading = member.clips, member.actor.body, member.heading
            self.recordings[take] = record(take, clips, body, heading=heading)
        return self.recordings[take]

    def own_shot(self, rng: np.random.Generator, takes: dict[str, list[Take]]) -> Shot | None:
        """A character's own clip; None if what was drawn cannot be used."""
        take = _draw(takes, rng)
        recording = self.recording(take)
        if recording is None:
            return None
        actor = self.member(take.file).actor
        motion, label = recorded_motion(recording, frames=FRAMES, fps=FPS, rng=rng, cycle_frames=_cycle_frames(rng))
        motion = lifted(motion, self.floor(take, recording, actor))
        shot = Shot(actor, motion, label, (recording.period, recording.speed / actor.body.leg))
        return shot if shot.stays() else None

    def floor(self, take: Take, recording: Recording, actor: Actor) -> float:
        """How far a whole clip hangs above the ground or stands in it [m]; a tenth of the frames may be lower."""
        key = (take.file, take.clip)
        if key not in _FLOORS:
            times = np.linspace(0, (len(recording.motion) - 1) / recording.motion.fps, 24)
            pose = recording.at(times, fps=1.0).pose(recording.body.rig).to(actor.stage.rig.heads)
            points = skin_points(blend(actor.stage.skin, actor.stage.rig, pose), actor.stage.splats.centers)
            low, height = float(np.quantile(points[..., 1].amin(1).numpy(), 0.1)), float(np.ptp(actor.stage.box[:, 1]))
            # What hangs high in all of its clip is brought down; what hops and leaps is not.
            _FLOORS[key] = low if low < -0.02 * height or low > 0.25 * height else 0.0
        return _FLOORS[key]

    def given_shot(self, rng: np.random.Generator, actor: Actor, takes: dict[str, list[Take]]) -> Shot | None:
        """A motion of the tables, or a recording of another body of the kind."""
        body = actor.limbs.body
        rows = {
            name: row
            for name, row in MOTIONS.items()
            if row.share(body) > 0 and name in vocabulary() and can_do(actor.limbs, row)
        }
        gaits = {name: row for name, row in rows.items() if row.repeats}
        if gaits and rng.random() < GAITS:
            return actor.perform(rng, draw_motion(body, rng, gaits))
        able = {name: of for name, of in takes.items() if name not in TURNED} if actor.limbs.legs else {}
        names = sorted(rows.keys() | able.keys())
        if not names:
            return None
        weights = np.sqrt([PROCEDURAL * (name in rows) + len(able.get(name, ())) for name in names])
        name = str(rng.choice(names, p=weights / weights.sum()))
        if name in rows and (name not in able or rng.random() < 0.5):
            return actor.perform(rng, name)
        take = able[name][int(rng.integers(len(able[name])))]
        recording = self.recording(take)
        if recording is None or not _fits(recording, actor.body):
            return actor.perform(rng, name) if name in rows else None
        timing = {"frames": FRAMES, "fps": FPS, "rng": rng, "cycle_frames": _cycle_frames(rng)}
        motion, label = recorded_motion(recording, actor.body, **timing)
        shot = Shot(actor, motion, label, (recording.period, recording.speed / recording.body.leg))
        return shot if shot.stays() else None

    def body(self, rng: np.random.Generator, kind: str) -> Actor | None:
        """A random creature of a kind, or a third-party rig; None where there is neither."""
        families, files = FAMILIES.get(kind, ()), sorted({take.file for take in self.takes if take.kind == kind})
        files = [file for file in files if file.suffix != ".bvh"]
        if families and (not files or rng.random() > RIG_SHARE):
            return Actor.random(rng, family=str(rng.choice(families)))
        return self.member(files[int(rng.integers(len(files)))]).actor if files else None


_FLOORS: dict[tuple[Path, str], float] = {}


@cache
def cast(shared: Path) -> Cast:
    return Cast(shared)


def cast_shots(rng: np.random.Generator, shared: Path) -> Iterator[Shot]:
    """An endless mixture: a kind of body, who of that kind, and what it does, session by session."""
    troupe = cast(shared)
    kinds = {kind: troupe.of_kind(kind) for kind in KIND_SHARES}
    own = {kind: {n: [t for t in of if not t.captured] for n, of in takes.items()} for kind, takes in kinds.items()}
    own = {kind: {name: of for name, of in takes.items() if of} for kind, takes in own.items()}
    shares = np.array([KIND_SHARES[kind] for kind in kinds])
    while True:
        kind = str(rng.choice(list(kinds), p=shares / shares.sum()))
        if own[kind] and (kind not in FAMILIES or rng.random() < OWN_SHARE):
            shots = (troupe.own_shot(rng, own[kind]) for _ in range(SESSION))
        elif actor := troupe.body(rng, kind):
            shots = (troupe.given_shot(rng, actor, kinds[kind]) for _ in range(SESSION))
        else:
            continue
        yield from (shot for shot in shots if shot is not None)


def lifted(motion: Motion, floor: float) -> Motion:
    """The motion with the ground at another height."""
    return replace(motion, root_position=motion.root_position - torch.tensor([0.0, floor, 0.0]))


def _fits(recording: Recording, target: GaitBody) -> bool:
    """As many legs, both upright or neither (a theropod does not gesture as people do), and strides that legs make."""
    source, stride = recording.body, abs(recording.speed) * recording.period
    if len(source.limbs.legs) != len(target.limbs.legs) or (recording.name in WITH_TAIL and not target.limbs.tail):
        return False
    if recording.repeats and stride > LONGEST_STRIDE * source.leg:
        return False
    return len(target.limbs.legs) != 2 or source.upright == target.upright


def _draw(takes: dict[str, list[Take]], rng: np.random.Generator) -> Take:
    """A motion as often as the root of its number of clips, then one of the clips."""
    names = sorted(takes)
    weights = np.sqrt([len(takes[name]) for name in names])
    of = takes[str(rng.choice(names, p=weights / weights.sum()))]
    return of[int(rng.integers(len(of)))]


def _cycle_frames(rng: np.random.Generator) -> float:
    return float(rng.uniform(*CYCLE_FRAMES))
