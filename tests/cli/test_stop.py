"""Signals: at once, and at the next step if somebody swallowed the exception."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from kinema.cli import stop
from kinema.cli.progress import Bar
from kinema.progress import Progress


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    stop.listen()
    yield
    stop.listen()  # forget the signals of this test
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "told"), [(signal.SIGTERM, ("terminated", 143)), (signal.SIGINT, ("interrupted", 130))]
)
def test_a_swallowed_signal_stops_the_job_at_its_next_step(number: int, told: tuple[str, int]) -> None:
    if number == signal.SIGINT and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("Ctrl-C is ignored here, as in the background of a shell")
    step, bar = Progress(1, 10, "fit", 0.5), Bar(quiet=True)
    bar.update(step)
    with contextlib.suppress(KeyboardInterrupt):  # as a callback of a library would
        os.kill(os.getpid(), number)
        time.sleep(1)
    with pytest.raises(KeyboardInterrupt):
        bar.update(step)
    assert stop.ending() == told
