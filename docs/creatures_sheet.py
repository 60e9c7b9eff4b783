"""Draw the built-in creatures side by side: `python docs/creatures_sheet.py docs/results/creatures.png [words ...]`.

All species get one picture each, named ones two (side and front), smaller ones if they are more than four.
"""

import sys
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image, ImageDraw

from kinema.asset.character import Mesh
from kinema.create.creatures import creature, species


def draw(mesh: Mesh, *, yaw_deg: float, elevation_deg: float, size: int) -> np.ndarray:
    """An orthographic picture by ray casting, lit from the upper left."""
    yaw, elevation = np.deg2rad(yaw_deg), np.deg2rad(elevation_deg)
    out = np.array([np.cos(elevation) * np.sin(yaw), np.sin(elevation), np.cos(elevation) * np.cos(yaw)])
    right = np.array([np.cos(yaw), 0, -np.sin(yaw)])
    up = np.cross(out, right)
    flat = mesh.vertices @ np.stack((right, up, out), -1)
    middle, half = (flat.max(0) + flat.min(0)) / 2, 0.54 * np.ptp(flat[:, :2], axis=0).max()
    at = (np.arange(size) + 0.5) / size * 2 - 1
    u, v = np.meshgrid(at * half + middle[0], -at * half + middle[1])
    origins = u.reshape(-1, 1) * right + v.reshape(-1, 1) * up + (flat[:, 2].max() + 1) * out
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    triangle, ray, place = solid.ray.intersects_id(
        origins, np.tile(-out, (len(origins), 1)), multiple_hits=False, return_locations=True
    )
    share = trimesh.triangles.points_to_barycentric(solid.triangles[triangle], place)
    normal = np.einsum("nk,nkc->nc", share, solid.vertex_normals[mesh.faces[triangle]])
    color = np.einsum("nk,nkc->nc", share, mesh.colors[mesh.faces[triangle]])
    light = (out + 0.5 * up - 0.4 * right) / np.linalg.norm(out + 0.5 * up - 0.4 * right)
    image = np.full((size * size, 3), 0.93)
    image[ray] = np.clip(color * (0.45 + 0.6 * np.clip(normal @ light, 0, 1))[:, None], 0, 1)
    return (image.reshape(size, size, 3) * 255).astype(np.uint8)


def main(path: Path, names: list[str]) -> None:
    views = [(75, 8), (20, 14)] if names else [(50, 12)]
    size, columns = (400, 2) if 0 < len(names) <= 4 else (200, 4 if names else 7)
    tiles = []
    for name in names or [entry.name for entry in species()]:
        mesh = creature(name).mesh
        pictures = [draw(mesh, yaw_deg=yaw, elevation_deg=elevation, size=size) for yaw, elevation in views]
        tile = Image.fromarray(np.concatenate(pictures, 1))
        ImageDraw.Draw(tile).text((6, 4), name, fill=(0, 0, 0))
        tiles.append(np.asarray(tile))
    tiles += [np.full_like(tiles[0], 237)] * (-len(tiles) % columns)
    rows = [np.concatenate(tiles[i : i + columns], 1) for i in range(0, len(tiles), columns)]
    partial = path.with_name(path.name + ".part")
    Image.fromarray(np.concatenate(rows)).save(partial, format="PNG", optimize=True)
    partial.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
