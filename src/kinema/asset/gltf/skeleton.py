"""Only the joints of a glTF file, for a mesh that comes from elsewhere."""

import numpy as np

from kinema.asset.character import Skeleton
from kinema.asset.gltf.animation import global_matrices, local_matrices
from kinema.asset.gltf.character import character_from_document, skeleton_of
from kinema.asset.gltf.document import Document, node_parents
from kinema.asset.gltf.geometry import read_parts, scene_nodes
from kinema.asset.rigs.cleanup import RawRig, clean_rig
from kinema.errors import KinemaError


def skeleton_from_document(document: Document) -> Skeleton:
    """Joints in the file's coordinates: those of its skinned mesh, or all nodes of an armature exported alone."""
    parts, _ = read_parts(document)
    if any(part.skin >= 0 for part in parts):
        character = character_from_document(document, up="+y", facing="+z", scale=1.0, ground=0.0)
        assert character.skeleton is not None
        return character.skeleton
    skins = document.json.get("skins", ())
    nodes = sorted({node for skin in skins for node in skin["joints"]}) or [
        node
        for node in scene_nodes(document)
        if not {"mesh", "camera"} & set(document.nodes[node]) and not _is_end(document, node)
    ]
    parents = node_parents(document)
    world = global_matrices(document, local_matrices(document))
    # The armature object itself is no bone: it stands at the top, carries everything and is nobody's joint.
    tops = [node for node in nodes if parents[node] not in nodes]
    if not skins and len(tops) == 1 and "children" in document.nodes[tops[0]]:
        kids = [child for child in document.nodes[tops[0]]["children"] if child in nodes]
        if len(kids) == 1 or "armature" in document.nodes[tops[0]].get("name", "").lower():
            nodes = [node for node in nodes if node != tops[0]]
    if not nodes:
        raise KinemaError(f"{document.path}: has no joints")
    place = {node: i for i, node in enumerate(nodes)}
    heads = world[nodes, :3, 3]
    size = max(float(np.linalg.norm(np.ptp(heads, axis=0))), 1e-9)
    tips = heads + 0.1 * size * np.array([0.0, 1.0, 0.0])
    above = []
    for i, node in enumerate(nodes):
        ends = [world[c, :3, 3] for c in document.nodes[node].get("children", ()) if c not in place]
        tips[i] = ends[0] if ends else tips[i]
        parent = parents[node]
        while parent >= 0 and parent not in place:
            parent = parents[parent]
        above.append(place.get(parent, -1))
    # Every joint counts: without a mesh none can be told to be idle.
    moments = np.stack([np.outer(np.append(head, 1), np.append(head, 1)) for head in heads])
    names = tuple(document.nodes[node].get("name") or f"node{node}" for node in nodes)
    raw = RawRig(names, tuple(above), heads, tips, moments, size)
    clean = clean_rig(raw, np.zeros((0, len(nodes), 3, 4)))
    return skeleton_of(raw, clean, [world[nodes[j]] for j in clean.joints])


def _is_end(document: Document, node: int) -> bool:
    """Blender's exporters close chains with nodes named Tail_end that only say where the last bone stops."""
    return document.nodes[node].get("name", "").lower().endswith("_end") and not document.nodes[node].get("children")
