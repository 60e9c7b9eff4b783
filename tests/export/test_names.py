"""Joint names of engines, from the roles of joints, in every file that is written."""

import json
import struct
from functools import cache
from pathlib import Path

import pytest

from kinema.asset.character import Character
from kinema.asset.load import load
from kinema.asset.options import NameOptions
from kinema.create.creatures import creature
from kinema.errors import KinemaError
from kinema.export.names.conventions import CONVENTIONS, REQUIRED
from kinema.export.names.rename import check_required, renamed
from kinema.export.write import write

HUMANOIDS = (
    "m2m_human", "rocketbox_man", "rocketbox_woman", "ual1_mannequin", "ual2_mannequin", "quat_man", "quat_woman",
)  # fmt: skip


@cache
def made(words: str) -> Character:
    # People have collar bones in full detail only.
    return creature(words, detail="full" if words == "a human" else "low")


def named(words: str, names) -> tuple[str, ...]:
    found = renamed(made(words), names).skeleton
    assert found is not None
    assert len(set(found.names)) == len(found.names)
    return found.names


def test_a_person_has_the_names_of_each_engine():
    assert {"pelvis", "spine_01", "neck_01", "head", "clavicle_l", "upperarm_l", "thigh_r", "index_03_l"} <= {
        *named("a human", "unreal")
    }
    assert {"mixamorig:Hips", "mixamorig:LeftForeArm", "mixamorig:RightUpLeg"} <= {*named("a human", "mixamo")}
    for engine in REQUIRED:
        assert set(REQUIRED[engine]) <= {*named("a human", engine)}


def test_unreal_names_any_number_of_legs():
    horse = named("a horse", "unreal")
    assert {"LeftLeg_01", "RightArm_01", "tail_01", "neck_02"} <= {*horse}
    assert not [name for name in horse if "LegA" in name]
    spider = named("a spider", "unreal")
    for chain in ("LeftArm", "LeftLegA", "LeftLegB", "LeftLeg", "RightArm", "RightLeg"):
        assert [f"{chain}_0{i}" in spider for i in (1, 2, 3)] == [True] * 3
    # The rearmost pair are the legs, the foremost the arms.
    rooted = made("a spider").skeleton
    assert rooted is not None
    z = dict(zip(spider, rooted.heads[:, 2], strict=True))
    assert z["LeftArm_03"] > z["LeftLegA_03"] > z["LeftLegB_03"] > z["LeftLeg_03"]


def test_arms_stay_arms_beside_four_pairs_of_legs():
    crab = named("a crab", "unreal")
    assert {"LeftArm_01", "LeftLegA_01", "LeftLegB_01", "LeftLegC_01", "LeftLeg_01"} <= {*crab}


@pytest.mark.parametrize("words", ["an eagle", "a dragon", "a shark", "a snake", "a fox", "an ant", "a manta"])
@pytest.mark.parametrize("names", list(CONVENTIONS))
def test_every_family_gets_hips_and_unique_names(words, names):
    assert CONVENTIONS[names].hips in named(words, names)


def test_joints_without_a_role_keep_their_names():
    assert {"left_ear", "right_ear"} <= {*named("a fox", "unity")}


def test_files_have_the_names(tmp_path):
    fox, options = creature("a fox", detail="low"), NameOptions(names="unity")
    for suffix in (".glb", ".bvh", ".json", ".npz", ".xml"):
        write(tmp_path / f"fox{suffix}", fox, naming=options)
    assert "LeftUpperLeg" in (tmp_path / "fox.bvh").read_text()
    assert "LeftUpperLeg" in (tmp_path / "fox.json").read_text()
    assert "LeftUpperLeg" in (tmp_path / "fox.xml").read_text()
    again = load(tmp_path / "fox.glb")
    # A file that we read keeps its joints, under other names.
    write(tmp_path / "again.glb", again, naming=NameOptions(names="unreal"))
    nodes = [node.get("name") for node in document(tmp_path / "again.glb")["nodes"]]
    assert {"pelvis", "LeftArm_01", "left_ear"} <= {*nodes}
    assert len(set(nodes)) == len(nodes)


def document(path: Path) -> dict:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length])


def test_a_fox_is_no_humanoid():
    with pytest.raises(KinemaError, match="no humanoid as vrm wants it"):
        check_required("a snake", named("a snake", "vrm"), "vrm")


@pytest.mark.parametrize("name", HUMANOIDS)
def test_humanoids_of_the_library_pass_the_lists(name, shared_data: Path):
    character = load(shared_data / "library" / "assets" / f"{name}.glb")
    for engine in REQUIRED:
        skeleton = renamed(character, engine).skeleton
        assert skeleton is not None
        check_required(name, skeleton.names, engine)
