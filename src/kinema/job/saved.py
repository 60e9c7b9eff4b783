"""The options of a job, checked; those of a saved run without torch, whose import takes longer than to refuse them."""

from dataclasses import replace
from pathlib import Path

from kinema.distill.config import Animate, Resolved, resolve
from kinema.errors import KinemaError, check_number
from kinema.motion.saved import CONFIG, SavedRun, read_config
from kinema.options import from_json

LONGEST_PROMPT = 2000
LEAST_FRAMES = 4
RANGES = {
    "frames": (0, 2400), "fps": (0, 240), "seed": (0, 2**63 - 1), "views": (1, 1000), "splats": (1, 1_000_000),
    "iterations": (1, 10_000_000), "fit_iterations": (1, 10_000_000), "physics_iterations": (1, 10_000_000),
    "guidance": (0, 10_000), "period": (0.05, 60), "speed": (0, 1000), "learning_rate": (1e-6, 10),
    "smooth_weight": (0, 1e9), "ground_weight": (0, 1e9), "slip_weight": (0, 1e9), "limits_weight": (0, 1e9),
    "checkpoint_seconds": (0, 1e9),
}  # fmt: skip
"""Least and greatest value of a job's options."""


def saved_job(folder: Path) -> tuple[Resolved, SavedRun]:
    """The options of a run to go on with, and what else was saved when it began."""
    _, saved = read_config(folder)
    config = resolve(replace(from_json(Animate, saved.config, about=folder / CONFIG), out=None, resume=folder))
    try:
        check_options(config)
    except KinemaError as error:
        raise KinemaError(f"{folder / CONFIG}: {error}") from None
    return config, saved


def check_options(config: Animate) -> None:
    """Refuse a prompt without words and numbers out of their range."""
    for prompt in config.prompts:
        if not prompt:
            raise KinemaError("the prompt is empty: say what the character does, such as 'a fox is trotting'")
        if len(prompt) > LONGEST_PROMPT:
            raise KinemaError(f"the prompt has {len(prompt)} characters, more than {LONGEST_PROMPT}")
        if not any(character.isalnum() for character in prompt):
            raise KinemaError(f"the prompt {prompt!r} has no words: say what the character does")
    for name, (least, most) in RANGES.items():
        check_number(f"--{name.replace('_', '-')}", getattr(config, name), least, most)
    if config.pose_space and config.parameters == "field":
        raise KinemaError("--pose-space: poses are of joints, and --parameters field has none")
    if 0 < config.frames < LEAST_FRAMES:
        raise KinemaError(f"--frames {config.frames}: must be 0 (as the motion needs) or at least {LEAST_FRAMES}")
    if 0 < config.fps < 1:
        raise KinemaError(f"--fps {config.fps}: must be 0 (as the motion needs) or at least 1")
