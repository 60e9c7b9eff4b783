"""Ctrl-C and SIGTERM: an exception at once, and a flag for the next step in case that somebody swallowed it."""

import signal
import threading
from typing import Any

_wanted, _terminated = threading.Event(), threading.Event()


def listen() -> None:
    """Take both signals, if this is the main thread; Ctrl-C stays ignored where the shell has it ignored."""
    _wanted.clear()
    _terminated.clear()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop)


def check() -> None:
    """Stop now if a signal has come: long jobs call this after every step.

    An exception from a signal falls into whatever runs at the moment, and callbacks and destructors of libraries lose
    exceptions.
    """
    if _wanted.is_set():
        raise KeyboardInterrupt


def ending() -> tuple[str, int]:
    """What has happened, and the exit code."""
    return ("terminated", 143) if _terminated.is_set() else ("interrupted", 130)


def _stop(number: int, frame: Any) -> None:
    _wanted.set()
    if number == signal.SIGTERM:
        _terminated.set()
    # As Ctrl-C, so that nothing half-written is left behind and the last line says how to go on.
    raise KeyboardInterrupt
