"""glTF meshes as parts: one for each primitive of each mesh node, in its own coordinates; and their base colours."""

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.gltf.accessors import accessor_size, read_accessor
from kinema.asset.gltf.document import Document, node_parents
from kinema.errors import KinemaError
from kinema.files import Budget
from kinema.geometry.rotations import depth_first

TRIANGLES, STRIP, FAN = 4, 5, 6
BYTES_PER_PART = 10_000
"""Memory of the objects that each part is made of, however few vertices it has."""
Values = dict[str, Any]
"""An object of the file's JSON."""


@dataclass(frozen=True)
class Part:
    """One drawn primitive."""

    node: int
    primitive: int
    material: int
    """-1 for glTF's default white."""
    skin: int
    """-1 where the mesh is rigid and moves with its node."""
    vertices: Float[np.ndarray, "n 3"]
    """In the mesh's own coordinates."""
    faces: Int[np.ndarray, "f 3"]
    colors_linear: Float[np.ndarray, "n 3"]
    """Vertex colours, white if there are none."""
    uv: Float[np.ndarray, "n 2"] | None
    joints: Int[np.ndarray, "n k"] | None
    """Nodes, not places in the skin."""
    weights: Float[np.ndarray, "n k"] | None
    """Rows sum to one."""


def read_parts(document: Document, budget: Budget | None = None) -> tuple[list[Part], list[str]]:
    """All triangles of the default scene, and a line for everything left out or corrected.

    Each node has parts of its own, so the `budget` is taken from for each node that shows a mesh.
    """
    budget, parts, changes = budget or document.budget(), [], []
    shown = [node for node in scene_nodes(document) if "mesh" in document.nodes[node]]
    sizes = [sum(map(partial(_part_size, document), mesh["primitives"])) for mesh in document.json.get("meshes", ())]
    for node in shown:
        budget.take(sizes[document.nodes[node]["mesh"]], f"nodes[{node}] with its mesh")
    for node in shown:
        index = document.nodes[node]["mesh"]
        for i, primitive in enumerate(document.json["meshes"][index]["primitives"]):
            where = f"meshes[{index}].primitives[{i}]"
            drawn, position = primitive.get("mode", TRIANGLES) >= TRIANGLES, primitive["attributes"].get("POSITION")
            if not drawn or position is None:
                changes.append(f"{where} {'has no positions' if drawn else 'draws points or lines'}: left out")
                continue
            if primitive.get("targets"):
                changes.append(f"{where} has {len(primitive['targets'])} morph targets: kept at their default weights")
            part, lines = _read_part(document, node, i, primitive, where)
            parts.append(part)
            changes += lines
    return parts, changes


def scene_nodes(document: Document) -> list[int]:
    """Nodes of the default scene in the file's order; all of them if the file has no scene."""
    scenes, parents = document.json.get("scenes", ()), node_parents(document)
    if not scenes:
        return list(range(len(parents)))
    shown = set(scenes[document.json.get("scene", 0)].get("nodes", ()))
    for node in depth_first(parents):
        if parents[node] in shown:
            shown.add(node)
    return sorted(shown)


def _part_size(document: Document, primitive: Values) -> int:
    """Bytes of a `Part`: its accessors, all twice, as there are white colours where there are none, and edges."""
    accessors = [*primitive["attributes"].values(), *([primitive["indices"]] if "indices" in primitive else [])]
    return BYTES_PER_PART + 2 * sum(accessor_size(document, index) for index in accessors)


def _read_part(document: Document, node: int, index: int, primitive: Values, where: str) -> tuple[Part, list[str]]:
    attributes, material = primitive["attributes"], primitive.get("material", -1)
    vertices = read_accessor(document, attributes["POSITION"], kind="VEC3").astype(np.float64)
    count = len(vertices)
    mesh = document.json["meshes"][document.nodes[node]["mesh"]]
    morphs = document.nodes[node].get("weights", mesh.get("weights", ()))
    vertices = vertices + sum(
        amount * _attribute(document, target, "POSITION", "VEC3", count, "a morph target")
        for amount, target in zip(morphs, primitive.get("targets", ()))
        if amount and "POSITION" in target
    )
    faces = _read_faces(document, primitive, count, where)
    colors = np.ones((count, 3))
    if "COLOR_0" in attributes:
        colors = _attribute(document, attributes, "COLOR_0", "VEC3|VEC4", count, where)[:, :3].astype(np.float64)
    uv = joints = weights = None
    texture_set, transform = texture_mapping(document, material)
    if f"TEXCOORD_{texture_set}" in attributes:
        uv = _attribute(document, attributes, f"TEXCOORD_{texture_set}", "VEC2", count, where).astype(np.float64)
        uv = uv @ transform[:, :2].T + transform[:, 2]
    lines: list[str] = []
    # A skin is only legal on a node with a mesh; a mesh without JOINTS_0 stays rigid.
    skin = document.nodes[node].get("skin", -1) if "JOINTS_0" in attributes and "WEIGHTS_0" in attributes else -1
    if skin >= 0:
        joints, weights, lines = _read_weights(document, attributes, skin, count, where)
    return Part(node, index, material, skin, vertices, faces, colors, uv, joints, weights), lines


def _attribute(document: Document, attributes: Values, name: str, kind: str, count: int, where: str) -> np.ndarray:
    values = read_accessor(document, attributes[name], kind=kind)
    if len(values) != count:
        raise KinemaError(f"{document.path}: {where} has {len(values)} values of {name} for {count} vertices")
    return values


def _read_faces(document: Document, primitive: Values, count: int, where: str) -> Int[np.ndarray, "f 3"]:
    order = np.arange(count)
    if "indices" in primitive:
        order = read_accessor(document, primitive["indices"], kind="SCALAR")[:, 0]
        if order.dtype.kind == "f":
            raise KinemaError(f"{document.path}: {where} has indices that are not integers")
        order = order.astype(np.int64)
        bad = np.flatnonzero((order < 0) | (order >= count))
        if len(bad):
            raise KinemaError(f"{document.path}: {where} index {bad[0]} is vertex {order[bad[0]]} of {count}")
    mode = primitive.get("mode", TRIANGLES)
    if mode == TRIANGLES:
        return order[: len(order) // 3 * 3].reshape(-1, 3)
    if len(order) < 3:
        return np.zeros((0, 3), np.int64)
    if mode == STRIP:
        faces = np.stack((order[:-2], order[1:-1], order[2:]), -1)
        faces[1::2] = faces[1::2][:, [1, 0, 2]]  # every second triangle of a strip is wound the other way
    else:
        faces = np.stack((order[1:-1], order[2:], np.full(len(order) - 2, order[0])), -1)
    # Strips are joined by triangles without area.
    return faces[(faces != np.roll(faces, 1, axis=1)).all(1)]


def _read_weights(
    document: Document, attributes: Values, skin: int, count: int, where: str
) -> tuple[Int[np.ndarray, "n k"], Float[np.ndarray, "n k"], list[str]]:
    """Influences of all sets (JOINTS_0, JOINTS_1 ...), normalised, and lines for what that changed."""
    nodes = np.asarray(document.json["skins"][skin]["joints"], dtype=np.int64)
    sets = list(itertools.takewhile(lambda i: {f"JOINTS_{i}", f"WEIGHTS_{i}"} <= attributes.keys(), range(8)))
    place, weight = (
        np.concatenate([_attribute(document, attributes, f"{name}_{i}", "VEC4", count, where) for i in sets], 1)
        for name in ("JOINTS", "WEIGHTS")
    )
    if place.dtype.kind == "f":
        raise KinemaError(f"{document.path}: {where} has joints that are not integers")
    place = np.where(weight == 0, 0, place.astype(np.int64))  # an unused influence may name any joint
    if (place >= len(nodes)).any() or not len(nodes):
        vertex = int(np.argmax((place >= max(len(nodes), 1)).any(1)))
        weighted = f"vertex {vertex} has a weight on joint {place[vertex].max()}"
        raise KinemaError(f"{document.path}: {where} {weighted}, its skin has {len(nodes)} joints")
    lines = []
    negative = (weight < 0).any(1)
    if negative.any():
        lines.append(f"{where}: {negative.sum()} vertices with negative skin weights set to zero")
    weight = np.maximum(weight.astype(np.float64), 0)
    bare = weight.sum(1) <= 0
    if bare.any():
        lines.append(f"{where}: {bare.sum()} vertices without skin weights follow the skin's first joint")
        weight[bare, 0], place[bare, 0] = 1, 0
    total = weight.sum(1)
    off = np.abs(total - 1)
    # Bytes and shorts cannot hold thirds: up to 2 % off is rounding and not worth a line.
    if off.max(initial=0) > 0.02:
        several = f"skin weights of {(off > 0.02).sum()} vertices sum to up to {total[off.argmax()]:.3f}"
        lines.append(f"{where}: {several}: normalised to one")
    return nodes[place], weight / total[:, None], lines


def base_color_linear(document: Document, material: int) -> Float[np.ndarray, "3"]:
    """Factor of the base colour; white for glTF's default material."""
    values = document.json["materials"][material] if material >= 0 else {}
    old = values.get("extensions", {}).get("KHR_materials_pbrSpecularGlossiness", {})
    factor = values.get("pbrMetallicRoughness", {}).get("baseColorFactor")
    if factor is None and isinstance(old, dict) and isinstance(old.get("diffuseFactor"), list):
        factor = old["diffuseFactor"]
    try:
        return np.ones(3) if factor is None else np.clip(np.asarray(factor[:3], dtype=np.float64).reshape(3), 0, 1)
    except (TypeError, ValueError):
        raise KinemaError(f"{document.path}: materials[{material}] has no colour in {factor!r:.40}") from None


def _base_texture(document: Document, material: int) -> dict[str, Any]:
    """The texture info of the base colour; empty if there is none."""
    values = document.json["materials"][material] if material >= 0 else {}
    return values.get("pbrMetallicRoughness", {}).get("baseColorTexture", {})


def base_image(document: Document, material: int) -> int:
    """Image of the base colour's texture, or -1."""
    info = _base_texture(document, material)
    if not info:
        return -1
    texture = document.json["textures"][info["index"]]
    webp = texture.get("extensions", {}).get("EXT_texture_webp", {})
    image = webp.get("source", -1) if isinstance(webp, dict) else -1
    known = isinstance(image, int) and 0 <= image < len(document.images)
    return image if known else texture.get("source", -1)


def texture_mapping(document: Document, material: int) -> tuple[int, Float[np.ndarray, "2 3"]]:
    """Set of texture coordinates of the base colour, and KHR_texture_transform: translation * rotation * scale."""
    info = _base_texture(document, material)
    values = info.get("extensions", {}).get("KHR_texture_transform", {})
    (x, y), angle, (sx, sy) = values.get("offset", (0, 0)), values.get("rotation", 0), values.get("scale", (1, 1))
    c, s = np.cos(angle), np.sin(angle)
    transform = np.array([[c * sx, s * sy, x], [-s * sx, c * sy, y]], dtype=np.float64)
    return values.get("texCoord", info.get("texCoord", 0)), transform


def is_opaque(document: Document, material: int) -> bool:
    """True if the alpha of the material's texture says nothing; glTF's default."""
    return material < 0 or document.json["materials"][material].get("alphaMode", "OPAQUE") == "OPAQUE"
