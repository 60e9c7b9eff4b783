"""What a prompt is read as, and what nothing can be made of: an unknown motion is refused before anything is run."""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from kinema.distill.config import Animate, Resolved
from kinema.errors import KinemaError
from kinema.gait.match import NONE, find_matches
from kinema.gait.motions import MOTIONS
from kinema.gait.sentence import sequence_parts, take_apart
from kinema.gait.vocabulary import on_body, vocabulary
from kinema.prior.protocol import PromptReading, VideoPrior

UNKNOWN_ACTION = "action"
"""Name of a motion whose verb is not known: it does not repeat and stays in place."""
LIKELY = 0.5
"""Confidence given to a motion that only a verb tells."""


def read_prompt(config: Animate, prior: VideoPrior, body: str | None = None) -> PromptReading:
    """The motion that a job asks for on a kind of body (`Limbs.body`).

    A prior that was trained on motions with names refuses what it does not know, unless --as names one of them or
    --anyway says to try; any other prior takes every text.
    """
    if config.as_motion is not None:
        return _as(config.as_motion, config, prior, body)
    if prior.read is None:
        return by_verb(config.prompt)
    reading = prior.read(config.prompt, body)
    if not reading.known and not config.anyway:
        raise KinemaError(refusal(config.prompt, reading))
    return reading


def prompt_parts(config: Animate) -> tuple[str, ...]:
    """The prompts of what a job does one after the other; --as names one motion for the whole."""
    return sequence_parts(config.prompt) if config.as_motion is None else (config.prompt,)


def read_prompts(
    config: Animate, prompts: Iterable[str], prior: VideoPrior, body: str | None = None
) -> tuple[PromptReading, ...]:
    """What each part of each prompt is read as; what is refused in a sequence is named."""
    readings = []
    for job in (replace(config, prompt=prompt) for prompt in prompts):
        parts = prompt_parts(job)
        for part in parts:
            try:
                readings.append(read_prompt(replace(job, prompt=part), prior, body))
            except KinemaError as error:
                raise KinemaError(f'"{part}" in "{job.prompt}": {error}' if len(parts) > 1 else str(error)) from None
    return tuple(readings)


def refusal(prompt: str, reading: PromptReading) -> str:
    """Why a prompt is not run, in one line, and what to do instead."""
    nearest = f"; nearest: {', '.join(reading.nearest)}" if reading.nearest else ""
    instead = f"Use --as {reading.nearest[0] if reading.nearest else 'NAME'}, --anyway, or a large prior"
    if reading.problem is not None:
        return f'"{prompt}": {reading.problem}. Use --as NAME or --anyway to run it all the same'
    return f'the embedded prior does not know "{reading.phrase}"{nearest}. {instead}'


def by_verb(prompt: str) -> PromptReading:
    """The motion whose wordings share the longest phrase with the prompt, for priors that read none themselves."""
    sentence = take_apart(prompt)
    found = [match for match in find_matches(sentence.key) if match.motion != NONE]
    said: dict[str, Any] = {"phrase": sentence.phrase, "manner": sentence.manner, "direction": sentence.direction}
    if not found:
        warnings.warn(f"{prompt!r} has no verb that is known; it is taken as an action in place", stacklevel=2)
        return PromptReading(UNKNOWN_ACTION, 0.0, **said)
    return PromptReading(found[0].motion, 1.0 if found[0].left_over == 0 else LIKELY, **said)


def _as(motion: str, config: Animate, prior: VideoPrior, body: str | None) -> PromptReading:
    """The reading that --as names; the prior is told a wording of that motion."""
    names = tuple(dict.fromkeys((*vocabulary(), *(known.name for known in prior.motions))))
    if motion not in names:
        near = get_close_matches(motion, names, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise KinemaError(f"--as {motion}: no motion that is known{meant} (kinema motions lists them)")
    if body is not None and on_body(motion, body) is None and not config.anyway:
        raise KinemaError(f"--as {motion}: this kind of body ({body}) cannot do it; --anyway tries")
    sentence = take_apart(config.prompt)
    wording = vocabulary()[motion].wordings[0].doing if motion in vocabulary() else MOTIONS[motion].verbs[0][0]
    return PromptReading(motion, 1.0, phrase=wording, manner=sentence.manner, direction=sentence.direction)


def told(config: Resolved, prior: VideoPrior, reading: PromptReading) -> Resolved:
    """The job with the words that the prior is told: one that reads motions was trained on verb phrases alone. Others
    hear the whole prompt, with --as too, which then sets the pace only."""
    if prior.read is None:
        return config
    return replace(config, prompt=reading.phrase)
