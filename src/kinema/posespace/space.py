"""`PoseSpace`: the poses of one character. Sample them, find the one that meets targets, walk between two, judge one.

space = PoseSpace.of(load("fox.glb"))
poses = space.sample(16, words="a fox is sleeping", seed=0)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.learn.text import embed_texts
from kinema.motion.motion import Motion
from kinema.posespace.batch import Bodies
from kinema.posespace.body import Body
from kinema.posespace.flow import Denoiser, decode, denoiser, invert, rather, sample
from kinema.posespace.model import TEXT, Given, Values, poses_to_values, values_to_poses
from kinema.posespace.pose import Poses
from kinema.posespace.reach import Metric, Target, check_targets, metric_of
from kinema.posespace.skinned import TOUCHING, Skinned
from kinema.posespace.solve import CANDIDATES, STEPS, Solution, solve
from kinema.posespace.validate import Validator, repair
from kinema.posespace.walk import Key, in_between, plant_between, walk
from kinema.posespace.weights import Trained
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig

GUIDANCE = 2.0
"""How much words are amplified."""
SAMPLING_STEPS = 6
REDRAWS = 4
"""How often samples that go through themselves are drawn again."""
FAITHFUL, FREE = 0.5, 0.95
"""How plausible a solution is that begins with a given pose, and one that begins with none."""
PROJECTED_AT, PROJECTIONS = (0.35, 0.2), 8
"""Levels of a projection, and noises that are averaged at each."""
SCORED_AT = (0.2, 0.4, 0.6)
KNOWN_POSES = 64
"""Samples that the joints' range and the usual score are measured on."""
STRANGE = 2.0
"""Distance from all training bodies, where 1 is usual among them, from which on a body counts as unlike them."""


@dataclass(frozen=True)
class Score:
    """How a pose looks to the space."""

    plausibility: float
    """About 1 for poses like the space's own samples, towards 0 for others."""
    uncertainty: float
    """Of that judgement, in [0, 1]: it rises on bodies unlike all that the space was trained on."""
    energy: float
    """Of the validators; 0 where nothing is wrong."""


@dataclass(frozen=True)
class PoseSpace:
    """The distribution of poses of one character."""

    character: Character
    rig: Rig
    body: Body
    trained: Trained

    @staticmethod
    def of(character: Character, *, weights: Path | None = None) -> "PoseSpace":
        """The space of a rigged character; weights are those in the package by default."""
        body = Body.of(character)
        assert character.skeleton is not None
        return PoseSpace(character, Rig.from_skeleton(character.skeleton), body, _trained(weights))

    @property
    def strangeness(self) -> float:
        """Distance of this body to the nearest training body, where 1 is usual among those."""
        return self.trained.strangeness(self.body)

    @cached_property
    def validator(self) -> Validator:
        """Measures poses of this body; the ranges of its joints come from samples."""
        return Validator.of(self.character, known=self._known)

    def sample(self, count: int, words: str | None = None, *, seed: int = 0, valid: bool = True) -> Poses:
        """Random poses, of a kind of motion if words say so; `valid` moves limbs out of each other and the ground, and
        draws poses again whose faces still go through each other."""
        if count < 1:
            raise KinemaError(f"{count} poses: ask for one or more")
        generator = torch.Generator().manual_seed(seed)
        poses = self._draw(count, words, generator, valid=valid)
        if not valid or self._skinned.contacts is None:
            return poses
        touching = torch.from_numpy(self._skinned.touching(poses))
        for _ in range(REDRAWS):
            bad = torch.nonzero(touching > TOUCHING).flatten()
            # A body that is in itself in most of its poses, as one of boxes is, would be held to the few others.
            if not 0 < len(bad) <= count / 2:
                break
            other = self._draw(len(bad), words, generator)
            found = torch.from_numpy(self._skinned.touching(other))
            better = found < touching[bad]
            touching[bad[better]] = found[better]
            poses.rotations[bad[better]], poses.height[bad[better]] = other.rotations[better], other.height[better]
        return poses

    def _draw(self, count: int, words: str | None, generator: torch.Generator, *, valid: bool = True) -> Poses:
        noise = torch.randn(count, len(self.rig.parents) + 1, 6, generator=generator)
        values = sample(self._clean(words, fast=True), noise, steps=SAMPLING_STEPS)
        poses = values_to_poses(values, self.body.scale)
        return repair(self.validator, poses, scale=self.body.scale) if valid else poses

    def invert(self, poses: Poses) -> Values:
        """The noise that decodes to the poses."""
        return invert(self._clean(), poses_to_values(self._own(poses), self.body.scale))

    def decode(self, noise: Values) -> Poses:
        return values_to_poses(decode(self._clean(), noise), self.body.scale)

    def rather(self, values: Values, level: float) -> Values:
        """What the network would rather have in place of poses, of which noise hides so much."""
        return rather(self._clean(fast=True), values, level)

    def walk(self, a: Poses, b: Poses, count: int) -> Poses:
        """`count` poses from a to b through the space, at an even speed; the ends are exact."""
        return walk(self.rig, self._clean(), self._own(a), self._own(b), count, scale=self.body.scale)

    def project(self, poses: Poses, *, seed: int = 0) -> Poses:
        """The poses as the space would rather have them: mean of the clean poses that noisy ones come from."""
        clean, generator = self._clean(), torch.Generator().manual_seed(seed)
        values = poses_to_values(self._own(poses), self.body.scale)
        for t in PROJECTED_AT:
            noise = torch.randn(PROJECTIONS, 1, *values.shape[1:], generator=generator)
            with torch.no_grad():
                noisy = ((1 - t) * values + t * noise).flatten(0, 1)
                values = clean(noisy, t).view(PROJECTIONS, *values.shape).mean(0)
        return values_to_poses(values, self.body.scale)

    def solve(
        self, targets: Sequence[Target], *, start: Poses | None = None, pins: Sequence[int] = (),
        frozen: Sequence[int] = (), plausible: float | None = None, seed: int = 0, quick: bool = False,
    ) -> Solution:  # fmt: skip
        """A pose that meets targets and is one of the body's.

        Args:
            start: the pose to begin with, by default rest.
            pins: joints that stay where they are in `start`.
            frozen: joints that keep their rotation.
            plausible: 0 changes the start as little as possible ("faithful"), 0.8 hardly keeps anything of it; by
                default 0.5, and 0.95 where there is no start to be faithful to.
            quick: one candidate and one noise level, to be called while something is dragged.
        """
        if plausible is None:
            plausible = FREE if start is None else FAITHFUL
        if not 0 <= plausible <= FREE:
            raise KinemaError(f"plausible {plausible}: must be from 0 (faithful) to 0.95")
        start = self._own(start if start is not None else Poses.rest(self.rig))[:1]
        check_targets(self.rig, [*targets, *(Target(j) for j in pins)], frozen)
        places = start.place(self.rig)[0, :, :, 3].tolist()
        wishes = [*targets, *(Target(j, (places[j][0], places[j][1], places[j][2])) for j in pins)]
        if not any(t.position or t.look_at or t.rotation is not None for t in wishes):
            raise KinemaError("no target: say where a joint shall be, look or turn to")
        count, steps = (1, 1) if quick else (CANDIDATES, STEPS)
        return solve(
            self.rig, self._clean(fast=True), start, wishes, scale=self.body.scale,
            plausible=min(plausible, 0.3) if quick else plausible, frozen=frozen,
            generator=torch.Generator().manual_seed(seed), metric=self.metric if plausible > 0 else None,
            count=count, steps=steps,
        )  # fmt: skip

    def keyframes(self, keys: Sequence[Key], *, fps: float = 24.0, plant_feet: bool = True) -> Motion:
        """A clip through the keys, which are exact, with the ways in between through the space and feet planted."""
        keys = [Key(key.seconds, self._own(key.pose)) for key in keys]
        poses, frames = in_between(self.rig, self._clean(), keys, fps=fps, scale=self.body.scale)
        motion = poses.motion(self.rig, fps=fps)
        return plant_between(Anatomy.of(self.character), motion, frames) if plant_feet else motion

    def score(self, pose: Poses, *, seed: int = 0) -> Score:
        """How plausible a pose is, and how sure that is."""
        own = self._own(pose)[:1]
        change = float(self._change(own, seed)[0])
        likeness = min(self._usual / max(change, 1e-9), 1.0)
        strange = max(self.strangeness / STRANGE, 1e-6)
        return Score(likeness, strange**2 / (1 + strange**2), float(self.validator.energy(own)[0]))

    @cached_property
    def metric(self) -> Metric:
        """Which joints turn together, and how readily, in samples."""
        return metric_of(self._known, self.body.scale)

    @cached_property
    def _skinned(self) -> Skinned:
        return Skinned.of(self.character)

    @cached_property
    def _known(self) -> Poses:
        return self.sample(KNOWN_POSES, seed=0, valid=False)

    @cached_property
    def _usual(self) -> float:
        return float(self._change(self._known, 0).quantile(0.9))

    def _change(self, poses: Poses, seed: int) -> Float[Tensor, "poses"]:
        """How much the network changes noisy versions of poses, relative to what noise hides."""
        clean, generator = self._clean(), torch.Generator().manual_seed(seed)
        values = poses_to_values(poses, self.body.scale)
        total = torch.zeros(len(values))
        for t in SCORED_AT:
            noise = torch.randn(1, *values.shape[1:], generator=generator)
            with torch.no_grad():
                total += (clean((1 - t) * values + t * noise, t) - values).square().mean((1, 2)) / t**2
        return total / len(SCORED_AT)

    def _own(self, poses: Poses) -> Poses:
        if poses.rotations.shape[1] != len(self.rig.parents):
            theirs, ours = poses.rotations.shape[1], len(self.rig.parents)
            raise KinemaError(f"a pose of {theirs} joints does not fit {self.character.name} with {ours}")
        if not bool(poses.rotations.isfinite().all() and poses.height.isfinite().all()):
            raise KinemaError("a pose has values that are not finite")
        return poses

    @cached_property
    def _bare(self) -> Given:
        return self._given(torch.zeros(1, TEXT))

    def _given(self, text: Float[Tensor, "1 384"]) -> Given:
        with torch.no_grad():
            return self.trained.model.given(Bodies.of([self.body]), text)

    def _clean(self, words: str | None = None, *, fast: bool = False) -> Denoiser:
        if not words:
            return denoiser(self.trained.model, self._bare, fast=fast)
        told = self._given(_embed(words))
        return denoiser(self.trained.model, told, without=self._bare, guidance=GUIDANCE, fast=fast)


@lru_cache(maxsize=2)
def _trained(path: Path | None) -> Trained:
    return Trained.load(path)


@lru_cache(maxsize=64)
def _embed(words: str) -> Float[Tensor, "1 384"]:
    """The verb phrase of a sentence, as captions of the training are."""
    from kinema.gait.sentence import take_apart

    return embed_texts([take_apart(words).phrase or words])
