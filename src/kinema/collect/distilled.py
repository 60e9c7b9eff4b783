"""Poses out of the video prior: sample videos of a body, fit its joints to them, keep what fits and is valid.

Poses only, so everything is short: all views of a clip are sampled in one batch, 100 steps fit the joints, spheres keep
limbs out of each other, and there are no films, no feet and no physics. About two seconds of a processor per clip.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kinema.asset.character import Character
from kinema.collect.clips import keep, recorded_files, words_of
from kinema.create.creatures import random_creature
from kinema.distill.config import Resolved
from kinema.distill.energies import weighted_energies
from kinema.distill.loop import Distiller
from kinema.distill.prompt import read_prompt, told
from kinema.distill.targets import Target, conditions
from kinema.distill.tempo import read_tempo
from kinema.errors import KinemaError
from kinema.gait.hang import hanging_arms
from kinema.gait.takes import load_character
from kinema.motion.source import rigged
from kinema.posespace.body import Body
from kinema.posespace.pose import Poses
from kinema.posespace.shards import BodyPoses
from kinema.posespace.skinned import DENSE, Skinned
from kinema.posespace.validate import Validator
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import ddim, guide
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.limbs import find_limbs

VIEWS, STEPS, SAMPLING_STEPS = 3, 100, 5
JOB = Resolved(engine="fit", views=VIEWS, fit_iterations=STEPS, learning_rate=0.05, guidance=2.0, physics=False)
"""A short fit loses amplitude, a higher rate than usual restores it; more guidance exaggerates poses."""
GAUSSIANS = 1500
SPHERES_WEIGHT = 0.3
"""Weight of limbs in each other (`Validator.intersection`)."""
WORST_FIT = 0.9
"""Largest distance to the videos that is kept, relative to that of the body at rest."""
POSES = 12
"""Poses that are taken of a clip."""
RIGS, AUTO_RIGS = 0.25, 0.15
"""Shares of bodies that are third-party rigs, and meshes of those with a skeleton of our own."""


@dataclass(frozen=True)
class Distilling:
    """The prior and the bodies that are filmed."""

    prior: NanoPrior
    files: tuple[Path, ...]
    clips: int

    @staticmethod
    def of(weights: Path | None, shared: Path | None, *, clips: int) -> "Distilling":
        files = () if shared is None else tuple(f for f in recorded_files(shared) if f.suffix != ".bvh")
        return Distilling(NanoPrior.load(weights), files, clips)

    def poses(self, rng: np.random.Generator) -> BodyPoses | None:
        """Poses of one body; None if none was kept."""
        character = self._body(rng)
        anatomy = Anatomy.of(character)
        names = sorted({m.name for m in self.prior.motions if m.body == anatomy.limbs.body})
        if not names or len(character.mesh.faces) > DENSE:
            return None
        body, validator = Skinned.of(character), Validator.of(character)
        stage = Stage.from_character(
            character, anatomy.rig, count=GAUSSIANS, look="canonical", rng=rng, relax=0, limbs=anatomy.limbs,
            standing=hanging_arms(anatomy.rig, anatomy.limbs),
        )  # fmt: skip
        parts = []
        for _ in range(self.clips):
            name = str(rng.choice(names))
            try:
                found = self._clip(name, stage, anatomy, validator, body, int(rng.integers(2**31)))
            except KinemaError:  # a motion that these limbs cannot do
                continue
            if found is not None:
                parts.append((found, words_of(name)))
        family = anatomy.limbs.body
        return BodyPoses.of(character.name, family, "distilled", Body.of(character), parts) if parts else None

    def _body(self, rng: np.random.Generator) -> Character:
        draw = rng.random()
        if self.files and draw < RIGS + AUTO_RIGS:
            character = load_character(self.files[int(rng.integers(len(self.files)))])
            if draw < RIGS:
                return character
            bare = replace(character, skeleton=None, weights=None, clips=(), source=None, roles={})
            try:
                return rigged(bare)
            except KinemaError:  # what no skeleton fits into keeps its own
                return character
        while True:
            character = random_creature(rng, detail="low")
            if any(m.body == find_limbs(character).body for m in self.prior.motions):
                return character

    def _clip(
        self, name: str, stage: Stage, anatomy: Anatomy, validator: Validator, body: Skinned, seed: int
    ) -> Poses | None:
        """Poses of one caption; None if the joints did not come near the videos, or all poses intersect themselves."""
        prior, config = self.prior, replace(JOB, prompt=words_of(name), as_motion=name, seed=seed)
        reading = read_prompt(config, prior, anatomy.limbs.body)
        tempo = read_tempo(config, prior, anatomy, reading)
        distiller = Distiller(told(config, prior, reading), prior, stage, anatomy, tempo)
        targets = sample_views(distiller, np.random.default_rng(seed))
        for step in range(STEPS):
            target = targets[step % len(targets)]
            filmed = distiller.windows.film(target.window)
            latents = prior.encode(filmed.video, target.context)
            tokens = latents.numel() / prior.needs.token_size
            loss = 0.5 * (latents - target.latents).square().sum() / tokens
            feet = distiller.schedule.feet_weight(step)
            loss = loss + weighted_energies(filmed, distiller.config, anatomy, feet=feet)
            assert filmed.T_world_joint is not None
            loss = loss + SPHERES_WEIGHT * validator.intersection(filmed.T_world_joint).mean()
            distiller.descend(loss)
            distiller.state.step += 1
        fits = fit_error(distiller, targets) <= WORST_FIT
        return keep(body, distiller.motion(), most=POSES) if fits else None


@torch.no_grad()
def fit_error(distiller: Distiller, targets: list[Target]) -> float:
    """Squared distance of the motion to the videos, relative to that of the body at rest."""
    prior, windows = distiller.prior, distiller.windows
    missing = [prior.encode(windows.film(t.window).video, t.context) - t.latents for t in targets]
    return float(sum(x.square().sum() for x in missing) / sum(t.latents.square().sum() for t in targets))


@torch.no_grad()
def sample_views(distiller: Distiller, rng: np.random.Generator) -> list[Target]:
    """Videos of one caption from several sides, denoised in one batch by DDIM."""
    windows, prior, config = distiller.windows, distiller.prior, distiller.config
    looks = [windows.draw(rng) for _ in range(VIEWS)]
    contexts = [windows.context(window) for window in looks]
    pairs = [conditions(prior, config.told, context) for context in contexts]
    given: list[Any] = [words for words, _ in pairs] + [none for _, none in pairs]
    shape = prior.encode(windows.film(looks[0]).video, contexts[0]).shape
    noise = torch.randn(VIEWS, *shape, generator=torch.Generator().manual_seed(int(rng.integers(2**62))))

    def estimate(noisy: Tensor, t: float) -> Tensor:
        found = torch.stack(prior.denoise(noisy.repeat(2, 1, 1), t, given))
        return guide(found[:VIEWS], found[VIEWS:], config.guidance)

    clean = ddim(prior, torch.zeros_like(noise), noise, estimate, start=0.98, steps=SAMPLING_STEPS)
    return [Target(*row) for row in zip(looks, contexts, clean.unbind(0))]
