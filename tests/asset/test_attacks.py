"""Files made to eat memory, hang or lead elsewhere: the command says one line, soon, in little memory."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from small_gltf import Builder, arm, pack_glb

from kinema.asset.load import load
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.export.write import write

LARGEST_MB, LONGEST_S = 600, 10.0
"""What a refusal may take: peak memory of the whole process, and processor time: a hang, not the pace of a machine
(importing torch alone took two seconds on CI)."""
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"


def _glb(content: dict[str, Any]) -> bytes:
    return pack_glb(json.dumps({"asset": {"version": "2.0"}, **content}).encode(), b"")


def _mesh(accessors: list[dict[str, Any]], **content: Any) -> bytes:
    primitive = {"attributes": {"POSITION": 0}}
    return _glb({"accessors": accessors, "meshes": [{"primitives": [primitive]}], "nodes": [{"mesh": 0}], **content})


def _huge_accessor(folder: Path) -> Path:
    # Accessors without a bufferView are zeros, by the specification.
    (folder / "huge.glb").write_bytes(_mesh([{"componentType": 5126, "count": 20_000_000, "type": "VEC3"}]))
    return folder / "huge.glb"


def _many_accessors(folder: Path) -> Path:
    one = {"componentType": 5126, "count": 9_000_000, "type": "VEC3"}
    mesh = {"primitives": [{"attributes": {"POSITION": i}} for i in range(5)]}
    content = {"accessors": [one] * 5, "meshes": [mesh], "nodes": [{"mesh": 0}]}
    (folder / "many.glb").write_bytes(_glb(content))
    return folder / "many.glb"


def _sparse(folder: Path) -> Path:
    builder = Builder()
    index = builder.sparse(500_000_000, [0], [[1.0, 2.0, 3.0]])
    builder.content |= {"meshes": [{"primitives": [{"attributes": {"POSITION": index}}]}], "nodes": [{"mesh": 0}]}
    return builder.write(folder / "sparse.glb")


def _instances(folder: Path) -> Path:
    builder = arm()
    builder.content["nodes"] += [{"mesh": 0} for _ in range(100_000)]
    del builder.content["scenes"], builder.content["scene"]
    return builder.write(folder / "instances.glb")


def _chain(folder: Path) -> Path:
    builder, count = arm(), 20_000
    nodes = [{"name": f"j{i}", "children": [i + 1]} for i in range(count)]
    builder.content["nodes"] = [*nodes, {"mesh": 0, "skin": 0}]
    builder.content["skins"][0]["joints"] = list(range(count))
    del builder.content["scenes"], builder.content["scene"], builder.content["animations"]
    del builder.content["skins"][0]["inverseBindMatrices"]
    return builder.write(folder / "chain.glb")


def _long_clip(folder: Path) -> Path:
    builder = arm(times=(0.0, 1800.0, 3599.0))
    builder.content["nodes"] += [{} for _ in range(2000)]
    return builder.write(folder / "long.glb")


def _many_clips(folder: Path) -> Path:
    builder = arm()
    builder.content["animations"] *= 20_000
    return builder.write(folder / "clips.glb")


def _png_bomb(folder: Path) -> Path:
    Image.fromarray(np.zeros((13000, 13000), np.uint8)).save(folder / "skin.png")
    builder = arm()
    view = builder.view((folder / "skin.png").read_bytes())
    primitive = builder.content["meshes"][0]["primitives"][0]
    primitive["attributes"]["TEXCOORD_0"] = builder.accessor(np.zeros((36, 2)))
    primitive["material"] = 0
    surface = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    builder.content |= {"images": [{"bufferView": view}], "textures": [{"source": 0}], "materials": [surface]}
    return builder.write(folder / "bomb.glb")


def _obj_texture(folder: Path) -> Path:
    Image.fromarray(np.zeros((13000, 13000), np.uint8)).save(folder / "skin.png")
    (folder / "look.mtl").write_text("newmtl skin\nmap_Kd skin.png\n")
    (folder / "bomb.obj").write_text(f"mtllib look.mtl\n{TRIANGLE}usemtl skin\nf 1/1 2/2 3/3\n")
    return folder / "bomb.obj"


def _bvh(folder: Path, joints: int, frames: int) -> Path:
    """A fan of joints that each have one channel, and zeros for them."""
    text = ["HIERARCHY", "ROOT r", "{", "OFFSET 0 0 0", "CHANNELS 1 Xrotation"]
    text += [f"JOINT j{i}\n{{\nOFFSET {i} 1 0\nCHANNELS 1 Xrotation\n}}" for i in range(joints)]
    text += ["}", "MOTION", f"Frames: {frames}", "Frame Time: 0.03", " ".join(["0"] * (joints + 1))]
    (folder / "fan.bvh").write_text("\n".join(text))
    return folder / "fan.bvh"


def _ply(folder: Path, count: str, name: str = "vertex") -> Path:
    header = f"ply\nformat binary_little_endian 1.0\nelement {name} {count}\n"
    header += "property float x\nproperty float y\nproperty float z\nend_header\n"
    (folder / "mesh.ply").write_bytes(header.encode() + bytes(64))
    return folder / "mesh.ply"


def _off(folder: Path) -> Path:
    (folder / "mesh.off").write_text("OFF\n999999999999 1 0\n0 0 0\n")
    return folder / "mesh.off"


def _obj(folder: Path, text: str) -> Path:
    (folder / "mesh.obj").write_text(text)
    return folder / "mesh.obj"


def _materials(folder: Path) -> Path:
    corners = "\n".join(f"v {i} {i % 7} 0" for i in range(20_000))
    return _obj(folder, corners + "".join(f"\nusemtl m{i}\nf {i + 1} {i + 2} {i + 3}" for i in range(19_000)))


def _stl(folder: Path) -> Path:
    (folder / "mesh.stl").write_bytes(bytes(80) + (2**32 - 1).to_bytes(4, "little") + bytes(50))
    return folder / "mesh.stl"


def _surrogate(folder: Path) -> Path:
    builder = arm()
    builder.content["nodes"][1]["name"] = "\ud800"
    return builder.write(folder / "half.glb")


INSPECTED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "an accessor without bytes": (_huge_accessor, "would take"),
    "many accessors without bytes": (_many_accessors, "would take"),
    "a sparse accessor": (_sparse, "would take"),
    "100,000 nodes of one mesh": (_instances, "would take"),
    "20,000 joints in a chain": (_chain, "has 20000 joints"),
    "a clip of an hour on three keys": (_long_clip, "would take"),
    "20,000 animations": (_many_clips, "has 20000 animations, more than 2000"),
    "a texture of 13000 x 13000": (_png_bomb, "13000 x 13000 pixels would take"),
    "an OBJ's texture of 13000 x 13000": (_obj_texture, "13000 x 13000 pixels would take"),
    "a BVH of 20,000 joints": (lambda folder: _bvh(folder, 20_000, 1), "more than 1000 joints"),
    "a BVH of a billion frames": (lambda folder: _bvh(folder, 10, 10**9), "1e+09 frames of 11 joints would take"),
    "a PLY of a billion vertices": (lambda folder: _ply(folder, "999999999999"), "header counts '999999999999'"),
    "a PLY's count in superscript": (lambda folder: _ply(folder, "²"), "header counts '²'"),
    "an OFF of a billion vertices": (_off, "header counts '999999999999'"),
    "an STL of four billion triangles": (_stl, "has no triangles"),
    "an OBJ with two coordinates": (lambda folder: _obj(folder, "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n"), "not 3"),
    "an OBJ's index out of range": (lambda folder: _obj(folder, TRIANGLE + "f 1 2 999999999\n"), "OBJ"),
    "an OBJ of 19,000 materials": (_materials, "has 19000 materials"),
    "half a character in a name": (_surrogate, "not a string of whole characters"),
}
"""How a file is made, and a part of the line."""


MEASURED = """
import resource, subprocess, sys
code = subprocess.call([sys.executable, "-m", "kinema", *sys.argv[2:]])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(f"{code} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss / 1024}")
"""
"""A small process between: what a process had in memory before it became another program counts for that one too."""


def run(*arguments: str) -> tuple[int, str, str, float, float]:
    """Exit code, both outputs, processor seconds and peak memory [MB] of a command."""
    with tempfile.NamedTemporaryFile("r") as told:
        words = [sys.executable, "-c", MEASURED, told.name, *arguments]
        done = subprocess.run(words, capture_output=True, text=True)
        code, seconds, megabytes = map(float, told.read().split())
    return int(code), done.stdout, done.stderr, seconds, megabytes


def refused(path: Path, text: str, *arguments: str) -> None:
    code, out, err, seconds, megabytes = run(*arguments)
    assert (code, out) == (1, ""), err
    assert len(err.splitlines()) == 1
    assert err.startswith("kinema: ")
    assert path.name in err
    assert text in err
    assert seconds < LONGEST_S
    assert megabytes < LARGEST_MB


@pytest.mark.parametrize("name", INSPECTED)
def test_a_hostile_file_is_one_line_soon_in_little_memory(name: str, tmp_path: Path) -> None:
    make, text = INSPECTED[name]
    path = make(tmp_path)
    refused(path, text, "inspect", str(path))


def motion_bomb(folder: Path) -> tuple[str, ...]:
    """The command that reads 4 MB of zeros, 1.3 GB of angles."""
    joints = len(creature("fox").skeleton.names)
    frames = 50_000_000 // joints
    with (folder / "motion.npz").open("wb") as file:
        zeros = np.lib.stride_tricks.as_strided(np.zeros(1), (frames, joints, 3), (0, 0, 0))
        np.savez_compressed(file, angles=zeros, root_position=np.zeros((1, 3)), fps=24.0, names=np.array(["a"]))
    write(folder / "fox.glb", creature("fox"))
    return ("convert", str(folder / "fox.glb"), str(folder / "out.bvh"), "--motion", str(folder / "motion.npz"))


def test_a_motion_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    code, out, err, _, megabytes = run(*motion_bomb(tmp_path))
    assert (code, out, len(err.splitlines())) == (1, "", 1), err
    assert megabytes < LARGEST_MB


@pytest.mark.parametrize("case", ["resume", "out of range", "rig", "motion"])
def test_a_bad_file_is_refused_before_torch_comes_in(case: str, tmp_path: Path) -> None:
    """Its import takes two seconds where a machine is busy, and a refusal a few tenths."""
    job = {"asset": "fox", "prompt": "a fox walks", "frames": 10**9 if case == "out of range" else 24}
    saved = [] if case == "resume" else {"config": job}
    (tmp_path / "config.json").write_text(json.dumps(saved))
    os.mkfifo(tmp_path / "motion.npz")
    resume = ("animate", "--resume", str(tmp_path))
    mesh, joints = _obj(tmp_path, TRIANGLE + "f 1 2 3\n"), tmp_path / "joints.json"
    joints.write_text('{"joints": []}')
    words, said = {
        "resume": (resume, "not an object"),
        "out of range": (resume, "--frames 1000000000"),
        "rig": (("rig", str(mesh), "--from", str(joints)), "list of 1 to 1000 joints"),
        "motion": (("view", "fox", "--motion", str(tmp_path / "motion.npz")), "is not a regular file"),
    }[case]
    code = (
        "import sys\nfrom kinema.cli.main import main\ntry:\n    main(sys.argv[1:])\n"
        "finally:\n    print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "False\n", 1), done.stderr
    assert said in done.stderr


def test_links_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    """A link in the model's folder to a file elsewhere is refused as the file's name itself would be."""
    secret, folder = tmp_path / "secret.bin", tmp_path / "model"
    folder.mkdir()
    path = arm().write(folder / "arm_external.gltf")
    (folder / "arm_external.bin").rename(secret)
    for target in (secret, Path("../secret.bin")):
        (folder / "arm_external.bin").symlink_to(target)
        with pytest.raises(KinemaError, match=r"refers to 'arm_external\.bin', which is not inside its own folder"):
            load(path)
        (folder / "arm_external.bin").unlink()
    (folder / "deep").symlink_to(tmp_path)
    content = json.loads(path.read_text())
    content["buffers"][0]["uri"] = "deep/secret.bin"
    path.write_text(json.dumps(content))
    with pytest.raises(KinemaError, match="not inside its own folder"):
        load(path)
    # A link within the folder is as good as the file.
    (folder / "own.bin").write_bytes(secret.read_bytes())
    content["buffers"][0]["uri"] = "link.bin"
    (folder / "link.bin").symlink_to("own.bin")
    path.write_text(json.dumps(content))
    assert load(path).skeleton is not None


@pytest.mark.parametrize("named", ["look.mtl", "../look.mtl", "{}/look.mtl"])
def test_materials_and_textures_of_an_obj_stay_in_its_folder(named: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "skin.png")
    (tmp_path / "look.mtl").write_text("newmtl skin\nKd 1 0 0\n")
    (folder / "look.mtl").write_text("newmtl skin\nmap_Kd ../skin.png\n")
    text = f"mtllib {named.format(tmp_path)}\n{TRIANGLE}usemtl skin\nf 1/1 2/2 3/3\n"
    with pytest.raises(KinemaError, match="not inside its own folder"):
        load(_obj(folder, text))


def test_a_texture_in_postscript_is_not_run(tmp_path: Path) -> None:
    """Pillow hands EPS to Ghostscript, whatever the file is called."""
    program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    (tmp_path / "skin.png").write_bytes(program)
    (tmp_path / "look.mtl").write_text("newmtl skin\nmap_Kd skin.png\n")
    with pytest.raises(KinemaError, match="EPS is no format of textures"):
        load(_obj(tmp_path, f"mtllib look.mtl\n{TRIANGLE}usemtl skin\nf 1/1 2/2 3/3\n"))


def test_clips_with_huge_vertices_are_refused_at_once(tmp_path: Path) -> None:
    from kinema.asset.clips_npz import load_clips_npz

    many, one = np.full((50, 3), 1e300), np.tile(np.eye(4), (2, 1, 1))
    np.savez(
        tmp_path / "clips.npz", names=np.array(["a", "b"]), parents=np.array([-1, 0]), offsets=np.zeros((2, 3)),
        inverse_bind=one, rest_world=one, vertices=many, faces=np.zeros((1, 3), int), weights=np.ones((50, 2)),
        base_color=np.zeros((50, 3)), fps=24.0, clip_names=np.array([], dtype="U1"),
    )  # fmt: skip
    with pytest.raises(KinemaError, match="vertices holds values that are not finite or larger than"):
        load_clips_npz(tmp_path / "clips.npz")
