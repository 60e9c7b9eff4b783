import itertools
from dataclasses import replace

import pytest
import torch

from kinema.errors import KinemaError
from kinema.learn.text import embed_texts
from kinema.prior.nano.codec import (
    CELLS,
    CHANNELS,
    HEIGHT,
    KEPT_PLACES,
    PLACES,
    STILL_VALUES,
    TIMES,
    WIDTH,
    covered_places,
    patches,
    still_tokens,
    unpatch,
)  # fmt: skip
from kinema.prior.nano.model import ACTION_WAVES, CYCLE_WAVES, WAVES, Nano
from kinema.prior.nano.model import _waves as model_waves
from kinema.prior.nano.prior import FAST_BFLOAT16, NanoPrior, save_weights
from kinema.prior.protocol import Context, KnownMotion, guide, sample


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_text_embeddings_are_those_of_the_library_that_carries_them() -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from kinema.learn.text import model_folder

    texts = ["a fox is trotting", "A vixen, hurrying along!", "", "x " * 600]
    theirs = sentence_transformers.SentenceTransformer(str(model_folder()), device="cpu")
    theirs.max_seq_length = 256
    expected = torch.from_numpy(theirs.encode(texts, normalize_embeddings=True))
    torch.testing.assert_close(embed_texts(texts), expected, atol=2e-5, rtol=0)


SIZES = ((HEIGHT, WIDTH), (WIDTH, HEIGHT))
KEPT = TIMES * KEPT_PLACES


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_patches_are_a_permutation(height: int, width: int) -> None:
    video = torch.randn(2, 16, 3, height, width, generator=rng())
    tokens = patches(video)
    assert torch.equal(unpatch(tokens, rows=height // 4), video)
    # Token (time 0, place p) begins with the first channel of the cells that a still's patch begins with.
    still = torch.stack((video[:, 0], video[:, 1], video[:, 2]), 1)
    first = tokens.unflatten(1, (TIMES, PLACES))[:, 0, :, :CELLS]
    assert torch.equal(first, still_tokens(still)[..., :CELLS])


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_tokens_are_the_places_that_the_body_covers(height: int, width: int) -> None:
    """A body of 3 x 2 patches: its places are kept at every time, and what is told elsewhere changes nothing."""
    still = torch.zeros(1, 3, 3, height, width)
    still[:, :, :, 8:20, 8:16] = 1.0
    kept = covered_places(still_tokens(still))[0]
    body = {row * (width // 4) + column for row in range(2, 5) for column in range(2, 4)}
    for time in range(TIMES):
        here = {int(k) - time * PLACES for k in kept[time * KEPT_PLACES : (time + 1) * KEPT_PLACES]}
        assert body <= here <= set(range(PLACES))
    prior, seen = NanoPrior(toy()), Context(still[0], phase=0.25, period=10.0)
    given = prior.condition("walking", seen)
    assert float(given.covered.sum()) == TIMES * len(body) * CHANNELS
    noisy = torch.randn(KEPT, CHANNELS, generator=rng(1))
    elsewhere = noisy + 9 * (1 - given.covered[0])
    one, other = (prior.denoise(each, 0.5, [given])[0] for each in (noisy, elsewhere))
    assert torch.equal(one, other)
    assert float((one * (1 - given.covered[0])).abs().max()) == 0.0


def toy() -> Nano:
    return Nano(width=16, layers=1, heads=2, generator=rng(11))


def context(height: int = HEIGHT, width: int = WIDTH, *, repeats: bool = True) -> Context:
    still = torch.rand(3, 3, height, width, generator=rng(6))
    still[2] = (still[2, :1] > 0.3).float()
    return Context(still, phase=0.25, period=10.0, speed=0.1, repeats=repeats)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_weights_survive_a_file_and_every_condition_matters(tmp_path, height: int, width: int) -> None:
    model = toy()
    for parameter in model.parameters():  # adaLN-zero starts deaf; give every path something to say
        torch.nn.init.normal_(parameter, std=0.1, generator=rng(7))
    rows = [["walk", "quadruped", 12, True, 0.8, 1.1, []], ["die", "bird", 3, False, 1.5, 0.0, []]]
    save_weights(tmp_path / "w.safetensors", model, note={"motions": rows})
    prior = NanoPrior.load(tmp_path / "w.safetensors")
    assert [(m.name, m.body, m.repeats) for m in prior.motions] == [("walk", "quadruped", True), ("die", "bird", False)]
    noisy = torch.randn(KEPT, CHANNELS, generator=rng(8))
    cycle, action = context(height, width), context(height, width, repeats=False)
    given = [prior.condition("walking", cycle)]
    given += [prior.condition("", cycle), prior.condition("walking", action)]
    given += [prior.condition("walking", Context(cycle.reference))]
    told = {"motion": "walk", "variant": "", "side": 1}
    given += [
        prior.condition("walking", replace(cycle, **(told | each))) for each in ({}, {"variant": "m"}, {"side": -1})
    ]
    assert torch.equal(given[0].text, given[4].text)
    answers = prior.denoise(noisy, 0.5, given)
    assert all((one - other).abs().max() > 1e-3 for one, other in itertools.combinations(answers, 2))
    alone = prior.denoise(noisy, 0.5, given[:1])[0]
    torch.testing.assert_close(alone, answers[0], atol=0.03, rtol=0.03)  # bfloat16 where the CPU has it
    assert torch.equal(given[0].places, covered_places(given[0].still))
    assert given[0].still.shape == (1, PLACES, STILL_VALUES)
    with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
        direct = model.clean(noisy[None], torch.tensor([0.5]), given[0])[0].float()
    assert (answers[0] - direct).norm() < 0.03 * direct.norm()  # half precision on disk
    torch.testing.assert_close(guide(answers[0], answers[1], 1.0), answers[0])
    assert torch.equal(guide(answers[0], answers[1], 0.0), answers[1])


def test_sentences_that_mean_one_motion_are_told_alike() -> None:
    prior = NanoPrior(toy(), motions=[KnownMotion("trot", "quadruped", 1, True, 0.5, 1.0)])
    words = ("a fox is trotting", "the old horse trots along", "trotting")
    texts = [prior.condition(each, context()).text for each in words]
    assert torch.equal(texts[0], texts[1])
    assert torch.equal(texts[0], texts[2])
    assert not torch.equal(texts[0], prior.condition("a fox is walking", context()).text)


def test_what_the_body_covers_survives_the_code() -> None:
    prior, seen = NanoPrior(toy()), context()
    video = torch.randn(16, 3, HEIGHT, WIDTH, generator=rng(12))
    latents = prior.encode(video, seen)
    assert latents.shape == (KEPT, CHANNELS)
    torch.testing.assert_close(prior.encode(prior.decode(latents, seen), seen), latents)


def test_a_perfect_denoiser_is_sampled_exactly() -> None:
    """DDIM with an oracle that always answers z* must end at z*."""
    prior = NanoPrior(toy())
    truth = torch.randn(KEPT, CHANNELS, generator=rng(9))
    prior.denoise = lambda noisy, t, conditions: [truth for _ in conditions]  # type: ignore[method-assign]
    torch.testing.assert_close(sample(prior, truth, None, None, guidance=2.0, steps=5, generator=rng()), truth)


def test_a_network_that_knows_v_gives_the_clean_latents() -> None:
    """v = a e - s z with a = cos(pi t / 2) and s = sin(pi t / 2), the derivative of z_t = a z + s e by its angle."""
    model = toy()
    prior = NanoPrior(model)
    z, e = torch.randn(2, KEPT, CHANNELS, generator=rng(10))
    given = prior.condition("walking", context())
    z = z * given.covered[0]
    for t in (0.02, 0.5, 0.98):
        angle = torch.tensor(t * torch.pi / 2)
        v = angle.cos() * e - angle.sin() * z
        model.forward = lambda *_, v=v: v[None]  # type: ignore[method-assign]
        (clean,) = prior.denoise(prior.add_noise(z, e, t), t, [given])
        torch.testing.assert_close(clean * given.covered[0], z, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("content", [b"", b"not weights at all", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_broken_weights_are_one_line(tmp_path, content) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(KinemaError, match="not nano weights") as caught:
        NanoPrior.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(KinemaError, match="no such weights"):
        NanoPrior.load(tmp_path / "absent.safetensors")


def test_parts_do_not_know_which_cell_of_a_patch_they_move() -> None:
    """With the paths that know it silent, cells that change places within their patches take their answers along."""
    model = toy()
    for name, parameter in model.named_parameters():
        knows = name.startswith(("tokens_", "still_in", "skip"))
        torch.nn.init.normal_(parameter, std=0.0 if knows else 0.2, generator=rng(7))
    given = NanoPrior(model).condition("walking", context())
    order = torch.randperm(CELLS, generator=rng(3))
    noisy = torch.randn(1, KEPT, CHANNELS, generator=rng(8))

    def moved(values: torch.Tensor) -> torch.Tensor:
        return values.unflatten(-1, (-1, CELLS))[..., order].flatten(-2)

    t, other = torch.tensor([0.7]), replace(given, still=moved(given.still))
    answer = model(noisy * given.covered, t, given)
    assert float(answer.std()) > 0.01
    torch.testing.assert_close(model(moved(noisy * given.covered), t, other), moved(answer), atol=1e-3, rtol=1e-3)


def test_waves_are_those_of_the_told_time() -> None:
    motion = torch.tensor([[1.0, 0.3, 9.0, 0.1, 1.0, 1.0, 0.0], [0.0, -0.5, 20.0, 0.0, 1.0, 1.0, 0.0], [0.0] * 7])
    waves = model_waves(motion).flatten(1, 2)
    assert waves.shape == (3, 16, WAVES)
    for frame in range(16):
        angle = 2 * torch.pi * torch.tensor(0.3 + frame / 9)
        done = torch.pi * torch.tensor(min(max(-0.5 + frame / 20, 0.0), 1.0))
        cycle = [f(k * angle) for k in CYCLE_WAVES for f in (torch.sin, torch.cos)]
        action = [f(k * done) for k in ACTION_WAVES for f in (torch.sin, torch.cos)]
        torch.testing.assert_close(
            waves[0, frame], torch.tensor([1.0, *cycle, *[0.0] * len(action)]), atol=1e-5, rtol=0
        )
        torch.testing.assert_close(
            waves[1, frame], torch.tensor([1.0, *[0.0] * len(cycle), *action]), atol=1e-5, rtol=0
        )
    assert not waves[2].any()
