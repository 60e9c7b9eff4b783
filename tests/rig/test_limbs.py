from dataclasses import replace

import numpy as np
import pytest
import torch
from gait_bodies import biped, hexapod, quadruped

from kinema.asset.clips_npz import load_clips_npz
from kinema.create.creatures import creature, random_creature, species
from kinema.gait.make import make_motion
from kinema.gait.plan import GaitBody
from kinema.rig.hinges import joint_limits
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


def names(character, joints) -> list[str]:
    return [character.skeleton.names[j] for j in joints]


def test_quadruped():
    character = quadruped()
    limbs = find_limbs(character)
    assert limbs.body == "quadruped"
    assert [(g.rank, g.side) for g in limbs.legs] == [(0, 1), (0, -1), (1, 1), (1, -1)]
    assert names(character, limbs.legs[0].joints) == ["front_left_upper", "front_left_lower", "front_left_foot"]
    assert names(character, limbs.legs[3].joints)[0] == "hind_right_upper"
    assert names(character, limbs.spine) == ["spine", "chest"]
    assert names(character, limbs.neck) == ["neck"]
    assert names(character, (limbs.head,)) == ["head"]
    assert names(character, limbs.tail) == ["tail_1", "tail_2"]
    for leg in limbs.legs:
        assert character.skeleton.heads[leg.joints[-1]][1] + leg.contact[1] == pytest.approx(0, abs=1e-9)


def test_biped_has_arms_and_insects_have_six_legs():
    limbs = find_limbs(biped())
    assert (limbs.body, len(limbs.arms), len(limbs.legs)) == ("biped", 2, 2)
    assert all(leg.foot == 2 for leg in limbs.legs)
    limbs = find_limbs(hexapod())
    assert (limbs.body, len(limbs.legs)) == ("crawler", 6)
    assert all(leg.foot == len(leg.joints) for leg in limbs.legs)


def test_names_do_not_matter_where_geometry_speaks():
    character = quadruped()
    blank = tuple(f"joint{k}" for k in range(len(character.skeleton.names)))
    anonymous = type(character)(
        character.name, character.mesh, type(character.skeleton)(
            blank, character.skeleton.parents, character.skeleton.heads, character.skeleton.tails
        ), character.weights,
    )  # fmt: skip
    named, found = find_limbs(character), find_limbs(anonymous)
    assert [g.joints for g in named.legs] == [g.joints for g in found.legs]
    assert (named.head, named.tail) == (found.head, found.tail)


FAMILIES = {"quadruped": ("quadruped", 4), "biped": ("biped", 2), "bird": ("bird", 2)}
FAMILIES |= {"hexapod": ("crawler", 6), "octopod": ("crawler", 8)}


@pytest.mark.parametrize("name", ["dog", "horse", "human", "chicken", "spider", "ant", "t-rex", "crocodile"])
def test_built_in_creatures(name):
    family = next(s.family for s in species() if s.name == name)
    limbs = find_limbs(creature(name, detail="low"))
    assert (limbs.body, len(limbs.legs)) == FAMILIES[family]


RIGS = {
    "fox": 4, "wolf": 4, "husky": 4, "cow": 4, "bull": 4, "deer": 4, "donkey": 4, "apatosaurus": 4, "stegosaurus": 4,
    "velociraptor": 2, "parasaurolophus": 2, "frog": 4, "rat": 4, "character": 2, "khronos_fox": 4, "fish1": 0,
    "shark": 0, "whale": 0, "dolphin": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", list(RIGS))
def test_artists_rigs(shared_data, name):
    character = load_clips_npz(shared_data / "clips" / f"{name}.npz", clips=False)
    limbs = find_limbs(character)
    assert len(limbs.legs) == RIGS[name]
    assert limbs.head is not None
    tails = [n for n in character.skeleton.names if "tail" in n.lower()]
    assert len(limbs.tail) == len(tails)
    words = ("hip", "leg", "ff", "foot", "arm", "hand")
    for leg in limbs.legs:
        assert all(any(w in n.lower() for w in words) for n in names(character, leg.joints))


@pytest.mark.parametrize("kind", ["dog", "human", "ostrich", "spider"])
def test_gaits_respect_the_limits_of_hinges(kind):
    character = creature(kind, detail="low")
    limbs = find_limbs(character)
    limits = joint_limits(character, limbs)
    rig = Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    assert len(limits.hinges) >= len(limbs.legs)
    knees = [j for leg in limbs.legs for j in leg.joints[1 : leg.foot] if j in limits.hinges]
    for name in ("walk", "run"):
        motion, _ = make_motion(rig, limbs, name, frames=24, fps=12.0, body=GaitBody.of(rig, limbs))
        angles = motion.angles.numpy()[:, knees]
        # 0.15 rad (8.6°) of slack: the rig's flexion axis is not exactly the hinge's.
        assert (angles > limits.lower[knees] - 0.15).all()
        assert (angles < limits.upper[knees] + 0.15).all()


def test_a_knee_bends_backwards_only():
    character = biped()
    limits = joint_limits(character, find_limbs(character))
    knee = character.skeleton.names.index("left_lower_leg")
    assert knee in limits.hinges
    # +flexion swings the shank backwards, which is the way a knee bends.
    assert limits.lower[knee, 0] > -0.2
    assert limits.upper[knee, 0] > 2.0
    assert np.isinf(limits.upper[0]).all()


@pytest.mark.slow
def test_random_creatures_have_the_legs_of_their_family():
    rng = np.random.default_rng(0)
    for _ in range(40):
        limbs = find_limbs(random_creature(rng, detail="low"))
        assert len(limbs.legs) in (2, 4, 6, 8)
        assert len({(leg.rank, leg.side) for leg in limbs.legs}) == len(limbs.legs)


def test_a_last_bone_without_skin_of_its_own_is_still_the_end_of_a_leg(fox):
    feet = [leg.joints[-1] for leg in find_limbs(fox).legs]
    weights = fox.weights.copy()
    for foot in feet:
        weights[:, fox.skeleton.parents[foot]] += weights[:, foot]
        weights[:, foot] = 0.0
    bare = find_limbs(replace(fox, weights=weights, roles={"legs": tuple(names(fox, feet))}))
    assert [leg.joints[-1] for leg in bare.legs] == feet
    assert bare.body == "quadruped"
