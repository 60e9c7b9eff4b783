"""Arrays in .npz files, checked against a schema before they are used; nothing is unpickled."""

import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kinema.errors import KinemaError, first_line
from kinema.files import Budget

LARGEST = 1e15
"""Larger numbers are refused as damage, which also keeps their squares and sums finite."""
KINDS = {"number": "fiu", "integer": "iu", "text": "U"}
"""NumPy's kinds of each kind of array."""


@dataclass(frozen=True)
class Array:
    """What an array has to be."""

    shape: str = ""
    """Sizes and names of its axes, "frames joints 3"; axes of one name have one size in a whole file; "" is a scalar,
    "..." any shape."""
    kind: Literal["number", "integer", "text"] = "number"
    """Numbers are finite and of at most 64 bits."""
    optional: bool = False


def read_arrays(
    path: Path, schema: Mapping[str, Array], *, what: str, sizes: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """The arrays of an .npz that the schema names, in the machine's byte order; others are left alone.

    Args:
        what: The kind of file that is meant, for the one line that is said if it is another.
        sizes: Sizes of axes that are known already.
    """
    try:
        budget, known, arrays = Budget.of(path), dict(sizes or {}), {}
        with zipfile.ZipFile(path) as file:
            members = {info.filename: info for info in file.infolist()}
            for name, wanted in schema.items():
                member = members.get(f"{name}.npy")
                if member is None and not wanted.optional:
                    raise ValueError(f"has no {name}")
                if member is not None:
                    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        raise ValueError(f"{name} is compressed by method {member.compress_type}")
                    # As bytes, and in the machine's byte order.
                    budget.take(2 * member.file_size, name)
                    with file.open(member) as stream:
                        arrays[name] = _read(stream, member.file_size, name, wanted, known)
        return arrays
    except OSError as error:
        raise KinemaError(f"{path}: cannot be read ({error.strerror or error})") from None
    except KinemaError:
        raise
    except Exception as error:  # not only ours: zipfile and NumPy's header parser raise anything on a damaged file
        raise KinemaError(f"{path}: not {what} ({first_line(error)})") from None


def _read(stream: Any, size: int, name: str, wanted: Array, known: dict[str, int]) -> np.ndarray:
    """One array. NumPy's own reader makes room for what a header claims, so the header is read and checked first."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{name} has version {version} of the .npy format")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(stream)
    _check_type(name, dtype, wanted)
    _check_shape(name, shape, wanted, known)
    count = math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize > size:
        raise ValueError(f"{name} has the shape {_shown(shape)} and {size} bytes")
    data = stream.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise ValueError(f"{name} ends after {len(data)} of {count * dtype.itemsize} bytes")
    values = np.frombuffer(data, dtype, count).reshape(shape, order="F" if fortran else "C")
    values = np.ascontiguousarray(values.astype(dtype.newbyteorder("="))).reshape(shape)
    _check_values(name, values)
    return values


def _check_type(name: str, dtype: np.dtype, wanted: Array) -> None:
    fits = dtype.kind in KINDS[wanted.kind] and dtype.fields is None and dtype.subdtype is None
    if not fits or (dtype.kind != "U" and dtype.itemsize > 8):
        raise ValueError(f"{name} has the type {str(dtype)[:40]}, not {wanted.kind}")


def _check_shape(name: str, shape: tuple[int, ...], wanted: Array, known: dict[str, int]) -> None:
    if wanted.shape == "...":
        return
    axes = wanted.shape.split()
    for axis, size in zip(axes, shape if len(shape) == len(axes) else ()):
        known.setdefault(axis, int(axis) if axis.isdecimal() else size)
    if shape != tuple(known.get(axis) for axis in axes):
        meant = ", ".join(f"{known[axis]}" if axis in known else axis for axis in axes)
        raise ValueError(f"{name} has the shape {_shown(shape)}, not ({meant})")


def _check_values(name: str, values: np.ndarray) -> None:
    if values.dtype.kind == "U":
        if any(0xD800 <= ord(c) < 0xE000 for text in values.ravel().tolist() for c in text):
            raise ValueError(f"{name} holds text that is no Unicode")
    elif not (np.isfinite(values).all() and (np.abs(values.astype(np.float64)) <= LARGEST).all()):
        raise ValueError(f"{name} holds values that are not finite or larger than {LARGEST:g}")


def _shown(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape[:6]))})"
