"""Mistakes as a new user makes them: one line on stderr, a code, and nothing half-written, for every command."""

import contextlib
import resource
from pathlib import Path

import pytest

from kinema.cli.main import main
from kinema.create.creatures import creature
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

READERS = {
    "inspect": ["inspect", "ASSET"],
    "rig": ["rig", "ASSET", "-o", "OUT.glb"],
    "splat": ["splat", "ASSET", "-o", "OUT.ply", "--no-refine", "--count", "500"],
    "render": ["render", "ASSET", "-o", "OUT.png", "--width", "32", "--height", "24"],
    "track": ["track", "ASSET", "-o", "OUT.glb", "--iterations", "1"],
    "convert": ["convert", "ASSET", "OUT.bvh"],
    "eval": ["eval", "ASSET"],
    "view": ["view", "ASSET"],
    "animate": ["animate", "ASSET", "a fox is walking", "-o", "OUT"],
    "demo": ["demo", "--asset", "ASSET", "-o", "OUT"],
}
WRITERS = {
    "creature": ["creature", "fox", "-o", "OUT.glb"],
    "rig": ["rig", "MESH", "-o", "OUT.glb", "--skeleton", "WALK"],
    "splat": ["splat", "fox", "-o", "OUT.ply", "--no-refine", "--count", "500"],
    "render": ["render", "fox", "-o", "OUT.png", "--width", "64", "--height", "48"],
    "render-film": ["render", "WALK", "-o", "OUT.mp4", "--motion", "walk", "--width", "64", "--height", "48"],
    "render-gif": ["render", "WALK", "-o", "OUT.gif", "--motion", "walk", "--width", "64", "--height", "48"],
    "track": ["track", "WALK", "-o", "OUT.glb", "--iterations", "1", "-q"],
    "convert": ["convert", "WALK", "OUT.bvh"],
    "convert-npz": ["convert", "WALK", "OUT.npz"],
    "convert-json": ["convert", "WALK", "OUT.json"],
    "convert-mjcf": ["convert", "WALK", "OUT.xml"],
    "convert-usd": ["convert", "WALK", "OUT.usda"],
}


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rigged file with one short clip."""
    fox = creature("fox")
    assert fox.skeleton is not None
    motion, _ = make_motion(Rig.from_skeleton(fox.skeleton), find_limbs(fox), "walk", frames=6, fps=12.0)
    path = tmp_path_factory.mktemp("walk") / "walk.glb"
    write(path, fox, motion, name="walk")
    return path


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import trimesh

    fox = creature("fox").mesh
    path = tmp_path_factory.mktemp("mesh") / "fox.obj"
    trimesh.Trimesh(fox.vertices, fox.faces, process=False).export(path)
    return path


def fails(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture, *, code: int = 1) -> str:
    """The one line that a command says; whatever was in the folder is as it was."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    said = capsys.readouterr()
    assert stop.value.code == code
    assert said.out == ""
    assert said.err.startswith("kinema: ")
    assert said.err.count("\n") == 1, said.err
    assert len(said.err) < 800
    assert "bug" not in said.err
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert after == before
    return said.err


def filled(template: list[str], **values: object) -> list[str]:
    for key, value in values.items():
        template = [word.replace(key, str(value)) for word in template]
    return template


@pytest.mark.parametrize("command", READERS)
def test_assets_that_are_none(command: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.glb").write_text("Dear artist, here is your fox.\n")
    (tmp_path / "empty.glb").touch()
    assets = {
        "missing.glb": "no such file",
        "folder": "folder",
        "text.glb": "text.glb",
        "empty.glb": "is empty",
        "": "",
        "a zorblax": "",
        "zorblax " * 1250: "",
        "zorblax " * 40: "",
        "zorblax" * 40 + ".glb": "zorblaxzorblax",
        "no/such/fox": "no",
        "fox.docx": "fox.docx",
    }
    for asset, told in assets.items():
        arguments = filled(READERS[command], ASSET=asset, OUT=tmp_path / "out")
        assert told in fails(arguments, tmp_path, capsys)


@pytest.mark.parametrize("command", WRITERS)
def test_outputs_that_cannot_be_written(
    command: str, walk: Path, mesh: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    for name in ("glb", "ply", "png", "mp4", "gif", "bvh", "npz", "json", "xml", "usda"):
        (tmp_path / f"taken.{name}").mkdir()
    for out in (tmp_path / "file" / "out", tmp_path / "nowhere" / "out", Path("/proc/out"), tmp_path / "taken"):
        line = fails(filled(WRITERS[command], WALK=walk, MESH=mesh, OUT=out), tmp_path, capsys)
        assert str(out) in line


@pytest.mark.parametrize("command", ["animate", "demo", "train-prior"])
def test_result_folders_that_cannot_be_made(command: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    template = ["train-prior", "-o", "OUT"] if command == "train-prior" else READERS[command]
    for out in (tmp_path / "file", tmp_path / "file" / "deep", Path("/proc/nowhere")):
        assert str(out) in fails(filled(template, ASSET="fox", OUT=out), tmp_path, capsys)


@pytest.mark.parametrize("command", READERS)
def test_ctrl_c(command: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the character is read; `test_interruptions.py` has it in the middle of the main job."""
    import kinema.asset.load

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "fox.glb").write_text("never read")
    monkeypatch.setitem(kinema.asset.load.LOADERS, ".glb", interrupted)
    arguments = filled(READERS[command], ASSET=tmp_path / "fox.glb", OUT=tmp_path / "out")
    assert fails(arguments, tmp_path, capsys, code=130) == "kinema: interrupted\n"


def test_render_to_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "frames", Path("/proc/frames")):
        small = ["--width", "16", "--height", "12"]
        assert str(out) in fails(["render", "fox", "-o", str(out), *small], tmp_path, capsys)


@contextlib.contextmanager
def full_disk(room: int):
    """No file may grow beyond `room` bytes, which programs meet as they meet a full disk: a write that fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("command", WRITERS)
def test_disk_full(command: str, walk: Path, mesh: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    if command == "convert-usd":
        pytest.importorskip("pxr", reason="needs the extra `usd`")
    with full_disk(512):
        line = fails(filled(WRITERS[command], WALK=walk, MESH=mesh, OUT=tmp_path / "out"), tmp_path, capsys)
    assert str(tmp_path / "out") in line


def test_prompts(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for prompt, told in (
        ("", "prompt is empty"),
        ("  \n", "prompt is empty"),
        ("walk " * 2000, "9999 characters"),
        ("🐺🏃", "has no words"),
    ):
        assert told in fails(["animate", "fox", prompt], tmp_path, capsys)
    assert "prompt is empty" in fails(["demo", "--prompt", ""], tmp_path, capsys)
    assert "prompt is empty" in fails(["eval", "fox", "--prompt", ""], tmp_path, capsys)


def test_priors_and_devices(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    import torch

    job = ["animate", "fox", "a fox is walking"]
    assert "known are nano, cogvideox-2b" in fails([*job, "--prior", "sora"], tmp_path, capsys)
    assert "known are cogvideox-2b" in fails(["doctor", "--prior", "sora"], tmp_path, capsys)
    assert "no such weights" in fails([*job, "--prior", "nano=missing"], tmp_path, capsys)
    assert "no such device" in fails([*job, "--device", "gpu"], tmp_path, capsys)
    assert "nano needs none" in fails([*job, "--offload"], tmp_path, capsys)
    if not torch.cuda.is_available():
        assert "no CUDA device" in fails([*job, "--device", "cuda"], tmp_path, capsys)
        assert "no CUDA device" in fails([*job, "--device", "cuda", "--prior", "cogvideox-5b"], tmp_path, capsys)


def test_values_and_folders_that_make_no_sense(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = ["animate", "fox", "a fox is walking"]
    for option, value in (
        ("--frames", "-1"), ("--frames", "3"), ("--frames", "100000000"), ("--views", "0"), ("--splats", "0"),
        ("--fps", "-1"), ("--fps", "inf"), ("--seed", "-1"), ("--iterations", "0"), ("--iterations", "9" * 20),
        ("--fit-iterations", "-3"), ("--guidance", "nan"), ("--smooth-weight", "nan"), ("--slip-weight", "-1"),
        ("--physics-iterations", "0"),
        ("--learning-rate", "0"), ("--period", "0"), ("--speed", "nan"), ("--checkpoint-seconds", "-1"),
    ):  # fmt: skip
        assert f"{option} " in fails([*job, option, value], tmp_path, capsys)
    for command, option, value in (
        (["splat", "fox", "-o", "x.ply"], "--count", "0"),
        (["splat", "fox", "-o", "x.ply"], "--seed", "-1"),
        (["creature", "fox"], "--seed", "-1"),
        (["render", "fox", "-o", "x.png"], "--width", "0"),
        (["track", "fox", "-o", "x.bvh"], "--iterations", "-1"),
        (["convert", "fox.glb", "x.bvh"], "--fps", "1e9"),
        (["train-prior", "-o", "x"], "--minutes", "-1"),
        (["train-prior", "-o", "x"], "--batch", "0"),
    ):
        assert f"{option} " in fails([*command, option, value], tmp_path, capsys)
    assert "missing: no such folder" in fails(["animate", "--resume", "missing"], tmp_path, capsys)
    assert "no such file" in fails(["train-prior", "-o", "x", "--start-from", "missing"], tmp_path, capsys)
    (tmp_path / "config.json").write_text('{"config": {"asset": 3}}')
    assert "config.json: asset is 3, not text" in fails(["animate", "--resume", "."], tmp_path, capsys)
    assert ".: is a folder" in fails(["eval", "fox", "--motion", "."], tmp_path, capsys)
    assert ".: is a folder" in fails(["convert", "fox.glb", "."], tmp_path, capsys)
    assert "config.json: asset is 3, not text" in fails(["eval", "."], tmp_path, capsys)
    for motion in ("missing.npz", "missing.bvh", "no such clip"):
        assert motion in fails(["eval", "fox", "--motion", motion], tmp_path, capsys)


def test_formats_are_refused_before_the_work(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for command in (["track", str(walk), "-o"], ["rig", str(walk), "-o"], ["convert", str(walk)]):
        assert "cannot write .avi" in fails([*command, str(tmp_path / "x.avi")], tmp_path, capsys)
    scene = ["track", str(walk), "-o", str(tmp_path / "x.glb"), "--simulator"]
    assert "can: .usd .usda .usdc" in fails(scene, tmp_path, capsys)
    assert "--fps 0.0: must be at least 1" in fails(
        ["convert", str(walk), str(tmp_path / "x.bvh"), "--fps", "0"], tmp_path, capsys
    )


def test_wrong_usage_has_its_own_code(capsys: pytest.CaptureFixture) -> None:
    for arguments, told in (
        (["fly"], "unknown command 'fly' (kinema --help lists all)"),
        (["render", "fox"], "needs -o FILE"),
        (["animate", "--no-such-option"], "--no-such-option"),
        (["animate", "fox", "--fram", "3"], "did you mean --frames?"),
        (["splat", "fox", "-o", "x.ply", "--count", "many"], "--count"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith("kinema: ")
        assert said.count("\n") == 1
        assert told in said


def test_a_bug_is_one_line_too_and_verbose_shows_where(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch
) -> None:
    import kinema.create.find

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(kinema.create.find, "find_character", broken)
    for arguments, lines in ((["inspect", "fox"], 1), (["inspect", "fox", "-v"], 5)):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 70
        said = capsys.readouterr().err
        assert "ZeroDivisionError: on purpose" in said
        assert said.count("\n") >= lines
        assert (said.count("\n") == 1) == (lines == 1)


def test_a_file_that_is_there_is_not_replaced_by_a_default_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dog.glb").write_text("of the user")
    main(["create", "dog"])
    assert capsys.readouterr().out == "dog-2.glb\n"
    assert Path("dog.glb").read_text() == "of the user"


def test_a_command_that_is_told_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = tmp_path / "my run"
    folder.mkdir()
    (folder / "config.json").write_text('{"config": {"asset": "fox", "prompt": "a fox is walking"}}')
    with pytest.raises(SystemExit):
        main(["view", str(folder)])
    assert capsys.readouterr().err.endswith(f"go on with kinema animate --resume '{folder}'\n")
