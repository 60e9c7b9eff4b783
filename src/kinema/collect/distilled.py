"""Poses out of the video prior: sample videos of a body, fit its joints to them, keep what fits and is valid.

Poses only, so everything is short: all videos of a body are denoised in two batches, all their frames are fitted at
once in closed form, and there are no films, no feet and no physics.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.collect.clips import different, on_ground, recorded_files, words_of
from kinema.collect.compose import composed
from kinema.collect.fit import Fitted, fit_frames
from kinema.collect.shots import Filmed, sample_films
from kinema.create.creatures import random_creature
from kinema.errors import KinemaError
from kinema.gait.takes import load_character
from kinema.gait.vocabulary import body_kind
from kinema.geometry.transforms import rotation_matrix, rotation_vector
from kinema.posespace.body import Body
from kinema.posespace.pose import Poses, without_heading
from kinema.posespace.shards import BodyPoses
from kinema.posespace.skinned import DENSE, TOUCHING, Skinned
from kinema.posespace.validate import Validator, repair
from kinema.prior.nano.actor import FAMILIES
from kinema.prior.nano.prior import NanoPrior
from kinema.rig.anatomy import Anatomy
from kinema.rig.embed.embed import rig_as
from kinema.rig.limbs import find_limbs

WORST_FIT, STILL = 0.7, 0.05
"""Largest distance of a pose to the videos, relative to that of the body as it stands, and one that is always small
enough [units]: what hardly moves is mostly noise."""
FILES_EVERY, AUTO_EVERY, AUTO_SHARE = 6, 6, 0.15
"""Every so-manieth body is a third-party rig, and another the mesh of one with a skeleton of our own, as long as there
are such; and share of creatures with a skeleton of our own."""
RIG_CLIPS = 2
"""Third-party rigs get so many times the motions of a creature: there are fewer of them."""
FOLDS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Shares of the way that wings fold and arms hang, of which the first is taken that goes through nothing."""
COMPOSED = 0.35
"""Poses made of limbs of different ones, as a share of those found."""


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

    def poses(self, index: int, seed: int) -> BodyPoses | None:
        """Poses of body number `index`; None if none was kept."""
        rng = np.random.default_rng((seed, index))
        character, count = self._body(index, rng)
        if character is None or len(character.mesh.faces) > DENSE:
            return None
        parts = distil(self.prior, character, count, rng)
        if not parts:
            return None
        family = body_kind(find_limbs(character).body)
        return BodyPoses.of(character.name, family, "distilled", Body.of(character), parts)

    def _body(self, index: int, rng: np.random.Generator) -> tuple[Character | None, int]:
        """A character and how many motions it shall do."""
        turn, kind = divmod(index, FILES_EVERY)
        if kind < 2 and turn < len(self.files):
            character = load_character(self.files[turn])
            return character if kind == 0 else auto_rigged(character), RIG_CLIPS * self.clips
        known = {motion.body for motion in self.prior.motions}
        while True:
            kind = str(rng.choice(list(FAMILIES)))  # every kind of body is equally likely
            character = random_creature(rng, family=str(rng.choice(FAMILIES[kind])), detail="low")
            if find_limbs(character).body not in known:
                continue  # proportions that hide a leg
            if rng.random() >= AUTO_SHARE:
                return character, self.clips
            if (own := auto_rigged(character)) is not None:
                return own, self.clips


def auto_rigged(character: Character) -> Character | None:
    """The same mesh with a skeleton of our own; None if that takes it for another kind of body."""
    bare = replace(character, skeleton=None, weights=None, clips=(), source=None, roles={})
    try:
        own = rig_as(bare)[0]
    except KinemaError:  # what no skeleton fits into
        return None
    same = find_limbs(own).body == find_limbs(character).body
    return replace(own, name=f"{character.name}_auto") if same else None


def distil(
    prior: NanoPrior, character: Character, count: int, rng: np.random.Generator, *, compose: float = COMPOSED
) -> list[tuple[Poses, str]]:
    """Poses of so many motions of a character that fit their videos and do not intersect themselves, with words."""
    anatomy = Anatomy.of(character)
    filmed = Filmed.of(character, anatomy, rng)
    shots = filmed.shots(prior, count, rng)
    if not shots:
        return []
    body, validator, scale = Skinned.of(character), Validator.of(character), Body.of(character).scale
    fold, most = _standing(body, filmed.ease.standing)
    parts: list[tuple[Poses, str]] = []
    for some in (shots[::2], shots[1::2]):  # each half from two sides of its own
        if not some:
            continue
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        cells, wanted = sample_films(prior, some, filmed.views(rng), generator=generator)
        fitted = fit_frames(cells, filmed.ease, wanted.flatten(0, 1))
        poses, good = fitted_poses(body, fitted, fold), fits(fitted)
        for number, shot in enumerate(some):
            at = torch.arange(prior.frames) + number * prior.frames
            chosen = poses[at[good[at]]]
            if len(chosen):
                found = different(on_ground(body, lifted(body, chosen)) if anatomy.limbs.ground else chosen)
                parts.append((found, words_of(shot.motion.name)))
    parts = _valid(body, validator, parts, scale, most)
    if compose and parts:
        made = composed(anatomy, Poses.cat([p for p, _ in parts]), round(compose * sum(len(p) for p, _ in parts)), rng)
        parts += _valid(body, validator, [(made, "")], scale, most) if len(made) else []
    return parts


def lifted(body: Skinned, poses: Poses) -> Poses:
    """Poses out of the ground, each by itself: a body that falls sinks in at the end of its clip only."""
    low = body.lowest(poses.place(body.rig))
    return Poses(poses.rotations, poses.height - low.clamp(max=0))


def fits(fitted: Fitted) -> Bool[Tensor, "frames"]:
    """True for frames whose joints came near the videos."""
    return (fitted.missing <= (WORST_FIT * fitted.moved).clamp(min=STILL)) & fitted.root.isfinite().all(-1)


def fitted_poses(body: Skinned, fitted: Fitted, fold: Float[Tensor, "joints 3 3"]) -> Poses:
    """The joints of every frame as poses, with arms and wings as far from their standing place as in the videos."""
    lean, _ = without_heading(fitted.rotations[:, 0])
    rotations = torch.cat((lean[:, None], (fitted.rotations @ fold)[:, 1:]), 1)
    return Poses(rotations, fitted.root[:, 1] - body.rig.heads[0, 1])


def _standing(body: Skinned, standing: Float[Tensor, "joints 3 3"]) -> tuple[Float[Tensor, "joints 3 3"], float]:
    """Turns that come before those of standing, so that arms and wings do not stand inside the body, and the share of
    faces that may touch: who stands with the arms in the hips, as figures of boxes do, always has them there."""
    vector = rotation_vector(standing)
    shares = torch.tensor(FOLDS)[:, None, None]
    stands = rotation_matrix(shares * vector)
    touching = body.touching(Poses(stands, torch.zeros(len(FOLDS))))
    chosen = int(np.argmax(touching <= max(TOUCHING, float(touching.min()))))
    return standing.mT @ stands[chosen], TOUCHING + float(touching[chosen])


def _valid(
    body: Skinned, validator: Validator, parts: list[tuple[Poses, str]], scale: float, most: float
) -> list[tuple[Poses, str]]:
    """The poses that do not intersect themselves, after those that do were given a chance to step apart."""
    if not parts:
        return []
    poses = Poses.cat([p for p, _ in parts])
    label = np.repeat(np.arange(len(parts)), [len(p) for p, _ in parts])
    bad = torch.from_numpy(body.touching(poses) > most)
    if bool(bad.any()):
        rotations, height = poses.rotations.clone(), poses.height.clone()
        mended = repair(validator, poses[bad], scale=scale)
        rotations[bad], height[bad] = mended.rotations, mended.height
        poses = Poses(rotations, height)
        bad[bad.clone()] = torch.from_numpy(body.touching(mended) > most)
    result = []
    for number, (_, words) in enumerate(parts):
        own = torch.from_numpy(label == number) & ~bad
        if bool(own.any()):
            result.append((poses[own], words))
    return result
