"""The main job from end to end: a character and a sentence in, a folder with clip, film and report out."""

import json
import platform
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kinema
from kinema.asset.character import Character
from kinema.asset.creatures import creature
from kinema.asset.load import load
from kinema.distill.config import Animate, resolve
from kinema.distill.loop import Body, Distiller, Outcome, Progress
from kinema.distill.tempo import Tempo, choose_tempo
from kinema.errors import KinemaError
from kinema.evaluate.metrics import measure
from kinema.export.write import write
from kinema.gait.plan import Body as GaitBody
from kinema.motion import Motion, load_motion, save_motion
from kinema.physics.track import Tracking, TrackResult, track
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import VideoPrior
from kinema.render.show import Film, render_character
from kinema.render.stage import Stage
from kinema.report import write_report
from kinema.rig.cuboids import bone_cuboids
from kinema.rig.hinges import hinges
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

LONGEST_PROMPT = 2000
CHECKPOINT, TRACKING, CONFIG = "distill.safetensors", "track.npz", "config.json"


@dataclass(frozen=True)
class Animation:
    """A finished run."""

    folder: Path
    character: Character
    rig: Rig
    motion: Motion
    distilled: Motion
    """Before physics."""
    report: dict[str, Any]


def animate(config: Animate, *, progress: Callable[[Progress], None] = lambda _: None) -> Animation:
    """Run or resume a job; everything that it used is written beside the result."""
    begun = time.monotonic()
    config, folder = _prepare(config)
    config = resolve(config)
    character = find_character(config.asset)
    if character.skeleton is None or character.weights is None:
        raise KinemaError(f"{config.asset}: has no rig; give it one with kinema rig --skeleton FILE")
    body, rig = make_body(config, character)
    prior = load_prior(config)
    tempo = read_tempo(config, prior, body)
    outcome = _distill(config, prior, body, tempo, folder, progress)
    tracked = _track(config, character, rig, body, outcome.motion, folder, progress)
    motion = tracked.motion if tracked is not None else outcome.motion
    report = _report(config, character, tempo, outcome, tracked, seconds=time.monotonic() - begun)
    report["metrics"] = measure(character, motion, rig=rig, limbs=body.limbs).as_dict()
    report["metrics_distilled"] = measure(character, outcome.motion, rig=rig, limbs=body.limbs).as_dict()
    _write_all(config, folder, character, rig, motion, outcome.motion, report)
    write_report(folder / "report.html", report, rig, body.limbs, motion, outcome.motion)
    return Animation(folder, character, rig, motion, outcome.motion, report)


def find_character(words: str, **reading: Any) -> Character:
    """A file if there is one of that name (`reading` as `load` takes it), else a built-in creature."""
    if not words.strip():
        raise KinemaError("no character: give a file or the words of a built-in creature, such as 'a red fox'")
    path = Path(words)
    if path.exists() or re.search(r"\.\w{2,5}$", words):
        character = load(path, **reading)
    else:
        character = creature(words)
    return character


def make_body(config: Animate, character: Character) -> tuple[Body, Rig]:
    """The character as the optimiser sees it."""
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    limbs = find_limbs(character)
    look = "canonical" if config.prior.split("=")[0] == "nano" else "color"
    stage = Stage.from_character(
        character, rig, count=config.splats, look=look, rng=np.random.default_rng(config.seed), relax=1
    )
    if not config.render_ground:
        stage = replace(stage, scene=replace(stage.scene, ground=None))
    limits = hinges(character, limbs)
    ranges = torch.from_numpy(np.stack((limits.lower, limits.upper), -1)).float()
    corners = torch.from_numpy(bone_cuboids(character).corners).float()
    return Body(stage, limbs, corners, ranges), rig


def load_prior(config: Animate) -> VideoPrior:
    """nano, or a diffusers model by name and, where given, local folder."""
    name, _, folder = config.prior.partition("=")
    if config.device.startswith("cuda") and not torch.cuda.is_available():
        raise KinemaError(f"--device {config.device}: this machine has no CUDA device; use --device cpu")
    if name == "nano":
        return NanoPrior.load(Path(folder) if folder else None)
    from kinema.prior.load import load_video_model

    return load_video_model(name, folder or None, device=config.device)


def read_tempo(config: Animate, prior: VideoPrior, body: Body) -> Tempo:
    """Pace from the words; a prior without a reader leaves that to nano's."""
    reader = prior if isinstance(prior, NanoPrior) else NanoPrior.load()
    reading = reader.read(config.prompt)
    stride = GaitBody.of(body.stage.rig, body.limbs).stride
    return choose_tempo(
        reading.motion, config.prompt, body.limbs, stride=stride, speed=config.speed, period=config.period
    )


def _prepare(config: Animate) -> tuple[Animate, Path]:
    """The folder of the run and the config that it is run with; a resumed run has its own."""
    if config.resume is not None:
        path = config.resume / CONFIG
        try:
            saved = json.loads(path.read_text())["config"]
        except (OSError, KeyError, json.JSONDecodeError):
            raise KinemaError(f"{path}: no run to resume here") from None
        known = {k: v for k, v in saved.items() if k not in ("out", "resume")}
        return Animate(**known, out=config.resume), config.resume
    prompt = config.prompt.strip()
    if not prompt:
        raise KinemaError("the prompt is empty: say what the character does, such as 'a fox is trotting'")
    if len(prompt) > LONGEST_PROMPT:
        raise KinemaError(f"the prompt has {len(prompt)} characters, more than {LONGEST_PROMPT}")
    for name in ("frames", "views", "splats"):
        if getattr(config, name) < 1:
            raise KinemaError(f"--{name} {getattr(config, name)}: must be at least 1")
    if not 1 <= config.fps <= 240:
        raise KinemaError(f"--fps {config.fps}: must be between 1 and 240")
    folder = config.out or Path("runs") / _slug(f"{Path(config.asset).stem}-{prompt}")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"config": _plain(config), "versions": _versions()}, indent=2)
    _write_text(folder / CONFIG, text)
    for name in (CHECKPOINT, TRACKING):
        (folder / name).unlink(missing_ok=True)
    return replace(config, prompt=prompt), folder


def _distill(
    config: Animate, prior: VideoPrior, body: Body, tempo: Tempo, folder: Path, progress: Callable[[Progress], None]
) -> Outcome:
    distiller = Distiller(config, prior, body, tempo, checkpoint=folder / CHECKPOINT)
    if (folder / CHECKPOINT).exists():
        distiller.load(folder / CHECKPOINT)
    return distiller.run(report=progress)


def _track(
    config: Animate,
    character: Character,
    rig: Rig,
    body: Body,
    motion: Motion,
    folder: Path,
    progress: Callable[[Progress], None],
) -> TrackResult | None:
    if not config.physics or not body.limbs.legs:
        return None
    return track(
        character,
        rig,
        motion,
        options=Tracking.paper() if config.preset == "paper" else Tracking(),
        limbs=body.limbs,
        limits=body.limits,
        progress=lambda done, total, loss: progress(Progress(done, total, "physics", loss, 0.0)),
        checkpoint=folder / TRACKING,
    )


def _report(
    config: Animate,
    character: Character,
    tempo: Tempo,
    outcome: Outcome,
    tracked: TrackResult | None,
    *,
    seconds: float,
) -> dict[str, Any]:
    report: dict[str, Any] = {
        "prompt": config.prompt,
        "character": character.name,
        "read_as": tempo.motion,
        "period_s": tempo.period / tempo.fps,
        "speed_m_s": tempo.speed * tempo.fps,
        "seconds": round(seconds, 1),
        "notes": outcome.notes,
        "history": outcome.history,
    }
    if tracked is not None:
        report["physics"] = {
            "before": asdict(tracked.before),
            "after": asdict(tracked.after),
            "joint_error_deg": tracked.joint_error_deg,
            "losses": tracked.losses,
        }
    return report


def _write_all(
    config: Animate,
    folder: Path,
    character: Character,
    rig: Rig,
    motion: Motion,
    distilled: Motion,
    report: dict[str, Any],
) -> None:
    save_motion(folder / "motion.npz", motion, rig)
    save_motion(folder / "distilled.npz", distilled, rig)
    for suffix in ("glb", "bvh"):
        write(folder / f"motion.{suffix}", character, motion, name=_slug(config.prompt), in_place=config.in_place)
    film = Film(width=480, height=360)
    render_character(character, motion, folder / "preview.mp4", film=film)
    render_character(character, motion, folder / "contact_sheet.png", film=film)
    _write_text(folder / "report.json", json.dumps(report, indent=2))


def load_result(folder: Path) -> tuple[Character, Rig, Motion]:
    """A finished run's character and motion."""
    try:
        asset = json.loads((folder / CONFIG).read_text())["config"]["asset"]
    except (OSError, KeyError, json.JSONDecodeError):
        raise KinemaError(f"{folder}: not a result of kinema animate") from None
    character = find_character(asset)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    return character, rig, load_motion(folder / "motion.npz", rig)


def _plain(config: Animate) -> dict[str, Any]:
    return {k: str(v) if isinstance(v, Path) else v for k, v in asdict(config).items()}


def _versions() -> dict[str, str]:
    return {
        "kinema": kinema.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "machine": platform.platform(),
    }


def _write_text(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".part")
    partial.write_text(text)
    partial.replace(path)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "run"
