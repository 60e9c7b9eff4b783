"""Runs inside Blender: bones, their parents and the path of their heads in Y-up coordinates, of several GLB files.

python blender_bones.py -- OUT.json FPS FRAMES FILE ...
"""

import json
import sys
from pathlib import Path

import bpy


def bones(path, fps, frames):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = round(fps)
    bpy.ops.import_scene.gltf(filepath=path, disable_bone_shape=True)
    armatures = [owner for owner in bpy.data.objects if owner.type == "ARMATURE"]
    found = {}
    for armature in armatures:
        for bone in armature.pose.bones:
            found[bone.name] = {"parent": bone.parent.name if bone.parent else None, "path": []}
    starts = [action.frame_range[0] for action in bpy.data.actions]
    for frame in range(frames):
        bpy.context.scene.frame_set(int(min(starts)) + frame)
        for armature in armatures:
            for bone in armature.pose.bones:
                x, y, z = armature.matrix_world @ bone.head
                found[bone.name]["path"].append([x, z, -y])
    return {"bones": found, "actions": [action.name for action in bpy.data.actions]}


def main():
    out, fps, frames, *files = sys.argv[sys.argv.index("--") + 1 :]
    found = {Path(path).stem: bones(path, float(fps), int(frames)) for path in files}
    Path(out).write_text(json.dumps(found))


main()
