"""Search of controls and initial velocity whose simulation stays closest to a motion, and its options."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.array_files import Array, read_arrays
from kinema.errors import KinemaError
from kinema.files import replacing
from kinema.learn.adam import Adam
from kinema.motion.motion import Motion
from kinema.physics.explicit import soften
from kinema.physics.model import Control, Gains, Model, State
from kinema.physics.rollout import Diverged, rollout
from kinema.tensor_files import optimizer_tensors, restore_optimizer

FootLoss = Callable[[Tensor], Tensor]
"""Loss of the coordinates' distance to the target."""
MOST_SUBSTEPS = 3200
"""Steps per frame up to which the explicit integrator is given twice as many when it diverges."""


@dataclass(frozen=True)
class Tracking:
    """Options of `track`."""

    iterations: int = 200
    substeps: int = 24
    """Simulation steps per frame."""
    knots: int = 4
    """Control knots per frame; 0: one per substep, as in AKD."""
    targets: int = 4
    """Loss targets per frame, interpolated between frames; must divide `substeps`. 1 is AKD's."""
    summed: bool = False
    """True: Eq. 13's ‖q - q̂‖₁ as a sum over coordinates, divided by F - 1; False: the mean over coordinates, too."""
    steer_root: bool = True
    """True: the direction in which the virtual force holds the root is a control like all others. False: it holds the
    direction that was up at the start."""
    smooth: float = 0.2
    """λ₃ of Eq. 13: weight of the second time difference of the control."""
    hold: float = 0.1
    """Weight of the positions of stance feet [leg lengths] in the loss."""
    still: float = 0.002
    """Weight of the velocities of stance feet [leg lengths per second]."""
    learning_rate: float = 0.01
    velocity_rate: float = 0.05
    """Learning rate of the initial velocity."""
    clip: float = 1.0
    """Greatest norm of the adjoints after each chunk of 25 substeps."""
    lock_feet: bool = True
    """Plant the target's feet first; AKD tracks the motion as it is."""
    implicit: bool = True
    """False: AKD's semi-implicit integrator, with gains that are stable at its step length."""
    friction: float = 0.9
    density: float = 1000.0
    """[kg/m³]"""
    gains: Gains = field(default_factory=Gains)

    @staticmethod
    def paper() -> "Tracking":
        """AKD's options (docs/akd.md): hundreds of explicit substeps, each with its control; the motion as it is."""
        return Tracking(
            substeps=400, knots=0, targets=1, summed=True, steer_root=False, lock_feet=False, hold=0.0, still=0.0,
            implicit=False, learning_rate=1e-3, velocity_rate=5e-3,
        )  # fmt: skip

    @staticmethod
    def gentle() -> "Tracking":
        """For feet that stand already: smaller steps of the search, more weight on feet that stand still."""
        return Tracking(still=0.006, learning_rate=0.006)


class Search:
    """Search of controls and initial velocity by Adam; it keeps the best iterate."""

    def __init__(self, model: Model, start: Motion, target: Motion, options: Tracking, foot_loss: FootLoss | None):
        self.dt, self.steps = 1 / (target.fps * options.substeps), (len(target) - 1) * options.substeps
        first = torch.cat((start.root_position[0], start.angles[0].flatten()))
        self.model = model = model if options.implicit else soften(model, first, dt=self.dt)
        self.options, self.foot_loss = options, foot_loss
        q = torch.cat((target.root_position, target.angles.flatten(1)), -1)
        self.target = resample(q, (len(target) - 1) * options.targets + 1)
        knots = self.steps if options.knots == 0 else min(self.steps, (len(target) - 1) * options.knots + 1)
        rate = torch.gradient(q, spacing=1 / target.fps, dim=0)[0]
        # Damping pulls towards rest: a target that leads by k_d/k_e q̇ is followed without lag.
        lead = torch.where(model.stiffness > 0, model.damping / model.stiffness.clamp(min=1e-12), 0.0)
        self.start = torch.cat((start.root_position[:1], q[:1, 3:]), -1)
        self.found = {"controls": resample(q + lead * rate, knots), "velocity": rate[:1].clone()}
        self.joints = slice(3 if options.steer_root else 6, None)
        """Coordinates whose controls are searched; the root position has none."""
        # Yaw is the outermost angle and has no gain: holding roll and pitch holds the axis that was up.
        self.found["controls"][:, 3 : self.joints.start] = self.start[:, 3 : self.joints.start]
        rates = (options.learning_rate, options.velocity_rate)
        groups = [{"params": [x], "lr": rate, "initial_lr": rate} for x, rate in zip(self.found.values(), rates)]
        self.optimizer = Adam(groups)
        self.best = {name: x.clone() for name, x in self.found.items()}
        self.losses: list[float] = []
        self.diverged = 0

    def simulate(self, controls: Tensor, velocity: Tensor, save_every: int) -> Float[Tensor, "saves dofs"]:
        state, control = State(self.start, velocity), Control(controls[None])
        options = {"implicit": self.options.implicit, "clip": self.options.clip, "save_every": save_every}
        return rollout(self.model, state, control, dt=self.dt, steps=self.steps, **options)[0][0]

    @torch.no_grad()
    def diverges(self) -> bool:
        """True if the first controls need shorter steps; an error where the shortest do not help either."""
        try:
            self.simulate(**self.found, save_every=self.options.substeps)
        except Diverged:
            if self.options.substeps >= MOST_SUBSTEPS:
                raise
            return True
        return False

    def step(self) -> None:
        found = {name: x.requires_grad_() for name, x in self.found.items()}
        try:
            path = self.simulate(**found, save_every=self.options.substeps // self.options.targets)
        except Diverged:
            if not self.losses:
                raise
            self._step_back()
            return
        # Eq. 13: ‖q - q̂‖₁ + λ₃ MAE(Δₜ² control)
        away = (path - self.target).abs()
        loss = away.sum() / (len(away) - 1) if self.options.summed else away.mean()
        if self.foot_loss is not None:
            loss = loss + self.foot_loss(path - self.target)
        if len(found["controls"]) > 2:
            loss = loss + self.options.smooth * found["controls"][:, self.joints].diff(n=2, dim=0).abs().mean()
        value = float(loss.detach())
        if value < min(self.losses, default=float("inf")):
            self.best = {name: x.detach().clone() for name, x in found.items()}
        # The factor has no effect on Adam, but on the clipping of the adjoints: with a sum over coordinates and times
        # they would always be at their limit, and the search would end 3 times worse.
        factor = 1 if self.options.summed else len(self.target)
        gradients = torch.autograd.grad(loss * factor, list(found.values()))
        gradients[0][:, : self.joints.start] = 0
        decay = 0.5**self.diverged * 0.5 * (1 + math.cos(math.pi * len(self.losses) / self.options.iterations))
        for group, gradient in zip(self.optimizer.param_groups, gradients):
            group["lr"], group["params"][0].grad = decay * group["initial_lr"], gradient
        self.optimizer.step()
        self.losses.append(value)

    def _step_back(self) -> None:
        """Go on from the best iterate in steps half as long, after one with which the explicit integrator diverged."""
        self.diverged += 1
        self.losses.append(self.losses[-1])
        with torch.no_grad():
            for name, x in self.found.items():
                x.copy_(self.best[name])

    @property
    def _tensors(self) -> dict[str, Tensor]:
        return self.found | {f"best_{name}": x for name, x in self.best.items()}

    def save(self, path: Path) -> None:
        arrays = {name: x.detach().numpy() for name, x in self._tensors.items()}
        arrays |= {name: x.numpy() for name, x in optimizer_tensors(self.optimizer).items()}
        known = {"options": repr(asdict(self.options)), "target": self.target.numpy()}
        known |= {"losses": self.losses, "diverged": self.diverged}
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **known, **arrays)

    @torch.no_grad()
    def load(self, path: Path) -> None:
        what, meant = "a checkpoint of the tracker", {"target": Array("..."), "options": Array(kind="text")}
        data = read_arrays(path, meant, what=what)
        same = data["target"].shape == self.target.shape and np.allclose(data["target"], self.target)
        if not same or str(data["options"]) != repr(asdict(self.options)):
            raise KinemaError(f"{path}: belongs to another motion or other options")
        arrays = {name: Array(" ".join(map(str, x.shape))) for name, x in self._tensors.items()}
        for index, x in enumerate(self.found.values()):
            for name, shape in {"step": (), "exp_avg": x.shape, "exp_avg_sq": x.shape}.items():
                arrays[f"optimizer.{index}.{name}"] = Array(" ".join(map(str, shape)), optional=True)
        data = read_arrays(path, arrays | {"losses": Array("steps"), "diverged": Array("")}, what=what)
        try:
            for name, x in self._tensors.items():
                x.copy_(torch.from_numpy(data[name]))
            self.losses, self.diverged = [float(x) for x in data["losses"]], int(data["diverged"])
            states = {name: torch.from_numpy(x) for name, x in data.items() if name.startswith("optimizer.")}
            if self.losses and not states:
                raise KeyError("optimizer")
            restore_optimizer(self.optimizer, states)
        except (ValueError, KeyError) as error:
            raise KinemaError(f"{path}: not {what} ({error})") from None


def resample(values: Float[Tensor, "n dofs"], count: int) -> Float[Tensor, "m dofs"]:
    """`count` rows evenly spaced over the same time, linear in between."""
    at = torch.linspace(0, len(values) - 1, count, dtype=values.dtype)
    low = at.floor().long().clamp(max=max(0, len(values) - 2))
    return torch.lerp(values[low], values[(low + 1).clamp(max=len(values) - 1)], (at - low)[:, None])
