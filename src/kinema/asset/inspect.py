"""`kinema inspect FILE`: what a character file holds and what was changed on reading it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinema.asset.character import Character, Skeleton, listed
from kinema.asset.gltf.document import GltfBinding
from kinema.asset.rigs.orientation import axis_name
from kinema.geometry.rotations import children


def describe(character: Character) -> dict[str, Any]:
    """Everything that `inspect_lines` shows, as plain values for JSON."""
    mesh, skeleton, frame = character.mesh, character.skeleton, character.frame
    size = np.ptp(mesh.vertices, axis=0) if len(mesh.vertices) else np.zeros(3)
    influences = (character.weights > 0).sum(1) if character.weights is not None else None
    names, parents = ((*skeleton.names, None), skeleton.parents) if skeleton is not None else ((), ())
    clips = []
    for clip in character.clips:
        frames, travel = len(clip.root_position), float(np.linalg.norm(clip.root_position[-1] - clip.root_position[0]))
        times = {"frames": frames, "fps": clip.fps, "seconds": round((frames - 1) / clip.fps, 3)}
        clips.append({"name": clip.name, **times, "travel_m": round(travel, 3)})
    return {
        "name": character.name,
        "vertices": len(mesh.vertices),
        "triangles": len(mesh.faces),
        "textures": [f"{texture.shape[1]} x {texture.shape[0]}" for texture in mesh.textures],
        "meshes": _names(character.source, "meshes"),
        "materials": _names(character.source, "materials"),
        "size_m": [round(float(x), 4) for x in size],
        "frame": {
            "up": axis_name(frame.rotation[1]),
            "facing": axis_name(frame.rotation[2]),
            "scale": float(frame.scale),
            # Plus zero: there is no ground at -0.
            "ground": round(float(-frame.translation[1] / frame.scale), 6) + 0.0,
        },
        # A root's parent is -1: the None at the end.
        "joints": [{"name": name, "parent": names[parent]} for name, parent in zip(names, parents)],
        "joints_per_vertex": [int(influences.max()), float(influences.mean())] if influences is not None else None,
        "clips": clips,
        "changes": list(character.changes),
    }


def inspect_lines(character: Character, *, roles: Sequence[str] = ()) -> list[str]:
    """The report as text; `roles` are lines about the limbs."""
    facts = describe(character)
    width, height, depth = facts["size_m"]
    textures = f", textures {', '.join(facts['textures'])}" if facts["textures"] else ""
    frame = "up {up}, facing {facing}, {scale:g} m per unit, ground at {ground:g} units".format(**facts["frame"])
    lines = [
        character.name,
        f"  mesh      {facts['vertices']} vertices, {facts['triangles']} triangles{textures}",
        f"  size      {width:.3g} m wide, {height:.3g} m tall, {depth:.3g} m long",
        f"  frame     {frame}",
    ]
    lines += [f"  {what:<9} {listed(facts[what], 8)}" for what in ("meshes", "materials") if facts[what]]
    if character.skeleton is None:
        lines.append("  joints    none (kinema animate gives it a rig, kinema rig shows which)")
    else:
        bound = facts["joints_per_vertex"]
        weights = f"up to {bound[0]} per vertex" if bound else "without skin weights"
        lines.append(f"  joints    {len(facts['joints'])}, {weights}")
        lines += [f"    {line}" for line in _tree(character.skeleton)]
    lines += [f"  {line}" for line in roles]
    lines.append(f"  clips     {len(facts['clips']) or 'none'}")
    long = max((len(clip["name"]) for clip in facts["clips"]), default=0)
    lines += [
        f"    {clip['name']:<{long}}  {clip['seconds']:6.2f} s  {clip['frames']:4d} frames at {clip['fps']:g} fps"
        + (f"  travels {clip['travel_m']:.2f} m" if clip["travel_m"] > 0.01 else "")
        for clip in facts["clips"]
    ]
    lines.append("  changed on reading" if facts["changes"] else "  nothing was changed on reading")
    return lines + [f"    {change}" for change in facts["changes"]]


def _names(source: Any, key: str) -> list[str]:
    items = source.document.json.get(key, ()) if isinstance(source, GltfBinding) else ()
    return [item.get("name", f"{key}[{i}]") for i, item in enumerate(items)]


def _tree(skeleton: Skeleton) -> list[str]:
    """One line per chain: a joint follows its parent behind ">", a fork begins new lines below it."""
    below = children(skeleton.parents)
    lines, stack = [], [(0, 0)]
    while stack:
        joint, depth = stack.pop()
        chain = [skeleton.names[joint]]
        while len(below[joint]) == 1:
            joint = below[joint][0]
            chain.append(skeleton.names[joint])
        lines.append("  " * depth + " > ".join(chain))
        stack += [(child, depth + 1) for child in reversed(below[joint])]
    return lines
