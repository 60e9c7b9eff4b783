"""Files made to eat memory, hang or lead elsewhere: what `kinema inspect` takes to refuse each of them.

python benchmarks/attacks.py

One line per file: processor seconds and peak memory of the whole process, exit code and lines on stderr; first those of
`kinema inspect` on a built-in fox that is fine, which is what importing and reading takes on this machine. Linux counts
what this script itself holds as the least memory of a process that it starts. Ends with code 1 if a file took more than
2 s or 600 MB, or was refused otherwise than in one line with exit code 1.
"""

import sys
import tempfile
from pathlib import Path

LONGEST_S, LARGEST_MB = 2.0, 600


def main() -> None:
    sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "asset")]
    from test_attacks import INSPECTED, motion_bomb, run  # the tests refuse the same files

    bad = 0
    with tempfile.TemporaryDirectory() as name:
        _, _, _, seconds, megabytes = run("inspect", "fox")
        print(f"{seconds:5.2f} s {megabytes:4.0f} MB           a fox that is fine", flush=True)
        calls = {}
        for number, (attack, (make, _)) in enumerate(INSPECTED.items()):
            folder = Path(name) / str(number)
            folder.mkdir()
            calls[attack] = ("inspect", str(make(folder)))
        calls["a motion that unpacks to gigabytes"] = motion_bomb(Path(name))
        for attack, words in calls.items():
            code, out, err, seconds, megabytes = run(*words)
            fine = code == 1 and not out and len(err.splitlines()) == 1
            fine = fine and seconds < LONGEST_S and megabytes < LARGEST_MB
            bad += not fine
            print(
                f"{seconds:5.2f} s {megabytes:4.0f} MB  exit {code}  {len(err.splitlines())} line  {attack}", flush=True
            )
    print(f"{len(calls) - bad} of {len(calls)}: one line, exit 1, less than {LONGEST_S:g} s and {LARGEST_MB} MB")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
