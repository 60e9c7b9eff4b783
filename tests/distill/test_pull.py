"""The pull towards the pose space: what it costs, where it goes, what it leaves alone, and a run that uses it."""

from pathlib import Path

import pytest
import torch

from kinema.asset.character import Character
from kinema.distill.pull import EVERY, WEIGHT, PosePull
from kinema.errors import KinemaError
from kinema.geometry.transforms import rotation_matrix
from kinema.job.folder import run
from kinema.motion.motion import Motion
from kinema.posespace.space import PoseSpace
from kinema.rig.kinematics import Rig, local_rotations
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def pull(fox: Character) -> PosePull:
    return PosePull.of(PoseSpace.of(fox), find_limbs(fox))


def test_it_costs_the_squared_angle_to_what_the_space_wants(
    pull: PosePull, rig: Rig, walk: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = local_rotations(rig, walk.angles)
    turned = rotation_matrix(torch.tensor([0.0, 0.1, 0.0])) @ own
    monkeypatch.setattr(PosePull, "rather", lambda *_: turned)
    # Every soft joint is 0.1 rad away: θ² of each, to the order of θ⁴ / 12.
    expected = EVERY * WEIGHT * len(pull.joints) * 0.1**2
    assert float(pull.energy(walk)) == pytest.approx(expected, rel=1e-3)
    monkeypatch.setattr(PosePull, "rather", lambda *_: own)
    assert float(pull.energy(walk)) == pytest.approx(0.0, abs=1e-9)


def test_legs_are_left_alone_and_a_step_downhill_is_nearer(pull: PosePull, fox: Character, walk: Motion) -> None:
    angles = walk.angles.clone().requires_grad_(True)
    energy = pull.energy(Motion(walk.root_position, angles, walk.fps))
    (slope,) = torch.autograd.grad(energy, angles)
    legs = [joint for leg in find_limbs(fox).legs for joint in leg.joints]
    assert not slope[:, [0, *legs]].any()
    assert bool(slope[:, pull.joints].any())
    before = pull.rather(walk)
    nearer = Motion(walk.root_position, (angles - 0.5 * slope / EVERY).detach(), walk.fps)
    missing = [
        (local_rotations(pull.space.rig, m.angles) - before)[:, pull.joints].square().sum() for m in (walk, nearer)
    ]
    assert float(missing[1]) < float(missing[0])


def test_the_same_motion_gets_the_same_answer(pull: PosePull, walk: Motion) -> None:
    torch.testing.assert_close(pull.rather(walk), pull.rather(walk), atol=0, rtol=0)


def test_a_field_has_no_poses(tmp_path: Path) -> None:
    with pytest.raises(KinemaError, match="--pose-space: poses are of joints"):
        run("a fox", "walks", out=tmp_path / "run", pose_space=True, parameters="field")


@pytest.mark.slow
def test_a_run_with_it_differs_from_one_without(tmp_path: Path) -> None:
    quick = {"views": 1, "fit_iterations": 6, "iterations": 1, "physics": False, "splats": 200, "frames": 8}
    clips = [run("a fox", "walks", out=tmp_path / str(on), pose_space=on, **quick).distilled for on in (False, True)]
    assert not torch.allclose(clips[0].angles, clips[1].angles)
    assert bool(clips[1].angles.isfinite().all())
