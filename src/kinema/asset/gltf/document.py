"""glTF 2.0 files as they are: container, buffers, accessors and the tree of nodes.

`read_document` gives a `Document`: the JSON, checked, and the bytes it points to. `asset.gltf_character.load_gltf`
makes a Character of it and leaves a `GltfBinding` in `Character.source`, with which an exporter can write a motion back
into the same file:

    F = frame⁻¹ ∘ T_world_joint(t) ∘ T_world_joint(rest)⁻¹ ∘ frame      how joint j moved from rest, file coordinates
    G_node(t) = F @ binding.T_file_node_rest[binding.joint_nodes[j]]    what the file's node has to be, globally
    local(t)  = inv(G_parent(t)) @ G_node(t)                            what the node's channels say

where `binding.carried_nodes` move with the joint named there, and all other nodes keep `binding.T_file_node_rest`
relative to their parent in the file. The file's tree can differ from ours (an IK foot hangs below the leg in ours), so
G_parent is that of the *file's* parent.
"""

import base64
import binascii
import json
import struct
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.gltf.schema import ACCESSOR_WIDTHS, COMPONENT_TYPES, check_document
from kinema.errors import KinemaError

READABLE_EXTENSIONS = frozenset(
    {"KHR_texture_transform", "KHR_mesh_quantization", "KHR_lights_punctual", "KHR_materials_unlit", "EXT_texture_webp"}
    # These change how a surface shines, not its base colour or shape.
    | {f"KHR_materials_{look}" for look in ("clearcoat", "emissive_strength", "specular", "ior", "transmission")}
    | {f"KHR_materials_{look}" for look in ("volume", "sheen", "iridescence", "anisotropy", "dispersion", "variants")}
)
LARGEST_ACCESSOR = 64_000_000
"""Values in one accessor; a file that asks for more without bytes behind it is a mistake or an attack."""


class MissingFileError(KinemaError):
    """A file that is not there, apart from other errors because a texture can be done without."""


@dataclass(frozen=True)
class Document:
    """A glTF file: its JSON and the bytes behind it. Nothing is converted, so it can be written back as it was."""

    path: Path
    json: dict[str, Any]
    buffers: tuple[bytes, ...]
    """One for each of json["buffers"]; buffer 0 of a .glb without uri is its binary chunk."""
    images: tuple[bytes, ...] = ()
    """Encoded (PNG, JPEG ...), one for each of json["images"]; empty where the file cannot give it."""

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return self.json.get("nodes", [])


@dataclass(frozen=True)
class GltfBinding:
    """How a Character hangs together with the file it came from."""

    document: Document
    joint_nodes: tuple[int, ...]
    """The file's node of each of our joints; empty for a mesh without rig."""
    T_file_node_rest: Float[np.ndarray, "nodes 4 4"]
    """Global transform of every node in our rest pose (the bind pose), in the file's coordinates and units."""
    vertex_node: Int[np.ndarray, "vertices"]
    """The mesh node that each of our vertices belongs to."""
    vertex_primitive: Int[np.ndarray, "vertices"]
    """Which of that mesh's primitives."""
    vertex_index: Int[np.ndarray, "vertices"]
    """Its place in that primitive's accessors."""
    clip_start_s: tuple[float, ...] = ()
    """Time in the file of frame 0 of each clip [s]; clip k is json["animations"][clip_animation[k]]."""
    clip_animation: tuple[int, ...] = ()
    carried_nodes: tuple[tuple[int, int], ...] = ()
    """(node, joint) of joints of the file that are none of ours: each moves rigidly with that joint of ours."""


def read_document(path: Path) -> Document:
    """Read .glb or .gltf (told apart by content) with all buffers and images."""
    path = Path(path)
    data = _read_bytes(path, path)
    if not data:
        raise KinemaError(f"{path}: is empty")
    binary = b""
    if data[:4] == b"glTF":
        text, binary = _split_glb(path, data)
    else:
        text = data
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        kind = "GLB's JSON" if data[:4] == b"glTF" else "neither GLB nor glTF JSON"
        raise KinemaError(f"{path}: {kind}: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise KinemaError(f"{path}: not glTF, the JSON is no object")
    try:
        check_document(content)
    except KinemaError as error:
        raise KinemaError(f"{path}: {error}") from None
    if not content["asset"]["version"].startswith("2."):
        raise KinemaError(f"{path}: glTF version {content['asset']['version']}, only 2.0 can be read")
    unreadable = sorted(set(content.get("extensionsRequired", ())) - READABLE_EXTENSIONS)
    if unreadable:
        raise KinemaError(f"{path}: needs the glTF extension {', '.join(unreadable)}, which Kinema does not read")
    buffers = _read_buffers(path, content, binary)
    document = Document(path, content, buffers)
    _check_tree(document)
    return Document(path, content, buffers, _read_images(document))


def _read_bytes(path: Path, shown: Path) -> bytes:
    if path.is_dir():
        raise KinemaError(f"{shown}: is a folder, not a file")
    if not path.is_file():
        raise MissingFileError(f"{shown}: no such file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise KinemaError(f"{shown}: cannot be read ({error.strerror})") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _split_glb(path: Path, data: bytes) -> tuple[bytes, bytes]:
    """JSON chunk and binary chunk."""
    if len(data) < 20:
        raise KinemaError(f"{path}: truncated GLB, {len(data)} bytes")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise KinemaError(f"{path}: GLB version {version}, only 2 can be read")
    if length > len(data):
        raise KinemaError(f"{path}: truncated GLB, {len(data)} of {length} bytes")
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + size > length:
            raise KinemaError(f"{path}: GLB chunk at byte {at} runs {at + 8 + size - length} bytes past the end")
        chunks.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    if b"JSON" not in chunks:
        raise KinemaError(f"{path}: GLB without a JSON chunk")
    return chunks[b"JSON"], chunks.get(b"BIN\0", b"")


def _read_uri(path: Path, uri: str) -> bytes:
    """Bytes of a data: URI or of a file in the folder of `path` (or below it, never above)."""
    if uri.startswith("data:"):
        head, _, body = uri.partition(",")
        if not head.endswith(";base64"):
            raise KinemaError(f"{path}: data URI {head[:40]!r} is not base64")
        try:
            return base64.b64decode(unquote(body), validate=True)
        except (binascii.Error, ValueError):
            raise KinemaError(f"{path}: data URI {head[:40]!r} is not valid base64") from None
    name = unquote(uri)
    inside = PurePosixPath(name.replace("\\", "/"))
    if "://" in uri or inside.is_absolute() or ".." in inside.parts or "\0" in name or ":" in inside.parts[:1]:
        raise KinemaError(f"{path}: refers to {uri[:80]!r}, which is not inside its own folder")
    return _read_bytes(path.parent / inside, Path(f"{path} -> {name[:80]}"))


def _read_buffers(path: Path, content: dict[str, Any], binary: bytes) -> tuple[bytes, ...]:
    buffers = []
    for i, buffer in enumerate(content.get("buffers", ())):
        data = _read_uri(path, buffer["uri"]) if "uri" in buffer else (binary if i == 0 else b"")
        if len(data) < buffer["byteLength"]:
            raise KinemaError(f"{path}: buffers[{i}] is truncated, {len(data)} of {buffer['byteLength']} bytes")
        buffers.append(data)
    return tuple(buffers)


def _read_images(document: Document) -> tuple[bytes, ...]:
    images = []
    for image in document.json.get("images", ()):
        if "bufferView" in image:
            images.append(bytes(view_bytes(document, image["bufferView"])))
        elif "uri" in image:
            try:
                images.append(_read_uri(document.path, image["uri"]))
            except MissingFileError:
                images.append(b"")  # a character without its texture is better than none; the reader says so
        else:
            images.append(b"")
    return tuple(images)


def _check_tree(document: Document) -> None:
    """Every node has at most one parent and no node is its own ancestor."""
    parents = node_parents(document)
    state = np.zeros(len(parents), dtype=np.int8)
    for start in range(len(parents)):
        walk = []
        node = start
        while node >= 0 and state[node] == 0:
            state[node] = 1
            walk.append(node)
            node = parents[node]
        if node >= 0 and state[node] == 1:
            raise KinemaError(f"{document.path}: nodes[{node}] is its own ancestor")
        state[walk] = 2


def node_parents(document: Document) -> tuple[int, ...]:
    """Parent of each node, -1 for roots."""
    parents = [-1] * len(document.nodes)
    for i, node in enumerate(document.nodes):
        for child in node.get("children", ()):
            if parents[child] >= 0 and parents[child] != i:
                raise KinemaError(f"{document.path}: nodes[{child}] has two parents, {parents[child]} and {i}")
            parents[child] = i
    return tuple(parents)


def node_order(parents: tuple[int, ...]) -> list[int]:
    """All nodes, parents before children."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    order = list(children.get(-1, ()))
    for node in order:  # grows while it is walked
        order += children.get(node, ())
    return order


def view_bytes(document: Document, index: int) -> memoryview:
    """Bytes of a bufferView."""
    view = document.json["bufferViews"][index]
    buffer = document.buffers[view["buffer"]]
    start = view.get("byteOffset", 0)
    if start + view["byteLength"] > len(buffer):
        raise KinemaError(
            f"{document.path}: bufferViews[{index}] ends at byte {start + view['byteLength']} of {len(buffer)}"
        )
    return memoryview(buffer)[start : start + view["byteLength"]]


def read_accessor(document: Document, index: int, *, kind: str | None = None) -> np.ndarray:
    """Values [count, width] as float64 where they are floats or normalised, as integers otherwise.

    `kind` is what the caller needs ("VEC3", or "VEC3|VEC4"). Floats that are not finite are refused.
    """
    accessor = document.json["accessors"][index]
    where = f"{document.path}: accessors[{index}]"
    if kind is not None and accessor["type"] not in kind.split("|"):
        raise KinemaError(f"{where} has type {accessor['type']}, not {kind.replace('|', ' or ')}")
    count, width = accessor["count"], ACCESSOR_WIDTHS[accessor["type"]]
    dtype = np.dtype(COMPONENT_TYPES[accessor["componentType"]])
    if count * width > LARGEST_ACCESSOR:
        raise KinemaError(f"{where} asks for {count} x {width} values, the limit is {LARGEST_ACCESSOR}")
    if "bufferView" in accessor:
        view = document.json["bufferViews"][accessor["bufferView"]]
        data = view_bytes(document, accessor["bufferView"])
        values = _strided(where, data, accessor.get("byteOffset", 0), view.get("byteStride", 0), dtype, count, width)
    else:
        values = np.zeros((count, width), dtype)
    if "sparse" in accessor:
        values = _with_sparse(document, where, values, accessor["sparse"])
    if dtype.kind == "f":
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            bad = np.argwhere(~np.isfinite(values))
            first = f"element {bad[0, 0]} is {values[tuple(bad[0])]}"
            raise KinemaError(f"{where} holds {len(bad)} values that are not finite, {first}")
    elif accessor.get("normalized", False):
        values = np.maximum(values.astype(np.float64) / np.iinfo(dtype).max, -1.0)
    return values


def _strided(
    where: str, data: memoryview, offset: int, stride: int, dtype: np.dtype, count: int, width: int
) -> np.ndarray:
    # Columns of small matrices are padded to four bytes (only MAT2/MAT3 of bytes or shorts; nothing we read uses them).
    size = dtype.itemsize * width
    stride = stride or size
    if stride < size:
        raise KinemaError(f"{where} has elements of {size} bytes every {stride} bytes")
    needed = offset + (count - 1) * stride + size if count else 0
    if needed > len(data):
        raise KinemaError(f"{where} needs {needed} bytes, its bufferView has {len(data)}")
    if count == 0:
        return np.zeros((0, width), dtype)
    flat = np.frombuffer(data, np.uint8, count=needed - offset, offset=offset)
    rows = np.lib.stride_tricks.as_strided(flat, (count, size), (stride, 1))
    return np.ascontiguousarray(rows).view(dtype)


def _with_sparse(document: Document, where: str, values: np.ndarray, sparse: dict[str, Any]) -> np.ndarray:
    count = sparse["count"]
    if count > len(values):
        raise KinemaError(f"{where}.sparse replaces {count} of {len(values)} elements")
    index_type = np.dtype(COMPONENT_TYPES[sparse["indices"]["componentType"]])
    places, fresh = (
        _strided(
            f"{where}.sparse.{part}",
            view_bytes(document, sparse[part]["bufferView"]),
            sparse[part].get("byteOffset", 0),
            0,
            dtype,
            count,
            width,
        )
        for part, dtype, width in (("indices", index_type, 1), ("values", values.dtype, values.shape[1]))
    )
    if count and int(places.max()) >= len(values):
        raise KinemaError(f"{where}.sparse replaces element {int(places.max())} of {len(values)}")
    result = values.copy()
    result[places[:, 0]] = fresh
    return result
