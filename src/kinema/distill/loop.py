"""The optimisation: sampled videos are fitted, then score distillation refines, one resumable step at a time.

Every step draws its randomness from the seed and its own number, and a checkpoint holds parameters and optimiser, so
a run that was killed and resumed gives the same bits as one that was not.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill.checkpoint import RunState, load_run, save_run
from kinema.distill.config import AKD_GUIDANCE, NANO_GUIDANCE, Resolved, usual_guidance
from kinema.distill.energies import weighted_energies
from kinema.distill.field import Field
from kinema.distill.parameters import Filmed, MotionParameters
from kinema.distill.pull import EVERY, PosePull
from kinema.distill.schedule import Schedule
from kinema.distill.sds import sds
from kinema.distill.skeleton import Basis, Coefficients
from kinema.distill.targets import Target, conditions, sample_targets
from kinema.distill.tempo import Tempo, default_frame_rate, default_frames
from kinema.distill.window import Window, Windows
from kinema.errors import KinemaError
from kinema.learn.adam import Adam
from kinema.motion.motion import Motion
from kinema.prior.protocol import Context, VideoPrior
from kinema.prior.tiny_encoder import TinyEncode
from kinema.progress import Progress, Report
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy

LEAST_MOTION = 0.02
"""Mean angular travel per frame below which a motion counts as still [rad]."""
MOST_GUIDANCE = 4.0
"""Guidance that stillness may raise it to, relative to what was asked."""
MOST_GRADIENT = 10.0
"""Greatest norm of a step's gradient; longer ones are shortened, except in paper mode."""
AKD_LATENTS = 13 * 16 * 60 * 90
"""Latent values of a video in the paper: CogVideoX, 49 frames of 480 x 720."""
CALIBRATION_SEED = 2_000_000
"""The window on which a tiny encoder is calibrated draws from the seed and this, which no step does."""
MOST_BAD_STEPS = 20
"""Steps in a row with gradients that are not finite after which a run gives up."""


@dataclass(frozen=True)
class Steering:
    """What a person who watches wants."""

    weights: dict[str, float] = field(default_factory=dict)
    """New values of smooth_weight, ground_weight, slip_weight, limits_weight or guidance."""
    stop: bool = False
    """Keep the motion as it is now."""


Observer = Callable[[int, Callable[[], Motion]], Steering]
"""Called after every step with its number and a function that gives the motion so far."""


@dataclass
class Distilled:
    """The distilled motion and how it came about."""

    motion: Motion
    history: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


class Distiller:
    """One run, from wherever its checkpoint is (a file that need not exist yet) to the end."""

    def __init__(
        self,
        config: Resolved,
        prior: VideoPrior,
        stage: Stage,
        anatomy: Anatomy,
        tempo: Tempo,
        *,
        checkpoint: Path | None = None,
        pull: PosePull | None = None,
        student: VideoPrior | None = None,
    ) -> None:
        fps = config.fps or default_frame_rate(tempo)
        config = replace(config, fps=fps, frames=config.frames or default_frames(tempo, fps))
        self.config, self.prior, self.anatomy, self.tempo, self.checkpoint = config, prior, anatomy, tempo, checkpoint
        self.pull, self.student = pull, student
        self.parameters = make_parameters(config, prior.frames, stage, anatomy, tempo)
        self.windows = Windows(prior, stage, tempo, self.parameters, follow_box=config.preset == "paper")
        if isinstance(prior.encode, TinyEncode):
            window = self.windows.draw(np.random.default_rng((config.seed, CALIBRATION_SEED)))
            prior.encode.calibrate(self.windows.standing(window), self.windows.context(window))
        self.schedule = Schedule.of(config, prior, repeats=tempo.repeats)
        self.learning_rate = config.learning_rate * self.parameters.learning_rate
        self.optimizer = Adam(self.parameters.parameters(), lr=self.learning_rate)
        self.state = RunState(config.guidance)
        self.targets: list[Target] | None = None
        """Videos to fit; sampled when the run begins, unless they are given."""
        self._bad_in_a_row = 0
        self._saved = time.monotonic()
        if checkpoint is not None and checkpoint.exists():
            self.load(checkpoint)

    def run(self, *, report: Report = lambda _: None, observe: Observer | None = None) -> Distilled:
        """Optimise to the end of the schedule, or until an observer (called after every step) says stop."""
        schedule, state = self.schedule, self.state
        self._saved = time.monotonic()

        def sampled(number: int, count: int, score: float) -> None:
            report(Progress(number, count, "sample", score))
            self._save_if_due()

        if state.step < schedule.fit and self.targets is None:
            self.targets = sample_targets(self.config, self.windows, state.sampled, student=self.student, done=sampled)
        while state.step < schedule.steps:
            rng = np.random.default_rng((self.config.seed, state.step))
            stage = schedule.stage(state.step)
            loss = self._fit_loss(rng) if stage == "fit" else self._sds_loss(rng)
            self.descend(loss)
            state.step += 1
            amount = self.parameters.amount_of_motion(self.prior.frames)
            if state.step >= schedule.fit and self.config.preset != "paper":
                self.guard_motion(amount)
            value = float(loss.detach())
            state.history.append({"step": state.step, "stage": stage, "loss": value, "motion": amount})
            report(Progress(state.step, schedule.steps, stage, value, amount))
            if observe is not None and self._steer(observe(state.step, self.motion)):
                break
            self._save_if_due()
        if self.checkpoint is not None:
            self.save(self.checkpoint)
        # A speed that was asked for stays.
        if self.config.preset != "paper" and self.config.speed is None:
            self.parameters.match_speed()
        if state.bad_steps:
            state.notes.append(f"{state.bad_steps} steps were skipped: their gradients were not finite")
        return Distilled(self.motion(), state.history, state.notes)

    def clip_times(self) -> tuple[Float[Tensor, "frames"], float]:
        """Times of the clip's frames in frames of the prior, and the clip's frame rate."""
        count, speed = self.config.frames, self.tempo.fps / self.config.fps
        if self.config.loop and self.tempo.repeats:
            # Whole cycles in whole frames: they take up to half a frame more or less than they would.
            cycles = max(1, round(count * speed / self.tempo.period))
            steps = max(2, round(cycles * self.tempo.period / speed))
            count, speed = steps + 1, cycles * self.tempo.period / steps
        return self.windows.stage.frame_numbers(count) * speed, self.config.fps

    @torch.no_grad()
    def motion(self) -> Motion:
        """The clip at the wanted frame rate."""
        at, fps = self.clip_times()
        return self.parameters.motion(at, fps=fps).detached("cpu")

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        save_run(path, self.state, self.parameters, self.optimizer, videos=self.state.step < self.schedule.fit)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint."""
        self.state = load_run(path, self.parameters, self.optimizer)

    def _fit_loss(self, rng: np.random.Generator) -> Tensor:
        """Distance to a sampled video, in the prior's latents per token, and energies."""
        assert self.targets is not None
        target = self.targets[int(rng.integers(len(self.targets)))]
        _, latents, tokens, energies = self._look(target.window, target.context)
        return energies + 0.5 * (latents - target.latents.to(latents)).square().sum() / tokens

    def _sds_loss(self, rng: np.random.Generator) -> Tensor:
        """Score distillation of a random window, and energies."""
        window = self.windows.draw(rng)
        context = self.windows.context(window)
        _, latents, tokens, energies = self._look(window, context)
        t = self.schedule.noise_level(self.state.step, float(rng.random()))
        words, none = conditions(self.prior, self.config.told, context)
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        score = sds(self.prior, latents, words, none, t=t, guidance=self.state.guidance, generator=generator)
        if self.config.preset == "paper":
            return score * paper_scale(latents.numel(), self.state.guidance) + energies
        # Ours is per token and as large as at nano's guidance: the energies' weights mean the same for every prior.
        return score / tokens * (NANO_GUIDANCE / usual_guidance(self.config.prior)) + energies

    def _look(self, window: Window, context: Context) -> tuple[Filmed, Tensor, float, Tensor]:
        """A window of the motion as it is now, its latents, how many tokens they are, and energies."""
        filmed = self.windows.film(window)
        feet = self.schedule.feet_weight(self.state.step)
        energies = weighted_energies(filmed, self.config, self.anatomy, feet=feet, repeats=self.tempo.repeats)
        if self.pull is not None and filmed.motion is not None and self.state.step % EVERY == 0:
            energies = energies + self.pull.energy(filmed.motion)
        latents = self.prior.encode(filmed.video, context)
        return filmed, latents, latents.numel() / self.prior.needs.token_size, energies

    def descend(self, loss: Tensor) -> None:
        """One step of the optimiser; gradients that are not finite are skipped, too many in a row are an error."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * self.schedule.learning_rate(self.state.step)
        self.optimizer.zero_grad()
        loss.backward()
        values = list(self.parameters.parameters())
        if not all(bool(p.grad.isfinite().all()) for p in values if p.grad is not None):
            self.state.bad_steps += 1
            self._bad_in_a_row += 1
            if self._bad_in_a_row > MOST_BAD_STEPS:
                raise KinemaError(f"{self._bad_in_a_row} steps in a row had gradients that are not finite")
            return
        self._bad_in_a_row = 0
        if self.config.preset != "paper":  # AKD states none, and its summed loss has norms of 20,000
            torch.nn.utils.clip_grad_norm_(values, MOST_GRADIENT)
        self.optimizer.step()

    def guard_motion(self, amount: float) -> None:
        """Raise the guidance where the motion is still and nobody asked for that."""
        state = self.state
        if self.tempo.still or state.step % 25 or amount > LEAST_MOTION:
            return
        if state.guidance < MOST_GUIDANCE * self.config.guidance:
            state.guidance *= 1.5
            seen = f"step {state.step}: hardly any motion ({amount:.3f} rad)"
            state.notes.append(f"{seen}; guidance now {state.guidance:.1f}")

    def _steer(self, wanted: Steering) -> bool:
        """Take what a person has changed, and note it: such a run is not repeated by its seed. True: stop."""
        state = self.state
        changed = {name: value for name, value in wanted.weights.items() if getattr(self.config, name) != value}
        if changed:
            self.config = replace(self.config, **changed)
            state.guidance = changed.get("guidance", state.guidance)
            state.notes.append(f"step {state.step}: by hand {', '.join(f'{k} {v:g}' for k, v in changed.items())}")
        if wanted.stop:
            state.notes.append(f"step {state.step}: stopped by hand")
        return wanted.stop

    def _save_if_due(self) -> None:
        if self.checkpoint is not None and time.monotonic() - self._saved > self.config.checkpoint_seconds:
            self.save(self.checkpoint)
            self._saved = time.monotonic()


def paper_scale(values: int, guidance: float) -> float:
    """Factor on a loss summed over so many latent values, beside which the paper's energies weigh what they do there.

    Its sum is over CogVideoX's latents, and its z - ẑ grows with the guidance: nano has 46 times fewer values and a
    fiftieth of the guidance, and beside its plain sum nothing would move.
    """
    return AKD_LATENTS / values * AKD_GUIDANCE / max(1.0, guidance)


def make_parameters(config: Resolved, frames: int, stage: Stage, anatomy: Anatomy, tempo: Tempo) -> MotionParameters:
    """Parameters of the kind that a job asks for, at rest; at least `frames` of the prior's frames long."""
    # Rounded up: the last frame of the clip lies between two of the prior's, never past the last one, where a free
    # motion would snap to rest.
    frames = max(2, frames, math.ceil((config.frames - 1) / config.fps * tempo.fps - 1e-6) + 1)
    basis = Basis.of(config.time, tempo, frames)
    if config.parameters == "field":
        return Field(stage, anatomy.limbs, tempo, basis, generator=torch.Generator().manual_seed(config.seed))
    return Coefficients(stage, anatomy.limbs, tempo, basis, equal=config.preset == "paper")
