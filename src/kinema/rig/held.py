"""What a figure holds: swords and shields would fill the picture that a small prior should have for legs, and touch the
ground in the simulation."""

from dataclasses import replace

import numpy as np

from kinema.asset.character import Character
from kinema.rig.limbs import Limbs

HAND = 0.6
"""Distance from a hand [lengths of its arm] from which on what moves with it is no part of the body."""
LEAST = 0.3
"""Share of the faces that a body has at least; where less would be left, nothing is taken away."""


def without_held(character: Character, limbs: Limbs) -> Character:
    """The character without the faces that a hand carries and no hand reaches, and without their vertices."""
    skeleton, mesh, weights = character.skeleton, character.mesh, character.weights
    if skeleton is None or weights is None:
        return character
    owner, held = weights.argmax(1), np.zeros(len(mesh.vertices), dtype=bool)
    for arm in limbs.arms:
        if arm.wing or len(arm.joints) < 3:
            continue
        places, ends = skeleton.heads[list(arm.joints)], set(arm.joints[-2:])
        for joint, parent in enumerate(skeleton.parents):  # parents come first
            if parent in ends:
                ends.add(joint)
        length = np.linalg.norm(np.diff(places, axis=0), axis=-1).sum()
        away = np.linalg.norm(mesh.vertices - places[-1], axis=-1)
        held |= np.isin(owner, list(ends)) & (away > HAND * length)
    bare = ~held[mesh.faces].any(1)
    if bare.all() or bare.mean() < LEAST:
        return character
    used, faces = np.unique(mesh.faces[bare], return_inverse=True)
    kept = {name: None if (x := getattr(mesh, name)) is None else x[used] for name in ("vertices", "colors", "uv")}
    texture = None if mesh.face_texture is None else mesh.face_texture[bare]
    kept |= {"faces": faces.reshape(-1, 3), "face_texture": texture}
    return replace(character, mesh=replace(mesh, **kept), weights=weights[used])
