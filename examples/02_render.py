"""Film a character on a checkerboard with a camera that follows it, and take the gradient of the joint angles."""

import numpy as np
import torch

from kinema import Motion, Rig, creature
from kinema.render.follow import Viewpoint
from kinema.render.stage import Stage

cat = creature("a grey cat")
assert cat.skeleton is not None
rig = Rig.from_skeleton(cat.skeleton)
stage = Stage.from_character(cat, rig, count=3000, look="color", rng=np.random.default_rng(0))

motion = Motion.rest(rig, frames=4, fps=8.0)
angles = motion.angles.clone().requires_grad_()
cameras = stage.cameras(
    motion.root_position, Viewpoint(yaw_deg=60, elevation_deg=10, fovy_deg=30), width=128, height=96
)
video = stage.film(Motion(motion.root_position, angles, motion.fps).pose(rig), cameras)

# Which way would the tail have to turn to make the picture darker?
video.mean().backward()
assert angles.grad is not None
print(f"video {tuple(video.shape)}, mean {float(video.detach().mean()):.3f}")

assert video.shape == (4, 3, 96, 128)
assert torch.isfinite(angles.grad).all()
assert angles.grad.abs().sum() > 0
