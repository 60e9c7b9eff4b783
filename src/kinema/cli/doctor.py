"""`kinema doctor`: what is installed, what can run here, and what a job would cost."""

import importlib
import importlib.metadata
import os
import platform
import shutil
import sys
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import kinema
from kinema.cli.doctor_priors import memory_lines, memory_of, predicted, prediction_lines
from kinema.cli.output import Output
from kinema.errors import KinemaError
from kinema.options import Flag, named

EXTRAS = {
    "gpu": ("diffusers", "transformers", "accelerate", "gsplat", "sentencepiece"),
    "usd": ("usd-core",),
}
"""Optional packages by the extra that installs them."""
KERNELS = ("articulation", "contact", "field", "rasterizer", "scene")
CORE = ("torch", "numpy", "scipy", "trimesh", "embreex", "viser", "tyro", "imageio-ffmpeg")


@dataclass(frozen=True)
class DoctorCommand:
    """Tell what is installed, what can run here, and how much memory and time a job would take."""

    prior: Annotated[str | None, named("NAME")] = None
    """Estimate the memory of a job with this video model, for cards of 8, 12, 24 and 40 GB (takes minutes)."""
    preset: Literal["default", "gpu"] = "default"
    """`gpu`: the settings of `kinema animate --preset gpu`, counted, with the time per clip that they predict."""
    tiny_encoder: Flag = False
    """Count those of a job with a tiny encoder in place of the model's own."""
    video_size: Annotated[tuple[int, int, int] | None, named("FRAMES HEIGHT WIDTH")] = None
    """Size of that job's videos; by default 49 frames at the size that the model was trained with."""


def doctor(command: DoctorCommand, output: Output) -> None:
    if command.prior is None:
        found = examine()
        output.say("\n".join(doctor_lines(found)), **found)
        return
    if command.preset == "gpu":
        found = predicted(command.prior, tiny=command.tiny_encoder, announce=output.hint)
        output.say("\n".join(prediction_lines(found)), **found)
        return
    job = {"tiny": command.tiny_encoder, "announce": output.hint}
    estimate = memory_of(command.prior, command.video_size, **job)
    output.say("\n".join(memory_lines(estimate)), **estimate)


def examine() -> dict[str, Any]:
    """Everything that `doctor_lines` shows, as plain values for JSON."""
    import torch

    return {
        "kinema": kinema.__version__,
        "python": sys.version.split()[0],
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "memory_gb": _memory(),
        "packages": {name: _version(name) for name in CORE},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
        "kernels": _kernels(),
        "cuda": [_card(index) for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else [],
        "programs": {"blender": _blender(), "ffmpeg": _ffmpeg()},
        "priors": _priors(),
        "nano": _nano_job(),
        "cache": str(Path(os.environ.get("KINEMA_CACHE", "~/.cache/kinema")).expanduser()),
    }


def doctor_lines(found: dict[str, Any]) -> list[str]:
    """For people."""
    kernels = [f"{name}: {text}" for name, text in found["kernels"].items()]
    lines = [
        f"kinema {found['kinema']} on Python {found['python']}",
        f"machine   {found['machine']}; {found['memory_gb']['total']:.0f} GB, {found['memory_gb']['free']:.0f} GB free",
        "packages  " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in found["packages"].items()),
    ]
    for extra, packages in found["extras"].items():
        missing = [name for name, version in packages.items() if version is None]
        have = ", ".join(f"{name} {version}" for name, version in packages.items() if version)
        hint = f"; not {', '.join(missing)} (pip install 'kinema[{extra}]')" if missing else ""
        lines.append(f"extra {extra:4s}{have or 'nothing installed'}{hint}")
    lines.append("kernels   " + "; ".join(kernels))
    cards = ", ".join(f"{card['name']} ({card['memory_gb']:.0f} GB)" for card in found["cuda"])
    lines.append(f"CUDA      {cards or 'none: the renderer and the priors run on the CPU'}")
    for name, where in found["programs"].items():
        what = "FBX, BLEND and reading of USD" if name == "blender" else "MP4"
        lines.append(f"{name:9s} {where or f'not found: no {what} (docs/formats.md)'}")
    lines.append("priors" + ("" if found["cuda"] else "    (without CUDA all but nano are far too slow to be useful)"))
    for name, state in found["priors"].items():
        lines.append(f"  {name:22s} {state}")
    if found["nano"] is not None:
        parts = ", ".join(f"{name} {value:.0f} s" for name, value in found["nano"]["seconds"].items())
        lines.append(f"a job     kinema animate with nano: {found['nano']['memory_gb']:.1f} GB of memory;")
        lines.append(f"          with this machine as busy as it is now {parts}, then films and files")
    lines.append("          kinema doctor --prior NAME estimates the memory of a job with a larger one")
    return lines


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> dict[str, float]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    free = total
    try:
        entries = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = float(entries["MemAvailable"].split()[0]) * 1024 / 1e9
    except (OSError, KeyError, ValueError):
        pass
    return {"total": round(total, 1), "free": round(free, 1)}


def _kernels() -> dict[str, str]:
    """The native modules, with the vector widths that this CPU offers them."""
    result = {}
    for name in KERNELS:
        try:
            module = importlib.import_module(f"kinema._{name}")
        except ModuleNotFoundError:
            result[name] = "NOT BUILT: make native (a slow twin instead)"
        except ImportError as error:
            result[name] = f"cannot be loaded ({error})"
        else:
            widths = getattr(module, "widths", None)
            result[name] = f"vectors of {max(widths())} floats" if widths is not None else "built"
    return result


def _card(index: int) -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(index)
    return {"name": properties.name, "memory_gb": properties.total_memory / 1e9}


def _blender() -> str | None:
    from kinema.asset.blender import blender_command

    try:
        command = blender_command()
    except KinemaError as error:
        return str(error)
    return command[0] if command else None


def _ffmpeg() -> str | None:
    import imageio_ffmpeg

    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError:
        return shutil.which("ffmpeg")


def _priors() -> dict[str, str]:
    """Every prior and whether it can run here."""
    from kinema.prior.load import MODELS
    from kinema.prior.nano.prior import WEIGHTS

    result = {"nano": "ready" if WEIGHTS.is_file() else "its weights are missing: kinema train-prior"}
    lacking = [name for name in ("diffusers", "transformers", "accelerate") if find_spec(name) is None]
    for name, (_, repository, _) in MODELS.items():
        if lacking:
            result[name] = f"needs {', '.join(lacking)}: pip install 'kinema[gpu]'"
            continue
        result[name] = f"weights {'in the cache' if _cached(repository) else 'to be downloaded'}: {repository}"
    return result


def _cached(repository: str) -> bool:
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    return any((hub / f"models--{repository.replace('/', '--')}" / "snapshots").glob("*/model_index.json"))


def _nano_job() -> dict[str, Any] | None:
    """Memory of a default job and time of its stages, from a few real steps of each."""
    from kinema.create.creatures import creature
    from kinema.distill.config import Resolved
    from kinema.job.animate import animate
    from kinema.job.folder import load_named_prior, peak_memory_gb
    from kinema.progress import Progress

    full = Resolved("fox", "a fox is walking")
    few = replace(full, views=1, fit_iterations=3, iterations=3, physics_iterations=3)
    try:
        prior = load_named_prior(few)
    except KinemaError:
        return None
    steps: list[tuple[Progress, float]] = []
    begun = time.monotonic()
    animate(few, creature("fox"), prior, progress=lambda at: steps.append((at, time.monotonic())))
    ticks = {stage: [when for at, when in steps if at.stage == stage] for stage in ("sample", "fit", "sds", "physics")}
    each = {stage: (when[-1] - when[0]) / (len(when) - 1) for stage, when in ticks.items() if len(when) > 1}
    each["sample"] = ticks["sample"][0] - begun
    counts = {"sample": full.views, "fit": full.fit_iterations, "sds": 200, "physics": full.physics_iterations}
    seconds = {stage: count * each[stage] for stage, count in counts.items()}
    return {"seconds": seconds, "memory_gb": peak_memory_gb()}
