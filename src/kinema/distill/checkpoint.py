"""The state of a run, and its file: parameters, optimiser and, while they are fitted, the sampled videos."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinema.distill.parameters import MotionParameters
from kinema.distill.targets import Sampled
from kinema.errors import KinemaError
from kinema.learn.adam import Adam
from kinema.options import from_json
from kinema.tensor_files import load_tensors, optimizer_tensors, restore_optimizer, save_tensors

HEADER = "run"
"""Key of the header in a checkpoint."""


@dataclass
class RunState:
    """What changes in the course of a run, beside parameters and optimiser."""

    guidance: float
    step: int = 0
    bad_steps: int = 0
    """Steps that were skipped because their gradients were not finite."""
    history: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sampled: dict[int, Sampled] = field(default_factory=dict)
    """Videos from the prior so far."""


def save_run(path: Path, state: RunState, parameters: MotionParameters, optimizer: Adam, *, videos: bool) -> None:
    """Write a checkpoint, with the sampled videos only if they are still needed."""
    tensors = {f"parameter.{name}": value for name, value in parameters.state_dict().items()}
    tensors |= optimizer_tensors(optimizer)
    sampled = state.sampled if videos else {}
    tensors |= {f"sampled.{index}": video for index, (video, _) in sampled.items()}
    header = {name: getattr(state, name) for name in ("guidance", "step", "bad_steps", "history", "notes")}
    header["scores"] = {index: score for index, (_, score) in sampled.items()}
    save_tensors(path, tensors, header=header, key=HEADER)


@dataclass(frozen=True)
class _Header:
    """What a checkpoint says beside its tensors: the fields of `RunState`, and the videos' scores."""

    guidance: float
    step: int
    bad_steps: int
    history: list[dict[str, Any]]
    notes: list[str]
    scores: dict[str, float]


def load_run(path: Path, parameters: MotionParameters, optimizer: Adam) -> RunState:
    """Read a checkpoint into parameters and optimiser; returns the rest of the state."""
    state = parameters.state_dict()
    try:
        shapes = {f"parameter.{name}": value.shape for name, value in state.items()}
        tensors, values = load_tensors(path, key=HEADER, shapes=shapes)
        header = from_json(_Header, values, about=path)
        videos = {int(index): tensors[f"sampled.{index}"] for index in header.scores}
        restore_optimizer(optimizer, tensors)
    except (ValueError, KeyError) as error:
        raise KinemaError(f"{path}: not a checkpoint of this run ({error})") from None
    parameters.load_state_dict({name: tensors[f"parameter.{name}"] for name in state})
    sampled = {index: (video, header.scores[str(index)]) for index, video in videos.items()}
    return RunState(header.guidance, header.step, header.bad_steps, header.history, header.notes, sampled)
