"""VRM Animation (.vrma): a humanoid's clip as glTF with the extension VRMC_vrm_animation, for any VRM avatar.

The nodes are VRM's bones in a T-pose with the world's axes; a clip turns them and moves the hips, nothing else. Our
rest pose may be another (arms that hang), so each bone has a turn R_T from our rest into the T-pose, and what is
written is R(t) R_Tᵀ, the turn from the T-pose to the pose at t.
"""

import itertools
from pathlib import Path

import numpy as np
from jaxtyping import Float

from kinema.asset.character import Character, Clip, Skeleton
from kinema.export.gltf.file import GltfFile
from kinema.export.names.conventions import VRM
from kinema.export.names.rename import check_required
from kinema.export.names.roles import joint_names
from kinema.export.timing import world_transforms
from kinema.geometry import rotations
from kinema.rig.ik import between

EXTENSION = "VRMC_vrm_animation"
SIDES = {"left": 1.0, "right": -1.0}
FINGERS = tuple(name.split("}")[1].partition("{")[0] for name in VRM.fingers)
Turns = Float[np.ndarray, "joints 3 3"]


def _parents() -> dict[str, tuple[str, ...]]:
    """VRM's bones in an order in which parents come first; of the parents named, the first that is there counts."""
    trunk = ("upperChest", "chest", "spine")
    tree: dict[str, tuple[str, ...]] = {"hips": (), "spine": ("hips",), "chest": ("spine",), "upperChest": ("chest",)}
    tree |= {"neck": trunk, "head": ("neck", *trunk), "jaw": ("head",), "leftEye": ("head",), "rightEye": ("head",)}
    for side in SIDES:
        leg = [name.format(side=side) for name in VRM.leg]
        arm = [name.format(side=side) for name in (VRM.shoulder, *VRM.arm)]
        tree |= {leg[0]: ("hips",), **{child: (parent,) for parent, child in itertools.pairwise(leg)}}
        tree |= {arm[0]: trunk, arm[1]: (arm[0], *trunk), arm[2]: (arm[1],), arm[3]: (arm[2],)}
        for finger, template in zip(FINGERS, VRM.fingers, strict=True):
            parts = VRM.thumb if finger == FINGERS[0] else VRM.phalanges
            chain = [arm[3], *(template.format(side=side, p=part) for part in parts)]
            tree |= {child: (parent,) for parent, child in itertools.pairwise(chain)}
    return tree


PARENTS = _parents()


def write_vrma(path: Path, character: Character, clip: Clip) -> None:
    """Write the clip of a humanoid; a body that lacks one of VRM's required bones is refused."""
    skeleton = character.skeleton
    assert skeleton is not None
    bones = {name: joint for joint, name in joint_names(character, VRM).items() if name in PARENTS}
    check_required(f"{path}: {character.name}", bones, "vrm")
    bones = {name: bones[name] for name in PARENTS if name in bones}
    # A finger or an upper chest without what carries it has no place in the tree.
    for name in list(bones):
        if name != "hips" and not any(parent in bones for parent in PARENTS[name]):
            del bones[name]
    file = GltfFile()
    posed, stance = world_transforms(skeleton, clip), t_pose(skeleton, bones)
    times = file.add_accessor((np.arange(len(posed)) / clip.fps).astype(np.float32), bounds=True)
    samplers, channels, nodes, turns = [], [], {}, {}

    def move(node: int, what: str, values: np.ndarray) -> None:
        samplers.append({"input": times, "output": file.add_accessor(values.astype(np.float32))})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": what}})

    for name, joint in bones.items():
        parent = next((one for one in PARENTS[name] if one in bones), None)
        turns[name] = posed[:, joint, :3, :3] @ stance[joint].T
        if parent is None:
            place, local = skeleton.heads[joint], turns[name]
        else:
            place = stance[bones[parent]] @ (skeleton.heads[joint] - skeleton.heads[bones[parent]])
            local = np.swapaxes(turns[parent], -1, -2) @ turns[name]
        nodes[name] = file.add("nodes", {"name": name, "translation": place.tolist()})
        if parent is not None:
            file.json["nodes"][nodes[parent]].setdefault("children", []).append(nodes[name])
        move(nodes[name], "rotation", rotations.continuous(rotations.from_matrix(local))[:, [1, 2, 3, 0]])
    move(nodes["hips"], "translation", posed[:, bones["hips"], :3, 3])
    from kinema import __version__

    file.json["asset"]["generator"] = f"Kinema {__version__}"
    file.json["scenes"], file.json["scene"] = [{"nodes": [nodes["hips"]]}], 0
    file.json["animations"] = [{"name": clip.name, "samplers": samplers, "channels": channels}]
    humanoid = {"humanBones": {name: {"node": node} for name, node in nodes.items()}}
    file.json["extensionsUsed"] = [EXTENSION]
    file.json["extensions"] = {EXTENSION: {"specVersion": "1.0", "humanoid": humanoid}}
    file.write(path)


def t_pose(skeleton: Skeleton, bones: dict[str, int]) -> Turns:
    """R_T of each joint: arms level to the sides with their palms as they come, legs straight down, feet as at rest."""
    turns = np.tile(np.eye(3), (len(skeleton.names), 1, 1))
    for side, sign in SIDES.items():
        leg = [bones.get(name.format(side=side)) for name in VRM.leg[:3]]
        arm = [bones.get(name.format(side=side)) for name in VRM.arm]
        for chain, way in ((leg, [0.0, -1.0, 0.0]), (arm, [sign, 0.0, 0.0])):
            for joint, end in itertools.pairwise(chain):
                if joint is not None and end is not None:
                    turns[joint] = between(skeleton.heads[end] - skeleton.heads[joint], np.array(way))
        hand = arm[2]
        if hand is not None:
            reach = _fingertips(skeleton, bones, hand, side) - skeleton.heads[hand]
            turns[hand] = between(reach, np.array([sign, 0.0, 0.0]))
            for name, joint in bones.items():
                if name.startswith(side) and any(finger in name for finger in FINGERS):
                    turns[joint] = turns[hand]
    return turns


def _fingertips(skeleton: Skeleton, bones: dict[str, int], hand: int, side: str) -> Float[np.ndarray, "3"]:
    """Where the hand points: the root of the middle finger, else the end of its bone."""
    middle = bones.get(VRM.fingers[2].format(side=side, p=VRM.phalanges[0]))
    return skeleton.tails[hand] if middle is None else skeleton.heads[middle]
