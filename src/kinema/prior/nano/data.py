"""Training clips: creatures and rigs do procedural and recorded motions and are filmed in the canonical look."""

import multiprocessing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.asset.clips_npz import load_clips_npz
from kinema.create.creatures import random_creature
from kinema.gait.captions import caption
from kinema.gait.kinds import LIKE, MotionKind
from kinema.gait.make import Label, make_motion
from kinema.gait.motions import MOTIONS, find_motion
from kinema.gait.plan import GaitBody
from kinema.gait.recorded import HELD_OUT, load_recordings, recorded_motion
from kinema.gait.retarget import Recording
from kinema.motion.motion import Motion
from kinema.prior.nano.codec import FRAMES, HEIGHT, WIDTH
from kinema.prior.nano.prior import CAMERAS, CYCLE_FRAMES, FPS
from kinema.prior.nano.shards import SHARD, Clips, shard_path, write_shard
from kinema.prior.protocol import Video
from kinema.render.follow import Viewpoint
from kinema.render.stage import Stage
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs

MOTIONS_PER_CREATURE = 16
VIEWS = 2
GAUSSIANS = 1500
RIG_SHARE, RECORDED_SHARE = 0.25, 0.35
"""Share of bodies that are third-party rigs and of motions that were recorded, where such data is at hand."""

BODIES = {body for kind in MOTIONS.values() for body in kind.shares} | set(LIKE)
"""Kinds of body that have motions."""


def draw_motion(body: str, rng: np.random.Generator, motions: Mapping[str, MotionKind] = MOTIONS) -> MotionKind:
    """A motion for that kind of body (`Limbs.body`), as often as its share says."""
    body = LIKE.get(body, body)
    weights = np.array([kind.shares.get(body, 0.0) for kind in motions.values()])
    return motions[str(rng.choice(list(motions), p=weights / weights.sum()))]


@dataclass(frozen=True)
class Actor:
    """A creature that is ready to be filmed."""

    stage: Stage
    limbs: Limbs
    body: GaitBody

    @staticmethod
    def random(rng: np.random.Generator) -> "Actor":
        while True:
            # Proportions beyond what any animal has may hide a leg from us; such a body teaches nothing.
            if actor := Actor.of(random_creature(rng, detail="low"), rng):
                return actor

    @staticmethod
    def of(character: Character, rng: np.random.Generator) -> "Actor | None":
        """None: the body has no legs that we know how to move."""
        assert character.skeleton is not None
        limbs = find_limbs(character)
        if limbs.body not in BODIES:
            return None
        rig = Rig.from_skeleton(character.skeleton)
        stage = Stage.from_character(character, rig, count=GAUSSIANS, look="canonical", rng=rng, relax=0, limbs=limbs)
        return Actor(stage, limbs, GaitBody.of(rig, limbs))

    def perform(self, rng: np.random.Generator, kind: MotionKind | str | None = None) -> tuple[Motion, Label]:
        """A random motion of the prior's length; 6.5 to 11.5 frames per cycle, strides 0.7 to 1.3 times the usual."""
        if kind is None:
            kind = draw_motion(self.limbs.body, rng)
        elif isinstance(kind, str):
            kind = find_motion(kind)
        rig, leg = self.stage.rig, self.limbs.leg_length
        size = {"frames": FRAMES, "fps": FPS, "rng": rng, "body": self.body}
        if kind.gait is None:
            event = float(rng.uniform(0.3, 0.7)) * FRAMES / FPS
            return make_motion(rig, self.limbs, kind, event=event, phase=float(rng.random()), **size)
        period = float(rng.uniform(*CYCLE_FRAMES)) / FPS
        stride = kind.gait.speed(leg) * kind.gait.period(leg) * self.body.stride
        phase, speed = float(rng.random()), stride * float(rng.uniform(0.7, 1.3)) / period
        return make_motion(rig, self.limbs, kind, phase=phase, period=period, speed=speed, **size)

    def act_out(self, recordings: tuple[Recording, ...], rng: np.random.Generator) -> tuple[Motion, Label] | None:
        """A recorded motion on this body, each kind equally often; None: nobody with as many legs was recorded."""
        fitting = [r for r in recordings if len(r.body.limbs.legs) == len(self.limbs.legs)]
        if not fitting:
            return None
        kind = str(rng.choice(sorted({r.name for r in fitting})))
        of_kind = [r for r in fitting if r.name == kind]
        recording = of_kind[int(rng.integers(len(of_kind)))]
        cycle_frames = float(rng.uniform(*CYCLE_FRAMES))
        return recorded_motion(recording, self.body, frames=FRAMES, fps=FPS, rng=rng, cycle_frames=cycle_frames)

    def film(self, motion: Motion, label: Label, rng: np.random.Generator) -> tuple[Video, Video, tuple[float, float]]:
        """Video and reference from a random side, on a straight base path."""
        ahead = torch.tensor([np.sin(label.direction), 0.0, np.cos(label.direction)])
        velocity = (label.speed * self.limbs.leg_length / FPS * ahead).float()
        base = self.stage.rig.heads[0] + torch.arange(FRAMES)[:, None] * velocity
        # The path's constant part says nothing: bring the mean over the ground to the base path's.
        away = (motion.root_position - base).mean(0) * torch.tensor([1.0, 0.0, 1.0])
        placed = Motion(motion.root_position - away, motion.angles, motion.fps)
        yaw, elevation = CAMERAS.draw_yaw(rng), float(rng.uniform(*CAMERAS.elevation_deg))
        view = Viewpoint(yaw, elevation, float(rng.uniform(*CAMERAS.zoom)), CAMERAS.fovy_deg)
        cameras = self.stage.cameras(base, view, width=WIDTH, height=HEIGHT)
        reference = self.stage.reference(base, view, width=WIDTH, height=HEIGHT)
        video = self.stage.film(placed.pose(self.stage.rig), cameras)
        return video, reference, (float(np.deg2rad(yaw)), float(np.deg2rad(elevation)))


def conditions(label: Label) -> tuple[float, float, float]:
    """phase, period, speed as the model is told them."""
    if label.period > 0:
        return label.phase, label.period * FPS, label.speed / FPS
    return label.event * FPS / FRAMES, 0.0, 0.0


@dataclass(frozen=True)
class Archive:
    """Third-party rigs and motions, but for those that no training may see."""

    rigs: tuple[Character, ...]
    recordings: tuple[Recording, ...]

    @staticmethod
    @cache
    def load(shared: Path) -> "Archive":
        paths = [p for p in sorted((shared / "clips").glob("*.npz")) if p.stem not in HELD_OUT]
        rigs = [load_clips_npz(path) for path in paths]
        return Archive(tuple(rig for rig in rigs if find_limbs(rig).body in BODIES), load_recordings(shared))

    def actor(self, rng: np.random.Generator) -> "Actor":
        of_rig = Actor.of(self.rigs[int(rng.integers(len(self.rigs)))], rng) if rng.random() < RIG_SHARE else None
        return of_rig or Actor.random(rng)


@torch.no_grad()
def make_clips(rng: np.random.Generator, count: int, *, shared: Path | None = None) -> Clips:
    """A shuffled mixture of creatures, motions and views."""
    archive = Archive.load(shared) if shared else None
    rows: list[tuple[np.ndarray, np.ndarray, tuple[float, ...], tuple[float, float], Label]] = []
    while len(rows) < count:
        actor = archive.actor(rng) if archive else Actor.random(rng)
        for _ in range(MOTIONS_PER_CREATURE):
            acted = actor.act_out(archive.recordings, rng) if archive and rng.random() < RECORDED_SHARE else None
            motion, label = acted or actor.perform(rng)
            for _ in range(VIEWS):
                video, reference, camera = actor.film(motion, label, rng)
                residual = ((video - reference) * 127).round().clamp(-127, 127).to(torch.int8).numpy()
                still = (reference[0].clamp(0, 1) * 255).round().to(torch.uint8).numpy()
                rows.append((residual, still, conditions(label), camera, label))
    order = rng.permutation(len(rows))[:count]
    residual, still, motion, camera, label = zip(*(rows[i] for i in order))
    return Clips(np.stack(residual), np.stack(still), np.array(motion), np.array(camera), list(label))


def make_shards(folder: Path, indices: Iterable[int], seed: int, shared: Path | None) -> None:
    """Write every shard that is not there yet; each depends on the seed and its number alone."""
    torch.set_num_threads(1)
    trainer = multiprocessing.parent_process()
    for index in indices:
        if trainer is not None and not trainer.is_alive():
            return  # it was killed
        if not shard_path(folder, index).is_dir():
            write_shard(folder, index, make_clips(np.random.default_rng((seed, index)), SHARD, shared=shared))


def caption_examples(rng: np.random.Generator, *, count: int) -> tuple[list[str], list[int], tuple[str, ...]]:
    """Captions with the index of their class, every class equally often."""
    captions, names = [], tuple(MOTIONS)
    labels = [index % len(names) for index in range(count)]
    for number in labels:
        body, side = str(rng.choice(["quadruped", "biped", "bird"])), int(rng.choice((-1, 1)))
        captions.append(caption(Label(names[number], 0.0, 0.0, 0.0, 0.0, body, side), rng))
    return captions, labels, names
