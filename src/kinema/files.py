"""Files that appear whole or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from kinema.errors import KinemaError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to: it takes the place of `path` at the end, and is gone if anything went wrong."""
    partial = path.with_name(path.name + ".part")
    try:
        yield partial
        partial.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        cause = _os_error(error)
        if cause is not None:
            raise KinemaError(f"{path}: cannot be written ({cause.strerror or cause})") from None
        raise


def _os_error(error: BaseException | None) -> OSError | None:
    """The system's own word; zipfile, for one, closes after a failed write with an error that says something else."""
    while error is not None and not isinstance(error, OSError):
        error = error.__context__ if isinstance(error, ValueError) else None
    return error


def check_output(path: Path) -> None:
    """Say before the work, not after it, that a file cannot be written where it is wanted."""
    if path.is_dir():
        raise KinemaError(f"{path}: is a folder, not a file to write to")
    if not path.parent.exists():
        raise KinemaError(f"{path}: there is no folder {path.parent}")
    partial = path.with_name(path.name + ".part")
    try:
        partial.touch()
        partial.unlink()
    except OSError as error:
        raise KinemaError(f"{path}: cannot be written ({error.strerror or error})") from None


def make_folder(path: Path) -> Path:
    """The folder of a result, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KinemaError(f"{path}: is no folder to write to ({error.strerror or error})") from None
    return path
