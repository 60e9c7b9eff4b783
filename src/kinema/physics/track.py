"""Tracking: search for the controls whose simulation stays closest to a motion (AKD section 4.5)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.motion.feet import find_box_feet, touching
from kinema.motion.motion import Motion
from kinema.motion.plant import Stance, corner_paths, plan_stance, plant
from kinema.physics.freeze import dofs_of, freeze, moving_joints
from kinema.physics.measure import GroundReport, ground_report, joint_error_deg
from kinema.physics.model import Limits, Model, make_model
from kinema.physics.search import FootLoss, Search, Tracking, resample
from kinema.rig.cuboids import Cuboids, bone_cuboids
from kinema.rig.ik import Effector, effector_jacobian
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs

Progress = Callable[[int, int, float], None]
"""Called with (iteration, iterations, loss)."""


@dataclass(frozen=True)
class TrackResult:
    """The tracked motion, which a simulated body does, and how it was found."""

    motion: Motion
    target: Motion
    """The given motion with planted feet, which was tracked."""
    controls: Float[Tensor, "knots dofs"]
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
    stance: Stance | None = None, progress: Progress | None = None, checkpoint: Path | None = None,
    checkpoint_seconds: float = 10.0,
) -> TrackResult:  # fmt: skip
    """Find the motion nearest to a given one that can happen under gravity, contact and friction.

    Args:
        character: Gives cuboids and limbs; None if both are given.
        stance: When each foot stands, if that is known; by default as `plan_stance` finds it.
        checkpoint: .npz file that the search is saved to every few seconds, and resumed from if it exists.
    """
    options = options or Tracking()
    _check(motion, options)
    if motion.translation is not None:
        warnings.warn("physics: the motion moves joints in their parents; only rotations are tracked", stacklevel=2)
    begun, dtype = monotonic(), motion.angles.dtype
    rig = rig.to(torch.float64)
    motion = motion.detached(torch.float64)
    if cuboids is None or limbs is None:
        if character is None:
            raise KinemaError("physics: without a character both cuboids and limbs are needed")
        cuboids, limbs = cuboids or bone_cuboids(character), limbs or find_limbs(character)
    model = make_model(
        rig, cuboids, density=options.density, gains=options.gains, friction=options.friction, limits=limits
    )
    feet = find_box_feet(rig, limbs, cuboids)
    stance = plan_stance(rig, cuboids, limbs, motion, feet=feet) if stance is None else stance
    target = plant(rig, cuboids, limbs, motion, feet=feet, stance=stance) if options.lock_feet else motion
    start = project_start(rig, cuboids, model, target)
    if not options.lock_feet:
        target = start
    holds = options.lock_feet and bool(stance.any())
    # Fingers and faces are carried along as the target has them; in the paper's mode every joint is simulated.
    feet_joints = (joint for foot in feet for joint in foot.joints)
    moving = moving_joints(model, feet_joints) if options.implicit else list(range(len(rig.parents)))
    dofs, moved = dofs_of(moving), lambda m: Motion(m.root_position, m.angles[:, moving], m.fps)
    foot_loss = _foot_loss(rig, feet, target, stance, options, limbs.leg_length, dofs) if holds else None
    body = freeze(model, moving) if options.implicit else model
    search = Search(body, moved(start), moved(target), options, foot_loss)
    while not options.implicit and search.diverges():
        options = replace(options, substeps=2 * options.substeps)
        search = Search(body, moved(start), moved(target), options, foot_loss)
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
    # Coordinates that were held still follow the target.
    q, controls = torch.cat((target.root_position, target.angles.flatten(1)), -1), search.best["controls"]
    controls = resample(q, len(controls)).index_copy(1, dofs, controls)
    return TrackResult(
        found.detached(dtype), target, controls=controls, losses=tuple(search.losses),
        model=model if options.implicit else search.model, joint_error_deg=joint_error_deg(rig, motion, found),
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
    q = resample(torch.cat((target.root_position, target.angles.flatten(1)), -1), count)
    fine = Motion(q[:, :3], q[:, 3:].unflatten(1, (-1, 3)), rate)
    weights = touching(feet, fine.pose(rig))
    # [leg lengths per m or rad]
    J = effector_jacobian(rig, fine.root_position, fine.angles, feet, weights).flatten(1, 2)[..., dofs] / leg
    # Between two frames a foot stands if it does at both.
    standing = (resample(torch.from_numpy(stance).double(), count) > 0.999).double().repeat_interleave(3, dim=1)
    # The position is held in stance, the height always, so that no foot drags.
    placed = torch.maximum(standing, torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64).repeat(len(feet)))
    both = standing[1:] * standing[:-1]

    def loss(away: Float[Tensor, "times dofs"]) -> Float[Tensor, ""]:
        moved = (J @ away[..., None]).squeeze(-1)
        place = (moved.abs() * placed).sum() / placed.sum().clamp(min=1)
        speed = rate * (moved.diff(dim=0).abs() * both).sum() / both.sum().clamp(min=1)
        return options.hold * place + options.still * speed

    return loss
