"""Draw families and what they do: `python docs/motions_sheet.py docs/results/families.png ["fish: swim, coast" ...]`.

A row is a body and a motion: eight moments of a cycle, or of three seconds of an action.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.gait.motions import find_motion
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin, blend, skin_points

ROWS = (
    "fish: swim, coast", "shark: swim_fast", "dolphin: swim", "manta: swim", "turtle: swim",
    "snake: slither, rise, coil",
    "eagle: fly, glide, walk", "dragon: fly, walk, roar", "crab: sidle", "dog: walk, gallop, wag, dig, scratch, shake",
    "horse: rear, buck, lie", "human: walk, run, punch, bow, clap, lie",
)  # fmt: skip
MOMENTS, SIZE = 8, 120


def draw(vertices: np.ndarray, faces: np.ndarray, colors: np.ndarray, *, elevation_deg: float) -> np.ndarray:
    """An orthographic picture, far triangles first: hundreds a second, where rays take seconds each."""
    yaw, elevation = np.deg2rad(55), np.deg2rad(elevation_deg)
    out = np.array([np.cos(elevation) * np.sin(yaw), np.sin(elevation), np.cos(elevation) * np.cos(yaw)])
    right = np.array([np.cos(yaw), 0, -np.sin(yaw)])
    up = np.cross(out, right)
    flat = vertices @ np.stack((right, -up, out), -1)
    middle, size = (flat.max(0) + flat.min(0))[:2] / 2, 1.08 * np.ptp(flat[:, :2], axis=0).max()
    corners, depth = ((flat[:, :2] - middle) / size + 0.5)[faces] * SIZE, flat[faces, 2].mean(1)
    edges = vertices[faces[:, 1:]] - vertices[faces[:, :1]]
    normal = np.cross(edges[:, 0], edges[:, 1])
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    light = (out + 0.5 * up - 0.4 * right) / np.linalg.norm(out + 0.5 * up - 0.4 * right)
    shade = colors[faces].mean(1) * (0.45 + 0.6 * np.clip(normal @ light, 0, 1))[:, None]
    rgb = (np.clip(shade, 0, 1) * 255).astype(int)
    picture = Image.new("RGB", (SIZE, SIZE), (237, 237, 237))
    pen = ImageDraw.Draw(picture)
    for k in np.argsort(depth):
        if normal[k] @ out > 0:
            pen.polygon([tuple(corner) for corner in corners[k]], fill=tuple(rgb[k]))
    return np.asarray(picture)


def film(name: str, motion: str) -> np.ndarray:
    """A strip of pictures, each as large as the body at that moment."""
    character, kind = creature(name, detail="low"), find_motion(motion)
    assert character.skeleton is not None
    rig, limbs = Rig.from_skeleton(character.skeleton), find_limbs(character)
    fps = MOMENTS / (kind.gait.period(limbs.leg_length) if kind.gait else 3.0)
    made, _ = make_motion(rig, limbs, kind, frames=MOMENTS, fps=fps)
    skin, points = Skin.from_character(character), torch.from_numpy(character.mesh.vertices).float()
    elevation = 55 if limbs.body in ("fish", "snake") else 12
    tiles = []
    for T in forward_kinematics(rig, made.root_position, made.angles):
        posed = skin_points(blend(skin, rig, T), points).double().numpy()
        tiles.append(draw(posed, character.mesh.faces, character.mesh.colors, elevation_deg=elevation))
    strip = Image.fromarray(np.concatenate(tiles, 1))
    ImageDraw.Draw(strip).text((4, 2), f"{name}: {motion}", fill=(0, 0, 0))
    return np.asarray(strip)


def main(path: Path, rows: list[str]) -> None:
    pairs = [row.split(":") for row in rows or ROWS]
    strips = [film(name.strip(), motion.strip()) for name, motions in pairs for motion in motions.split(",")]
    strips += [np.full_like(strips[0], 237)] * (len(strips) % 2)
    half = len(strips) // 2
    partial = path.with_name(path.name + ".part")
    pages = [np.concatenate(part) for part in (strips[:half], strips[half:])]
    Image.fromarray(np.concatenate(pages, 1)).save(partial, format="PNG", optimize=True)
    partial.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
