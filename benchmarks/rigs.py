"""How truly real rigs' clips come through our parameters: `python benchmarks/rigs.py [NAME ...]` prints a table.

The third-party files lie beside the checkout (see tests/conftest.py) or where KINEMA_SHARED points. An error is the
mean distance of all vertices, over all frames of a clip, from where exact glTF skinning has them, as a share of the
body's diagonal.

`python benchmarks/run.py rigs` prints the same as metrics, and for the rigs whose parts come apart how near any
rotations could come: `slide` is the root mean square by which the joints that leave their sockets do so,
`slide_best_pivot` what is left of it about the joint centres that suit all clips best, and `pull_X.CLIP` the errors of
clips that lose a part if its vertices count X in the fit.
"""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from kinema.asset import gltf_character
from kinema.asset.character import Character
from kinema.asset.gltf_animation import original_vertices
from kinema.asset.gltf_geometry import read_parts
from kinema.asset.load import load
from kinema.errors import KinemaError
from kinema.motion import Motion
from kinema.rig.kinematics import Rig
from kinema.skin import Skin, blend, skin_points

FRAMES = 24
"""At most this many, evenly spread, of every clip."""
APART = ("kaykit_knight", "robot_expressive")
"""Rigs with parts that come off."""
SLIDES = 5e-3
"""Joints that leave their sockets by less than this share of the size are not listed."""


def assets() -> Path:
    shared = os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data")
    return Path(shared) / "assets"


def clip_errors(character: Character, *, only: list[str] | None = None) -> dict[str, float]:
    binding = character.source
    parts, _ = read_parts(binding.document)
    assert character.skeleton is not None
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    skin = Skin.from_character(character, dtype=torch.float64)
    rest = torch.from_numpy(character.mesh.vertices)
    size = np.linalg.norm(np.ptp(character.mesh.vertices, axis=0))
    frame = character.frame
    errors = {}
    for clip, start, animation in zip(character.clips, binding.clip_start_s, binding.clip_animation):
        if only is not None and clip.name not in only:
            continue
        chosen = np.unique(np.linspace(0, len(clip.root_position) - 1, FRAMES).astype(int))
        expected = original_vertices(binding.document, parts, animation, start + chosen / clip.fps)
        expected = frame.scale * expected @ frame.rotation.T + frame.translation
        posed = Motion.from_clip(rig, clip).pose(rig)[torch.from_numpy(chosen)]
        got = skin_points(blend(skin, rig, posed), rest).numpy()
        errors[clip.name] = float(np.linalg.norm(got - expected, axis=-1).mean() / size)
    return errors


def run() -> Iterable[tuple[str, float]]:
    for path in sorted(assets().glob("*.glb")):
        start = time.perf_counter()
        try:
            character = load(path)
        except KinemaError:
            continue
        yield f"{path.stem}.load_s", time.perf_counter() - start
        errors = clip_errors(character)
        if errors:
            yield f"{path.stem}.median_clip", float(np.median(list(errors.values())))
            yield f"{path.stem}.worst_clip", max(errors.values())
            yield f"{path.stem}.clips_above_1e-4", sum(error > 1e-4 for error in errors.values())
            yield f"{path.stem}.clips_above_1e-2", sum(error > 1e-2 for error in errors.values())
    for name in APART:
        if (assets() / f"{name}.glb").is_file():
            yield from limits(name)


def limits(name: str) -> Iterable[tuple[str, float]]:
    """How near rotations come to a rig that comes apart, whatever joint centres and weights one takes."""
    with patch.object(gltf_character, "_clips", wraps=gltf_character._clips) as called:
        character = load(assets() / f"{name}.glb")
    _, _, motions, raw, clean, _ = called.call_args.args
    motion = np.concatenate(motions)
    for j, p in zip(clean.joints, clean.parents):
        if p < 0:
            continue
        # |F_j h - F_p h|² over all frames is quadratic in the centre h.
        apart = motion[:, j] - motion[:, clean.joints[p]]
        slide = np.sqrt(((apart @ np.append(raw.heads[j], 1)) ** 2).sum(1).mean()) / raw.size
        if slide > SLIDES:
            best = np.linalg.lstsq(apart[..., :3].reshape(-1, 3), -apart[..., 3].ravel(), rcond=1e-6)[0]
            left = np.sqrt(((apart @ np.append(best, 1)) ** 2).sum(1).mean()) / raw.size
            yield f"{name}.{raw.names[j]}.slide", float(slide)
            yield f"{name}.{raw.names[j]}.slide_best_pivot", float(left)
    lossy = [clip for clip, error in clip_errors(character).items() if error > 0.01]
    for pull in (0.03, 0.1, 0.3, 1.0):
        with patch.object(gltf_character, "PULL", pull):
            errors = clip_errors(load(assets() / f"{name}.glb"), only=lossy)
        for clip, error in errors.items():
            yield f"{name}.pull_{pull:g}.{clip}", error


def main() -> None:
    names = sys.argv[1:] or [path.stem for path in sorted(assets().glob("*.glb"))]
    print("| file | joints | clips | median | worst | in | above 1 % |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        try:
            character = load(assets() / f"{name}.glb")
        except KinemaError as error:
            print(f"| {name} | refused: {str(error).split(': ', 1)[1]} | | | | | |")
            continue
        errors = clip_errors(character)
        joints = len(character.skeleton.names) if character.skeleton is not None else 0
        if not errors:
            print(f"| {name} | {joints} | 0 | | | | |")
            continue
        worst = max(errors, key=lambda clip: errors[clip])
        above = sum(error > 0.01 for error in errors.values())
        median = float(np.median(list(errors.values())))
        where = worst.split("|")[-1]
        print(
            f"| {name} | {joints} | {len(errors)} | {median:.1e} | {errors[worst]:.1e} | {where} | {above} |",
            flush=True,
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
