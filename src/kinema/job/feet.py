"""Feet and ground of a distilled motion: planting by kinematics, physics, and what is settled after it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from kinema.asset.character import Character
from kinema.distill.config import Animate
from kinema.evaluate.metrics import measure, skin_contacts
from kinema.motion.loop import closes, middle_round, repeat
from kinema.motion.motion import Motion
from kinema.motion.plant import plant
from kinema.physics.track import Tracking, TrackResult, track
from kinema.progress import Progress, Report
from kinema.rig.anatomy import Anatomy

STANDS = 0.002
"""Slide of a motion whose feet stand already."""
LESS_SLIDE = 0.8
"""A tracked motion is planted once more only if its feet then slide less than this share of what they did."""


def plant_feet(config: Animate, character: Character, anatomy: Anatomy, motion: Motion) -> Motion:
    """Hold stance feet in place by kinematics alone, so that a clip without physics does not skate either."""
    if not _plants(config, anatomy):
        return motion
    rounds = _rounds(config, motion)
    # Feet rise at once when they let go: the prior lifts them slowly, by a few pixels at its resolution.
    return _one_round(_planted(character, anatomy, repeat(motion, rounds), brisk=True), rounds)


def follow_physics(
    config: Animate, anatomy: Anatomy, motion: Motion, progress: Report, checkpoint: Path | None
) -> TrackResult | None:
    """Track the motion with the simulated body; None where physics is off or nothing stands on the ground."""
    if not config.physics or not anatomy.limbs.legs:
        return None
    return track(
        None,
        anatomy.rig,
        repeat(motion, _rounds(config, motion)),
        options=_tracking(config, anatomy),
        limbs=anatomy.limbs,
        cuboids=anatomy.cuboids,
        limits=torch.from_numpy(np.stack((anatomy.limits.lower, anatomy.limits.upper), -1)).float(),
        progress=lambda done, total, loss: progress(Progress(done, total, "physics", loss)),
        checkpoint=checkpoint,
        checkpoint_seconds=config.checkpoint_seconds,
    )


def settle(config: Animate, character: Character, anatomy: Anatomy, planted: Motion, tracked: Motion) -> Motion:
    """Lift the skin of a tracked motion out of the ground, and plant its feet once more where they then slide less.

    Physics may carry a whole body forth while a foot stands; where it does not, planting only adds jerks of its own.
    """
    rounds = _rounds(config, planted)
    if config.preset == "paper" and not config.settle:
        return _one_round(tracked, rounds)
    lifted = lift_skin(character, anatomy, tracked)
    if not _plants(config, anatomy):
        return _one_round(lifted, rounds)
    again = _planted(character, anatomy, tracked)
    old, new = (
        measure(character, motion, rig=anatomy.rig, limbs=anatomy.limbs, mesh=False) for motion in (lifted, again)
    )
    better = new.gait == old.gait and old.slide > STANDS and new.slide < LESS_SLIDE * old.slide
    return _one_round(again if better else lifted, rounds)


def lift_skin(character: Character, anatomy: Anatomy, motion: Motion, *, seconds: float = 0.08) -> Motion:
    """Raise the root, smoothly in time, by the depth of the skin below the ground.

    Boxes stand for the feet; the skin around an ankle that bends bulges out of them by a per cent or two of the height.
    """
    low = skin_contacts(character, anatomy.rig, anatomy.limbs, motion).lowest
    if not (low < 0).any():
        return motion
    width = seconds * motion.fps
    # As deep as at the worst moment nearby, then smoothed: what comes out is never too little.
    deepest = maximum_filter1d(np.maximum(-low, 0.0), 2 * round(2 * width) + 1)
    lift = torch.from_numpy(gaussian_filter1d(deepest, width, truncate=2.0)).to(motion.root_position)
    up = torch.tensor([0.0, 1.0, 0.0]).to(motion.root_position)
    return replace(motion, root_position=motion.root_position + lift[:, None] * up)


def _planted(character: Character, anatomy: Anatomy, motion: Motion, *, brisk: bool = False) -> Motion:
    found = plant(anatomy.rig, anatomy.cuboids, anatomy.limbs, motion, brisk=brisk)
    planted = Motion(found.root_position.to(motion.angles), found.angles.to(motion.angles), motion.fps)
    return lift_skin(character, anatomy, planted)


def _plants(config: Animate, anatomy: Anatomy) -> bool:
    by_skeleton = config.preset != "paper" and config.parameters != "field"
    return config.plant_feet and by_skeleton and bool(anatomy.limbs.legs)


def _tracking(config: Animate, anatomy: Anatomy) -> Tracking:
    base = Tracking.gentle() if _plants(config, anatomy) else Tracking()
    base = Tracking.paper() if config.preset == "paper" else base
    return replace(base, iterations=config.physics_iterations)


def _rounds(config: Animate, motion: Motion) -> int:
    """How often a motion is played while it is worked on: a loop three times, so that the middle one stays a loop."""
    return 3 if config.loop and closes(motion) else 1


def _one_round(motion: Motion, rounds: int) -> Motion:
    return middle_round(motion, rounds) if rounds > 1 else motion
