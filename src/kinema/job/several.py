"""Several prompts for one character: a run for each prompt in a folder of its own, and one file with all clips.

FOLDER/config.json        the options, with all prompts
FOLDER/1-walks/ ...       a whole run each (job.folder), which can be looked at and resumed by itself
FOLDER/motion.glb         the character with a clip per prompt
FOLDER/report.json        written last
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kinema.distill.config import Animate
from kinema.distill.prompt import read_prompts
from kinema.errors import KinemaError
from kinema.export.timing import as_clip
from kinema.export.write import write
from kinema.files import make_folder, read_json, write_text
from kinema.job.folder import Animation, begin, check, choose_folder, load_named_prior, made, run, slug
from kinema.job.lock import locked
from kinema.motion.source import CONFIG, find_character, rigged
from kinema.prior.protocol import PromptReading
from kinema.progress import Report
from kinema.rig.limbs import find_limbs

RESULTS = ("motion.glb", "report.json")


@dataclass(frozen=True)
class Animations:
    """The finished runs of several prompts."""

    folder: Path
    runs: tuple[Animation, ...]
    report: dict[str, Any]


def run_all(
    job: Animate, *, progress: Report = lambda _: None, heard: Callable[[PromptReading], None] = lambda _: None
) -> Animations:
    """Run or resume a job of several prompts (`Animate.more`); all are read before the first is run."""
    begun, resume = time.monotonic(), job.resume
    job = check(job)
    if job.as_motion is not None:
        raise KinemaError(f"--as {job.as_motion}: is for one prompt, and there are {len(job.prompts)}")
    names = job.naming.clip_names(len(job.prompts)) or tuple(slug(prompt) for prompt in job.prompts)
    if resume is not None and all((resume / name).is_file() for name in RESULTS):
        runs = tuple(run(Animate(resume=folder)) for folder in part_folders(resume, job.prompts))
        return Animations(resume, runs, read_json(resume / "report.json"))
    prior = load_named_prior(job)
    job = job if resume is not None else made(job, prior)
    jobs = [
        replace(job, prompt=prompt, more=(), naming=replace(job.naming, clip_name=name), resume=None)
        for prompt, name in zip(job.prompts, names, strict=True)
    ]
    body = find_limbs(rigged(find_character(job.asset, **job.reading.arguments()))).body
    read_prompts(job, job.prompts, prior, body)
    folder = make_folder(choose_folder(job))
    with locked(folder):
        if resume is None:
            begin(replace(job, out=folder))
        how = {"progress": progress, "heard": heard, "prior": prior}
        runs = run_each(jobs, part_folders(folder, job.prompts), going_on=resume is not None, **how)
        clips = [replace(as_clip(one.character, one.motion), name=name) for one, name in zip(runs, names)]
        plain = replace(job.naming, clip_name=None)
        write(folder / "motion.glb", runs[0].character, clips, in_place=job.in_place, naming=plain)
        report = _report(job, runs, names) | {"seconds": round(time.monotonic() - begun, 1)}
        write_text(folder / "report.json", json.dumps(report, indent=2))
    return Animations(folder, runs, report)


def run_each(jobs: Sequence[Animate], folders: Sequence[Path], *, going_on: bool, **how: Any) -> tuple[Animation, ...]:
    """A run for each job in its folder, or what is left of it; `how` are arguments of `run`."""
    runs = []
    for one, place in zip(jobs, folders, strict=True):
        again = going_on and (place / CONFIG).is_file()
        where = {"resume": place} if again else {"out": place, "resume": None}
        runs.append(run(replace(one, **where), **how))
    return tuple(runs)


def part_folders(folder: Path, prompts: Sequence[str]) -> tuple[Path, ...]:
    return tuple(folder / f"{k + 1}-{slug(prompt)}" for k, prompt in enumerate(prompts))


def _report(job: Animate, runs: Sequence[Animation], names: tuple[str, ...]) -> dict[str, Any]:
    rows = [
        {"clip": name, "prompt": prompt, "folder": one.folder.name, "read_as": one.report["read_as"],
         "verdict": one.report["verdict"]}
        for name, prompt, one in zip(names, job.prompts, runs, strict=True)
    ]  # fmt: skip
    return {"character": runs[0].character.name, "clips": rows, "notes": runs[0].report["notes"]}
