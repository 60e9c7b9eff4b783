import pytest
import torch

from kinema.errors import KinemaError
from kinema.prior.nano.codec import Codec, fit_codec, patches, still_tokens, unpatch
from kinema.prior.nano.model import Conditions, Nano
from kinema.prior.nano.prior import NanoPrior, Reader, fit_reader, save_weights
from kinema.prior.nano.text import embed_texts
from kinema.prior.protocol import Context, guide, sample


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_text_embeddings_are_those_of_the_library_that_carries_them() -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from kinema.prior.nano.text import model_folder

    texts = ["a fox is trotting", "A vixen, hurrying along!", "", "x " * 600]
    theirs = sentence_transformers.SentenceTransformer(str(model_folder()), device="cpu")
    theirs.max_seq_length = 256
    expected = torch.from_numpy(theirs.encode(texts, normalize_embeddings=True))
    torch.testing.assert_close(embed_texts(texts), expected, atol=2e-5, rtol=0)


def test_patches_are_a_permutation() -> None:
    video = torch.randn(2, 16, 3, 48, 64, generator=rng())
    tokens = patches(video)
    assert torch.equal(unpatch(tokens), video)
    # Token (time 0, patch p) begins with the patch of frame 0 that still_tokens gives.
    first = tokens.unflatten(1, (4, 48)).unflatten(-1, (4, 192))[:, 0, :, 0]
    assert torch.equal(first, still_tokens(video[:, 0]))


def test_codec_is_the_best_linear_one_and_its_gradient_is_its_transpose() -> None:
    low_rank = torch.randn(4000, 5, generator=rng(1)) @ torch.randn(5, 768, generator=rng(2))
    codec = fit_codec(low_rank, channels=5)
    identity = codec.components @ codec.components.T
    torch.testing.assert_close(identity, torch.eye(5), atol=1e-5, rtol=0)
    video = unpatch(low_rank[:192])
    torch.testing.assert_close(codec.decode(codec.encode(video)), video, atol=1e-3, rtol=1e-4)
    x = video.clone().requires_grad_()
    weight = torch.randn(192, 5, generator=rng(3))
    (codec.encode(x) * weight).sum().backward()
    torch.testing.assert_close(x.grad, unpatch(weight @ codec.components * codec.scale))


def toy() -> tuple[Nano, Codec, Reader]:
    model = Nano(channels=6, width=16, layers=1, heads=2, generator=rng(11))
    components = torch.linalg.qr(torch.randn(768, 6, generator=rng(4)))[0].T.contiguous()
    reader = Reader(("walk", "stand"), torch.randn(2, 384, generator=rng(5)), torch.zeros(2), embed_texts(["walking"]))
    return model, Codec(components, 2.0), reader


def context() -> Context:
    return Context(torch.rand(16, 3, 48, 64, generator=rng(6)), phase=0.25, period=10.0, speed=0.1)


def test_weights_survive_a_file_and_conditions_matter(tmp_path) -> None:
    model, codec, reader = toy()
    for parameter in model.parameters():  # adaLN-zero starts deaf; give every path something to say
        torch.nn.init.normal_(parameter, std=0.1, generator=rng(7))
    save_weights(tmp_path / "w.safetensors", model, codec, reader, note={})
    prior = NanoPrior.load(tmp_path / "w.safetensors")
    noisy = torch.randn(192, 6, generator=rng(8))
    given = [prior.condition(prompt, context()) for prompt in ("a fox walking", "")]
    cond, uncond = prior.denoise(noisy, 0.5, given)
    assert (cond - uncond).abs().max() > 1e-4
    alone = prior.denoise(noisy, 0.5, given[:1])[0]
    torch.testing.assert_close(alone, cond, atol=1e-5, rtol=1e-4)
    batch = Conditions(*(getattr(given[0], key) for key in ("text", "still", "motion", "camera")))
    direct = model.clean(noisy[None], torch.tensor([0.5]), batch)[0]
    torch.testing.assert_close(cond, direct, atol=0.02, rtol=0.02)  # half precision on disk
    torch.testing.assert_close(guide(cond, uncond, 1.0), cond)
    assert torch.equal(guide(cond, uncond, 0.0), uncond)


def test_a_perfect_denoiser_is_sampled_exactly() -> None:
    """DDIM with an oracle that always answers z* must end at z*."""
    model, codec, reader = toy()
    prior = NanoPrior(model, codec, reader)
    truth = torch.randn(192, 6, generator=rng(9))
    prior.denoise = lambda noisy, t, conditions: [truth for _ in conditions]  # type: ignore[method-assign]
    torch.testing.assert_close(sample(prior, truth, None, None, guidance=2.0, steps=5, generator=rng()), truth)


def test_a_network_that_knows_v_gives_the_clean_latents() -> None:
    """v = a e - s z with a = cos(pi t / 2) and s = sin(pi t / 2), the derivative of z_t = a z + s e by its angle."""
    model, codec, reader = toy()
    prior = NanoPrior(model, codec, reader)
    z, e = torch.randn(2, 192, 6, generator=rng(10))
    given = prior.condition("walking", context())
    for t in (0.02, 0.5, 0.98):
        angle = torch.tensor(t * torch.pi / 2)
        v = angle.cos() * e - angle.sin() * z
        model.forward = lambda *_, v=v: v[None]  # type: ignore[method-assign]
        (clean,) = prior.denoise(prior.add_noise(z, e, t), t, [given])
        torch.testing.assert_close(clean, z, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("content", [b"", b"not weights at all", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_broken_weights_are_one_line(tmp_path, content) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(KinemaError, match="not nano weights") as caught:
        NanoPrior.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(KinemaError, match="no such weights"):
        NanoPrior.load(tmp_path / "absent.safetensors")


def test_reader_learns_captions_and_knows_what_it_never_saw() -> None:
    captions = [f"{who} {what}" for who in ("a fox", "the horse", "an old dog") for what in ("walks", "stands still")]
    reader = fit_reader(captions, [0, 1] * 3, ("walk", "stand"))
    near = reader.read(embed_texts(["a wolf walks"])[0])
    far = reader.read(embed_texts(["quarterly revenue of the company"])[0])
    assert near.motion == "walk"
    assert near.similarity > 0.6 > 0.3 > far.similarity
