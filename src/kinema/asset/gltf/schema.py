"""The part of glTF 2.0's schema that we read, as one table, checked once so that all later code may index freely."""

from collections.abc import Callable
from typing import Any

from kinema.errors import KinemaError, is_text

Leaf = Callable[[Any, dict[str, Any]], str]
"""Takes a value and the whole document; returns what the value should be instead, or "" if it is right."""
Schema = dict | list | tuple | Leaf
"""{field: schema} is an object ("field!" is required, "*" is any field, others are not checked), [schema] a list,
(schema, n) a list of n."""

COMPONENT_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
ACCESSOR_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def check_document(document: dict[str, Any]) -> None:
    """Raise a KinemaError for a value of the wrong type or an index out of range, naming its place."""
    _check(_DOCUMENT, document, document, "")


def _check(schema: Schema, value: Any, document: dict[str, Any], where: str) -> None:
    name = where.lstrip(".") or "the document"
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            _fail(name, value, "an object")
        for key in schema:
            if key.endswith("!") and key[:-1] not in value:
                raise KinemaError(f"{name} has no {key[:-1]}")
        for key, entry in value.items():
            inner = schema.get(key) or schema.get(f"{key}!") or schema.get("*")
            if inner:
                _check(inner, entry, document, f"{where}.{key}")
    elif isinstance(schema, list | tuple):
        if not isinstance(value, list) or (isinstance(schema, tuple) and len(value) != schema[1]):
            _fail(name, value, "a list" if isinstance(schema, list) else f"a list of {schema[1]}")
        for i, entry in enumerate(value):
            _check(schema[0], entry, document, f"{where}[{i}]")
    elif wanted := schema(value, document):
        _fail(name, value, wanted)


def _fail(where: str, value: Any, wanted: str) -> None:
    shown = repr(value)
    raise KinemaError(f"{where} is {shown if len(shown) < 40 else shown[:37] + '...'}, not {wanted}")


def _wanted(wanted: str, right: Callable[[Any], bool]) -> Leaf:
    return lambda value, _: "" if right(value) else wanted


def _index(of: str) -> Leaf:
    def check(value: Any, document: dict[str, Any]) -> str:
        items = document.get(of)
        size = len(items) if isinstance(items, list) else 0
        return "" if type(value) is int and 0 <= value < size else f"one of the {size} {of}"

    return check


def _one_of(*allowed: Any) -> Leaf:
    wanted = "one of " + ", ".join(map(str, allowed))
    return _wanted(wanted, lambda value: not isinstance(value, bool | dict | list) and value in allowed)


_text = _wanted("a string of whole characters", is_text)
_flag = _wanted("true or false", lambda value: isinstance(value, bool))
_number = _wanted("a finite number", lambda value: type(value) in (int, float) and abs(value) <= 1e30)
_count = _wanted("a count", lambda value: type(value) is int and 0 <= value < 2**40)
_accessor, _node, _view = _index("accessors"), _index("nodes"), _index("bufferViews")
_TRANSFORM = {"offset": (_number, 2), "rotation": _number, "scale": (_number, 2), "texCoord": _count}
_EXTENSIONS = {"KHR_texture_transform": _TRANSFORM}
_TEXTURE_INFO = {"index!": _index("textures"), "texCoord": _count, "extensions": _EXTENSIONS}
_PRIMITIVE = {
    "attributes!": {"*": _accessor}, "indices": _accessor, "material": _index("materials"),
    "mode": _one_of(*range(7)), "targets": [{"*": _accessor}],
    "extensions": {"KHR_draco_mesh_compression": {"bufferView!": _view, "attributes!": {"*": _count}}},
}  # fmt: skip
_SPARSE = {
    "count!": _count,
    "indices!": {"bufferView!": _view, "byteOffset": _count, "componentType!": _one_of(5121, 5123, 5125)},
    "values!": {"bufferView!": _view, "byteOffset": _count},
}
_ACCESSOR = {
    "bufferView": _view, "byteOffset": _count, "componentType!": _one_of(*COMPONENT_TYPES), "normalized": _flag,
    "count!": _count, "type!": _one_of(*ACCESSOR_WIDTHS), "sparse": _SPARSE,
}  # fmt: skip
_NODE = {
    "name": _text, "children": [_node], "mesh": _index("meshes"), "skin": _index("skins"), "weights": [_number],
    "matrix": (_number, 16), "translation": (_number, 3), "rotation": (_number, 4), "scale": (_number, 3),
}  # fmt: skip
_SKIN = {"name": _text, "joints!": [_node], "skeleton": _node, "inverseBindMatrices": _accessor}
_INTERPOLATION = _one_of("LINEAR", "STEP", "CUBICSPLINE")
_SAMPLER = {"input!": _accessor, "output!": _accessor, "interpolation": _INTERPOLATION}
_CHANNEL = {"sampler!": _count, "target!": {"node": _node, "path!": _text}}
_SURFACE = {"baseColorFactor": (_number, 4), "baseColorTexture": _TEXTURE_INFO}
_DOCUMENT: Schema = {
    "asset!": {"version!": _text},
    "extensionsUsed": [_text],
    "extensionsRequired": [_text],
    "scene": _index("scenes"),
    "scenes": [{"nodes": [_node]}],
    "nodes": [_NODE],
    "meshes": [{"name": _text, "primitives!": [_PRIMITIVE], "weights": [_number]}],
    "skins": [_SKIN],
    "accessors": [_ACCESSOR],
    "bufferViews": [{"buffer!": _index("buffers"), "byteOffset": _count, "byteLength!": _count, "byteStride": _count}],
    "buffers": [{"uri": _text, "byteLength!": _count}],
    "images": [{"uri": _text, "bufferView": _view, "mimeType": _text, "name": _text}],
    "textures": [{"source": _index("images")}],
    "materials": [{"name": _text, "alphaMode": _text, "pbrMetallicRoughness": _SURFACE}],
    "animations": [{"name": _text, "samplers!": [_SAMPLER], "channels!": [_CHANNEL]}],
}
