"""From the motion of our joints to translation, rotation and scale of a file's nodes.

Our joints are rigid, the file's nodes are whatever the artist built: other axes, scaled parents, feet that hang on no
leg. So the file's nodes are placed globally, each by the motion of its joint, and their channels follow from that:

    G_node(t) = F_joint(t) G_node(rest),  F = frame⁻¹ T_world_joint(t) T_world_joint(rest)⁻¹ frame
    local(t)  = G_parent(t)⁻¹ G_node(t)

Only what differs from the node's own translation, rotation and scale becomes a channel.
"""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Clip, Frame, Skeleton
from kinema.asset.gltf.animation import NODE_DEFAULTS, local_matrices, matrices
from kinema.asset.gltf.document import GltfBinding, node_parents
from kinema.export.timing import world_transforms
from kinema.geometry import rotations
from kinema.geometry.rotations import depth_first

Parts = dict[str, Float[np.ndarray, "frames _"]]
"""Translation, rotation (xyzw) and scale of one node in time."""
Transforms = Float[np.ndarray, "frames 4 4"]


def node_channels(binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip) -> dict[int, Parts]:
    """Translation, rotation and scale in time of every node of the file, where they differ from the node as it stands.

    What a channel cannot say exactly (a shear, a difference too small to write) is made good by the node's children.
    """
    target = node_targets(binding, frame, skeleton, clip)
    size = float(np.ptp(skeleton.heads, axis=0).max()) / frame.scale
    still, rest, parents = local_matrices(binding.document), binding.T_file_node_rest, node_parents(binding.document)
    placed = np.empty((len(clip.root_position), len(parents), 4, 4))
    channels: dict[int, Parts] = {}
    sheared = []
    for node in depth_first(parents):
        parent, joint = parents[node], node in target
        above, above_rest = (np.eye(4)[None], np.eye(4)) if parent < 0 else (placed[:, parent], rest[parent])
        local = _relative(above, target[node]) if joint else _relative(above_rest, rest[node])
        standing = _standing(binding.document.nodes[node], still[node])
        parts = decompose(np.broadcast_to(local, placed[:, node].shape), signs=np.sign(standing["scale"][0]))
        # Rotations of joints are always written. Units of a translation are those of the parent's scale.
        unit = float(np.abs(np.linalg.det(above[0, :3, :3])) ** (1 / 3)) or 1.0
        tolerance = {"translation": 1e-6 * size / unit, "rotation": 1e-6}
        tolerance["scale"] = 3e-6 * float(np.abs(standing["scale"]).max())
        if (parts["rotation"][0] * standing["rotation"][0]).sum() < 0:
            parts["rotation"] = -parts["rotation"]
        differs = {path: np.abs(values - standing[path]).max() > tolerance[path] for path, values in parts.items()}
        differs["rotation"] |= joint
        written = {path: values for path, values in parts.items() if differs[path]}
        if written:
            channels[node] = written
        own = recompose({path: written.get(path, np.repeat(standing[path], len(placed), 0)) for path in parts})
        placed[:, node] = above @ (own if written else still[node])
        if joint and np.abs(placed[:, node] - target[node])[..., :3].max() > 1e-3 * np.abs(target[node][..., :3]).max():
            sheared.append(binding.document.nodes[node].get("name", str(node)))
    if sheared:
        which = f"{binding.document.path}: {len(sheared)} joints ({', '.join(sheared[:3])})"
        why = "have unevenly scaled parents and turn into a shear that glTF cannot hold"
        warnings.warn(f"{which} {why}; the nearest rotation and scale is written", stacklevel=5)
    return channels


def node_targets(binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip) -> dict[int, Transforms]:
    """Where the nodes of our joints, and those that they carry, have to be in the file's world."""
    to_world = np.eye(4)
    to_world[:3, :3], to_world[:3, 3] = frame.scale * frame.rotation, frame.translation
    moved = world_transforms(skeleton, clip)
    # T_world_joint(rest)⁻¹ is a translation, since all joints have the world's axes at rest.
    moved[..., :3, 3] -= (moved[..., :3, :3] @ skeleton.heads[..., None])[..., 0]
    from_rest = np.linalg.inv(to_world) @ moved @ to_world
    joint_of = {**dict(binding.carried_nodes), **{node: joint for joint, node in enumerate(binding.joint_nodes)}}
    return {node: from_rest[:, joint] @ binding.T_file_node_rest[node] for node, joint in joint_of.items()}


def _relative(above: Float[np.ndarray, "*f 4 4"], node: Float[np.ndarray, "*g 4 4"]) -> Float[np.ndarray, "*h 4 4"]:
    """T_parent_node from T_world_parent and T_world_node."""
    try:
        return np.linalg.solve(above, node)
    except np.linalg.LinAlgError:
        # Below a node that is scaled to nothing every place is as good.
        return np.linalg.pinv(above) @ node


def _standing(node: dict[str, Any], still: Float[np.ndarray, "4 4"]) -> Parts:
    """Translation, rotation and scale of the node without animation."""
    if "matrix" in node:
        return decompose(still[None])
    return {path: np.array([node.get(path, value)], dtype=np.float64) for path, value in NODE_DEFAULTS.items()}


def decompose(matrix: Transforms, *, signs: Float[np.ndarray, "3"] | None = None) -> Parts:
    """Translation, rotation (xyzw, neighbours in one hemisphere) and scale; the product is T R S up to shear.

    `signs` says which axes are mirrored, as the file has it, so that a rotation fits the file's own scale.
    """
    linear = matrix[:, :3, :3]
    signs = np.ones(3) if signs is None else np.where(signs < 0, -1.0, 1.0)
    scale = np.linalg.norm(linear, axis=-2) * signs
    scale[:, 0] *= np.where((np.linalg.det(linear) < 0) == (signs.prod() < 0), 1, -1)
    columns = linear / np.where(np.abs(scale) > 1e-20, scale, 1)[:, None, :]
    wxyz = rotations.continuous(rotations.from_matrix(rotations.nearest_rotation(columns)))
    return {"translation": matrix[:, :3, 3], "rotation": wxyz[:, [1, 2, 3, 0]], "scale": scale}


def recompose(parts: Parts) -> Transforms:
    """T R S."""
    return matrices(parts["translation"], parts["rotation"], parts["scale"])
