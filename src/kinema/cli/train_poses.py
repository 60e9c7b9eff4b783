"""`kinema collect-poses` and `kinema train-poses`: the data and the training of the pose space."""

import json
from typing import Any

from kinema.cli import stop
from kinema.cli.arguments import check_seed
from kinema.cli.output import Output
from kinema.collect.config import CollectPoses
from kinema.errors import check_number
from kinema.posespace.config import TrainPoses

GOES_ON = "; the same command goes on from where it was"


def collect_poses(command: CollectPoses, output: Output) -> None:
    from kinema.collect.collect import collect

    check_seed(command.seed)
    check_number("--bodies", command.bodies, 1, 10**6)
    check_number("--clips", command.clips, 1, 1000)
    check_number("--minutes", command.minutes, 1e-3, 1e7)
    try:
        count = collect(command, report=lambda entry: _report(output, entry))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GOES_ON) from None
    output.say(f"{command.out}: {count} bodies", folder=command.out, bodies=count)


def train_poses(command: TrainPoses, output: Output) -> None:
    from kinema.posespace.train import train

    check_seed(command.seed)
    check_number("--minutes", command.minutes, 1e-3, 1e6)
    for name in ("batch", "width", "layers", "heads"):
        check_number(f"--{name}", getattr(command, name), 1)
    try:
        weights = train(command, report=lambda entry: _report(output, entry))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GOES_ON) from None
    output.say(str(weights), file=weights)


def _report(output: Output, entry: dict[str, Any]) -> None:
    stop.check()
    output.hint(json.dumps(entry))
