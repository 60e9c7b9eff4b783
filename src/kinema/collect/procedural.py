"""Poses of random creatures that do procedural motions and, where recordings are at hand, retargeted ones."""

from pathlib import Path

import numpy as np

from kinema.collect.keep import different, poses_of_clip
from kinema.collect.recorded import words_of
from kinema.create.creatures import random_creature
from kinema.gait.kinds import LIKE
from kinema.posespace.body import Body
from kinema.posespace.shards import BodyPoses
from kinema.posespace.skinned import Skinned
from kinema.prior.nano.actor import BODIES, FAMILIES, Actor
from kinema.prior.nano.cast import KIND_SHARES, cast

MOTIONS, POSES = 16, 5
"""Motions that one creature does, and poses that are taken of each."""


def procedural_poses(rng: np.random.Generator, shared: Path | None) -> BodyPoses:
    """Poses of one random creature."""
    kinds = [kind for kind in KIND_SHARES if kind in FAMILIES]
    shares = np.array([KIND_SHARES[kind] for kind in kinds])
    while True:
        kind = str(rng.choice(kinds, p=shares / shares.sum()))
        character = random_creature(rng, family=str(rng.choice(FAMILIES[kind])), detail="low")
        actor, body = Actor.of(character, rng), Skinned.of(character)
        if LIKE.get(actor.limbs.body, actor.limbs.body) not in BODIES:
            continue  # proportions that hide a leg
        takes = cast(shared).of_kind(kind) if shared is not None else {}
        parts = []
        for _ in range(MOTIONS):
            shot = cast(shared).given_shot(rng, actor, takes) if shared is not None else actor.perform(rng)
            if shot is None:
                continue
            poses = different(poses_of_clip(body, shot.motion, most=POSES))
            clean = ~body.intersecting(poses)
            if clean.any():
                words = words_of(shot.label.name, shot.label.wording)
                parts.append((poses[clean.nonzero()[0].tolist()], words))
        if parts:
            return BodyPoses.of(character.name, kind, "procedural", Body.of(character), parts)
