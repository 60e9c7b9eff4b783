"""Make a procedural walk with true stance and write it as GLB and BVH."""

import tempfile
from pathlib import Path

from kinema import Motion, Rig, creature, load, write
from kinema.evaluate.metrics import measure
from kinema.gait.make import make_motion
from kinema.rig.limbs import find_limbs

horse = creature("a brown horse")
assert horse.skeleton is not None
rig = Rig.from_skeleton(horse.skeleton)
motion, label = make_motion(rig, find_limbs(horse), "walk", frames=49, fps=24.0)

found = measure(horse, motion, rig=rig)
print(f"{found.gait}: {found.speed:.2f} leg lengths/s, feet slide {100 * found.slide:.1f} % of that")

with tempfile.TemporaryDirectory() as folder:
    for name in ("horse.glb", "horse.bvh"):
        write(Path(folder) / name, horse, motion, name="walk")
    again = load(Path(folder) / "horse.glb")
    assert again.skeleton is not None
    back = Motion.from_clip(Rig.from_skeleton(again.skeleton), again.clips[0])

assert found.gait == "walk"
assert found.slide < 0.05
assert len(back) == len(motion)
