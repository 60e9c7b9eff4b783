"""FBX, BLEND and USD through Blender, always in a process of its own.

Blender is found, in this order, as the Python named by KINEMA_BLENDER_PYTHON, as `.venv-blender/bin/python` beside
the checkout, or as `blender` on the PATH. The `bpy` wheel wants numpy < 2, hence an environment of its own.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from kinema.errors import KinemaError

STREAMS: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
SCRIPT = Path(__file__).with_name("blender_script.py")
READ = (".fbx", ".blend", ".usd", ".usda", ".usdc", ".usdz", ".glb", ".gltf")
WRITTEN = (".fbx", ".blend", ".usd", ".usda", ".usdc", ".usdz", ".glb")


def blender_command() -> list[str] | None:
    """Command that runs a Python script in Blender (the script and `--` follow), or None if there is no Blender."""
    named, beside = os.environ.get("KINEMA_BLENDER_PYTHON"), Path(__file__).parents[3] / ".venv-blender/bin/python"
    if named and not Path(named).is_file():
        raise KinemaError(f"KINEMA_BLENDER_PYTHON={named}: there is no such program")
    if named or beside.is_file():
        return [named or str(beside), "-I"]
    program = shutil.which("blender")
    return [program, "--background", "--factory-startup", "--python"] if program else None


def run_blender(script: Path, arguments: list[str], *, about: Path, timeout: float = 300.0) -> str:
    """Run a script in Blender and return its output; every failure is a one-line error about the file `about`.

    A script gives the reason of its failure in a line that begins with "KINEMA: ".
    """
    command = blender_command()
    if command is None:
        raise KinemaError(
            f"{about}: needs Blender: put `blender` on the PATH, or install bpy into an environment of its own"
            " and name its Python in KINEMA_BLENDER_PYTHON (docs/formats.md)"
        )
    try:
        words = [*command, str(script), "--", *arguments]
        done = subprocess.run(words, **STREAMS, text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        raise KinemaError(f"{about}: Blender did not finish within {timeout:g} s") from None
    except OSError as error:
        raise KinemaError(f"{about}: Blender cannot be run ({command[0]}: {error.strerror})") from None
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    told = [line.removeprefix("KINEMA: ") for line in lines if line.startswith("KINEMA: ")]
    if told:
        raise KinemaError(f"{about}: Blender says: {told[-1].removeprefix('Error: ')[:300]}")
    if done.returncode < 0:
        raise KinemaError(f"{about}: Blender crashed ({signal.Signals(-done.returncode).name})")
    if done.returncode:
        raise KinemaError(f"{about}: Blender failed: {lines[-1][:300] if lines else f'exit code {done.returncode}'}")
    return done.stdout


def convert_with_blender(source: Path, target: Path, *, fps: float = 30.0, about: Path | None = None) -> None:
    """Write `source` (FBX, BLEND, USD, GLB) as `target` (GLB, FBX, BLEND, USD).

    `fps` is the rate at which the clips of a GLB, which names none, are sampled into Blender's whole frames. Errors
    name the source, or the file `about` if the user knows only that one.
    """
    source, target, about = Path(source), Path(target), about or Path(source)
    if source.suffix.lower() not in READ:
        raise KinemaError(f"{source}: Blender is used for {' '.join(READ)}, not for {source.suffix!r}")
    if target.suffix.lower() not in WRITTEN:
        raise KinemaError(f"{target}: Blender is used for {' '.join(WRITTEN)}, not for {target.suffix!r}")
    if not source.is_file():
        raise KinemaError(f"{source}: there is no such file")
    # Blender takes the format from the suffix and may write textures beside the file, so a folder is the ".part".
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=target.stem, suffix=".part") as folder:
        partial = Path(folder) / target.name
        run_blender(SCRIPT, [str(source.resolve()), str(partial.resolve()), str(fps)], about=about)
        if not partial.is_file():
            raise KinemaError(f"{about}: Blender wrote no {target.suffix[1:].upper()}")
        for extra in Path(folder).iterdir():
            if extra.is_dir():
                shutil.copytree(extra, target.parent / extra.name, dirs_exist_ok=True)
            elif extra != partial:
                extra.replace(target.parent / extra.name)
        partial.replace(target)
