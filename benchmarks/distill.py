"""Distillation from end to end: does the character do what the sentence says, with clean feet, before and after physics?

python benchmarks/distill.py creatures [--out runs/distill]   10 built-in creatures x {walk, run, stand} x 2 seeds
python benchmarks/distill.py rigs                             4 rigs from files x {walk, run} x 2 seeds (needs --shared)
python benchmarks/distill.py ablations                        what each part of the loss is there for
python benchmarks/distill.py stages                           time of each part of a step
python benchmarks/distill.py table                            only print the tables of the runs that are there

Each run leaves a JSON file and a strip of pictures, and is not repeated when they are there.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.distill.config import Animate, resolve
from kinema.distill.loop import Distiller
from kinema.evaluate.metrics import Metrics, measure
from kinema.motion import Motion
from kinema.physics.track import Tracking, track
from kinema.pipeline import find_character, load_prior, make_body, read_tempo
from kinema.prior.nano.prior import NanoPrior
from kinema.render.show import Film, render_character

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
    changed: tuple[tuple[str, object], ...] = ()
    """Options that differ from the default preset."""
    weights: str = ""

    @property
    def name(self) -> str:
        return f"{self.group}-{Path(self.asset).stem}-{self.wanted}-{self.seed}"


def distil(run: Run, prior: NanoPrior, folder: Path) -> dict[str, object]:
    """Distil, ground, measure; the files of a former run are taken as they are."""
    path = folder / f"{run.name}.json"
    if path.exists():
        return json.loads(path.read_text())
    noun = Path(run.asset).stem.split("_")[-1]
    prompt = PROMPTS[run.wanted].format(f"the {noun}")
    config = resolve(replace(Animate(asset=run.asset, prompt=prompt, seed=run.seed), **dict(run.changed)))
    character = find_character(run.asset)
    begun = time.monotonic()
    body, rig = make_body(config, character)
    tempo = read_tempo(config, prior, body)
    outcome = Distiller(config, prior, body, tempo, checkpoint=None).run()
    distilled_s = time.monotonic() - begun
    result: dict[str, object] = {
        "asset": run.asset,
        "wanted": run.wanted,
        "seed": run.seed,
        "read_as": tempo.motion,
        "distil_s": round(distilled_s, 1),
        "before": measure(character, outcome.motion, rig=rig, limbs=body.limbs).as_dict(),
    }
    motion = outcome.motion
    if config.physics:
        tracked = track(character, rig, motion, options=Tracking(), limbs=body.limbs, limits=body.limits)
        motion = tracked.motion
        result["after"] = measure(character, motion, rig=rig, limbs=body.limbs).as_dict()
        result["joint_error_deg"] = tracked.joint_error_deg
    result["total_s"] = round(time.monotonic() - begun, 1)
    strip(character, motion, path.with_suffix(".png"))
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(result, indent=1))
    partial.replace(path)
    return result


def strip(character: Character, motion: Motion, path: Path) -> None:
    picked = motion[:: max(1, len(motion) // 8)]
    render_character(character, picked, path, film=Film(width=200, height=150, yaw_deg=60.0, count=6000))


def passes(result: dict, stage: str) -> bool:
    return result[stage]["gait"] in RIGHT[result["wanted"]]


def table(results: list[dict]) -> str:
    lines = ["| character | prompt | seed | gait | after physics | slide | after | depth | phases | s |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    for r in results:
        before, after = r["before"], r.get("after", r["before"])
        phases = " ".join(f"{p:.2f}" for p in after["phases"])
        name = Path(r["asset"]).stem
        mark = "" if passes(r, "after" if "after" in r else "before") else " ✗"
        lines.append(
            f"| {name} | {r['wanted']} | {r['seed']} | {before['gait']} | {after['gait']}{mark} | {before['slide']:.0%}"
            f" | {after['slide']:.0%} | {after['penetration']:.2%} | {phases} | {r['total_s']} |"
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
        return f"median {np.median(values):.1%}, worst {values.max():.1%}"

    return "\n".join(
        (
            f"gait right before physics {share([passes(r, 'before') for r in results])},"
            f" after {share([passes(r, after) for r in results])}",
            f"slide before physics: {worst('before', 'slide', moving)}"
            f" (below 20 %: {share([r['before']['slide'] < 0.2 for r in moving])})",
            f"slide after physics: {worst(after, 'slide', moving)}"
            f" (below 10 %: {share([r[after]['slide'] < 0.1 for r in moving])})",
            f"penetration after: {worst(after, 'penetration', results)}",
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
            f" depth {after['penetration']:.4f} amplitude {before['amplitude']:.2f} {result['total_s']} s",
            flush=True,
        )
    print(table(results))
    print(summary(results))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("creatures", "rigs"))
    parser.add_argument("--out", type=Path, default=Path("runs/distill"))
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="these characters only")
    parser.add_argument("--wanted", nargs="*", default=None, help="these prompts only: walk, run, stand")
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.what == "creatures":
        batch("creature", tuple(options.only or CREATURES), tuple(options.wanted or PROMPTS), options)
    else:
        assets = tuple(str(options.shared / "assets" / f"{name}.glb") for name in options.only or RIGS)
        batch("rig", assets, tuple(options.wanted or ("walk", "run")), options)


if __name__ == "__main__":
    main()
