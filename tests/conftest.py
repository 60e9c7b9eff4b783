import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from kinema.asset.character import Character
    from kinema.motion.motion import Motion
    from kinema.rig.kinematics import Rig


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    # pytest-xdist already uses every core.
    torch.set_num_threads(int(os.environ.get("KINEMA_TEST_THREADS", "1")))


def shared_data_path() -> Path:
    """Third-party rigs and motions that lie beside a checkout but are never part of it."""
    return Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    path = shared_data_path()
    if not path.is_dir():
        pytest.skip(f"third-party data is not at {path}")
    return path


# Kinema is imported inside: this file is read before jaxtyping's import hook, which checks the shapes, is in place.
@pytest.fixture(scope="session")
def fox() -> "Character":
    from kinema.create.creatures import creature

    return creature("fox")


@pytest.fixture(scope="session")
def rig(fox: "Character") -> "Rig":
    from kinema.rig.kinematics import Rig

    assert fox.skeleton is not None
    return Rig.from_skeleton(fox.skeleton)


@pytest.fixture(scope="session")
def walk(fox: "Character", rig: "Rig") -> "Motion":
    from kinema.gait.make import make_motion
    from kinema.rig.limbs import find_limbs

    return make_motion(rig, find_limbs(fox), "walk", frames=24, fps=24.0)[0]
