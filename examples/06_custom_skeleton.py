"""Rig your own mesh with your own joints, given as a JSON file of heads and tails."""

import json
import math
import tempfile
from pathlib import Path

import torch
import trimesh

from kinema import Motion, Rig, load, write
from kinema.rig.weights.bone_heat import rig_character
from kinema.skin import Skin, blend, skin_points

JOINTS = [
    {"name": "base", "parent": None, "head": [0, 0, 0], "tail": [0, 0.5, 0]},
    {"name": "middle", "parent": "base", "head": [0, 0.5, 0], "tail": [0, 1.0, 0]},
    {"name": "tip", "parent": "middle", "head": [0, 1.0, 0], "tail": [0, 1.5, 0]},
]

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    tower = trimesh.creation.cylinder(radius=0.12, height=1.5, sections=24)
    tower = tower.subdivide().subdivide()
    tower.apply_transform(trimesh.transformations.rotation_matrix(math.pi / 2, [1, 0, 0]))
    tower.apply_translation([0, 0.75, 0])
    tower.export(folder / "tower.obj")
    (folder / "joints.json").write_text(json.dumps({"joints": JOINTS}))

    # What `kinema rig tower.obj --skeleton joints.json -o tower.glb` does.
    as_it_stands = {"up": "+y", "facing": "+z", "scale": 1.0, "ground": 0.0}
    mesh = load(folder / "tower.obj", skeleton=folder / "joints.json", **as_it_stands)
    assert mesh.skeleton is not None
    character = rig_character(mesh, mesh.skeleton)
    write(folder / "tower.glb", character)
    again = load(folder / "tower.glb", **as_it_stands)

assert again.skeleton is not None
rig, skin = Rig.from_skeleton(again.skeleton), Skin.from_character(again)
bow = Motion.rest(rig, frames=1, fps=24.0)
bow.angles[0, 1:, 0] = math.radians(40)
vertices = torch.from_numpy(again.mesh.vertices).float()
moved = skin_points(blend(skin, rig, bow.pose(rig)), vertices)[0]
print(f"the top went from y = {float(vertices[:, 1].max()):.2f} to {float(moved[:, 1].max()):.2f} m")

assert set(again.skeleton.names) == {"base", "middle", "tip"}
assert float(moved[:, 1].max()) < 1.4, "it bows"
below = vertices[:, 1] < 0.2
assert float((moved - vertices)[below].norm(dim=-1).max()) < 0.03, "the foot stays"
