"""Primitives that Google's Draco has compressed (KHR_draco_mesh_compression), as plain accessors.

The decoder runs in a process of its own with limits (`draco_script`): a few bytes can make it ask for gigabytes.
"""

import copy
import io
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.gltf.accessors import accessor_size
from kinema.asset.gltf.document import DRACO, Document, view_bytes
from kinema.asset.gltf.schema import ACCESSOR_WIDTHS, COMPONENT_TYPES
from kinema.errors import KinemaError

SCRIPT = Path(__file__).with_name("draco_script.py")
OWN_MEMORY, MEMORY_PER_BYTE, SECONDS = 1 << 29, 4, 60
"""What the decoder may take: bytes for Python itself, bytes for each of the values to be decoded, processor time."""


def decompress(document: Document) -> Document:
    """The document without compression: decoded values in a buffer of their own, so that all later code is the same."""
    content, data, budget = copy.deepcopy(document.json), bytearray(), document.budget()
    views, packed, places, taken = content.setdefault("bufferViews", []), [], [], 0
    for m, mesh in enumerate(content.get("meshes", ())):
        for i, primitive in enumerate(mesh["primitives"]):
            how = primitive.get("extensions", {}).pop(DRACO, None)
            if how is None:
                continue
            where = f"meshes[{m}].primitives[{i}]"
            unknown = sorted(how["attributes"].keys() - primitive["attributes"].keys())
            if unknown:
                raise KinemaError(f"{document.path}: {where} has {unknown[0][:40]} compressed and no accessor for it")
            # Accessor of each of the decoder's arrays.
            wanted = {primitive["attributes"][name]: str(key) for name, key in how["attributes"].items()}
            wanted |= {primitive["indices"]: "faces"} if "indices" in primitive else {}
            size = 2 * sum(accessor_size(document, index) for index in wanted)
            budget.take(size, where)
            taken += size
            packed.append(bytes(view_bytes(document, how["bufferView"])))
            places.append((where, wanted))
    decoded = _decode(document, packed, [where for where, _ in places], taken)
    for number, (where, wanted) in enumerate(places):
        for index, name in wanted.items():
            raw = _fitting(document, index, decoded.get(f"{number}/{name}"), where)
            views.append({"buffer": len(document.buffers), "byteOffset": len(data), "byteLength": len(raw)})
            content["accessors"][index] |= {"bufferView": len(views) - 1, "byteOffset": 0}
            data += raw + bytes(-len(raw) % 4)
    for key in ("extensionsUsed", "extensionsRequired"):
        if key in content:
            content[key] = [name for name in content[key] if name != DRACO]
    content.setdefault("buffers", []).append({"byteLength": len(data)})
    return replace(document, json=content, buffers=(*document.buffers, bytes(data)))


def _decode(document: Document, packed: list[bytes], wheres: list[str], taken: int) -> dict[str, np.ndarray]:
    """Arrays of all primitives by "NUMBER/faces" and "NUMBER/ID of the attribute"."""
    if find_spec("DracoPy") is None:
        raise KinemaError(f"{document.path}: {wheres[0]} is compressed by Draco: pip install 'kinema[compressed]'")
    command = [sys.executable, "-P", str(SCRIPT), str(OWN_MEMORY + MEMORY_PER_BYTE * taken), str(SECONDS)]
    sent = b"".join(len(part).to_bytes(8, "little") + part for part in packed)
    done = subprocess.run(command, input=sent, capture_output=True)
    if done.returncode:
        number, _, reason = done.stderr.decode(errors="replace").strip().partition(" ")
        if not number.isdigit():  # a crash, or the limits
            number, reason = "0", f"the decoder ended with code {done.returncode}"
        raise KinemaError(f"{document.path}: {wheres[int(number)]} cannot be decompressed ({reason[:120]})")
    with np.load(io.BytesIO(done.stdout), allow_pickle=False) as arrays:
        return dict(arrays)


def _fitting(document: Document, index: int, array: Any, where: str) -> bytes:
    """Decoded values as the bytes that the accessor describes."""
    accessor = document.json["accessors"][index]
    shape = (accessor["count"], ACCESSOR_WIDTHS[accessor["type"]])
    if array is None or np.size(array) != shape[0] * shape[1]:
        held = "nothing" if array is None else f"{np.size(array)} values"
        raise KinemaError(f"{document.path}: {where} has {held} compressed for accessors[{index}] of {shape}")
    return np.ascontiguousarray(array, dtype=COMPONENT_TYPES[accessor["componentType"]]).tobytes()
