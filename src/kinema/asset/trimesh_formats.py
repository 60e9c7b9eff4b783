"""OBJ, PLY, STL and OFF through trimesh, in the file's coordinates."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError

LARGEST_FILE = 1_500_000_000
"""Bytes of a file; trimesh needs several times as much memory."""


def read_trimesh(path: Path) -> Character:
    """The file's triangles with colours and texture; vertices in the file's order, except for STL's, which repeat."""
    import trimesh

    if path.stat().st_size > LARGEST_FILE:
        raise KinemaError(f"{path}: {path.stat().st_size / 1e9:.1f} GB are more than can be read")
    try:
        loaded = trimesh.load(path, process=False)
    except Exception as error:  # a third-party parser on a broken file raises anything
        raise KinemaError(f"{path}: not a readable {path.suffix[1:].upper()} file ({_reason(error)})") from None
    parts = loaded.dump() if isinstance(loaded, trimesh.Scene) else [loaded]
    parts = [part for part in parts if isinstance(part, trimesh.Trimesh) and len(part.faces)]
    if not parts:
        raise KinemaError(f"{path}: has no triangles")
    changes = ()
    if path.suffix.lower() == ".stl":
        before = sum(len(part.vertices) for part in parts)
        for part in parts:
            part.merge_vertices()
        after = sum(len(part.vertices) for part in parts)
        changes = (f"merged {before} corners of triangles into {after} vertices",)
    return Character(path.stem, _merge(path, parts), changes=changes)


def _merge(path: Path, parts: list[Any]) -> Mesh:
    vertices = np.concatenate([np.asarray(part.vertices, dtype=np.float64) for part in parts])
    if not np.isfinite(vertices).all():
        raise KinemaError(f"{path}: vertex {int(np.argmax(~np.isfinite(vertices).all(1)))} is not finite")
    far = np.abs(vertices).max(1)
    if far.max() > 1e15:
        raise KinemaError(f"{path}: vertex {int(far.argmax())} lies {far.max():g} units from the origin")
    faces, colors, uvs, face_texture = [], [], [], []
    textures: list[UInt8[np.ndarray, "_ _ 4"]] = []
    for part, start in zip(parts, np.cumsum([0, *(len(part.vertices) for part in parts)])):
        index = np.asarray(part.faces, dtype=np.int64)
        if index.min() < 0 or index.max() >= len(part.vertices):
            bad = int(index.min() if index.min() < 0 else index.max())
            raise KinemaError(f"{path}: a triangle uses vertex {bad} of {len(part.vertices)}")
        faces.append(index + start)
        image, uv = _texture(path, part)
        colors.append(_colors(part, textured=image is not None))
        uvs.append(uv if uv is not None else np.zeros((len(part.vertices), 2)))
        face_texture.append(np.full(len(index), len(textures) if image is not None else -1))
        if image is not None:
            textures.append(image)
    mesh = vertices, np.concatenate(faces), np.concatenate(colors)
    return Mesh(*mesh, np.concatenate(uvs), tuple(textures), np.concatenate(face_texture)) if textures else Mesh(*mesh)


def _texture(path: Path, part: Any) -> tuple[UInt8[np.ndarray, "_ _ 4"] | None, Float[np.ndarray, "_ 2"] | None]:
    uv, material = getattr(part.visual, "uv", None), getattr(part.visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if uv is None or image is None or len(uv) != len(part.vertices) or not np.isfinite(uv).all():
        return None, None
    flipped = np.asarray(uv, dtype=np.float64)[:, :2] * (1, -1) + (0, 1)  # these formats count from the bottom
    try:
        return np.asarray(image.convert("RGBA")), flipped
    except Exception as error:  # images are decoded only here, and a broken one raises anything
        raise KinemaError(f"{path}: its texture cannot be read ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:100] if str(error) else type(error).__name__


def _colors(part: Any, *, textured: bool) -> Float[np.ndarray, "_ 3"]:
    """sRGB per vertex: its own colour, the mean of its faces', or the material's."""
    count = len(part.vertices)
    if getattr(part.visual, "kind", None) in ("vertex", "face"):
        rgba = np.asarray(part.visual.vertex_colors, dtype=np.float64)
        if rgba.shape[0] == count:
            return rgba[:, :3] / 255
    main = None if textured else getattr(getattr(part.visual, "material", None), "main_color", None)
    if main is None:
        return np.full((count, 3), 1.0 if textured else 0.7)
    return np.tile(np.asarray(main, dtype=np.float64)[:3] / 255, (count, 1))
