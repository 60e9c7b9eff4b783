"""Dynamic time warping of joints: tempo does not count, what moves does, and sides may be exchanged."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.create.creatures import creature
from kinema.gait.kinds import Style
from kinema.gait.make import make_motion
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import Limbs, find_limbs

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from likeness import Features, Landmarks, distance, features, mirrored


@pytest.fixture(scope="module")
def person() -> tuple[Rig, Limbs]:
    character = creature("a person")
    assert character.skeleton is not None
    return Rig.from_skeleton(character.skeleton, dtype=torch.float64), find_limbs(character)


def shown(person: tuple[Rig, Limbs], name: str, *, side: int = 1, tempo: float = 1.0) -> Features:
    rig, limbs = person
    motion, _ = make_motion(rig, limbs, name, frames=40, fps=16.0, style=Style(side=side))
    return features(replace(motion, fps=16.0 * tempo), rig, Landmarks.of(limbs), height=limbs.height)


def stood(person: tuple[Rig, Limbs]) -> Features:
    return shown(person, "stand").mean(0, keepdims=True)


def test_a_motion_is_like_itself_and_its_mirror_image(person: tuple[Rig, Limbs]) -> None:
    marks = Landmarks.of(person[1])
    wave, standing = shown(person, "wave"), stood(person)
    assert distance(wave, wave, marks, standing=standing) == 0
    assert distance(wave, mirrored(wave, marks), marks, standing=standing) < 0.02
    np.testing.assert_array_equal(mirrored(mirrored(wave, marks), marks), wave)
    assert distance(wave, shown(person, "wave", side=-1), marks, standing=standing) < 0.1


def test_the_nearest_of_several_motions_is_the_right_one_at_another_tempo(person: tuple[Rig, Limbs]) -> None:
    marks, names = Landmarks.of(person[1]), ("wave", "bow", "jump", "kick", "sit", "walk")
    known = {name: shown(person, name) for name in names}
    for name in names:
        seen = shown(person, name, side=-1, tempo=0.8)
        apart = {other: distance(seen, values, marks, standing=stood(person)) for other, values in known.items()}
        assert min(apart, key=apart.__getitem__) == name


def test_where_in_its_cycle_a_gait_begins_says_nothing(person: tuple[Rig, Limbs]) -> None:
    rig, limbs = person
    marks = Landmarks.of(limbs)

    def walk(phase: float, frames: int) -> Features:
        motion, _ = make_motion(rig, limbs, "walk", frames=frames, fps=16.0, phase=phase, period=1.0)
        return features(motion, rig, marks, height=limbs.height)

    seen, standing = walk(0.35, 40), stood(person)
    walks, stands = (
        distance(seen, clip, marks, standing=standing, repeats=True) for clip in (walk(0.0, 17), shown(person, "stand"))
    )
    assert walks < 0.4 * stands


def test_a_calm_bow_is_a_bow_and_not_standing(person: tuple[Rig, Limbs]) -> None:
    marks, standing, bow = Landmarks.of(person[1]), stood(person), shown(person, "bow")
    calm = standing + 0.3 * (bow - standing)
    to_bow, to_stand = (distance(calm, other, marks, standing=standing) for other in (bow, shown(person, "stand")))
    assert to_bow < 0.5 * to_stand
