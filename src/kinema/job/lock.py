"""The lock of a run folder: one process at a time works in it, and another is told which."""

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kinema.errors import KinemaError, MachineError

LOCK = "run.lock"
"""Holds process and host of whoever works in the folder."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Work in the folder alone.

    The system lets go of a lock when its process ends, however it ends: one that a killed run left is taken over. Where
    folders are shared between machines it may not know of the other machine's locks, so the name of another host in
    the file counts as well, until someone deletes it.
    """
    path = folder / LOCK
    with _open(path) as file:
        file.seek(0)
        owner = _owner(file.read())
        if owner is not None and owner[1] != socket.gethostname():
            raise MachineError(f"{folder}: process {owner[0]} on {owner[1]} works in it; delete {path} if it has ended")
        file.truncate(0)
        json.dump({"pid": os.getpid(), "host": socket.gethostname()}, file)
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _open(path: Path) -> IO[str]:
    """The file of the lock, held."""
    while True:
        try:
            file = path.open("a+", encoding="utf-8", errors="replace")
        except OSError as error:
            raise KinemaError(f"{path}: cannot be written ({error.strerror or error})") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = _owner(file.read())
            file.close()
            who = "another process" if owner is None else f"process {owner[0]} on {owner[1]}"
            raise MachineError(f"{path.parent}: {who} works in it") from None
        # Whoever held it may have deleted the file after we opened it, and a third may have made a new one.
        if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return file
        file.close()


def _owner(text: str) -> tuple[int, str] | None:
    """Process and host; None if nobody has written them."""
    try:
        values = json.loads(text)
        return int(values["pid"]), str(values["host"])
    except (ValueError, KeyError, TypeError):
        return None


def clear_lock(folder: Path) -> None:
    """Delete a lock that nobody holds, whichever host wrote it; if somebody does, a KinemaError says who."""
    path = folder / LOCK
    if path.exists():
        with _open(path):
            path.unlink(missing_ok=True)
