"""Prints what the judges say about exports of real files: python tests/judges/report.py FOLDER [NAME...]

FOLDER holds .glb files. Each gets a random swaying motion, which is written in every format; a line gives the errors
that gltf-validator finds beyond those of the input, and the largest error of Blender's joints and skinned vertices as
a fraction of the body's size.
"""

import platform
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from judges import body_size, seen_by_us, seen_in_blender, validator_errors, worst_joint, worst_vertex
from test_judges import RENAMED, exact, swaying

from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.export.timing import as_clip
from kinema.export.write import write

SUFFIXES = (".glb", ".fbx", ".bvh", ".usdc", ".blend")


def main() -> None:
    torch.set_num_threads(1)
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    print(f"machine: {platform.machine()}, Python {platform.python_version()}")
    print("file | new validator errors | " + " | ".join(f"{suffix} joints, vertices" for suffix in SUFFIXES))
    for path in sorted(folder.glob("*.glb")):
        if names and path.stem not in names:
            continue
        try:
            character = load(path)
        except KinemaError as error:
            print(f"{path.stem} | refused: {error}", flush=True)
            continue
        if character.skeleton is None:
            continue
        clip = as_clip(character, swaying(character))
        ours, size = seen_by_us(character, clip), body_size(character)
        cells = []
        with tempfile.TemporaryDirectory() as temporary:
            for suffix in SUFFIXES:
                target = Path(temporary) / (path.stem + suffix)
                write(target, character, clip)
                if suffix == ".glb":
                    fresh = set(validator_errors(target)) - set(validator_errors(path))
                found = seen_in_blender(target, clip)
                unit = character.frame.scale if suffix.startswith(".usd") else 1.0
                seen = replace(
                    ours, joints={n: p * unit for n, p in ours.joints.items()}, vertices=ours.vertices * unit
                )
                joint = worst_joint(found, seen, size=size * unit, rename=RENAMED.get(suffix, exact))
                vertex = "" if suffix == ".bvh" else f", {worst_vertex(found, seen, size=size * unit):.1e}"
                cells.append(f"{joint:.1e}{vertex}")
        print(f"{path.stem} | {sorted(fresh) or 'none'} | " + " | ".join(cells), flush=True)


main()
