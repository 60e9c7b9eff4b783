"""A glTF document under construction: JSON plus one growing buffer, written as .glb or self-contained .gltf."""

import base64
import copy
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.gltf.document import Document
from kinema.errors import KinemaError
from kinema.files import replacing

COMPONENT = {"uint8": 5121, "uint16": 5123, "uint32": 5125, "float32": 5126}
KIND = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
VERTEX_DATA, INDEX_DATA = 34962, 34963
SIGNATURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


class GltfFile:
    """JSON and bytes of a file that is being put together. Indices given out stay valid."""

    def __init__(self, content: dict[str, Any] | None = None) -> None:
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}} if content is None else copy.deepcopy(content)
        self.data = bytearray()

    @staticmethod
    def from_document(document: Document) -> "GltfFile":
        """Everything the document has, with its buffers joined into one and outside images taken in."""
        file = GltfFile(document.json)
        starts = [file.append(buffer) for buffer in document.buffers]
        for view in file.json.get("bufferViews", ()):
            view["byteOffset"] = view.get("byteOffset", 0) + starts[view["buffer"]]
            view["buffer"] = 0
        for image, encoded in zip(file.json.get("images", ()), document.images):
            mime = next((name for start, name in SIGNATURES.items() if (encoded or b"").startswith(start)), None)
            # An image that is none keeps its uri: embedding it would need a type we do not know.
            if "uri" in image and encoded and mime is not None:
                del image["uri"]
                image["bufferView"], image["mimeType"] = file.add_view(encoded), mime
        return file

    def append(self, data: bytes) -> int:
        """Add bytes to the buffer and return where they start."""
        # Eight bytes suit every component type and keep matrices readable in place.
        self.data.extend(bytes(-len(self.data) % 8))
        self.data.extend(data)
        return len(self.data) - len(data)

    def add(self, kind: str, item: dict[str, Any]) -> int:
        """Append to one of the JSON's lists ("nodes", "meshes" ...) and return the index."""
        self.json.setdefault(kind, []).append(item)
        return len(self.json[kind]) - 1

    def add_view(self, data: bytes, *, target: int | None = None) -> int:
        view = {"buffer": 0, "byteOffset": self.append(data), "byteLength": len(data)}
        return self.add("bufferViews", view if target is None else {**view, "target": target})

    def add_accessor(
        self, values: np.ndarray, *, target: int | None = None, normalized: bool = False, bounds: bool = False
    ) -> int:
        """Values [count] or [count, width] of uint8, uint16, uint32 or float32."""
        values = np.ascontiguousarray(values)
        width = 1 if values.ndim == 1 else values.shape[1]
        kind = {"componentType": COMPONENT[values.dtype.name], "count": len(values), "type": KIND[width]}
        accessor = {"bufferView": self.add_view(values.tobytes(), target=target), **kind}
        if normalized:
            accessor["normalized"] = True
        if bounds:
            # The shortest decimal of the double reads back as the very same float32.
            flat = values.reshape(len(values), width).astype(np.float64)
            accessor["min"], accessor["max"] = flat.min(0).tolist(), flat.max(0).tolist()
        return self.add("accessors", accessor)

    def document(self, path: Path) -> Document:
        """As if it had been read from `path`; images are left as they are inside the buffer."""
        return Document(path, self.json, (bytes(self.data),) if self.data else (), ())

    def write(self, path: Path) -> None:
        """Write .gltf with the buffer as a data URI, any other suffix as GLB. The file appears whole or not at all."""
        content = {key: value for key, value in self.json.items() if value != []}
        content.pop("buffers", None)
        data = bytes(self.data) + bytes(-len(self.data) % 4)
        if data:
            inside = {"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}
            content["buffers"] = [{"byteLength": len(data), **(inside if path.suffix.lower() == ".gltf" else {})}]
        try:
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except ValueError as error:
            raise KinemaError(f"{path}: cannot be written as glTF ({error})") from None
        if path.suffix.lower() != ".gltf":
            text += b" " * (-len(text) % 4)
            chunks = struct.pack("<I4s", len(text), b"JSON") + text
            if data:
                chunks += struct.pack("<I4s", len(data), b"BIN\0") + data
            text = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
        with replacing(path) as partial:
            partial.write_bytes(text)


def drop_animations(file: GltfFile) -> None:
    """Take out all animations, and the bytes that only they used."""
    removed = file.json.pop("animations", [])
    # Extensions may name accessors in ways that we do not know: then the bytes stay.
    if not any(animation["samplers"] for animation in removed) or _mentions_unknown(file.json):
        return
    # Nodes may share a mesh, so two slots may be one place, which is renumbered only once.
    slots = {(id(holder), key): (holder, key) for holder, key in _accessor_slots(file.json)}.values()
    kept = sorted({holder[key] for holder, key in slots})
    file.json["accessors"] = [file.json["accessors"][old] for old in kept]
    places = {old: new for new, old in enumerate(kept)}
    for holder, key in slots:
        holder[key] = places[holder[key]]
    _drop_views(file)


def _mentions_unknown(content: dict[str, Any]) -> bool:
    looks = {"KHR_texture_transform", "KHR_lights_punctual", "KHR_mesh_quantization"}
    return any(not (one in looks or one.startswith("KHR_materials_")) for one in content.get("extensionsUsed", ()))


def _accessor_slots(content: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every (object, key) outside animations that holds the index of an accessor."""
    primitives = [primitive for mesh in content.get("meshes", ()) for primitive in mesh["primitives"]]
    held = [holder for one in primitives for holder in (one["attributes"], *one.get("targets", ()))]
    slots = [(holder, key) for holder in held for key in holder]
    slots += [(primitive, "indices") for primitive in primitives if "indices" in primitive]
    return slots + [(skin, key) for skin in content.get("skins", ()) for key in skin if key == "inverseBindMatrices"]


def _drop_views(file: GltfFile) -> None:
    """Keep the bufferViews that accessors and images use, and close up the buffer."""
    accessors = file.json.get("accessors", ())
    sparse = [one["sparse"][part] for one in accessors if "sparse" in one for part in ("indices", "values")]
    holders = [one for one in (*file.json.get("images", ()), *accessors, *sparse) if "bufferView" in one]
    views, data = file.json.get("bufferViews", []), bytes(file.data)
    file.data, file.json["bufferViews"] = bytearray(), []
    places = {}
    for old in sorted({holder["bufferView"] for holder in holders}):
        start = views[old]["byteOffset"]
        moved = file.append(data[start : start + views[old]["byteLength"]])
        places[old] = file.add("bufferViews", {**views[old], "byteOffset": moved})
    for holder in holders:
        holder["bufferView"] = places[holder["bufferView"]]
