"""Run the benchmarks of the table below, or those named: `python benchmarks/run.py [NAME ...]` (`make bench`).

Each prints lines `name.metric value`. They need no third-party data, but for `rigs`; rows that need data, Blender or
Newton are left out where these are missing. `grounding.py`, `kill.py`, `nano.py`, `prior_memory.py` and the scripts of
README's picture and table are run by hand (CONTRIBUTING.md).
"""

import platform
import sys
from collections.abc import Callable, Iterable

import articulation
import bone_heat
import distill
import embed
import raster
import rigs
import splat
import torch

# Each benchmark yields (metric, value) pairs.
BENCHMARKS: dict[str, Callable[[], Iterable[tuple[str, float]]]] = {
    "articulation": articulation.run,
    "bone_heat": bone_heat.run,
    "distill": distill.run,
    "embed": embed.run,
    "raster": raster.run,
    "rigs": rigs.run,
    "splat": splat.run,
}


def machine() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {torch.get_num_threads()} threads, torch {torch.__version__}"


def main() -> None:
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    print(f"# {machine()}")
    for name in names:
        for metric, value in BENCHMARKS[name]():
            print(f"{name}.{metric} {value:.4g}", flush=True)


if __name__ == "__main__":
    main()
