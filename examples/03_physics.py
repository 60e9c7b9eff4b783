"""Track a walk that floats 3 cm above the ground: the simulated body walks on the ground."""

import torch

from kinema import Motion, Rig, creature
from kinema.gait.make import make_motion
from kinema.physics.track import Tracking, track
from kinema.rig.limbs import find_limbs

dog = creature("dog")
assert dog.skeleton is not None
rig = Rig.from_skeleton(dog.skeleton)
walk, _ = make_motion(rig, find_limbs(dog), "walk", frames=16, fps=24.0)
floating = Motion(walk.root_position + torch.tensor([0.0, 0.03, 0.0]), walk.angles, walk.fps)

result = track(dog, rig, floating, options=Tracking(iterations=20))
print(f"joints {result.joint_error_deg:.1f} degrees from the target")
print(f"before: {result.before}")
print(f"after:  {result.after}")

assert result.losses[-1] < result.losses[0]
assert result.motion.root_position[:, 1].mean() < floating.root_position[:, 1].mean() - 0.02
