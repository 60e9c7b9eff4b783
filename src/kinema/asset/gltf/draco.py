"""KHR_draco_mesh_compression: primitives that Google's Draco has compressed, as plain accessors."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from kinema.asset.gltf.accessors import accessor_size
from kinema.asset.gltf.document import DRACO, Document, view_bytes
from kinema.asset.gltf.schema import ACCESSOR_WIDTHS, COMPONENT_TYPES
from kinema.errors import KinemaError


def decompress(document: Document) -> Document:
    """The document without compression: decoded values in a buffer of their own, so that all later code is the same."""
    content, data, budget = copy.deepcopy(document.json), bytearray(), document.budget()
    views = content.setdefault("bufferViews", [])
    for m, mesh in enumerate(content.get("meshes", ())):
        for i, primitive in enumerate(mesh["primitives"]):
            packed = primitive.get("extensions", {}).pop(DRACO, None)
            if packed is None:
                continue
            where = f"meshes[{m}].primitives[{i}]"
            indices = [primitive["indices"]] if "indices" in primitive else []
            unknown = sorted(packed["attributes"].keys() - primitive["attributes"].keys())
            if unknown:
                raise KinemaError(f"{document.path}: {where} has {unknown[0][:40]} compressed and no accessor for it")
            accessors = [*(primitive["attributes"][name] for name in packed["attributes"]), *indices]
            budget.take(2 * sum(accessor_size(document, index) for index in accessors), where)
            decoded = _decode(document, packed["bufferView"], where)
            found = {attribute["unique_id"]: attribute["data"] for attribute in decoded.attributes}
            values = {primitive["attributes"][name]: found.get(key) for name, key in packed["attributes"].items()}
            values |= {index: getattr(decoded, "faces", None) for index in indices}
            for index, array in values.items():
                raw = _fitting(document, index, array, where)
                views.append({"buffer": len(document.buffers), "byteOffset": len(data), "byteLength": len(raw)})
                content["accessors"][index] |= {"bufferView": len(views) - 1, "byteOffset": 0}
                data += raw + bytes(-len(raw) % 4)
    for key in ("extensionsUsed", "extensionsRequired"):
        if key in content:
            content[key] = [name for name in content[key] if name != DRACO]
    content.setdefault("buffers", []).append({"byteLength": len(data)})
    return replace(document, json=content, buffers=(*document.buffers, bytes(data)))


def _decode(document: Document, view: int, where: str) -> Any:
    try:
        import DracoPy
    except ImportError:
        needed = "is compressed by Draco: pip install 'kinema[compressed]'"
        raise KinemaError(f"{document.path}: {where} {needed}") from None
    try:
        return DracoPy.decode(bytes(view_bytes(document, view)))
    except KinemaError:
        raise
    except Exception as error:  # a third-party decoder on broken bytes raises anything
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise KinemaError(f"{document.path}: {where} cannot be decompressed ({reason})") from None


def _fitting(document: Document, index: int, array: Any, where: str) -> bytes:
    """Decoded values as the bytes that the accessor describes."""
    accessor = document.json["accessors"][index]
    shape = (accessor["count"], ACCESSOR_WIDTHS[accessor["type"]])
    if array is None or np.size(array) != shape[0] * shape[1]:
        held = "nothing" if array is None else f"{np.size(array)} values"
        raise KinemaError(f"{document.path}: {where} has {held} compressed for accessors[{index}] of {shape}")
    return np.ascontiguousarray(array, dtype=COMPONENT_TYPES[accessor["componentType"]]).tobytes()
