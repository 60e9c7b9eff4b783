"""The joints of a glTF file with their weights and motion, still as the file has them: input of `rigs.cleanup`."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Skeleton, bone_tails, listed, unique_names
from kinema.asset.gltf.animation import NODE_DEFAULTS, Track, local_matrices
from kinema.asset.gltf.document import Document, node_parents
from kinema.asset.gltf.geometry import Part
from kinema.asset.rigs.cleanup import CleanRig, RawRig
from kinema.errors import KinemaError
from kinema.geometry.rotations import ancestors, from_matrix, nearest_rotation

Vertices = Float[np.ndarray, "vertices 3"]
Weights = Float[np.ndarray, "vertices joints"]
Nodes = Float[np.ndarray, "nodes 4 4"]
"""Global transforms."""


def node_name(document: Document, node: int) -> str:
    """The node's name, or one made of its index."""
    return document.nodes[node].get("name") or f"node{node}"


def joint_nodes(document: Document, parts: list[Part], animations: list[list[Track]]) -> list[int]:
    """Joints of all skins in use, and nodes that an animation moves together with a rigid mesh below them."""
    nodes = {node for part in parts if part.skin >= 0 for node in document.json["skins"][part.skin]["joints"]}
    parents = node_parents(document)
    above = {node for part in parts if part.skin < 0 for node in (part.node, *ancestors(parents, part.node))}
    moved = {
        track.node
        for tracks in animations
        for track in tracks
        if np.abs(track.values - document.nodes[track.node].get(track.path, NODE_DEFAULTS[track.path])).max() > 1e-6
    }
    return sorted(nodes | (above & moved))


def joint_above(parents: Sequence[int], node: int, places: Mapping[int, int]) -> int:
    """Place of the first joint at or above a node, -1 if there is none; `places` maps joint nodes to their places."""
    while node >= 0 and node not in places:
        node = parents[node]
    return places.get(node, -1)


def raw_weights(
    document: Document, parts: list[Part], joints: list[int], vertices: Vertices, rest: Nodes
) -> tuple[Weights, list[str]]:
    """Dense weights over the file's joints; a rigid mesh follows the nearest joint above it."""
    parents, places = node_parents(document), {node: i for i, node in enumerate(joints)}
    place = np.array([places.get(node, -1) for node in range(len(parents))])
    weights = np.zeros((len(vertices), len(joints)))
    loose: dict[str, None] = {}
    ends = np.cumsum([len(part.vertices) for part in parts])
    for part, rows in zip(parts, np.split(np.arange(len(vertices)), ends)):
        if part.joints is not None and part.weights is not None:
            np.add.at(weights, (rows[:, None], place[part.joints]), part.weights)
            continue
        joint = joint_above(parents, part.node, places)
        if joint < 0:
            centre = vertices[rows].mean(0) if len(rows) else np.zeros(3)
            joint = int(np.linalg.norm(rest[joints][:, :3, 3] - centre, axis=-1).argmin())
            name, near = node_name(document, part.node), node_name(document, joints[joint])
            loose[f"{name} is attached to no joint: follows the nearest, {near}"] = None
        weights[rows, joint] = 1
    return weights, list(loose)


def scale_lines(document: Document, joints: list[int]) -> list[str]:
    """Lines for joints that are scaled or mirrored, since our joints only rotate."""
    local = local_matrices(document)[joints, :3, :3]
    scales = np.linalg.norm(local, axis=1)
    uneven = np.ptp(scales, axis=1) > 1e-3 * scales.max(1)
    lines = []
    for found, what in ((uneven, "have non-uniform scale"), (np.linalg.det(local) < 0, "are mirrored")):
        names = [node_name(document, joints[j]) for j in np.flatnonzero(found)]
        if names:
            lines.append(f"{len(names)} joints {what}, now part of the rest pose: {listed(names, 4)}")
    return lines


def raw_rig(document: Document, joints: list[int], weights: Weights, vertices: Vertices, rest: Nodes) -> RawRig:
    """Joints at rest, with the moments of the vertices that they carry."""
    parents, places = node_parents(document), {node: i for i, node in enumerate(joints)}
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if size <= 0:
        raise KinemaError(f"{document.path}: all vertices lie in one point")
    heads = rest[joints, :3, 3]
    moments, tips = np.empty((len(joints), 4, 4)), np.empty_like(heads)
    homogeneous = np.concatenate((vertices, np.ones((len(vertices), 1))), -1)
    for j, node in enumerate(joints):
        used = np.flatnonzero(weights[:, j])
        moments[j] = (homogeneous[used] * weights[used, j, None]).T @ homogeneous[used]
        ends = [c for c in document.nodes[node].get("children", ()) if "mesh" not in document.nodes[c]]
        reach = [rest[c, :3, 3] for c in ends if np.linalg.norm(rest[c, :3, 3] - heads[j]) > 1e-4 * size]
        away = moments[j, :3, 3] / moments[j, 3, 3] - heads[j] if moments[j, 3, 3] > 0 else np.zeros(3)
        # An "_end" node says where a bone ends; otherwise it goes as far beyond its vertices' centre as that is away.
        tips[j] = reach[0] if len(reach) == 1 else heads[j] + 2 * away
    names = tuple(node_name(document, node) for node in joints)
    above = tuple(joint_above(parents, parents[node], places) for node in joints)
    return RawRig(names, above, heads, tips, moments, size)


def clean_skeleton(raw: RawRig, clean: CleanRig, rest: Float[np.ndarray, "raw 4 4"]) -> Skeleton:
    """The clean tree as a Skeleton; `rest` are the raw joints' global transforms in the file."""
    kept, parents = list(clean.joints), clean.parents
    heads = raw.heads[kept]
    tails = bone_tails(heads, parents, raw.tips[kept], shortest=1e-4 * raw.size)
    for j in np.flatnonzero(np.linalg.norm(tails - heads, axis=-1) < 1e-3 * raw.size):
        along = heads[j] - heads[parents[j]] if parents[j] >= 0 else np.zeros(3)
        length = np.linalg.norm(along)
        tails[j] = heads[j] + 0.05 * raw.size * (along / length if length > 1e-9 * raw.size else np.eye(3)[1])
    axes = from_matrix(nearest_rotation(rest[kept, :3, :3]))
    return Skeleton(unique_names(raw.names[j] for j in kept), parents, heads, tails, axes)
