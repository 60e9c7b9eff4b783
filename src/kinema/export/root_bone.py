"""A bone at the origin that carries the travel of a clip, as engines want it for root motion.

The bone follows the body's path on the ground and its heading, without the sway of each step: the straight line from
the first frame to the last, and of what is left only waves longer than `SLOW` seconds. It begins at the origin and the
rest stays with the hips, so that both together move as the clip did, and a clip that loops does so without a jump.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.fft import dst, idst

from kinema.asset.character import Character, Clip
from kinema.asset.gltf.document import GltfBinding
from kinema.errors import KinemaError
from kinema.export.common import unused_name
from kinema.export.gltf.root_node import RootNode, with_root_node
from kinema.geometry import rotations

SLOW = 2.5
"""Waves of at least this many seconds are travel, shorter ones are steps."""
Path = Float[np.ndarray, "frames n"]


def with_root_bone(character: Character, name: str) -> Character:
    """The character with one more joint, at the origin above all others; it carries no vertices."""
    skeleton, weights = character.skeleton, character.weights
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton, so it can have no root bone")
    source = character.source
    if isinstance(source, GltfBinding) and len(source.joint_nodes) == len(skeleton.names):
        found: RootNode = with_root_node(source, character.frame, unused_name(name, skeleton.names, separator="_"))
        source, name = found.binding, found.name
    up = max(float(skeleton.heads[0][1]), 0.1 * float(np.ptp(skeleton.heads, axis=0).max()), 1e-3)
    axes = skeleton.wxyz_world_file
    if axes is not None:
        # As the file's own world: a root bone is where a program looks for which way is up.
        axes = np.concatenate((rotations.from_matrix(character.frame.rotation)[None], axes))
    grown = replace(
        skeleton,
        names=(unused_name(name, skeleton.names, separator="_"), *skeleton.names),
        parents=(-1, *(parent + 1 for parent in skeleton.parents)),
        heads=np.concatenate((np.zeros((1, 3)), skeleton.heads)),
        tails=np.concatenate((np.array([[0.0, 0.3 * up, 0.0]]), skeleton.tails)),
        wxyz_world_file=axes,
    )
    weights = None if weights is None else np.concatenate((np.zeros_like(weights[:, :1]), weights), 1)
    return replace(character, skeleton=grown, weights=weights, source=source, clips=())


def with_root_motion(character: Character, clip: Clip) -> Clip:
    """A clip of `character` for the same with a root bone."""
    assert character.skeleton is not None
    position, hips = clip.root_position, character.skeleton.heads[0]
    path = _travel(position[:, [0, 2]] - position[0, [0, 2]], clip.fps)
    forward = rotations.to_matrix(clip.wxyz_parent_joint[:, 0])[..., 2]
    heading = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))
    yaw = _travel((heading - heading[0])[:, None], clip.fps)[:, 0]
    ground = np.stack((path[:, 0], np.zeros(len(path)), path[:, 1]), -1)
    turn = np.zeros((len(yaw), 4))
    turn[:, 0], turn[:, 2] = np.cos(yaw / 2), np.sin(yaw / 2)
    back = turn * [1.0, -1.0, -1.0, -1.0]
    # T_root_hips = T_world_root⁻¹ T_world_hips
    local = (np.swapaxes(rotations.to_matrix(turn), -1, -2) @ (position - ground)[..., None])[..., 0]
    below = clip.wxyz_parent_joint.copy()
    below[:, 0] = rotations.multiply(back, below[:, 0])
    moved = np.zeros((len(path), len(character.skeleton.names) + 1, 3))
    if clip.translation is not None:
        moved[:, 1:] = clip.translation
    moved[:, 1] = local - hips
    wxyz = rotations.continuous(np.concatenate((turn[:, None], below), 1))
    return Clip(clip.name, clip.fps, ground, wxyz, moved)


def _travel(values: Path, fps: float) -> Path:
    """The slow part of a path, with the same first and last value."""
    line = np.linspace(0, 1, len(values))[:, None] * values[-1:]
    inner = (values - line)[1:-1]
    if not len(inner):
        return line
    # Half-waves that vanish at both ends: number k lasts 2 T / k seconds.
    waves = np.asarray(dst(inner, type=1, axis=0))
    number = np.arange(1, len(inner) + 1)
    waves[2 * (len(values) - 1) / fps / number < SLOW] = 0
    smooth = line.copy()
    smooth[1:-1] += np.asarray(idst(waves, type=1, axis=0))
    return smooth
