"""Twelve samples of the pose space on twelve unlike rigs, to be looked at: `python benchmarks/pose_sheet.py OUT.png`.

The first column is the rest pose. Needs third-party data.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from kinema.create.creatures import creature
from kinema.gait.takes import load_character
from kinema.posespace.pose import Poses
from kinema.posespace.space import PoseSpace
from kinema.render.follow import Viewpoint
from kinema.render.show import FilmOptions, render_character

SHARED = Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))
RIGS = (
    "library/assets/sketchbook_boxman.glb", "library/assets/quat_female_dress.glb", "library/assets/godot_player.glb",
    "assets/khronos_fox.glb", "library/assets/quat_wolf.glb", "clips/velociraptor.npz", "clips/frog.npz",
    "library/assets/quat_chick.glb", "library/assets/quat_piranha.glb", "library/assets/gdquest_beetle_bot.glb",
    "spider", "viper",
)  # fmt: skip
SIZE = 128


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in RIGS:
        character = load_character(SHARED / name) if "/" in name else creature(name)
        space = PoseSpace.of(character, weights=asked.weights)
        motion = Poses.cat([Poses.rest(space.rig), space.sample(12, seed=asked.seed)]).motion(space.rig)
        options = FilmOptions(width=SIZE, height=SIZE, viewpoint=Viewpoint(yaw_deg=50.0), count=6000, shadow=False)
        with tempfile.TemporaryDirectory() as folder:
            render_character(character, motion, Path(folder) / "frames", options=options)
            frames = [np.asarray(Image.open(f).convert("RGB")) for f in sorted(Path(folder).glob("frames/*.png"))]
        rows.append(np.concatenate(frames, 1))
        Image.fromarray(np.concatenate(rows)).save(asked.out)
        print(f"{name}: {len(frames)} pictures", flush=True)


if __name__ == "__main__":
    main()
