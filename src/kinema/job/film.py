"""Pose-guided video: any motion as control films, painted by a video model, or on the CPU by the embedded prior.

The embedded prior closes the loop: joints are fitted to its guided videos, and how far they turned away is reported.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.distill.config import Animate, Resolved
from kinema.distill.guided import guide_and_refit
from kinema.distill.prompt import read_prompt, told
from kinema.distill.tempo import choose_tempo
from kinema.errors import KinemaError, check_number
from kinema.evaluate.metrics import measure
from kinema.files import make_folder, write_text
from kinema.gait.plan import GaitBody
from kinema.job.animate import make_stage
from kinema.motion.motion import Motion, rotation_angles, save_motion
from kinema.posespace.join import turned
from kinema.prior.control import Guide
from kinema.prior.load import load_prior
from kinema.prior.protocol import PromptReading, VideoPrior
from kinema.progress import Report
from kinema.render.controls import Controls, render_controls
from kinema.render.follow import Viewpoint
from kinema.render.show import FilmOptions, render_character
from kinema.render.video import write_video
from kinema.rig.anatomy import Anatomy
from kinema.rig.limbs import Limbs

ControlName = Literal["depth", "edges", "sticks", "body"]
"""What a video model follows; `body` keeps the rendered body and paints the world around it."""
FILMS = ("color", "depth", "edges", "sticks", "mask")
VIEWS, FIT_STEPS = 6, 250
"""Videos that the embedded prior is shown, and steps of the fit to what it makes of them."""


@dataclass(frozen=True)
class GuidedFilm:
    """How a guided video is made."""

    prompt: str
    model: str | None = None
    """NAME or NAME=FOLDER of `prior.control.GUIDES`; None: the embedded prior."""
    control: ControlName = "depth"
    size: tuple[int, int, int] | None = None
    """Frames, height and width of the films; by default what the model was trained with."""
    viewpoint: Viewpoint = field(default_factory=Viewpoint)
    device: str = "cpu"
    steps: int = 30
    guidance: float | None = None
    strength: float = 0.5
    seed: int = 0


def film(
    options: GuidedFilm, character: Character, motion: Motion, folder: Path, *, progress: Report = lambda _: None
) -> dict[str, Any]:
    """Write control films and the guided video into a folder; returns the report, which is written last."""
    if not any(letter.isalnum() for letter in options.prompt):
        raise KinemaError(f"the prompt {options.prompt!r} has no words: say what the video shows")
    if motion.translation is not None:
        raise KinemaError("this clip moves joints away from their places; films are made of clips that turn joints")
    check_number("--strength", options.strength, 0.0, 0.98)
    check_number("--steps", options.steps, 1, 1000)
    if options.model is None:
        report = _by_nano(options, character, motion, folder, progress)
    else:
        report = _by_model(options, options.model, character, motion, folder)
    report = {"prompt": options.prompt, "character": character.name, "with": options.model or "nano"} | report
    write_text(folder / "report.json", json.dumps(report, indent=2))
    return report


def write_controls(controls: Controls, folder: Path) -> None:
    """A film for each control, and the first frame."""
    for name in FILMS:
        write_video(folder / f"{name}.mp4", [getattr(controls, name)], fps=controls.fps)
    write_video(folder / "first_frame.png", [controls.color[:1]], fps=controls.fps)


def _by_model(options: GuidedFilm, model: str, character: Character, motion: Motion, folder: Path) -> dict[str, Any]:
    guide = Guide.load(model, device=options.device)
    clip = motion.resample(guide.kind.fps)
    frames, height, width = guide.size(options.size, len(clip))
    controls = render_controls(character, clip[:frames], width=width, height=height, viewpoint=options.viewpoint)
    keeps = options.control == "body"
    control = controls.color if keeps else getattr(controls, options.control)
    free = 1 - controls.mask if keeps else torch.ones_like(controls.mask)
    guidance = 5.0 if options.guidance is None else options.guidance
    how = {"steps": options.steps, "guidance": guidance, "seed": options.seed}
    video = guide.paint(control, options.prompt, first=controls.color[:1], free=free, **how)
    make_folder(folder)
    write_controls(controls, folder)
    write_video([folder / "guided.mp4", folder / "contact_sheet.png"], [video], fps=controls.fps)
    return {"control": options.control, "frames": len(video), "fps": controls.fps}


def _by_nano(
    options: GuidedFilm, character: Character, motion: Motion, folder: Path, progress: Report
) -> dict[str, Any]:
    prior, anatomy = load_prior("nano"), Anatomy.of(character)
    rig, limbs = anatomy.rig, anatomy.limbs
    before = measure(character, motion, rig=rig, limbs=limbs)
    reading = _read(options.prompt, prior, limbs, before.gait)
    travel = motion.root_position[-1] - motion.root_position[0]
    seconds = max((len(motion) - 1) / motion.fps, 1e-6)
    speed = float(travel[[0, 2]].norm()) / seconds
    # Nano films bodies that go ahead, from where they stand.
    yaw = float(torch.atan2(travel[0], travel[2])) if speed > 0.2 * limbs.leg_length else 0.0
    ahead = turned(rig, motion, -yaw)
    start = (rig.heads[0] - ahead.root_position[0]) * torch.tensor([1.0, 0.0, 1.0])
    ahead = Motion(ahead.root_position + start, ahead.angles, motion.fps)
    config = Resolved(
        prompt=reading.phrase or options.prompt, views=VIEWS, fit_iterations=FIT_STEPS, seed=options.seed,
        guidance=2.0 if options.guidance is None else options.guidance, speed=speed, period=before.period or None,
    )  # fmt: skip
    stride = GaitBody.of(rig, limbs).stride
    tempo = choose_tempo(reading.motion, "", limbs, prior, stride=stride, speed=speed, period=config.period)
    stage = make_stage(config, character, anatomy, prior)
    spoken = told(config, prior, reading)
    found = guide_and_refit(spoken, prior, stage, anatomy, tempo, ahead, strength=options.strength, progress=progress)
    after = measure(character, found, rig=rig, limbs=limbs)
    turned_deg = np.rad2deg(rotation_angles(rig, ahead, found).numpy())
    frames, height, width = options.size or (len(motion), 480, 640)
    controls = render_controls(character, motion[:frames], width=width, height=height, viewpoint=options.viewpoint)
    make_folder(folder)
    write_controls(controls, folder)
    save_motion(folder / "refitted.npz", found, rig)
    look = FilmOptions(width=width, height=height, viewpoint=options.viewpoint)
    render_character(character, found, [folder / "guided.mp4", folder / "contact_sheet.png"], options=look)
    worst = int(turned_deg.mean(0).argmax())
    return {
        "read_as": reading.motion, "strength": options.strength, "frames": len(found), "fps": found.fps,
        "difference_deg": round(float(turned_deg.mean()), 2), "worst_joint": rig.names[worst],
        "worst_joint_deg": round(float(turned_deg[:, worst].mean()), 2),
        "gait_before": before.gait, "gait_after": after.gait,
    }  # fmt: skip


def _read(prompt: str, prior: VideoPrior, limbs: Limbs, gait: str) -> PromptReading:
    """The motion that the words name; words that name none leave the motion what it is measured as."""
    try:
        return read_prompt(Animate(prompt=prompt), prior, limbs.body)
    except KinemaError as refused:
        try:
            return read_prompt(Animate(prompt=prompt, as_motion=gait), prior, limbs.body)
        except KinemaError:
            raise KinemaError(f"{refused} (the motion itself looks like {gait!r}, which names none either)") from None
