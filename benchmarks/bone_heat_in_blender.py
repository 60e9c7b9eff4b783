"""Time "parent with automatic weights" inside Blender, for a mesh and bones given as .npz."""

import json
import sys
import time

import bpy
import numpy as np


def main(case: str, out: str, rounds: int) -> None:
    data = np.load(case)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("body")
    mesh.from_pydata(data["vertices"].tolist(), [], data["faces"].tolist())
    body = bpy.data.objects.new("body", mesh)
    armature = bpy.data.armatures.new("bones")
    rig = bpy.data.objects.new("bones", armature)
    for thing in (body, rig):
        bpy.context.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for i, (start, end) in enumerate(zip(data["starts"], data["ends"])):
        bone = armature.edit_bones.new(f"bone{i}")
        bone.head, bone.tail = start, end
    bpy.ops.object.mode_set(mode="OBJECT")
    body.select_set(True)
    rig.select_set(True)
    cpu_times, wall_times, weighted = [], [], 0
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        bpy.ops.object.parent_set(type="ARMATURE_AUTO")
        cpu_times.append(time.process_time() - cpu)
        wall_times.append(time.perf_counter() - wall)
        weighted = sum(len(vertex.groups) > 0 for vertex in mesh.vertices) / len(mesh.vertices)
        body.vertex_groups.clear()
        body.modifiers.clear()
        body.parent = None
    with open(out, "w") as file:
        json.dump({"cpu": min(cpu_times), "wall": min(wall_times), "weighted": weighted}, file)


main(*sys.argv[-3:-1], int(sys.argv[-1]))
