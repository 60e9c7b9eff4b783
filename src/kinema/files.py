"""Files that appear whole or not at all, and the memory and the folder that a file may claim when it is read."""

import contextlib
import errno
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinema.errors import KinemaError, MachineError

FREE_MEMORY, MEMORY_PER_BYTE, MOST_MEMORY = 1 << 28, 32, 1 << 33
"""Bytes that every file may claim, those that it may claim for each of its own, and the most."""
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ESTALE)
"""Errors of the system that say nothing against the input."""


@dataclass
class Budget:
    """The memory that is left for reading one file; whoever allocates what the file asks for takes from it before.

    A count in a header costs its writer nothing, a byte of the file does: what a file may claim grows with its size.
    """

    path: Path
    bytes_left: int

    @staticmethod
    def of(path: Path, *, size: int | None = None) -> "Budget":
        """The whole budget of a file that has `size` bytes, with the files that belong to it; by default its own."""
        size = Path(path).stat().st_size if size is None else size
        return Budget(Path(path), min(FREE_MEMORY + MEMORY_PER_BYTE * size, MOST_MEMORY))

    def grow(self, size: int) -> None:
        """Allow for another file of `size` bytes that belongs to this one, such as a texture."""
        self.bytes_left = min(self.bytes_left + MEMORY_PER_BYTE * size, MOST_MEMORY)

    def check(self, size: int, what: str) -> None:
        """Refuse something of `size` bytes that does not fit; it takes nothing, for what is needed only for a while."""
        if size > self.bytes_left:
            left = f"{self.bytes_left / 1e6:.0f} MB are left for a file of its size"
            raise KinemaError(f"{self.path}: {what} would take {size / 1e6:.0f} MB of memory, {left}")

    def take(self, size: int, what: str) -> None:
        """Refuse something of `size` bytes that does not fit, or count it."""
        self.check(size, what)
        self.bytes_left -= size


def inside_folder(path: Path, name: str, *, about: Path) -> Path:
    """The file `name` in the folder `path` or below it, links resolved; a file elsewhere is refused."""
    outside = KinemaError(f"{about}: refers to {name[:80]!r}, which is not inside its own folder")
    try:
        folder = path.resolve()
        found = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a zero byte, too long a name
        raise outside from None
    if not found.is_relative_to(folder):
        raise outside
    return found


def unused(path: Path) -> Path:
    """The path, or if something is there already, the first of NAME-2, NAME-3 ... that is free."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in itertools.count(2))
    return next(one for one in itertools.chain([path], numbered) if not one.exists())


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
            raise system_error(f"{path}: cannot be written", cause) from None
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file, which appears whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def system_error(what: str, error: OSError) -> KinemaError:
    """What went wrong, with the system's own word for it."""
    kind = MachineError if error.errno in PASSING else KinemaError
    return kind(f"{what} ({error.strerror or error})")


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KinemaError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise KinemaError(f"{path}: not JSON ({str(error).splitlines()[0]})") from None


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
        raise system_error(f"{path}: is no folder to write to", error) from None
    return path
