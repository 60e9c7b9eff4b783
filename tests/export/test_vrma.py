"""VRM animations: a T-pose at rest, turns of bones, a path of the hips, and the same places as our own kinematics."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinema.asset.character import Character, Clip
from kinema.asset.gltf.accessors import read_accessor
from kinema.asset.gltf.document import Document, node_parents, read_document
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.export.names.conventions import REQUIRED, VRM
from kinema.export.names.roles import joint_names
from kinema.export.timing import as_clip, world_transforms
from kinema.export.vrma import EXTENSION
from kinema.export.write import write
from kinema.gait.make import make_motion
from kinema.geometry.rotations import place_joints, to_matrix
from kinema.rig.kinematics import Rig
from kinema.rig.limbs import find_limbs


@pytest.fixture(scope="module")
def walker() -> tuple[Character, Clip]:
    person = creature("a human")
    assert person.skeleton is not None
    motion, _ = make_motion(Rig.from_skeleton(person.skeleton), find_limbs(person), "walk", frames=13, fps=12.0)
    return person, replace(as_clip(person, motion), name="walk")


def played(document: Document) -> tuple[np.ndarray, np.ndarray]:
    """Places of the nodes at rest, and in each frame of the animation."""
    parents = node_parents(document)
    offsets = np.array([node["translation"] for node in document.nodes])
    animation = document.json["animations"][0]
    turns, path = {}, None
    for channel in animation["channels"]:
        values = read_accessor(document, animation["samplers"][channel["sampler"]]["output"])
        if channel["target"]["path"] == "rotation":
            turns[channel["target"]["node"]] = values[:, [3, 0, 1, 2]]
        else:
            assert channel["target"] == {"node": 0, "path": "translation"}
            path = values
    assert path is not None
    local = to_matrix(np.stack([turns[node] for node in range(len(parents))], 1))
    moved, _ = place_joints(parents, np.repeat(offsets[None], len(path), 0), local, path)
    still, _ = place_joints(parents, offsets[None], np.eye(3)[None, None].repeat(len(parents), 1), offsets[:1])
    return still[0], moved


def test_it_moves_as_the_clip(walker, tmp_path):
    person, clip = walker
    write(tmp_path / "walk.vrma", person, clip)
    document = read_document(tmp_path / "walk.vrma")
    assert document.json["extensionsUsed"] == [EXTENSION]
    said = document.json["extensions"][EXTENSION]
    assert said["specVersion"] == "1.0"
    bones = {name: entry["node"] for name, entry in said["humanoid"]["humanBones"].items()}
    assert set(REQUIRED["vrm"]) <= set(bones)
    assert {"leftShoulder", "rightLittleDistal", "neck", "chest"} <= set(bones)
    _, moved = played(document)
    assert person.skeleton is not None
    ours = world_transforms(person.skeleton, clip)[..., :3, 3]
    for joint, name in joint_names(person, VRM).items():
        if name in bones:
            assert_allclose(moved[:, bones[name]], ours[:, joint], atol=1e-5, err_msg=name)


def test_it_rests_in_a_t_pose(walker, tmp_path):
    person, clip = walker
    write(tmp_path / "walk.vrma", person, clip)
    document = read_document(tmp_path / "walk.vrma")
    still, _ = played(document)
    place = {node["name"]: point for node, point in zip(document.nodes, still, strict=True)}
    assert not any("rotation" in node for node in document.nodes)
    for side, sign in (("left", 1), ("right", -1)):
        for a, b in (("UpperArm", "LowerArm"), ("LowerArm", "Hand"), ("Hand", "MiddleProximal")):
            bone = place[side + b] - place[side + a]
            assert_allclose(bone / np.linalg.norm(bone), [sign, 0, 0], atol=1e-6)
        for a, b in (("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot")):
            bone = place[side + b] - place[side + a]
            assert_allclose(bone / np.linalg.norm(bone), [0, -1, 0], atol=1e-6)


def test_a_fox_is_refused_in_one_line(tmp_path):
    fox = creature("a fish", detail="low")
    assert fox.skeleton is not None
    still = np.tile([1.0, 0, 0, 0], (2, len(fox.skeleton.names), 1))
    clip = Clip("swim", 24.0, np.repeat(fox.skeleton.heads[:1], 2, 0), still)
    with pytest.raises(KinemaError, match=r"is no humanoid as vrm wants it, no joint is spine, ") as caught:
        write(tmp_path / "fox.vrma", fox, clip)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_character_without_a_clip_is_refused(walker, tmp_path):
    with pytest.raises(KinemaError, match="has no clip"):
        write(tmp_path / "still.vrma", walker[0])
