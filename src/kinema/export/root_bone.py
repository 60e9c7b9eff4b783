"""A bone at the origin that carries the travel of a clip, as engines want it for root motion.

The bone follows the body's path on the ground and its heading, without the sway of each step: the straight line from
the first frame to the last, and of what is left only waves longer than `SLOW` seconds. It begins at the origin and the
rest stays with the hips, so that both together move as the clip did, and a clip that loops does so without a jump.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.fft import dst, idst

from kinema.asset.character import Character, Clip, Frame, unused_name
from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.document import GltfBinding, node_parents
from kinema.asset.rigs.orientation import to_file
from kinema.errors import KinemaError
from kinema.export.gltf.file import GltfFile
from kinema.geometry import rotations

SLOW = 2.5
"""Waves of at least this many seconds are travel, shorter ones are steps."""
Path = Float[np.ndarray, "frames n"]


def with_root_bone(character: Character, name: str) -> Character:
    """The character with one more joint, at the origin above all others; it carries no vertices."""
    skeleton, weights = character.skeleton, character.weights
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton, so it can have no root bone")
    source, name = character.source, unused_name(name, skeleton.names, separator="_")
    if isinstance(source, GltfBinding) and len(source.joint_nodes) == len(skeleton.names):
        source = with_root_node(source, character.frame, name)
    up = max(float(skeleton.heads[0][1]), 0.1 * float(np.ptp(skeleton.heads, axis=0).max()), 1e-3)
    axes = skeleton.wxyz_world_file
    if axes is not None:
        # As the file's own world: a root bone is where a program looks for which way is up.
        axes = np.concatenate((rotations.from_matrix(character.frame.rotation)[None], axes))
    grown = replace(
        skeleton,
        names=(name, *skeleton.names),
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


def with_root_node(binding: GltfBinding, frame: Frame, name: str) -> GltfBinding:
    """The file with a node at the world's origin above all joints, with the axes of what carried them.

    Only a translation lies between the node and what it hangs on, so the file's own animations stay as they are but for
    that, and need not be resampled.
    """
    file = GltfFile.from_document(binding.document)
    nodes, skins, parents = file.json["nodes"], file.json.get("skins", []), node_parents(binding.document)
    skinned = {joint for skin in skins for joint in skin["joints"]}
    top, chain = binding.joint_nodes[0], []
    while parents[top] >= 0 and parents[top] in skinned:
        top = parents[top]
        chain.append(top)
    rest, parent = binding.T_file_node_rest, parents[top]
    above = rest[parent] if parent >= 0 else np.eye(4)
    place = np.linalg.solve(above, np.append(to_file(frame, np.zeros(3)), 1.0))[:3]
    # Feet that hang on no leg stand beside the hips: they go along.
    tops = [node for node in range(len(parents)) if parents[node] == parent and (node in skinned or node == top)]
    root = file.add("nodes", {"name": name, "translation": place.tolist(), "children": tops})
    holders = [nodes[parent]] if parent >= 0 else file.json.get("scenes", [])
    for holder in holders:
        key = "children" if parent >= 0 else "nodes"
        if top in holder.get(key, ()):
            holder[key] = [node for node in holder[key] if node not in tops] + [root]
    for node in tops:
        _move_node(nodes[node], -place)
        _move_animations(file, binding, node, -place)
    at_root = above.copy()
    at_root[:3, 3] += above[:3, :3] @ place
    for skin in skins:
        _add_to_skin(file, binding, skin, root, at_root)
    joint_nodes = (root, *binding.joint_nodes)
    # What lies between the root bone and the hips goes with the root.
    carried = tuple((node, 0 if node in chain else joint + 1) for node, joint in binding.carried_nodes)
    grown = np.concatenate((rest, at_root[None]))
    document = replace(file.document(binding.document.path), images=binding.document.images)
    return replace(binding, document=document, joint_nodes=joint_nodes, T_file_node_rest=grown, carried_nodes=carried)


def _move_node(node: dict[str, Any], by: np.ndarray) -> None:
    if "matrix" in node:
        node["matrix"] = [*node["matrix"][:12], *(np.array(node["matrix"][12:15]) + by).tolist(), node["matrix"][15]]
    else:
        node["translation"] = (np.array(node.get("translation", (0.0, 0.0, 0.0))) + by).tolist()


def _move_animations(file: GltfFile, binding: GltfBinding, node: int, by: np.ndarray) -> None:
    """Shift the translation channels of a node."""
    if not by.any():
        return
    for animation in file.json.get("animations", ()):
        for channel in animation["channels"]:
            if channel["target"].get("node") != node or channel["target"]["path"] != "translation":
                continue
            sampler = dict(animation["samplers"][channel["sampler"]])
            values = np.array(read_accessor(binding.document, sampler["output"], kind="VEC3"), dtype=np.float32)
            if sampler.get("interpolation") == "CUBICSPLINE":
                values[1::3] += by  # tangents stay
            else:
                values += by
            sampler["output"] = file.add_accessor(values)
            channel["sampler"] = len(animation["samplers"])
            animation["samplers"].append(sampler)


def _add_to_skin(file: GltfFile, binding: GltfBinding, skin: dict[str, Any], root: int, at_root: np.ndarray) -> None:
    """List the root among the skin's joints, last, so that the vertices' indices stay; nothing is bound to it."""
    first = skin["joints"][0]
    skin["joints"] = [*skin["joints"], root]
    skin["skeleton"] = root
    if "inverseBindMatrices" in skin:
        bind = read_accessor(binding.document, skin["inverseBindMatrices"], kind="MAT4")
        bind = np.array(bind, dtype=np.float64).reshape(-1, 16)[: len(skin["joints"]) - 1]
        mesh = binding.T_file_node_rest[first] @ bind[0].reshape(4, 4).T
        own = np.linalg.solve(at_root, mesh)
        own[3] = (0, 0, 0, 1)
        skin["inverseBindMatrices"] = file.add_accessor(np.concatenate((bind, own.T.reshape(1, 16))).astype(np.float32))
