"""The tiny encoder: read from a file, equal to its frame-by-frame twin, calibrated to the VAE."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

from safetensors.torch import save_file
from toy_checkpoints import TOYS

from kinema.create.creatures import creature
from kinema.distill.config import Animate, resolve
from kinema.distill.loop import Distiller
from kinema.distill.tempo import choose_tempo
from kinema.errors import KinemaError
from kinema.prior.load import load_prior
from kinema.prior.protocol import Context, VideoPrior
from kinema.prior.tiny_encoder import MemoryBlock, TimePool, TinyEncoder, calibrate
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """The published layout at 4 channels: conv, ReLU, then three times (pool, halve, 3 memory blocks), conv."""
    generator = torch.Generator().manual_seed(0)
    tensors = {}

    def convolution(key, inputs, outputs, size=3, bias=True):
        tensors[f"encoder.{key}.weight"] = 0.3 * torch.randn(outputs, inputs, size, size, generator=generator)
        if bias:
            tensors[f"encoder.{key}.bias"] = 0.1 * torch.randn(outputs, generator=generator)

    convolution("0", 3, 4)
    k = 2
    for stride in (2, 2, 1):
        convolution(f"{k}.conv", 4 * stride, 4, size=1, bias=False)
        convolution(f"{k + 1}", 4, 4, bias=False)
        for block in (k + 2, k + 3, k + 4):
            for layer, inputs in ((0, 8), (2, 4), (4, 4)):
                convolution(f"{block}.conv.{layer}", inputs, 4)
        k += 5
    convolution(f"{k}", 4, 4)
    tensors["decoder.1.weight"] = torch.zeros(1)
    path = tmp_path_factory.mktemp("tiny") / "taehv.safetensors"
    save_file(tensors, path)
    return path


def one_after_the_other(encoder: TinyEncoder, video: torch.Tensor) -> torch.Tensor:
    """The slow twin: frames in turn, each block with its memory of the frame before."""
    memory, queues, outputs = {}, {}, []

    def feed(k: int, x: torch.Tensor) -> None:
        if k == len(encoder.blocks):
            outputs.append(x)
            return
        block = encoder.blocks[k]
        if isinstance(block, MemoryBlock):
            before = memory.get(k, torch.zeros_like(x))
            memory[k] = x
            feed(k + 1, F.relu(block.conv(torch.cat([x, before], 1)) + block.skip(x)))
        elif isinstance(block, TimePool):
            queues.setdefault(k, []).append(x)
            if len(queues[k]) == block.stride:
                feed(k + 1, block.conv(torch.cat(queues.pop(k), 1)))
        else:
            feed(k + 1, block(x))

    padded = [*video, *[video[-1]] * (-len(video) % encoder.time)]
    for frame in padded:
        feed(0, frame[None])
    return torch.cat(outputs)


def test_encoder_equals_its_twin(weights):
    encoder = TinyEncoder.load(weights, device="cpu", dtype=torch.float64)
    assert encoder.time == 4
    generator = torch.Generator().manual_seed(1)
    video = torch.rand(9, 3, 16, 24, generator=generator, dtype=torch.float64, requires_grad=True)
    fast, slow = encoder(video), one_after_the_other(encoder, video)
    assert fast.shape == (3, 4, 2, 3)
    assert_close(fast, slow)
    assert_close(*(torch.autograd.grad(z.square().sum(), video)[0] for z in (fast, slow)))


def test_calibration_recovers_gain_and_offset():
    """y = a x + b per channel has an exact least-squares answer."""
    x = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(2))
    gain = torch.tensor([2.0, -1.0, 0.5, 3.0])[:, None, None]
    offset = torch.tensor([0.0, 1.0, -2.0, 0.3])[:, None, None]
    found = calibrate(x, gain * x + offset)
    assert_close(found.gain, gain)
    assert_close(found.offset, offset, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["cogvideox-5b", "cogvideox-1.5-5b"])
def test_prior_with_a_tiny_encoder(name, weights, tmp_path, monkeypatch):
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    TOYS[name].write(tmp_path)
    prior = load_prior(f"{name}={tmp_path}", video_size=TOYS[name].video_size, tiny_encoder=weights)
    plain = load_prior(f"{name}={tmp_path}", video_size=TOYS[name].video_size)
    assert isinstance(prior, VideoPrior)
    generator = torch.Generator().manual_seed(3)
    video = torch.rand(prior.frames, 3, prior.height, prior.width, generator=generator, requires_grad=True)
    context = Context(reference=video.detach())
    z, real = prior.encode(video, context), plain.encode(video, context).detach()
    assert z.shape == real.shape
    # Least squares leaves a residual without a mean.
    padding = prior.padding
    assert_close(z[padding:].mean((0, 2, 3)), real[padding:].mean((0, 2, 3)), atol=1e-4, rtol=1e-3)
    (gradient,) = torch.autograd.grad((z * torch.randn(z.shape, generator=generator)).sum(), video)
    assert (gradient.flatten(1).abs().amax(1) > 0).all()


def test_a_run_calibrates_on_a_video_of_its_own(weights, tmp_path, monkeypatch):
    """Whatever other runs have shown the prior before. What a model is given stays its business: an image-to-video
    model's videos go on from the start pose of their window, with a tiny encoder too."""
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    TOYS["cogvideox-5b-i2v"].write(tmp_path)
    size = TOYS["cogvideox-5b-i2v"].video_size or (9, 32, 48)
    prior = load_prior(f"cogvideox-5b-i2v={tmp_path}", video_size=size, tiny_encoder=weights)
    assert prior.needs.reference == "start"
    character = creature("fox")
    anatomy = Anatomy.of(character)
    rng = np.random.default_rng(0)
    stage = Stage.from_character(character, anatomy.rig, count=50, look="color", rng=rng)
    tempo = choose_tempo("walk", "a fox is walking", anatomy.limbs, prior)
    gains = []
    for seed in (0, 1, 0):
        config = resolve(Animate("fox", "a fox is walking", prior="cogvideox-5b-i2v", seed=seed))
        Distiller(config, prior, stage, anatomy, tempo)
        gains.append(prior.encode.calibration.gain)
    assert torch.equal(gains[0], gains[2])
    assert not torch.equal(gains[0], gains[1])


def test_other_files_are_one_line(tmp_path):
    with pytest.raises(KinemaError, match="no such file"):
        TinyEncoder.load(tmp_path / "none.safetensors", device="cpu", dtype=torch.float32)
    save_file({"decoder.0.weight": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(KinemaError, match="not the weights of a tiny video encoder"):
        TinyEncoder.load(tmp_path / "other.safetensors", device="cpu", dtype=torch.float32)
