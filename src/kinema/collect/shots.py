"""Videos of a body sampled from the embedded prior: several motions seen from both sides, denoised in one batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.collect.fit import Cells, Ease
from kinema.distill.tempo import LEAST_FRAMES, MARGIN, MOST_FRAMES, choose_tempo
from kinema.gait.hang import hanging_arms
from kinema.gait.plan import GaitBody
from kinema.prior.nano.codec import HEIGHT, PLACES, WIDTH, covered_cells, covered_places, still_tokens, unpatch
from kinema.prior.nano.prior import CAMERAS, CYCLE_FRAMES, NanoPrior
from kinema.prior.protocol import TALL, Context, KnownMotion, Way, ddim, guide
from kinema.render.follow import Viewpoint
from kinema.render.points import PointView
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.limbs import Limbs

GAUSSIANS = 1500
SAMPLING_STEPS, GUIDED_STEPS = 5, 3
"""Steps of DDIM, and the noisiest of them, in which words are amplified."""
GAIT_GUIDANCE, ACTION_GUIDANCE = (1.0, 3.0), (1.0, 1.6)
"""By how much, drawn for each motion: gaits are timid without it, bodies that fall turn through the ground with it."""
STRIDES, PACES = (0.75, 1.2), (0.8, 1.25)
"""Strides of gaits and durations of actions, as factors on the usual ones."""
MANNERS = (0.4, 0.4, 0.2)
"""How often a motion is done in the way of bodies built alike, in any way, and in no way in particular."""
LEAST_KNOWN = 0.05
"""What a way counts that the prior misses wholly, against one that it knows."""
View = tuple[PointView, Viewpoint]


@dataclass(frozen=True)
class Shot:
    """One motion for the length of a video."""

    motion: KnownMotion
    context: Context
    """Of no camera yet."""


@dataclass(frozen=True)
class Filmed:
    """A body that is ready to be filmed."""

    stage: Stage
    anatomy: Anatomy

    @staticmethod
    def of(character, anatomy: Anatomy, rng: np.random.Generator) -> "Filmed":
        standing = hanging_arms(anatomy.rig, anatomy.limbs)
        stage = Stage.from_character(
            character, anatomy.rig, count=GAUSSIANS, look="canonical", rng=rng, relax=0, limbs=anatomy.limbs,
            standing=standing,
        )  # fmt: skip
        return Filmed(stage, anatomy)

    @cached_property
    def ease(self) -> Ease:
        return Ease.of(self.anatomy.rig, self.anatomy.limbs, hanging_arms(self.anatomy.rig, self.anatomy.limbs))

    def views(self, rng: np.random.Generator) -> list[View]:
        """The standing body from its left and from its right."""
        extent = np.ptp(self.stage.box, axis=0)
        tall = extent[1] > TALL * max(extent[0], extent[2])
        columns, rows = (HEIGHT, WIDTH) if tall else (WIDTH, HEIGHT)
        views = []
        for side in (-1, 1):
            yaw, elevation = float(rng.uniform(*CAMERAS.yaw_deg)), float(rng.uniform(*CAMERAS.elevation_deg))
            look = Viewpoint(side * yaw, elevation, sum(CAMERAS.zoom) / 2, CAMERAS.fovy_deg)
            views.append((self.stage.view_points(look, columns=columns, rows=rows), look))
        return views

    def shots(self, prior: NanoPrior, count: int, rng: np.random.Generator) -> list[Shot]:
        """Motions that the prior knows on this kind of body, more often those that it has seen often, in any phase."""
        limbs = self.anatomy.limbs
        known = [motion for motion in prior.motions if motion.body == limbs.body]
        if not known:
            return []
        weights = np.array([motion.clips**0.5 for motion in known])
        picks: list[int] = []
        while len(picks) < count:
            size = min(count - len(picks), len(known))
            picks += rng.choice(len(known), size=size, replace=False, p=weights / weights.sum()).tolist()
        stride = GaitBody.of(self.anatomy.rig, limbs).stride
        return [self._shot(prior, known[pick], stride, rng) for pick in picks]

    def _shot(self, prior: NanoPrior, motion: KnownMotion, stride: float, rng: np.random.Generator) -> Shot:
        limbs = self.anatomy.limbs
        tempo = choose_tempo(motion.name, "", limbs, prior, stride=stride)
        way, period, speed, phase = _way(motion, limbs, rng), tempo.period, tempo.speed_legs, 0.0
        if tempo.repeats:
            period = float(rng.uniform(*CYCLE_FRAMES))
            phase, speed = float(rng.random()), speed * tempo.period / period * rng.uniform(*STRIDES)
        elif period > 0:
            lasts = way.seconds * prior.needs.fps if way is not None and way.seconds > 0 else period
            period = float(np.clip(lasts * rng.uniform(*PACES), LEAST_FRAMES, MOST_FRAMES))
            # The window begins with the action or so, and ends with it at the latest.
            phase = float(rng.uniform(-MARGIN, max(-MARGIN, 1 + MARGIN - prior.frames / period)))
        told = {"phase": phase, "period": period, "speed": float(speed), "repeats": tempo.repeats}
        manner = {"variant": None if way is None else way.variant, "side": int(rng.choice((-1, 1)))}
        return Shot(motion, Context(torch.zeros(0, 3, 0, 0), **told, motion=motion.name, **manner))


def _way(motion: KnownMotion, limbs: Limbs, rng: np.random.Generator) -> Way | None:
    """A way of doing a motion: that of bodies built alike, any, or none in particular."""
    draw, ways = rng.random(), motion.ways
    if draw < MANNERS[0] or not ways:
        return motion.way(limbs.build)
    weights = np.array([way.performers**0.5 * max(1 - way.missed, LEAST_KNOWN) for way in ways])
    return ways[int(rng.choice(len(ways), p=weights / weights.sum()))] if draw < sum(MANNERS[:2]) else None


def kept_cells(view: PointView) -> Bool[Tensor, "all"]:
    """Cells of a picture that the prior's videos tell of: covered ones in the places that become tokens."""
    still = still_tokens(view.still[None])
    kept = torch.zeros(1, PLACES, covered_cells(still).shape[-1])
    places = covered_places(still)[0]
    kept[:, places[places < PLACES]] = 1.0
    tokens = (kept * covered_cells(still)).repeat(1, 2, 1)
    return unpatch(tokens, rows=view.still.shape[-2] // 4)[0, 0, 0].flatten() > 0


@torch.no_grad()
def sample_films(
    prior: NanoPrior, shots: Sequence[Shot], views: Sequence[View], *, generator: torch.Generator
) -> tuple[Cells, Float[Tensor, "shots frames 3 cells"]]:
    """Where videos of each shot have the cells of both views [m]."""
    contexts = [
        replace(shot.context, reference=view.still, yaw_deg=look.yaw_deg, elevation_deg=look.elevation_deg)
        for view, look in views for shot in shots
    ]  # fmt: skip
    words = [prior.condition(shot.motion.name, context) for context, shot in zip(contexts, [*shots] * len(views))]
    none = [prior.condition("", replace(context, phase=None)) for context in contexts]
    count = len(contexts)
    least, most = torch.tensor([GAIT_GUIDANCE if s.context.repeats else ACTION_GUIDANCE for s in shots]).unbind(1)
    guidance = torch.lerp(least, most, torch.rand(len(shots), generator=generator)).repeat(len(views))[:, None, None]
    blank = prior.encode(torch.zeros(prior.frames, 3, *contexts[0].reference.shape[-2:]), contexts[0])
    noise = torch.randn(count, *blank.shape, generator=generator)
    done = 0

    def estimate(noisy: Tensor, t: float) -> Tensor:
        nonlocal done
        done += 1
        if done > GUIDED_STEPS:
            return torch.stack(prior.denoise(noisy, t, words))
        found = torch.stack(prior.denoise(noisy.repeat(2, 1, 1), t, [*words, *none]))
        return guide(found[:count], found[count:], guidance)

    clean = ddim(prior, torch.zeros_like(noise), noise, estimate, start=0.98, steps=SAMPLING_STEPS)
    cells = Cells.of([view for view, _ in views], [kept_cells(view) for view, _ in views])
    films = torch.stack([prior.decode(x, context) for x, context in zip(clean, contexts, strict=True)])
    films = films.flatten(-2).unflatten(0, (len(views), -1))
    return cells, torch.stack([cells.places(list(each)) for each in films.unbind(1)])
