"""Damaged files load or give one line; they never crash, hang or eat the memory."""

import json
import resource
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import shared_data_path
from small_gltf import arm, pack_glb

from kinema.asset.load import load
from kinema.errors import KinemaError

BVH = """HIERARCHY
ROOT hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT spine
  {
    OFFSET 0 10 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 8 0
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0333333
0 10 0 0 0 0 0 0 0
0 10 1 5 0 0 10 0 0
0 10 2 10 0 0 20 0 0
"""
VALUES: list[Any] = [-1, 0, 1, 3, 255, 2**31, 2**63, 10**40, -0.5, 1e-30, 1e30, 1e300, None, True, "", "x", [], {}, [0]]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything inside a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in items:
        found += _places(entry, (*path, key))
    return found


def _damage_json(content: dict[str, Any], rng: np.random.Generator) -> None:
    for _ in range(rng.integers(1, 4)):
        places = _places(content)
        path = places[rng.integers(len(places))]
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        old = holder[path[-1]]
        if rng.random() < 0.15:
            del holder[path[-1]]
        elif isinstance(old, int | float) and rng.random() < 0.6:
            # Believable numbers get further than nonsense.
            holder[path[-1]] = old + int(rng.integers(-2, 3)) if isinstance(old, int) else old * float(rng.normal(0, 3))
        else:
            holder[path[-1]] = VALUES[rng.integers(len(VALUES))]


def _damage_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    kind = rng.integers(4)
    if kind == 0:
        return data[: rng.integers(len(data))]
    damaged = bytearray(data)
    if kind == 1:
        for _ in range(rng.integers(1, 30)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
    elif kind == 2:
        at = rng.integers(len(damaged))
        damaged[at:at] = rng.bytes(int(rng.integers(1, 40)))
    else:
        at = int(rng.integers(len(damaged)))
        del damaged[at : at + int(rng.integers(1, 40))]
    return bytes(damaged)


def _damage_glb(data: bytes, rng: np.random.Generator) -> bytes:
    kind = rng.integers(3)
    if kind == 0:
        return _damage_bytes(data, rng)
    size = struct.unpack_from("<I", data, 12)[0]
    text, binary = data[20 : 20 + size], data[28 + size :]
    if kind == 1:
        # The values themselves: floats become NaN, huge or wrong.
        damaged = bytearray(binary)
        for _ in range(rng.integers(1, 6)):
            damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        return pack_glb(text, bytes(damaged))
    content = json.loads(text)
    _damage_json(content, rng)
    return pack_glb(json.dumps(content).encode(), binary)


def _damage_bvh(data: bytes, rng: np.random.Generator) -> bytes:
    if rng.integers(2):
        return _damage_bytes(data, rng)
    words = data.decode(errors="replace").split(" ")
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(words)))
        words[place] = str(VALUES[rng.integers(len(VALUES))]) if rng.random() < 0.7 else words[rng.integers(len(words))]
    return " ".join(words).encode()


def _sources() -> list[tuple[str, bytes]]:
    small = arm(translation=[[0, 0, 0], [0, 0.1, 0], [0, 0, 0]]).glb()
    sources = [(".glb", small), (".glb", small), (".bvh", BVH.encode())]
    shared = shared_data_path()
    for name in ("assets/RiggedSimple.glb", "assets/fish3.glb", "assets/khronos_fox.glb"):
        if (shared / name).is_file():
            sources.append((".glb", (shared / name).read_bytes()))
    return sources


def _check(seeds: range, folder: Path) -> tuple[int, int]:
    """Numbers of files that loaded and that were refused."""
    sources = _sources()
    loaded = refused = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        suffix, data = sources[seed % len(sources)]
        path = folder / f"fuzz{seed}{suffix}"
        path.write_bytes(_damage_glb(data, rng) if suffix == ".glb" else _damage_bvh(data, rng))
        start = time.process_time()
        message = ""
        try:
            load(path)
            loaded += 1
        except KinemaError as error:
            refused += 1
            message = str(error)
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        assert "\n" not in message, f"seed {seed}: {message}"
        assert not message or path.name in message, f"seed {seed}: {message}"
        # The processor's time: the clock's would be that of everything else that runs on the machine.
        spent = time.process_time() - start
        assert spent < 30, f"seed {seed} took {spent:.0f} s"
        path.unlink()
    return loaded, refused


@pytest.mark.filterwarnings("ignore")
def test_two_hundred_damaged_files_load_or_give_one_line(tmp_path: Path) -> None:
    loaded, refused = _check(range(200), tmp_path)
    assert loaded > 20
    assert refused > 50


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_thousand_damaged_files_load_or_give_one_line_in_two_gigabytes(tmp_path: Path) -> None:
    # The limit holds for this process: the address space may grow by 2 GB over what is mapped now.
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 2 * 2**30, hard))
    try:
        loaded, refused = _check(range(200, 2200), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert loaded + refused == 2000
    assert loaded > 200
