"""Kill runs by `kill -9` at random moments and resume them: the motion must have the bits of an uninterrupted run.

python benchmarks/kill.py [--moments 10] [--seed 0] [--out runs/kill]

The run is short, because only its course matters. Moments are drawn within every stage: rig and splats, distillation,
physics, and writing the results. The script prints `name.metric value` lines and stops at the first difference. Nobody
may edit the sources meanwhile: a run resumed with other code is another run.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

JOB = ("a red fox", "a fox is walking")
SHORT = (
    "--frames",
    "24",
    "--views",
    "2",
    "--fit-iterations",
    "25",
    "--iterations",
    "20",
    "--checkpoint-seconds",
    "0.2",
)
STAGES = ("rig and splats", "distill", "physics", "measure and write")
BEGINS = {"distill": "fit 1/", "physics": "physics 1/", "measure and write": "physics 200/200"}
"""What the log says when a stage begins."""


def kinema(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kinema", "animate", *arguments]


def run(*arguments: str) -> None:
    done = subprocess.run(kinema(*arguments), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: code {done.returncode}: {done.stderr[-500:]}")


def kill_in(stage: str, delay: float, folder: Path) -> str | None:
    """Start a run and kill it `delay` seconds into a stage; what had been reached, or None if it was finished."""
    log = folder.with_suffix(".log")
    with log.open("w") as file:
        process = subprocess.Popen(kinema(*JOB, "-o", str(folder), *SHORT), stderr=file, stdout=file)
        while process.poll() is None:
            begun = (folder / "config.json").exists() if stage == "rig and splats" else BEGINS[stage] in log.read_text()
            if begun:
                break
            time.sleep(0.01)
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    if (folder / "report.json").exists():
        return None
    said = [line for line in log.read_text().splitlines() if "/" in line]
    files = sorted(path.name for path in folder.iterdir())
    return f"after {said[-1].split('  ')[0] if said else 'loading'}, files {' '.join(files)}"


def same(a: Path, b: Path) -> bool:
    """Bit for bit, the motion before and after physics."""
    for name in ("motion.npz", "distilled.npz"):
        with np.load(a / name) as x, np.load(b / name) as y:
            if set(x.files) != set(y.files) or any(x[k].tobytes() != y[k].tobytes() for k in x.files):
                return False
    return (a / "motion.bvh").read_bytes() == (b / "motion.bvh").read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/kill"))
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    whole = options.out / "whole"
    run(*JOB, "-o", str(whole), *SHORT)
    report = json.loads((whole / "report.json").read_text())
    seconds = report["stage_seconds"]
    # Films and files are written outside of the job, whose stages alone are timed.
    seconds["measure and write"] = report["seconds"] - sum(seconds.values()) + seconds["measure"]
    rng = np.random.default_rng(options.seed)
    equal = 0
    for number in range(options.moments):
        stage = STAGES[number % len(STAGES)]
        folder = options.out / f"killed_{number}"
        delay = float(rng.uniform(0, 0.95 * max(seconds[stage], 0.1)))
        while (reached := kill_in(stage, delay, folder)) is None:
            # The machine has become faster since the whole run.
            shutil.rmtree(folder)
            delay /= 2
        run("--resume", str(folder))
        left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
        good = same(whole, folder) and not left
        equal += good
        print(f"  {number}: killed in {stage}, {reached}: {good}", flush=True)
        if not good:
            raise SystemExit(f"{folder}: differs from {whole}, or left {left}")
    print(f"kill.resumed_to_the_same_bits {equal}/{options.moments}")


if __name__ == "__main__":
    main()
