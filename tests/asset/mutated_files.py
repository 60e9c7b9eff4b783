"""Files of every format that Kinema reads, damaged by a seed where their structure is: fields, counts, types, sizes.

`mutated(seed, folder)` writes one and returns it with the function that reads it; `watch` reads it as the command would
and says how that ended. `benchmarks/fuzz.py` runs thousands, `test_fuzz_assets.py` some of them.
"""

import io
import json
import shutil
import signal
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from small_gltf import arm, compressed_arm, pack_glb, tube

from kinema.array_files import Array, read_arrays
from kinema.asset.clips_npz import load_clips_npz
from kinema.asset.load import load
from kinema.asset.rignet import read_rignet
from kinema.asset.skeleton_json import read_motion_json, read_skeleton_json
from kinema.batch.rows import read_jobs
from kinema.create.creatures import creature
from kinema.distill.config import Resolved
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.job.folder import resumed
from kinema.motion.motion import Motion, load_motion, save_motion
from kinema.prior.nano.prior import WEIGHTS, NanoPrior
from kinema.rig.kinematics import Rig
from kinema.splat.ply import read_ply
from kinema.tensor_files import load_tensors, save_tensors

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
RIGNET = b"""joints hips 0 0.1 0
joints chest 0 0.5 0
joints head 0 0.9 0
root hips
hier hips chest
hier chest head
skin 0 hips 0.25 chest 0.75
skin 1 head 1
"""
JOBS = b"""prompt = ["it walks", "it runs"]
seed = 3

[[job]]
asset = "fox"
frames = 24

[[job]]
asset = "wolf"
prior = "nano"
physics = false
"""
SECRET = "secret.bin"
"""A file outside of the folder that mutated files name; nobody may open it."""
ESCAPES = (
    f"../{SECRET}",
    f"%2e%2e/{SECRET}",
    f"..\\{SECRET}",
    "link.bin",
    "deep/" + SECRET,
    "/etc/passwd",
    "file:///x",
)
VALUES: list[Any] = [
    -1, 0, 1, 3, 255, 2**31, 2**63, 10**9, 10**40, -0.5, 1e-30, 1e30, 1e300, None, True, "", "x", [], {}, [0], "\ud800",
    "²", "a\0b", "-" * 3000, [[]], *ESCAPES,
]  # fmt: skip
TYPES = ["f2", ">f4", ">f8", "g", "c8", "b1", "i1", ">i4", "u8", "M8[D]", "m8[s]", "S4", "U3", "V4", "f4,i4"]
Rng = np.random.Generator
Files = dict[str, bytes]
"""Content of the files of one case by name; the first is the one that is read."""


@dataclass(frozen=True)
class Kind:
    """A format: an undamaged case of it, how it is damaged, and who reads it."""

    files: Callable[[], Files]
    damage: Callable[[bytes, Rng], bytes]
    read: Callable[[Path], Any]


def mutated(seed: int, folder: Path) -> tuple[str, Path, Callable[[Path], Any]]:
    """Write the case of a seed into an empty folder: the name of its kind, its file, and its reader."""
    rng, names = np.random.default_rng(seed), list(KINDS)
    name = names[seed % len(names)]
    files = dict(KINDS[name].files())
    main = next(iter(files))
    # Mostly the file itself; now and then one that it names (a texture, a material, a buffer).
    chosen = main if rng.random() < 0.75 else list(files)[rng.integers(len(files))]
    damage = KINDS[name].damage if chosen == main else DAMAGE.get(Path(chosen).suffix, damage_bytes)
    files[chosen] = damage_bytes(files[chosen], rng) if rng.random() < 0.15 else damage(files[chosen], rng)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder.parent / SECRET).write_bytes(b"secret" * 1000)
    (folder / "link.bin").symlink_to(folder.parent / SECRET)
    (folder / "deep").symlink_to(folder.parent)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return name, folder / main, KINDS[name].read


@dataclass(frozen=True)
class Ending:
    """How reading a file ended."""

    message: str = ""
    """The one line of a refusal; empty if the file was read."""
    bug: str = ""
    """Anything that must not happen: another exception, several lines, a line without the file, too long."""
    seconds: float = 0.0


class _TooLong(BaseException):
    """The alarm; no reader may take it for its own."""


def watch(path: Path, read: Callable[[Path], Any], *, longest_s: float = 20.0) -> Ending:
    """Read a file with an alarm on the processor's time."""

    def stop(number: int, frame: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)
    opened.clear()
    start, message, bug = time.process_time(), "", ""
    signal.setitimer(signal.ITIMER_PROF, longest_s)
    try:
        read(path)
    except KinemaError as error:
        message = str(error)
        bug = "several lines" if "\n" in message else "" if path.parent.name in message else "a line without the file"
    except _TooLong:
        bug = "too long"
    except BaseException as error:
        bug = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    seconds = time.process_time() - start
    if seconds > longest_s:
        bug = bug or "too long"
    if any(Path(name).name in (SECRET, "passwd") for name in opened):
        bug = "read outside of the folder"
    return Ending(message, bug, seconds)


opened: list[str] = []
"""Real paths of the files that were opened since the last case began."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | bytes | Path):
        name = arguments[0].decode(errors="replace") if isinstance(arguments[0], bytes) else str(arguments[0])
        if "\0" not in name:
            opened.append(str(Path(name).resolve()) if len(name) < 1000 else name)


sys.addaudithook(_audit)


def damage_bytes(data: bytes, rng: Rng) -> bytes:
    """Cut, flip, insert or delete anywhere."""
    kind, damaged = rng.integers(4), bytearray(data)
    at = int(rng.integers(len(damaged)))
    if kind == 0:
        return data[:at]
    if kind == 1:
        for _ in range(rng.integers(1, 30)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
    elif kind == 2:
        damaged[at:at] = rng.bytes(int(rng.integers(1, 40)))
    else:
        del damaged[at : at + int(rng.integers(1, 40))]
    return bytes(damaged)


def damage_json_value(content: Any, rng: Rng) -> None:
    """Change one to three fields somewhere inside."""
    for _ in range(rng.integers(1, 4)):
        places = _places(content)
        if not places:
            return
        path = places[rng.integers(len(places))]
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        old, kind = holder[path[-1]], rng.random()
        if kind < 0.15:
            del holder[path[-1]]
        elif kind < 0.2 and isinstance(old, list) and old:
            holder[path[-1]] = old * int(rng.choice([2, 1000]))
        elif type(old) is int and kind < 0.6:
            # Believable numbers get further than nonsense.
            step = int(rng.integers(-2, 3))
            holder[path[-1]] = int(rng.choice([old + step, old * 1000, 2**31 - 1, 20_000_000]))
        elif isinstance(old, float) and kind < 0.6:
            holder[path[-1]] = old * float(rng.normal(0, 3))
        else:
            holder[path[-1]] = VALUES[rng.integers(len(VALUES))]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything inside a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in items:
        found += _places(entry, (*path, key))
    return found


def damage_json(data: bytes, rng: Rng) -> bytes:
    content = json.loads(data)
    damage_json_value(content, rng)
    return json.dumps(content).encode()


def damage_glb(data: bytes, rng: Rng) -> bytes:
    size = struct.unpack_from("<I", data, 12)[0]
    text, binary = data[20 : 20 + size], data[28 + size :]
    if rng.random() < 0.75:
        return pack_glb(damage_json(text, rng), binary)
    damaged = bytearray(binary)  # the values themselves: floats become NaN, huge or wrong
    for _ in range(rng.integers(1, 6)):
        damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
    return pack_glb(text, bytes(damaged))


def damage_draco(data: bytes, rng: Rng) -> bytes:
    """The file around it, or the compressed mesh, mostly its header."""
    at = data.index(b"DRACO")
    if rng.random() < 0.4:
        return damage_glb(data, rng)
    damaged = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        damaged[at + int(rng.integers(7, 30 if rng.random() < 0.7 else len(data) - at))] = rng.choice([0, 1, 127, 255])
    return bytes(damaged)


def damage_text(data: bytes, rng: Rng) -> bytes:
    """Words, numbers and lines of a text format, or of a text header: replaced, doubled, taken out."""
    head, mark, body = data.partition(b"end_header") if data.startswith(b"ply") else (data, b"", b"")
    lines = [line.split(" ") for line in head.decode(errors="replace").split("\n")]
    for _ in range(rng.integers(1, 4)):
        line, kind = lines[rng.integers(len(lines))], rng.random()
        word = int(rng.integers(len(line)))
        if kind < 0.2:
            line[word:] = []
        elif kind < 0.3:
            line += [*line] * int(rng.choice([1, 50]))
        elif kind < 0.4:
            lines.insert(int(rng.integers(len(lines))), list(line))
        elif kind < 0.5:
            other = lines[rng.integers(len(lines))]
            line[word] = other[rng.integers(len(other))] if other else ""
        else:
            line[word] = str(VALUES[rng.integers(len(VALUES))])
        lines = [line or [""] for line in lines]
    return "\n".join(" ".join(line) for line in lines).encode(errors="surrogatepass") + mark + body


def damage_stl(data: bytes, rng: Rng) -> bytes:
    if data.startswith(b"solid"):
        return damage_text(data, rng)
    damaged = bytearray(data)
    if rng.random() < 0.5:
        damaged[80:84] = int(rng.choice([0, 1, 10**6, 2**32 - 1])).to_bytes(4, "little")
    else:
        at = 84 + 4 * int(rng.integers((len(data) - 84) // 4))
        damaged[at : at + 4] = struct.pack("<f", rng.choice([np.nan, np.inf, -1e38, 1e-40]))
    return bytes(damaged)


def damage_png(data: bytes, rng: Rng) -> bytes:
    """The header's size, depth and colour type, with a checksum that is right."""
    header = bytearray(data[12:29])
    if rng.random() < 0.7:
        width, height = (int(rng.choice([0, 1, 7, 13_000, 2**31 - 1])) for _ in range(2))
        struct.pack_into(">II", header, 4, width, height)
    else:
        header[12 + rng.integers(5)] = rng.integers(256)
    return data[:12] + bytes(header) + struct.pack(">I", zlib.crc32(header)) + data[33:]


def damage_npz(data: bytes, rng: Rng) -> bytes:
    """Arrays of another type, byte order, shape or value; members that are missing or claim more than they have."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = list(members)[rng.integers(len(members))]
    array, kind = np.load(io.BytesIO(members[name])), rng.integers(7)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[name] = _npy(np.zeros(array.shape, TYPES[rng.integers(len(TYPES))]))
    elif kind == 2:
        shapes = [array.shape[1:], (1, *array.shape), array.shape[::-1], (0, *array.shape[1:]), (), (*array.shape, 1)]
        members[name] = _npy(np.resize(array, shapes[rng.integers(len(shapes))]))
    elif kind == 3 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, 1e38, -1e38, 0.0])
        members[name] = _npy(array)
    elif kind == 4:
        # A header that claims another shape than the bytes behind it have.
        claim = [(10**9, 3), (2**40,), (-1, 3), (10**30, 0), ("x",), (3, True)][rng.integers(6)]
        members[name] = _header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {claim!r}, }}") + bytes(48)
    elif kind == 5:
        descr = ["|O", "<f8', 'x", "((((((" * 40, "<U1000000000", ">f4"][rng.integers(5)]
        members[name] = _header(f"{{'descr': '{descr}', 'fortran_order': True, 'shape': {array.shape}, }}") + bytes(48)
    else:
        members[name] = damage_bytes(members[name], rng)
    out = io.BytesIO()
    method = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]))
    with zipfile.ZipFile(out, "w", method) as file:
        for member, content in members.items():
            file.writestr(member, content)
    return out.getvalue()


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n"


def damage_safetensors(data: bytes, rng: Rng) -> bytes:
    """Shapes, types and offsets of the header, the JSON inside of it, and values."""
    size = struct.unpack_from("<Q", data)[0]
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    kind = rng.integers(4)
    if kind == 0:
        damage_json_value(header, rng)
    elif kind == 1:
        key = next(iter(header["__metadata__"]))
        inner = json.loads(header["__metadata__"][key])
        damage_json_value(inner, rng)
        header["__metadata__"][key] = json.dumps(inner)
    elif kind == 2:
        at = 4 * int(rng.integers(len(body) // 4))
        body[at : at + 4] = struct.pack("<f", rng.choice([np.nan, np.inf, 1e30]))
    text = json.dumps(header).encode()
    claimed = int(rng.choice([0, 2**40, 2**63])) if kind == 3 else len(text)
    return struct.pack("<Q", claimed) + text + bytes(body)


def _png() -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(out, "PNG")
    return out.getvalue()


def _textured_arm() -> Any:
    builder = arm(translation=[[0, 0, 0], [0, 0.1, 0], [0, 0, 0]])
    primitive = builder.content["meshes"][0]["primitives"][0]
    primitive["attributes"]["TEXCOORD_0"] = builder.accessor(np.zeros((36, 2)))
    primitive["material"] = 0
    surface = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    builder.content |= {"textures": [{"source": 0}], "materials": [surface]}
    return builder


@cache
def _glb() -> Files:
    builder = _textured_arm()
    builder.content["images"] = [{"bufferView": builder.view(_png()), "mimeType": "image/png"}]
    return {"arm.glb": builder.glb()}


@cache
def _draco() -> Files:
    return {"arm.glb": compressed_arm().glb()}


@cache
def _gltf() -> Files:
    builder = _textured_arm()
    builder.content["images"] = [{"uri": "skin.png"}]
    buffer = {"byteLength": len(builder.data), "uri": "arm.bin"}
    text = json.dumps({**builder.content, "buffers": [buffer]}).encode()
    return {"arm.gltf": text, "arm.bin": bytes(builder.data), "skin.png": _png()}


@cache
def _obj() -> Files:
    vertices, faces = tube()
    lines = ["mtllib look.mtl", "o tube", *("v {} {} {}".format(*v) for v in vertices), "vt 0 0", "vt 1 0", "vt 0 1"]
    lines += ["usemtl skin", *("f {}/1 {}/2 {}/3".format(*(f + 1)) for f in faces)]
    look = b"newmtl skin\nKd 1 0 0\nmap_Kd skin.png\n"
    return {"tube.obj": "\n".join(lines).encode(), "look.mtl": look, "skin.png": _png()}


def _ply(form: str) -> Files:
    vertices, faces = tube()
    header = f"ply\nformat {form} 1.0\ncomment TextureFile skin.png\nelement vertex {len(vertices)}\n"
    header += "property float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\n"
    header += f"property uchar blue\nelement face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    if form == "ascii":
        rows = [f"{x} {y} {z} 255 0 0" for x, y, z in vertices] + ["3 {} {} {}".format(*f) for f in faces]
        return {"tube.ply": (header + "\n".join(rows) + "\n").encode(), "skin.png": _png()}
    rows = [struct.pack("<fffBBB", *v, 255, 0, 0) for v in vertices] + [struct.pack("<Biii", 3, *f) for f in faces]
    return {"tube.ply": header.encode() + b"".join(rows), "skin.png": _png()}


@cache
def _stl(binary: bool) -> Files:
    vertices, faces = tube()
    if binary:
        rows = [struct.pack("<12fH", 0, 0, 0, *vertices[f].ravel(), 0) for f in faces]
        return {"tube.stl": bytes(80) + struct.pack("<I", len(faces)) + b"".join(rows)}
    lines = ["solid tube"]
    for face in faces:
        lines += ["facet normal 0 0 1", "outer loop", *("vertex {} {} {}".format(*v) for v in vertices[face])]
        lines += ["endloop", "endfacet"]
    return {"tube.stl": "\n".join([*lines, "endsolid tube", ""]).encode()}


@cache
def _off() -> Files:
    vertices, faces = tube()
    lines = ["OFF", f"{len(vertices)} {len(faces)} 0", *("{} {} {}".format(*v) for v in vertices)]
    return {"tube.off": "\n".join([*lines, *("3 {} {} {}".format(*f) for f in faces)]).encode()}


@cache
def _fox_rig() -> Rig:
    skeleton = creature("fox").skeleton
    assert skeleton is not None
    return Rig.from_skeleton(skeleton)


@cache
def _motion() -> Files:
    out = Path(_scratch()) / "motion.npz"
    save_motion(out, Motion.rest(_fox_rig(), frames=5, fps=24.0), _fox_rig())
    return {"motion.npz": out.read_bytes()}


@cache
def _motion_json() -> Files:
    out = Path(_scratch()) / "motion.json"
    write(out, creature("fox"), Motion.rest(_fox_rig(), frames=3, fps=24.0))
    return {"motion.json": out.read_bytes()}


@cache
def _clips() -> Files:
    vertices, faces = tube()
    one, out = np.tile(np.eye(4), (2, 1, 1)), io.BytesIO()
    one[1, 1, 3] = -1
    rest = np.linalg.inv(one)
    np.savez(
        out, names=np.array(["a", "b"]), parents=np.array([-1, 0]), offsets=np.array([[0, 0, 0], [0, 1, 0.0]]),
        inverse_bind=one, rest_world=rest, vertices=vertices, faces=faces, weights=np.full((len(vertices), 2), 0.5),
        base_color=np.ones((len(vertices), 3)), fps=24.0, clip_names=np.array(["walk"]),
        **{"clip/walk/root_pos": np.zeros((4, 3)), "clip/walk/local_quat_wxyz": np.tile([1.0, 0, 0, 0], (4, 2, 1))},
    )  # fmt: skip
    return {"clips.npz": out.getvalue()}


@cache
def _config() -> Files:
    values = {key: value for key, value in asdict(Resolved("fox", "a fox is walking")).items() if value is not None}
    return {"config.json": json.dumps({"config": values, "hashes": {}}).encode()}


@cache
def _checkpoint() -> Files:
    out = Path(_scratch()) / "run.safetensors"
    tensors = {"parameter.a": torch.ones(3, 4), "optimizer.0.step": torch.tensor(1.0)}
    save_tensors(out, tensors, header={"step": 3, "history": [{"loss": 1.0}]}, key="run")
    return {"run.safetensors": out.read_bytes()}


@cache
def _splats() -> Files:
    names = ["x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", *(f"scale_{k}" for k in range(3))]
    names += [f"rot_{k}" for k in range(4)]
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 20\n"
    header += "".join(f"property float {name}\n" for name in names) + "end_header\n"
    return {"cloud.ply": header.encode() + np.full((20, len(names)), 0.5, "<f4").tobytes()}


@cache
def _scratch() -> str:
    import tempfile

    return tempfile.mkdtemp(prefix="kinema-fuzz-")


def _read_checkpoint(path: Path) -> None:
    try:
        load_tensors(path, key="run", shapes={"parameter.a": (3, 4)})
    except ValueError as error:  # its callers add the file to the line
        raise KinemaError(f"{path}: {error}") from None


SKELETON = (
    b'{"joints": [{"name": "a", "parent": null, "head": [0, 0, 0]}, {"name": "b", "parent": "a", "head": [0, 1, 0]}]}'
)
ANY = {"angles": Array("frames joints 3"), "names": Array("joints", kind="text")}
KINDS = {
    "glb": Kind(_glb, damage_glb, load),
    "gltf": Kind(_gltf, damage_json, load),
    "draco": Kind(_draco, damage_draco, load),
    "bvh": Kind(lambda: {"walk.bvh": BVH.encode()}, damage_text, load),
    "obj": Kind(_obj, damage_text, load),
    "ply text": Kind(lambda: _ply("ascii"), damage_text, load),
    "ply binary": Kind(lambda: _ply("binary_little_endian"), damage_text, load),
    "stl binary": Kind(lambda: _stl(True), damage_stl, load),
    "stl text": Kind(lambda: _stl(False), damage_stl, load),
    "off": Kind(_off, damage_text, load),
    "skeleton json": Kind(lambda: {"bones.json": SKELETON}, damage_json, read_skeleton_json),
    "rignet": Kind(lambda: {"rig.txt": RIGNET}, damage_text, read_rignet),
    "motion json": Kind(_motion_json, damage_json, read_motion_json),
    "jobs": Kind(lambda: {"jobs.toml": JOBS}, damage_text, read_jobs),
    "motion npz": Kind(_motion, damage_npz, lambda path: load_motion(path, _fox_rig())),
    "clips npz": Kind(_clips, damage_npz, load_clips_npz),
    "any npz": Kind(_motion, damage_npz, lambda path: read_arrays(path, ANY, what="a motion")),
    "config json": Kind(_config, damage_json, lambda path: resumed(path.parent)),
    "checkpoint": Kind(_checkpoint, damage_safetensors, _read_checkpoint),
    "nano weights": Kind(lambda: {"nano.safetensors": WEIGHTS.read_bytes()}, damage_safetensors, NanoPrior.load),
    "splat ply": Kind(_splats, damage_text, read_ply),
}
DAMAGE = {".png": damage_png, ".mtl": damage_text}
