"""`python benchmarks/run.py [NAME ...]` prints `name.metric value` for the listed benchmarks, or for all of them."""

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

# Each benchmark yields (metric, value) pairs; heavy imports belong inside of it.
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
