"""Draw families and what they do: `python docs/motions_sheet.py docs/results/families.png ["fish: swim, coast" ...]`.

A row is a body and a motion: eight moments of a cycle, or of three seconds of an action.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from creatures_sheet import draw
from PIL import Image, ImageDraw

from kinema.create.creatures import creature
from kinema.gait.make import make_motion
from kinema.gait.motions import find_motion
from kinema.rig.kinematics import Rig, forward_kinematics
from kinema.rig.limbs import find_limbs
from kinema.skin import Skin, blend, skin_points

ROWS = (
    "fish: swim, coast", "shark: swim_fast", "dolphin: swim", "manta: swim", "turtle: swim", "snake: slither, rise, coil",
    "eagle: fly, glide, walk", "dragon: fly, walk, roar", "crab: sidle", "dog: walk, gallop, wag, dig, scratch, shake",
    "horse: rear, buck, lie", "human: walk, run, punch, bow, clap, lie",
)  # fmt: skip
MOMENTS, SIZE = 8, 120


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
        posed = replace(character.mesh, vertices=skin_points(blend(skin, rig, T), points).double().numpy())
        tiles.append(draw(posed, yaw_deg=55, elevation_deg=elevation, size=SIZE))
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
