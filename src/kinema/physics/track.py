"""Tracking: search for the controls whose simulation stays closest to a motion (AKD section 4.5)."""

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from kinema.array_files import Array, read_arrays
from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.files import replacing
from kinema.motion.feet import find_box_feet, touching
from kinema.motion.motion import Motion
from kinema.motion.plant import Stance, corner_paths, plan_stance, plant
from kinema.physics.explicit import soften
from kinema.physics.freeze import dofs_of, freeze, moving_joints
from kinema.physics.measure import GroundReport, ground_report, joint_error_deg
from kinema.physics.model import Control, Dofs, Gains, Limits, Model, State, make_model
from kinema.physics.rollout import rollout
from kinema.rig.cuboids import Cuboids, bone_cuboids
from kinema.rig.ik import Effector, effector_jacobian
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs
from kinema.tensor_files import optimizer_tensors, restore_optimizer

Progress = Callable[[int, int, float], None]
"""Called with (iteration, iterations, loss)."""
FootLoss = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Tracking:
    """Options of `track`."""

    iterations: int = 200
    substeps: int = 24
    """Simulation steps per frame."""
    knots: int = 4
    """Control knots per frame; 0: one per substep, as in the paper."""
    targets: int = 4
    """Loss targets per frame, interpolated between frames; must divide `substeps`. 1 is the paper's."""
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
    """Plant the target's feet first; the paper tracks the motion as it is."""
    implicit: bool = True
    """False: the paper's semi-implicit integrator, with gains that are stable at its step length."""
    friction: float = 0.9
    density: float = 1000.0
    """[kg/m³]"""
    gains: Gains = field(default_factory=Gains)

    @staticmethod
    def paper() -> "Tracking":
        """The paper's options: controls per substep, loss at frames, the motion itself as target."""
        return Tracking(knots=0, targets=1, lock_feet=False, hold=0.0, still=0.0)

    @staticmethod
    def gentle() -> "Tracking":
        """For feet that stand already: smaller steps of the search, more weight on feet that stand still."""
        return Tracking(still=0.006, learning_rate=0.006)


@dataclass(frozen=True)
class TrackResult:
    """The tracked motion, which a simulated body does, and how it was found."""

    motion: Motion
    target: Motion
    """The given motion with planted feet, which was tracked."""
    controls: Float[Tensor, "knots dofs"]
    initial_velocity: Dofs
    losses: tuple[float, ...]
    model: Model
    joint_error_deg: float
    """Mean angle to the given motion, over joints and frames."""
    before: GroundReport
    after: GroundReport
    seconds: float


def track(
    character: Character | None, rig: Rig, motion: Motion, *, options: Tracking | None = None,
    limbs: Limbs | None = None, cuboids: Cuboids | None = None, limits: Limits | None = None,
    progress: Progress | None = None, checkpoint: Path | None = None, checkpoint_seconds: float = 10.0,
) -> TrackResult:  # fmt: skip
    """Find the motion nearest to a given one that can happen under gravity, contact and friction.

    Args:
        character: Gives cuboids and limbs; None if both are given.
        checkpoint: .npz file that the search is saved to every few seconds, and resumed from if it exists.
    """
    options = options or Tracking()
    _check(motion, options)
    if motion.translation is not None:
        warnings.warn("physics: the motion moves joints in their parents; only rotations are tracked", stacklevel=2)
    begun, dtype = monotonic(), motion.angles.dtype
    rig = rig.to(torch.float64)
    motion = Motion(motion.root_position.detach().double(), motion.angles.detach().double(), motion.fps)
    if cuboids is None or limbs is None:
        if character is None:
            raise KinemaError("physics: without a character both cuboids and limbs are needed")
        cuboids, limbs = cuboids or bone_cuboids(character), limbs or find_limbs(character)
    model = make_model(
        rig, cuboids, density=options.density, gains=options.gains, friction=options.friction, limits=limits
    )
    feet = find_box_feet(rig, limbs, cuboids)
    stance = plan_stance(rig, cuboids, limbs, motion, feet=feet)
    target = plant(rig, cuboids, limbs, motion, feet=feet, stance=stance) if options.lock_feet else motion
    start = project_start(rig, cuboids, model, target)
    if not options.lock_feet:
        target = start
    if not options.implicit:
        first = torch.cat((start.root_position[0], start.angles[0].flatten()))
        model = soften(model, first, dt=1 / (motion.fps * options.substeps))
    holds = options.lock_feet and bool(stance.any())
    # Fingers and faces are carried along as the target has them.
    moving = moving_joints(model, (joint for foot in feet for joint in foot.joints))
    dofs, moved = dofs_of(moving), lambda m: Motion(m.root_position, m.angles[:, moving], m.fps)
    foot_loss = _foot_loss(rig, feet, target, stance, options, limbs.leg_length, dofs) if holds else None
    search = _Search(freeze(model, moving), moved(start), moved(target), options, foot_loss)
    if checkpoint is not None and checkpoint.exists():
        search.load(checkpoint)
    saved = monotonic()
    while len(search.losses) < options.iterations:
        search.step()
        if progress is not None:
            progress(len(search.losses), options.iterations, search.losses[-1])
        if checkpoint is not None and monotonic() - saved > checkpoint_seconds:
            search.save(checkpoint)
            saved = monotonic()
    if checkpoint is not None:
        search.save(checkpoint)
    with torch.no_grad():
        path = search.simulate(**search.best, save_every=options.substeps)
    angles = target.angles.clone()
    angles[:, moving] = path[:, 3:].unflatten(1, (-1, 3))
    found = Motion(path[:, :3], angles, motion.fps)
    controls, velocity = _whole(target, search.best["controls"], search.best["velocity"][0], dofs)
    tracked = Motion(found.root_position.to(dtype), found.angles.to(dtype), motion.fps)
    return TrackResult(
        tracked, target, controls=controls, initial_velocity=velocity,
        losses=tuple(search.losses), model=model, joint_error_deg=joint_error_deg(rig, motion, found),
        before=ground_report(rig, cuboids, model, feet, motion, stance),
        after=ground_report(rig, cuboids, model, feet, found, stance), seconds=monotonic() - begun,
    )  # fmt: skip


def project_start(rig: Rig, cuboids: Cuboids, model: Model, motion: Motion) -> Motion:
    """Move the whole motion up or down so that at the start its lowest point is as deep as a body at rest sinks.

    Otherwise the simulation would begin with a fall.
    """
    lowest = float(corner_paths(rig, cuboids, motion[:1])[..., 1].min())
    weight = float(model.mass.sum()) * -model.gravity[1]
    sink = weight / (4 * model.contact.stiffness) + model.contact.ramp / 2 if model.contact.stiffness > 0 else 0.0
    shift = torch.tensor([0.0, -lowest - sink, 0.0], dtype=motion.root_position.dtype)
    return Motion(motion.root_position + shift, motion.angles, motion.fps)


def _check(motion: Motion, options: Tracking) -> None:
    if len(motion) < 2:
        raise KinemaError(f"physics: a motion of {len(motion)} frames cannot be tracked")
    for name, value in (("root positions", motion.root_position), ("angles", motion.angles)):
        bad = ~torch.isfinite(value.detach()).flatten(1).all(1)
        if bool(bad.any()):
            raise KinemaError(f"physics: the target's {name} are not finite at frame {int(bad.nonzero()[0])}")
    if options.substeps < 1 or options.targets < 1 or options.substeps % options.targets:
        raise KinemaError(f"physics: {options.targets} targets per frame do not divide {options.substeps} substeps")


def _foot_loss(
    rig: Rig, feet: tuple[Effector, ...], target: Motion, stance: Stance, options: Tracking, leg: float, dofs: Tensor
) -> FootLoss:
    """Loss of the feet's deviation from the target, linearised in the simulated coordinates `dofs` about the target."""
    count, rate = (len(target) - 1) * options.targets + 1, target.fps * options.targets
    q = _resample(torch.cat((target.root_position, target.angles.flatten(1)), -1), count)
    fine = Motion(q[:, :3], q[:, 3:].unflatten(1, (-1, 3)), rate)
    weights = touching(feet, fine.pose(rig))
    # [leg lengths per m or rad]
    J = effector_jacobian(rig, fine.root_position, fine.angles, feet, weights).flatten(1, 2)[..., dofs] / leg
    # Between two frames a foot stands if it does at both.
    standing = (_resample(torch.from_numpy(stance).double(), count) > 0.999).double().repeat_interleave(3, dim=1)
    # The position is held in stance, the height always, so that no foot drags.
    placed = torch.maximum(standing, torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64).repeat(len(feet)))
    both = standing[1:] * standing[:-1]

    def loss(away: Float[Tensor, "times dofs"]) -> Float[Tensor, ""]:
        moved = (J @ away[..., None]).squeeze(-1)
        place = (moved.abs() * placed).sum() / placed.sum().clamp(min=1)
        speed = rate * (moved.diff(dim=0).abs() * both).sum() / both.sum().clamp(min=1)
        return options.hold * place + options.still * speed

    return loss


class _Search:
    """Search of controls and initial velocity by Adam; it keeps the best iterate."""

    def __init__(self, model: Model, start: Motion, target: Motion, options: Tracking, foot_loss: FootLoss | None):
        self.model, self.options, self.foot_loss = model, options, foot_loss
        self.dt, self.steps = 1 / (target.fps * options.substeps), (len(target) - 1) * options.substeps
        q = torch.cat((target.root_position, target.angles.flatten(1)), -1)
        self.target = _resample(q, (len(target) - 1) * options.targets + 1)
        knots = self.steps if options.knots == 0 else min(self.steps, (len(target) - 1) * options.knots + 1)
        rate = torch.gradient(q, spacing=1 / target.fps, dim=0)[0]
        # Damping pulls towards rest: a target that leads by k_d/k_e q̇ is followed without lag.
        lead = torch.where(model.stiffness > 0, model.damping / model.stiffness.clamp(min=1e-12), 0.0)
        self.start = torch.cat((start.root_position[:1], q[:1, 3:]), -1)
        self.found = {"controls": _resample(q + lead * rate, knots), "velocity": rate[:1].clone()}
        rates = (options.learning_rate, options.velocity_rate)
        groups = [{"params": [x], "lr": rate, "initial_lr": rate} for x, rate in zip(self.found.values(), rates)]
        self.optimizer = torch.optim.Adam(groups)
        self.best = {name: x.clone() for name, x in self.found.items()}
        self.losses: list[float] = []

    def simulate(self, controls: Tensor, velocity: Tensor, save_every: int) -> Float[Tensor, "saves dofs"]:
        state, control = State(self.start, velocity), Control(controls[None])
        options = {"implicit": self.options.implicit, "clip": self.options.clip, "save_every": save_every}
        return rollout(self.model, state, control, dt=self.dt, steps=self.steps, **options)[0][0]

    def step(self) -> None:
        found = {name: x.requires_grad_() for name, x in self.found.items()}
        path = self.simulate(**found, save_every=self.options.substeps // self.options.targets)
        # Eq. 13: ‖q - q̂‖₁ + λ₃ MAE(Δₜ² control)
        loss = (path - self.target).abs().mean()
        if self.foot_loss is not None:
            loss = loss + self.foot_loss(path - self.target)
        if len(found["controls"]) > 2:
            loss = loss + self.options.smooth * found["controls"][:, 3:].diff(n=2, dim=0).abs().mean()
        value = float(loss.detach())
        if value < min(self.losses, default=float("inf")):
            self.best = {name: x.detach().clone() for name, x in found.items()}
        # The factor has no effect on Adam, but on the clipping of the adjoints: with a sum over coordinates they would
        # always be at their limit, and the search would end 3 times worse.
        gradients = torch.autograd.grad(loss * len(self.target), list(found.values()))
        decay = 0.5 * (1 + math.cos(math.pi * len(self.losses) / self.options.iterations))
        for group, gradient in zip(self.optimizer.param_groups, gradients):
            group["lr"], group["params"][0].grad = decay * group["initial_lr"], gradient
        self.optimizer.step()
        self.losses.append(value)

    @property
    def _tensors(self) -> dict[str, Tensor]:
        return self.found | {f"best_{name}": x for name, x in self.best.items()}

    def save(self, path: Path) -> None:
        arrays = {name: x.detach().numpy() for name, x in self._tensors.items()}
        arrays |= {name: x.numpy() for name, x in optimizer_tensors(self.optimizer).items()}
        known = {"options": repr(asdict(self.options)), "target": self.target.numpy(), "losses": self.losses}
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
        data = read_arrays(path, arrays | {"losses": Array("steps")}, what=what)
        try:
            for name, x in self._tensors.items():
                x.copy_(torch.from_numpy(data[name]))
            self.losses = [float(x) for x in data["losses"]]
            states = {name: torch.from_numpy(x) for name, x in data.items() if name.startswith("optimizer.")}
            if self.losses and not states:
                raise KeyError("optimizer")
            restore_optimizer(self.optimizer, states)
        except (ValueError, KeyError) as error:
            raise KinemaError(f"{path}: not {what} ({error})") from None


def _whole(target: Motion, controls: Tensor, velocity: Tensor, dofs: Tensor) -> tuple[Tensor, Tensor]:
    """Controls and initial velocity of all coordinates: those that were held still follow the target."""
    q = torch.cat((target.root_position, target.angles.flatten(1)), -1)
    all_controls, all_velocity = _resample(q, len(controls)), (q[1] - q[0]) * target.fps
    all_controls[:, dofs], all_velocity[dofs] = controls, velocity
    return all_controls, all_velocity


def _resample(values: Float[Tensor, "n dofs"], count: int) -> Float[Tensor, "m dofs"]:
    """`count` rows evenly spaced over the same time, linear in between."""
    at = torch.linspace(0, len(values) - 1, count, dtype=values.dtype)
    low = at.floor().long().clamp(max=max(0, len(values) - 2))
    return torch.lerp(values[low], values[(low + 1).clamp(max=len(values) - 1)], (at - low)[:, None])
