"""Weights of the pose model in one file, with what they were trained on, and how like its bodies another one is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from kinema.errors import KinemaError
from kinema.posespace.batch import Bodies, features
from kinema.posespace.body import Body
from kinema.posespace.model import PoseModel
from kinema.tensor_files import load_tensors, save_tensors

WEIGHTS = Path(__file__).parent / "weights.safetensors"
HEADER = "posespace"
"""Key of the header in a file of weights."""
LEAST_GAP = 0.03
"""Least usual distance between bodies: twins and half precision shall not make every other body a stranger."""


@dataclass(frozen=True)
class Trained:
    """A trained model and the bodies that it knows."""

    model: PoseModel
    known: Float[Tensor, "bodies features"]
    """`outline` of every training body."""
    usual: float
    """Median distance of a training body to the nearest other one."""
    note: dict[str, Any]

    @staticmethod
    def load(path: Path | None = None) -> "Trained":
        """From a weights file; by default the one in the package."""
        path = path or WEIGHTS
        if not path.is_file():
            raise KinemaError(f"{path}: no such weights; train them with kinema train-poses")
        try:
            tensors, note = load_tensors(path, key=HEADER)
            tensors = {name: tensor.float() for name, tensor in tensors.items()}
            known, usual = tensors.pop("known"), float(note["usual"])
            model = PoseModel(**note["size"])
            model.load_state_dict(tensors)
        # The network itself says, by these, that sizes and tensors do not go together.
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise KinemaError(f"{path}: not weights of a pose space ({str(error).splitlines()[0][:100]})") from None
        return Trained(model.eval().requires_grad_(False), known, usual, note)

    def strangeness(self, body: Body) -> float:
        """Distance to the nearest training body, where 1 is usual among those."""
        return float((self.known - outline(body)).square().mean(-1).sqrt().min()) / self.usual


def save_weights(path: Path, model: PoseModel, bodies: list[Body], *, note: dict[str, Any]) -> None:
    """Half precision, with all that `Trained.load` needs in one file; appears whole or not at all."""
    known = torch.stack([outline(body) for body in bodies])
    size = {"width": model.width, "layers": model.layers, "heads": model.heads}
    tensors = dict(model.state_dict()) | {"known": known}
    header = {"size": size, "usual": usual_distance(known), **note}
    save_tensors(path, {name: value.half() for name, value in tensors.items()}, header=header, key=HEADER)


def usual_distance(known: Float[Tensor, "bodies features"]) -> float:
    """Median distance of a body to the nearest other one, without those that are one body twice, as captured people
    nearly are, and no less than `LEAST_GAP`."""
    if len(known) < 2:
        return LEAST_GAP
    gaps = torch.cdist(known, known) / known.shape[1] ** 0.5
    gaps.fill_diagonal_(torch.inf)
    nearest = gaps.amin(1)
    return float(nearest[nearest > LEAST_GAP].median()) if bool((nearest > LEAST_GAP).any()) else LEAST_GAP


def outline(body: Body) -> Float[Tensor, "features"]:
    """What kind of body it is: mean, deviation and extremes over its joints of what the network is told."""
    told = features(Bodies.of([body]))[0]
    spread = told.std(0) if len(told) > 1 else torch.zeros_like(told[0])
    return torch.cat((told.mean(0), spread, told.amax(0), told.amin(0)))
