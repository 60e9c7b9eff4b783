"""Which limbs of a character touch in which frames of a clip, by the mesh itself, and a picture of it."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float

from kinema.asset.character import Character
from kinema.errors import KinemaError
from kinema.motion.motion import Motion
from kinema.posespace.skinned import DENSE, TOUCHING, Skinned
from kinema.rig.limbs import Limbs, find_limbs

CHUNK = 64
"""Frames whose vertices are in memory at a time."""
SHOWN = 12
"""Frames of the picture."""
GREY, RED = (0.75, 0.75, 0.72), (0.9, 0.1, 0.1)


@dataclass(frozen=True)
class Contacts:
    """New contacts of a clip's mesh with itself."""

    share: Float[np.ndarray, "frames"]
    """Share of the faces that are part of one."""
    limbs: dict[str, int]
    """Frames in which each pair of limbs touches, most first."""
    touching: Bool[np.ndarray, "frames faces"]

    @property
    def frames(self) -> list[int]:
        """Frames that intersect themselves."""
        return np.flatnonzero(self.share > TOUCHING).tolist()


def find_contacts(character: Character, motion: Motion, *, threads: int = 1) -> Contacts:
    """Contacts of every frame."""
    body = Skinned.of(character)
    if body.contacts is None:
        count = len(character.mesh.faces)
        reason = f"{count} faces, more than {DENSE}" if count else "no mesh"
        raise KinemaError(f"{character.name}: its contacts cannot be looked for ({reason})")
    if motion.angles.shape[1] != len(body.rig.parents):
        raise KinemaError(f"a motion of {motion.angles.shape[1]} joints does not fit {character.name}")
    pose, pairs = motion.pose(body.rig), []
    for start in range(0, len(motion), CHUNK):
        with torch.no_grad():
            vertices = body.posed(pose[start : start + CHUNK]).double().numpy()
        found = body.contacts.pairs(vertices, threads=threads)
        pairs.append(found + np.array([start, 0, 0], dtype=found.dtype))
    rows = np.concatenate(pairs)
    touching = body.contacts.touching(rows, len(motion))
    assert character.weights is not None
    carrier = character.weights[character.mesh.faces].sum(1).argmax(1)
    assert character.skeleton is not None
    names = limb_names(find_limbs(character), len(body.rig.parents))
    seen: Counter[str] = Counter()
    for _, group in _by_frame(rows):
        ends = np.sort(np.stack([carrier[group[:, 1]], carrier[group[:, 2]]], -1), -1)
        seen.update({" - ".join(sorted((names[a], names[b]))) for a, b in np.unique(ends, axis=0)})
    return Contacts(touching.mean(1), dict(seen.most_common()), touching)


def _by_frame(rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    frames, first = np.unique(rows[:, 0], return_index=True)
    return list(zip(frames.tolist(), np.split(rows, first[1:])))


def limb_names(limbs: Limbs, joints: int) -> list[str]:
    """What each joint belongs to, in words: "front left leg", "tail", "body"."""
    names = ["body"] * joints
    side = {1: "left ", -1: "right ", 0: ""}
    ranks = max((leg.rank for leg in limbs.legs), default=0)
    order = {0: "front ", ranks: "hind "} if ranks == 1 else {k: f"{k + 1}. " for k in range(ranks + 1)}
    for leg in limbs.legs:
        for joint in leg.joints:
            names[joint] = f"{order[leg.rank] if ranks else ''}{side[leg.side]}leg"
    for arm in limbs.arms:
        for joint in arm.joints:
            names[joint] = f"{side[arm.side]}{arm.kind}"
    for part, name in ((limbs.neck, "neck"), *((tail, "tail") for tail in limbs.tails)):
        for joint in part:
            names[joint] = name
    for joint in limbs.heads:
        names[joint] = "head" if joint else names[joint]
    return names


def draw_contacts(path: Path, character: Character, motion: Motion, contacts: Contacts) -> None:
    """A contact sheet of the worst frames; what touches in one of them is red."""
    from kinema.render.show import FilmOptions, render_character

    worst = np.sort(np.argsort(-contacts.share, kind="stable")[:SHOWN])
    mesh = character.mesh
    colors = np.tile(GREY, (len(mesh.vertices), 1))
    colors[np.unique(mesh.faces[contacts.touching[worst].any(0)])] = RED
    painted = replace(character, mesh=replace(mesh, colors=colors, uv=None, textures=(), face_texture=None))
    shown = motion.at(torch.from_numpy(worst).float())
    # Side by side, not along the way that the clip goes.
    level = shown.root_position * torch.tensor([0.0, 1.0, 0.0]) + motion.root_position[:1] * torch.tensor([1.0, 0, 1.0])
    options = FilmOptions(width=320, height=240, shadow=False)
    render_character(painted, replace(shown, root_position=level), path, options=options)
