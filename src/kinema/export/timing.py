"""Changes of a clip on its way into a file: another rate, in place, a closed loop, the file's own coordinates."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float

from kinema.asset.character import Character, Clip, Frame, Skeleton
from kinema.asset.rigs.orientation import to_file, unplace_skeleton
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.geometry import rotations
from kinema.motion.foot_skin import FootSkin
from kinema.motion.loop import cut_cycle, repeat, roll, unroll, without_stills
from kinema.motion.motion import Motion
from kinema.motion.plant import plant
from kinema.rig.cuboids import bone_cuboids
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def as_clip(character: Character, motion: Motion | Clip) -> Clip:
    """The motion as rotations, checked against the character's skeleton."""
    if character.skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton, so no motion can be written for it")
    if isinstance(motion, Motion):
        translation = None if motion.translation is None else motion.translation.double()
        exact = Motion(motion.root_position.double(), motion.angles.double(), motion.fps, translation)
        motion = exact.to_clip(Rig.from_skeleton(character.skeleton, dtype=torch.float64))
    joints, expected = motion.wxyz_parent_joint.shape[1], len(character.skeleton.names)
    if joints != expected:
        raise KinemaError(f"{character.name}: the motion is for {joints} joints, the skeleton has {expected}")
    if len(motion.root_position) == 0:
        raise KinemaError(f"{character.name}: the motion has no frames")
    values = (motion.root_position, motion.wxyz_parent_joint, motion.translation)
    if not all(np.isfinite(x).all() for x in values if x is not None):
        raise KinemaError(f"{character.name}: the motion holds values that are not finite")
    return motion


def arrange(
    character: Character, clip: Clip, *, fps: float | None = None, in_place: bool = False, loop: bool = False
) -> Clip:
    """The clip as the user asked for it: closed, then held in place, then at the rate `fps`."""
    clip = close_loop(character, clip) if loop else clip
    clip = hold_in_place(clip) if in_place else clip
    return clip if fps is None else resample(clip, fps)


def check_rate(fps: float) -> None:
    if not 0 < fps < 1e4:
        raise KinemaError(f"--fps {fps:g}: is not a frame rate")


def resample(clip: Clip, fps: float) -> Clip:
    """Another rate over the same seconds: linear for the root's path and translations, slerp for rotations."""
    check_rate(fps)
    last = len(clip.root_position) - 1
    if fps == clip.fps or last == 0:
        return replace(clip, fps=float(fps))
    at = np.linspace(0, last, max(2, round(last * fps / clip.fps) + 1))
    low = np.minimum(at.astype(np.int64), last - 1)
    t = (at - low)[:, None]
    root, move = clip.root_position, clip.translation
    wxyz = rotations.slerp(clip.wxyz_parent_joint[low], clip.wxyz_parent_joint[low + 1], t)
    translation = None if move is None else (1 - t[..., None]) * move[low] + t[..., None] * move[low + 1]
    return Clip(clip.name, float(fps), (1 - t) * root[low] + t * root[low + 1], wxyz, translation)


def hold_in_place(clip: Clip) -> Clip:
    """Take out the mean horizontal velocity: what is left sways about the first frame, as on a treadmill."""
    t = np.linspace(0, 1, len(clip.root_position))[:, None]
    travel = (clip.root_position[-1] - clip.root_position[0]) * [1.0, 0.0, 1.0]
    return replace(clip, root_position=clip.root_position - t * travel)


def close_loop(character: Character, clip: Clip) -> Clip:
    """End in the pose of the first frame, the horizontal travel of the root apart.

    A clip of a cycle that leaves out its last frame (the one that equals the first) gets it, and a gait is cut to whole
    periods. Otherwise the mismatch is spread evenly over time, the least change of velocity that closes the loop.
    """
    root, wxyz, translation = clip.root_position, clip.wxyz_parent_joint, clip.translation
    if len(root) < 3:
        return clip
    around = rotations.continuous(np.concatenate((wxyz, wxyz[:2])))
    *steps, gap, _ = np.linalg.norm(np.diff(around, axis=0), axis=-1).mean(-1)
    *bends, leaving, arriving = np.linalg.norm(np.diff(around, n=2, axis=0), axis=-1).mean(-1)
    apart = gap > 0.25 * np.median(steps)
    # One more step like those around it leads on to the first frame: the cycle is complete but for that step.
    if apart and max(leaving, arriving) <= 1.2 * max(bends) and abs(2 * gap / (steps[0] + steps[-1]) - 1) < 0.25:
        end = (root[-1] + (root[-1] - root[0]) / (len(root) - 1)) * [1.0, 0.0, 1.0] + root[0] * [0.0, 1.0, 0.0]
        translation = None if translation is None else np.concatenate((translation, translation[:1]))
        return Clip(clip.name, clip.fps, np.concatenate((root, end[None])), around[:-1], translation)
    if apart and (gait := _cut_gait(character, clip)) is not None:
        return gait
    t = np.linspace(0, 1, len(root))
    if translation is not None:
        translation = translation + t[:, None, None] * (translation[0] - translation[-1])
    root = root.copy()
    root[:, 1] += t * (root[0, 1] - root[-1, 1])
    # slerp(1, q_first q_last⁻¹, t) q(t) ends in q_first.
    whole = rotations.multiply(wxyz[0], wxyz[-1] * [1.0, -1.0, -1.0, -1.0])
    turned = rotations.multiply(rotations.slerp(np.array([1.0, 0.0, 0.0, 0.0]), whole, t[:, None]), wxyz)
    return replace(clip, root_position=root, wxyz_parent_joint=turned, translation=translation)


def _cut_gait(character: Character, clip: Clip) -> Clip | None:
    """As many whole periods as the clip has, its feet planted again where they would slide; None of what is no gait."""
    assert character.skeleton is not None
    rig, limbs = Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)
    motion = without_stills(Motion.from_clip(rig, clip))
    judged = partial(measure, character, rig=rig, limbs=limbs)
    if not (given := judged(motion)).period:
        return None
    cut = cut_cycle(motion, given.period * clip.fps)
    new, may_plant = judged(repeat(cut, 3)), motion.translation is None and character.weights is not None
    if may_plant and (new.slide > max(1.1 * given.slide, given.slide + 0.002) or new.hover > given.hover + 0.001):
        skin, once = FootSkin.of(character, rig, limbs), len(cut) - 1
        planted = roll(plant(rig, bone_cuboids(character), limbs, unroll(cut, once), skin=skin), once)
        again = judged(repeat(planted, 3))
        better = again.slide + again.hover < new.slide + new.hover
        cut = planted if better and again.jerk < 1.1 * given.jerk else cut
    return cut.to_clip(rig, name=clip.name)


def in_file_frame(frame: Frame, skeleton: Skeleton, clip: Clip) -> tuple[Skeleton, Clip]:
    """Skeleton and clip in the coordinates and units of the character's file; joint frames get the file's axes."""
    root, wxyz = to_file(frame, clip.root_position), rotations.change_axes(clip.wxyz_parent_joint, frame.rotation.T)
    translation = None if clip.translation is None else clip.translation @ frame.rotation / frame.scale
    return unplace_skeleton(skeleton, frame), Clip(clip.name, clip.fps, root, wxyz, translation)


def world_transforms(skeleton: Skeleton, clip: Clip) -> Float[np.ndarray, "frames joints 4 4"]:
    """T_world_joint of every frame in float64."""
    offsets = rotations.bone_offsets(skeleton.parents, skeleton.heads)
    offsets = offsets if clip.translation is None else offsets + clip.translation
    local = rotations.to_matrix(clip.wxyz_parent_joint)
    T = np.tile(np.eye(4), (*local.shape[:2], 1, 1))
    T[..., :3, 3], T[..., :3, :3] = rotations.place_joints(skeleton.parents, offsets, local, clip.root_position)
    return T
