"""The run folder: options, checkpoints, hashes and results of a job on disk. A killed run resumes to the same bits."""

import json
import platform
import re
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kinema
from kinema.asset.character import Character
from kinema.create.make import make_character
from kinema.create.options import MADE, MADE_HERE
from kinema.distill.config import Animate, Resolved, resolve
from kinema.distill.describe import describe
from kinema.distill.field import Deformation
from kinema.distill.loop import Observer
from kinema.distill.prompt import read_prompts
from kinema.distill.schedule import Schedule
from kinema.errors import KinemaError
from kinema.export.write import write
from kinema.files import make_folder, read_json, replacing, unused, write_text
from kinema.job.animate import DISTILLED, TRACKED
from kinema.job.animate import animate as animate_character
from kinema.job.hashes import file_hashes
from kinema.job.lock import locked
from kinema.job.report import summarise, write_report
from kinema.job.saved import check_options, saved_job
from kinema.motion.motion import Motion, load_motion, save_motion
from kinema.motion.source import CONFIG, find_character, find_path, load_result, rigged
from kinema.prior.load import load_prior, load_student
from kinema.prior.protocol import PromptReading, VideoPrior
from kinema.progress import Report
from kinema.render.show import FilmOptions, render_character, render_vertices
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs
from kinema.view.notebook import play

RESULTS = (
    "motion.glb", "motion.bvh", "motion.npz", "distilled.npz", "preview.mp4", "contact_sheet.png", "report.html",
    "report.json",
)  # fmt: skip
"""What a finished run leaves, in the order in which it is written."""
OWN_FILES = (CONFIG, DISTILLED, TRACKED, "field.npz", *RESULTS)


@dataclass(frozen=True)
class Animation:
    """A finished run."""

    folder: Path
    character: Character
    rig: Rig
    motion: Motion
    distilled: Motion
    """Before feet are planted and physics."""
    report: dict[str, Any]

    def show(self, *, height: int = 480) -> Any:
        """A page that plays it: a notebook shows it, `.save("motion.html")` keeps it."""
        return play(self.motion, self.character, height=height)


def run(
    asset: Animate | Character | Path | str,
    prompt: str = "",
    *,
    progress: Report = lambda _: None,
    watch: Callable[[Character, Anatomy, Animate], Observer] | None = None,
    heard: Callable[[PromptReading], None] = lambda _: None,
    prior: VideoPrior | None = None,
    **options: Any,
) -> Animation:
    """Run or resume a job; everything that it used is written beside the result.

    Args:
        asset: A character, its file, or the words of a built-in creature; or all options in one object.
        prompt: What it does.
        progress: Called after every step.
        watch: Called once before the distillation; gives the observer that is called after each of its steps.
        heard: Called once with what the prompt is read as, before anything is computed.
        prior: The prior that the options name, if it is loaded already.
        options: Fields of `Animate`, such as out, seed, prior, frames.
    """
    begun = clocks()
    job = check(_job(asset, prompt, options))
    if job.more:
        raise KinemaError(f"{len(job.prompts)} prompts: kinema.job.several.run_all runs more than one")
    finished = _finished(job.resume) if job.resume is not None else None
    if finished is not None:
        return finished
    prior = load_named_prior(job) if prior is None else prior
    student = _student(job, prior)
    if job.resume is None:
        job = made(job, prior)
    character = rigged(find_character(job.asset, **job.reading.arguments()))
    readings = read_prompts(job, (job.prompt,), prior, find_limbs(character).body)
    if len(readings) != 1:
        if watch is not None:
            raise KinemaError("--live: shows one prompt at a time, and this one tells several things in a row")
        from kinema.job.sequence import run_sequence  # which runs each part by this function

        return run_sequence(job, character, prior, progress=progress, heard=heard)
    if job.describe and job.description is None:
        job = replace(job, description=describe(job.prompt, character, ground=job.render_ground))
    # The folder is made only now, when nothing is wrong with the job: a mistake leaves none behind.
    folder = make_folder(choose_folder(job))
    with locked(folder):
        if job.resume is None:
            begin(replace(job, out=folder))
        heard(readings[0])
        how = {"progress": progress, "watch": watch, "states": folder, "student": student}
        outcome = animate_character(job, character, prior, **how)
        write_clip(job, folder, outcome.character, outcome.motion, outcome.distilled, field=outcome.deformation)
        rig, report = outcome.anatomy.rig, summarise(job, outcome) | spent(begun)
        write_report(folder, report, rig, outcome.anatomy.limbs, outcome.clips)
    return Animation(folder, outcome.character, rig, outcome.motion, outcome.distilled, report)


def made(config: Resolved, prior: VideoPrior) -> Resolved:
    """The job with the file of a character that a model or a program has made; it is kept in the run's folder."""
    if config.making.maker is None and config.making.image is None:
        return config
    if find_path(config.asset) is not None:
        raise KinemaError(f"{config.asset}: is a file; --with and --image make a character from words")
    # What cannot be animated need not be made.
    read_prompts(config, config.prompts, prior)
    found = make_character(config.asset, config.making, seed=config.seed)
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    folder = make_folder(choose_folder(config))
    file = folder / MADE
    write(file, rigged(found.character))
    return replace(config, asset=str(file.resolve()), out=folder, making=MADE_HERE)


def load_named_prior(config: Resolved) -> VideoPrior:
    """The prior that a job names, placed as its options say."""
    options = ("device", "quantize", "offload", "tiling", "tiny_encoder", "video_size")
    return load_prior(config.prior, **{name: getattr(config, name) for name in options})


def _student(config: Resolved, prior: VideoPrior) -> VideoPrior | None:
    """The student that a job names; an error where there is nothing to sample, or an engine that the prior has not."""
    fits = Schedule.of(config, prior).fit
    if config.student is None:
        return None
    if not fits:
        raise KinemaError(f"--student {config.student}: --engine {config.engine} with {config.prior} samples no videos")
    return load_student(config.prior, prior, config.student)


def _job(asset: Animate | Character | Path | str, prompt: str, options: dict[str, Any]) -> Animate:
    options |= {key: Path(options[key]) for key in ("out", "resume") if options.get(key) is not None}
    if isinstance(asset, Animate):
        return replace(asset, **options)
    if not isinstance(asset, Character):
        return Animate(str(asset), prompt, **options)
    # A character in memory is saved with the run, which could not be resumed without it.
    job = Animate(asset.name, prompt, **options)
    folder = make_folder(choose_folder(job))
    write(folder / MADE, asset)
    return replace(job, asset=str(folder / MADE), out=folder)


def check(config: Animate) -> Resolved:
    """The config that the job is run with; a resumed run has its own."""
    if config.resume is not None:
        return resumed(config.resume)
    if not config.asset.strip():
        raise KinemaError("no character: give a file or the words of a built-in creature, such as 'a red fox'")
    config = replace(config, prompt=config.prompt.strip(), more=tuple(prompt.strip() for prompt in config.more))
    check_options(config)
    file = find_path(config.asset)
    return resolve(config if file is None else replace(config, asset=str(file.resolve())))


def default_folder(config: Animate) -> Path:
    """Where the results of a job are or will be."""
    return (
        config.resume or config.out or Path("runs") / slug("-".join((Path(config.asset[-4000:]).stem, *config.prompts)))
    )


def choose_folder(config: Animate) -> Path:
    """A folder for the job where nothing is lost unless --overwrite says so; a default name is numbered."""
    folder = default_folder(config)
    there = next((name for name in OWN_FILES if (folder / name).exists()), None)
    if there is None or config.overwrite or config.resume is not None:
        return folder
    if config.out is not None:
        raise KinemaError(
            f"{folder}: has the {there} of an earlier run; go on with that by --resume, replace it by --overwrite, or"
            " give another folder"
        )
    return unused(folder)


def begin(config: Resolved) -> Path:
    """The folder of a new run, with all that it will use."""
    folder = make_folder(choose_folder(config))
    saved = {"config": _plain(asdict(config)), "versions": _versions(), "hashes": file_hashes(config)}
    # What an earlier run left here must not be taken for this one's.
    for name in OWN_FILES:
        (folder / name).unlink(missing_ok=True)
    write_text(folder / CONFIG, json.dumps(saved, indent=2))
    return folder


def _finished(folder: Path) -> Animation | None:
    """A run that has nothing left to do."""
    if not all((folder / name).is_file() for name in RESULTS):
        return None
    character, rig, motion = load_result(folder)
    report = read_json(folder / "report.json")
    if not isinstance(report, dict) or not {"read_as", "seconds", "stage_seconds"} <= report.keys():
        raise KinemaError(f"{folder / 'report.json'}: not the report of a run")
    return Animation(folder, character, rig, motion, load_motion(folder / "distilled.npz", rig), report)


def resumed(folder: Path) -> Resolved:
    """The config of an interrupted run, if its character and the weights of its prior are still the same."""
    config, saved = saved_job(folder)
    for name, value in file_hashes(config).items():
        if saved.hashes.get(name, value) != value:
            raise KinemaError(f"{folder}: cannot go on, the {name} has changed since the run began")
    return config


def write_clip(
    config: Animate, folder: Path, character: Character, motion: Motion, distilled: Motion,
    *, field: Deformation | None = None,
) -> None:  # fmt: skip
    """The clip in all formats that a run leaves, and its film."""
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    for suffix in ("glb", "bvh"):
        how = {"name": slug(config.prompt), "in_place": config.in_place, "naming": config.naming}
        write(folder / f"motion.{suffix}", character, motion, **how)
    save_motion(folder / "motion.npz", motion, rig)
    save_motion(folder / "distilled.npz", distilled, rig)
    films, options = [folder / "preview.mp4", folder / "contact_sheet.png"], FilmOptions(width=480, height=360)
    if field is None:
        render_character(character, motion, films, options=options)
        return
    with replacing(folder / "field.npz") as partial, partial.open("wb") as file:
        np.savez_compressed(file, vertices=field.vertices.astype(np.float32), fps=motion.fps)
    # The field itself, and not the clip that was read out of it.
    render_vertices(character, field.vertices, films, fps=motion.fps, options=options)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON can hold them."""
    return {
        key: _plain(value) if isinstance(value, dict) else str(value) if isinstance(value, Path) else value
        for key, value in values.items()
    }


def clocks() -> tuple[float, float]:
    """Seconds by the wall and of the processor."""
    return time.monotonic(), time.process_time()


def spent(begun: tuple[float, float]) -> dict[str, float]:
    """What a run has taken since, for its report."""
    wall, cpu = (round(now - then, 1) for now, then in zip(clocks(), begun))
    return {"seconds": wall, "peak_memory_gb": peak_memory_gb(), "cpu_seconds": cpu}


def peak_memory_gb() -> float:
    """Peak memory of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, 2)


def _versions() -> dict[str, str]:
    versions = {"kinema": kinema.__version__, "torch": torch.__version__, "numpy": np.__version__}
    return versions | {"python": sys.version.split()[0], "machine": platform.platform()}


def slug(text: str) -> str:
    """Words as the name of a folder or a clip."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "run"
