"""Only the joints of a glTF file, for a mesh that comes from elsewhere."""

import numpy as np

from kinema.asset.character import Skeleton
from kinema.asset.gltf.animation import global_matrices, local_matrices
from kinema.asset.gltf.character import character_from_document
from kinema.asset.gltf.document import Document, node_parents
from kinema.asset.gltf.geometry import read_parts, scene_nodes
from kinema.asset.gltf.rig import clean_skeleton, joint_above, node_name
from kinema.asset.rigs.cleanup import RawRig, clean_rig
from kinema.asset.rigs.orientation import AS_IN_FILE
from kinema.errors import KinemaError


def skeleton_from_document(document: Document) -> Skeleton:
    """Joints in the file's coordinates: those of its skinned mesh, or all nodes of an armature exported alone."""
    parts, _ = read_parts(document)
    if any(part.skin >= 0 for part in parts):
        skeleton = character_from_document(document, AS_IN_FILE).skeleton
        assert skeleton is not None
        return skeleton
    nodes = sorted({node for skin in document.json.get("skins", ()) for node in skin["joints"]})
    nodes = nodes or _armature_nodes(document)
    if not nodes:
        raise KinemaError(f"{document.path}: has no joints")
    parents, places = node_parents(document), {node: i for i, node in enumerate(nodes)}
    world = global_matrices(document, local_matrices(document))
    heads = world[nodes, :3, 3]
    size = max(float(np.linalg.norm(np.ptp(heads, axis=0))), 1e-9)
    tips = heads + [0.0, 0.1 * size, 0.0]
    for i, node in enumerate(nodes):
        ends = [child for child in document.nodes[node].get("children", ()) if child not in places]
        tips[i] = world[ends[0], :3, 3] if ends else tips[i]
    # Every joint gets a vertex at its head: without a mesh none can be dropped for carrying nothing.
    points = np.concatenate((heads, np.ones((len(heads), 1))), -1)
    moments = points[:, :, None] * points[:, None]
    names = tuple(node_name(document, node) for node in nodes)
    above = tuple(joint_above(parents, parents[node], places) for node in nodes)
    raw = RawRig(names, above, heads, tips, moments, size)
    return clean_skeleton(raw, clean_rig(raw, np.zeros((0, len(nodes), 3, 4))), world[nodes])


def _armature_nodes(document: Document) -> list[int]:
    """Nodes of a scene without skins that are bones: no meshes, cameras, ends of chains, nor the armature object."""
    scene, parents = {node: document.nodes[node] for node in scene_nodes(document)}, node_parents(document)
    # Blender's exporters close chains with nodes named Tail_end that only say where the last bone stops.
    named_end = {node for node, content in scene.items() if content.get("name", "").lower().endswith("_end")}
    ends = {node for node in named_end if not scene[node].get("children")}
    nodes = [node for node, content in scene.items() if node not in ends and not {"mesh", "camera"} & content.keys()]
    tops = [node for node in nodes if parents[node] not in nodes]
    if len(tops) == 1 and "children" in document.nodes[tops[0]]:
        kids = [child for child in document.nodes[tops[0]]["children"] if child in nodes]
        # The armature object stands at the top and carries all bones, but is none itself.
        if len(kids) == 1 or "armature" in document.nodes[tops[0]].get("name", "").lower():
            nodes.remove(tops[0])
    return nodes
