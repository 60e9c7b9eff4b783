"""Mutated files of every format, by seed: none may end in anything but a character or one line.

python benchmarks/fuzz.py [--files 4000] [--first 0]

Prints `name.metric value` lines: files read and refused for each format, bugs (other exceptions, several lines, hangs
over 20 s of processor time, reads outside of the file's folder), the slowest file, and the peak memory of the process.
Ends with code 1 if there was a bug.
"""

import argparse
import resource
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "asset")]
    from mutated_files import mutated, watch  # the tests run some of the same files

    warnings.simplefilter("ignore")
    counts, bugs, slowest = Counter(), 0, (0.0, 0)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.files):
            kind, path, read = mutated(seed, Path(folder) / "case")
            ending = watch(path, read)
            slowest = max(slowest, (ending.seconds, seed))
            counts[kind, "refused" if ending.message else "read"] += not ending.bug
            if ending.bug:
                bugs += 1
                print(f"  seed {seed}, {kind}: {ending.bug} {ending.message[:200]}", flush=True)
    for (kind, how), count in sorted(counts.items()):
        print(f"fuzz.{kind.replace(' ', '_')}.{how} {count}")
    print(f"fuzz.files {options.files}")
    print(f"fuzz.bugs {bugs}")
    print(f"fuzz.slowest_s {slowest[0]:.2f} (seed {slowest[1]})")
    print(f"fuzz.peak_memory_mb {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")
    raise SystemExit(1 if bugs else 0)


if __name__ == "__main__":
    main()
