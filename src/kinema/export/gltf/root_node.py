"""A root bone in a glTF that came from a file: a node above its joints, in its skins and in its own animations."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinema.asset.character import Frame
from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.document import GltfBinding, node_parents
from kinema.export.gltf.file import GltfFile
from kinema.export.timing import to_file


@dataclass(frozen=True)
class RootNode:
    """A binding whose first joint is a root bone, and what it is called."""

    binding: GltfBinding
    name: str


def with_root_node(binding: GltfBinding, frame: Frame, name: str) -> RootNode:
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
    binding = replace(
        binding, document=document, joint_nodes=joint_nodes, T_file_node_rest=grown, carried_nodes=carried
    )
    return RootNode(binding, name)


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
