"""From a motion that floats and slides to one that the simulated body really does."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from physics_bodies import boxes, chain, humanoid, quadruped, skeleton

from kinema.asset.character import Character, Mesh
from kinema.errors import KinemaError
from kinema.gait.make import make_motion
from kinema.motion.feet import contact_paths, find_box_feet
from kinema.motion.motion import Motion
from kinema.motion.plant import corner_paths
from kinema.physics.model import Control, State, make_model
from kinema.physics.rollout import rollout
from kinema.physics.track import Tracking, track
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs


def limbs_of(body) -> Limbs:
    """As `find_limbs` sees bare bones."""
    mesh = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)))
    return find_limbs(Character("bones", mesh, body))


@pytest.fixture(scope="module")
def walking():
    body = quadruped()
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    limbs = limbs_of(body)
    assert [leg.joints[-1] for leg in limbs.legs] == [body.names.index(n) for n in body.names if "foot" in n]
    motion, _ = make_motion(rig, limbs, "walk", frames=25, fps=24.0)
    return body, rig, limbs, motion


def with_faults(motion: Motion, *, speed: float = 1.5, lift: float = 0.03) -> Motion:
    start = motion.root_position[:1]
    scale = torch.tensor([speed, 1.0, speed], dtype=torch.float64)
    up = torch.tensor([0.0, lift, 0.0], dtype=torch.float64)
    return Motion(start + scale * (motion.root_position - start) + up, motion.angles, motion.fps)


def test_what_is_tracked_stands_when_it_is_told_to(walking) -> None:
    """A stance that is given counts, whatever could be found: in a gap of it the foot is raised as a swinging one."""
    body, rig, limbs, _ = walking
    cuboids, rest = boxes(body), Motion.rest(rig, frames=16, fps=24.0)
    feet, options = find_box_feet(rig, limbs, cuboids), replace(Tracking(), iterations=1)
    whole = np.ones((16, len(feet)), dtype=bool)
    gap = whole.copy()
    gap[5:11, 0] = False
    rises = []
    for stance in (whole, gap):
        target = track(None, rig, rest, limbs=limbs, cuboids=cuboids, stance=stance, options=options).target
        height = contact_paths(feet, target.pose(rig), fps=24.0)[0]
        rises.append(np.ptp(height, axis=0) / limbs.leg_length)
    assert rises[0].max() < 1e-3
    assert rises[1][0] > 0.04
    assert rises[1][1:].max() < 1e-3


def test_tracking_grounds_a_faulty_walk(walking) -> None:
    body, rig, limbs, motion = walking
    faulty = with_faults(motion)
    calls = []
    result = track(
        None, rig, faulty, limbs=limbs, cuboids=boxes(body), progress=lambda i, n, loss: calls.append((i, n))
    )
    assert calls[0] == (1, 200)
    assert calls[-1] == (200, 200)
    before, after = result.before, result.after
    assert before.missed > 0
    assert after.missed == 0
    assert result.joint_error_deg < 2
    assert after.depth < 0.02
    assert after.stance_speed < before.stance_speed / 3
    assert after.stance_speed < 0.1 * after.body_speed
    assert min(result.losses) < 0.5 * result.losses[0]


def test_paper_mode_runs_with_a_control_per_substep(walking) -> None:
    body, rig, limbs, motion = walking
    options = replace(Tracking.paper(), iterations=6)
    start = motion.angles[:, 0].clone()
    start[:, 1] += 0.1  # it leans to the side
    leaning = replace(motion, angles=torch.cat((start[:, None], motion.angles[:, 1:]), 1))[:5]
    result = track(None, rig, leaning, limbs=limbs, cuboids=boxes(body), options=options)
    assert not options.implicit
    assert options.substeps >= 100
    paper = Tracking.paper()
    assert (paper.iterations, paper.smooth, paper.clip, paper.friction) == (200, 0.2, 1.0, 0.9)
    assert (paper.learning_rate, paper.velocity_rate, paper.hold, paper.still) == (1e-3, 5e-3, 0.0, 0.0)
    assert len(result.controls) == 4 * options.substeps
    assert torch.isfinite(result.motion.angles).all()
    # Eq. 13 at the best iterate: Σ_f ‖q - q̂‖₁ / (F - 1) + λ₃ MAE(Δₜ² control)
    q, wanted = (torch.cat((m.root_position, m.angles.flatten(1)), 1) for m in (result.motion, result.target))
    smooth = result.controls[:, 6:].diff(n=2, dim=0).abs().mean()
    loss = (q - wanted).abs().sum() / 4 + 0.2 * smooth
    assert float(loss) == pytest.approx(min(result.losses), rel=1e-6)
    assert min(result.losses) < result.losses[0]
    # The upright force holds the direction that was up at the start and is not searched.
    assert torch.equal(result.controls[:, 3:6], leaning.angles[:1, 0].expand(len(result.controls), 3))


def test_a_motion_that_floats_is_moved_onto_the_ground_as_a_whole(walking) -> None:
    """Until its first frame stands: otherwise the simulation would begin with a fall. Nothing else of it changes."""
    body, rig, limbs, motion = walking
    floating = with_faults(motion, speed=1.0, lift=0.2)[:4]
    result = track(
        None, rig, floating, limbs=limbs, cuboids=boxes(body), options=replace(Tracking.paper(), iterations=1)
    )
    shift = result.target.root_position - floating.root_position
    assert torch.equal(result.target.angles, floating.angles)
    torch.testing.assert_close(shift, shift[:1].expand(4, 3))
    assert float(shift[0, 0]) == float(shift[0, 2]) == 0
    lowest = float(corner_paths(rig, boxes(body), result.target[:1])[..., 1].min())
    assert -0.005 < lowest <= 0


def test_feet_that_stand_do_not_slide_in_paper_mode(walking) -> None:
    """Friction has to hold them at the explicit integrator's step length too; as thick oil it let them slide at 15 %
    of the body's speed."""
    body, rig, limbs, motion = walking
    options = replace(Tracking.paper(), iterations=6)
    result = track(None, rig, motion[:13], limbs=limbs, cuboids=boxes(body), options=options)
    assert result.before.stance_speed < 0.02
    assert result.model.contact.slip_speed < 0.05
    assert result.after.stance_speed < 0.06 * result.after.body_speed
    assert min(result.losses) < 0.8 * result.losses[0]


def test_the_explicit_integrator_tracks_with_hundreds_of_substeps(walking) -> None:
    body, rig, limbs, motion = walking
    options = Tracking(implicit=False, substeps=400, iterations=3)
    result = track(None, rig, motion[:6], limbs=limbs, cuboids=boxes(body), options=options)
    assert min(result.losses) < 0.02
    assert result.after.depth < 0.03
    # With the gains of the implicit mode, steps of a frame / 24 diverge: an error, not a NaN.
    model = make_model(rig, boxes(body))
    q = torch.cat((rig.heads[0], torch.zeros(3 * len(rig.parents), dtype=torch.float64)))[None]
    with pytest.raises(KinemaError, match="diverged"):
        rollout(model, State(q, q * 0), Control(q[:, None] + 0.3), dt=1 / 576, steps=400, implicit=False)


def test_a_search_resumes_to_the_same_result(walking, tmp_path) -> None:
    body, rig, limbs, motion = walking
    options = {"limbs": limbs, "cuboids": boxes(body)}
    path = tmp_path / "track.npz"

    class Stop(Exception):
        pass

    def interrupt(i: int, n: int, loss: float) -> None:
        if i == 5:
            raise Stop

    short = Tracking(iterations=8)
    whole = track(None, rig, motion[:8], options=short, **options)
    with pytest.raises(Stop):
        track(
            None,
            rig,
            motion[:8],
            options=short,
            checkpoint=path,
            checkpoint_seconds=-1.0,
            progress=interrupt,
            **options,
        )
    resumed = track(None, rig, motion[:8], options=short, checkpoint=path, **options)
    assert resumed.losses == whole.losses
    assert torch.equal(resumed.motion.angles, whole.motion.angles)
    with pytest.raises(KinemaError, match="another motion"):
        track(None, rig, motion[1:9], options=short, checkpoint=path, **options)


@pytest.mark.parametrize("joints", [2, 5, 84])
def test_rigs_of_any_size(joints: int) -> None:
    check_robust(chain(joints, length=2.0 / joints, height=0.3))


def test_bones_of_no_length_and_masses_of_any_ratio() -> None:
    bones: dict = {
        "root": (None, (0, 0.5, 0), (0, 0.5, 1.0)),
        "point": ("root", (0, 0.5, 1.0), (0, 0.5, 1.0)),
        "speck": ("point", (0, 0.5, 1.0), (0, 0.5, 1.001)),
        "anvil": ("speck", (0, 0.5, 1.001), (0, 0.5, 1.8)),
    }
    check_robust(skeleton(bones))


def test_a_target_deep_under_the_ground() -> None:
    check_robust(humanoid(), lift=-20.0)


def check_robust(body, *, lift: float = 0.0) -> None:
    """A wild motion: whatever it is, what comes out is finite."""
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    generator = torch.Generator().manual_seed(len(body.names))
    angles = 2.0 * torch.randn(6, len(body.names), 3, generator=generator, dtype=torch.float64)
    root = rig.heads[0] + 0.3 * torch.randn(6, 3, generator=generator, dtype=torch.float64)
    root[:, 1] += lift
    limbs = replace(limbs_of(body), legs=())
    result = track(
        None, rig, Motion(root, angles, 24.0), limbs=limbs, cuboids=boxes(body), options=Tracking(iterations=10)
    )
    assert torch.isfinite(result.motion.angles).all()
    assert torch.isfinite(result.motion.root_position).all()
    assert torch.isfinite(result.controls).all()
    assert np.isfinite(result.losses).all()


def test_a_target_that_is_not_finite_is_named(walking) -> None:
    body, rig, limbs, motion = walking
    angles = motion.angles.clone()
    angles[7, 3, 1] = torch.nan
    with pytest.raises(KinemaError, match="angles are not finite at frame 7"):
        track(None, rig, Motion(motion.root_position, angles, 24.0), limbs=limbs, cuboids=boxes(body))
