"""Blender runs in a process of its own, and all its troubles arrive as one line."""

import sys
from pathlib import Path

import pytest

from kinema.asset.blender import blender_command, convert_with_blender, run_blender
from kinema.errors import KinemaError

needs_blender = pytest.mark.skipif(blender_command() is None, reason="neither `blender` nor a Python with bpy is here")


@pytest.fixture
def python_as_blender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any program can stand where Blender stands: here a Python without bpy that runs the script."""
    monkeypatch.setenv("KINEMA_BLENDER_PYTHON", sys.executable)


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "in.fbx: Blender crashed \\(SIGSEGV\\)"),
        ("print('KINEMA: Error: no such node'); raise SystemExit(3)", "in.fbx: Blender says: no such node"),
        ("import this_is_not_there", "in.fbx: Blender failed: ModuleNotFoundError: No module named 'this_is"),
        ("import time; time.sleep(60)", "in.fbx: Blender did not finish within 1 s"),
    ],
)
def test_trouble_is_one_line(tmp_path: Path, python_as_blender: None, text: str, message: str) -> None:
    with pytest.raises(KinemaError, match=message) as raised:
        run_blender(script(tmp_path, text), [], about=Path("in.fbx"), timeout=1.0)
    assert "\n" not in str(raised.value)


def test_absent_blender_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kinema.asset.blender.blender_command", lambda: None)
    source = tmp_path / "in.fbx"
    source.touch()
    with pytest.raises(KinemaError, match=r"in.fbx: needs Blender: put `blender` on the PATH"):
        convert_with_blender(source, tmp_path / "out.glb")
    monkeypatch.undo()
    monkeypatch.setenv("KINEMA_BLENDER_PYTHON", str(tmp_path / "nothing"))
    with pytest.raises(KinemaError, match="nothing: there is no such program"):
        convert_with_blender(source, tmp_path / "out.glb")


def test_wrong_names_are_told_before_blender_starts(tmp_path: Path) -> None:
    with pytest.raises(KinemaError, match=r"not for '.dae'"):
        convert_with_blender(tmp_path / "in.fbx", tmp_path / "out.dae")
    with pytest.raises(KinemaError, match="there is no such file"):
        convert_with_blender(tmp_path / "in.fbx", tmp_path / "out.glb")


@needs_blender
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("in.fbx", b"; FBX 7.3.0 project file\nFBXHeaderExtension:  {\n}\n", "ASCII FBX files are not supported"),
        ("in.usdc", b"PXR-USDC" + bytes(99), "unable to open stage"),
        ("in.blend", b"BLENDER-v300" + b"abc" * 99, "Failed to read blend file"),
    ],
)
def test_refusal_of_blender_is_our_error(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(KinemaError, match=message) as raised:
        convert_with_blender(tmp_path / name, tmp_path / "out.glb")
    assert "\n" not in str(raised.value)
    # Nothing half-made stays behind.
    assert [path.name for path in tmp_path.iterdir()] == [name]


@needs_blender
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".fbx", ".blend", ".usdc"])
def test_there_and_back(shared_data: Path, tmp_path: Path, suffix: str) -> None:
    there = tmp_path / f"fox{suffix}"
    convert_with_blender(shared_data / "assets" / "khronos_fox.glb", there, fps=24.0)
    convert_with_blender(there, tmp_path / "fox.glb")
    assert (tmp_path / "fox.glb").read_bytes()[:4] == b"glTF"
