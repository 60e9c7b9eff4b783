"""glTF 2.0 files as they are: container, buffers and the tree of nodes.

`read_document` gives a `Document`: the JSON, checked, and the bytes it points to. `gltf.character` makes a Character of
it and leaves a `GltfBinding` in `Character.source`, with which an exporter can write a motion back into the same file:

    F = frame⁻¹ ∘ T_world_joint(t) ∘ T_world_joint(rest)⁻¹ ∘ frame      how joint j moved from rest, file coordinates
    G_node(t) = F @ binding.T_file_node_rest[binding.joint_nodes[j]]    what the file's node has to be, globally
    local(t)  = inv(G_parent(t)) @ G_node(t)                            what the node's channels say

where `binding.carried_nodes` move with the joint named there, and all other nodes keep `binding.T_file_node_rest`
relative to their parent in the file. The file's tree can differ from ours (in ours an IK foot is a child of the leg):
G_parent is that of the *file's* parent.
"""

import base64
import binascii
import contextlib
import json
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from jaxtyping import Float, Int

from kinema.asset.gltf.schema import check_document
from kinema.errors import KinemaError, first_line
from kinema.files import Budget, inside_folder
from kinema.geometry.rotations import depth_first

DRACO = "KHR_draco_mesh_compression"
READABLE_EXTENSIONS = frozenset(
    {
        DRACO,
        "KHR_texture_transform",
        "KHR_mesh_quantization",
        "KHR_lights_punctual",
        "KHR_materials_unlit",
        "EXT_texture_webp",
    }
    # These change how a surface shines, not its base colour or shape.
    | {f"KHR_materials_{look}" for look in ("clearcoat", "emissive_strength", "specular", "ior", "transmission")}
    | {f"KHR_materials_{look}" for look in ("volume", "sheen", "iridescence", "anisotropy", "dispersion", "variants")}
)


class MissingFileError(KinemaError):
    """A file is missing. Only a missing texture is not fatal."""


@dataclass(frozen=True)
class Document:
    """A glTF file: its JSON and the bytes behind it. Nothing is converted, so it can be written back as it was."""

    path: Path
    json: dict[str, Any]
    buffers: tuple[bytes, ...]
    """One for each of json["buffers"]; buffer 0 of a .glb without uri is its binary chunk."""
    images: tuple[bytes, ...] = ()
    """Encoded (PNG, JPEG ...), one for each of json["images"]; empty where the file cannot give it."""
    size: int = 0
    """Bytes of the file and of those that it names; 0 for a document that was not read."""

    def budget(self) -> Budget:
        """The memory that may be used to make something of the document."""
        return Budget.of(self.path, size=self.size or sum(map(len, self.buffers)))

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return self.json.get("nodes", [])


@dataclass(frozen=True)
class GltfBinding:
    """The relation of a Character's joints, vertices and clips to those of the glTF file it came from."""

    document: Document
    joint_nodes: tuple[int, ...]
    """The file's node of each of our joints; empty for a mesh without rig."""
    T_file_node_rest: Float[np.ndarray, "nodes 4 4"]
    """Global transform of every node in our rest pose (mostly the bind pose), in the file's coordinates and units."""
    vertex_node: Int[np.ndarray, "vertices"]
    """The mesh node that each of our vertices belongs to."""
    vertex_primitive: Int[np.ndarray, "vertices"]
    """Index of the vertex's primitive in that mesh."""
    vertex_index: Int[np.ndarray, "vertices"]
    """Index of the vertex in that primitive's accessors."""
    clip_start_s: tuple[float, ...] = ()
    """Time in the file of frame 0 of each clip [s]; clip k is json["animations"][clip_animation[k]]."""
    clip_animation: tuple[int, ...] = ()
    carried_nodes: tuple[tuple[int, int], ...] = ()
    """(node, joint) for joints of the file that we dropped: the node moves rigidly with that joint of ours."""


def read_document(path: Path) -> Document:
    """Read .glb or .gltf (told apart by content) with all buffers and images."""
    path = Path(path)
    data = _read_bytes(path, path)
    if not data:
        raise KinemaError(f"{path}: is empty")
    text, binary = _split_glb(path, data) if data[:4] == b"glTF" else (data, b"")
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        kind = "GLB's JSON" if data[:4] == b"glTF" else "neither GLB nor glTF JSON"
        raise KinemaError(f"{path}: {kind}: {first_line(error)}") from None
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
    files: dict[Path, bytes] = {}
    buffers = []
    for i, buffer in enumerate(content.get("buffers", ())):
        buffers.append(_read_uri(path, buffer["uri"], files) if "uri" in buffer else (binary if i == 0 else b""))
        if len(buffers[i]) < buffer["byteLength"]:
            raise KinemaError(f"{path}: buffers[{i}] is truncated, {len(buffers[i])} of {buffer['byteLength']} bytes")
    document = Document(path, content, tuple(buffers))
    parents = node_parents(document)
    rootless = set(range(len(parents))) - set(depth_first(parents))
    if rootless:
        node = min(rootless)
        for _ in parents:  # up into the cycle
            node = parents[node]
        raise KinemaError(f"{path}: nodes[{node}] is its own ancestor")
    images = _read_images(document, files)
    document = replace(document, images=images, size=len(data) + sum(map(len, files.values())))
    primitives = (primitive for mesh in content.get("meshes", ()) for primitive in mesh["primitives"])
    if not any(DRACO in primitive.get("extensions", {}) for primitive in primitives):
        return document
    from kinema.asset.gltf.draco import decompress

    return decompress(document)


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
        end = at + 8 + size
        if end > length:
            raise KinemaError(f"{path}: GLB chunk at byte {at} runs {end - length} bytes past the end")
        chunks.setdefault(kind, data[at + 8 : end])
        at = end
    if b"JSON" not in chunks:
        raise KinemaError(f"{path}: GLB without a JSON chunk")
    return chunks[b"JSON"], chunks.get(b"BIN\0", b"")


def _read_uri(path: Path, uri: str, files: dict[Path, bytes]) -> bytes:
    """Bytes of a data: URI or of a file in the folder of `path` (or below it, never above), which is read only once."""
    if uri.startswith("data:"):
        head, _, body = uri.partition(",")
        if not head.endswith(";base64"):
            raise KinemaError(f"{path}: data URI {head[:40]!r} is not base64")
        try:
            return base64.b64decode(unquote(body), validate=True)
        except (binascii.Error, ValueError):
            raise KinemaError(f"{path}: data URI {head[:40]!r} is not valid base64") from None
    name = unquote(uri).replace("\\", "/")
    if "://" in uri:
        raise KinemaError(f"{path}: refers to {uri[:80]!r}, which is not inside its own folder")
    file = inside_folder(path.parent, name, about=path)
    if file not in files:
        files[file] = _read_bytes(file, Path(f"{path} -> {name[:80]}"))
    return files[file]


def _read_images(document: Document, files: dict[Path, bytes]) -> tuple[bytes, ...]:
    """Encoded images; one whose file is missing is empty, which `inspect` tells, and the character is read without."""
    images, budget = [], document.budget()
    for i, image in enumerate(document.json.get("images", ())):
        data = b""
        if "bufferView" in image:
            view = view_bytes(document, image["bufferView"])
            budget.take(len(view), f"images[{i}]")
            data = bytes(view)
        elif "uri" in image:
            with contextlib.suppress(MissingFileError):
                data = _read_uri(document.path, image["uri"], files)
        images.append(data)
    return tuple(images)


def node_parents(document: Document) -> tuple[int, ...]:
    """Parent of each node, -1 for roots."""
    parents = [-1] * len(document.nodes)
    for i, node in enumerate(document.nodes):
        for child in node.get("children", ()):
            if parents[child] >= 0 and parents[child] != i:
                raise KinemaError(f"{document.path}: nodes[{child}] has two parents, {parents[child]} and {i}")
            parents[child] = i
    return tuple(parents)


def view_bytes(document: Document, index: int) -> memoryview:
    """Bytes of a bufferView."""
    view = document.json["bufferViews"][index]
    buffer, start = document.buffers[view["buffer"]], view.get("byteOffset", 0)
    end = start + view["byteLength"]
    if end > len(buffer):
        raise KinemaError(f"{document.path}: bufferViews[{index}] ends at byte {end} of {len(buffer)}")
    return memoryview(buffer)[start:end]
