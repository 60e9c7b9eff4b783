"""Convert a clip from GLB to BVH, NPZ, JSON and MuJoCo's MJCF, and read the same poses back from BVH and NPZ."""

import tempfile
from pathlib import Path

import torch

from kinema import Motion, Rig, creature, load, write
from kinema.export.convert import convert
from kinema.gait.make import make_motion
from kinema.motion.motion import load_motion
from kinema.motion.source import find_motion
from kinema.rig.limbs import find_limbs

wolf = creature("a grey wolf")
assert wolf.skeleton is not None
rig = Rig.from_skeleton(wolf.skeleton)
trot, _ = make_motion(rig, find_limbs(wolf), "trot", frames=25, fps=24.0)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write(folder / "wolf.glb", wolf, trot, name="trot")
    for target in ("wolf.bvh", "wolf.npz", "wolf.json", "wolf.xml"):
        convert(folder / "wolf.glb", folder / target)
    convert(folder / "wolf.glb", folder / "on_the_spot.glb", in_place=True, fps=30.0)
    print({path.name: path.stat().st_size for path in sorted(folder.iterdir())})

    again = load(folder / "wolf.glb")
    file_rig, from_bvh = find_motion(again, str(folder / "wolf.bvh"))
    from_npz = load_motion(folder / "wolf.npz", file_rig)
    spot = load(folder / "on_the_spot.glb").clips[0]


def joints(motion: Motion, of: Rig) -> torch.Tensor:
    """Positions in the order of the wolf's joints; a file may have another."""
    return motion.pose(of)[:, [of.names.index(name) for name in rig.names], :, 3]


# The same joint positions from every file, to a tenth of a millimetre.
torch.testing.assert_close(joints(from_bvh, file_rig), joints(trot, rig), atol=1e-4, rtol=0)
torch.testing.assert_close(joints(from_npz, file_rig), joints(trot, rig), atol=1e-4, rtol=0)
assert spot.fps == 30.0
assert abs(spot.root_position[-1, 2] - spot.root_position[0, 2]) < 0.1, "it stays where it is"
