"""Feet and ground of a distilled motion: planting by kinematics, physics, and what is settled after it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from kinema.asset.character import Character
from kinema.distill.config import Animate
from kinema.evaluate.metrics import Metrics, measure
from kinema.evaluate.verdict import FITS
from kinema.motion.bursts import without_bursts
from kinema.motion.feet import Stance, find_stance, track_feet
from kinema.motion.foot_skin import FootSkin, trunk_depth
from kinema.motion.loop import closes, cycle_of, roll, unroll
from kinema.motion.motion import Motion
from kinema.motion.plant import ground_feet, plan_and_plant
from kinema.physics.track import Tracking, TrackResult, track
from kinema.progress import Progress, Report
from kinema.rig.anatomy import Anatomy

STANDS = 0.002
"""Slide of a motion whose feet stand already."""
NO_GAIT = ("other", "stand")
"""What a motion that is no gait is called."""
MORE_SLIDE = 1.5
"""Slide, as a share of what it was, up to which feet of a planted motion are kept at the height of the ground."""
LESS_SLIDE = 0.8
"""A tracked motion is planted once more only if its feet then slide less than this share of what they did."""

SIMULATED_S, PLANTED_S = 0.35, 1.0
"""How much of the rounds before and after a loop is simulated and planted with it [s]; long simulations drift."""
DEEP = 0.002
"""Depth of the skin in the ground that is not worth a correction [leg lengths]."""


def plant_feet(config: Animate, character: Character, anatomy: Anatomy, motion: Motion) -> tuple[Motion, Stance | None]:
    """Hold stance feet in place by kinematics alone, so that a clip without physics does not skate either.

    What crawls without legs is only lifted out of the ground, what swims or flies is left as it is.

    Returns:
        The motion, and when each foot stands; None where no foot was planted, or the body cannot follow. Found again in
        the planted motion a stance would be another one, since a foot that rolls over its toes leaves the ground with
        most of its points.
    """
    if anatomy.limbs.ground and not anatomy.limbs.legs and config.plant_feet and config.preset != "paper":
        return _lift(config, character, anatomy, motion), None
    if not _plants(config, anatomy):
        return motion, None
    # Feet rise at once when they let go: the prior lifts them slowly, by a few pixels at its resolution.
    work = partial(_work_on, plan_and_plant, character, anatomy, brisk=True)
    planted, stance = _with_rounds(config, motion, None, work)
    before = measure(character, motion, rig=anatomy.rig, limbs=anatomy.limbs)

    def keeps(found: Motion, slide: float) -> bool:
        after = measure(character, found, rig=anatomy.rig, limbs=anatomy.limbs)
        return after.gait == before.gait and after.slide <= max(slide, STANDS)

    if before.gait in NO_GAIT or keeps(planted, before.slide):
        return planted, stance
    # Stiff legs and boots longer than legs cannot follow a foot that stays: better a foot that slides than a lost gait.
    grounded = _with_rounds(config, motion, None, partial(_work_on, ground_feet, character, anatomy))[0]
    # Legs of one bone cannot even keep a foot at the height of the ground.
    return grounded if keeps(grounded, MORE_SLIDE * before.slide) else _lift(config, character, anatomy, motion), None


def follow_physics(
    config: Animate, anatomy: Anatomy, motion: Motion, stance: Stance | None, progress: Report, checkpoint: Path | None
) -> TrackResult | None:
    """Track the motion with the simulated body; None where physics is off or nothing stands on the ground."""
    if not config.physics or not anatomy.limbs.legs or not anatomy.limbs.ground:
        return None
    margin, paper = _margin(config, motion, SIMULATED_S), config.preset == "paper"
    stance = None if stance is None else _rounds_of(stance, margin)
    options = Tracking.paper() if paper else Tracking.gentle() if _plants(config, anatomy) else Tracking()
    limits = None
    if not paper:  # where all joints are free
        limits = torch.from_numpy(np.stack((anatomy.limits.lower, anatomy.limits.upper), -1)).float()
    return track(
        None, anatomy.rig, unroll(motion, margin) if margin else motion,
        options=replace(options, iterations=config.physics_iterations), limbs=anatomy.limbs, cuboids=anatomy.cuboids,
        limits=limits, stance=stance, checkpoint=checkpoint, checkpoint_seconds=config.checkpoint_seconds,
        progress=lambda done, total, loss: progress(Progress(done, total, "physics", loss)),
    )  # fmt: skip


def settles(config: Animate) -> bool:
    """Is the simulated motion worked on further? The paper's is the result as it is."""
    return config.preset != "paper" or config.settle


def as_simulated(config: Animate, planted: Motion, tracked: Motion) -> Motion:
    """What the simulated body did; of a loop, one round, its ends faded into each other."""
    margin = _margin(config, planted, SIMULATED_S)
    return roll(tracked, margin) if margin else tracked


def settle(
    config: Animate, character: Character, anatomy: Anatomy, planted: Motion, stance: Stance | None, tracked: Motion
) -> Motion:
    """Put the skin of a tracked motion's stance feet on the ground, without what shook the simulated body; plant them
    once more where they then slide less.

    Physics may carry a whole body forth while a foot stands; where it does not, planting only adds jerks of its own.
    """
    simulated = as_simulated(config, planted, tracked)
    if not settles(config):
        return simulated
    if not _plants(config, anatomy):
        return _lift(config, character, anatomy, simulated)
    margin = _margin(config, planted, SIMULATED_S)
    tracked = without_bursts(anatomy.rig, unroll(planted, margin) if margin else planted, tracked)
    simulated = as_simulated(config, planted, tracked)
    stance = _meant_or_found(config, anatomy, stance, simulated)
    works = (partial(_work_on, work, character, anatomy) for work in (ground_feet, plan_and_plant))
    grounded, again = (_with_rounds(config, simulated, stance, work)[0] for work in works)
    old, new = (measure(character, motion, rig=anatomy.rig, limbs=anatomy.limbs) for motion in (grounded, again))
    better = new.gait == old.gait and old.slide > STANDS and new.slide < LESS_SLIDE * old.slide
    return again if better else grounded


def _meant_or_found(config: Animate, anatomy: Anatomy, stance: Stance | None, simulated: Motion) -> Stance | None:
    """The stances that were planned and those of the simulated body, which pushes off for longer than it was to."""
    if stance is None:
        return None
    margin = _margin(config, simulated, PLANTED_S)
    rounds = unroll(simulated, margin) if margin else simulated
    found = find_stance(track_feet(anatomy.rig, anatomy.limbs, rounds))
    return stance | found[margin : margin + len(stance)]


def loses_gait(config: Animate, wanted: str, planted: Metrics, simulated: Metrics) -> bool:
    """Did physics lose the gait that was asked for and planted? Toys with legs of one bone stumble over them."""
    fits = FITS.get(wanted, ())
    return settles(config) and planted.gait in fits and simulated.gait not in fits


def lift_skin(character: Character, anatomy: Anatomy, motion: Motion, *, seconds: float = 0.08) -> Motion:
    """Raise the root, smoothly in time, by the depth of the skin below the ground; arms and tail raise nothing.

    Boxes stand for the feet; the skin around an ankle that bends bulges out of them by a per cent or two of the height.
    """
    depth = trunk_depth(character, anatomy.rig, anatomy.limbs, motion)
    if not (depth > 0).any():
        return motion
    width = seconds * motion.fps
    # As deep as at the worst moment nearby, then smoothed: what comes out is never too little.
    deepest = maximum_filter1d(depth, 2 * round(2 * width) + 1)
    lift = torch.from_numpy(gaussian_filter1d(deepest, width, truncate=2.0)).to(motion.root_position)
    up = torch.tensor([0.0, 1.0, 0.0]).to(motion.root_position)
    return replace(motion, root_position=motion.root_position + lift[:, None] * up)


def _work_on(
    work: Callable[..., tuple[Motion, Stance]], character: Character, anatomy: Anatomy,
    motion: Motion, stance: Stance | None, period: int | None, **how: Any,
) -> tuple[Motion, Stance]:  # fmt: skip
    """What `plan_and_plant` or `ground_feet` makes of a motion, in its number type. Where a belly or a knee is in the
    ground then, the root rises and the legs stretch, so that the feet stay."""
    body, skin = (anatomy.rig, anatomy.cuboids, anatomy.limbs), FootSkin.of(character, anatomy.rig, anatomy.limbs)
    found, stance = work(*body, motion, skin=skin, stance=stance, period=period, **how)
    found = found.detached(motion.angles)
    depth = trunk_depth(character, anatomy.rig, anatomy.limbs, found)
    if depth.max() >= DEEP * anatomy.limbs.leg_length:
        lifted = lift_skin(character, anatomy, found)
        found = ground_feet(*body, lifted, skin=skin, stance=stance, carry=False)[0].detached(motion.angles)
    return found, stance


def _plants(config: Animate, anatomy: Anatomy) -> bool:
    by_skeleton = config.preset != "paper" and config.parameters != "field"
    return config.plant_feet and by_skeleton and bool(anatomy.limbs.legs) and anatomy.limbs.ground


def _with_rounds(
    config: Animate, motion: Motion, stance: Stance | None,
    work: Callable[[Motion, Stance | None, int | None], tuple[Motion, Stance]],
) -> tuple[Motion, Stance]:  # fmt: skip
    """The motion worked on; a loop with parts of the rounds before and after it, of whose cycles `work` is told the
    length, so that equal cycles are worked on alike."""
    margin = _margin(config, motion, PLANTED_S)
    if not margin:
        return work(motion, stance, None)
    around = None if stance is None else _rounds_of(stance, margin)
    found, stance = work(unroll(motion, margin), around, cycle_of(motion))
    return roll(found, margin), stance[margin : margin + len(motion)]


def _rounds_of(stance: Stance, margin: int) -> Bool[np.ndarray, "rounds feet"]:
    """The stance of a loop with so many frames of the rounds before and after it."""
    return stance[(np.arange(len(stance) + 2 * margin) - margin) % max(len(stance) - 1, 1)] if margin else stance


def _lift(config: Animate, character: Character, anatomy: Anatomy, motion: Motion) -> Motion:
    """`lift_skin`, of a loop together with parts of the rounds before and after it."""
    margin = _margin(config, motion, PLANTED_S)
    lifted = lift_skin(character, anatomy, unroll(motion, margin) if margin else motion)
    return roll(lifted, margin) if margin else lifted


def _margin(config: Animate, motion: Motion, seconds: float) -> int:
    """Frames of the rounds before and after that a loop is worked on with; 0 of what is no loop."""
    return min(len(motion) - 1, round(seconds * motion.fps)) if config.loop and closes(motion) else 0
