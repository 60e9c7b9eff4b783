"""OBJ, PLY, STL and OFF through trimesh, in the file's coordinates."""

import io
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from kinema.asset.character import Character, Mesh
from kinema.asset.images import pixels
from kinema.errors import KinemaError, first_line
from kinema.files import Budget, inside_folder

PARSED = 20
"""Memory that trimesh needs for each byte of a file."""
LARGEST_COORDINATE = 1e15
LONGEST_HEADER = 1 << 16
MOST_MATERIALS = 1000
"""Of an OBJ: trimesh goes through all vertices, and all names before it, for each."""
COUNTS = {
    ".ply": re.compile(rb"^\s*element\s+\S*\s*(.*?)\s*$", re.MULTILINE),
    ".off": re.compile(rb"\AC?OFF\s+(\S+)\s+(?=\S)", re.MULTILINE),
}
"""Where the headers of these formats count what follows."""


def read_trimesh(path: Path) -> Character:
    """The file's triangles with colours and texture; vertices in the file's order, except for STL's, which repeat."""
    import trimesh

    # Without a handler, Python prints trimesh's warnings about missing textures, with tracebacks.
    logging.getLogger("trimesh").addHandler(logging.NullHandler())
    budget, suffix, beside = Budget.of(path), path.suffix.lower(), Beside(path)
    resolver: Any = beside  # trimesh asks for a Mapping and uses `get`
    budget.take(PARSED * path.stat().st_size, "a file of this size")
    data = path.read_bytes()
    _check_counts(path, suffix, data)
    try:
        loaded = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:], resolver=resolver, process=False)
    except Exception as error:  # a third-party parser on a broken file raises anything
        raise KinemaError(f"{path}: not a readable {suffix[1:].upper()} file ({first_line(error)})") from None
    if beside.refused is not None:
        raise beside.refused
    budget.grow(sum(map(len, beside.data.values())))
    # These formats place nothing anew: a scene's meshes stand where they are. Scene.dump would decode the textures.
    parts = [part for part in loaded.geometry.values() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
    if not parts:
        raise KinemaError(f"{path}: has no triangles")
    changes = ()
    if suffix == ".stl":
        before = sum(len(part.vertices) for part in parts)
        for part in parts:
            part.merge_vertices()
        after = sum(len(part.vertices) for part in parts)
        changes = (f"merged {before} corners of triangles into {after} vertices",)
    return Character(path.stem, _merge(path, parts, budget), changes=changes)


class Beside:
    """The files that a model may name (materials, textures): those in its own folder; for trimesh, which asks by name.

    trimesh swallows every exception on the way, so the first refusal is kept for the caller.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.file_name = path, path.name
        self.refused: KinemaError | None = None
        self.data: dict[str, bytes] = {}

    def get(self, name: str) -> bytes:
        """Content of a file; a link that leads out of the folder is refused like a name that does."""
        try:
            file = inside_folder(self.path.parent, name.strip().replace("\\", "/"), about=self.path)
        except KinemaError as error:
            self.refused = self.refused or error
            raise
        if name not in self.data:
            if not file.is_file():
                raise FileNotFoundError(name)
            self.data[name] = file.read_bytes()
        return self.data[name]

    __getitem__ = get


def _check_counts(path: Path, suffix: str, data: bytes) -> None:
    """Refuse a header that counts more than the file has bytes, before someone makes room for it; and materials that
    trimesh would be busy with for minutes."""
    if suffix == ".obj" and (count := len(set(re.findall(rb"usemtl\s+([^\r\n]*)", data)))) > MOST_MATERIALS:
        raise KinemaError(f"{path}: has {count} materials; at most {MOST_MATERIALS} can be read")
    if suffix not in COUNTS:
        return
    header = data[:LONGEST_HEADER].partition(b"end_header")[0]
    header = re.sub(rb"#[^\n]*", b"", header) if suffix == ".off" else header  # comments
    for count in COUNTS[suffix].findall(header):
        if not count.isdigit() or len(count) > 15 or int(count) > len(data):
            shown = count.decode("utf-8", errors="replace")[:40]
            raise KinemaError(f"{path}: its header counts {shown!r} elements in {len(data)} bytes")


def _merge(path: Path, parts: list[Any], budget: Budget) -> Mesh:
    for part in parts:
        if part.vertices.shape[1:] != (3,) or part.faces.shape[1:] != (3,):
            raise KinemaError(f"{path}: has vertices of {part.vertices.shape[-1]} coordinates, not 3")
    vertices = np.concatenate([np.asarray(part.vertices, dtype=np.float64) for part in parts])
    if not np.isfinite(vertices).all():
        raise KinemaError(f"{path}: vertex {int(np.argmax(~np.isfinite(vertices).all(1)))} is not finite")
    far = np.abs(vertices).max(1)
    if far.max() > LARGEST_COORDINATE:
        raise KinemaError(f"{path}: vertex {int(far.argmax())} lies {far.max():g} units from the origin")
    faces, colors, uvs, face_texture = [], [], [], []
    textures: list[UInt8[np.ndarray, "_ _ 4"]] = []
    for part, start in zip(parts, np.cumsum([0, *(len(part.vertices) for part in parts)])):
        index = np.asarray(part.faces, dtype=np.int64)
        if index.min() < 0 or index.max() >= len(part.vertices):
            bad = int(index.min() if index.min() < 0 else index.max())
            raise KinemaError(f"{path}: a triangle uses vertex {bad} of {len(part.vertices)}")
        faces.append(index + start)
        image, uv = _texture(part, budget)
        colors.append(_colors(part, textured=image is not None))
        uvs.append(uv if uv is not None else np.zeros((len(part.vertices), 2)))
        face_texture.append(np.full(len(index), len(textures) if image is not None else -1))
        if image is not None:
            textures.append(image)
    mesh = vertices, np.concatenate(faces), np.concatenate(colors)
    return Mesh(*mesh, np.concatenate(uvs), tuple(textures), np.concatenate(face_texture)) if textures else Mesh(*mesh)


def _texture(part: Any, budget: Budget) -> tuple[UInt8[np.ndarray, "_ _ 4"] | None, Float[np.ndarray, "_ 2"] | None]:
    uv, material = getattr(part.visual, "uv", None), getattr(part.visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if uv is None or image is None or len(uv) != len(part.vertices) or not np.isfinite(uv).all():
        return None, None
    flipped = np.asarray(uv, dtype=np.float64)[:, :2] * (1, -1) + (0, 1)  # these formats count from the bottom
    # trimesh has looked only at the image's header; it is decoded here.
    return pixels(image, "its texture", budget), flipped


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
