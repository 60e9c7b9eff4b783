"""`--preset gpu`, its counts and predictions, and that nothing of a step leaves the prior's device."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("diffusers", reason="needs the extra `gpu`")

from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from toy_checkpoints import TOYS

from kinema.create.creatures import creature
from kinema.distill.config import Animate, Resolved, resolve
from kinema.distill.loop import Distiller
from kinema.distill.schedule import Schedule
from kinema.distill.tempo import choose_tempo
from kinema.errors import KinemaError
from kinema.prior import checkpoint, gpu
from kinema.prior.checkpoint import Placement
from kinema.prior.full_size import KNOWN, build
from kinema.prior.gpu import CARDS, SETTINGS, Prediction, Setting, predictions, refuse_if_too_large, setting_for
from kinema.prior.load import MODELS, load_prior
from kinema.prior.memory import GIB, LADDER, MemoryEstimate, Storages, estimate_memory
from kinema.prior.nano.model import Nano
from kinema.prior.nano.prior import NanoPrior
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy

GPU = "meta"
"""Stands for the GPU under fake tensors: autograd works on it, and it does not mix with the CPU, which is the host."""


def fake_rasterization(means, quats, scales, opacities, colors, viewmats, Ks, width, height, covars, **options):
    """What gsplat's kernels give, without the kernels: shapes, devices, and gradients to all operands."""
    used = (means, opacities, colors, viewmats, Ks, covars)
    assert {tensor.device.type for tensor in used} == {GPU}
    total = sum(tensor.sum() for tensor in used)
    frames = len(means)
    return total.expand(frames, 1, height, width, 4), total.expand(frames, 1, height, width, 1), {}


class Copies(TorchDispatchMode):
    """Notes copies from one device to another: source, target, number of values."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, str, int]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        sources = {
            torch.ops.aten._to_copy.default: args[:1],
            torch.ops.aten.copy_.default: args[1:2],
        }.get(func, ())
        for source in sources:
            if isinstance(source, torch.Tensor) and source.device != result.device:
                self.seen.append((source.device.type, result.device.type, source.numel()))
        return result


SMALL = (9, 64, 96)


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize(
    "name", ["ltx-video", *(pytest.param(name, marks=pytest.mark.slow) for name in ("wan2.1-1.3b", "cogvideox-5b"))]
)
def test_a_step_stays_on_the_device_from_joint_angles_to_gradient(name, preset, monkeypatch) -> None:
    """Real classes at full width on fake tensors: a tensor made on the host would not mix with them, and no tensor
    comes back. Only the noise goes there, which is drawn on the host so that a seed means the same everywhere."""
    gsplat = pytest.importorskip("gsplat", reason="needs the extra `gpu`")
    monkeypatch.setattr(gsplat, "rasterization", fake_rasterization)
    character = creature("fox")
    anatomy = Anatomy.of(character)
    rng = np.random.default_rng(0)
    stage = Stage.from_character(character, anatomy.rig, count=50, look="color", rng=rng)
    config = resolve(Animate("fox", "prompt", preset=preset, engine="sds", frames=24))
    with FakeTensorMode(allow_non_fake_inputs=True), Copies() as copies:
        size = dict(zip(("frames", "height", "width"), SMALL))
        prior, _ = build(name, Placement(device=GPU, dtype=torch.bfloat16), **size)
        tempo = choose_tempo("walk", "a fox is walking", anatomy.limbs, prior)
        on_device = stage.to(GPU)
        assert on_device.colors.device.type == GPU
        run = Distiller(config, prior, on_device, anatomy, tempo)
        copies.seen.clear()
        loss = run._sds_loss(np.random.default_rng(0))
        assert loss.device.type == GPU
        loss.backward()
        for parameter in (p for p in run.parameters.parameters() if p.requires_grad):
            assert parameter.grad is not None
            assert parameter.grad.device.type == GPU
        assert not [copy for copy in copies.seen if copy[0] == GPU]
    # Bones' corners, paths and the like are small beside it.
    *others, noise = sorted(count for _, _, count in copies.seen)
    assert sum(others) < min(1000, noise)


def test_paper_mode_too_keeps_its_cameras_on_the_device() -> None:
    character = creature("fox")
    anatomy = Anatomy.of(character)
    stage = Stage.from_character(character, anatomy.rig, count=50, look="color", rng=np.random.default_rng(0)).to(GPU)

    class Film:
        frames, height, width, device, read, motions = 9, 64, 96, GPU, None, ()
        needs = replace(gpu_needs(), reference="nothing")

        def condition(self, prompt, context): ...
        def encode(self, video, context): ...
        def decode(self, latents, context): ...
        def add_noise(self, clean, noise, t): ...
        def denoise(self, noisy, t, conditions): ...

    tempo = choose_tempo("walk", "a fox is walking", anatomy.limbs, Film())
    config = resolve(Animate("fox", "a fox is walking", preset="paper", frames=24))
    run = Distiller(config, Film(), stage, anatomy, tempo)
    window = run.windows.draw(np.random.default_rng(0))
    assert run.windows.path(window).device.type == GPU
    assert len(run.windows.context(window).reference) == 0


def gpu_needs():
    from kinema.prior.protocol import Needs

    return Needs(fps=8.0)


def test_offloaded_blocks_visit_the_device_two_at_a_time_and_keep_their_values() -> None:
    """The next block is fetched while one runs; none stays, and the host's tensors come back."""
    torch.manual_seed(0)
    model = nn.ModuleDict({"blocks": nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])})
    x = torch.randn(2, 4)
    plain = x
    for block in model["blocks"]:
        plain = block(plain)
    host = [block.weight.detach().clone() for block in model["blocks"]]
    visits = checkpoint._Visits(list(model["blocks"]), "cpu")
    seen = []
    for block in model["blocks"]:
        block.register_forward_hook(lambda *_: seen.append(sorted(visits.fetched)))
    y = x
    for block in model["blocks"]:
        y = block(y)
    torch.testing.assert_close(y, plain)
    assert seen == [[1], [2], [3], []]  # after each block: only the next one is there
    assert visits.fetched == {}
    assert all(torch.equal(block.weight, weight) for block, weight in zip(model["blocks"], host))


def test_products_and_copies_are_counted() -> None:
    """One product of [m, k] x [k, n] is 2 m k n; attention 4 n² d per head; a copy moves its bytes."""
    with FakeTensorMode(), Storages() as storages:
        _ = torch.empty(8, 16) @ torch.empty(16, 32)
        q = torch.empty(1, 2, 64, 16)
        nn.functional.scaled_dot_product_attention(q, q, q)
        _ = torch.empty(1000, device="meta").to("cpu")
        _ = torch.empty(8, 16, dtype=torch.bfloat16) @ torch.empty(16, 32, dtype=torch.bfloat16)
    single = 2 * 8 * 16 * 32 + 2 * 4 * 64 * 64 * 16
    assert (storages.flops, storages.single) == (single + 2 * 8 * 16 * 32, single)
    assert storages.moved == 4000


def test_attention_is_counted_backward_too() -> None:
    """Its gradient is five products of n x n x d where the way forward has two: the scores are made again."""
    with FakeTensorMode(), Storages() as storages:
        q = torch.empty(1, 2, 64, 16, requires_grad=True)
        found = nn.functional.scaled_dot_product_attention(q, q, q)
        forward = storages.flops
        found.sum().backward()
    assert forward == 2 * 4 * 64 * 64 * 16
    assert storages.flops - forward == 2.5 * forward


def test_a_prediction_is_steps_times_work_over_rates() -> None:
    card, setting = CARDS[3], Setting(33, 320, 480, 600, "bf16")
    stages = {"weights": 0, "text": 0, "encode": 0, "denoise": 0, "backward": 0, "host": 0}
    job = {"prior": "toy", "setting": "", "frames": 33, "height": 320, "width": 480, "parameters": {}}
    estimate = MemoryEstimate(**job, **stages, tokens=1, flops=int(70e12), single=int(10e12), moved=int(20e9))
    assert card.name == "RTX 4090"
    assert Prediction(card, setting, estimate).minutes == pytest.approx(10 * (1 + 1 + gpu.RENDER_SECONDS))


def test_learnt_places_take_one_size(tmp_path: Path) -> None:
    """CogVideoX 5B's image-to-video model refuses other sides than 480 x 720: its settings have those."""
    TOYS["cogvideox-5b-i2v"].write(tmp_path)
    with pytest.raises(KinemaError) as error:
        load_prior(f"cogvideox-5b-i2v={tmp_path}", video_size=(9, 32, 64))
    said = "this CogVideoX has learnt the places of 32 x 48, no others"
    assert str(error.value) == f"--video-size 9 32 64: {said}"
    assert load_prior(f"cogvideox-5b-i2v={tmp_path}", video_size=(9, 32, 48)).frames == 9
    sides = {(setting.height, setting.width) for setting in SETTINGS["cogvideox-5b-i2v"].values()}
    assert sides == {(480, 720)}


def test_steps_of_one_kind_are_counted_once(monkeypatch) -> None:
    """Cards of 8 and 12 GB see the same videos, for more or fewer steps."""
    seen = []

    def counted(prior, placement, *, tiny, **size):
        seen.append(size | {"tiny": tiny})
        stages = {"weights": 0, "text": 0, "encode": 0, "denoise": 0, "backward": 0, "host": 0}
        return MemoryEstimate(prior=prior, parameters={}, **size, **stages, flops=int(1e12))

    monkeypatch.setattr(gpu, "estimate_memory", counted)
    found = predictions("ltx-video")
    assert len(seen) == 3
    steps = {prediction.card.gigabytes: prediction.setting.steps for prediction in found}
    assert (steps[8], steps[12]) == (900, 1200)
    # A tiny encoder leaves time for larger videos, where a model has such a setting.
    frames = [found.setting.frames for found in predictions("wan2.1-1.3b", CARDS[:1], tiny=True)]
    assert (frames, seen[-1]["tiny"]) == ([33], True)
    assert setting_for("ltx-video", 24, tiny=True) == SETTINGS["ltx-video"][24]


def test_every_card_gets_a_setting_and_the_others_one_line() -> None:
    assert set(SETTINGS) == set(MODELS) == set(KNOWN)
    for prior, settings in SETTINGS.items():
        assert sorted(settings) == [8, 12, 24, 40]
        assert setting_for(prior, 23.6) == settings[24]
        assert setting_for(f"{prior}=folder", 80.0) == settings[40]
    assert not SETTINGS["wan2.1-1.3b"][24].options["offload"]
    assert not SETTINGS["cogvideox-2b"][24].options["offload"]
    with pytest.raises(KinemaError, match=r"no setting for nano; there are some for wan2\.1-1\.3b"):
        setting_for("nano", 24.0)
    with pytest.raises(KinemaError, match=r"needs a card of 8 GB, this one has 6\.0 GB"):
        setting_for("ltx-video", 6.0)


def test_the_preset_takes_the_card_of_this_machine(monkeypatch) -> None:
    given = Animate("fox", "a fox is walking", preset="gpu", iterations=5)
    job = resolve(given)
    assert (job.prior, job.device, job.video_size, job.iterations) == ("wan2.1-1.3b", "cuda", None, 5)
    if not torch.cuda.is_available():
        with pytest.raises(KinemaError, match="--device cuda: this machine has no CUDA device; use --device cpu"):
            load_prior(job.prior, device=job.device)
    card = type("Card", (), {"total_memory": 25.3e9})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    job = resolve(given)
    assert (job.video_size, job.offload, job.engine, job.iterations) == ((17, 256, 384), False, "sds", 5)
    assert resolve(job) == job


def test_text_to_video_models_do_not_fit() -> None:
    class TextToVideo(NanoPrior):
        needs = replace(gpu_needs(), engines=("sds",))

    prior = TextToVideo(Nano(width=16, layers=1, heads=2))
    config = Resolved("fox", "a fox is walking", prior="ltx-video")
    assert Schedule.of(config, prior).fit == 0
    with pytest.raises(KinemaError, match="ltx-video samples videos of other characters; use --engine sds"):
        Schedule.of(replace(config, engine="fit"), prior)


def test_a_job_that_does_not_fit_names_peak_and_setting(monkeypatch) -> None:
    """Counted before anything is loaded."""
    peaks = {"bf16": 30, "bf16, offload": 20, "bf16, offload, tiles": 9, "nf4, offload, tiles": 7}

    def counted(prior, placement, **size):
        setting = next((name for name, rung in LADDER.items() if rung == placement), "bf16")
        stages = {"weights": 0, "text": 0, "denoise": 0, "backward": 0, "host": 0}
        job = {"prior": prior, "frames": 49, "height": 480, "width": 720, "parameters": {}}
        return MemoryEstimate(setting=setting, encode=peaks[setting] * GIB, **stages, **job)

    monkeypatch.setattr(gpu, "estimate_memory", counted)
    refuse_if_too_large("cogvideox-5b", 40.0, Placement(), None)
    with pytest.raises(KinemaError) as error:
        refuse_if_too_large("cogvideox-5b", 12.0, Placement(), (49, 480, 720))
    first = "--prior cogvideox-5b at 49 x 480 x 720 takes 30.0 GiB, this card has 12 GB"
    assert str(error.value) == f"{first}; --offload --tiling takes 9.0 GiB"
    with pytest.raises(KinemaError, match="no setting fits; --preset gpu or a smaller --video-size does"):
        refuse_if_too_large("cogvideox-5b", 4.0, Placement(), None)


@pytest.mark.slow
@pytest.mark.parametrize("prior", SETTINGS)
def test_the_settings_fit_their_cards(prior) -> None:
    for found in predictions(prior):
        assert found.estimate.fits(found.card.gigabytes), (found.card, found.setting, found.estimate.peak / GIB)


@pytest.mark.slow
def test_a_tiny_encoder_takes_less_time_and_memory() -> None:
    """It is calibrated once; after that a step has none of the model's own encoder."""
    size = {"frames": 9, "height": 256, "width": 384}
    own, tiny = (estimate_memory("wan2.1-1.3b", LADDER["bf16"], tiny=tiny, **size) for tiny in (False, True))
    assert own.single > 0.5 * own.flops
    assert tiny.single == 0
    assert tiny.flops < 0.5 * own.flops
    assert tiny.backward < own.backward


@pytest.mark.slow
def test_two_models_take_at_most_15_minutes_on_24_gb_by_count() -> None:
    for prior in ("wan2.1-1.3b", "ltx-video"):
        assert next(found.minutes for found in predictions(prior) if found.card.name == "RTX 4090") <= 15


@pytest.mark.parametrize(
    ("name", "size", "fps"),
    [
        ("cogvideox-1.5-5b", (81, 768, 1360), 16.0),
        ("cogvideox-1.5-5b-i2v", (81, 768, 1360), 16.0),
        ("wan2.1-1.3b", (81, 480, 832), 16.0),
        ("wan2.2-5b", (121, 704, 1280), 24.0),
        ("ltx-video", (161, 512, 704), 25.0),
        ("modelscope", (16, 256, 256), 8.0),
        ("zeroscope", (24, 320, 576), 8.0),
    ],
)
def test_models_have_their_published_sizes_and_rates(name, size, fps) -> None:
    """CogVideoX 1.5's configuration says 300 x 300 latents, which is the greatest grid of positions, and Zeroscope's is
    ModelScope's; both were published otherwise."""
    from kinema.prior.full_size import COGVIDEOX

    assert COGVIDEOX["cogvideox-1.5-5b"]["sample_height"] == 300
    with FakeTensorMode():
        prior, _ = build(name, Placement(dtype=torch.bfloat16))
    assert (prior.frames, prior.height, prior.width) == size
    assert prior.needs.fps == fps


def test_a_folder_that_is_no_checkpoint_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KinemaError) as error:
        load_prior(f"ltx-video={tmp_path}")
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)
