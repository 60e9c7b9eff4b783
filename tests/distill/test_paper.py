"""Paper mode does what AKD states, and nothing beside it (docs/akd.md)."""

import copy
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from kinema.cli.parse import parse
from kinema.create.creatures import creature
from kinema.distill.config import PRESETS, Animate, Preset, command_words, resolve
from kinema.distill.energies import weighted_energies
from kinema.distill.loop import MOST_GRADIENT, Distiller
from kinema.distill.parameters import Filmed
from kinema.distill.skeleton import cubic
from kinema.distill.tempo import base_path, choose_tempo
from kinema.distill.window import Window
from kinema.job.animate import make_stage
from kinema.job.feet import settle
from kinema.motion.motion import Motion
from kinema.prior.nano.model import Nano
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import Needs
from kinema.render.follow import smooth_path
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy

PAPER = resolve(Animate("fox", "a fox is walking", preset="paper", splats=600, physics=False, frames=72))


@pytest.fixture(scope="module")
def body() -> tuple[Stage, Anatomy]:
    character = creature("fox")
    anatomy = Anatomy.of(character)
    rng = np.random.default_rng(0)
    return Stage.from_character(character, anatomy.rig, count=600, look="canonical", rng=rng), anatomy


@pytest.fixture(scope="module")
def prior(body: tuple[Stage, Anatomy]) -> NanoPrior:
    """Nano with random weights."""
    model, generator = Nano(width=16, layers=1, heads=2), torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1, generator=generator)
    return NanoPrior(model)


@pytest.fixture
def run(body: tuple[Stage, Anatomy], prior: NanoPrior) -> Distiller:
    tempo = choose_tempo("walk", PAPER.prompt, body[1].limbs, prior)
    return Distiller(PAPER, prior, *body, tempo)


@pytest.mark.parametrize("time", ["free", "dct"])
def test_windows_fit_the_clip_and_every_frame_gets_a_gradient(
    body: tuple[Stage, Anatomy], prior: NanoPrior, time: str
) -> None:
    config = replace(PAPER, time=time)
    run = Distiller(config, prior, *body, choose_tempo("walk", PAPER.prompt, body[1].limbs, prior))
    last = run.parameters.frames - prior.frames
    starts = [run.windows.draw(np.random.default_rng(seed)).start for seed in range(200)]
    assert last > 2
    assert 0 <= min(starts) < 0.05 * last
    assert 0.95 * last < max(starts) <= last
    # The first and the last frame are seen by many windows too, not by next to none.
    seen = np.array([(np.array(starts) <= f) & (np.array(starts) + prior.frames - 1 >= f) for f in range(last + 16)])
    assert seen.mean(1).min() > 0.25 * seen.mean(1).max()
    # The sum of all windows' angles has a gradient on the pose of every frame, and of nothing beyond the clip.
    total = 0.0
    for start in starts:
        at = run.windows.times(Window(0.0, 0.0, start))
        assert at[-1] <= run.parameters.frames - 1
        total = total + run.parameters.motion(at, fps=1.0).angles.sum()
    (gradient,) = torch.autograd.grad(total, run.parameters.angles)
    assert bool((gradient.abs().sum(1) > 0).all())


@pytest.mark.parametrize("frames", range(40, 48))
def test_no_frame_of_the_clip_snaps_to_rest(body: tuple[Stage, Anatomy], prior: NanoPrior, frames: int) -> None:
    """Whatever the ratio of the clip's rate to the prior's, a pose that all parameters have is in every frame."""
    tempo = choose_tempo("walk", PAPER.prompt, body[1].limbs, prior)
    run = Distiller(replace(PAPER, frames=frames), prior, *body, tempo)
    with torch.no_grad():
        run.parameters.angles += 0.3
    torch.testing.assert_close(run.motion().angles, torch.full((frames, 25, 3), 0.3))


def test_values_per_frame_are_joined_without_kinks() -> None:
    """Through the values, straight where they are straight, to the ends; on a swing of eight frames the velocity has no
    jumps, which straight pieces have at each of them."""
    frames = torch.arange(9.0)
    assert torch.equal(cubic(frames, 9), torch.eye(9))
    at = torch.linspace(0, 8, 801)
    table = cubic(at, 9)
    torch.testing.assert_close(table @ (3 * frames - 2), 3 * at - 2, atol=1e-4, rtol=0)
    torch.testing.assert_close(cubic(torch.tensor([0.3]), 2), torch.tensor([[0.7, 0.3]]))
    jumps = (table @ torch.sin(2 * torch.pi * frames / 8)).diff(n=2).abs() / 0.01
    kinks = torch.sin(2 * torch.pi * frames / 8).diff(n=2).abs()
    assert float(jumps.amax()) < 0.05 * float(kinks.amax())


def test_every_frame_of_a_window_that_starts_late_is_seen(run: Distiller) -> None:
    """No window ends in a snap to rest: with a constant pose in all frames, all frames of every window have it."""
    with torch.no_grad():
        run.parameters.angles += 0.3
    for start in (1.5, float(run.parameters.frames - run.prior.frames)):
        at = run.windows.times(Window(0.0, 0.0, start))
        torch.testing.assert_close(run.parameters.motion(at, fps=1.0).angles, torch.full((len(at), 25, 3), 0.3))


def test_all_joints_and_axes_are_equal_and_nothing_drifts(run: Distiller) -> None:
    at = torch.arange(5.0)
    motion = run.parameters.motion(at, fps=8.0)
    assert torch.equal(motion.angles, torch.zeros_like(motion.angles))
    torch.testing.assert_close(motion.root_position, base_path(run.windows.stage.rig, run.tempo, at))
    changed = torch.autograd.grad(
        motion.angles.sum() + motion.root_position.sum(), (run.parameters.angles, run.parameters.root)
    )
    assert all(torch.equal(values[:5], torch.ones_like(values[:5])) for values in changed)
    assert not run.parameters.drift.requires_grad


def test_gradients_are_not_shortened(run: Distiller, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(run.optimizer, "step", lambda: seen.append(float(run.parameters.angles.grad.norm())))
    run.descend(1e6 * run.parameters.angles.sum())
    run.config = replace(PAPER, preset="default")
    run.descend(1e6 * run.parameters.angles.sum())
    assert seen[0] == pytest.approx(1e6 * run.parameters.angles.numel() ** 0.5)
    assert seen[1] == pytest.approx(MOST_GRADIENT, rel=1e-4)


def test_cameras_look_at_the_smoothed_centre_of_the_deformed_box(run: Distiller) -> None:
    """A body that jumps to the side takes the cameras along, without a gradient."""
    window = Window(40.0, 10.0, 2.0)
    with torch.no_grad():
        run.parameters.root[:, 0] += torch.linspace(0, 2, run.parameters.frames)
        run.parameters.angles[:, 30:60] += 0.4
    stage, at = run.windows.stage, run.windows.times(window)
    centers = stage.posed(run.parameters.motion(at, fps=8.0).pose(stage.rig)).centers
    wanted = smooth_path((centers.amin(1) + centers.amax(1)) / 2, sigma=4.0).detach()
    cameras = stage.cameras(run.windows.path(window), run.windows.view(window), width=96, height=72)
    # The optical axis goes through the target: it is at (0, 0, distance) of the camera.
    target = (cameras.T_camera_world[:, :, :3] @ wanted[..., None]).squeeze(-1) + cameras.T_camera_world[..., 3]
    torch.testing.assert_close(target[:, :2], torch.zeros(len(at), 2), atol=1e-5, rtol=0)
    assert not run.windows.path(window).requires_grad
    free = replace(run.windows, follow_box=False)
    assert (run.windows.path(window) - free.path(window)).norm(dim=-1).max() > 0.5


def test_cameras_stay_in_their_range_with_the_whole_body_in_the_picture(run: Distiller) -> None:
    """25 to 100° off the face to either side, 4 to 20° up; the corners of the standing body's box are in the frame."""
    prior = copy.copy(run.prior)
    prior.needs = Needs(fps=8.0)
    windows = replace(run.windows, prior=prior, follow_box=False)
    drawn = [windows.draw(np.random.default_rng(seed)) for seed in range(300)]
    yaw, up = np.array([[window.yaw_deg, window.elevation_deg] for window in drawn]).T
    for found, (low, high) in ((yaw, (25, 100)), (-yaw, (25, 100)), (up, (4, 20))):
        seen = found[found > 0]
        assert low <= seen.min() < low + 3
        assert high - 3 < seen.max() <= high
    stage = windows.stage
    low, high = torch.from_numpy(stage.box).float()
    corners = torch.stack(
        [torch.where(torch.tensor(bits, dtype=torch.bool), high, low) for bits in np.ndindex(2, 2, 2)]
    )
    for window in drawn[:20]:
        cameras = stage.cameras(windows.path(window)[:1], windows.view(window), **windows.size)
        way = windows.path(window)[0] - stage.rig.heads[0]
        seen = (corners + way) @ cameras.T_camera_world[0, :, :3].mT + cameras.T_camera_world[0, :, 3]
        fx, fy, cx, cy = cameras.focal_center_px[0]
        x, y = fx * seen[:, 0] / seen[:, 2] + cx, fy * seen[:, 1] / seen[:, 2] + cy
        assert float(x.min()) >= 0
        assert float(x.max()) <= cameras.width
        assert float(y.min()) >= 0
        assert float(y.max()) <= cameras.height


def test_the_learning_rate_falls_to_a_tenth_along_a_cosine(run: Distiller) -> None:
    """0.01 rad, and one window per iteration."""
    rates = [run.learning_rate * run.schedule.learning_rate(step) for step in (0, 5_000, 10_000)]
    assert rates == pytest.approx([0.01, 0.0055, 0.001])
    drawn = []
    run.windows = replace(run.windows)
    film = type(run.windows).film
    run.windows.__dict__["film"] = lambda window: drawn.append(window) or film(run.windows, window)
    run._sds_loss(np.random.default_rng(0))
    assert len(drawn) == 1


def test_an_image_to_video_model_is_given_the_start_pose_of_its_window(run: Distiller) -> None:
    """One frame, as the motion is now at the start of that window, without a gradient; `nothing` is no frame."""
    prior = copy.copy(run.prior)
    prior.needs = replace(prior.needs, look="color", reference="start")
    windows = replace(run.windows, prior=prior)
    with torch.no_grad():
        run.parameters.angles[:, 15:60] += torch.linspace(0, 0.6, run.parameters.frames)[:, None]
    for start in (0.0, 7.0):
        window = Window(60.0, 10.0, start)
        shown = windows.context(window).reference
        assert shown.shape[0] == 1
        assert not shown.requires_grad
        torch.testing.assert_close(shown[0], windows.film(window).video[0])
    early, late = (windows.context(Window(60.0, 10.0, start)).reference for start in (0.0, 7.0))
    assert float((early - late).abs().max()) > 0.1
    prior.needs = replace(prior.needs, reference="nothing")
    assert len(windows.context(Window(60.0, 10.0, 0.0)).reference) == 0


@pytest.mark.parametrize(("device", "at_once"), [("cpu", 2), ("cuda:0", 1)])
def test_a_card_samples_one_video_at_a_time(run: Distiller, monkeypatch, device: str, at_once: int) -> None:
    """It has memory for one; on a CPU every core has its own."""
    import kinema.distill.targets as targets

    samplers = set()

    def sampled(config, windows, index, student):
        samplers.add(threading.get_ident())
        time.sleep(0.02)
        return torch.zeros(1), float(index)

    monkeypatch.setattr(targets, "_sample", sampled)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    prior = copy.copy(run.prior)
    prior.device = device
    found = targets.sample_targets(PAPER, replace(run.windows, prior=prior), {}, done=lambda *_: None)
    assert len(found) == PAPER.views
    assert len(samplers) == at_once


def test_the_score_is_summed_over_as_many_latents_as_the_papers(run: Distiller, monkeypatch) -> None:
    """13 x 16 x 60 x 90 values of CogVideoX at guidance 100: with those the loss is the plain sum, with fewer values or
    less guidance each counts for more."""
    import kinema.distill.loop as loop

    monkeypatch.setattr(loop, "sds", lambda prior, latents, *_, **__: latents.sum() * 0 + latents.numel())
    monkeypatch.setattr(loop, "weighted_energies", lambda *_, **__: torch.zeros(()))
    assert run.state.guidance == 2.0
    assert float(run._sds_loss(np.random.default_rng(0))) == pytest.approx(13 * 16 * 60 * 90 * 50)
    run.state.guidance = 100.0
    assert float(run._sds_loss(np.random.default_rng(0))) == pytest.approx(13 * 16 * 60 * 90)


def test_energies_are_the_papers_two(run: Distiller) -> None:
    """L_smooth = MAE(Δₜ²Θ) and L_ground = mean(max(-v_y, 0)) over the cuboids' corners; nothing else counts."""
    window = Window(40.0, 10.0, 0.0)
    with torch.no_grad():
        run.parameters.root[::2, 1] -= 0.3
    filmed = run.windows.film(window)
    found = weighted_energies(filmed, PAPER, run.anatomy, feet=1.0)
    assert filmed.motion is not None
    assert filmed.T_world_joint is not None
    theta = torch.cat((filmed.motion.root_position, filmed.motion.angles.flatten(1)), 1)
    smooth = (theta[2:] - 2 * theta[1:-1] + theta[:-2]).abs().mean()
    corners = torch.from_numpy(run.anatomy.cuboids.corners).float()
    T = filmed.T_world_joint[:, :, None]
    heights = (T[..., 1, :3] * corners).sum(-1) + T[..., 1, 3]
    torch.testing.assert_close(found, 2e5 * smooth + 1e7 * (-heights).clamp(min=0).mean())


def test_a_field_has_the_same_two_energies_on_its_points(body: tuple[Stage, Anatomy], prior: NanoPrior) -> None:
    """MAE(Δₜ² points) in leg lengths and mean(max(-y, 0)) over the points, with the same weights."""
    tempo = choose_tempo("walk", PAPER.prompt, body[1].limbs, prior)
    run = Distiller(replace(PAPER, parameters="field"), prior, *body, tempo)
    points = torch.randn(6, 9, 3, generator=torch.Generator().manual_seed(0))
    found = weighted_energies(Filmed(torch.zeros(6, 3, 2, 2), points=points), run.config, run.anatomy, feet=1.0)
    smooth = (points[2:] - 2 * points[1:-1] + points[:-2]).abs().mean() / run.anatomy.limbs.leg_length
    torch.testing.assert_close(found, 2e5 * smooth + 1e7 * (-points[..., 1]).clamp(min=0).mean())


def test_splats_are_refined_from_the_vertices_and_a_shadow_falls_on_request(
    prior: NanoPrior, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kinema.job.animate as job

    character = creature("fox")
    anatomy = Anatomy.of(character)
    started = []

    def watched(splats, mesh, **options):
        started.append((splats, options.get("settings")))
        return replace(splats, opacity_logit=splats.opacity_logit + 1)

    monkeypatch.setattr(job, "refine", watched)
    stage = make_stage(replace(PAPER, splats=10, shadow=True), character, anatomy, prior)
    splats, settings = started[0]
    assert settings is None  # 200 views
    vertices = np.unique(character.mesh.vertices.astype(np.float32), axis=0)
    np.testing.assert_allclose(np.unique(splats.centers.numpy(), axis=0), vertices, atol=1e-6)
    assert torch.equal(stage.splats.opacity_logit, splats.opacity_logit + 1)
    assert stage.scene.shadow is not None
    assert make_stage(replace(PAPER, preset="default"), character, anatomy, prior).scene.shadow is None
    many = make_stage(replace(PAPER, splats=len(vertices) + 50), character, anatomy, prior)
    assert len(many.splats) == len(vertices) + 50


def test_the_clip_is_as_simulated_unless_it_is_to_settle(body: tuple[Stage, Anatomy]) -> None:
    character, anatomy = creature("fox"), body[1]
    sunk = Motion.rest(anatomy.rig, frames=8, fps=24.0)
    sunk = replace(sunk, root_position=sunk.root_position - torch.tensor([0.0, 0.05, 0.0]))
    kept = settle(PAPER, character, anatomy, sunk, None, sunk)
    assert kept is sunk
    lifted = settle(replace(PAPER, settle=True), character, anatomy, sunk, None, sunk)
    assert float((lifted.root_position - sunk.root_position)[:, 1].min()) == pytest.approx(0.05, abs=0.005)


def test_a_snake_is_not_laid_down(prior: NanoPrior, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done to a motion after it was distilled where nothing is simulated."""
    import kinema.job.animate as job

    monkeypatch.setattr(job, "refine", lambda splats, mesh, **_: splats)
    config = replace(PAPER, asset="snake", prompt="a snake is slithering", as_motion="slither", iterations=2, frames=12)
    found = job.animate(config, creature("snake"), prior)
    assert torch.equal(found.motion.root_position, found.distilled.root_position)
    assert torch.equal(found.motion.angles, found.distilled.angles)


def test_a_preset_leaves_alone_what_was_given() -> None:
    values = PRESETS["paper"]
    assert all(getattr(PAPER, name) == value for name, value in (values | {"guidance": 2.0}).items())
    video = resolve(Animate("fox", "a fox is walking", preset="paper", prior="cogvideox-2b"))
    assert all(getattr(video, name) == value for name, value in (values | {"guidance": 100.0}).items())
    given = resolve(Animate("fox", "a fox is walking", preset="paper", guidance=50.0, iterations=7))
    assert (given.guidance, given.iterations, given.smooth_weight) == (50.0, 7, 2e5)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_guidance_is_that_of_the_prior(preset: Preset) -> None:
    """Also of one with weights of one's own, and whatever the preset."""
    wanted = {"nano": 2.0, "nano=mine.safetensors": 2.0, "wan2.1-1.3b": 100.0, "ltx-video=folder": 100.0}
    jobs = (Animate("fox", "a fox is walking", preset=preset, prior=prior) for prior in wanted)
    assert [resolve(job).guidance for job in jobs] == list(wanted.values())


def test_energies_weigh_as_much_beside_a_video_model(run: Distiller, monkeypatch) -> None:
    """Its guidance of 100 makes the score fifty times as large as nano's at 2."""
    import kinema.distill.loop as loop

    monkeypatch.setattr(loop, "sds", lambda prior, latents, *_, **__: latents.sum() * 0 + latents.numel())
    monkeypatch.setattr(loop, "weighted_energies", lambda *_, **__: torch.zeros(()))
    losses = []
    for prior in ("nano", "wan2.1-1.3b"):
        run.config = replace(PAPER, preset="default", prior=prior)
        losses.append(float(run._sds_loss(np.random.default_rng(0))))
    assert losses[0] == pytest.approx(50 * losses[1])


@pytest.mark.parametrize(
    ("preset", "given"),
    [
        ("paper", {"guidance": 2.0, "slip_weight": 100.0, "time": "auto", "engine": "auto", "prior": "cogvideox-2b"}),
        ("fast", {"views": 12, "fit_iterations": 250}),
        ("gpu", {"device": "cpu", "prior": "ltx-video"}),
    ],
)
def test_a_given_value_wins_even_where_it_is_the_default(preset: Preset, given: dict[str, Any]) -> None:
    job = Animate("fox", "a fox is walking", preset=preset, **given)
    plain = resolve(Animate("fox", "a fox is walking"))
    assert all(getattr(plain, name) == value for name, value in given.items() if name != "prior")
    made = resolve(job)
    assert all(getattr(made, name) == value for name, value in given.items())
    assert resolve(made) == made  # and when the run is resumed
    assert resolve(parse(command_words(job)).command.job) == made


def test_joints_have_no_limits_in_the_papers_simulation(
    body: tuple[Stage, Anatomy], monkeypatch: pytest.MonkeyPatch
) -> None:
    import kinema.job.feet as feet

    given = []
    monkeypatch.setattr(feet, "track", lambda *_, limits, **__: given.append(limits))
    motion = Motion.rest(body[1].rig, frames=8, fps=24.0)
    for preset in ("paper", "default"):
        feet.follow_physics(replace(PAPER, physics=True, preset=preset), body[1], motion, None, lambda _: None, None)
    assert given[0] is None
    assert given[1].shape == (25, 3, 2)
