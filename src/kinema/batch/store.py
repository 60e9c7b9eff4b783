"""Folders of jobs on a storage that every machine reaches, by the URL that fsspec knows it by (s3://, gs://, file://).

A run saves its state in files that appear whole. While it runs they are copied to the storage, and a machine that takes
the job over copies them back and goes on.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kinema.batch.job import DONE
from kinema.errors import KinemaError, first_line
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
            if not files.isdir(f"{root}/{name}"):
                return
            files.invalidate_cache()
            make_folder(folder)
            for entry in files.ls(f"{root}/{name}", detail=False):
                target = folder / Path(entry).name
                if not target.name.endswith(".part"):
                    partial = target.with_name(target.name + ".part")
                    files.get_file(entry, str(partial))
                    partial.replace(target)
        except OSError as error:
            raise KinemaError(f"{self.url}/{name}: cannot be copied to {folder} ({first_line(error, 200)})") from None

    def push(self, name: str, folder: Path, seen: Seen | None = None) -> Seen:
        """Copy files that are new or have changed since `seen`; the one that says that the job is done comes last."""
        files, root = self._place
        known = dict(seen or {})
        paths = [path for path in folder.iterdir() if path.is_file() and not path.name.endswith(".part")]
        try:
            files.makedirs(f"{root}/{name}", exist_ok=True)
            for path in sorted(paths, key=lambda path: path.name == DONE):
                try:
                    found = path.stat()
                    state = (found.st_size, found.st_mtime_ns)
                    if path.name in NOT_COPIED or known.get(path.name) == state:
                        continue
                    self._put(path, f"{root}/{name}/{path.name}")
                except FileNotFoundError:  # a file that was replaced or removed meanwhile
                    continue
                known[path.name] = state
        except OSError as error:
            raise KinemaError(f"{folder}: cannot be copied to {self.url}/{name} ({first_line(error, 200)})") from None
        return known

    def put(self, path: Path, name: str) -> None:
        """Copy one file, unless one of its size is there already."""
        files, root = self._place
        target = f"{root}/{name}"
        try:
            if not files.exists(target) or files.size(target) != path.stat().st_size:
                files.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._put(path, target)
        except OSError as error:
            raise KinemaError(f"{path}: cannot be copied to {self.url}/{name} ({first_line(error, 200)})") from None

    def _put(self, path: Path, target: str) -> None:
        files, _ = self._place
        if "file" not in files.protocol:  # an object appears whole in every object store
            files.put_file(str(path), target)
            return
        files.put_file(str(path), target + ".part")
        files.mv(target + ".part", target)
