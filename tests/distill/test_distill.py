"""The optimiser, with a toy-sized nano of random weights where only mechanics matter, and with exact targets where
the result does."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gait_bodies import biped
from scipy.spatial.transform import Rotation

from kinema.create.creatures import creature
from kinema.distill import energies
from kinema.distill.config import Animate, Resolved, resolve
from kinema.distill.field import Field, deform, fitted_joints
from kinema.distill.loop import Distiller
from kinema.distill.prompt import by_verb
from kinema.distill.schedule import Schedule
from kinema.distill.sds import sds
from kinema.distill.skeleton import Basis
from kinema.distill.targets import Target
from kinema.distill.tempo import Tempo, base_path, choose_tempo
from kinema.distill.window import Window
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.gait.make import make_motion
from kinema.job import animate
from kinema.motion.motion import Motion
from kinema.prior.nano.model import Nano
from kinema.prior.nano.prior import CAMERAS, NanoPrior
from kinema.prior.protocol import Needs
from kinema.render.follow import Viewpoint
from kinema.render.points import PointCameras
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy

FOX = Resolved("fox", "a fox is walking", splats=1500, physics=False)
UNTRAINED = NanoPrior(Nano(width=16, layers=1, heads=2))
"""For what depends on the numbers of nano only: its sizes, rates and engines."""


def staged(name: str) -> tuple[Stage, Anatomy]:
    """A built-in creature as a job makes it."""
    character = creature(name)
    anatomy, rng = Anatomy.of(character), np.random.default_rng(FOX.seed)
    return Stage.from_character(character, anatomy.rig, count=FOX.splats, look="canonical", rng=rng), anatomy


@pytest.fixture(scope="module")
def fox_body() -> tuple[Stage, Anatomy]:
    return staged("fox")


@pytest.fixture(scope="module")
def stage(fox_body: tuple[Stage, Anatomy]) -> Stage:
    return fox_body[0]


@pytest.fixture(scope="module")
def anatomy(fox_body: tuple[Stage, Anatomy]) -> Anatomy:
    return fox_body[1]


def oracle_video(stage: Stage, anatomy: Anatomy, tempo: Tempo, base: torch.Tensor, window: Window) -> torch.Tensor:
    """A procedural walk filmed as the distiller would film its own."""
    walk, _ = make_motion(
        stage.rig,
        anatomy.limbs,
        "walk",
        frames=16,
        fps=tempo.fps,
        phase=window.start / tempo.period,
        period=tempo.period / tempo.fps,
        speed=tempo.speed_legs * tempo.fps,
    )
    away = (walk.root_position - base).mean(0) * torch.tensor([1.0, 0.0, 1.0])
    placed = Motion(walk.root_position - away, walk.angles, walk.fps)
    viewpoint = Viewpoint(window.yaw_deg, window.elevation_deg, sum(CAMERAS.zoom) / 2, CAMERAS.fovy_deg)
    seen = stage.view_points(viewpoint, columns=NanoPrior.width, rows=NanoPrior.height)
    return stage.film(placed.pose(stage.rig), PointCameras(seen, base))


@pytest.fixture(scope="module")
def prior() -> NanoPrior:
    """Random network."""
    model, generator = Nano(width=16, layers=1, heads=2), torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1, generator=generator)
    return NanoPrior(model)


def test_exact_targets_give_back_the_walk(stage: Stage, anatomy: Anatomy, prior: NanoPrior) -> None:
    """If the videos are right, the joints must come out right: phases within a tenth of a cycle."""
    tempo = choose_tempo("walk", FOX.prompt, anatomy.limbs, UNTRAINED)
    config = resolve(replace(FOX, engine="fit", fit_iterations=120, views=4, learning_rate=0.03))
    distiller = Distiller(config, prior, stage, anatomy, tempo)
    distiller.targets = []
    for index in range(4):
        window = distiller.windows.draw(np.random.default_rng(index))
        context = distiller.windows.context(window)
        video = oracle_video(
            stage, anatomy, tempo, base_path(stage.rig, tempo, distiller.windows.times(window)), window
        )
        distiller.targets.append(Target(window, context, prior.encode(video, context).detach()))
    motion = distiller.run().motion
    found = measure(creature("fox"), motion, rig=stage.rig, limbs=anatomy.limbs, mesh=False)
    assert found.gait == "walk"
    # Front left, front right, hind left, hind right of a lateral-sequence walk.
    distance = np.abs((np.array(found.phases) - [0.0, 0.5, 0.75, 0.25] + 0.5) % 1.0 - 0.5)
    assert distance.max() < 0.1
    assert found.slide < 0.2


def test_same_seed_same_bits_and_a_killed_run_resumes_to_them(
    stage: Stage, anatomy: Anatomy, prior: NanoPrior, tmp_path: Path
) -> None:
    tempo = choose_tempo("walk", FOX.prompt, anatomy.limbs, UNTRAINED)
    config = resolve(replace(FOX, views=1, fit_iterations=3, iterations=5, checkpoint_seconds=1e9))

    def fresh(name: str) -> Distiller:
        return Distiller(config, prior, stage, anatomy, tempo, checkpoint=tmp_path / f"{name}.safetensors")

    whole = fresh("whole").run().motion
    for killed_after in (2, 5):
        first = fresh(f"killed{killed_after}")

        class Killed(Exception):
            pass

        def kill(progress, first=first, killed_after=killed_after) -> None:
            if progress.step == killed_after:
                first.save(tmp_path / f"killed{killed_after}.safetensors")
                raise Killed

        with pytest.raises(Killed):
            first.run(report=kill)
        second = fresh(f"killed{killed_after}")
        assert second.state.step == killed_after
        resumed = second.run().motion
        assert torch.equal(resumed.angles, whole.angles)
        assert torch.equal(resumed.root_position, whole.root_position)


def test_a_run_killed_while_it_samples_goes_on_with_what_it_has(
    stage: Stage, anatomy: Anatomy, prior: NanoPrior, tmp_path: Path
) -> None:
    tempo = choose_tempo("walk", FOX.prompt, anatomy.limbs, UNTRAINED)
    config = resolve(replace(FOX, views=2, fit_iterations=2, iterations=1, checkpoint_seconds=0.0))
    told = []
    whole = Distiller(config, prior, stage, anatomy, tempo).run(report=told.append).motion
    assert [(at.step, at.steps) for at in told if at.stage == "sample"] == [(1, 3), (2, 3), (3, 3)]

    def kill(at) -> None:
        if (at.stage, at.step) == ("sample", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Distiller(config, prior, stage, anatomy, tempo, checkpoint=tmp_path / "c").run(report=kill)
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o666 & ~_umask()
    second = Distiller(config, prior, stage, anatomy, tempo)
    second.load(tmp_path / "c")
    assert sorted(second.state.sampled) == [0, 1]
    resumed = second.run().motion
    assert torch.equal(resumed.angles, whole.angles)
    second.save(tmp_path / "late")
    assert (tmp_path / "late").stat().st_size < (tmp_path / "c").stat().st_size  # videos are no longer needed


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_gradients_that_are_not_finite_are_skipped_and_many_stop_the_run(
    stage: Stage, anatomy: Anatomy, prior: NanoPrior
) -> None:
    distiller = Distiller(resolve(FOX), prior, stage, anatomy, choose_tempo("walk", "", anatomy.limbs, UNTRAINED))
    before = [p.detach().clone() for p in distiller.parameters.parameters()]
    for _ in range(20):
        distiller.descend(distiller.parameters.angles.sum() * float("nan"))
    assert all(torch.equal(a, b) for a, b in zip(before, distiller.parameters.parameters()))
    with pytest.raises(KinemaError, match="not finite"):
        distiller.descend(distiller.parameters.angles.sum() * float("nan"))


def test_stillness_that_nobody_asked_for_raises_the_guidance(stage: Stage, anatomy: Anatomy, prior: NanoPrior) -> None:
    config = resolve(FOX)
    distiller = Distiller(config, prior, stage, anatomy, choose_tempo("walk", "", anatomy.limbs, UNTRAINED))
    for step in range(0, 1000, 25):
        distiller.state.step = step
        distiller.guard_motion(distiller.parameters.amount_of_motion(prior.frames))
    assert 4 * config.guidance <= distiller.state.guidance < 1.5 * 4 * config.guidance
    assert "hardly any motion" in distiller.state.notes[0]
    asked = Distiller(config, prior, stage, anatomy, choose_tempo("stand", "", anatomy.limbs, UNTRAINED))
    asked.state.step = 25
    asked.guard_motion(0.0)
    assert asked.state.guidance == config.guidance


def test_an_action_may_move_one_joint_only(stage: Stage, anatomy: Anatomy, prior: NanoPrior) -> None:
    nodding = Distiller(resolve(FOX), prior, stage, anatomy, choose_tempo("bow", "", anatomy.limbs, UNTRAINED))
    walking = Distiller(resolve(FOX), prior, stage, anatomy, choose_tempo("walk", "", anatomy.limbs, UNTRAINED))
    neck = next(j for j in range(len(anatomy.limbs.probes)) if all(j not in leg.joints for leg in anatomy.limbs.legs))
    for distiller in (nodding, walking):
        with torch.no_grad():
            distiller.parameters.angles[1, 3 * neck + 1] = 5.0
    assert nodding.parameters.amount_of_motion(prior.frames) > 0.02
    assert walking.parameters.amount_of_motion(prior.frames) == 0.0


def test_joints_are_found_in_vertices_that_move_rigidly() -> None:
    """Kabsch: p' = R p + s for all points of a joint gives back R, and the head at R head + s."""
    rng = np.random.default_rng(0)
    rest, heads = rng.normal(size=(40, 3)), rng.normal(size=(2, 3))
    weights = np.repeat(np.eye(2), 20, axis=0)
    turn = Rotation.random(2, random_state=rng).as_matrix()
    shift = rng.normal(size=(2, 3))
    joint = weights.argmax(1)
    moved = np.einsum("vij,vj->vi", turn[joint], rest) + shift[joint]
    pose = fitted_joints(moved[None], rest, weights, heads)[0]
    np.testing.assert_allclose(pose[..., :3], turn, atol=1e-12)
    np.testing.assert_allclose(pose[..., 3], np.einsum("jik,jk->ji", turn, heads) + shift, atol=1e-12)


def test_a_field_starts_at_rest_and_learns_without_a_skeleton(
    stage: Stage, anatomy: Anatomy, prior: NanoPrior, tmp_path: Path
) -> None:
    config = resolve(replace(FOX, parameters="field", views=1, fit_iterations=6, iterations=2, frames=12))
    tempo = choose_tempo("walk", FOX.prompt, anatomy.limbs, UNTRAINED)
    distiller = Distiller(config, prior, stage, anatomy, tempo, checkpoint=tmp_path / "c.safetensors")
    assert distiller.parameters.amount_of_motion(prior.frames) == pytest.approx(0.0, abs=1e-6)
    assert torch.allclose(distiller.motion().angles, torch.zeros(()), atol=1e-3)
    motion = distiller.run().motion
    assert distiller.parameters.amount_of_motion(prior.frames) > 1e-4
    again = Distiller(config, prior, stage, anatomy, tempo)
    again.load(tmp_path / "c.safetensors")
    assert torch.allclose(again.motion().angles, motion.angles, atol=1e-4)  # the speed is matched after the last step
    character = creature("fox")
    assert isinstance(distiller.parameters, Field)
    at, fps = distiller.clip_times()
    deformed = deform(distiller.parameters, character, anatomy, at, fps=fps)
    assert deformed.vertices.shape == (12, len(character.mesh.vertices), 3)
    assert deformed.metrics.bone_change > 1e-6


def test_broken_checkpoint_is_one_line(stage: Stage, anatomy: Anatomy, prior: NanoPrior, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"no checkpoint")
    distiller = Distiller(resolve(FOX), prior, stage, anatomy, choose_tempo("walk", "", anatomy.limbs, UNTRAINED))
    with pytest.raises(KinemaError, match="not a checkpoint"):
        distiller.load(tmp_path / "c")


def test_sds_gradient_is_the_difference_to_the_clean_estimate(stage: Stage, anatomy: Anatomy, prior: NanoPrior) -> None:
    # d/dz of the loss is z - ẑ exactly: ẑ is not differentiated (AKD Eq. 5).
    tempo = choose_tempo("walk", "", anatomy.limbs, UNTRAINED)
    distiller = Distiller(resolve(FOX), prior, stage, anatomy, tempo)
    context = distiller.windows.context(distiller.windows.draw(np.random.default_rng(0)))
    cond, uncond = prior.condition("walking", context), prior.condition("", context)
    shape = prior.encode(torch.zeros(16, 3, prior.height, prior.width), context).shape
    z = torch.randn(shape, generator=torch.Generator().manual_seed(0)).requires_grad_()
    sds(prior, z, cond, uncond, t=0.5, guidance=3.0, generator=torch.Generator().manual_seed(1)).backward()
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    a, b = prior.denoise(prior.add_noise(z.detach(), noise, 0.5), 0.5, [cond, uncond])
    torch.testing.assert_close(z.grad, z.detach() - (b + 3.0 * (a - b)))


def test_noise_levels_follow_the_paper() -> None:
    """t ~ U[0.02, t_end], and t_end falls from 0.98 to 0.5 over the first half of the run."""
    paper = Schedule(fit=0, sds=100, paper=True)
    assert paper.noise_level(0, 0.0) == pytest.approx(0.02)
    ends = [paper.noise_level(step, 1.0) for step in (0, 25, 50, 100)]
    assert ends == pytest.approx([0.98, 0.74, 0.5, 0.5])


def test_engines_have_the_steps_that_a_job_and_its_prior_ask_for() -> None:
    class FitsOnly(NanoPrior):
        needs = Needs(fps=8.0, engines=("fit",))

    found = [Schedule.of(replace(FOX, engine=engine), UNTRAINED) for engine in ("auto", "fit", "sds")]
    assert [(s.fit, s.sds) for s in found] == [(250, 60), (250, 0), (0, 350)]
    only = Schedule.of(FOX, FitsOnly(UNTRAINED.model))
    assert (only.fit, only.sds) == (250, 0)
    # A fitted action is not refined, unless it is asked for.
    assert [Schedule.of(replace(FOX, iterations=n), UNTRAINED, repeats=False).sds for n in (None, 20)] == [0, 20]
    assert Schedule.of(replace(FOX, engine="sds"), UNTRAINED, repeats=False).sds == 350


def test_paper_preset_sets_what_the_paper_states() -> None:
    paper = resolve(Animate("fox", "a fox is walking", preset="paper"))
    assert (paper.engine, paper.time, paper.iterations, paper.guidance) == ("sds", "free", 10_000, 2.0)
    assert (paper.smooth_weight, paper.ground_weight, paper.slip_weight, paper.limits_weight) == (2e5, 1e7, 0.0, 0.0)


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
    loss = energies.foot_slip(low, 1.0)
    # All points are low and travel 0.1 leg lengths per frame.
    assert loss.item() == pytest.approx(0.01, rel=1e-3)
    loss.backward()
    assert low.grad is not None
    assert low.grad[..., 1].abs().max() == 0
    high = low.detach() + torch.tensor([0.0, 0.5, 0.0])
    assert energies.foot_slip(high, 1.0) < 1e-4


def test_a_foot_that_swings_low_is_not_dragged() -> None:
    """People swing their feet a finger's breadth over the ground; one that slides there at half the pace does count."""
    frames = torch.arange(12.0)[:, None]
    stands, swings = torch.zeros(12, 1), 0.3 * frames
    height = torch.tensor([0.0, 0.03]).expand(12, 2)
    forward = torch.cat((stands, swings), 1)
    swing = energies.foot_slip(torch.stack((torch.zeros(12, 2), height, forward), -1), 1.0)
    dragged = energies.foot_slip(
        torch.stack((torch.zeros(12, 2), torch.zeros(12, 2), 0.1 * frames.expand(12, 2)), -1), 1.0
    )
    assert float(swing) < 0.2 * float(dragged)


def test_heels_of_feet_of_two_bones_are_soles_too() -> None:
    character = biped()
    anatomy = Anatomy.of(character)
    rest = Motion(anatomy.rig.heads[:1].double(), torch.zeros(1, len(anatomy.rig.parents), 3).double(), 24.0)
    points = energies.sole_points(rest.pose(anatomy.rig.to(torch.float64)), anatomy.limbs)[0]
    left = points[points[:, 0] > 0]
    assert len(left) == 3
    # The ankle is above z = 0, the toes begin at 0.14.
    assert left[:, 2].min() <= 0
    assert left[:, 2].max() > 0.14
    assert left[:, 1].abs().max() < 0.03


def test_small_changes_of_speed_are_forgiven_and_large_ones_are_not() -> None:
    def rough(size: float) -> float:
        angles = size * torch.tensor([0.0, 1.0]).repeat(8)[:, None, None].expand(-1, 2, 3)
        return float(energies.roughness(Motion(torch.zeros(16, 3), angles, 24.0)))

    assert rough(0.01) / 0.01 < 0.2 * rough(1.0)
    assert rough(2.0) == pytest.approx(2 * rough(1.0), rel=0.15)


def test_ground_and_limits_are_zero_where_nothing_is_wrong() -> None:
    pose = torch.cat((torch.eye(3), torch.tensor([[0.0], [0.3], [0.0]])), -1).expand(2, 1, 3, 4)
    corners = torch.tensor([[[x, y, z] for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]])
    assert energies.cuboid_penetration(pose, corners) == 0
    sunk = pose - torch.tensor([0.0, 0.2, 0.0])[:, None] * torch.tensor([0.0, 0.0, 0.0, 1.0])
    # Four of eight corners are 0.1 m under the ground.
    assert float(energies.cuboid_penetration(sunk, corners)) == pytest.approx(0.05)
    limits = torch.tensor([[[-1.0, 1.0], [-torch.inf, torch.inf], [0.0, 0.5]]])
    angles = torch.tensor([[[1.5, 9.0, 0.2]]])
    assert float(energies.beyond_limits(angles, limits)) == pytest.approx(0.25)


def test_tempo_from_words_and_given_values(anatomy: Anatomy) -> None:
    plain = choose_tempo("walk", "a fox walking", anatomy.limbs, UNTRAINED)
    fast = choose_tempo("walk", "a fox walking quickly", anatomy.limbs, UNTRAINED)
    assert fast.speed * fast.fps > plain.speed * plain.fps
    given = choose_tempo("walk", "", anatomy.limbs, UNTRAINED, speed=0.5, period=1.2)
    assert given.speed * given.fps == pytest.approx(0.5)
    assert given.period / given.fps == pytest.approx(1.2)
    with pytest.raises(KinemaError, match="speed"):
        choose_tempo("walk", "", anatomy.limbs, UNTRAINED, speed=float("nan"))


@pytest.mark.parametrize("time", ["fourier", "dct", "free"])
def test_arms_begin_as_they_hang(prior: NanoPrior, time: str) -> None:
    """A body at rest has its arms spread; paper mode leaves them there."""
    stage, anatomy = staged("human")
    tempo = choose_tempo("walk", "", anatomy.limbs, UNTRAINED)
    heads = stage.rig.heads
    config = replace(FOX, asset="human", time=time)
    for preset, low in (("default", True), ("paper", False)):
        run = Distiller(replace(config, preset=preset), prior, stage, anatomy, tempo)
        pose = run.motion().pose(stage.rig)[:, :, :, 3]
        for arm in anatomy.limbs.arms:
            upper, *_, hand = arm.joints
            spread = ((pose[:, hand] - pose[:, upper])[:, 0] * arm.side).max()
            at_rest = float((heads[hand] - heads[upper])[0] * arm.side)
            assert (spread < 0.6 * at_rest) == low, (preset, spread, at_rest)


def test_a_bob_is_no_climb() -> None:
    at = torch.arange(16.0)
    flat, rising = torch.zeros(16, 3), torch.zeros(16, 3)
    flat[:, 1] = 0.1 * torch.cos(2 * torch.pi * at / 8)
    rising[:, 1] = 0.05 * at
    assert energies.climbing(flat, 1.0) < 1e-10
    assert abs(float(energies.climbing(rising, 0.5)) - 0.8**2) < 1e-5


def test_the_root_goes_as_fast_as_the_feet(stage: Stage, anatomy: Anatomy, prior: NanoPrior) -> None:
    """A true walk on a root that is told to go 1.4 times as fast."""
    tempo = choose_tempo("walk", "", anatomy.limbs, UNTRAINED)
    seconds, speed = tempo.period / tempo.fps, tempo.speed_legs * tempo.fps
    run = Distiller(FOX, prior, stage, anatomy, replace(tempo, speed=1.4 * tempo.speed))
    rig = stage.rig
    walk, _ = make_motion(rig, anatomy.limbs, "walk", frames=90, fps=10 * tempo.fps, period=seconds, speed=speed)
    table = run.parameters.basis.table(torch.arange(90.0) / 10)
    angles = torch.linalg.lstsq(table, walk.angles.flatten(1)).solution / run.parameters.angle_scale
    height = torch.linalg.lstsq(table, walk.root_position[:, 1:2] - rig.heads[0, 1]).solution
    with torch.no_grad():
        run.parameters.angles.copy_(angles)
        run.parameters.root[:, 1:2] = height / run.parameters.root_scale[1]
    run.parameters.match_speed()
    assert run.parameters.drift[2].item() == pytest.approx(1 / 1.4 - 1, abs=0.03)
    # A speed that was asked for stays.
    config = replace(FOX, engine="sds", iterations=1)
    for speed, changes in ((1.0, False), (None, True)):
        kept = Distiller(replace(config, speed=speed), prior, stage, anatomy, tempo)
        kept.parameters.load_state_dict(run.parameters.state_dict())
        before = kept.parameters.drift.detach().clone()
        kept.descend = lambda loss: None
        kept.run()
        assert torch.equal(kept.parameters.drift, before) != changes


def test_without_ground_there_are_as_many_frames(stage: Stage, anatomy: Anatomy, prior: NanoPrior) -> None:
    config = replace(FOX, views=1, fit_iterations=1, iterations=1)
    bare = replace(stage, scene=replace(stage.scene, ground=None))
    run = Distiller(config, prior, bare, anatomy, choose_tempo("walk", "", anatomy.limbs, UNTRAINED))
    assert len(run.run().history) == 2


def test_feet_have_no_say_before_there_are_strides() -> None:
    schedule = Schedule(fit=8, sds=2)
    shares = [schedule.feet_weight(step) for step in range(10)]
    assert shares == [0, 0, 0, 0, 0, 0.25, 0.5, 0.75, 1, 1]


def test_a_prior_that_counts_seconds_gets_its_frame_rate(anatomy: Anatomy) -> None:
    class Film(NanoPrior):
        frames, read, needs = 49, None, Needs(fps=16.0)

    nano, film = (choose_tempo("walk", "", anatomy.limbs, prior) for prior in (UNTRAINED, Film(UNTRAINED.model)))
    assert film.fps == 16.0
    assert nano.period == 9.0
    assert film.period / film.fps == pytest.approx(nano.period / nano.fps)
    assert film.speed * film.fps == pytest.approx(nano.speed * nano.fps)
    for seconds in (0.3, 2.0, 7.0):
        jump = choose_tempo("jump", "", anatomy.limbs, Film(UNTRAINED.model), period=seconds)
        assert (jump.fps, jump.period) == (16.0, pytest.approx(16.0 * seconds))


def test_verbs_name_the_motion_for_priors_that_read_no_words() -> None:
    prompts = {
        "a fox is trotting": "trot",
        "The old dog walks with a limp.": "limp",
        "a horse goes at full gallop": "gallop",
        "a robot waves hello": "wave",
    }
    assert {prompt: by_verb(prompt).motion for prompt in prompts} == prompts
    with pytest.warns(UserWarning, match="no verb that is known"):
        assert by_verb("a dragon yodelling").motion == "action"


def test_actions_are_guided_less_than_gaits_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    class Stop(Exception):
        pass

    def begun(config: Resolved, *_, **__) -> None:
        seen.append(config.guidance)
        raise Stop

    monkeypatch.setattr(animate, "Distiller", begun)
    for prompt, given in (("a fox is walking", None), ("a fox is biting", None), ("a fox is biting", 2.0)):
        with pytest.raises(Stop):
            animate.animate(Animate("fox", prompt, guidance=given, splats=200), creature("fox"), NanoPrior.load())
    assert seen == [2.0, 1.3, 2.0]
