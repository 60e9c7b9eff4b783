"""Memory from fake tensors: the counter against closed forms, and the bars at full size."""

import pytest
import torch
from torch import nn

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

from kinema.errors import KinemaError
from kinema.prior.memory import GIB, LADDER, MemoryEstimate, MemoryReport, Storages, estimate_memory
from kinema.prior.quantize import Int8Linear, Nf4Linear


def test_storages_are_counted_while_they_live():
    """x, then x and y; a view costs nothing; freed bytes leave the count."""
    with FakeTensorMode(), Storages() as storages:
        x = torch.empty(1000, 1000)
        assert storages.live["cpu"] == 4_000_000
        y = x + 1
        view = y[:10].T
        assert storages.live["cpu"] == 8_000_000
        del y, view
        assert storages.live["cpu"] == 4_000_000
        assert storages.reset_peak() == 8_000_000
        assert storages.reset_peak() == 4_000_000
        on_host = x.to("meta")
        assert storages.live["meta"] == 4_000_000
        del on_host


def test_chain_keeps_every_activation_for_the_backward_pass():
    """n products y = tanh(y) keep n results; checkpointed one by one they keep only the inputs of the segments."""
    from torch.utils.checkpoint import checkpoint

    peaks = []
    for segments in (16, 4):
        with FakeTensorMode(), Storages() as storages:
            x = torch.empty(1000, requires_grad=True)
            y = x
            chain = nn.Sequential(*[nn.Tanh() for _ in range(16 // segments)])
            for _ in range(segments):
                y = chain(y) if segments == 16 else checkpoint(chain, y, use_reentrant=False)
            peaks.append(storages.reset_peak() // 4000)
    assert peaks[0] == 17
    assert peaks[1] <= 4 + 3


def test_int8_and_nf4_weights_are_near():
    generator = torch.Generator().manual_seed(0)
    linear = nn.Linear(96, 40)
    linear.weight.data = torch.randn(40, 96, generator=generator)
    x = torch.randn(7, 96, generator=generator)
    eight, four = Int8Linear(linear), Nf4Linear(linear)
    error = (eight.weight_as(torch.float32) - linear.weight).abs()
    assert (error <= eight.scale / 2 + 1e-6).all()
    # The widest gap of NF4 is 0.304 of a block's largest weight.
    blocks = linear.weight.flatten().reshape(-1, 64).abs().amax(1, keepdim=True)
    error = (four.weight_as(torch.float32) - linear.weight).abs().flatten().reshape(-1, 64)
    assert (error <= 0.153 * blocks).all()
    assert four.codes.numel() == 40 * 96 // 2
    assert_close(eight(x), torch.nn.functional.linear(x, eight.weight_as(torch.float32), linear.bias))


def test_report_names_the_fastest_setting_that_fits():
    """Peaks of 30, 20 and 7 GiB: a card may be filled to 92 %."""
    stages = {"weights": 0, "text": 0, "denoise": 0, "backward": 0, "host": 0}
    job = {"prior": "toy", "frames": 5, "height": 8, "width": 8, "parameters": {"denoiser": 10**9}}
    report = MemoryReport(
        tuple(
            MemoryEstimate(setting=setting, encode=size * GIB, **stages, **job)
            for setting, size in (("fast", 30), ("slow", 20), ("small", 7))
        )
    )
    assert [report.setting_for(card) for card in (40, 24, 12, 8)] == ["fast", "slow", "small", "small"]
    assert report.setting_for(7) is None


def test_unknown_size_is_one_line():
    with pytest.raises(KinemaError, match="known are cogvideox-2b"):
        estimate_memory("sora")


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "card"), [("bf16", 40), ("bf16, offload", 24), ("bf16, offload, tiles", 12)])
def test_cogvideox_5b_fits(setting, card):
    """Distillation at 49 x 480 x 720, checkpointed."""
    estimate = estimate_memory("cogvideox-5b", LADDER[setting], frames=49, height=480, width=720)
    assert estimate.parameters["denoiser"] == pytest.approx(5.57e9, rel=0.01)
    assert estimate.fits(card)
