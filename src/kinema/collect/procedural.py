"""Poses of random creatures that do procedural motions."""

import numpy as np
import torch

from kinema.collect.keep import keep
from kinema.collect.recorded import words_of
from kinema.create.creatures import random_creature
from kinema.gait.kinds import LIKE
from kinema.gait.make import make_motion
from kinema.gait.plan import GaitBody
from kinema.posespace.body import Body
from kinema.posespace.shards import BodyPoses
from kinema.posespace.skinned import Skinned
from kinema.prior.nano.actor import BODIES, FAMILIES, draw_motion
from kinema.rig.limbs import find_limbs

MOTIONS, POSES = 12, 6
"""Motions that one creature does, and poses that are taken of each."""
ACTION_FPS = 3.0
"""Poses per second of an action."""


def procedural_poses(rng: np.random.Generator) -> BodyPoses:
    """Poses of one random creature; every kind of body is equally likely."""
    while True:
        kind = str(rng.choice(list(FAMILIES)))
        character = random_creature(rng, family=str(rng.choice(FAMILIES[kind])), detail="low")
        limbs, skinned = find_limbs(character), Skinned.of(character)
        if LIKE.get(limbs.body, limbs.body) not in BODIES:
            continue  # proportions that hide a leg
        body, parts = GaitBody.of(skinned.rig, limbs), []
        for _ in range(MOTIONS):
            row = draw_motion(limbs.body, rng)
            fps = POSES / row.gait.period(limbs.leg_length) if row.gait is not None else ACTION_FPS
            how = {"frames": POSES, "fps": fps, "phase": float(rng.random()), "rng": rng, "body": body}
            with torch.no_grad():
                motion, label = make_motion(skinned.rig, limbs, row, **how)
                poses = keep(skinned, motion, most=POSES)
            parts += [(poses, words_of(label.name))] if poses is not None else []
        if parts:
            return BodyPoses.of(character.name, kind, "procedural", Body.of(character), parts)
