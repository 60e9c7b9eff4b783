"""What nano was trained on: the list in the header of its weights."""

from pathlib import Path

from kinema.errors import KinemaError
from kinema.gait.motions import MOTIONS
from kinema.gait.vocabulary import vocabulary
from kinema.prior.protocol import KnownMotion
from kinema.tensor_files import load_tensors

WEIGHTS = Path(__file__).with_name("weights.safetensors")
HEADER = "nano"
LEG = 0.8
"""Leg length that paces are told for where the weights tell none [m]."""


def known_motions(path: Path | None = None) -> tuple[KnownMotion, ...]:
    """Motions by kind of body, from the training labels; those of the vocabulary if the weights have no list."""
    path = path or WEIGHTS
    if not path.is_file():
        raise KinemaError(f"{path}: no such weights; train them with kinema train-prior")
    try:
        _, header = load_tensors(path, key=HEADER)
    except ValueError as error:
        raise KinemaError(f"{path}: not nano weights ({error})") from None
    if "motions" in header:
        return tuple(KnownMotion.of_row(row) for row in header["motions"])
    return tuple(_procedural(name, body) for name, words in vocabulary().items() for body in words.bodies)


def _procedural(name: str, body: str) -> KnownMotion:
    kind = MOTIONS.get(name)
    if kind is None or kind.gait is None:
        return KnownMotion(name, body, 0, False, 0.0, 0.0)
    return KnownMotion(name, body, 0, True, kind.gait.period(LEG), kind.gait.speed(LEG))
