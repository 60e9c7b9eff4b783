"""Run the main job on many characters and measure gait and sliding feet; times of the distillation.

python benchmarks/distill.py creatures [--out runs/distill]   10 built-in creatures x {walk, run, stand} x 2 seeds
python benchmarks/distill.py rigs                             4 rigs from files x {walk, run} x 2 seeds (needs --shared)
python benchmarks/distill.py stages                           time of each part of a step
python benchmarks/distill.py harmonics                        slide of a true gait that is cut to few harmonics

Each run leaves a JSON file, its motion and a strip of pictures, and is not repeated when they are there.
"""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from kinema.asset.character import Character
from kinema.distill.config import Animate, resolve
from kinema.distill.energies import weighted_energies
from kinema.distill.loop import Distiller
from kinema.distill.sds import sds
from kinema.distill.skeleton import Basis
from kinema.distill.targets import conditions
from kinema.distill.tempo import read_tempo
from kinema.evaluate.metrics import measure
from kinema.files import make_folder, replacing
from kinema.gait.make import make_motion
from kinema.job.animate import animate, make_stage
from kinema.motion.motion import Motion, load_motion, save_motion
from kinema.motion.source import find_character
from kinema.prior.nano.prior import NanoPrior
from kinema.prior.protocol import VideoPrior
from kinema.render.follow import Viewpoint
from kinema.render.show import FilmOptions, render_character
from kinema.rig.anatomy import Anatomy
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

CREATURES = ("fox", "wolf", "horse", "cat", "cow", "bear", "human", "robot", "ostrich", "raptor")
RIGS = ("khronos_fox", "husky", "velociraptor", "kaykit_knight")
PROMPTS = {"walk": "{} is walking", "run": "{} is running", "stand": "{} is standing still"}
RIGHT = {"walk": ("walk",), "run": ("run", "gallop"), "stand": ("stand",)}


@dataclass(frozen=True)
class Run:
    """One distillation and what came out."""

    group: str
    asset: str
    wanted: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.group}-{Path(self.asset).stem}-{self.wanted}-{self.seed}"


def distil(run: Run, prior: VideoPrior, folder: Path) -> dict[str, Any]:
    """Run the product's own job, as `kinema animate` does; the results of a former run are taken as they are.

    The distillation's state is kept too, so that a change of planting or physics needs no new distillation.
    """
    path = folder / f"{run.name}.json"
    if path.exists():
        return json.loads(path.read_text())
    noun = Path(run.asset).stem.split("_")[-1]
    config = Animate(asset=run.asset, prompt=PROMPTS[run.wanted].format(f"the {noun}"), seed=run.seed)
    begun = time.monotonic()
    states = make_folder(folder / run.name)
    outcome = animate(config, find_character(run.asset), prior, states=states)
    metrics = {stage: found.as_dict() for stage, found in outcome.metrics.items()}
    result: dict[str, Any] = {
        "asset": run.asset,
        "wanted": run.wanted,
        "seed": run.seed,
        "read_as": outcome.tempo.motion,
        "distil_s": round(outcome.stage_seconds["distill"], 1),
        "total_s": round(time.monotonic() - begun, 1),
        "raw": metrics["distilled"],
        "before": metrics["planted"],
    }
    if outcome.tracked is not None:
        result["after"] = metrics["physics"]
        result["joint_error_deg"] = outcome.tracked.joint_error_deg
    strip(outcome.character, outcome.motion, path.with_suffix(".png"), period=list(outcome.metrics.values())[-1].period)
    save_motion(path.with_suffix(".npz"), outcome.motion, outcome.anatomy.rig)
    with replacing(path) as partial:
        partial.write_text(json.dumps(result, indent=1))
    return result


def strip(character: Character, motion: Motion, path: Path, *, period: float, yaw_deg: float = 60.0) -> None:
    """Six moments of one cycle, or of the whole clip where nothing repeats."""
    cycle = motion.resample(6 / period)[:6] if period > 0 else motion[:: max(1, -(-len(motion) // 6))]
    options = FilmOptions(width=240, height=180, viewpoint=Viewpoint(yaw_deg), count=8000)
    render_character(character, cycle, path, options=options)


def sheet(runs: list[Run], folder: Path, path: Path) -> None:
    """The strips of runs at half size: a row per character, a column per prompt."""
    columns = list(dict.fromkeys(run.wanted for run in runs))
    rows = list(dict.fromkeys(run.asset for run in runs))
    strips = {run: Image.open(folder / f"{run.name}.png").convert("RGB").reduce(2) for run in runs}
    width, height, gap = max(s.width for s in strips.values()), max(s.height for s in strips.values()), 6
    whole = Image.new("RGB", (len(columns) * (width + gap) - gap, len(rows) * height))
    for run, part in strips.items():
        whole.paste(part, (columns.index(run.wanted) * (width + gap), rows.index(run.asset) * height))
    whole.save(path, quality=85)
    print(f"{path}: {', '.join(Path(asset).stem for asset in rows)}; {', '.join(columns)}")


def beside_artist(asset: str, folder: Path, path: Path) -> None:
    """One cycle of the distilled walk (above) and of the Walk clip that the artist made for the same rig (below)."""
    character = find_character(asset)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton)
    clip = next(c for c in character.clips if c.name == "Walk")
    ours = load_motion(folder / f"{Run('rig', asset, 'walk', 0).name}.npz", rig)
    rows = []
    for number, motion in enumerate((ours, Motion.from_clip(rig, clip))):
        row = path.with_name(f"{path.stem}{number}.png")
        strip(character, motion, row, period=measure(character, motion, rig=rig).period, yaw_deg=75.0)
        rows.append(Image.open(row).convert("RGB"))
        row.unlink()
    whole = Image.new("RGB", (rows[0].width, sum(r.height for r in rows)))
    whole.paste(rows[0], (0, 0))
    whole.paste(rows[1], (0, rows[0].height))
    whole.save(path, quality=85)
    print(path)


def passes(result: dict, stage: str) -> bool:
    return result[stage]["gait"] in RIGHT[result["wanted"]]


def table(results: list[dict]) -> str:
    lines = ["| character | prompt | seed | gait | after physics | slide | planted | after | hover | phases | s |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in results:
        before, after = r["before"], r.get("after", r["before"])
        phases = " ".join(f"{p:.2f}" for p in after["phases"])
        name = Path(r["asset"]).stem
        mark = "" if passes(r, "after" if "after" in r else "before") else " ✗"
        slides = " | ".join(f"{stage['slide']:.0%}" for stage in (r["raw"], before, after))
        lines.append(
            f"| {name} | {r['wanted']} | {r['seed']} | {before['gait']} | {after['gait']}{mark} | {slides}"
            f" | {after['hover']:.1%} | {phases} | {r['total_s']} |"
        )
    return "\n".join(lines)


def summary(results: list[dict]) -> str:
    """The bars' figures."""
    moving = [r for r in results if r["wanted"] != "stand"]
    after = "after" if all("after" in r for r in results) else "before"

    def share(good: list[bool]) -> str:
        return f"{sum(good)}/{len(good)}"

    def worst(stage: str, key: str, runs: list[dict]) -> str:
        values = np.array([r[stage][key] for r in runs])
        return f"median {np.median(values):.1%}, worst {values.max():.1%}" if len(values) else "nothing moves"

    return "\n".join(
        (
            f"gait right before physics {share([passes(r, 'before') for r in moving])},"
            f" after {share([passes(r, after) for r in moving])} (what stands on request is not counted)",
            f"slide as distilled, before feet are planted: {worst('raw', 'slide', moving)}"
            f" (below 20 %: {share([r['raw']['slide'] < 0.2 for r in moving])})",
            f"slide before physics: {worst('before', 'slide', moving)}"
            f" (below 20 %: {share([r['before']['slide'] < 0.2 for r in moving])})",
            f"slide after physics: {worst(after, 'slide', moving)}"
            f" (below 10 %: {share([r[after]['slide'] < 0.1 for r in moving])})",
            f"skin of stance feet off the ground [leg lengths]: {worst(after, 'hover', moving)}",
            f"seconds per run: median {np.median([r['total_s'] for r in results]):.0f}",
        )
    )


def batch(group: str, assets: tuple[str, ...], wanted: tuple[str, ...], options: argparse.Namespace) -> list[dict]:
    options.out.mkdir(parents=True, exist_ok=True)
    prior = NanoPrior.load(options.weights)
    results = []
    runs = [Run(group, asset, w, seed) for w in wanted for asset in assets for seed in range(options.seeds)]
    for run in runs:
        result = distil(run, prior, options.out)
        results.append(result)
        before, after = result["before"], result.get("after", result["before"])
        print(
            f"{run.name:36s} {before['gait']:7s} {after['gait']:7s} slide {before['slide']:.2f} {after['slide']:.2f}"
            f" hover {after['hover']:.4f} amplitude {before['amplitude']:.2f} {result['total_s']} s",
            flush=True,
        )
    print(table(results))
    print(summary(results))
    sheet([run for run in runs if run.seed == 0 and run.wanted != "stand"], options.out, options.out / f"{group}s.jpg")
    for run in runs:
        if (run.wanted, run.seed) == ("walk", 0) and Path(run.asset).stem == "khronos_fox":
            beside_artist(run.asset, options.out, options.out / "fox_beside_artist.jpg")
    return results


def run(weights: Path | None = None) -> Iterator[tuple[str, float]]:
    """Milliseconds of each part of an SDS step, best of many, and its share."""
    config = resolve(Animate(asset="fox", prompt="the fox is walking"))
    prior, character = NanoPrior.load(weights), find_character("fox")
    anatomy = Anatomy.of(character)
    stage, tempo = make_stage(config, character, anatomy, prior), read_tempo(config, prior, anatomy)
    distiller = Distiller(config, prior, stage, anatomy, tempo)
    windows = distiller.windows
    parts: dict[str, list[float]] = {}

    @contextmanager
    def clock(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        parts.setdefault(name, []).append(time.perf_counter() - begun)

    for step in range(12):
        window = windows.draw(np.random.default_rng(step))
        with clock("reference"):
            context = windows.context(window)
        with clock("pose and render"):
            filmed = windows.film(window)
        with clock("encode"):
            latents = prior.encode(filmed.video, context)
        words, none = conditions(prior, config.prompt, context)
        with clock("denoise"):
            noise = torch.Generator().manual_seed(step)
            loss = sds(prior, latents, words, none, t=0.6, guidance=2.0, generator=noise) / len(latents)
        with clock("ground and limits"):
            energies = weighted_energies(filmed, config, anatomy, feet=1.0)
        with clock("backward and step"):
            distiller.descend(loss + energies)
    best = {name: 1e3 * min(seconds) for name, seconds in parts.items()}
    for name, value in best.items():
        yield f"{name.replace(' ', '_')}_ms", value
        yield f"{name.replace(' ', '_')}_share", value / sum(best.values())
    yield "step_ms", sum(best.values())


def harmonics() -> None:
    """Procedural gaits, whose feet stand still, projected to the first harmonics of their cycle."""
    frames, fps = 97, 24.0
    for asset in ("fox", "horse", "human", "ostrich"):
        character = find_character(asset)
        assert character.skeleton is not None
        rig, limbs = Rig.from_skeleton(character.skeleton), find_limbs(character)
        motion, label = make_motion(rig, limbs, "walk", frames=frames, fps=fps)
        seconds = torch.arange(frames) / fps
        found = [f"all {measure(character, motion, rig=rig, limbs=limbs).slide:.1%}"]
        for count in (3, 4, 6, 8):
            table = Basis("fourier", frames, label.period, 1 + 2 * count).table(seconds).double()
            moving = torch.cat((table, seconds[:, None].double()), -1)
            angles = table @ torch.linalg.lstsq(table, motion.angles.flatten(1).double()).solution
            root = moving @ torch.linalg.lstsq(moving, motion.root_position.double()).solution
            cut = Motion(root.float(), angles.float().view_as(motion.angles), fps)
            found.append(f"{count} {measure(character, cut, rig=rig, limbs=limbs).slide:.1%}")
        print(f"slide of a {asset}'s walk by harmonics: {', '.join(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("creatures", "rigs", "stages", "harmonics"))
    parser.add_argument("--out", type=Path, default=Path("runs/distill"))
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="these characters only")
    parser.add_argument("--wanted", nargs="*", default=None, help="these prompts only: walk, run, stand")
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options = parser.parse_args()
    if options.what == "stages":
        for name, value in run(options.weights):
            print(f"distill.{name} {value:.3g}")
    elif options.what == "harmonics":
        harmonics()
    elif options.what == "creatures":
        batch("creature", tuple(options.only or CREATURES), tuple(options.wanted or PROMPTS), options)
    else:
        assets = tuple(str(options.shared / "assets" / f"{name}.glb") for name in options.only or RIGS)
        batch("rig", assets, tuple(options.wanted or ("walk", "run")), options)


if __name__ == "__main__":
    main()
