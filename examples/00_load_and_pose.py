"""Load a character, bend its joints, and print where its feet go."""

import math

import torch

from kinema import Motion, Rig, creature
from kinema.skin import Skin, blend, skin_points

fox = creature("a red fox")  # or load("fox.glb")
assert fox.skeleton is not None
rig = Rig.from_skeleton(fox.skeleton)
skin = Skin.from_character(fox)
vertices = torch.from_numpy(fox.mesh.vertices).float()

# One frame at rest, one with the left foreleg swung 30 degrees forward (negative flexion).
motion = Motion.rest(rig, frames=2, fps=24.0)
shoulder = rig.names.index("front_left_upper")
motion.angles[1, shoulder, 0] = -math.radians(30)

posed = skin_points(blend(skin, rig, motion.pose(rig)), vertices)
moved = (posed[1] - posed[0]).norm(dim=-1)
print(f"{int((moved > 1e-4).sum())} of {len(vertices)} vertices moved, at most {100 * float(moved.max()):.1f} cm")

torch.testing.assert_close(posed[0], vertices, atol=1e-5, rtol=0)  # the rest pose is the mesh itself
paw = fox.skeleton.heads[rig.names.index("front_left_foot")]
T_world_joint = motion.pose(rig)[1, rig.names.index("front_left_foot")]
assert float(T_world_joint[2, 3]) > paw[2] + 0.05, "the paw went forward"
