"""Scores of the embedded prior: diffusion classifier on held-out creatures and rigs, free text, speed.

python benchmarks/nano.py [--weights FILE] [--creatures 50]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from kinema.evaluate.classify import prompt_errors
from kinema.prior.nano.data import Actor
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import Shot, guided_estimate

PROMPTS = {
    "walk": "walking",
    "trot": "trotting",
    "run": "running fast",
    "hop": "hopping",
    "stand": "standing still",
}
SAME = {"gallop": "run", "run": "run"}


def actors(count: int, seed: int):
    """Creatures that no training shard can hold: their seed starts differently."""
    for index in range(count):
        yield Actor.random(np.random.default_rng((987_654_321, seed, index)))


def held_out(prior: NanoPrior, count: int) -> None:
    right, total, confusion = 0, 0, {}
    pair_right, pair_total = 0, 0
    for index, actor in enumerate(actors(count, 0)):
        rng = np.random.default_rng((1, index))
        quadruped = actor.limbs.body == "quadruped"
        classes = ("walk", "trot", "gallop", "hop", "stand") if quadruped else ("walk", "run", "hop", "stand")
        names = [c for c in PROMPTS if quadruped or c != "trot"]
        for name in classes:
            motion, label = actor.perform(rng, name)
            video, reference, (yaw, elevation) = actor.film(motion, label, rng)
            shot = Shot(reference, float(np.rad2deg(yaw)), float(np.rad2deg(elevation)))
            errors = prompt_errors(
                prior, video, shot, [PROMPTS[n] for n in names], generator=torch.Generator().manual_seed(index)
            )
            guess, truth = names[int(errors.argmin())], SAME.get(name, name)
            confusion[(truth, guess)] = confusion.get((truth, guess), 0) + 1
            right, total = right + (guess == truth), total + 1
            if truth in ("walk", "stand"):
                walk, stand = errors[names.index("walk")], errors[names.index("stand")]
                pair_right += ("walk" if walk < stand else "stand") == truth
                pair_total += 1
    print(f"nano.held_out_creatures.accuracy {right / total:.3f} ({right}/{total})")
    print(f"nano.held_out_creatures.walk_vs_stand {pair_right / pair_total:.3f} ({pair_right}/{pair_total})")
    for (truth, guess), times in sorted(confusion.items()):
        if truth != guess:
            print(f"  {truth} taken for {guess}: {times}")


def speed(prior: NanoPrior) -> None:
    actor = next(actors(1, 1))
    rng = np.random.default_rng(0)
    motion, label = actor.perform(rng, "walk")
    video, reference, _ = actor.film(motion, label, rng)
    shot = Shot(reference, phase=0.0, period=9.0, speed=0.2)
    cond, uncond = prior.condition("walking", shot), prior.condition("", shot)
    latents = prior.encode(video, shot)

    def best(run, times: int = 7) -> float:
        seconds = []
        for _ in range(times):
            begun = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - begun)
        return min(seconds)

    def encode() -> None:
        x = video.clone().requires_grad_()
        prior.encode(x, shot).square().sum().backward()

    guided = best(lambda: guided_estimate(prior, latents, 0.5, cond, uncond, guidance=2.0))
    print(f"nano.guided_call_ms {1e3 * guided:.1f}")
    print(f"nano.encode_with_gradient_ms {1e3 * best(encode):.1f}")
    print(f"nano.text_ms {1e3 * best(lambda: prior.condition('a fox is trotting over the hill', shot)):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--creatures", type=int, default=50)
    options = parser.parse_args()
    begun = time.perf_counter()
    prior = NanoPrior.load(options.weights)
    prior.read("a fox is walking")
    print(f"nano.load_s {time.perf_counter() - begun:.2f}")
    speed(prior)
    held_out(prior, options.creatures)


if __name__ == "__main__":
    main()
