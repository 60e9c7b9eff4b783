"""Joints, skins and weights of a glTF under construction."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Frame, Skeleton
from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.document import Document
from kinema.asset.rigs.orientation import to_file
from kinema.export.common import Weights, influences, joint_axes_file
from kinema.export.gltf.file import VERTEX_DATA, GltfFile
from kinema.geometry import rotations

Transform = Float[np.ndarray, "4 4"]


def to_xyzw(rotation: Float[np.ndarray, "3 3"]) -> list[float]:
    """The unit quaternion of a rotation in glTF's order."""
    return rotations.from_matrix(rotation)[[1, 2, 3, 0]].tolist()


def add_joints(file: GltfFile, frame: Frame, skeleton: Skeleton) -> tuple[int, ...]:
    """Nodes for our joints, the root first."""
    heads, axes = to_file(frame, skeleton.heads), joint_axes_file(frame, skeleton)
    nodes = []
    for joint, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents)):
        base, origin = (np.eye(3), np.zeros(3)) if parent < 0 else (axes[parent], heads[parent])
        place = {"translation": (base.T @ (heads[joint] - origin)).tolist(), "rotation": to_xyzw(base.T @ axes[joint])}
        nodes.append(file.add("nodes", {"name": name, **place}))
        if parent >= 0:
            file.json["nodes"][nodes[parent]].setdefault("children", []).append(nodes[joint])
    return tuple(nodes)


def add_skin(file: GltfFile, character: Character, joint_nodes: Sequence[int], T_file_mesh: Transform) -> int:
    """A skin over the joints' nodes, for meshes whose node stands at `T_file_mesh`."""
    assert character.skeleton is not None
    bind = np.tile(np.eye(4), (len(joint_nodes), 1, 1))
    bind[:, :3, :3] = joint_axes_file(character.frame, character.skeleton).transpose(0, 2, 1)
    bind[:, :3, 3] = -(bind[:, :3, :3] @ to_file(character.frame, character.skeleton.heads)[..., None])[..., 0]
    flat = (bind @ T_file_mesh).astype(np.float32)
    flat[:, 3] = (0, 0, 0, 1)
    inverse = file.add_accessor(flat.transpose(0, 2, 1).reshape(-1, 16))
    skin = {"joints": list(joint_nodes), "inverseBindMatrices": inverse, "name": character.name}
    return file.add("skins", {**skin, "skeleton": joint_nodes[0]})


def set_weights(file: GltfFile, attributes: Sequence[dict[str, int]], weights: Weights) -> None:
    """Give primitives all influences, in as many sets of four as the busiest vertex needs (JOINTS_0, JOINTS_1 ...)."""
    joints, values = influences(weights)
    padding = ((0, 0), (0, -joints.shape[1] % 4))
    joints, values = np.pad(joints, padding).astype(np.uint16), np.pad(values, padding).astype(np.float32)
    for k in range(joints.shape[1] // 4):
        four = slice(4 * k, 4 * k + 4)
        sets = {"JOINTS": joints[:, four], "WEIGHTS": values[:, four]}
        added = {f"{key}_{k}": file.add_accessor(rows, target=VERTEX_DATA) for key, rows in sets.items()}
        for primitive in attributes:
            primitive.update(added)


def normalize_weights(file: GltfFile, document: Document) -> None:
    """Give primitives new accessors where the sum of a vertex's weights is off by more than rounding (2 %).

    Programs disagree about such weights (some divide by the sum, some clip each to one, some do neither), so a file
    that kept them would look different everywhere.
    """
    done: dict[tuple[int, ...], dict[str, int]] = {}
    for attributes in [one["attributes"] for mesh in file.json.get("meshes", ()) for one in mesh["primitives"]]:
        sets = [i for i in range(8) if f"WEIGHTS_{i}" in attributes and f"JOINTS_{i}" in attributes]
        key = tuple(attributes[f"{name}_{i}"] for i in sets for name in ("WEIGHTS", "JOINTS"))
        if sets and key not in done:
            done[key] = _normalized(file, document, attributes, sets)
        attributes.update(done.get(key, {}))


def _normalized(file: GltfFile, document: Document, attributes: dict[str, int], sets: list[int]) -> dict[str, int]:
    """New attributes, or none if the weights are good."""
    weights = np.concatenate([read_accessor(document, attributes[f"WEIGHTS_{i}"], kind="VEC4") for i in sets], 1)
    weights = np.maximum(weights.astype(np.float64), 0)
    bare = weights.sum(1) <= 0
    if not bare.any() and np.abs(weights.sum(1) - 1).max(initial=0) <= 0.02:
        return {}
    result = {}
    if bare.any():
        # As on reading: a vertex without weights follows the skin's first joint.
        joints = read_accessor(document, attributes[f"JOINTS_{sets[0]}"], kind="VEC4").astype(np.uint16)
        joints[bare, 0] = 0
        weights[bare, 0] = 1
        result[f"JOINTS_{sets[0]}"] = file.add_accessor(joints, target=VERTEX_DATA)
    weights = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    for place, i in enumerate(sets):
        result[f"WEIGHTS_{i}"] = file.add_accessor(weights[:, 4 * place : 4 * place + 4], target=VERTEX_DATA)
    return result
