"""A mesh from an outside program: `--with 'CMD {prompt} {image} {out}'`."""

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from kinema.asset.character import Character
from kinema.asset.load import load
from kinema.errors import KinemaError

FIELDS = ("{prompt}", "{image}", "{out}")


def run_program(command: str, words: str, image: Path | None, *, seconds: float) -> Character:
    """Run the command without a shell and read the mesh that it leaves at {out}, a GLB unless it says another suffix.

    Words of the command are split as a shell would; {prompt}, {image} and {out} may stand within a word, as in
    --output={out}. A word after {out} such as {out}.obj asks for another format.
    """
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise KinemaError(f"--with {command!r}: cannot be read ({error})") from None
    if not parts:
        raise KinemaError("--with: names no program")
    if "{out}" not in command:
        raise KinemaError(f"--with {command!r}: is neither shap-e nor a program with {{out}}, where the mesh shall be")
    if "{image}" in command and image is None:
        raise KinemaError(f"--with {command!r}: takes a picture; give one with --image FILE")
    if "{image}" not in command and image is not None:
        raise KinemaError(f"--image {image}: the program is not given it; write {{image}} where it takes one")
    if "{prompt}" in command and not words.strip():
        raise KinemaError(f"--with {command!r}: takes words; say what it shall make")
    if shutil.which(parts[0]) is None:
        raise KinemaError(f"{parts[0]}: no such program (--with)")
    with tempfile.TemporaryDirectory() as folder:
        suffix = next((Path(part.split("{out}")[1]).name for part in parts if "{out}." in part), "")
        stem = Path(folder) / "made"
        out = stem.with_name("made" + suffix) if suffix else stem.with_suffix(".glb")
        values: dict[str, str] = dict(
            zip(FIELDS, (words, "" if image is None else str(image.resolve()), str(stem if suffix else out)))
        )
        _run([_filled(part, values) for part in parts], parts[0], seconds)
        if not out.is_file():
            raise KinemaError(f"{parts[0]}: ended well but left no mesh at {{out}} ({out.name})")
        if out.stat().st_size == 0:
            raise KinemaError(f"{parts[0]}: the mesh that it left is an empty file")
        try:
            made = load(out)
        except KinemaError as error:
            raise KinemaError(
                f"{parts[0]}: the mesh that it left cannot be read: {error}".replace(folder, "")
            ) from None
    if not len(made.mesh.faces):
        raise KinemaError(f"{parts[0]}: the mesh that it left has no triangles")
    return Character(words.strip() or (image.stem if image else "made"), made.mesh, made.skeleton, made.weights,
                     frame=made.frame)  # fmt: skip


def _filled(part: str, values: dict[str, str]) -> str:
    """One word of the command; only the three fields are replaced, once, so words with braces stay as they are."""
    for field, value in values.items():
        before, found, after = part.partition(field)
        if found:
            return before + value + _filled(after, values)
    return part


def _run(arguments: list[str], name: str, seconds: float) -> None:
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise KinemaError(f"{name}: took longer than {seconds:g} s (--maker-seconds)") from None
    except OSError as error:
        raise KinemaError(f"{name}: cannot be run ({error.strerror})") from None
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise KinemaError(f"{name}: failed with code {done.returncode}" + (f": {said[-1][:200]}" if said else ""))
