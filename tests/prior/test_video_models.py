"""Every diffusers prior at toy size: real classes, checkpoints written with save_pretrained, the whole path."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

pytest.importorskip("diffusers", reason="needs the extra `gpu`")
pytest.importorskip("transformers", reason="needs the extra `gpu`")

from toy_checkpoints import TOYS

from kinema.distill.sds import sds
from kinema.errors import KinemaError
from kinema.prior.load import load_prior, load_student
from kinema.prior.protocol import Context, VideoPrior, guide, guided_estimate, sample

PROMPT = "a fox is trotting"


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINEMA_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module", params=list(TOYS))
def toy(request, tmp_path_factory) -> tuple[str, Path]:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp(request.param)
    TOYS[request.param].write(folder)
    return request.param, folder


def video_for(prior: VideoPrior, seed: int = 0) -> torch.Tensor:
    return torch.rand(prior.frames, 3, prior.height, prior.width, generator=torch.Generator().manual_seed(seed))


def load(toy: tuple[str, Path], *, video_size=None, **options):
    name, folder = toy
    return load_prior(f"{name}={folder}", video_size=video_size or TOYS[name].video_size, **options)


def setting(toy: tuple[str, Path], **options):
    prior = load(toy, **options)
    video = video_for(prior)
    context = Context(reference=video_for(prior, seed=1))
    return prior, video, context


def test_shows_the_face_of_a_prior(toy):
    prior, video, context = setting(toy)
    assert isinstance(prior, VideoPrior)
    latents = prior.encode(video, context)
    assert latents.dtype == video.dtype
    assert latents.isfinite().all()
    assert prior.decode(latents, context).shape == video.shape
    assert torch.equal(latents, load(toy).encode(video, context))


def test_noise_and_clean_estimate_are_consistent(toy):
    """add_noise is a(t) z + b(t) ε with b rising from near 0 to near 1."""
    prior, video, context = setting(toy)
    z = prior.encode(video, context)
    e = torch.randn(z.shape, generator=torch.Generator().manual_seed(1))
    unit = [prior.add_noise(torch.zeros_like(z), torch.ones_like(z), t).mean().item() for t in (0.02, 0.5, 0.98)]
    assert 0 < unit[0] < 0.35
    assert unit[0] < unit[1] < unit[2] <= 1.001
    both = prior.add_noise(z, e, 0.5)
    assert_close(both, prior.add_noise(z, 0 * e, 0.5) + prior.add_noise(0 * z, e, 0.5))


def test_clean_estimate_and_guidance_are_the_pipelines(toy):
    """diffusers' own pipeline and scheduler, run on the same noisy latents, give the same guided clean estimate."""
    prior, video, context = setting(toy)
    z = prior.encode(video, context)
    noise = torch.randn(z.shape, generator=torch.Generator().manual_seed(2))
    t, noisy, expected = TOYS[toy[0]].estimate(toy[1], prior, z, noise, context, PROMPT, guidance=3.0)
    cond, uncond = prior.condition(PROMPT, context), prior.condition("", context)
    estimate = guided_estimate(prior, noisy, t, cond, uncond, guidance=3.0)
    assert_close(estimate, expected, atol=2e-4, rtol=1e-3)
    with_text, without = prior.denoise(noisy, t, [cond, uncond])
    assert not torch.equal(with_text, without)
    assert_close(guide(with_text, without, 1.0), prior.denoise(noisy, t, [cond])[0], atol=1e-5, rtol=1e-4)


def test_latents_and_gradient_are_those_of_the_plain_vae(toy):
    """Checkpointed encoding has the values and the gradient that diffusers' VAE gives without any checkpoint."""
    prior, video, context = setting(toy)
    video.requires_grad_()
    z = prior.encode(video, context)
    weight = torch.randn(z.shape, generator=torch.Generator().manual_seed(3))
    (gradient,) = torch.autograd.grad((weight * z).sum(), video)
    assert gradient.dtype == video.dtype
    assert (gradient.flatten(1).abs().amax(1) > 0).all()
    twin = load(toy, checkpointing=False)
    assert not any("Checkpointed" in type(module).__name__ for module in twin.vae.modules())
    assert not any(getattr(module, "gradient_checkpointing", False) for module in twin.vae.modules())
    expected = twin.encode(video, context)
    assert_close(z, expected, atol=1e-5, rtol=1e-5)
    assert_close(gradient, torch.autograd.grad((weight * expected).sum(), video)[0], atol=1e-6, rtol=1e-4)


def test_sds_and_samples_repeat_with_a_seed(toy):
    results = []
    for seed in (5, 5, 6):
        prior, video, context = setting(toy)
        video.requires_grad_()
        generator = torch.Generator().manual_seed(seed)
        cond, uncond = prior.condition(PROMPT, context), prior.condition("", context)
        z = prior.encode(video, context)
        loss = sds(prior, z, cond, uncond, t=0.6, guidance=7.0, generator=generator)
        loss.backward()
        drawn = sample(prior, z.detach(), cond, uncond, guidance=2.0, steps=2, generator=generator)
        assert drawn.shape == z.shape
        assert drawn.isfinite().all()
        results.append((video.grad, drawn))
    assert all(torch.equal(a, b) for a, b in zip(results[0], results[1]))
    assert not torch.equal(results[0][0], results[2][0])


def test_half_precision_keeps_latents_in_the_videos(toy):
    prior, video, context = setting(toy, dtype=torch.bfloat16)
    single, _, _ = setting(toy)
    video.requires_grad_()
    latents = prior.encode(video, context)
    assert latents.dtype == torch.float32
    assert_close(latents, single.encode(video, context), atol=0.1, rtol=0.1)
    (estimate,) = prior.denoise(latents.detach(), 0.5, [prior.condition(PROMPT, context)])
    assert estimate.dtype == torch.float32
    latents.sum().backward()
    assert video.grad is not None
    assert video.grad.dtype == torch.float32


def test_offloaded_and_quantised_weights_say_nearly_the_same(toy):
    """Offload changes nothing, int8 little and nf4 more."""
    prior, video, context = setting(toy)
    z = prior.encode(video, context)
    (expected,) = prior.denoise(z, 0.5, [prior.condition(PROMPT, context)])
    errors = {}
    for options in ({"offload": True}, {"quantize": "int8"}, {"quantize": "nf4"}):
        other, _, _ = setting(toy, **options)
        assert_close(other.encode(video, context), z, atol=1e-6, rtol=1e-5)
        estimate = other.denoise(z, 0.5, [other.condition(PROMPT, context)] * 2)[1]
        errors[next(iter(options.values()))] = (estimate - expected).norm() / expected.norm()
    assert errors[True] < 1e-5
    assert errors["int8"] < 0.02
    assert errors["int8"] < errors["nf4"] < 0.3


def test_text_is_embedded_once(toy, monkeypatch):
    """A second load finds the text in the cache and never opens the text encoder."""
    import transformers

    first, _, context = setting(toy)
    embedded = first.condition(PROMPT, context)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", None)
    second = load(toy)
    assert_close(second.condition(PROMPT, context)["text"], embedded["text"])
    assert second.condition("", context)["text"].shape == embedded["text"].shape
    with pytest.raises(KinemaError, match="tokenizer"):
        second.condition("another prompt", context)


def test_missing_weights_are_one_line(toy, tmp_path):
    name, folder = toy
    with pytest.raises(KinemaError, match="no such folder"):
        load_prior(f"{name}={tmp_path / 'nothing'}")
    part = "unet" if (folder / "unet").is_dir() else "transformer"
    for file in [*folder.rglob("*.json"), *folder.rglob("*.safetensors")]:
        if file.name.endswith(".safetensors") and file.parent.name == part:
            continue
        target = tmp_path / "copy" / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    with pytest.raises(KinemaError, match=f"{part}.*safetensors") as error:
        load_prior(f"{name}={tmp_path / 'copy'}")
    assert "\n" not in str(error.value)
    (tmp_path / "copy" / part / "diffusion_pytorch_model.safetensors").write_bytes(b"cut off")
    with pytest.raises(KinemaError, match="cannot read the weights") as error:
        load_prior(f"{name}={tmp_path / 'copy'}")
    assert "\n" not in str(error.value)


@pytest.fixture
def image_to_video(tmp_path) -> tuple[VideoPrior, Path]:
    torch.manual_seed(0)
    TOYS["ltx-video-i2v"].write(tmp_path / "teacher")
    return load(("ltx-video-i2v", tmp_path / "teacher")), tmp_path / "student"


def test_a_video_that_continues_an_image_begins_with_it(image_to_video):
    """Whatever the noise, the first frame's clean latents are those of the image, and so are a sample's."""
    prior, _ = image_to_video
    assert prior.needs.reference == "start"
    context = Context(reference=video_for(prior, seed=1))
    like = prior.encode(video_for(prior), context)
    words, none = prior.condition(PROMPT, context), prior.condition("", context)
    assert_close(prior.denoise(torch.randn_like(like), 0.9, [words])[0][0], words["image"][0], atol=1e-5, rtol=1e-4)
    drawn = sample(prior, like, words, none, guidance=2.0, steps=2, generator=torch.Generator().manual_seed(0))
    assert_close(drawn[0], words["image"][0], atol=1e-5, rtol=1e-4)


def test_a_student_is_its_teacher_with_other_weights(image_to_video):
    prior, folder = image_to_video
    with pytest.raises(KinemaError, match=r"student: no such folder; --student needs a transformer"):
        load_student("ltx-video-i2v", prior, folder)
    torch.manual_seed(1)
    TOYS["ltx-video-i2v"].write(folder)
    student = load_student("ltx-video-i2v", prior, folder)
    assert isinstance(student, VideoPrior)
    assert student.vae is prior.vae
    context = Context(reference=video_for(prior, seed=1))
    noisy = torch.randn(prior.encode(video_for(prior), context).shape)
    words = prior.condition(PROMPT, context)
    own = load(("ltx-video-i2v", folder))
    given = own.denoise(noisy, 0.5, [words])[0]
    assert_close(student.denoise(noisy, 0.5, [words])[0], given)
    assert not torch.allclose(prior.denoise(noisy, 0.5, [words])[0], given)
    texts = load(("ltx-video", folder))
    with pytest.raises(KinemaError, match=r"ltx-video samples no videos to fit; image-to-video models do"):
        load_student("ltx-video", texts, folder)


def test_tiles_are_checkpointed_too(tmp_path):
    """Tiled encoding with recomputed chunks and caches on the host has the gradient of diffusers' tiled encoding."""
    torch.manual_seed(0)
    TOYS["cogvideox-5b"].write(tmp_path)
    toy = ("cogvideox-5b", tmp_path)
    size = {"video_size": (9, 80, 80)}
    results = []
    for options in ({"offload": True}, {"checkpointing": False}):
        prior, video, context = setting(toy, tiling=True, **size, **options)
        # Published tiles are half a frame; these leave 8 pixels, one latent, for the last tile.
        prior.vae.enable_tiling(32, 32, 0.25, 0.25)
        video.requires_grad_()
        z = prior.encode(video, context)
        weight = torch.randn(z.shape, generator=torch.Generator().manual_seed(4))
        results.append((z, torch.autograd.grad((weight * z).sum(), video)[0]))
    assert_close(results[0], results[1], atol=1e-6, rtol=1e-4)
    plain, video, context = setting(toy, **size)
    assert not torch.equal(plain.encode(video, context), results[0][0])
