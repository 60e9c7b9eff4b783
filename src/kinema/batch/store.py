"""Folders of jobs on a storage that every machine reaches, by the URL that fsspec knows it by (s3://, gs://, file://).

A run saves its state in files that appear whole. While it runs they are copied to the storage, and a machine that takes
the job over copies them back and goes on.
"""

import contextlib
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kinema.batch.job import DONE
from kinema.errors import KinemaError, MachineError, first_line
from kinema.files import make_folder

NOT_COPIED = ("run.lock",)
PUSH_SECONDS = 5.0
"""How often changed files of a running job are copied to the storage."""

Seen = dict[str, tuple[int, int]]
"""Size and time of the files that were copied, by name."""


@dataclass(frozen=True)
class Store:
    """A folder on a storage."""

    url: str

    @cached_property
    def _place(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        try:
            files, root = url_to_fs(self.url)
            files.makedirs(root, exist_ok=True)
        except Exception as error:  # each kind of storage raises its own
            raise KinemaError(f"--store {self.url}: cannot be used ({first_line(error, 200)})") from None
        return files, root.rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url}  # connections stay here

    def scratch(self, name: str) -> Path:
        """A folder of this machine in which the job of that name runs."""
        mine = hashlib.sha256(self.url.encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"kinema-{os.getuid()}" / mine / name

    def pull(self, name: str, folder: Path) -> None:
        """Copy a stored folder to this machine; what is not stored is not copied."""
        files, root = self._place
        try:
            files.invalidate_cache()
            for entry in files.find(f"{root}/{name}"):
                target = folder / entry.removeprefix(f"{root}/{name}/")
                if not target.name.endswith(".part"):
                    make_folder(target.parent)
                    partial = target.with_name(target.name + ".part")
                    files.get_file(entry, str(partial))
                    partial.replace(target)
        except OSError as error:
            raise MachineError(f"{self.url}/{name}: cannot be copied to {folder} ({first_line(error, 200)})") from None

    def push(self, name: str, folder: Path, seen: Seen | None = None) -> Seen:
        """Copy files that are new or have changed since `seen`; the one that says that the job is done comes last."""
        _, root = self._place
        known = dict(seen or {})
        paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".part")]
        try:
            for path in sorted(paths, key=lambda path: path == folder / DONE):
                place = path.relative_to(folder).as_posix()
                try:
                    found = path.stat()
                    state = (found.st_size, found.st_mtime_ns)
                    if path.name in NOT_COPIED or known.get(place) == state:
                        continue
                    self._put(path, f"{root}/{name}/{place}")
                except FileNotFoundError:  # a file that was replaced or removed meanwhile
                    continue
                known[place] = state
        except OSError as error:
            raise MachineError(f"{folder}: cannot be copied to {self.url}/{name} ({first_line(error, 200)})") from None
        return known

    @contextlib.contextmanager
    def held(self, name: str, folder: Path) -> Iterator[None]:
        """A stored folder on this machine; what changes in it is copied to the storage now and then, and at the end."""
        self.pull(name, folder)
        seen, over = {}, threading.Event()

        def follow() -> None:
            nonlocal seen
            while not over.wait(PUSH_SECONDS):
                with contextlib.suppress(KinemaError):  # a storage that does not answer now may do so next time
                    seen = self.push(name, folder, seen)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.push(name, folder, seen)

    def put(self, path: Path, name: str) -> None:
        """Copy one file, unless one of its size is there already."""
        files, root = self._place
        target = f"{root}/{name}"
        try:
            if not files.exists(target) or files.size(target) != path.stat().st_size:
                self._put(path, target)
        except OSError as error:
            raise MachineError(f"{path}: cannot be copied to {self.url}/{name} ({first_line(error, 200)})") from None

    def _put(self, path: Path, target: str) -> None:
        files, _ = self._place
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        if "file" not in files.protocol:  # an object appears whole in every object store
            files.put_file(str(path), target)
            return
        files.put_file(str(path), target + ".part")
        files.mv(target + ".part", target)
