"""Compare clips of third-party rigs, as we read them, with exact glTF skinning.

`python benchmarks/rigs.py [NAME ...]` prints a table.

The third-party files lie beside the checkout (see tests/conftest.py) or where KINEMA_SHARED points. An error is the
mean distance of all vertices, over all frames of a clip, from where exact glTF skinning has them, as a share of the
body's diagonal; the worst vertex is that of all clips and frames, as a share of the body's height. Of files in which it
is off by more than 2 %, the table says what `kinema inspect` says of them.

`python benchmarks/run.py rigs` prints the same as metrics, with the number of clips that move joints in their parents.
"""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from kinema.asset.character import Character
from kinema.asset.gltf.animation import original_vertices
from kinema.asset.gltf.geometry import read_parts
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points

FRAMES = 24
"""At most this many, evenly spread, of every clip."""
WORST_VERTEX = 0.02
"""Distance of a vertex that is told of [heights]."""


def assets() -> Path:
    shared = os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data")
    return Path(shared) / "assets"


def clip_errors(character: Character) -> tuple[dict[str, float], dict[str, float]]:
    """Mean error and worst vertex of each clip."""
    binding = character.source
    parts, _ = read_parts(binding.document)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    skin = Skin.from_character(character, dtype=torch.float64)
    rest = torch.from_numpy(character.mesh.vertices)
    size = np.linalg.norm(np.ptp(character.mesh.vertices, axis=0))
    frame = character.frame
    errors, worst, height = {}, {}, np.ptp(character.mesh.vertices[:, 1])
    for clip, start, animation in zip(character.clips, binding.clip_start_s, binding.clip_animation):
        chosen = np.unique(np.linspace(0, len(clip.root_position) - 1, FRAMES).astype(int))
        expected = original_vertices(binding.document, parts, animation, start + chosen / clip.fps)
        expected = frame.scale * expected @ frame.rotation.T + frame.translation
        posed = Motion.from_clip(rig, clip).pose(rig)[torch.from_numpy(chosen)]
        got = skin_points(blend(skin, rig, posed), rest).numpy()
        away = np.linalg.norm(got - expected, axis=-1)
        errors[clip.name], worst[clip.name] = float(away.mean() / size), float(away.max() / height)
    return errors, worst


def run() -> Iterable[tuple[str, float]]:
    for path in sorted(assets().glob("*.glb")):
        start = time.perf_counter()
        try:
            character = load(path)
        except KinemaError:
            continue
        yield f"{path.stem}.load_s", time.perf_counter() - start
        errors, vertices = clip_errors(character)
        if errors:
            yield f"{path.stem}.worst_vertex", max(vertices.values())
            yield f"{path.stem}.median_clip", float(np.median(list(errors.values())))
            yield f"{path.stem}.worst_clip", max(errors.values())
            yield f"{path.stem}.clips_that_slide", sum(clip.translation is not None for clip in character.clips)
            yield f"{path.stem}.clips_above_1e-4", sum(error > 1e-4 for error in errors.values())
            yield f"{path.stem}.clips_above_1e-2", sum(error > 1e-2 for error in errors.values())


def main() -> None:
    names = sys.argv[1:] or [path.stem for path in sorted(assets().glob("*.glb"))]
    print("| file | joints | clips | median | worst | in | above 1 % | worst vertex | clips above 2 % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        try:
            character = load(assets() / f"{name}.glb")
        except KinemaError as error:
            print(f"| {name} | refused: {str(error).split(': ', 1)[1]} | | | | | | | |")
            continue
        errors, vertices = clip_errors(character)
        joints = len(character.skeleton.names) if character.skeleton is not None else 0
        if not errors:
            print(f"| {name} | {joints} | 0 | | | | | | |")
            continue
        worst = max(errors, key=lambda clip: errors[clip])
        above = sum(error > 0.01 for error in errors.values())
        median = float(np.median(list(errors.values())))
        where = worst.split("|")[-1]
        off = sum(error > WORST_VERTEX for error in vertices.values())
        said = f": {'; '.join(line for line in character.changes if 'cannot follow' in line)}" if off else ""
        said = said.replace("|", " ")
        print(
            f"| {name} | {joints} | {len(errors)} | {median:.1e} | {errors[worst]:.1e} | {where} | {above}"
            f" | {100 * max(vertices.values()):.2f} % | {off}{said} |",
            flush=True,
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
