"""Bodies that are ready to be filmed, and the windows of motion that they are filmed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.create.creatures import random_creature
from kinema.gait.clip_names import STATES
from kinema.gait.hang import hanging_arms
from kinema.gait.kinds import LIKE, Gait, MotionKind
from kinema.gait.make import Label, make_motion
from kinema.gait.motions import MOTIONS, find_motion
from kinema.gait.plan import GaitBody
from kinema.gait.recorded import ACTION_FRAMES, AFTER, BEFORE, TEMPO
from kinema.motion.motion import Motion
from kinema.prior.nano.codec import FRAMES, HEIGHT, WIDTH
from kinema.prior.nano.prior import CAMERAS, CYCLE_FRAMES, FPS
from kinema.prior.protocol import TALL, Video
from kinema.render.follow import Viewpoint
from kinema.render.stage import Stage
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs

POINTS = 3000
"""Points of the surface that stand for it in point maps."""
STRIDES = (0.4, 1.7)
"""Strides of procedural gaits, as factors on the usual one: a slow run and a fast walk must both occur, or the speed
would tell the gait and the words nothing."""
ANOTHERS = 0.35
"""Share of gaits that take the strides of another one, a walk those of a gallop, for the same reason."""
AFLOAT = frozenset(("fly", "glide", "float", "swim", "swim_fast", "flap"))
"""Motions above the ground, filmed at the height of the body as it stands."""
FAR = 1.5
"""Distance from the base path at which a clip is left out, in sizes of the body: it goes somewhere else."""
FAMILIES = {
    "upright": ("biped",), "quadruped": ("quadruped",), "bird": ("bird",), "winged": ("winged",),
    "crawler": ("octopod", "hexapod", "crab"), "fish": ("fish", "fish", "ray"), "snake": ("snake",),
}  # fmt: skip
"""Families of random creatures by kind of body."""

BODIES = {body for kind in MOTIONS.values() for body in kind.shares}
"""Kinds of body (`Limbs.body`) that have procedural motions."""


def draw_motion(body: str, rng: np.random.Generator, motions: Mapping[str, MotionKind] = MOTIONS) -> MotionKind:
    """A motion for that kind of body (`Limbs.body`), as often as its share says."""
    weights = np.array([kind.share(body) for kind in motions.values()])
    return motions[str(rng.choice(list(motions), p=weights / weights.sum()))]


@dataclass(frozen=True)
class Actor:
    """A body that is ready to be filmed."""

    stage: Stage
    limbs: Limbs
    body: GaitBody

    @staticmethod
    def random(rng: np.random.Generator, family: str | None = None) -> "Actor":
        while True:
            # Proportions beyond what any animal has may hide a leg from us; such a body teaches nothing.
            actor = Actor.of(random_creature(rng, family=family, detail="low"), rng)
            if LIKE.get(actor.limbs.body, actor.limbs.body) in BODIES:
                return actor

    @staticmethod
    def of(character: Character, rng: np.random.Generator) -> "Actor":
        assert character.skeleton is not None
        limbs, rig = find_limbs(character), Rig.from_skeleton(character.skeleton)
        cover = {"count": POINTS, "look": "canonical", "rng": rng, "relax": 0}
        standing = hanging_arms(rig, limbs)
        stage = Stage.from_character(character, rig, limbs=limbs, standing=standing, **cover)
        return Actor(stage, limbs, GaitBody.of(rig, limbs))

    @property
    def picture(self) -> tuple[int, int]:
        """Width and height of its pictures."""
        extent = np.ptp(self.stage.box, axis=0)
        return (HEIGHT, WIDTH) if extent[1] > TALL * max(extent[0], extent[2]) else (WIDTH, HEIGHT)

    def _stride(self, rng: np.random.Generator, usual: float) -> float:
        """Travel per cycle of a gait whose usual one is given, or of another gait of this body [leg lengths]."""
        if rng.random() > ANOTHERS:
            return usual * float(rng.uniform(*STRIDES))
        others = {name: kind for name, kind in MOTIONS.items() if isinstance(kind.gait, Gait)}
        gait = draw_motion(self.limbs.body, rng, others).gait if self.limbs.legs else None
        return usual if gait is None else gait.stride * self.body.stride * float(rng.uniform(0.8, 1.1))

    def perform(self, rng: np.random.Generator, kind: MotionKind | str | None = None) -> "Shot":
        """A random window of a procedural motion, at 6.5 to 11.5 frames per cycle."""
        kind = draw_motion(self.limbs.body, rng) if kind is None else kind
        kind = find_motion(kind) if isinstance(kind, str) else kind
        rig, leg = self.stage.rig, self.limbs.leg_length
        size = {"frames": FRAMES, "fps": FPS, "rng": rng, "body": self.body}
        if kind.gait is not None:
            period = float(rng.uniform(*CYCLE_FRAMES)) / FPS
            usual = kind.gait.period(leg)
            stride = kind.gait.speed(leg) * usual * self.body.stride
            speed = self._stride(rng, stride) / period
            motion, label = make_motion(
                rig, self.limbs, kind, phase=float(rng.random()), period=period, speed=speed, **size
            )
            return Shot(self, motion, label, (usual, stride / usual))
        if kind.action is None or kind.name in STATES:
            motion, label = make_motion(rig, self.limbs, kind, phase=float(rng.random()), **size)
            return Shot(self, motion, label, (0.0, 0.0))
        natural = make_motion(rig, self.limbs, kind, frames=1, fps=FPS, body=self.body)[1].period
        tempo = float(np.exp(rng.uniform(*np.log(TEMPO))))
        lasts = float(np.clip(natural * FPS / tempo, *ACTION_FRAMES))
        phase = float(rng.uniform(-BEFORE / lasts, 1 - AFTER / lasts))
        motion, label = make_motion(rig, self.limbs, kind, phase=phase, period=lasts / FPS, **size)
        return Shot(self, motion, label, (natural, 0.0))


@dataclass(frozen=True)
class Shot:
    """A motion of the prior's length, ready to be filmed."""

    actor: Actor
    motion: Motion
    label: Label
    natural: tuple[float, float]
    """Duration of the cycle or action [s] and speed [leg lengths per second] before the tempo was drawn."""

    @cached_property
    def base(self) -> Float[Tensor, "frames 3"]:
        """The base path: straight, at the speed that the label tells."""
        ahead = torch.tensor([np.sin(self.label.direction), 0.0, np.cos(self.label.direction)], dtype=torch.float32)
        velocity = self.label.speed * self.actor.limbs.leg_length / FPS * ahead
        return self.actor.stage.rig.heads[0] + torch.arange(FRAMES)[:, None] * velocity

    @cached_property
    def pose(self) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint, without what the body's path has beside the base path's: it says nothing."""
        pose = self.motion.pose(self.actor.stage.rig).float()
        label, base = self.label, self.base
        if label.period > 0 and not label.repeats:
            # An action starts at rest's place; where it travels, so does the base path, from its beginning on.
            away = label.phase * label.period * FPS * (base[1] - base[0])
        else:
            level = torch.tensor([1.0, float(label.name in AFLOAT), 1.0])
            away = self._beside(pose).mean(0) * level
        return torch.cat((pose[..., :3], (pose[..., 3] - away)[..., None]), -1)

    def _beside(self, pose: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames 3"]:
        """How far the body is from where it would stand on the base path [m]."""
        return pose[..., 3].mean(1) - self.actor.stage.standing[..., 3].mean(0) - self.base + self.base[:1]

    def stays(self) -> bool:
        """Does the body keep to the base path for most of the time?"""
        return float((self._beside(self.pose).norm(dim=-1) < FAR * self.actor.stage.size).float().mean()) > 0.75

    def film(self, rng: np.random.Generator) -> tuple[Video, Float[Tensor, "3 3 rows columns"], tuple[float, float]]:
        """A film of point maps from a random side, the still that it starts from, and the camera's angles [rad]."""
        columns, rows = self.actor.picture
        yaw, elevation = CAMERAS.draw_yaw(rng), float(rng.uniform(*CAMERAS.elevation_deg))
        viewpoint = Viewpoint(yaw, elevation, float(rng.uniform(*CAMERAS.zoom)), CAMERAS.fovy_deg)
        view = self.actor.stage.view_points(viewpoint, columns=columns, rows=rows)
        return view.film(self.pose, self.base), view.still, (float(np.deg2rad(yaw)), float(np.deg2rad(elevation)))
