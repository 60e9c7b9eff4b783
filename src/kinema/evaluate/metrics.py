"""Metrics of a clip: its gait, and how cleanly it treats feet, ground and time.

A new metric is a field of `Metrics`, its unit in `UNITS` and its value in `measure_pose`; report, `kinema eval` and
benchmarks show it by its name.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from kinema.asset.character import Character
from kinema.evaluate.amount import joint_swings
from kinema.evaluate.gaits import name_gait
from kinema.evaluate.published import foot_contact_score, skating_ratio
from kinema.evaluate.undulation import BodyWave, WingBeat, body_wave, wing_beat
from kinema.motion.feet import Feet, Stance, find_cycle, find_stance, ground_speed, track_pose
from kinema.motion.flight import hanging
from kinema.motion.foot_skin import PerFrame, SkinContacts, skin_contacts
from kinema.motion.loop import without_stills
from kinema.motion.motion import Motion
from kinema.motion.similar import grown, grown_motion, growth
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs

_NAMES = {
    "s": "period hang wave_period wing_period",
    "cycles, by leg": "phases",
    "leg lengths": "amplitude lift travel floating hover",
    "leg lengths/s": "speed motion",
    "of the body's speed": "slide",
    "rad": "turn",
    "deg": "swing wing_stroke",
    "of the height": "penetration penetration_worst sunk",
    "m/s": "stance_speed body_speed loaded_slip",
    "m": "depth",
    "lengths/s": "wave_speed advance",
    "of the length": "nose tail",
    "of its speed": "slip",
    "of the frames in stance": "airborne",
    "stances": "missed",
    "of the frames": "skating",
    "in the clip": "stances",
    "W/kg": "power",
}
LEGS = {"period", "phases", "periodic", "duty", "amplitude", "lift", "slide", "hover", "symmetry"}
LEGS |= {"skating", "foot_contact"}
"""What is said of bodies that step alone."""
UNITS = {name: unit for unit, names in _NAMES.items() for name in names.split()}
"""Units of `Metrics` and of the physics' `GroundReport`; a value that is not listed has none."""


@dataclass(frozen=True)
class Metrics:
    """What a clip shows, in numbers without dimension where possible."""

    gait: str
    period: float
    """[s]; 0 if there is none."""
    phases: tuple[float, ...]
    """Phases of the legs (ordered as limbs.legs) relative to the first, in cycles."""
    periodic: float
    """Share of the feet's motion that repeats with the period, in [0, 1]."""
    duty: float
    """Mean fraction of time that a foot is in stance."""
    amplitude: float
    """Mean fore-aft range of the feet [leg lengths]."""
    lift: float
    """Mean vertical range of the feet [leg lengths]."""
    slide: float
    """Speed of stance feet over the ground relative to the body's speed; 0 is perfect. In place: as if on a belt."""
    speed: float
    """Speed of the body over the ground, as the stance feet tell it [leg lengths per second]."""
    travel: float
    """From first to last frame [leg lengths]."""
    turn: float
    """From first to last frame, + to the left [rad]."""
    penetration: float
    """Mean over frames of the deepest point below the ground, relative to the body's height."""
    penetration_worst: float
    floating: float
    """Mean over frames of the lowest point's height above the ground [leg lengths]; flight phases count too."""
    hover: float
    """Mean distance of the stance feet's lowest skin from the ground, above or below [leg lengths]."""
    jerk: float
    """RMS third derivative of the joints relative to the root [leg lengths per period^3, or per s^3]."""
    motion: float
    """Mean speed of the joints relative to the root [leg lengths per second]."""
    swing: float
    """Largest angle between two poses of a joint, seen from the root: of the liveliest joint [deg]."""
    symmetry: float
    """1 if left and right legs swing equally far, 0 if only one side moves."""
    bone_change: float
    """Largest relative change of a bone's length."""
    hang: float = 0.0
    """For how long nothing bears the body where it touches nothing (`motion.flight`); 0 of a body without skin."""
    sunk: float = 0.0
    """How far the middle of its skin is below its highest place in the end, relative to that height."""
    skating: float = 0.0
    """Skating ratio of GMD: share of frames in which a low foot moves, scaled to human legs."""
    foot_contact: float = 0.0
    """Physical foot contact score (PFC) of EDGE, scaled to human legs: 0 while a foot stands still."""
    wave: BodyWave | None = None
    """Of a body that has no legs, or no ground to put them on, and no wings."""
    wings: WingBeat | None = None
    """Of a body with wings or fins that does not step."""
    steps: bool = True
    """It has legs and ground: without, what is said of them is nothing."""

    def as_dict(self) -> dict[str, object]:
        """The values that tell something of this body, by name."""
        left_out = {"wave", "wings", "steps"} | (set() if self.steps else LEGS)
        found = {name: value for name, value in asdict(self).items() if name not in left_out}
        if (wave := self.wave) is not None:
            found |= {"wave_period": wave.period, "nose": wave.nose, "tail": wave.tail}
            found |= {"advance": wave.advance, "slip": wave.slip}
            found |= {} if wave.speed is None else {"wave_speed": wave.speed}
        if (wings := self.wings) is not None:
            found |= {"wing_period": wings.period, "wing_stroke": wings.stroke_deg}
        return found

    def at_pace(self, rate: float) -> "Metrics":
        """The same motion played so many times as fast."""
        jerk = self.jerk if self.period else self.jerk * rate**3
        wave, wings = self.wave and self.wave.at_pace(rate), self.wings and self.wings.at_pace(rate)
        times = {"period": self.period / rate, "hang": self.hang / rate, "jerk": jerk}
        speeds = {"speed": self.speed * rate, "motion": self.motion * rate}
        return replace(self, **times, **speeds, wave=wave, wings=wings)


def measure(
    character: Character, motion: Motion, *, rig: Rig | None = None, limbs: Limbs | None = None, mesh: bool = True
) -> Metrics:
    """Measure a motion of a character; `mesh` looks for penetration on the skinned mesh, not only on the soles."""
    assert character.skeleton is not None
    limbs = limbs or find_limbs(character)
    if (size := growth(limbs.leg_length)) != 1:
        other = grown(character, size)
        limbs = replace(find_limbs(other), ground=limbs.ground)
        return measure(other, grown_motion(motion, size), limbs=limbs, mesh=mesh).at_pace(size**0.5)
    rig = rig or Rig.from_skeleton(character.skeleton, dtype=motion.angles.dtype)
    skinned, moving = mesh and character.weights is not None, without_stills(motion)
    skin = skin_contacts(character, rig, limbs, moving) if skinned else None
    pose = moving.pose(rig).detach().double().cpu().numpy()
    found = measure_pose(pose, limbs, skin, rig.parents, fps=motion.fps)
    if not skinned or len(moving) == len(motion):
        return found
    # Who freezes in the air hangs there, too.
    return replace(found, hang=_hang(skin_contacts(character, rig, limbs, motion), limbs, motion.fps, ends=True))


def measure_pose(
    T_world_joint: Float[np.ndarray, "frames joints 3 4"], limbs: Limbs, skin: SkinContacts | None,
    parents: tuple[int, ...], *, fps: float,
) -> Metrics:  # fmt: skip
    """Measure joints whose transforms are known, whatever moved them.

    Stance is found on the sole points. Slide and hover are then measured on the skin of the stance feet, so that
    planting, which moves the sole points, is not judged by itself; without a skin they are those of the sole points.
    """
    feet = track_pose(torch.from_numpy(T_world_joint), limbs, fps=fps)
    cycle, stance = find_cycle(feet), find_stance(feet)
    shown = feet if skin is None or skin.velocity is None else replace(feet, height=skin.height, velocity=skin.velocity)
    speed, duty = ground_speed(feet, stance), float(stance.mean()) if stance.size else 0.0
    gait = name_gait(limbs, feet, cycle, stance, speed=speed)
    joints, steps = T_world_joint[..., 3], bool(limbs.legs) and limbs.ground
    soles = feet.world[..., 1].min(1) if limbs.legs else np.zeros(len(joints))
    low = soles if skin is None else skin.lowest
    # Without ground nothing can be under it, above it or slide on it.
    low, stance = (low, stance) if limbs.ground else (np.zeros_like(low), np.zeros_like(stance))
    depth = np.maximum(-low, 0.0)
    seconds = cycle.period / fps if gait not in ("stand", "other") else 0.0
    shape = joints - joints[:, :1]
    third = np.diff(shape, n=3, axis=0) * (fps * (seconds or 1.0)) ** 3 / feet.leg
    away = feet.body[-1] - feet.body[0]
    return Metrics(
        gait=gait,
        period=seconds,
        phases=tuple(float(p) for p in (cycle.phase - cycle.phase[:1]) % 1.0) if seconds else (),
        periodic=cycle.explained,
        duty=duty,
        amplitude=float(cycle.reach.mean()) if len(cycle.reach) else 0.0,
        lift=float(cycle.lift.mean()) if len(cycle.lift) else 0.0,
        slide=_slide(shown, stance, speed) if gait != "stand" else 0.0,
        speed=speed / feet.leg,
        travel=float(np.hypot(away[0], away[2])) / feet.leg,
        turn=float(feet.heading[-1] - feet.heading[0]),
        penetration=float(depth.mean()) / limbs.height,
        penetration_worst=float(depth.max()) / limbs.height,
        floating=float(np.maximum(low, 0.0).mean()) / feet.leg,
        hover=float(np.abs(shown.height[stance]).mean()) / feet.leg if stance.any() else 0.0,
        jerk=float(np.sqrt((third**2).sum(-1).mean())) if len(third) else 0.0,
        motion=float(np.linalg.norm(np.diff(shape, axis=0), axis=-1).mean()) * fps / feet.leg,
        swing=float(joint_swings(T_world_joint[..., :3]).max()),
        symmetry=_symmetry(limbs, cycle.reach + 2 * cycle.lift),
        bone_change=bone_change(joints, parents),
        hang=_hang(skin, limbs, fps, ends=not feet.loops),
        sunk=0.0 if skin is None or not limbs.ground else float(1 - skin.middle[-1] / max(skin.middle.max(), 1e-9)),
        skating=skating_ratio(shown) if limbs.ground else 0.0,
        foot_contact=foot_contact_score(shown) if limbs.ground else 0.0,
        wave=None if steps or limbs.limbs_of("wing") else body_wave(T_world_joint, limbs, parents, fps=fps),
        wings=None if steps else wing_beat(T_world_joint, limbs, fps=fps),
        steps=steps,
    )


def _hang(skin: SkinContacts | None, limbs: Limbs, fps: float, *, ends: bool) -> float:
    if skin is None or not limbs.ground:
        return 0.0
    return hanging(skin.lowest, skin.middle, fps=fps, leg=limbs.leg_length, ends=ends)


def _slide(feet: Feet, stance: Stance, speed: float) -> float:
    """Mean horizontal speed of stance feet over the ground, relative to the body's.

    A clip in place is judged on a belt that moves at the body's speed.
    """
    stands = stance[1:] & stance[:-1]
    if not stands.any() or speed < 0.02 * feet.leg:
        return 0.0
    travelled = float(np.linalg.norm(np.diff(feet.body[:, [0, 2]], axis=0).mean(0))) * feet.fps
    velocity = feet.velocity[..., [0, 2]]
    if travelled < 0.25 * speed:
        velocity = velocity + speed * np.stack((np.sin(feet.heading), np.cos(feet.heading)), -1)[:-1, None]
    return float(np.linalg.norm(velocity, axis=-1)[stands].mean()) / max(travelled, speed)


def _symmetry(limbs: Limbs, amount: np.ndarray) -> float:
    left, right = (sum(float(a) for a, g in zip(amount, limbs.legs) if g.side * side > 0) for side in (1, -1))
    return 1.0 - abs(left - right) / (left + right) if left + right > 1e-9 else 1.0


def bone_change(joints: Float[np.ndarray, "frames joints 3"], parents: tuple[int, ...]) -> float:
    """Largest relative change of a distance from joint to parent; 0 for skeletons, not for deformation fields."""
    children = [j for j, p in enumerate(parents) if p >= 0]
    length = np.linalg.norm(joints[:, children] - joints[:, [parents[j] for j in children]], axis=-1)
    keep = length[0] > 1e-6
    return float((np.abs(length - length[0]) / np.maximum(length[0], 1e-12))[:, keep].max(initial=0.0))


def shape_change(vertices: Float[np.ndarray, "frames vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> PerFrame:
    """Mean relative change of the mesh's edge lengths from the first frame: skinning bends, fields also melt."""
    edges = np.unique(np.sort(np.concatenate((faces[:, :2], faces[:, 1:], faces[:, ::2])), axis=-1), axis=0)
    length = np.linalg.norm(vertices[:, edges[:, 0]] - vertices[:, edges[:, 1]], axis=-1)
    keep = length[0] > 1e-9
    return (np.abs(length - length[0]) / np.where(keep, length[0], 1.0))[:, keep].mean(-1)
