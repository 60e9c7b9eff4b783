"""The optimiser, with a toy-sized nano of random weights where only mechanics matter, and with exact targets where
the result does."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.distill import losses
from kinema.distill.config import Animate, resolve
from kinema.distill.field import FieldDistiller, deform, fitted_joints
from kinema.distill.loop import Body, Distiller
from kinema.distill.parameters import Basis
from kinema.distill.sds import noise_level, sds
from kinema.distill.take import Take, prepare, random_take, window
from kinema.distill.tempo import Tempo, choose_tempo
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.gait.make import make_motion
from kinema.geometry.transforms import quaternion_to_matrix
from kinema.job.animate import find_character, lift_skin, make_body, plant_feet, settle
from kinema.motion.loop import closes
from kinema.motion.motion import Motion
from kinema.prior.nano.codec import fit_codec, patches
from kinema.prior.nano.model import Nano
from kinema.prior.nano.prior import NanoPrior, Reader

FOX = Animate("fox", "a fox is walking", splats=1500, physics=False)


@pytest.fixture(scope="module")
def body() -> Body:
    return make_body(FOX, find_character("fox"))[0]


def oracle_video(body: Body, tempo: Tempo, base: torch.Tensor, take: Take) -> torch.Tensor:
    """A procedural walk filmed as the distiller would film its own."""
    walk, _ = make_motion(
        body.stage.rig,
        body.limbs,
        "walk",
        frames=16,
        fps=tempo.fps,
        phase=take.start / tempo.period,
        period=tempo.period / tempo.fps,
        speed=tempo.speed_legs * tempo.fps,
    )
    away = (walk.root_position - base).mean(0) * torch.tensor([1.0, 0.0, 1.0])
    placed = Motion(walk.root_position - away, walk.angles, walk.fps)
    cameras = body.stage.cameras(base, take.view, width=64, height=48)
    return body.stage.film(placed.pose(body.stage.rig), cameras)


@pytest.fixture(scope="module")
def prior(body: Body) -> NanoPrior:
    """Random network, but a codec that spans how this fox walks."""
    tempo = choose_tempo("walk", "", body.limbs)
    base = body.stage.rig.heads[0] + torch.arange(16.0)[:, None] * torch.tensor([0.0, 0.0, tempo.speed])
    clips = []
    for yaw, start in ((-90.0, 0.0), (-70.0, 3.0), (-50.0, 6.0), (-30.0, 1.5), (30.0, 4.5), (50.0, 7.5), (80.0, 2.0)):
        take = Take(yaw, 10.0, start)
        reference = body.stage.reference(base, take.view, width=64, height=48)
        clips.append(oracle_video(body, tempo, base, take) - reference)
    codec = fit_codec(patches(torch.stack(clips)).flatten(0, 1), channels=96)
    torch.manual_seed(0)
    model = Nano(channels=96, width=16, layers=1, heads=2)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return NanoPrior(model, codec, Reader(("walk",), torch.zeros(1, 384), torch.zeros(1), torch.zeros(1, 384)))


def test_exact_targets_give_back_the_walk(body: Body, prior: NanoPrior) -> None:
    """If the videos are right, the joints must come out right: phases within a tenth of a cycle."""
    tempo = choose_tempo("walk", FOX.prompt, body.limbs)
    config = resolve(replace(FOX, engine="fit", fit_iterations=120, views=4, learning_rate=0.03))
    distiller = Distiller(config, prior, body, tempo, checkpoint=None)
    targets = []
    for index in range(4):
        take = random_take(np.random.default_rng(index), tempo, last_start=0.0)
        shot = prepare(body.stage, prior, distiller.coefficients, tempo, take)
        base = distiller.coefficients.base_path(window(prior, take))
        video = oracle_video(body, tempo, base, take)
        targets.append((take, shot, prior.encode(video, shot).detach()))
    distiller._targets = targets
    motion = distiller.run().motion
    found = measure(find_character("fox"), motion, rig=body.stage.rig, limbs=body.limbs, mesh=False)
    assert found.gait == "walk"
    # Front left, front right, hind left, hind right of a lateral-sequence walk.
    distance = np.abs((np.array(found.phases) - [0.0, 0.5, 0.75, 0.25] + 0.5) % 1.0 - 0.5)
    assert distance.max() < 0.1
    assert found.slide < 0.2


def test_same_seed_same_bits_and_a_killed_run_resumes_to_them(body: Body, prior: NanoPrior, tmp_path: Path) -> None:
    tempo = choose_tempo("walk", FOX.prompt, body.limbs)
    config = resolve(replace(FOX, views=1, fit_iterations=3, iterations=5, checkpoint_seconds=1e9))

    def fresh() -> Distiller:
        return Distiller(config, prior, body, tempo, checkpoint=tmp_path / "c.safetensors")

    whole = fresh().run().motion
    for killed_after in (2, 5):
        first = fresh()

        class Killed(Exception):
            pass

        def kill(progress, first=first, killed_after=killed_after) -> None:
            if progress.step == killed_after:
                first.save(tmp_path / "killed.safetensors")
                raise Killed

        with pytest.raises(Killed):
            first.run(report=kill)
        second = fresh()
        second.load(tmp_path / "killed.safetensors")
        resumed = second.run().motion
        assert torch.equal(resumed.angles, whole.angles)
        assert torch.equal(resumed.root_position, whole.root_position)


def test_a_run_killed_while_it_samples_goes_on_with_what_it_has(body: Body, prior: NanoPrior, tmp_path: Path) -> None:
    tempo = choose_tempo("walk", FOX.prompt, body.limbs)
    config = resolve(replace(FOX, views=2, fit_iterations=2, iterations=1, checkpoint_seconds=0.0))
    told = []
    whole = Distiller(config, prior, body, tempo, checkpoint=None).run(report=told.append).motion
    assert [(at.step, at.steps) for at in told if at.stage == "sample"] == [(1, 3), (2, 3), (3, 3)]

    def kill(at) -> None:
        if (at.stage, at.step) == ("sample", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Distiller(config, prior, body, tempo, checkpoint=tmp_path / "c").run(report=kill)
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o666 & ~_umask()
    second = Distiller(config, prior, body, tempo, checkpoint=None)
    second.load(tmp_path / "c")
    assert sorted(second._sampled) == [0, 1]
    resumed = second.run().motion
    assert torch.equal(resumed.angles, whole.angles)
    second.save(tmp_path / "late")
    assert (tmp_path / "late").stat().st_size < (tmp_path / "c").stat().st_size  # videos are no longer needed


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_gradients_that_are_not_finite_are_skipped_and_many_stop_the_run(body: Body, prior: NanoPrior) -> None:
    distiller = Distiller(resolve(FOX), prior, body, choose_tempo("walk", "", body.limbs), checkpoint=None)
    before = [p.detach().clone() for p in distiller.coefficients.parameters()]
    for _ in range(20):
        distiller._descend(distiller.coefficients.angles.sum() * float("nan"))
    assert all(torch.equal(a, b) for a, b in zip(before, distiller.coefficients.parameters()))
    with pytest.raises(KinemaError, match="not finite"):
        distiller._descend(distiller.coefficients.angles.sum() * float("nan"))


def test_stillness_that_nobody_asked_for_raises_the_guidance(body: Body, prior: NanoPrior) -> None:
    config = resolve(FOX)
    distiller = Distiller(config, prior, body, choose_tempo("walk", "", body.limbs), checkpoint=None)
    for step in range(0, 1000, 25):
        distiller.step = step
        distiller._guard_motion(distiller.amount_of_motion())
    assert 4 * config.guidance <= distiller.guidance < 1.5 * 4 * config.guidance
    assert "hardly any motion" in distiller.notes[0]
    asked = Distiller(config, prior, body, choose_tempo("stand", "", body.limbs), checkpoint=None)
    asked.step = 25
    asked._guard_motion(0.0)
    assert asked.guidance == config.guidance


def test_an_action_may_move_one_joint_only(body: Body, prior: NanoPrior) -> None:
    nodding = Distiller(resolve(FOX), prior, body, choose_tempo("bow", "", body.limbs), checkpoint=None)
    walking = Distiller(resolve(FOX), prior, body, choose_tempo("walk", "", body.limbs), checkpoint=None)
    neck = next(j for j in range(len(body.limbs.probes)) if all(j not in leg.joints for leg in body.limbs.legs))
    for distiller in (nodding, walking):
        with torch.no_grad():
            distiller.coefficients.angles[1, 3 * neck + 1] = 5.0
    assert nodding.amount_of_motion() > 0.02
    assert walking.amount_of_motion() == 0.0


def test_joints_are_found_in_vertices_that_move_rigidly() -> None:
    """Kabsch: p' = R p + s for all points of a joint gives back R, and the head at R head + s."""
    rng = np.random.default_rng(0)
    rest, heads = rng.normal(size=(40, 3)), rng.normal(size=(2, 3))
    weights = np.repeat(np.eye(2), 20, axis=0)
    turn = quaternion_to_matrix(torch.nn.functional.normalize(torch.randn(2, 4, dtype=torch.float64), dim=-1)).numpy()
    shift = rng.normal(size=(2, 3))
    joint = weights.argmax(1)
    moved = np.einsum("vij,vj->vi", turn[joint], rest) + shift[joint]
    pose = fitted_joints(moved[None], rest, weights, heads)[0]
    np.testing.assert_allclose(pose[..., :3], turn, atol=1e-12)
    np.testing.assert_allclose(pose[..., 3], np.einsum("jik,jk->ji", turn, heads) + shift, atol=1e-12)


def test_a_field_starts_at_rest_and_learns_without_a_skeleton(body: Body, prior: NanoPrior, tmp_path: Path) -> None:
    config = resolve(replace(FOX, parameters="field", views=1, fit_iterations=6, iterations=2, frames=12))
    tempo = choose_tempo("walk", FOX.prompt, body.limbs)
    distiller = FieldDistiller(config, prior, body, tempo, checkpoint=tmp_path / "c.safetensors")
    assert distiller.amount_of_motion() == pytest.approx(0.0, abs=1e-6)
    assert torch.allclose(distiller.motion().angles, torch.zeros(()), atol=1e-3)
    motion = distiller.run().motion
    assert distiller.amount_of_motion() > 1e-4
    again = FieldDistiller(config, prior, body, tempo, checkpoint=None)
    again.load(tmp_path / "c.safetensors")
    assert torch.equal(again.motion().angles, motion.angles)
    character = find_character("fox")
    deformed = deform(distiller, character, body.stage.rig, body.limbs)
    assert deformed.vertices.shape == (12, len(character.mesh.vertices), 3)
    assert deformed.metrics.bone_change > 1e-6


def test_broken_checkpoint_is_one_line(body: Body, prior: NanoPrior, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"no checkpoint")
    distiller = Distiller(resolve(FOX), prior, body, choose_tempo("walk", "", body.limbs), checkpoint=None)
    with pytest.raises(KinemaError, match="not a checkpoint"):
        distiller.load(tmp_path / "c")


def test_sds_gradient_is_the_difference_to_the_clean_estimate(body: Body, prior: NanoPrior) -> None:
    # d/dz of the loss is z - ẑ exactly: ẑ is not differentiated (AKD Eq. 5).
    tempo = choose_tempo("walk", "", body.limbs)
    distiller = Distiller(resolve(FOX), prior, body, tempo, checkpoint=None)
    take = random_take(np.random.default_rng(0), tempo, last_start=0.0)
    shot = prepare(body.stage, prior, distiller.coefficients, tempo, take)
    cond, uncond = prior.condition("walking", shot), prior.condition("", shot)
    z = torch.randn(192, 96, generator=torch.Generator().manual_seed(0)).requires_grad_()
    sds(prior, z, cond, uncond, t=0.5, guidance=3.0, generator=torch.Generator().manual_seed(1)).backward()
    noise = torch.randn(192, 96, generator=torch.Generator().manual_seed(1))
    a, b = prior.denoise(prior.add_noise(z.detach(), noise, 0.5), 0.5, [cond, uncond])
    torch.testing.assert_close(z.grad, z.detach() - (b + 3.0 * (a - b)))


def test_noise_levels_follow_the_paper() -> None:
    assert noise_level(0.0, 0.0, paper=True) == pytest.approx(0.02)
    assert noise_level(0.0, 1.0, paper=True) == pytest.approx(0.98)
    assert noise_level(0.25, 1.0, paper=True) == pytest.approx(0.74)
    assert noise_level(0.5, 1.0, paper=True) == noise_level(1.0, 1.0, paper=True) == pytest.approx(0.5)


def test_paper_preset_sets_what_the_paper_states() -> None:
    paper = resolve(replace(FOX, preset="paper"))
    assert (paper.engine, paper.time, paper.iterations, paper.guidance) == ("sds", "free", 10_000, 100.0)
    assert (paper.smooth, paper.ground, paper.slip, paper.limits) == (2e5, 1e7, 0.0, 0.0)


def test_bases_hold_what_they_promise() -> None:
    at = torch.arange(0.0, 40.0, 0.5)
    fourier = Basis("fourier", 0, 9.0, 9).table(at)
    torch.testing.assert_close(fourier[:18], fourier[18:36], atol=1e-5, rtol=0)  # closes after one period
    dct = Basis("dct", 16, 0.0, 16).table(torch.arange(16.0))
    gram = dct.T @ dct
    assert (gram - gram.diagonal().diag()).abs().max() < 1e-4  # DCT-II is orthogonal
    assert torch.equal(Basis("free", 6, 0.0, 6).table(torch.arange(6.0)), torch.eye(6))


def test_slip_counts_only_low_feet_and_does_not_lift_them() -> None:
    t = torch.arange(8.0)
    low = torch.stack((0 * t, 0 * t, 0.1 * t), -1)[:, None].requires_grad_()
    loss = losses.foot_slip(low, 1.0)
    # All points are low and travel 0.1 leg lengths per frame.
    assert loss.item() == pytest.approx(0.01, rel=1e-3)
    loss.backward()
    assert low.grad is not None
    assert low.grad[..., 1].abs().max() == 0
    high = low.detach() + torch.tensor([0.0, 0.5, 0.0])
    assert losses.foot_slip(high, 1.0) < 1e-4


def test_ground_and_limits_are_zero_where_nothing_is_wrong() -> None:
    pose = torch.cat((torch.eye(3), torch.tensor([[0.0], [0.3], [0.0]])), -1).expand(2, 1, 3, 4)
    corners = torch.tensor([[[x, y, z] for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]])
    assert losses.ground(pose, corners) == 0
    sunk = pose - torch.tensor([0.0, 0.2, 0.0])[:, None] * torch.tensor([0.0, 0.0, 0.0, 1.0])
    # Four of eight corners are 0.1 m under the ground.
    assert float(losses.ground(sunk, corners)) == pytest.approx(0.05)
    limits = torch.tensor([[[-1.0, 1.0], [-torch.inf, torch.inf], [0.0, 0.5]]])
    angles = torch.tensor([[[1.5, 9.0, 0.2]]])
    assert float(losses.beyond_limits(angles, limits)) == pytest.approx(0.25)


def test_tempo_from_words_and_given_values(body: Body) -> None:
    plain = choose_tempo("walk", "a fox walking", body.limbs)
    fast = choose_tempo("walk", "a fox walking quickly", body.limbs)
    assert fast.speed * fast.fps > plain.speed * plain.fps
    given = choose_tempo("walk", "", body.limbs, speed=0.5, period=1.2)
    assert given.speed * given.fps == pytest.approx(0.5)
    assert given.period / given.fps == pytest.approx(1.2)
    with pytest.raises(KinemaError, match="speed"):
        choose_tempo("walk", "", body.limbs, speed=float("nan"))


@pytest.mark.parametrize("time", ["fourier", "dct", "free"])
def test_arms_begin_as_they_hang(prior: NanoPrior, time: str) -> None:
    """A body at rest has its arms spread; paper mode leaves them there."""
    human = make_body(replace(FOX, asset="human"), find_character("human"))[0]
    tempo = choose_tempo("walk", "", human.limbs)
    heads = human.stage.rig.heads
    config = replace(FOX, asset="human", time=time)
    for preset, low in (("default", True), ("paper", False)):
        run = Distiller(replace(config, preset=preset), prior, human, tempo, checkpoint=None)
        pose = run.motion().pose(human.stage.rig)[:, :, :, 3]
        for arm in human.limbs.arms:
            upper, *_, hand = arm.joints
            spread = ((pose[:, hand] - pose[:, upper])[:, 0] * arm.side).max()
            at_rest = float((heads[hand] - heads[upper])[0] * arm.side)
            assert (spread < 0.6 * at_rest) == low, (preset, spread, at_rest)


def test_a_bob_is_no_climb() -> None:
    at = torch.arange(16.0)
    flat, rising = torch.zeros(16, 3), torch.zeros(16, 3)
    flat[:, 1] = 0.1 * torch.cos(2 * torch.pi * at / 8)
    rising[:, 1] = 0.05 * at
    assert losses.climbing(flat, 1.0) < 1e-10
    assert abs(float(losses.climbing(rising, 0.5)) - 0.8**2) < 1e-5


def test_the_root_goes_as_fast_as_the_feet(body: Body, prior: NanoPrior) -> None:
    """A true walk on a root that is told to go 1.4 times as fast."""
    tempo = choose_tempo("walk", "", body.limbs)
    seconds, speed = tempo.period / tempo.fps, tempo.speed_legs * tempo.fps
    run = Distiller(FOX, prior, body, replace(tempo, speed=1.4 * tempo.speed), checkpoint=None)
    rig = body.stage.rig
    walk, _ = make_motion(rig, body.limbs, "walk", frames=90, fps=10 * tempo.fps, period=seconds, speed=speed)
    table = run.coefficients.basis.table(torch.arange(90.0) / 10)
    angles = torch.linalg.lstsq(table, walk.angles.flatten(1)).solution / run.coefficients.angle_scale
    height = torch.linalg.lstsq(table, walk.root_position[:, 1:2] - rig.heads[0, 1]).solution
    with torch.no_grad():
        run.coefficients.angles.copy_(angles)
        run.coefficients.root[:, 1:2] = height / run.coefficients.root_scale[1]
    run._match_speed()
    assert run.coefficients.drift[2].item() == pytest.approx(1 / 1.4 - 1, abs=0.03)
    kept = Distiller(replace(FOX, speed=1.0), prior, body, tempo, checkpoint=None)
    kept._match_speed()
    assert kept.coefficients.drift.abs().max().item() == 0


def test_without_ground_there_are_as_many_frames(prior: NanoPrior) -> None:
    config = replace(FOX, render_ground=False, views=1, fit_iterations=1, iterations=1)
    bare = make_body(config, find_character("fox"))[0]
    run = Distiller(config, prior, bare, choose_tempo("walk", "", bare.limbs), checkpoint=None)
    assert len(run.run().history) == 2


def test_standing_feet_are_planted_unless_somebody_says_otherwise(fox, body, walk):
    faster = walk.root_position.clone()
    faster[:, 2] += 0.4 * (walk.root_position[:, 2] - walk.root_position[0, 2])
    skating = Motion(faster, walk.angles, walk.fps)
    planted = plant_feet(FOX, fox, body, skating)
    before, after = (measure(fox, m, rig=body.stage.rig, limbs=body.limbs) for m in (skating, planted))
    assert before.slide > 0.2
    assert after.slide < before.slide / 2
    assert after.gait == before.gait == "walk"
    for spared in (replace(FOX, plant_feet=False), replace(FOX, preset="paper")):
        assert plant_feet(spared, fox, body, skating) is skating


def test_a_tracked_motion_is_planted_again_only_where_it_helps(fox, body, walk):
    carried = walk.root_position.clone()
    carried[:, 2] += torch.linspace(0.0, 0.15, len(walk))
    drifting = Motion(carried, walk.angles, walk.fps)
    settled = settle(FOX, fox, body, drifting)
    before, after = (measure(fox, m, rig=body.stage.rig, limbs=body.limbs) for m in (drifting, settled))
    assert after.slide < 0.7 * before.slide
    assert after.gait == before.gait == "walk"
    # What stands already is left alone.
    assert torch.equal(settle(FOX, fox, body, settled).angles, settled.angles)
    assert torch.equal(settle(replace(FOX, plant_feet=False), fox, body, drifting).angles, drifting.angles)


def test_a_loop_is_planted_and_stays_a_loop(fox, body, prior):
    tempo = choose_tempo("walk", "", body.limbs)
    distiller = Distiller(replace(FOX, loop=True, frames=40), prior, body, tempo, checkpoint=None)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        shape = distiller.coefficients.angles.shape
        distiller.coefficients.angles.copy_(0.3 * torch.randn(shape, generator=generator))
    loop = distiller.motion()
    assert closes(loop)
    planted = plant_feet(replace(FOX, loop=True), fox, body, loop)
    assert len(planted) == len(loop)
    assert closes(planted)
    assert not torch.equal(planted.angles, loop.angles)
    # Without the rounds before and after, its ends would not meet.
    assert not closes(plant_feet(FOX, fox, body, loop))


def test_skin_under_the_ground_is_lifted_and_nothing_else_moves(fox, rig, walk):
    sunk = Motion(walk.root_position - torch.tensor([0.0, 0.02, 0.0]), walk.angles, walk.fps)
    lifted = lift_skin(fox, rig, sunk)
    assert measure(fox, sunk, rig=rig).penetration > 0.005
    assert measure(fox, lifted, rig=rig).penetration_worst < 1e-4
    assert (lifted.angles == sunk.angles).all()
    assert (lifted.root_position[:, (0, 2)] == sunk.root_position[:, (0, 2)]).all()
    raised = Motion(walk.root_position + torch.tensor([0.0, 0.1, 0.0]), walk.angles, walk.fps)
    assert lift_skin(fox, rig, raised) is raised


def test_feet_have_no_say_before_there_are_strides(body, prior):
    tempo = choose_tempo("walk", "", body.limbs)
    distiller = Distiller(replace(FOX, fit_iterations=8), prior, body, tempo, checkpoint=None)
    shares = []
    for distiller.step in range(10):
        shares.append(distiller._feet_share())
    assert shares == [0, 0, 0, 0, 0, 0.25, 0.5, 0.75, 1, 1]
