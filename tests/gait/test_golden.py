"""All motions on three bodies against stored arrays, so that no change of a row or of the solver goes unnoticed.

After an intended change write the file anew: `python tests/gait/test_golden.py` (with tests/ on PYTHONPATH).
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from gait_bodies import BODIES

from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

GOLDEN = Path(__file__).with_name("golden_motions.npz")


def coordinates(kind: str, name: str) -> np.ndarray:
    """Root position and angles of five frames in a random style."""
    character = BODIES[kind]()
    rig, limbs = Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)
    motion, _ = make_motion(rig, limbs, name, frames=5, fps=3.0, phase=0.3, rng=np.random.default_rng(0))
    return torch.cat((motion.root_position, motion.angles.flatten(1)), 1).numpy()


@pytest.mark.parametrize("kind", list(BODIES))
def test_motions_are_as_they_were(kind):
    with np.load(GOLDEN) as stored:
        names = [key.partition("/")[2] for key in stored.files if key.startswith(f"{kind}/")]
        assert len(names) == 18
        for name in names:
            # Stored in single precision.
            np.testing.assert_allclose(coordinates(kind, name), stored[f"{kind}/{name}"], atol=2e-6, err_msg=name)


if __name__ == "__main__":
    with np.load(GOLDEN) as stored:
        keys = stored.files
    np.savez_compressed(GOLDEN, **{key: coordinates(*key.split("/")).astype(np.float32) for key in keys})
