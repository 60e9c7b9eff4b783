"""Roles of artists' rigs against a table that was made by eye."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kinema.asset.character import Character, Mesh, Skeleton
from kinema.asset.load import load
from kinema.asset.skeleton_json import read_roles_json, read_skeleton_json
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.gait.make import make_motion
from kinema.motion.feet import find_cycle, track_feet
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs

with (Path(__file__).parent / "true_roles.tsv").open() as _file:
    TRUTH = {r.pop("name"): {role: int(n) for role, n in r.items()} for r in csv.DictReader(_file, delimiter="\t")}
QUICK = (
    "cube_chick", "cube_goblin", "cute_ghost", "dolphin", "fish1", "fish_shark", "khronos_fox", "m2m_spider",
    "manta_ray", "pet_bee", "pet_elephant", "quat_bird", "quat_cat", "quat_llama", "quat_skeleton", "RiggedSimple",
    "rocketbox_chicken_brown", "rocketbox_dog_beagle", "rocketbox_duck_male", "shark", "snake",
)  # fmt: skip
"""Files that are read in no time, of all kinds."""


def path_of(shared: Path, name: str) -> Path:
    folders = ("assets", "library/assets", "library/broken")
    path = next((p for folder in folders if (p := shared / folder / f"{name}.glb").exists()), None)
    return path or pytest.skip(f"{name}.glb is not among the shared data")


def judge(character: Character, true: dict[str, int]) -> tuple[bool, float]:
    limbs = find_limbs(character)
    return limbs.counts == true, limbs.certainty


def anonymous(character: Character) -> Character:
    assert character.skeleton is not None
    blank = tuple(f"joint{k}" for k in range(len(character.skeleton.names)))
    return replace(character, skeleton=replace(character.skeleton, names=blank))


@pytest.mark.parametrize("name", QUICK)
def test_roles_of_artists_rigs(shared_data, name):
    limbs = find_limbs(load(path_of(shared_data, name)))
    assert limbs.counts == TRUTH[name]


@pytest.mark.slow
def test_roles_are_right_on_nineteen_of_twenty_rigs_and_wrong_ones_are_not_sure(shared_data):
    verdicts = {name: judge(load(path_of(shared_data, name)), true) for name, true in TRUTH.items()}
    wrong = {name: confidence for name, (right, confidence) in verdicts.items() if not right}
    assert len(wrong) <= 0.05 * len(TRUTH), wrong
    assert all(confidence < 0.7 for confidence in wrong.values()), wrong
    assert np.mean([confidence >= 0.7 for right, confidence in verdicts.values() if right]) > 0.85


@pytest.mark.slow
def test_most_roles_need_no_names(shared_data):
    verdicts = [judge(anonymous(load(path_of(shared_data, name))), TRUTH[name])[0] for name in TRUTH]
    assert np.mean(verdicts) > 0.8


@pytest.mark.parametrize("name", ["cube_horse", "pet_lion", "mini_male", "kenney_blocky"])
def test_legs_of_one_bone_step_in_alternation(shared_data, name):
    character = load(path_of(shared_data, name))
    limbs, rig = find_limbs(character), Rig.from_skeleton(character.skeleton, dtype=torch.float64)
    assert {len(leg.joints) for leg in limbs.legs} == {1}
    motion, _ = make_motion(rig, limbs, "walk", frames=48, fps=24.0)
    feet = track_feet(rig, limbs, motion)
    cycle = find_cycle(feet)
    for left, right in zip(cycle.phase[::2], cycle.phase[1::2], strict=True):
        assert abs((left - right) % 1.0 - 0.5) < 0.05
    assert cycle.reach.min() > 0.5
    # The body vaults over its stiff legs: no foot goes deep into the ground.
    assert feet.height.min() > -0.2 * limbs.leg_length


def test_a_sword_in_one_hand_is_no_limb_and_does_not_move_the_middle():
    body = creature("human", detail="low")
    skeleton, weights = body.skeleton, body.weights
    hand = next(j for j, name in enumerate(skeleton.names) if "hand" in name.lower())
    side = np.sign(skeleton.heads[hand][0])
    blade = skeleton.heads[hand] + np.array([[side, 0, 0]]) * np.linspace(0, 1.5, 30)[:, None]
    held = np.zeros((30, len(skeleton.names)))
    held[:, hand] = 1.0
    vertices = np.concatenate((body.mesh.vertices, blade))
    mesh = Mesh(vertices, body.mesh.faces, np.ones((len(vertices), 3)))
    armed = replace(body, mesh=mesh, weights=np.concatenate((weights, held)))
    plain, found = find_limbs(body), find_limbs(armed)
    assert found.counts == plain.counts
    assert [leg.joints for leg in found.legs] == [leg.joints for leg in plain.legs]


def test_a_body_with_three_heads():
    """Three necks and heads in front of a trunk on four legs, without any other names."""
    names, parents, heads = ["trunk"], [-1], [(0.0, 1.0, -0.5)]

    def add(name, parent, at):
        names.append(name), parents.append(parent), heads.append(at)
        return len(names) - 1

    chest = add("chest", 0, (0.0, 1.0, 0.5))
    for z, parent in ((0.5, chest), (-0.5, 0)):
        for x in (0.3, -0.3):
            thigh = add("joint", parent, (x, 0.8, z))
            add("joint", add("joint", thigh, (x, 0.4, z)), (x, 0.05, z + 0.05))
    for x in (0.0, 0.4, -0.4):
        neck = add("joint", chest, (x / 2, 1.2, 0.7))
        add("head", neck, (x, 1.6, 1.0))
    named, places = tuple(f"{name}{k}" for k, name in enumerate(names)), np.array(heads)
    skeleton = Skeleton(named, tuple(parents), places, places + [0, -0.05, 0.1])
    no_mesh = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=int), np.zeros((0, 3)))
    limbs = find_limbs(Character("hydra", no_mesh, skeleton))
    assert (len(limbs.heads), len(limbs.legs)) == (3, 4)


def test_given_legs_replace_those_that_were_found():
    fox = creature("fox", detail="low")
    found = find_limbs(fox)
    names = fox.skeleton.names
    feet = tuple(names[leg.joints[-1]] for leg in found.legs)
    by_feet = find_limbs(replace(fox, roles={"legs": feet}))
    assert [leg.joints for leg in by_feet.legs] == [leg.joints for leg in found.legs]
    assert by_feet.confidence["legs"] > 0.99
    tops = tuple(names[leg.joints[0]] for leg in found.legs)
    by_tops = find_limbs(replace(fox, roles={"legs": tops[:2]}))
    assert [leg.joints for leg in by_tops.legs] == [leg.joints for leg in found.legs if leg.rank == 0]
    assert not find_limbs(replace(fox, roles={"legs": ()})).legs
    with pytest.raises(KinemaError, match=r"^a fox.*legs: has no joint 'nix'; it has "):
        find_limbs(replace(fox, name="a fox", roles={"legs": ("nix",)}))


def test_other_roles_can_be_given_too():
    human = creature("human", detail="low")
    found, names = find_limbs(human), human.skeleton.names
    wings = tuple(names[arm.joints[0]] for arm in found.arms)
    angel = find_limbs(replace(human, roles={"wings": wings, "heads": (names[found.head],), "tails": ()}))
    assert angel.counts == {"legs": 2, "arms": 0, "wings": 2, "fins": 0, "tails": 0, "heads": 1}
    assert (angel.body, angel.head) == ("bird", found.head)


def test_what_swims_has_no_ground_unless_someone_says_so(shared_data):
    path = path_of(shared_data, "shark")
    assert not find_limbs(load(path)).ground
    assert find_limbs(load(path, ground="flat")).ground
    assert find_limbs(load(path_of(shared_data, "snake"))).ground
    assert not find_limbs(load(path_of(shared_data, "khronos_fox"), ground="none")).ground


def test_roles_in_a_skeleton_json(tmp_path):
    joints = [{"name": "a", "parent": None, "head": [0, 0, 0]}, {"name": "b", "parent": "a", "head": [0, 0, 1]}]
    file = tmp_path / "skeleton.json"

    def read(roles):
        file.write_text(json.dumps({"joints": joints, "roles": roles}))
        return read_roles_json(file, read_skeleton_json(file).names)

    assert read({"legs": ["b"], "tails": []}) == {"legs": ("b",), "tails": ()}
    for roles, message in (
        ({"legs": ["c"]}, "roles: legs: has no joint 'c'"),
        ({"hands": ["b"]}, "has the role 'hands', which is not one of legs, arms"),
        ({"legs": "b"}, "its roles are not lists"),
        ([], "its roles are not lists"),
    ):
        with pytest.raises(KinemaError, match=message):
            read(roles)
