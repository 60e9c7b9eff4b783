"""The main job: a character and a sentence in, a motion and its measures out. It computes and knows no run folder.

character, anatomy  →  stage (splats)  →  distil  →  plant feet  →  physics  →  measure
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.character import Character
from kinema.distill.config import Animate, Resolved, resolve, usual_guidance
from kinema.distill.field import Deformation, Field, deform
from kinema.distill.loop import Distiller, Observer
from kinema.distill.prompt import UNKNOWN_ACTION, read_prompt, told
from kinema.distill.pull import PosePull
from kinema.distill.tempo import Tempo, default_frame_rate, read_tempo
from kinema.evaluate.metrics import Metrics, measure
from kinema.gait.hang import hanging_arms
from kinema.job.feet import as_simulated, follow_physics, loses_gait, plant_feet, settle, settles
from kinema.motion.lie import lie_down
from kinema.motion.motion import Motion
from kinema.motion.similar import grown, grown_motion, growth
from kinema.motion.source import rigged
from kinema.physics.track import TrackResult
from kinema.posespace.space import PoseSpace
from kinema.prior.protocol import PromptReading, VideoPrior
from kinema.progress import Report
from kinema.render.refine import refine, vertex_splats
from kinema.render.shadow import Shadow
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.embed.embed import NO_RIG
from kinema.splat.transfer import transfer_weights

DISTILLED, TRACKED = "distill.safetensors", "track.npz"
"""Files in which the long stages save their state."""

ON_THE_BELLY = {"slither", "slither_fast"}
"""Motions of bodies without legs in which all of the body lies on the ground."""


@dataclass(frozen=True)
class Outcome:
    """A finished job."""

    character: Character
    """With the rig that it was given if it had none."""
    anatomy: Anatomy
    reading: PromptReading
    """What the prompt was understood as."""
    tempo: Tempo
    motion: Motion
    """The result: planted and simulated, as far as the options and the body allow."""
    distilled: Motion
    """As the prior gave it."""
    planted: Motion
    """With feet that stay where they touch down, before physics."""
    tracked: TrackResult | None
    """None where physics was not asked for or nothing stands on the ground."""
    metrics: dict[str, Metrics]
    """Of `distilled`, `planted` and, after physics, `simulated` (where feet are settled after it) and `physics`."""
    deformation: Deformation | None
    """The mesh in time where a field was distilled and no skeleton."""
    history: list[dict[str, Any]]
    notes: list[str]
    stage_seconds: dict[str, float]

    @property
    def clips(self) -> dict[str, Motion]:
        """The motion by stage, the result last."""
        found = {"distilled": self.distilled, "planted": self.planted}
        return found if self.tracked is None else found | {"physics": self.motion}


def animate(
    config: Animate,
    character: Character,
    prior: VideoPrior,
    *,
    progress: Report = lambda _: None,
    watch: Callable[[Character, Anatomy, Animate], Observer] | None = None,
    states: Path | None = None,
    student: VideoPrior | None = None,
) -> Outcome:
    """Animate a character as `config.prompt` says.

    Args:
        progress: Called after every step of a stage.
        watch: Called once before the distillation; gives the observer that is called after each of its steps.
        states: Folder in which the long stages save their state and from which they resume; None saves nothing.
        student: Samples the videos to fit in the prior's place.
    """
    clock = _Clock()
    guidance, config = config.guidance, resolve(config)
    given, character = character, rigged(character)
    anatomy = Anatomy.of(character)
    reading = read_prompt(config, prior, anatomy.limbs.body)
    tempo = read_tempo(config, prior, anatomy, reading)
    if guidance is None:
        config = replace(config, guidance=usual_guidance(config.prior, repeats=tempo.repeats))
    if (size := growth(anatomy.limbs.leg_length)) != 1:
        large = animate(
            _at_size(config, tempo, size), grown(character, size), prior, progress=progress, watch=watch,
            states=states, student=student,
        )  # fmt: skip
        return _own_size(large, character, anatomy, tempo, size, _rigging(given, character))
    stage = make_stage(config, character, anatomy, prior)
    clock.lap("rig and splats")
    spoken = told(config, prior, reading)
    pull = PosePull.of(PoseSpace.of(character), anatomy.limbs) if config.pose_space else None
    how: dict[str, Any] = {"checkpoint": states and states / DISTILLED, "pull": pull, "student": student}
    distiller = Distiller(spoken, prior, stage, anatomy, tempo, **how)
    result = distiller.run(report=progress, observe=watch(character, anatomy, config) if watch is not None else None)
    deformation = None
    if isinstance(distiller.parameters, Field):
        at, fps = distiller.clip_times()
        deformation = deform(distiller.parameters, character, anatomy, at, fps=fps)
    clock.lap("distill")
    if tempo.aloft:  # the prior films it over ground, but nothing is planted on it, simulated or judged by it
        anatomy = replace(anatomy, limbs=replace(anatomy.limbs, ground=False))
    crawls = tempo.motion in ON_THE_BELLY and not anatomy.limbs.legs and anatomy.limbs.ground
    crawls = crawls and config.preset != "paper"  # AKD's motion is as it was distilled
    moved = lie_down(anatomy.rig, anatomy.limbs, result.motion) if crawls else result.motion
    planted, stance = plant_feet(config, character, anatomy, moved)
    clock.lap("plant")
    tracked = follow_physics(config, anatomy, planted, stance, progress, states and states / TRACKED)
    final = planted if tracked is None else settle(config, character, anatomy, planted, stance, tracked.motion)
    clock.lap("physics")
    clips = {"distilled": result.motion, "planted": planted}
    if tracked is not None:
        clips |= {"simulated": as_simulated(config, planted, tracked.motion)} if settles(config) else {}
        clips |= {"physics": final}
    metrics = {} if deformation is None else {"field": deformation.metrics}
    metrics |= {name: measure(character, clip, rig=anatomy.rig, limbs=anatomy.limbs) for name, clip in clips.items()}
    notes = [*_rigging(given, character), *_pace(config, prior, tempo), *result.notes]
    if "physics" in metrics and loses_gait(config, tempo.motion, metrics["planted"], metrics["physics"]):
        lost = f"physics lost the gait ({metrics['physics'].gait}): the clip is the planted one, not simulated"
        final, metrics["physics"], notes = planted, metrics["planted"], [*notes, lost]
    clock.lap("measure")
    return Outcome(
        character, anatomy, reading, tempo, final, result.motion, planted, tracked, metrics, deformation,
        result.history, notes, clock.seconds,
    )  # fmt: skip


def _at_size(config: Resolved, tempo: Tempo, size: float) -> Resolved:
    """The job for a body that is so many times as large and moves at its own pace."""
    time = size**0.5
    return replace(
        config, fps=(config.fps or default_frame_rate(tempo)) / time,
        speed=None if config.speed is None else config.speed * time,
        period=None if config.period is None else config.period * time,
    )  # fmt: skip


def _own_size(
    large: Outcome, character: Character, anatomy: Anatomy, tempo: Tempo, size: float, notes: list[str]
) -> Outcome:
    """What came of a job with a body that was so many times as large."""
    back = partial(grown_motion, growth=1 / size)
    tracked, deformation = large.tracked, large.deformation
    if tracked is not None:
        before, after = tracked.before.at_size(1 / size), tracked.after.at_size(1 / size)
        moved = {"motion": back(tracked.motion), "target": back(tracked.target)}
        tracked = replace(tracked, before=before, after=after, **moved)
    if deformation is not None:
        own = deformation.metrics.at_pace(size**0.5)
        deformation = replace(deformation, vertices=deformation.vertices / size, metrics=own)
    return replace(
        large, character=character, anatomy=anatomy, tempo=tempo, motion=back(large.motion),
        distilled=back(large.distilled), planted=back(large.planted), tracked=tracked, deformation=deformation,
        metrics={name: metrics.at_pace(size**0.5) for name, metrics in large.metrics.items()},
        notes=[*notes, *large.notes],
    )  # fmt: skip


def _rigging(given: Character, character: Character) -> list[str]:
    """What the character was given so that it can move."""
    if given.skeleton is None or given.weights is not None:
        return [line for line in character.changes if line.startswith(NO_RIG)]
    return ["the mesh had no skin weights: made by bone heat"]


def _pace(config: Animate, prior: VideoPrior, tempo: Tempo) -> list[str]:
    """Where speed and period are from that nobody gave, with a prior that knows no motions by name."""
    missing = [name for name in ("speed", "period") if getattr(config, name) is None]
    if prior.motions or not missing or tempo.motion == UNKNOWN_ACTION:
        return []
    options = " and ".join(f"--{name}" for name in missing)
    return [f"{' and '.join(missing)} by a table of verbs and the length of the legs: {tempo.motion} ({options})"]


def make_stage(config: Animate, character: Character, anatomy: Anatomy, prior: VideoPrior) -> Stage:
    """The character as Gaussians on its ground, in the look that the prior knows."""
    rng, look = np.random.default_rng(config.seed), "canonical" if prior.needs.look == "points" else "color"
    body = {"limbs": anatomy.limbs, "standing": hanging_arms(anatomy.rig, anatomy.limbs)}
    if config.preset == "paper":
        splats = refine(vertex_splats(character.mesh, least=config.splats, rng=rng), character.mesh, rng=rng)
        skin = transfer_weights(character, splats.centers, most=4)
        stage = Stage.from_splats(character, anatomy.rig, splats, skin, look, **body)
    else:
        stage = Stage.from_character(character, anatomy.rig, count=config.splats, look=look, rng=rng, **body)
    shadow = Shadow(falloff=4 / stage.size) if config.shadow and config.render_ground else None
    scene = replace(stage.scene, shadow=shadow, ground=stage.scene.ground if config.render_ground else None)
    return replace(stage, scene=scene).to(prior.device)


class _Clock:
    """Seconds per stage of a job."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.monotonic()
        self.seconds[stage], self.last = now - self.last, now
