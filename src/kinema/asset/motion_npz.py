"""Motions as .npz, without torch, whose import takes longer than to refuse a bad file."""

from pathlib import Path

import numpy as np

from kinema.array_files import Array, read_arrays
from kinema.asset.load import existing_file
from kinema.errors import KinemaError

SLOWEST_FPS, FASTEST_FPS = 0.01, 10_000.0
"""Frame rates that a file may have."""
ARRAYS = {
    "names": Array("joints", kind="text"),
    "angles": Array("frames joints 3"),
    "root_position": Array("frames 3"),
    "fps": Array(),
    "translation": Array("frames joints 3", optional=True),
}
"""What a motion's .npz holds."""


def read_motion_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a motion of some rig."""
    data = read_arrays(path, ARRAYS, what="a Kinema motion")
    fps = float(data["fps"])
    if not SLOWEST_FPS <= fps <= FASTEST_FPS or not len(data["angles"]):
        raise KinemaError(f"{path}: {len(data['angles'])} frames at {fps:g} frames per second")
    return data


def check_motion(name: str | None) -> None:
    """Refuse a motion file that is damaged or none, before torch comes in; names of clips are left alone."""
    path = Path(name or "")
    if path.suffix.lower() == ".npz" and path.exists():
        read_motion_arrays(existing_file(path))
