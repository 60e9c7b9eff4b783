"""Runs inside Blender (or a Python with `bpy`), never inside Kinema: converts one file into another.

    blender --background --factory-startup --python blender_script.py -- SOURCE TARGET FPS
    python blender_script.py -- SOURCE TARGET FPS

A failure is printed as one line that begins with KINEMA: and the exit code is 3.
"""

import sys
from pathlib import Path

import bpy


def import_gltf(path, fps):
    # The importer turns seconds into frames of the scene: with the clip's own rate keys fall on whole frames.
    bpy.context.scene.render.fps = max(1, round(fps))
    # Without this, little spheres that only draw the bones would be exported as meshes.
    known = bpy.ops.import_scene.gltf.get_rna_type().properties.keys()
    bpy.ops.import_scene.gltf(filepath=path, **({"disable_bone_shape": True} if "disable_bone_shape" in known else {}))


def import_fbx(path, fps):
    if hasattr(bpy.types, "WM_OT_fbx_import"):
        bpy.ops.wm.fbx_import(filepath=path)
    else:
        bpy.ops.import_scene.fbx(filepath=path)
    # A take is called "Armature|Walk" or, after a second conversion, "Armature|Armature|Walk".
    for action in bpy.data.actions:
        action.name = action.name.split("|")[-1]


def import_usd(path, fps):
    bpy.ops.wm.usd_import(filepath=path)


def open_blend(path, fps):
    # A .blend may carry Python of its own: it is not run.
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)


def export_gltf(path):
    bpy.ops.export_scene.gltf(
        filepath=path,
        export_format="GLB" if path.endswith(".glb") else "GLTF_SEPARATE",
        export_extras=True,
        export_all_influences=True,
        export_optimize_animation_size=False,
        export_animation_mode="ACTIONS",
    )


def export_fbx(path):
    bpy.ops.export_scene.fbx(
        filepath=path,
        add_leaf_bones=False,
        # Keys are kept as they are: simplifying moves joints by more than a percent of the body.
        bake_anim_simplify_factor=0.0,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=True,
        use_custom_props=True,
        path_mode="COPY",
        embed_textures=True,
    )


def export_usd(path):
    bpy.ops.wm.usd_export(filepath=path, export_animation=True, convert_orientation=True)


def save_blend(path):
    bpy.ops.file.pack_all()
    bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)


GLTF, USD = (".glb", ".gltf"), (".usd", ".usda", ".usdc", ".usdz")
IMPORT = {".fbx": import_fbx, ".blend": open_blend} | dict.fromkeys(GLTF, import_gltf) | dict.fromkeys(USD, import_usd)
EXPORT = {".fbx": export_fbx, ".blend": save_blend} | dict.fromkeys(GLTF, export_gltf) | dict.fromkeys(USD, export_usd)


def main():
    source, target, fps = sys.argv[sys.argv.index("--") + 1 :]
    read, write = IMPORT[Path(source).suffix.lower()], EXPORT[Path(target).suffix.lower()]
    try:
        if read is not open_blend:
            bpy.ops.wm.read_factory_settings(use_empty=True)
        read(source, float(fps))
        if not bpy.data.objects:
            raise RuntimeError("nothing was found in it")
        ranges = [action.frame_range for action in bpy.data.actions]
        if read is not open_blend and ranges:
            # Exporters sample the scene's range: let it cover every action.
            bpy.context.scene.frame_start = int(min(first for first, _ in ranges))
            bpy.context.scene.frame_end = round(max(last for _, last in ranges))
        write(target)
    except Exception as error:
        # RuntimeErrors of operators are several lines with the reason in the first; tracebacks are in their tail.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        print("KINEMA: " + (lines[-1] if "Traceback" in str(error) else lines[0] if lines else repr(error)), flush=True)
        sys.exit(3)


main()
