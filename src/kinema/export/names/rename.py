"""A character with the joint names of an engine."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kinema.asset.character import Character, listed, unused_name
from kinema.asset.gltf.document import GltfBinding
from kinema.asset.options import Names
from kinema.errors import KinemaError
from kinema.export.names.conventions import CONVENTIONS, REQUIRED
from kinema.export.names.roles import joint_names


def root_name(names: Names) -> str:
    """What the bone at the origin is called."""
    return "root" if names == "keep" else CONVENTIONS[names].root


def renamed(character: Character, names: Names, *, reserved: tuple[str, ...] = ()) -> Character:
    """The character with the names of an engine; joints without a role keep theirs, and no two are the same.

    Names in `reserved` are left for someone else.
    """
    if names == "keep" or character.skeleton is None:
        return character
    old, found = character.skeleton.names, joint_names(character, CONVENTIONS[names])
    given = {joint: name for joint, name in found.items() if name not in reserved}
    new, taken = [], {*given.values(), *reserved}
    for joint, name in enumerate(old):
        new.append(given[joint] if joint in given else unused_name(name, taken, separator="_"))
        taken.add(new[-1])
    told = dict(zip(old, new, strict=True))
    roles = {role: tuple(told.get(name, name) for name in joints) for role, joints in character.roles.items()}
    character = replace(character, skeleton=replace(character.skeleton, names=tuple(new)), roles=roles)
    source = character.source
    if not isinstance(source, GltfBinding) or len(source.joint_nodes) != len(new):
        return character
    return replace(character, source=_renamed_nodes(source, dict(zip(source.joint_nodes, new, strict=True))))


def check_required(about: object, bones: Collection[str], names: Names) -> None:
    """Refuse a body that lacks a bone which the engine's humanoids must have; the error is about a file or a name."""
    missing = [bone for bone in REQUIRED[names] if bone not in bones]
    if missing:
        raise KinemaError(f"{about}: is no humanoid as {names} wants it, no joint is {listed(missing, 4)}")


def _renamed_nodes(binding: GltfBinding, names: Mapping[int, str]) -> GltfBinding:
    """The binding with a document whose nodes have other names; nodes that had one of those get out of the way."""
    nodes, taken = [], {*names.values()}
    for index, node in enumerate(binding.document.nodes):
        name = names.get(index) or unused_name(node.get("name", ""), taken, separator="_")
        if index in names or "name" in node:
            nodes.append({**node, "name": name})
            taken.add(name)
        else:
            nodes.append(node)
    document = replace(binding.document, json={**binding.document.json, "nodes": nodes})
    return replace(binding, document=document)
