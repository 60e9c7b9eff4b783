"""The optimisation: sampled videos are fitted, then score distillation refines, one resumable step at a time.

Every step draws its randomness from the seed and its own number, and a checkpoint holds parameters and optimiser, so
a run that was killed and resumed gives the same bits as one that was not.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.distill import losses
from kinema.distill.config import Animate
from kinema.distill.parameters import Basis, Coefficients
from kinema.distill.sds import noise_level, sds
from kinema.distill.take import Take, prepare, random_take, shoot
from kinema.distill.tempo import Tempo, default_frames
from kinema.errors import KinemaError
from kinema.evaluate.classify import relative_errors
from kinema.files import replacing
from kinema.gait.make import make_motion
from kinema.geometry.transforms import apply
from kinema.motion.motion import Motion, smoothness
from kinema.prior.protocol import Context, VideoPrior, sample
from kinema.render.stage import Stage
from kinema.rig.limbs import Limbs

HARMONICS = 6
"""Of a gait cycle. A foot that stands moves back at constant speed, which takes six: a true walk that is cut to four
slides by 6 to 10 % of the body's speed, to six by 2 %."""
BETWEEN = 2
"""Moments per frame of the prior at which feet are looked at: its nine frames per cycle are too coarse for them."""
STILL = 0.02
"""Mean angular travel per frame below which a motion counts as none [rad]."""
MOST_BAD_STEPS = 20
DRIFT = (-0.6, 0.5)
"""How much slower or faster than told the root may go, as a share of the speed."""
CLIMB = FLOAT = 0.1
"""Weights of a root that rises or sinks for good, and of the lowest foot's height, relative to that of the ground."""
SCORED = (0.5, 0.8)
"""Noise levels at which a sampled video is scored."""
TOKEN = 96
"""Numbers per token of nano."""


@dataclass(frozen=True)
class Body:
    """The character as the optimiser sees it."""

    stage: Stage
    limbs: Limbs
    corners: Float[Tensor, "joints 8 3"]
    limits: Float[Tensor, "joints 3 2"]


@dataclass
class Progress:
    """What is told after every step."""

    step: int
    steps: int
    stage: str
    loss: float
    motion: float
    """Mean angular travel per frame [rad]."""


@dataclass(frozen=True)
class Control:
    """What a person who watches wants."""

    weights: dict[str, float] = field(default_factory=dict)
    """New values of smooth, ground, slip, limits or guidance."""
    stop: bool = False
    """Keep the motion as it is now."""


@dataclass
class Outcome:
    """The distilled motion and how it came about."""

    motion: Motion
    history: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


def _tokens(latents: Tensor) -> float:
    """How many of nano's tokens the latents would fill: the energies' weights then suit priors of every size."""
    return latents.numel() / TOKEN


class Distiller:
    """State of one run. `run` goes from wherever the checkpoint is to the end."""

    def __init__(
        self, config: Animate, prior: VideoPrior, body: Body, tempo: Tempo, *, checkpoint: Path | None
    ) -> None:
        config = replace(config, frames=config.frames or default_frames(tempo, config.fps))
        self.config, self.prior, self.body, self.tempo, self.checkpoint = config, prior, body, tempo, checkpoint
        self.clip_frames = max(2, round((config.frames - 1) / config.fps * tempo.fps) + 1)
        velocity = torch.tensor([0.0, 0.0, tempo.speed])
        self.coefficients = Coefficients(body.stage.rig, body.limbs, self._basis(), velocity=velocity)
        if config.preset != "paper":
            self._lower_arms()
        self.parameters: torch.nn.Module = self.coefficients
        """What is optimised and saved."""
        self.learning_rate = config.learning_rate
        self.optimizer = torch.optim.AdamW(self.coefficients.parameters(), lr=config.learning_rate, weight_decay=0.0)
        self.step = 0
        self.bad_steps = self.bad_in_a_row = 0
        self._saved = time.monotonic()
        self.guidance = config.guidance
        self.history: list[dict[str, Any]] = []
        self.notes: list[str] = []
        fit = config.fit_iterations if config.engine in ("auto", "fit") else 0
        refine = 0 if config.engine == "fit" else config.iterations or (200 if fit else 350)
        self.schedule = (fit, refine)
        self._sampled: dict[int, tuple[Tensor, float]] = {}
        """Videos from the prior so far, as latents, with its own score of each."""
        self._targets: list[tuple[Take, Context, Tensor]] | None = None

    def _lower_arms(self) -> None:
        """Rigs come with their arms stretched out, and nobody moves like that: begin with arms as they hang.

        Or half-way down, where a hand or what it holds would come to the ground.
        """
        limbs, rig = self.body.limbs, self.body.stage.rig
        joints = [joint for arm in limbs.arms for joint in arm.joints]
        if not joints:
            return
        stand, _ = make_motion(rig, limbs, "stand", frames=2, fps=1.0)
        probes = torch.from_numpy(limbs.probes[joints]).to(rig.heads)
        for share in (1.0, 0.75, 0.5, 0.25):
            angles = torch.zeros(len(rig.parents), 3)
            angles[joints] = share * stand.angles.mean(0)[joints]
            pose = Motion(rig.heads[:1], angles[None], 1.0).pose(rig)[0, joints]
            if apply(pose, probes)[..., 1].min() > 0.15 * limbs.leg_length:
                self.coefficients.start_at(angles, joints)
                return

    def _basis(self) -> Basis:
        kind = self.config.time
        if kind == "auto":
            kind = "fourier" if self.tempo.period > 0 else "dct"
        if kind == "fourier" and self.tempo.period <= 0:
            raise KinemaError(f"--time fourier needs a motion that repeats, and {self.tempo.motion!r} does not")
        frames = max(self.clip_frames, self.prior.frames)
        terms = {"fourier": 1 + 2 * HARMONICS, "dct": max(4, frames // 2), "free": frames}[kind]
        return Basis(kind, frames, self.tempo.period, terms)

    def run(
        self,
        *,
        report: Callable[[Progress], None] = lambda _: None,
        observe: Callable[[int, Callable[[], Motion]], Control] | None = None,
    ) -> Outcome:
        """Optimise to the end of the schedule, or until an observer (called after every step) says stop."""
        fit, refine = self.schedule
        self._saved = time.monotonic()
        if self.step < fit and self._targets is None:
            self._targets = self._sample(report)
        while self.step < fit + refine:
            rng = np.random.default_rng((self.config.seed, self.step))
            loss = self._fit_loss(rng) if self.step < fit else self._sds_loss(rng)
            self._descend(loss)
            self.step += 1
            amount = self.amount_of_motion()
            if self.step >= fit:
                self._guard_motion(amount)
            stage = "fit" if self.step <= fit else "sds"
            self.history.append({"step": self.step, "stage": stage, "loss": float(loss.detach()), "motion": amount})
            report(Progress(self.step, fit + refine, stage, float(loss.detach()), amount))
            if observe is not None and self._obey(observe(self.step, self.motion)):
                break
            self._save_if_due()
        if self.checkpoint is not None:
            self.save(self.checkpoint)
        self._match_speed()
        if self.bad_steps:
            self.notes.append(f"{self.bad_steps} steps were skipped: their gradients were not finite")
        return Outcome(self.motion(), self.history, self.notes)

    def _match_speed(self) -> None:
        """The root goes as fast as standing feet go back, at once, where the slip's gradient only creeps.

        Strides that came out short then make a slower walk and not one that slides. A speed that was asked for stays.
        """
        config, limbs = self.config, self.body.limbs
        told = float(self.coefficients.velocity.norm())
        if config.preset == "paper" or config.speed is not None or not (limbs.legs and self.tempo.period and told):
            return
        with torch.no_grad():
            at = torch.arange(0, self.tempo.period, 1 / (2 * BETWEEN))
            pose = self.coefficients.motion(at, fps=self.tempo.fps).pose(self.body.stage.rig)
            ahead = losses.standing_speed(losses.sole_points(pose, limbs), limbs.leg_length) * 2 * BETWEEN / told
            drift = self.coefficients.drift
            drift[2] = (drift[2] - ahead).clamp(*DRIFT)

    def _obey(self, control: Control) -> bool:
        """Take what a person has changed, and note it: such a run is not repeated by its seed."""
        changed = {name: value for name, value in control.weights.items() if getattr(self.config, name) != value}
        if changed:
            self.config = replace(self.config, **changed)
            self.guidance = changed.get("guidance", self.guidance)
            self.notes.append(f"step {self.step}: by hand {', '.join(f'{k} {v:g}' for k, v in changed.items())}")
        if control.stop:
            self.notes.append(f"step {self.step}: stopped by hand")
        return control.stop

    def motion(self) -> Motion:
        """The clip at the wanted frame rate."""
        count, speed = self.config.frames, self.tempo.fps / self.config.fps
        if self.config.loop and self.tempo.period > 0:
            # Whole cycles in whole frames: they take up to half a frame more or less than they would.
            cycles = max(1, round(count * speed / self.tempo.period))
            steps = max(2, round(cycles * self.tempo.period / speed))
            count, speed = steps + 1, cycles * self.tempo.period / steps
        at = torch.arange(count, dtype=torch.float32) * speed
        with torch.no_grad():
            return self.coefficients.motion(at, fps=self.config.fps)

    def amount_of_motion(self) -> float:
        """Mean angular travel per frame [rad]: of the legs in a gait, in an action of the joint that moves most."""
        with torch.no_grad():
            at = torch.arange(self.prior.frames, dtype=torch.float32)
            travel = self.coefficients.motion(at, fps=1.0).angles.diff(dim=0).abs()
            legs = [j for leg in self.body.limbs.legs for j in leg.joints]
            if self.tempo.period > 0 and legs:
                return float(travel[:, legs, 0].mean())
            return float(travel.mean(0).amax())

    # -- losses -----------------------------------------------------------------------------------------------------

    def _fit_loss(self, rng: np.random.Generator) -> Tensor:
        """Distance to a sampled video, in the prior's latents."""
        assert self._targets is not None
        take, context, target = self._targets[int(rng.integers(len(self._targets)))]
        video, energies = self._look(take)
        latents = self.prior.encode(video, context)
        return 0.5 * (latents - target.to(latents)).square().sum() / _tokens(latents) + energies

    def _sds_loss(self, rng: np.random.Generator) -> Tensor:
        fit, refine = self.schedule
        last = self.coefficients.basis.frames - self.prior.frames
        take = random_take(rng, self.tempo, last_start=float(last))
        context = prepare(self.body.stage, self.prior, self.coefficients, self.tempo, take)
        video, energies = self._look(take)
        latents = self.prior.encode(video, context)
        t = noise_level((self.step - fit) / refine, float(rng.random()), paper=self.config.preset == "paper")
        score = sds(
            self.prior,
            latents,
            *self._conditions(context),
            t=t,
            guidance=self.guidance,
            generator=torch.Generator().manual_seed(int(rng.integers(2**62))),
        )
        # The paper's weights are for a summed loss; ours are per token, so that they mean the same for every prior.
        if self.config.preset != "paper":
            score = score / _tokens(latents)
        return score + energies

    def _conditions(self, context: Context) -> tuple[Any, Any]:
        """With the words and all that is told, and with neither: guidance then amplifies this phase of the motion."""
        return self.prior.condition(self.config.prompt, context), self.prior.condition("", replace(context, phase=None))

    def _look(self, take: Take) -> tuple[Float[Tensor, "frames 3 height width"], Float[Tensor, ""]]:
        """The motion as it is now: its video, and what the body and the ground say to it."""
        video, motion, T_world_joint = shoot(self.body.stage, self.prior, self.coefficients, self.tempo, take)
        return video, self._energies(take, motion, T_world_joint)

    def _energies(self, take: Take, motion: Motion, T_world_joint: Tensor) -> Tensor:
        config, size = self.config, self.body.limbs.leg_length
        total = config.smooth * smoothness(motion)
        if config.preset == "paper":
            return total + config.ground * losses.ground(T_world_joint, self.body.corners)
        total = total + CLIMB * config.ground * losses.climbing(motion.root_position, size)
        feet = self._feet_share()
        if self.body.limbs.legs:
            per_frame = 1 if self.coefficients.basis.kind == "free" else BETWEEN
            if per_frame > 1:
                at = take.start + torch.arange(per_frame * self.prior.frames) / per_frame
                T_world_joint = self.coefficients.motion(at, fps=self.tempo.fps).pose(self.body.stage.rig)
            soles = losses.sole_points(T_world_joint, self.body.limbs)
            total = total + feet * config.ground * losses.sole_penetration(soles, size)
            total = total + feet * config.slip * losses.foot_slip(soles, size, per_frame=per_frame)
            total = total + feet * FLOAT * config.ground * losses.floating(soles, size)
        if config.limits:
            total = total + config.limits * losses.beyond_limits(motion.angles, self.body.limits)
        return total

    def _feet_share(self) -> float:
        """Of the feet's weights: none in the first half of a fit, when there are no strides yet, then growing to one.

        At rest all feet are low, and the quickest way not to slide is to drag both legs back at once.
        """
        fit, _ = self.schedule
        return min(1.0, max(0.0, 2 * self.step / fit - 1)) if fit else 1.0

    def _sample(self, report: Callable[[Progress], None]) -> list[tuple[Take, Context, Tensor]]:
        """Videos sampled from the prior; of half as many more, those that it finds most like the prompt."""
        views = self.config.views
        count = views + views // 2
        for index in range(count):
            if index not in self._sampled:
                self._sampled[index] = self._sample_one(index)
            report(Progress(index + 1, count, "sample", self._sampled[index][1], 0.0))
            self._save_if_due()
        best = sorted(range(count), key=lambda index: self._sampled[index][1])[:views]
        return [(*self._aim(index)[:2], self._sampled[index][0]) for index in sorted(best)]

    def _aim(self, index: int) -> tuple[Take, Context, np.random.Generator]:
        """Where video `index` is seen from, and the dice for all that follows."""
        rng = np.random.default_rng((self.config.seed, 1_000_000 + index))
        last = self.coefficients.basis.frames - self.prior.frames
        take = random_take(rng, self.tempo, last_start=float(last))
        return take, prepare(self.body.stage, self.prior, self.coefficients, self.tempo, take), rng

    def _sample_one(self, index: int) -> tuple[Tensor, float]:
        """A video, and the prior's own score of it: how much the words help to denoise it (less is better)."""
        _, context, rng = self._aim(index)
        words, none = self._conditions(context)
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        like = self.prior.encode(context.reference, context)
        target = sample(self.prior, like, words, none, guidance=self.guidance, steps=10, generator=generator)
        error = relative_errors(self.prior, target, [words], none, generator=generator, levels=SCORED)
        return target, float(error)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _descend(self, loss: Tensor) -> None:
        fit, refine = self.schedule
        within = self.step / max(1, fit) if self.step < fit else (self.step - fit) / max(1, refine)
        # Each stage ends with small steps; the refinement starts at half of the fit's.
        rate = self.learning_rate * (0.5 if fit and self.step >= fit else 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * (0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * within)))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        gradients = [p.grad for p in self.parameters.parameters() if p.grad is not None]
        if not all(bool(g.isfinite().all()) for g in gradients):
            self.bad_steps += 1
            self.bad_in_a_row += 1
            if self.bad_in_a_row > MOST_BAD_STEPS:
                raise KinemaError(f"{self.bad_in_a_row} steps in a row had gradients that are not finite")
            return
        self.bad_in_a_row = 0
        torch.nn.utils.clip_grad_norm_(self.parameters.parameters(), 10.0)
        self.optimizer.step()

    def _guard_motion(self, amount: float) -> None:
        """Stillness that nobody asked for raises the guidance, at most to four times what was asked."""
        if self.tempo.motion == "stand" or self.step % 25 or amount > STILL:
            return
        if self.guidance < 4 * self.config.guidance:
            self.guidance *= 1.5
            self.notes.append(
                f"step {self.step}: hardly any motion ({amount:.3f} rad); guidance now {self.guidance:.1f}"
            )

    # -- files ------------------------------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        if self.checkpoint is not None and time.monotonic() - self._saved > self.config.checkpoint_seconds:
            self.save(self.checkpoint)
            self._saved = time.monotonic()

    def save(self, path: Path) -> None:
        from safetensors.torch import save

        tensors = {f"parameter.{k}": v.detach() for k, v in self.parameters.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{k}": v for k, v in state.items()}
        header = {
            "step": self.step,
            "bad_steps": self.bad_steps,
            "guidance": self.guidance,
            "history": self.history,
            "notes": self.notes,
        }
        if self.step < self.schedule[0]:
            tensors |= {f"sampled.{index}": video.detach() for index, (video, _) in self._sampled.items()}
            header["scores"] = {index: score for index, (_, score) in self._sampled.items()}
        contiguous = {k: v.contiguous() for k, v in tensors.items()}
        with replacing(path) as partial:
            partial.write_bytes(save(contiguous, metadata={"run": json.dumps(header)}))

    def load(self, path: Path) -> None:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                header = json.loads(file.metadata()["run"])
        except (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise KinemaError(f"{path}: not a checkpoint of this run ({error})") from None
        self.parameters.load_state_dict({k[10:]: v for k, v in tensors.items() if k.startswith("parameter.")})
        full = self.optimizer.state_dict()
        for key, value in tensors.items():
            if key.startswith("optimizer."):
                _, index, name = key.split(".", 2)
                full["state"].setdefault(int(index), {})[name] = value
        self.optimizer.load_state_dict(full)
        self.step, self.bad_steps, self.guidance = header["step"], header["bad_steps"], header["guidance"]
        self.history, self.notes = header["history"], header["notes"]
        scores = header.get("scores", {})
        self._sampled = {int(index): (tensors[f"sampled.{index}"], score) for index, score in scores.items()}
