"""Accessors of a glTF document as arrays: the one place where a file's binary numbers are read."""

from typing import Any

import numpy as np

from kinema.asset.gltf.document import Document, view_bytes
from kinema.asset.gltf.schema import ACCESSOR_WIDTHS, COMPONENT_TYPES
from kinema.errors import KinemaError

BYTES_PER_VALUE = 8
"""All values are kept as 64-bit numbers."""


def accessor_size(document: Document, index: int) -> int:
    """Bytes that the values of an accessor take. A sparse one can ask for any number without bytes behind it."""
    accessor = document.json["accessors"][index]
    return accessor["count"] * ACCESSOR_WIDTHS[accessor["type"]] * BYTES_PER_VALUE


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
    document.budget().check(accessor_size(document, index), f"accessors[{index}] of {count} x {width} values")
    if "bufferView" in accessor:
        view = document.json["bufferViews"][accessor["bufferView"]]
        offset, stride = accessor.get("byteOffset", 0), view.get("byteStride", 0)
        values = _unpack(where, view_bytes(document, accessor["bufferView"]), dtype, count, width, offset, stride)
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


def _unpack(
    where: str, data: memoryview, dtype: np.dtype, count: int, width: int, offset: int, stride: int = 0
) -> np.ndarray:
    """Elements [count, width] that begin every `stride` bytes (0: one behind the other).

    glTF pads columns of MAT2 and MAT3 of bytes or shorts to four bytes; we read no such matrices.
    """
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

    def part(name: str, dtype: np.dtype, width: int) -> np.ndarray:
        data = view_bytes(document, sparse[name]["bufferView"])
        return _unpack(f"{where}.sparse.{name}", data, dtype, count, width, sparse[name].get("byteOffset", 0))

    places = part("indices", np.dtype(COMPONENT_TYPES[sparse["indices"]["componentType"]]), 1)[:, 0]
    if count and int(places.max()) >= len(values):
        raise KinemaError(f"{where}.sparse replaces element {int(places.max())} of {len(values)}")
    result = values.copy()
    result[places] = part("values", values.dtype, values.shape[1])
    return result
