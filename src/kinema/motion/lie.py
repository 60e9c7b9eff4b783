"""A body that crawls on its belly lies on the ground: its bones turn about the vertical and nothing else."""

from dataclasses import replace

import torch

from kinema.motion.motion import Motion
from kinema.rig.kinematics import Rig, angles_from_rotations
from kinema.rig.limbs import Limbs


def lie_down(rig: Rig, limbs: Limbs, motion: Motion) -> Motion:
    """The motion with every joint of the line from head to tail as high as at rest, above the same track.

    A video shows a bend of a thin body sideways and one upwards nearly alike.
    """
    line = limbs.line(rig.parents)
    if len(line) < 3:
        return motion
    pose = motion.pose(rig)
    R_world_joint = pose[..., :3].clone()
    # Which way the line runs at each joint, at rest and now, seen from above. A tail may begin where the body does.
    before, behind = (line[0], *line[:-1]), (*line[1:], line[-1])
    at_rest = (rig.heads[list(before)] - rig.heads[list(behind)]).to(pose)
    now = (R_world_joint[:, line] @ at_rest[..., None])[..., 0]
    turn = torch.atan2(now[..., 0], now[..., 2]) - torch.atan2(at_rest[:, 0], at_rest[:, 2])
    flat = torch.zeros_like(R_world_joint[:, line])
    flat[..., 0, 0] = flat[..., 2, 2] = torch.cos(turn)
    flat[..., 0, 2], flat[..., 2, 0] = torch.sin(turn), -torch.sin(turn)
    flat[..., 1, 1] = 1.0
    # What is beside the line keeps its turn against its parent.
    local = R_world_joint.clone()
    for joint, parent in enumerate(rig.parents):
        if parent >= 0:
            local[:, joint] = R_world_joint[:, parent].mT @ R_world_joint[:, joint]
    for k, joint in enumerate(line):
        R_world_joint[:, joint] = flat[:, k]
    for joint in line:
        parent = rig.parents[joint]
        local[:, joint] = (
            R_world_joint[:, joint] if parent < 0 else R_world_joint[:, parent].mT @ R_world_joint[:, joint]
        )
    root = motion.root_position.clone()
    root[:, 1] = rig.heads[0, 1]
    return replace(motion, root_position=root, angles=angles_from_rotations(rig, local.to(rig.axes)).to(motion.angles))
