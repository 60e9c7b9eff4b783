"""The part of glTF 2.0's schema that we read, as one table, checked once so that all later code may index freely."""

import math
from collections.abc import Callable
from typing import Any

from kinema.errors import KinemaError

Check = Callable[[Any, dict[str, Any], str], None]
"""Takes a value, the whole document and the value's JSON path; raises a KinemaError."""

COMPONENT_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
ACCESSOR_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def check_document(document: dict[str, Any]) -> None:
    """Raise a KinemaError for a value of the wrong type or an index out of range, naming its place."""
    _object(_DOCUMENT)(document, document, "")


def _fail(where: str, value: Any, wanted: str) -> None:
    shown = repr(value)
    raise KinemaError(f"{where.lstrip('.')} is {shown if len(shown) < 40 else shown[:37] + '...'}, not {wanted}")


def _text(value: Any, document: dict[str, Any], where: str) -> None:
    if not isinstance(value, str):
        _fail(where, value, "a string")


def _flag(value: Any, document: dict[str, Any], where: str) -> None:
    if not isinstance(value, bool):
        _fail(where, value, "true or false")


def _anything(value: Any, document: dict[str, Any], where: str) -> None:
    pass


def _mapping(value: Any, document: dict[str, Any], where: str) -> None:
    if not isinstance(value, dict):
        _fail(where, value, "an object")


def _number(value: Any, document: dict[str, Any], where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e30 or not math.isfinite(value):
        _fail(where, value, "a finite number")


def _count(value: Any, document: dict[str, Any], where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**40:
        _fail(where, value, "a count")


def _index(of: str) -> Check:
    def check(value: Any, document: dict[str, Any], where: str) -> None:
        items = document.get(of, ())
        size = len(items) if isinstance(items, list) else 0
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
            _fail(where, value, f"one of the {size} {of}")

    return check


def _one_of(*allowed: Any) -> Check:
    def check(value: Any, document: dict[str, Any], where: str) -> None:
        if isinstance(value, bool | dict | list) or value not in allowed:
            _fail(where, value, "one of " + ", ".join(map(str, allowed)))

    return check


def _list(item: Check, size: int | None = None) -> Check:
    def check(value: Any, document: dict[str, Any], where: str) -> None:
        if not isinstance(value, list) or (size is not None and len(value) != size):
            _fail(where, value, "a list" if size is None else f"a list of {size}")
        for i, entry in enumerate(value):
            item(entry, document, f"{where}[{i}]")

    return check


def _map_of(item: Check) -> Check:
    def check(value: Any, document: dict[str, Any], where: str) -> None:
        _mapping(value, document, where)
        for key, entry in value.items():
            item(entry, document, f"{where}.{key}")

    return check


def _object(fields: dict[str, Check]) -> Check:
    """Fields ending in "!" must be there; unknown fields are left to whoever reads them."""
    required = {key[:-1] for key in fields if key.endswith("!")}
    checks = {key.rstrip("!"): check for key, check in fields.items()}

    def check(value: Any, document: dict[str, Any], where: str) -> None:
        _mapping(value, document, where or "the document")
        for key in required:
            if key not in value:
                raise KinemaError(f"{where.lstrip('.') or 'the document'} has no {key}")
        for key, entry in value.items():
            if key in checks:
                checks[key](entry, document, f"{where}.{key}")

    return check


_TEXTURE_INFO = _object(
    {
        "index!": _index("textures"),
        "texCoord": _count,
        "extensions": _object(
            {
                "KHR_texture_transform": _object(
                    {"offset": _list(_number, 2), "rotation": _number, "scale": _list(_number, 2), "texCoord": _count}
                )
            }
        ),
    }
)
_PRIMITIVE = _object(
    {
        "attributes!": _map_of(_index("accessors")),
        "indices": _index("accessors"),
        "material": _index("materials"),
        "mode": _one_of(0, 1, 2, 3, 4, 5, 6),
        "targets": _list(_map_of(_index("accessors"))),
    }
)
_SPARSE = _object(
    {
        "count!": _count,
        "indices!": _object(
            {"bufferView!": _index("bufferViews"), "byteOffset": _count, "componentType!": _one_of(5121, 5123, 5125)}
        ),
        "values!": _object({"bufferView!": _index("bufferViews"), "byteOffset": _count}),
    }
)
_DOCUMENT: dict[str, Check] = {
    "asset!": _object({"version!": _text}),
    "scene": _index("scenes"),
    "extensionsUsed": _list(_text),
    "extensionsRequired": _list(_text),
    "scenes": _list(_object({"nodes": _list(_index("nodes"))})),
    "nodes": _list(
        _object(
            {
                "name": _text,
                "children": _list(_index("nodes")),
                "mesh": _index("meshes"),
                "skin": _index("skins"),
                "matrix": _list(_number, 16),
                "translation": _list(_number, 3),
                "rotation": _list(_number, 4),
                "scale": _list(_number, 3),
                "weights": _list(_number),
            }
        )
    ),
    "meshes": _list(_object({"name": _text, "primitives!": _list(_PRIMITIVE), "weights": _list(_number)})),
    "skins": _list(
        _object(
            {
                "name": _text,
                "joints!": _list(_index("nodes")),
                "skeleton": _index("nodes"),
                "inverseBindMatrices": _index("accessors"),
            }
        )
    ),
    "accessors": _list(
        _object(
            {
                "bufferView": _index("bufferViews"),
                "byteOffset": _count,
                "componentType!": _one_of(*COMPONENT_TYPES),
                "normalized": _flag,
                "count!": _count,
                "type!": _one_of(*ACCESSOR_WIDTHS),
                "sparse": _SPARSE,
            }
        )
    ),
    "bufferViews": _list(
        _object({"buffer!": _index("buffers"), "byteOffset": _count, "byteLength!": _count, "byteStride": _count})
    ),
    "buffers": _list(_object({"uri": _text, "byteLength!": _count})),
    "images": _list(_object({"uri": _text, "bufferView": _index("bufferViews"), "mimeType": _text, "name": _text})),
    "textures": _list(_object({"source": _index("images"), "sampler": _anything})),
    "materials": _list(
        _object(
            {
                "name": _text,
                "pbrMetallicRoughness": _object(
                    {"baseColorFactor": _list(_number, 4), "baseColorTexture": _TEXTURE_INFO}
                ),
            }
        )
    ),
    "animations": _list(
        _object(
            {
                "name": _text,
                "samplers!": _list(
                    _object(
                        {
                            "input!": _index("accessors"),
                            "output!": _index("accessors"),
                            "interpolation": _one_of("LINEAR", "STEP", "CUBICSPLINE"),
                        }
                    )
                ),
                "channels!": _list(
                    _object({"sampler!": _count, "target!": _object({"node": _index("nodes"), "path!": _text})})
                ),
            }
        )
    ),
}
