"""Score the embedded prior: as a classifier of held-out creatures and rigs, on free text; its speed and samples.

python benchmarks/nano.py [--weights FILE] [--creatures 50] [--shared ../shared/data] [--samples FOLDER]
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kinema.asset.clips_npz import load_clips_npz
from kinema.evaluate.classify import prompt_errors
from kinema.gait.make import Label
from kinema.gait.recorded import HELD_OUT, motion_name, recorded_motion
from kinema.gait.retarget import Recording
from kinema.motion.motion import Motion
from kinema.prior.nano.codec import FRAMES
from kinema.prior.nano.data import Actor, conditions
from kinema.prior.nano.prior import FPS, NanoPrior
from kinema.prior.protocol import Context, guided_estimate, sample

PROMPTS = {"walk": "walking", "trot": "trotting", "run": "running fast", "hop": "hopping", "stand": "standing still"}
SAME = {"gallop": "run"}
TWELVE = (
    ("a red fox", "a fox is walking"),
    ("a wolf", "a wolf trots along"),
    ("a horse", "a horse at full gallop"),
    ("a rabbit", "a rabbit hops"),
    ("a camel", "a camel is pacing"),
    ("a cat", "a cat sneaks up on something"),
    ("a person", "a person walks"),
    ("a person", "someone is running"),
    ("a person", "a person waves hello"),
    ("an ostrich", "an ostrich running"),
    ("a spider", "a spider is walking"),
    ("a cow", "a cow is grazing"),
)


class Score:
    """Right answers, and which wrong ones."""

    def __init__(self, name: str, draws: int) -> None:
        self.name, self.draws = name, draws
        self.pairs = {"told": Counter(), "untold": Counter()}
        self.walk_or_stand = {"told": Counter(), "untold": Counter()}

    def judge(self, prior: NanoPrior, actor: Actor, motion: Motion, label: Label, rng: np.random.Generator) -> None:
        """Film it once and ask which prompt denoises it best; on two legs nobody trots.

        Asked twice: told the clip's phase, period and speed, the same under every prompt, as the distiller tells them;
        and untold, when the model has to see the phase for itself.
        """
        names = [n for n in PROMPTS if n != "trot" or len(actor.limbs.legs) == 4]
        video, reference, (yaw, elevation) = actor.film(motion, label, rng)
        camera = float(np.rad2deg(yaw)), float(np.rad2deg(elevation))
        seed = int(rng.integers(2**62))
        truth = SAME.get(label.name, label.name)
        for way, told in (("told", conditions(label)), ("untold", ())):
            context, generator = Context(reference, *camera, *told), torch.Generator().manual_seed(seed)
            texts = [PROMPTS[n] for n in names]
            errors = prompt_errors(prior, video, context, texts, generator=generator, draws=self.draws)
            self.pairs[way][truth, names[int(errors.argmin())]] += 1
            if truth in ("walk", "stand"):
                walks = bool(errors[names.index("walk")] < errors[names.index("stand")])
                self.walk_or_stand[way][walks == (truth == "walk")] += 1

    def show(self) -> None:
        for way, pairs in self.pairs.items():
            total, right = pairs.total(), sum(n for (truth, guess), n in pairs.items() if truth == guess)
            name, both = f"nano.{self.name}.{way}", self.walk_or_stand[way]
            print(f"{name}.accuracy {right / max(total, 1):.3f} ({right}/{total})")
            print(f"{name}.walk_vs_stand {both[True] / max(both.total(), 1):.3f} ({both[True]}/{both.total()})")
            wrong = ", ".join(f"{t} taken for {g} {n}" for (t, g), n in sorted(pairs.items()) if t != g)
            print(f"  wrong: {wrong or 'none'}", flush=True)


def gaits(actor: Actor) -> tuple[str, ...]:
    four = len(actor.limbs.legs) == 4
    return ("walk", "trot", "gallop", "hop", "stand") if four else ("walk", "run", "hop", "stand")


def score_creatures(prior: NanoPrior, count: int, draws: int) -> None:
    """Creatures that no training shard can hold: their seed starts differently."""
    score = Score("held_out_creatures", draws)
    for index in range(count):
        rng = np.random.default_rng((987_654_321, 0, index))
        actor = Actor.random(rng)
        for name in gaits(actor):
            score.judge(prior, actor, *actor.perform(rng, name), rng)
    score.show()


def score_rigs(prior: NanoPrior, shared: Path, takes: int, draws: int) -> None:
    """Rigs that were left out of every training: with our gaits, and with their artists' own clips."""
    ours, artists = Score("held_out_rigs", draws), Score("held_out_artist_clips", draws)
    for number, rig in enumerate(HELD_OUT):
        character = load_clips_npz(shared / "clips" / f"{rig}.npz")
        rng = np.random.default_rng((987_654_321, 1, number))
        actor = Actor.of(character, rng)
        if actor is None:
            print(f"  {rig}: no legs found")
            continue
        for name in gaits(actor) * takes:
            ours.judge(prior, actor, *actor.perform(rng, name), rng)
        for clip in character.clips:
            name = motion_name(clip.name)
            if SAME.get(name or "", name) not in PROMPTS or len(clip.root_position) < 13:
                continue
            recording = Recording.of(str(name), actor.body, Motion.from_clip(actor.stage.rig, clip))
            for _ in range(takes):
                motion, label = recorded_motion(recording, actor.body, frames=FRAMES, fps=FPS, rng=rng)
                artists.judge(prior, actor, motion, label, rng)
    ours.show()
    artists.show()


def score_words(prior: NanoPrior) -> None:
    """Free wordings that no template of the training holds (tests/gait/paraphrases.py)."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from paraphrases import PARAPHRASES

    read = [(text, truth, prior.read(text).motion) for text, truth in PARAPHRASES]
    wrong = [f"{text!r} ({truth}) read as {guess}" for text, truth, guess in read if truth != guess]
    print(f"nano.paraphrases.accuracy {1 - len(wrong) / len(read):.3f} ({len(read) - len(wrong)}/{len(read)})")
    print("\n".join(f"  {line}" for line in wrong), flush=True)


def draw_samples(prior: NanoPrior, folder: Path) -> None:
    """Twelve prompts: what the prior itself makes of them, every third frame, in the look that it sees."""
    from PIL import Image

    from kinema.create.creatures import creature

    rows = []
    for number, (words, prompt) in enumerate(TWELVE):
        rng = np.random.default_rng((987_654_321, 2, number))
        actor = Actor.of(creature(words), rng)
        assert actor is not None, words
        name = prior.read(prompt).motion
        motion, label = actor.perform(rng, name)
        _, reference, (yaw, elevation) = actor.film(motion, label, rng)
        context = Context(reference, float(np.rad2deg(yaw)), float(np.rad2deg(elevation)), *conditions(label))
        like = prior.encode(reference, context)
        cond, uncond = prior.condition(prompt, context), prior.condition("", context)
        generator = torch.Generator().manual_seed(number)
        clean = sample(prior, like, cond, uncond, guidance=2.0, steps=12, generator=generator)
        rows.append(_strip(prior.decode(clean, context)[::2]))
    sheet = torch.cat([torch.cat(rows[i : i + 2], -1) for i in range(0, len(rows), 2)], -2)
    folder.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray((sheet.permute(1, 2, 0).clamp(0, 1) * 255).byte().numpy())
    image.resize((image.width * 2, image.height * 2), Image.Resampling.NEAREST).save(folder / "nano_samples.png")
    print(f"samples: {folder / 'nano_samples.png'} (left to right, top to bottom: {'; '.join(p for _, p in TWELVE)})")


def _strip(video: Tensor) -> Tensor:
    return torch.cat(list(video), -1)


def draw_losses(log: Path, path: Path) -> None:
    """The training's loss over its steps, with a running mean."""
    import json

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    entries = [json.loads(line) for line in log.read_text().splitlines()]
    loss = np.array([e["loss"] for e in entries])
    width = min(25, len(loss))
    mean = np.convolve(loss, np.ones(width) / width, "valid")
    # A run that started from the weights of another counts its steps anew.
    steps = np.diff([e["step"] for e in entries], prepend=0)
    step = np.cumsum(np.where(steps > 0, steps, 20))
    figure, axes = plt.subplots(figsize=(6, 3))
    axes.semilogy(step, loss, color="0.8", linewidth=0.7)
    axes.semilogy(step[width - 1 :], mean, color="tab:blue")
    axes.set_xlabel("step")
    axes.set_ylabel("v-prediction loss")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"losses: {path}")


def speed(prior: NanoPrior) -> None:
    rng = np.random.default_rng((987_654_321, 3))
    actor = Actor.random(rng)
    motion, label = actor.perform(rng, "walk")
    video, reference, _ = actor.film(motion, label, rng)
    context = Context(reference, phase=0.0, period=9.0, speed=0.2)
    cond, uncond = prior.condition("walking", context), prior.condition("", context)
    latents = prior.encode(video, context)

    def best(run, times: int = 7) -> float:
        seconds = []
        for _ in range(times):
            begun = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - begun)
        return min(seconds)

    def encode() -> None:
        x = video.clone().requires_grad_()
        prior.encode(x, context).square().sum().backward()

    guided = best(lambda: guided_estimate(prior, latents, 0.5, cond, uncond, guidance=2.0))
    print(f"nano.guided_call_ms {1e3 * guided:.1f}")
    print(f"nano.encode_with_gradient_ms {1e3 * best(encode):.1f}")
    print(f"nano.text_ms {1e3 * best(lambda: prior.condition('a fox is trotting over the hill', context)):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--creatures", type=int, default=50)
    parser.add_argument("--takes", type=int, default=4)
    parser.add_argument("--draws", type=int, default=2, help="of noise, at each of four levels")
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--samples", type=Path)
    parser.add_argument("--log", type=Path, help="a training's log.jsonl, to plot its losses beside the samples")
    options = parser.parse_args()
    begun = time.perf_counter()
    prior = NanoPrior.load(options.weights)
    prior.read("a fox is walking")
    print(f"nano.load_s {time.perf_counter() - begun:.2f}")
    speed(prior)
    score_words(prior)
    if options.samples:
        draw_samples(prior, options.samples)
        if options.log:
            draw_losses(options.log, options.samples / "nano_losses.png")
    if (options.shared / "clips").is_dir():
        score_rigs(prior, options.shared, options.takes, options.draws)
    else:
        print(f"held-out rigs: skipped, {options.shared}/clips is not there")
    score_creatures(prior, options.creatures, options.draws)


if __name__ == "__main__":
    main()
