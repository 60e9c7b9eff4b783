"""`kinema train-prior`: train the embedded prior, with its log on standard error."""

import json
from typing import Any

from kinema.cli import stop
from kinema.cli.arguments import check_seed
from kinema.cli.output import Output
from kinema.errors import check_number
from kinema.prior.nano.config import TrainPrior


def train_prior(command: TrainPrior, output: Output) -> None:
    from kinema.prior.nano.train import train

    check_number("--minutes", command.minutes, 1e-3, 1e6)
    check_seed(command.seed)
    for name in ("shards", "reuse", "ahead", "batch", "ranks", "width", "layers", "heads"):
        check_number(f"--{name}", getattr(command, name), 1)

    def report(entry: dict[str, Any]) -> None:
        stop.check()
        output.hint(json.dumps(entry))

    try:
        weights = train(command, report=report)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("; the same command goes on from the last checkpoint") from None
    output.say(str(weights), file=weights)
