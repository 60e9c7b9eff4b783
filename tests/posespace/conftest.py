from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kinema.asset.character import Character
    from kinema.posespace.pose import Poses
    from kinema.posespace.space import PoseSpace
    from kinema.rig.kinematics import Rig


@pytest.fixture(scope="session")
def toy_weights(tmp_path_factory: pytest.TempPathFactory, fox: "Character") -> Path:
    """A network of the real class at a toy size with random weights, and a small output so that it bends the flow."""
    import torch

    from kinema.posespace.body import Body
    from kinema.posespace.model import PoseModel
    from kinema.posespace.weights import save_weights

    generator = torch.Generator().manual_seed(0)
    model = PoseModel(width=32, layers=2, heads=2, generator=generator)
    for layer in (model.values_out, model.final, *(block.modulation for block in model.blocks)):
        torch.nn.init.normal_(layer.weight, std=0.05, generator=generator)
    path = tmp_path_factory.mktemp("weights") / "toy.safetensors"
    save_weights(path, model, [Body.of(fox)] * 2, note={})
    return path


@pytest.fixture(scope="session")
def space(fox: "Character", toy_weights: Path) -> "PoseSpace":
    from kinema.posespace.space import PoseSpace

    return PoseSpace.of(fox, weights=toy_weights)


@pytest.fixture(scope="session")
def steps(fox: "Character", rig: "Rig", walk: object) -> "Poses":
    """Poses of a walk."""
    from kinema.motion.motion import Motion
    from kinema.posespace.pose import Poses

    assert isinstance(walk, Motion)
    return Poses.of_motion(rig, walk)
