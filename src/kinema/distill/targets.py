"""Targets of a fit: videos sampled from the prior, of which those are kept that it finds most like the prompt."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kinema.distill.config import Resolved
from kinema.distill.window import Window, Windows
from kinema.evaluate.classify import relative_errors
from kinema.prior.protocol import Context, VideoPrior, sample

SAMPLING_STEPS, STUDENT_STEPS = 10, 8
"""Steps of a video; a student (`prior.load.load_student`) has learnt to take few, and guidance with them."""
MOST_GUIDANCE = 6.0
"""Of sampled videos: pipelines of video models take 3 to 7, score distillation a hundred."""
SCORING_LEVELS = (0.5, 0.8)
"""Noise levels at which a sampled video is scored."""
FIRST_SEED = 1_000_000
"""Video k draws from (seed, FIRST_SEED + k), which no step does."""

Sampled = tuple[Tensor, float]
"""Latents of a video and its error under the prompt relative to none (less is better)."""


@dataclass(frozen=True)
class Target:
    """A video to fit."""

    window: Window
    context: Context
    latents: Tensor


def conditions(prior: VideoPrior, prompt: str, context: Context) -> tuple[Any, Any]:
    """With the words and all that is told, and with neither: guidance then amplifies this phase of this motion.

    With phase and pace told both times it would amplify the words alone, and legs that swing too little.
    """
    return prior.condition(prompt, context), prior.condition("", replace(context, phase=None))


def sample_targets(
    config: Resolved, windows: Windows, sampled: dict[int, Sampled], *, student: VideoPrior | None = None,
    done: Callable[[int, int, float], None],
) -> list[Target]:  # fmt: skip
    """Sample half as many videos again as wanted and keep the best; those of an interrupted run are in `sampled`.

    A student of the prior samples them where there is one; the prior scores them.
    `done` is called after each with its number from 1 on, how many there will be, and its score.
    """
    count = config.views + config.views // 2
    missing = [index for index in range(count) if index not in sampled]
    # A video per core: inside one video the operations are too small to share. A card has memory for one.
    threads = torch.get_num_threads()
    workers = threads if windows.prior.device == "cpu" else 1
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        for index, video in zip(missing, pool.map(lambda index: _sample(config, windows, index, student), missing)):
            sampled[index] = video
            done(index + 1, count, video[1])
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
    best = sorted(range(count), key=lambda index: sampled[index][1])[: config.views]
    looks = [(windows.draw(_rng(config, index)), sampled[index][0]) for index in sorted(best)]
    return [Target(window, windows.context(window), latents) for window, latents in looks]


def _rng(config: Resolved, index: int) -> np.random.Generator:
    return np.random.default_rng((config.seed, FIRST_SEED + index))


def _sample(config: Resolved, windows: Windows, index: int, student: VideoPrior | None) -> Sampled:
    rng, prior = _rng(config, index), windows.prior
    window = windows.draw(rng)
    context = windows.context(window)
    words, none = conditions(prior, config.told, context)
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    with torch.no_grad():
        like = prior.encode(windows.film(window).video, context)
    guidance, steps = (min(config.guidance, MOST_GUIDANCE), SAMPLING_STEPS) if student is None else (1.0, STUDENT_STEPS)
    video = sample(student or prior, like, words, none, guidance=guidance, steps=steps, generator=generator)
    return video, float(relative_errors(prior, video, [words], none, generator=generator, levels=SCORING_LEVELS))
