"""What a clip may go through on its way out: another rate, in place, a closed loop, the file's own coordinates."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.character import Character, Clip, Frame, Skeleton
from kinema.errors import KinemaError
from kinema.motion.motion import Motion


def as_clip(character: Character, motion: "Motion | Clip") -> Clip:
    """The motion as rotations, checked against the character's skeleton."""
    if character.skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton, so no motion can be written for it")
    if isinstance(motion, Motion):
        import torch

        from kinema.rig.kinematics import Rig

        translation = None if motion.translation is None else motion.translation.double()
        exact = Motion(motion.root_position.double(), motion.angles.double(), motion.fps, translation)
        motion = exact.to_clip(Rig.from_skeleton(character.skeleton, dtype=torch.float64))
    joints, expected = motion.wxyz_parent_joint.shape[1], len(character.skeleton.names)
    if joints != expected:
        raise KinemaError(f"{character.name}: the motion is for {joints} joints, the skeleton has {expected}")
    if len(motion.root_position) == 0:
        raise KinemaError(f"{character.name}: the motion has no frames")
    if not all(
        np.isfinite(x).all()
        for x in (motion.root_position, motion.wxyz_parent_joint, motion.translation)
        if x is not None
    ):
        raise KinemaError(f"{character.name}: the motion holds values that are not finite")
    return motion


def arrange(clip: Clip, *, fps: float | None = None, in_place: bool = False, loop: bool = False) -> Clip:
    """The clip as the user asked for it: closed, then held in place, then at the rate `fps`."""
    if loop:
        clip = close_loop(clip)
    if in_place:
        clip = hold_in_place(clip)
    return clip if fps is None else resample(clip, fps)


def check_rate(fps: float) -> None:
    if not 0 < fps < 1e4:
        raise KinemaError(f"--fps {fps:g}: is not a frame rate")


def resample(clip: Clip, fps: float) -> Clip:
    """Another rate over the same seconds: linear for the root's path and slides, slerp for rotations."""
    check_rate(fps)
    last = len(clip.root_position) - 1
    if fps == clip.fps or last == 0:
        return replace(clip, fps=float(fps))
    count = max(2, round(last * fps / clip.fps) + 1)
    at = np.linspace(0, last, count)
    low = np.minimum(at.astype(np.int64), last - 1)
    t = (at - low)[:, None]
    root = (1 - t) * clip.root_position[low] + t * clip.root_position[low + 1]
    translation = None
    if clip.translation is not None:
        translation = (1 - t[..., None]) * clip.translation[low] + t[..., None] * clip.translation[low + 1]
    return Clip(clip.name, float(fps), root, slerp(clip.wxyz_parent_joint, low, low + 1, t), translation)


def slerp(
    wxyz: Float[np.ndarray, "frames joints 4"],
    start: Int[np.ndarray, "n"],
    end: Int[np.ndarray, "n"],
    t: Float[np.ndarray, "n 1"],
) -> Float[np.ndarray, "n joints 4"]:
    """Rotations between frames `start` and `end`, the short way round."""
    p, q = wxyz[start], wxyz[end]
    cosine = (p * q).sum(-1)
    q = np.where(cosine[..., None] < 0, -q, q)
    angle = np.arccos(np.clip(np.abs(cosine), 0, 1))
    sine = np.sin(angle)
    # Nearly equal rotations: the chord is the arc.
    near = sine < 1e-6
    safe = np.where(near, 1, sine)
    a = np.where(near, 1 - t, np.sin((1 - t) * angle) / safe)
    b = np.where(near, t, np.sin(t * angle) / safe)
    mixed = a[..., None] * p + b[..., None] * q
    return mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)


def hold_in_place(clip: Clip) -> Clip:
    """Take out the mean horizontal velocity: what is left sways about the first frame, as on a treadmill."""
    t = np.linspace(0, 1, len(clip.root_position))[:, None]
    travel = (clip.root_position[-1] - clip.root_position[0]) * [1.0, 0.0, 1.0]
    return replace(clip, root_position=clip.root_position - t * travel)


def close_loop(clip: Clip) -> Clip:
    """End in the pose of the first frame, the horizontal travel of the root apart.

    A clip of a cycle that leaves out its last frame (the one that equals the first) gets it. Otherwise the mismatch is
    spread evenly over time, which is the least change of velocity that closes the loop.
    """
    count = len(clip.root_position)
    if count < 3:
        return clip
    wxyz = clip.wxyz_parent_joint
    steps = _angle(wxyz[1:], wxyz[:-1]).mean(-1)
    gap = float(_angle(wxyz[-1], wxyz[0]).mean())
    height = np.abs(np.diff(clip.root_position[:, 1]))
    height_gap = abs(clip.root_position[-1, 1] - clip.root_position[0, 1])
    # One more step of the usual length leads back to the first frame: the cycle is complete but for that step.
    if 0.25 * np.median(steps) < gap <= 1.5 * steps.max() and height_gap <= 1.5 * height.max() + 1e-9:
        step = (clip.root_position[-1] - clip.root_position[0]) / (count - 1) * [1.0, 0.0, 1.0]
        end = clip.root_position[-1] + step
        end[1] = clip.root_position[0, 1]
        closing = np.where((wxyz[-1] * wxyz[0]).sum(-1, keepdims=True) < 0, -wxyz[0], wxyz[0])
        return replace(
            clip,
            root_position=np.concatenate((clip.root_position, end[None])),
            wxyz_parent_joint=np.concatenate((wxyz, closing[None])),
            translation=None if clip.translation is None else np.concatenate((clip.translation, clip.translation[:1])),
        )
    t = np.linspace(0, 1, count)
    translation = clip.translation
    if translation is not None:
        translation = translation + t[:, None, None] * (translation[0] - translation[-1])
    root = clip.root_position.copy()
    root[:, 1] += t * (root[0, 1] - root[-1, 1])
    # q(t) = slerp(1, q_first q_last^-1, t) q(t) ends in q_first.
    first, last = wxyz[:1], wxyz[-1:] * [1.0, -1.0, -1.0, -1.0]
    whole = np.concatenate((np.broadcast_to([1.0, 0.0, 0.0, 0.0], first.shape), _multiply(first, last)))
    zeros, ones = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
    turned = _multiply(slerp(whole, zeros, ones, t[:, None]), wxyz)
    return replace(clip, root_position=root, wxyz_parent_joint=turned, translation=translation)


def _angle(p: Float[np.ndarray, "*b 4"], q: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b"]:
    return 2 * np.arccos(np.clip(np.abs((p * q).sum(-1)), 0, 1))


def _multiply(p: Float[np.ndarray, "*#b 4"], q: Float[np.ndarray, "*#b 4"]) -> Float[np.ndarray, "*b 4"]:
    pw, pv, qw, qv = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    w = pw * qw - (pv * qv).sum(-1, keepdims=True)
    return np.concatenate((w, pw * qv + qw * pv + np.cross(pv, qv)), -1)


def in_file_frame(frame: Frame, skeleton: Skeleton, clip: Clip) -> tuple[Skeleton, Clip]:
    """Skeleton and clip in the coordinates and units of the character's file: x_file = Rᵀ (x_world - t) / s.

    Joint frames stay aligned with the axes (now the file's), so rotations are conjugated by R.
    """

    def back(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        return (points - frame.translation) @ frame.rotation / frame.scale

    w, vector = clip.wxyz_parent_joint[..., :1], clip.wxyz_parent_joint[..., 1:]
    return (
        replace(skeleton, heads=back(skeleton.heads), tails=back(skeleton.tails), wxyz_world_file=None),
        replace(
            clip,
            root_position=back(clip.root_position),
            # R q Rᵀ of a quaternion: its vector part is turned.
            wxyz_parent_joint=np.concatenate((w, vector @ frame.rotation), -1),
            translation=None if clip.translation is None else clip.translation @ frame.rotation / frame.scale,
        ),
    )


def world_transforms(skeleton: Skeleton, clip: Clip) -> Float[np.ndarray, "frames joints 4 4"]:
    """T_world_joint of every frame in float64."""
    rotation = rotation_matrices(clip.wxyz_parent_joint)
    frames, joints = rotation.shape[:2]
    result = np.zeros((frames, joints, 4, 4))
    result[..., 3, 3] = 1
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0:
            result[:, joint, :3, :3] = rotation[:, joint]
            result[:, joint, :3, 3] = clip.root_position
        else:
            offset = np.tile(skeleton.heads[joint] - skeleton.heads[parent], (frames, 1))
            if clip.translation is not None:
                offset += clip.translation[:, joint]
            above = result[:, parent, :3, :3]
            result[:, joint, :3, :3] = above @ rotation[:, joint]
            result[:, joint, :3, 3] = (above @ offset[..., None])[..., 0] + result[:, parent, :3, 3]
    return result


def rotation_matrices(wxyz: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b 3 3"]:
    """Rotation matrices of quaternions of any non-zero length."""
    w, x, y, z = np.moveaxis(wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True), -1, 0)
    rows = (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip
    return np.stack(rows, -1).reshape(*wxyz.shape[:-1], 3, 3)
