"""The main job from end to end: a character and a sentence in, a folder with clip, film and report out."""

import hashlib
import itertools
import json
import platform
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

import kinema
from kinema.asset.character import Character
from kinema.distill.config import Animate, resolve
from kinema.distill.field import Field, deform
from kinema.distill.loop import Distilled, Distiller, Progress, Steering
from kinema.distill.tempo import Tempo, read_tempo
from kinema.errors import KinemaError, check_number
from kinema.evaluate.metrics import lowest_points, measure
from kinema.export.write import write
from kinema.files import make_folder, replacing
from kinema.job.report import write_report
from kinema.motion.motion import Motion, load_motion, save_motion
from kinema.motion.source import CONFIG, find_character, find_path, load_result, read_config, rigged
from kinema.physics.stance import consistent_target
from kinema.physics.track import Tracking, TrackResult, track
from kinema.prior import load
from kinema.prior.protocol import VideoPrior
from kinema.render.show import Film, render_character
from kinema.render.stage import Stage
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs

__all__ = [
    "Animation",
    "animate",
    "find_character",
    "folder_of",
    "lift_skin",
    "load_prior",
    "load_result",
    "make_body",
    "peak_memory_gb",
    "place",
    "plant_feet",
    "read_tempo",
    "settle",
    "tracking",
]

LONGEST_PROMPT = 2000
WORTH_PLANTING = 0.8
LEAST_FRAMES = 4
RANGES = {
    "frames": (0, 2400), "fps": (1, 240), "seed": (0, 2**63 - 1), "views": (1, 1000), "splats": (1, 1_000_000),
    "iterations": (1, 10_000_000), "fit_iterations": (1, 10_000_000), "guidance": (0, 10_000), "period": (0.05, 60),
    "speed": (0, 1000), "learning_rate": (1e-6, 10), "smooth": (0, 1e9), "ground": (0, 1e9), "slip": (0, 1e9),
    "limits": (0, 1e9), "checkpoint_seconds": (0, 1e9),
}  # fmt: skip
"""Of the options of a job."""
CHECKPOINT, TRACKING = "distill.safetensors", "track.npz"
RESULTS = (
    "motion.glb", "motion.bvh", "motion.npz", "distilled.npz", "preview.mp4", "contact_sheet.png", "report.html",
    "report.json",
)  # fmt: skip
"""What a finished run leaves, in the order in which it is written."""
OWN_FILES = (CONFIG, CHECKPOINT, TRACKING, "field.npz", *RESULTS)


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

    def show(self, *, height: int = 480) -> Any:
        """A page that plays it: a notebook shows it, `.save("motion.html")` keeps it."""
        return self.motion.show(self.character, height=height)


def animate(
    asset: Animate | Character | Path | str,
    prompt: str = "",
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    watch: Callable[[Character, Rig, Animate], Callable[[int, Callable[[], Motion]], Steering]] | None = None,
    **options: Any,
) -> Animation:
    """Run or resume a job; everything that it used is written beside the result.

    Args:
        asset: A character, its file, or the words of a built-in creature; or all options in one object.
        prompt: What it does.
        progress: Called after every step.
        watch: Called once before the distillation; gives its observer (`Distiller.run`).
        options: Of `Animate`, such as out, seed, prior, frames.
    """
    begun, cpu = time.monotonic(), time.process_time()
    asked = _checked(_job(asset, prompt, options))
    finished = _finished(asked.resume) if asked.resume is not None else None
    if finished is not None:
        return finished
    config = resolve(asked)
    prior = load_prior(config)
    character = rigged(find_character(config.asset))
    body, rig = make_body(config, character, prior)
    tempo = read_tempo(config, prior, body.anatomy)
    # Only now, when nothing is wrong with the job: a mistake leaves no folder behind.
    folder = asked.resume or _begin(asked)
    seconds = {"load": time.monotonic() - begun}
    observe = watch(character, rig, config) if watch is not None else None
    outcome = _distill(config, character, prior, body, tempo, folder, progress, observe)
    outcome = replace(outcome, motion=plant_feet(config, character, body, outcome.motion))
    seconds["distill"] = time.monotonic() - begun - sum(seconds.values())
    rounds = _rounds(config, outcome.motion)
    tracked = _track(config, character, rig, body, outcome.motion.repeat(rounds), folder, progress)
    seconds["physics"] = time.monotonic() - begun - sum(seconds.values())
    motion = outcome.motion
    if tracked is not None:
        motion = _one_round(settle(config, character, body, tracked.motion), rounds)
    report = _report(config, character, tempo, outcome, tracked)
    report["metrics"] = measure(character, motion, rig=rig, limbs=body.limbs).as_dict()
    report["metrics_distilled"] = measure(character, outcome.motion, rig=rig, limbs=body.limbs).as_dict()
    _write_all(config, folder, character, rig, motion, outcome.motion)
    seconds["measure and write"] = time.monotonic() - begun - sum(seconds.values())
    report |= {"seconds": round(time.monotonic() - begun, 1), "peak_memory_gb": peak_memory_gb()}
    report |= {"cpu_seconds": round(time.process_time() - cpu, 1)}
    report |= {"stage_seconds": {name: round(value, 1) for name, value in seconds.items()}}
    write_report(folder / "report.html", report, rig, body.limbs, motion, outcome.motion)
    _write_text(folder / "report.json", json.dumps(report, indent=2))
    return Animation(folder, character, rig, motion, outcome.motion, report)


def _job(asset: Animate | Character | Path | str, prompt: str, options: dict[str, Any]) -> Animate:
    options |= {key: Path(options[key]) for key in ("out", "resume") if options.get(key) is not None}
    if isinstance(asset, Animate):
        return replace(asset, **options)
    if not isinstance(asset, Character):
        return Animate(str(asset), prompt, **options)
    # A character in memory is saved with the run, which could not be resumed without it.
    job = Animate(asset.name, prompt, **options)
    folder = make_folder(place(job))
    write(folder / "character.glb", asset)
    return replace(job, asset=str(folder / "character.glb"), out=folder)


@dataclass(frozen=True)
class Body:
    """The character as the optimiser sees it."""

    stage: Stage
    anatomy: Anatomy

    @property
    def limbs(self) -> Limbs:
        return self.anatomy.limbs

    @property
    def limits(self) -> Any:
        limits = self.anatomy.limits
        return torch.from_numpy(np.stack((limits.lower, limits.upper), -1)).float()


def make_body(config: Animate, character: Character, prior: VideoPrior) -> tuple[Body, Rig]:
    """The character as the optimiser sees it."""
    anatomy = Anatomy.of(character)
    rng = np.random.default_rng(config.seed)
    stage = Stage.from_character(character, anatomy.rig, count=config.splats, look=prior.needs.look, rng=rng, relax=1)
    if not config.render_ground:
        stage = replace(stage, scene=replace(stage.scene, ground=None))
    return Body(stage, anatomy), anatomy.rig


def load_prior(config: Animate) -> VideoPrior:
    """The prior that a job names."""
    return load.load_prior(
        config.prior,
        device=config.device,
        quantize=config.quantize,
        offload=config.offload,
        tiling=config.tiling,
        tiny_encoder=config.tiny_encoder,
        video_size=config.video_size,
    )


def _checked(config: Animate) -> Animate:
    """The config that the job is run with; a resumed run has its own."""
    if config.resume is not None:
        return _resumed(config.resume)
    if not config.asset.strip():
        raise KinemaError("no character: give a file or the words of a built-in creature, such as 'a red fox'")
    prompt = config.prompt.strip()
    if not prompt:
        raise KinemaError("the prompt is empty: say what the character does, such as 'a fox is trotting'")
    if len(prompt) > LONGEST_PROMPT:
        raise KinemaError(f"the prompt has {len(prompt)} characters, more than {LONGEST_PROMPT}")
    if not any(character.isalnum() for character in prompt):
        raise KinemaError(f"the prompt {prompt!r} has no words: say what the character does")
    for name, (least, most) in RANGES.items():
        check_number(f"--{name.replace('_', '-')}", getattr(config, name), least, most)
    if 0 < config.frames < LEAST_FRAMES:
        raise KinemaError(f"--frames {config.frames}: must be 0 (as the motion needs) or at least {LEAST_FRAMES}")
    file = find_path(config.asset)
    if file is not None:
        config = replace(config, asset=str(file.resolve()))
    return replace(config, prompt=prompt)


def place(config: Animate) -> Path:
    """A folder for the job where nothing is lost unless --overwrite says so; a default name is numbered."""
    folder = folder_of(config)
    there = next((name for name in OWN_FILES if (folder / name).exists()), None)
    if there is None or config.overwrite or config.resume is not None:
        return folder
    if config.out is not None:
        raise KinemaError(
            f"{folder}: has the {there} of an earlier run; go on with that by --resume, replace it by --overwrite, or"
            " give another folder"
        )
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in numbered if not path.exists())


def _begin(config: Animate) -> Path:
    """The folder of a new run, with all that it will use."""
    folder = make_folder(place(config))
    saved = {"config": _plain(config), "versions": _versions(), "hashes": _hashes(config)}
    # What an earlier run left here must not be taken for this one's.
    for name in OWN_FILES:
        (folder / name).unlink(missing_ok=True)
    _write_text(folder / CONFIG, json.dumps(saved, indent=2))
    return folder


def _finished(folder: Path) -> Animation | None:
    """A run that has nothing left to do."""
    if not all((folder / name).is_file() for name in RESULTS):
        return None
    character, rig, motion = load_result(folder)
    report = json.loads((folder / "report.json").read_text())
    return Animation(folder, character, rig, motion, load_motion(folder / "distilled.npz", rig), report)


def _resumed(folder: Path) -> Animate:
    """The config of an interrupted run, if its character and prior are still the same."""
    saved = read_config(folder)
    known = {field.name for field in fields(Animate)} - {"out", "resume"}
    values = {key: value for key, value in saved["config"].items() if key in known}
    if values.get("video_size") is not None:
        values["video_size"] = tuple(values["video_size"])
    if values.get("tiny_encoder") is not None:
        values["tiny_encoder"] = Path(values["tiny_encoder"])
    config = Animate(**values, resume=folder)
    for name, value in _hashes(config).items():
        if saved.get("hashes", {}).get(name, value) != value:
            raise KinemaError(f"{folder}: cannot go on, the {name} has changed since the run began")
    return config


def _hashes(config: Animate) -> dict[str, str]:
    """SHA-256 of the files that decide the result."""
    files = {"character": [path for path in (find_path(config.asset),) if path is not None]}
    files["prior"] = load.weights_files(config.prior)
    result = {}
    for key, paths in files.items():
        digest = hashlib.sha256()
        for path in paths:
            digest.update(path.read_bytes())
        if paths:
            result[key] = digest.hexdigest()
    return result


def _distill(
    config: Animate,
    character: Character,
    prior: VideoPrior,
    body: Body,
    tempo: Tempo,
    folder: Path,
    progress: Callable[[Progress], None],
    observe: Callable[[int, Callable[[], Motion]], Steering] | None,
) -> Distilled:
    distiller = Distiller(config, prior, body.stage, body.anatomy, tempo, checkpoint=folder / CHECKPOINT)
    if (folder / CHECKPOINT).exists():
        distiller.load(folder / CHECKPOINT)
    outcome = distiller.run(report=progress, observe=observe)
    if isinstance(distiller.parameters, Field):
        at, fps = distiller.clip_times()
        deformed = deform(distiller.parameters, character, body.anatomy, at, fps=fps)
        with replacing(folder / "field.npz") as partial, partial.open("wb") as file:
            np.savez_compressed(file, vertices=deformed.vertices.astype(np.float32), fps=config.fps)
        change = f"bones change by up to {deformed.metrics.bone_change:.1%}, edges by {deformed.shape_change:.1%}"
        outcome.notes.append(f"field: {deformed.metrics.gait}, {change}")
    return outcome


def plant_feet(config: Animate, character: Character, body: Body, motion: Motion) -> Motion:
    """Feet that stand stay put, by kinematics alone: also a clip without physics should not skate."""
    if not _plants(config) or not body.limbs.legs:
        return motion
    rounds = _rounds(config, motion)
    # The prior's feet come up slowly, a few pixels at its resolution.
    return _one_round(_planted(character, body, motion.repeat(rounds), brisk=True), rounds)


def settle(config: Animate, character: Character, body: Body, tracked: Motion) -> Motion:
    """A tracked motion with its skin above the ground, and planted once more where its feet then slide much less.

    Physics may carry a whole body forth while a foot stands; where it does not, planting only adds jerks of its own.
    """
    lifted = lift_skin(character, body.stage.rig, tracked)
    if not _plants(config) or not body.limbs.legs:
        return lifted
    again = _planted(character, body, tracked)
    old, new = (measure(character, m, rig=body.stage.rig, limbs=body.limbs, mesh=False) for m in (lifted, again))
    return again if new.gait == old.gait and new.slide < WORTH_PLANTING * old.slide else lifted


def _planted(character: Character, body: Body, motion: Motion, *, brisk: bool = False) -> Motion:
    rig = body.stage.rig
    found = consistent_target(rig, body.anatomy.cuboids, body.limbs, motion, brisk=brisk)
    planted = Motion(found.root_position.to(motion.angles), found.angles.to(motion.angles), motion.fps)
    return lift_skin(character, rig, planted)


def _plants(config: Animate) -> bool:
    return config.plant_feet and config.preset != "paper" and config.parameters != "field"


def _rounds(config: Animate, motion: Motion) -> int:
    """How often a motion is played while it is worked on: a loop thrice, so that the one between stays a loop."""
    return 3 if config.loop and motion.closes else 1


def _one_round(motion: Motion, rounds: int) -> Motion:
    return motion.middle_round(rounds) if rounds > 1 else motion


def tracking(config: Animate) -> Tracking:
    """How a distilled motion is tracked."""
    if config.preset == "paper":
        return Tracking.paper()
    return Tracking.gentle() if _plants(config) else Tracking()


def lift_skin(character: Character, rig: Rig, motion: Motion, *, seconds: float = 0.08) -> Motion:
    """Raise the root, smoothly in time, by what of the skin is under the ground.

    Boxes stand for the feet; the skin around an ankle that bends bulges out of them by a per cent or two of the height.
    """
    low = lowest_points(character, rig, motion)
    if low is None or not (low < 0).any():
        return motion
    width = seconds * motion.fps
    # As deep as at the worst moment nearby, then smoothed: what comes out is never too little.
    deepest = maximum_filter1d(np.maximum(-low, 0.0), 2 * round(2 * width) + 1)
    lift = torch.from_numpy(gaussian_filter1d(deepest, width, truncate=2.0)).to(motion.root_position)
    up = torch.tensor([0.0, 1.0, 0.0]).to(motion.root_position)
    return replace(motion, root_position=motion.root_position + lift[:, None] * up)


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
        options=tracking(config),
        limbs=body.limbs,
        limits=body.limits,
        progress=lambda done, total, loss: progress(Progress(done, total, "physics", loss, 0.0)),
        checkpoint=folder / TRACKING,
        checkpoint_seconds=config.checkpoint_seconds,
    )


def _report(
    config: Animate,
    character: Character,
    tempo: Tempo,
    outcome: Distilled,
    tracked: TrackResult | None,
) -> dict[str, Any]:
    report: dict[str, Any] = {
        "prompt": config.prompt,
        "character": character.name,
        "read_as": tempo.motion,
        "period_s": tempo.period / tempo.fps,
        "speed_m_s": tempo.speed * tempo.fps,
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
) -> None:
    for suffix in ("glb", "bvh"):
        write(folder / f"motion.{suffix}", character, motion, name=_slug(config.prompt), in_place=config.in_place)
    save_motion(folder / "motion.npz", motion, rig)
    save_motion(folder / "distilled.npz", distilled, rig)
    film = Film(width=480, height=360)
    render_character(character, motion, folder / "preview.mp4", film=film)
    render_character(character, motion, folder / "contact_sheet.png", film=film)


def folder_of(config: Animate) -> Path:
    """Where the results of a job are or will be."""
    default = Path("runs") / _slug(f"{Path(config.asset[-4000:]).stem}-{config.prompt}")
    return config.resume or config.out or default


def _plain(config: Animate) -> dict[str, Any]:
    return {k: str(v) if isinstance(v, Path) else v for k, v in asdict(config).items()}


def peak_memory_gb() -> float:
    """Of this process so far."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, 2)


def _versions() -> dict[str, str]:
    return {
        "kinema": kinema.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "machine": platform.platform(),
    }


def _write_text(path: Path, text: str) -> None:
    with replacing(path) as partial:
        partial.write_text(text)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "run"
