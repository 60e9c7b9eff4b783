"""Small glTF files made in the test: a two-bone arm with every feature switched on or off."""

import base64
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
DRACO = "KHR_draco_mesh_compression"
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


@dataclass
class Builder:
    """Collects accessors in one buffer; `content` is the JSON to be filled by the test."""

    data: bytearray = field(default_factory=bytearray)
    content: dict[str, Any] = field(
        default_factory=lambda: {"asset": {"version": "2.0"}, "bufferViews": [], "accessors": []}
    )

    def view(self, raw: bytes, *, stride: int = 0) -> int:
        while len(self.data) % 4:
            self.data.append(0)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(raw)}
        if stride:
            view["byteStride"] = stride
        self.data += raw
        self.content["bufferViews"].append(view)
        return len(self.content["bufferViews"]) - 1

    def accessor(self, values: Any, dtype: str = "f4", *, normalized: bool = False, padding: int = 0) -> int:
        array = np.asarray(values)
        array = array.reshape(len(array), -1).astype(np.dtype("<" + dtype))
        raw = array.tobytes()
        stride = 0
        if padding:
            stride = array.itemsize * array.shape[1] + padding
            raw = b"".join(row.tobytes() + b"\xab" * padding for row in array)
        accessor = {
            "bufferView": self.view(raw, stride=stride),
            "componentType": COMPONENTS[dtype],
            "count": len(array),
            "type": TYPES[array.shape[1]],
        }
        if normalized:
            accessor["normalized"] = True
        self.content["accessors"].append(accessor)
        return len(self.content["accessors"]) - 1

    def sparse(self, count: int, places: Any, values: Any, *, base: int | None = None) -> int:
        values = np.asarray(values, dtype="<f4")
        accessor: dict[str, Any] = {"componentType": 5126, "count": count, "type": TYPES[values.shape[1]]}
        if base is not None:
            accessor["bufferView"] = self.content["accessors"][base]["bufferView"]
        accessor["sparse"] = {
            "count": len(values),
            "indices": {"bufferView": self.view(np.asarray(places, dtype="<u2").tobytes()), "componentType": 5123},
            "values": {"bufferView": self.view(values.tobytes())},
        }
        self.content["accessors"].append(accessor)
        return len(self.content["accessors"]) - 1

    def glb(self) -> bytes:
        content = {**self.content, "buffers": [{"byteLength": len(self.data)}]}
        return pack_glb(json.dumps(content).encode(), bytes(self.data))

    def write(self, path: Path) -> Path:
        """.glb, or .gltf with the buffer inside, or with a file beside it if the name ends in _external.gltf."""
        if path.suffix == ".glb":
            path.write_bytes(self.glb())
            return path
        buffer: dict[str, Any] = {"byteLength": len(self.data)}
        if path.stem.endswith("_external"):
            path.with_suffix(".bin").write_bytes(self.data)
            buffer["uri"] = path.with_suffix(".bin").name
        else:
            body = base64.b64encode(bytes(self.data)).decode()
            buffer["uri"] = "data:application/octet-stream;base64," + body
        path.write_text(json.dumps({**self.content, "buffers": [buffer]}))
        return path


def pack_glb(text: bytes, binary: bytes) -> bytes:
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def tube(rings: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """A square tube of length 2 along +Y."""
    corners = np.array([[1, 0, 1], [-1, 0, 1], [-1, 0, -1], [1, 0, -1]]) * 0.15
    heights = np.linspace(0, 2, rings)
    vertices = np.concatenate([corners + [0, y, 0] for y in heights])
    faces = []
    for ring in range(rings - 1):
        for k in range(4):
            a, b = 4 * ring + k, 4 * ring + (k + 1) % 4
            faces += [(a, a + 4, b), (b, a + 4, b + 4)]
    faces += [(0, 1, 2), (0, 2, 3)]
    top = 4 * (rings - 1)
    faces += [(top, top + 2, top + 1), (top, top + 3, top + 2)]
    return vertices, np.array(faces)


def arm(*, times: Any = (0.0, 0.5, 1.0), rotations: Any = None, translation: Any = None) -> Builder:
    """Joints `shoulder` at y = 0 and `elbow` at y = 1, smooth weights, and a clip that bends the elbow about z."""
    builder = Builder()
    vertices, faces = tube()
    bend = np.clip(vertices[:, 1] - 0.5, 0, 1)
    joints = np.tile([0, 1, 0, 0], (len(vertices), 1))
    weights = np.stack((1 - bend, bend, 0 * bend, 0 * bend), -1)
    inverse = np.tile(np.eye(4), (2, 1, 1))
    inverse[1, 1, 3] = -1
    attributes = {
        "POSITION": builder.accessor(vertices),
        "JOINTS_0": builder.accessor(joints, "u1"),
        "WEIGHTS_0": builder.accessor(weights),
    }
    builder.content |= {
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"name": "arm", "mesh": 0, "skin": 0},
            {"name": "shoulder", "children": [2]},
            {"name": "elbow", "translation": [0, 1, 0]},
        ],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": builder.accessor(faces.ravel(), "u2")}]}],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": builder.accessor(inverse.transpose(0, 2, 1))}],
    }
    if rotations is None:
        half = np.deg2rad([0, 30, 60]) / 2
        rotations = np.stack((0 * half, 0 * half, np.sin(half), np.cos(half)), -1)
    clock = builder.accessor(times)
    samplers = [{"input": clock, "output": builder.accessor(rotations)}]
    channels = [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}]
    if translation is not None:
        samplers.append({"input": clock, "output": builder.accessor(translation)})
        channels.append({"sampler": 1, "target": {"node": 1, "path": "translation"}})
    builder.content["animations"] = [{"name": "bend", "samplers": samplers, "channels": channels}]
    return builder


def compressed_arm() -> Builder:
    """The arm with positions, joints, weights and indices compressed; their accessors have no bytes of their own."""
    import DracoPy

    builder = arm()
    vertices, faces = tube()
    primitive = builder.content["meshes"][0]["primitives"][0]
    bend = np.clip(vertices[:, 1] - 0.5, 0, 1)
    joints = np.tile([0, 1, 0, 0], (len(vertices), 1)).astype(np.uint8)
    weights = np.stack((1 - bend, bend, 0 * bend, 0 * bend), -1).astype(np.float32)
    data = DracoPy.encode(
        vertices.astype(np.float32),
        faces=faces.astype(np.uint32),
        preserve_order=True,
        quantization_bits=20,
        generic_attributes={1: joints, 2: weights},
    )
    # Draco numbers the positions itself.
    position = next(a["unique_id"] for a in DracoPy.decode(data).attributes if a["attribute_type"] == 0)
    ids = {"POSITION": position, "JOINTS_0": 1, "WEIGHTS_0": 2}
    primitive["extensions"] = {DRACO: {"bufferView": builder.view(data), "attributes": ids}}
    for index in (*primitive["attributes"].values(), primitive["indices"]):
        del builder.content["accessors"][index]["bufferView"]
    builder.content["extensionsRequired"] = builder.content["extensionsUsed"] = [DRACO]
    return builder
