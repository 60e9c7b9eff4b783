"""`kinema eval`: metrics of a clip, and how well a sentence fits it by the embedded prior."""

import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.evaluate.amount import amount_done
from kinema.evaluate.classify import prompt_errors
from kinema.evaluate.metrics import UNITS, Metrics, measure
from kinema.evaluate.verdict import verdict
from kinema.evaluate.videophy import VideoPhy, VideoPhy2
from kinema.gait.hang import hanging_arms
from kinema.gait.motions import MOTIONS
from kinema.gait.sentence import sequence_parts
from kinema.motion.motion import Motion
from kinema.motion.source import find_motion_of, find_path, read_config
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import Context, picture_size
from kinema.render.follow import Viewpoint
from kinema.render.show import FilmOptions, render_character
from kinema.render.stage import Stage
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

VIEWS_DEG = (-90.0, -45.0, 45.0, 90.0)
OTHERS = ("walking", "trotting", "running", "hopping", "standing still")
"""Sentences that are scored beside the user's."""


def judge(
    words: str, motion: str | None = None, *, prompt: str | None = None, score: bool = True,
    videophy: VideoPhy | VideoPhy2 | None = None, **reading: Any,
) -> dict[str, Any]:  # fmt: skip
    """Metrics of a clip and, where there is a sentence for it, how well that fits.

    Args:
        words: The folder of a run, a character file, or the words of a built-in creature.
        motion: A motion file or the name of a clip; by default the run's motion or the first clip.
        prompt: By default the run's.
        score: Ask the prior.
        videophy: Ask VideoPhy too, with a film in true colours and without ground.
    """
    if prompt is not None and not prompt.strip():
        raise KinemaError("the prompt is empty: say what the clip should show, such as 'a fox is trotting'")
    character, rig, clip = find_motion_of(words, motion, **reading)
    folder = find_path(words)
    if prompt is None and folder is not None and folder.is_dir():
        prompt = read_config(folder)[0].prompt or None
    limbs = find_limbs(character)
    wanted = None if prompt is None else _wanted(prompt, limbs.body)
    if wanted in MOTIONS and MOTIONS[wanted].aloft:
        limbs = replace(limbs, ground=False)
    metrics = measure(character, clip, rig=rig, limbs=limbs)
    amount = None if wanted is None else amount_done(rig, limbs, clip, wanted)
    found: dict[str, Any] = {"character": character.name, "frames": len(clip), "fps": clip.fps}
    found["metrics"] = metrics.as_dict()
    found["verdict"] = asdict(verdict(found["metrics"], wanted=wanted, amount=amount))
    if prompt is not None and score:
        found["text"] = text_score(character, rig, clip, prompt, metrics=metrics)
    if videophy is not None:
        if prompt is None:
            raise KinemaError("VideoPhy needs a sentence: say with --prompt what the clip should show")
        with tempfile.TemporaryDirectory() as folder:
            film = Path(folder) / "film.mp4"
            render_character(character, clip, film, options=FilmOptions(width=512, height=384, ground=False))
            found["videophy"] = videophy.scores([(film, prompt)])[0]
    return found


def _wanted(prompt: str, body: str) -> str | None:
    """The motion that a sentence asks for; None where it asks for several or for an unknown one."""
    reading = NanoPrior.load().read(prompt, body)
    return reading.motion if reading.known and len(sequence_parts(prompt)) == 1 else None


def text_score(character: Character, rig: Rig, clip: Motion, prompt: str, *, metrics: Metrics) -> dict[str, Any]:
    """Error of the prior's clean estimate under the sentence, relative to no words at all: below 1 they help.

    The same for other sentences, over the same views and the same noise, tells whether they would help more.
    """
    prior = NanoPrior.load()
    limbs = find_limbs(character)
    body = {"limbs": limbs, "standing": hanging_arms(rig, limbs), "rng": np.random.default_rng(0)}
    stage = Stage.from_character(character, rig, count=2000, look="canonical", **body)
    width, height = picture_size(prior, np.ptp(stage.box, axis=0))
    legs = len(limbs.legs)
    prompts = [prompt, *(other for other in OTHERS if legs == 4 or other != "trotting")]
    seconds = (len(clip) - 1) / clip.fps
    if seconds <= 0:
        raise KinemaError("a clip of one frame shows no motion to score")
    # At the prior's frames per cycle, and long enough to fill its window.
    shown = clip.resample(max(NanoPrior.needs.frame_rate(metrics.period), (prior.frames - 0.5) / seconds))
    starts = sorted({0, len(shown) - prior.frames})
    errors = torch.zeros(len(prompts))
    for start in starts:
        part = shown[start : start + prior.frames]
        for index, yaw in enumerate(VIEWS_DEG):
            video, context = film(stage, part, yaw_deg=yaw, width=width, height=height)
            rng = torch.Generator().manual_seed(1000 * start + index)
            errors += prompt_errors(prior, video, context, prompts, generator=rng) / (len(VIEWS_DEG) * len(starts))
    ratios = {text: float(error) for text, error in zip(prompts, errors)}
    best = min(prompts[1:], key=lambda text: ratios[text])
    return {"prompt": prompt, "error": ratios.pop(prompt), "others": ratios, "best_other": best}


@torch.no_grad()
def film(stage: Stage, motion: Motion, *, yaw_deg: float, width: int, height: int, elevation_deg: float = 10.0):
    """Film the motion along its mean velocity, as the distiller shows it, without phase and period."""
    level = torch.tensor([1.0, 0.0, 1.0])
    way = level * (motion.root_position[-1] - motion.root_position[0])
    base = stage.rig.heads[0] + torch.linspace(0, 1, len(motion))[:, None] * way
    away = level * (motion.root_position - base).mean(0)
    placed = replace(motion, root_position=motion.root_position - away)
    cameras = NanoPrior.needs.cameras
    viewpoint = Viewpoint(yaw_deg, elevation_deg, sum(cameras.zoom) / 2, cameras.fovy_deg)
    view = stage.view_points(viewpoint, columns=width, rows=height)
    return view.film(placed.pose(stage.rig), base), Context(view.still, yaw_deg, elevation_deg)


def eval_lines(found: dict[str, Any]) -> list[str]:
    """What `judge` found as lines of text."""
    lines = [f"{found['character']}: {found['frames']} frames at {found['fps']:g} per second"]
    for name, value in found["metrics"].items():
        if isinstance(value, tuple):
            value = " ".join(f"{v:.2f}" for v in value) or "-"
        # Rounding of the last digits of a float is no measure of anything.
        text = (f"{value:.4g}" if abs(value) >= 1e-5 else "0") if isinstance(value, float) else str(value)
        lines.append(f"  {name:18s} {text} {UNITS.get(name, '')}".rstrip())
    lines.append(f"verdict {found['verdict']['colour']}: {found['verdict']['reason']}")
    if "text" in found:
        text = found["text"]
        lines.append(f"  {text['prompt']!r}: the prior errs {text['error']:.3f} times as much as without words;")
        lines.append("  with other words: " + ", ".join(f"{k} {v:.3f}" for k, v in text["others"].items()))
    if "videophy" in found:
        lines.append("  VideoPhy: " + ", ".join(f"{k} {v:.2f}" for k, v in found["videophy"].items()))
    return lines
