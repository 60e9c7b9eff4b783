"""Runs inside Blender: where every joint and every skinned vertex of a file is at every frame, in Y-up coordinates.

python blender_joints.py -- FILE OUT.npz FRAMES FPS [ACTION]
"""

import sys
from pathlib import Path

import bpy
import numpy as np


def load(path, fps):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = round(fps)
    suffix = Path(path).suffix.lower()
    if suffix in (".glb", ".gltf"):
        # Else spheres that draw the bones count as meshes.
        bpy.ops.import_scene.gltf(filepath=path, disable_bone_shape=True)
    elif suffix == ".fbx":
        bpy.ops.wm.fbx_import(filepath=path)
    elif suffix == ".bvh":
        bpy.ops.import_anim.bvh(filepath=path)
    elif suffix == ".blend":
        bpy.ops.wm.open_mainfile(filepath=path)
    else:
        bpy.ops.wm.usd_import(filepath=path)


def play(owner, wanted):
    """Let only the wanted action move the owner; return the frame it begins at."""
    data = owner.animation_data
    if data is None:
        return None
    for track in data.nla_tracks:
        track.mute = True
    actions = [action for action in bpy.data.actions if not wanted or action.name.startswith(wanted)]
    exact = [action for action in actions if action.name == wanted]
    fitting = [action for action in exact or actions if owner.name in action.name or exact or not wanted or data.action]
    action = data.action if not wanted and data.action else (fitting or actions or [data.action])[0]
    if action is None:
        return None
    if data.action is not action:
        data.action = action
    if data.action_slot is None and len(action.slots):
        data.action_slot = action.slots[0]
    return action.frame_range[0]


def posed(owner):
    """World positions of a mesh's vertices after its modifiers (the armature)."""
    owner = owner.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = owner.data
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    matrix = np.array(owner.matrix_world)
    return flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def y_up(points):
    points = np.array(points, dtype=np.float64).reshape(len(points), -1, 3)
    return np.stack((points[..., 0], points[..., 2], -points[..., 1]), -1)


def main():
    path, out, frames, fps, *wanted = sys.argv[sys.argv.index("--") + 1 :]
    load(path, float(fps))
    starts = [play(owner, wanted[0] if wanted else "") for owner in bpy.data.objects if owner.animation_data]
    starts = [start for start in starts if start is not None]
    start = min(starts) if starts else 0
    # glTF has seconds, which Blender counts in frames of the scene's whole rate; the others have frames.
    step = round(float(fps)) / float(fps) if Path(path).suffix.lower() in (".glb", ".gltf") else 1.0
    armatures = [owner for owner in bpy.data.objects if owner.type == "ARMATURE"]
    empties = [owner for owner in bpy.data.objects if owner.type == "EMPTY"]
    names = [bone.name for armature in armatures for bone in armature.pose.bones] + [owner.name for owner in empties]
    meshes = [owner for owner in bpy.data.objects if owner.type == "MESH"]
    positions, vertices = [], []
    for frame in range(int(frames)):
        place = start + step * frame
        bpy.context.scene.frame_set(int(place), subframe=place - int(place))
        heads = [armature.matrix_world @ bone.head for armature in armatures for bone in armature.pose.bones]
        positions.append(heads + [owner.matrix_world.translation for owner in empties])
        vertices.append(np.concatenate([np.zeros((0, 3))] + [posed(owner) for owner in meshes]))
    np.savez(out, names=np.array(names), positions=y_up(positions), vertices=y_up(vertices), start=start)


main()
