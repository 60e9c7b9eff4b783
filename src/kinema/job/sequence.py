"""A prompt that tells one thing after another: a run for each part, and one clip that joins them.

FOLDER/config.json            the options, with the whole prompt
FOLDER/1-a-fox-walks/ ...     a whole run each (job.folder), which can be looked at and resumed by itself
FOLDER/motion.glb, ...        the clip, in all files that a run leaves; report.json says where its parts join
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from kinema.asset.character import Character
from kinema.distill.config import Resolved, command_words
from kinema.distill.prompt import prompt_parts
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.evaluate.verdict import COLOURS, UNGROUNDED, verdict
from kinema.files import make_folder
from kinema.job.folder import Animation, begin, choose_folder, clocks, spent, write_clip
from kinema.job.lock import locked
from kinema.job.report import write_report
from kinema.job.several import part_folders, run_each
from kinema.posespace.join import Joined, join
from kinema.posespace.space import PoseSpace
from kinema.prior.protocol import PromptReading, VideoPrior
from kinema.progress import Report
from kinema.rig.limbs import find_limbs


def run_sequence(
    job: Resolved, character: Character, prior: VideoPrior, *, progress: Report, heard: Callable[[PromptReading], None]
) -> Animation:
    """Run or resume the parts of a checked job and join them."""
    begun, parts = clocks(), prompt_parts(job)
    if job.parameters == "field":
        raise KinemaError(
            "--parameters field: parts of a sequence are joined by their skeletons; run a prompt for each"
        )
    if job.description is not None:
        raise KinemaError(f"--description: is for one thing, and the prompt tells {len(parts)} in a row")
    space = PoseSpace.of(character)
    folder = make_folder(choose_folder(job))
    with locked(folder):
        if job.resume is None:
            begin(replace(job, out=folder))
        plain = replace(job, naming=replace(job.naming, clip_name=None), resume=None)
        jobs = [replace(plain, prompt=part) for part in parts]
        how = {"progress": progress, "heard": heard, "prior": prior}
        runs = run_each(jobs, part_folders(folder, parts), going_on=job.resume is not None, **how)
        limbs = find_limbs(character)
        joined, distilled = (
            join(space, limbs, clips) for clips in ([r.motion for r in runs], [r.distilled for r in runs])
        )
        write_clip(job, folder, character, joined.motion, distilled.motion)
        report = _report(job, character, runs, joined) | spent(begun)
        write_report(folder, report, space.rig, limbs, {"joined": joined.motion})
    return Animation(folder, character, space.rig, joined.motion, distilled.motion, report)


def _report(job: Resolved, character: Character, runs: Sequence[Animation], joined: Joined) -> dict[str, Any]:
    """What report.json holds: of every part what its own report says in short, and of the whole what was measured."""
    metrics = measure(character, joined.motion, rig=runs[0].rig, limbs=find_limbs(character)).as_dict()
    rows = [
        {"prompt": run.report["prompt"], "read_as": run.report["read_as"], "folder": run.folder.name,
         "frames": list(span), "verdict": run.report["verdict"]}
        for run, span in zip(runs, joined.spans, strict=True)
    ]  # fmt: skip
    fps = joined.motion.fps
    joins = [
        {"frames": [a, b], "seconds": [round(a / fps, 3), round(b / fps, 3)]}
        for (_, a), (b, _) in zip(joined.spans, joined.spans[1:])
    ]
    told = ", then ".join(row["read_as"] for row in rows)
    where = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in (each["seconds"] for each in joins))
    return {
        "prompt": job.prompt, "told": job.told, "character": character.name, "read_as": told,
        "verdict": _verdict(rows, metrics), "command": shlex.join(["kinema", *command_words(job)]),
        "parts": rows, "joins": joins, "notes": [*runs[0].report["notes"], f"{told}: joined at {where}"],
        "history": [], "metrics": metrics, "stages": {"joined": metrics}, "stage_seconds": _seconds(runs),
    }  # fmt: skip


def _verdict(rows: list[dict[str, Any]], metrics: dict[str, Any]) -> dict[str, str]:
    """The worst of the parts and of the whole, by feet and ground."""
    apart = ["jerk", "bone_change", *(["hang"] if UNGROUNDED & {row["read_as"] for row in rows} else [])]
    whole = asdict(verdict(metrics | dict.fromkeys(apart, 0.0)))
    found = [*((row["read_as"], row["verdict"]) for row in rows), ("whole", whole)]
    worst = max(found, key=lambda each: COLOURS.index(each[1]["colour"]))[1]["colour"]
    faults = [f"{name}: {one['reason']}" for name, one in found if one["colour"] == worst != "green"]
    return {"colour": worst, "reason": "; ".join(faults) or whole["reason"]}


def _seconds(runs: Sequence[Animation]) -> dict[str, float]:
    """Seconds per stage, of all parts together."""
    total: dict[str, float] = {}
    for run in runs:
        for stage, seconds in run.report["stage_seconds"].items():
            total[stage] = round(total.get(stage, 0.0) + seconds, 1)
    return total
