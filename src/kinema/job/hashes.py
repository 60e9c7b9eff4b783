"""Hashes of the files that decide a run's result, so that it is not resumed with others."""

import hashlib
from pathlib import Path

import numpy as np

from kinema.distill.config import Resolved
from kinema.motion.source import find_path
from kinema.prior.load import weights_files

HASHED_WHOLE = 1 << 28
"""Files up to this size [bytes] are hashed whole; of larger weights, the size and 64 samples of 1 MiB."""


def file_hashes(config: Resolved) -> dict[str, str]:
    """SHA-256 of the files that decide the result: the character's, and the weights of the prior, whichever it is."""
    files = {"character": [path for path in (find_path(config.asset),) if path is not None]}
    files["prior"] = weights_files(config.prior)
    if config.student is not None:
        files["student"] = sorted(config.student.glob("transformer/*.safetensors"))
    return {name: _digest(paths) for name, paths in files.items() if paths}


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{size}\n".encode())
        with path.open("rb") as file:
            if size <= HASHED_WHOLE:
                digest.update(file.read())
                continue
            for place in np.linspace(0, size - (1 << 20), 64).astype(int).tolist():
                file.seek(place)
                digest.update(file.read(1 << 20))
    return digest.hexdigest()
