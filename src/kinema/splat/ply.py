"""The .ply files of 3D Gaussian splatting, with spherical harmonics of degree 0–3.

Coordinates are the file's own: nothing in it says which axis is up or how long a metre is.
"""

from pathlib import Path

import numpy as np
import torch

from kinema.errors import KinemaError
from kinema.files import replacing
from kinema.splat.splats import Splats

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
CENTER = ("x", "y", "z")
DC = ("f_dc_0", "f_dc_1", "f_dc_2")
SCALE = ("scale_0", "scale_1", "scale_2")
ROTATION = ("rot_0", "rot_1", "rot_2", "rot_3")
LONGEST_HEADER = 1 << 16


def write_ply(path: Path, splats: Splats) -> None:
    """Write binary little endian, with the properties and order of 3DGS (whose normals are zero too)."""
    rest = splats.sh.shape[1] - 1
    if rest + 1 not in (1, 4, 9, 16):
        raise KinemaError(f"{path}: {rest + 1} harmonics per channel are not a degree from 0 to 3")
    names = [*CENTER, "nx", "ny", "nz", *DC, *(f"f_rest_{k}" for k in range(3 * rest)), "opacity", *SCALE, *ROTATION]
    # Harmonics one channel after the other: all reds, all greens, all blues.
    count, harmonics = len(splats), splats.sh[:, 1:].transpose(1, 2).reshape(len(splats), 3 * rest)
    columns = (splats.centers, torch.zeros(count, 3), splats.sh[:, 0], harmonics)
    columns += (splats.opacity_logit[:, None], splats.scales_log, splats.wxyz)
    table = torch.cat([column.detach().float().cpu() for column in columns], 1).numpy().astype("<f4")
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {count}"]
    header += [f"property float {name}" for name in names] + ["end_header", ""]
    with replacing(path) as partial:
        partial.write_bytes("\n".join(header).encode() + table.tobytes())


def read_ply(path: Path) -> Splats:
    """Read .ply of any property order, binary or text; properties that we do not know are skipped."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KinemaError(f"{path}: cannot be read ({error.strerror})") from None
    form, count, layout, start = _header(path, data)
    if form == "ascii":
        table = _text(path, data[start:], count, layout)
    else:
        row = np.dtype(layout).newbyteorder("<" if form == "binary_little_endian" else ">")
        if len(data) - start < count * row.itemsize:
            raise KinemaError(f"{path}: ends after {(len(data) - start) // row.itemsize} of {count} Gaussians")
        table = np.frombuffer(data, row, count, start)
    present = {name for name, _ in layout}
    if missing := [name for name in (*CENTER, *DC, "opacity", *SCALE, *ROTATION) if name not in present]:
        raise KinemaError(f"{path}: is not a 3DGS cloud, it has no {', '.join(missing)}")
    rest = sum(name.startswith("f_rest_") for name in present)
    if rest not in (0, 9, 24, 45) or not all(f"f_rest_{k}" in present for k in range(rest)):
        raise KinemaError(f"{path}: has {rest} higher harmonics, not the 0, 9, 24 or 45 of degrees 0 to 3")

    def columns(*names: str) -> torch.Tensor:
        values = np.stack([table[name].astype(np.float32) for name in names], -1)
        if broken := int((~np.isfinite(values).all(-1)).sum()):
            raise KinemaError(f"{path}: {names[0]} is not finite in {broken} of {count} Gaussians")
        return torch.from_numpy(values)

    wxyz = columns(*ROTATION)
    if bool((wxyz.norm(dim=-1) < 1e-12).any()):
        raise KinemaError(f"{path}: has rotations of length zero")
    sh = columns(*DC)[:, None]
    if rest:
        higher = columns(*(f"f_rest_{k}" for k in range(rest)))
        sh = torch.cat((sh, higher.reshape(count, 3, rest // 3).transpose(1, 2)), 1)
    return Splats(columns(*CENTER), columns(*SCALE), wxyz, columns("opacity")[:, 0], sh.contiguous())


def _header(path: Path, data: bytes) -> tuple[str, int, list[tuple[str, str]], int]:
    """Format, number of vertices, their properties as (name, numpy type), and where the data begins."""
    if not data.startswith((b"ply\n", b"ply\r\n")):
        raise KinemaError(f"{path}: is not a .ply file (begins with {data[:8]!r})")
    mark = data.find(b"end_header", 0, LONGEST_HEADER)
    end = data.find(b"\n", mark)
    if mark < 0 or end < 0:
        raise KinemaError(f"{path}: the .ply header does not end")
    form, count, layout, element = "", -1, [], None
    for number, line in enumerate(data[:mark].decode("latin-1").splitlines(), start=1):
        match line.split():
            case ["format", ("ascii" | "binary_little_endian" | "binary_big_endian") as form, _]:
                pass
            case ["element", name, amount] if amount.isascii() and amount.isdecimal() and len(amount) < 16:
                if element is None and name != "vertex":
                    raise KinemaError(f"{path}: line {number}: begins with {name}, not with the Gaussians (vertex)")
                element = name
                count = int(amount) if name == "vertex" else count
            case ["property", kind, name] if element == "vertex" and kind in TYPES:
                layout.append((name, TYPES[kind]))
            case [] | ["ply"] | ["comment" | "obj_info", *_]:
                pass
            case ["property", *_] if element not in (None, "vertex"):
                pass
            case _:
                raise KinemaError(f"{path}: line {number}: cannot read {line[:80]!r}")
    if not form or count < 0:
        raise KinemaError(f"{path}: the .ply header names no {'format' if not form else 'vertices'}")
    if len({name for name, _ in layout}) < len(layout):
        raise KinemaError(f"{path}: has the same property twice")
    return form, count, layout, end + 1


def _text(path: Path, body: bytes, count: int, layout: list[tuple[str, str]]) -> np.ndarray:
    """The table of an ascii file."""
    lines = body.decode("latin-1").split("\n")[:count]
    try:
        values = np.array([[float(word) for word in line.split()] for line in lines]).reshape(len(lines), len(layout))
    except ValueError as error:
        raise KinemaError(f"{path}: bad numbers ({error})") from None
    if len(values) < count:
        raise KinemaError(f"{path}: ends after {len(values)} of {count} Gaussians")
    return np.rec.fromarrays(values.T, dtype=np.dtype([(name, "f8") for name, _ in layout]))
