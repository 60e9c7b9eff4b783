"""The writer of .glb and .gltf: the character's own file with new animations, or a new file where there was none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinema.asset.character import Character, Clip, Frame, Skeleton
from kinema.asset.gltf.animation import local_matrices
from kinema.asset.gltf.document import GltfBinding
from kinema.export.common import unused_name
from kinema.export.gltf.channels import decompose, node_channels
from kinema.export.gltf.file import GltfFile, drop_animations
from kinema.export.gltf.nodes import fresh_file, rig_file
from kinema.export.gltf.skin import normalize_weights


def write_glb(path: Path, character: Character, clips: tuple[Clip, ...] = (), *, keep_clips: bool = True) -> None:
    """Write .glb (or .gltf) with `clips` added in front of the animations that the file already had.

    Meshes, materials, textures, names and extras are kept where the character came from a glTF; without `keep_clips`
    its own animations (and their bytes) are left out.
    """
    from kinema import __version__

    file, binding, frame = _bound_file(character)
    if not keep_clips:
        drop_animations(file)
    before = file.json["asset"].get("generator", "")
    if not before.startswith("Kinema"):
        file.json["asset"]["generator"] = f"Kinema {__version__}" + (f" (from: {before})" if before else "")
    if character.skeleton is not None and clips:
        old = file.json.get("animations", [])
        names = [animation.get("name") for animation in old]
        fresh = []
        for clip in clips:
            names.append(unused_name(clip.name, names))
            fresh.append(_animation(file, binding, frame, character.skeleton, replace(clip, name=names[-1])))
        # Viewers play the first one.
        file.json["animations"] = fresh + old
    file.write(Path(path))


def is_bound(character: Character) -> bool:
    """The character's joints are nodes of the glTF that it came from."""
    joints, source = 0 if character.skeleton is None else len(character.skeleton.names), character.source
    return isinstance(source, GltfBinding) and joints in (0, len(source.joint_nodes))


def _bound_file(character: Character) -> tuple[GltfFile, GltfBinding, Frame]:
    """A copy of the character's glTF, rigged if its joints are new, or a fresh file; with the nodes of the joints."""
    source = character.source
    if not isinstance(source, GltfBinding):
        return fresh_file(character)
    if not is_bound(character):
        return *rig_file(character, source), character.frame
    file = GltfFile.from_document(source.document)
    normalize_weights(file, source.document)
    return file, source, character.frame


def _animation(file: GltfFile, binding: GltfBinding, frame: Frame, skeleton: Skeleton, clip: Clip) -> dict[str, Any]:
    still = local_matrices(binding.document)
    times = file.add_accessor((np.arange(len(clip.root_position)) / clip.fps).astype(np.float32), bounds=True)
    samplers, channels = [], []
    for node, paths in sorted(node_channels(binding, frame, skeleton, clip).items()):
        # An animated node must not have a matrix: it gets the equal translation, rotation and scale.
        if file.json["nodes"][node].pop("matrix", None) is not None:
            for path, values in decompose(still[node][None]).items():
                file.json["nodes"][node][path] = values[0].tolist()
        for path, values in paths.items():
            samplers.append({"input": times, "output": file.add_accessor(values.astype(np.float32))})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})
    return {"name": clip.name, "samplers": samplers, "channels": channels}
