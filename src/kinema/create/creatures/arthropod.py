"""The body plan of ants and spiders: a few segments and pairs of arched legs."""

import numpy as np

from kinema.create.creatures.builder import Builder, side
from kinema.create.creatures.field import Body, Eye, Shell
from kinema.create.creatures.proportions import Arthropod, Number

PAIRS = {3: ("front", "middle", "hind"), 4: ("front", "second", "third", "hind")}
"""Names of the legs from head to tail."""


def arthropod(p: Arthropod) -> Body:
    """Bones and blobs; the thorax, which carries the legs, is the root above z = 0."""
    build = Builder()
    unit, coat = p.body, p.coat
    height = p.height * unit
    thorax_r, head_r, abdomen_r = p.thorax * unit, p.head * unit, p.abdomen * unit
    middle = np.array([0.0, height, 0.0])
    ahead = np.array([0.0, 0.05, 1.0])
    neck = middle + ahead * (0.85 * thorax_r * p.stretch + p.waist * unit)
    face = neck + ahead * (1.7 * head_r)
    build.core = build.chain(["thorax", "head"], -1, [middle, neck, face])
    melt = 0.25 * min(thorax_r, head_r)
    half = 0.6 * (p.stretch - 1) * thorax_r * ahead
    build.blob(middle - half, middle + half, thorax_r, 0.95 * thorax_r, coat.base, blend=melt, scale=(1, 0.85, 1))
    build.blob(middle, neck + 0.4 * head_r * ahead, 0.45 * head_r, 0.45 * head_r, coat.base, blend=melt)
    center = neck + 0.75 * head_r * ahead
    build.blob(center, center + 0.2 * head_r * ahead, head_r, 0.85 * head_r, coat.head or coat.base, blend=melt)

    root = middle - half - [0, 0, 0.75 * thorax_r]
    pole = root - [0, -0.12 * abdomen_r, p.waist * unit + 0.9 * abdomen_r]
    end = pole - [0, 0.1 * abdomen_r, 1.5 * abdomen_r]
    joint = build.joint("abdomen", 0, root, end)
    limb = build.limb([joint], 0.5 * max(p.waist, 0.0) * unit + 0.15 * thorax_r)
    stem = max(0.22 * thorax_r, 0.35 * p.waist * unit)
    build.blob(root, pole, stem, stem, coat.base, limb=limb, blend=melt)
    build.blob(pole, pole - [0, 0, 0.55 * abdomen_r], 0.95 * abdomen_r, 0.8 * abdomen_r, coat.accent, limb=limb,
               blend=0.3 * abdomen_r, scale=(1, 0.95, 1.05))  # fmt: skip

    for index, pair in enumerate(PAIRS[p.legs]):
        share = 1 - 2 * index / (p.legs - 1)
        _pair(build, p, pair, share, middle, pole - [0, 0, 0.25 * abdomen_r])
    _face(build, p, center, head_r)
    return build.build()


def _clearance(start: np.ndarray, azimuth: Number, center: np.ndarray) -> float:
    """Distance of `center` from the ray of a leg, seen from above [m]."""
    offset = center - start
    return float(abs(offset[0] * np.sin(azimuth) - offset[2] * np.cos(azimuth)))


def _pair(build: Builder, p: Arthropod, pair: str, share: Number, middle: np.ndarray, abdomen: np.ndarray) -> None:
    """Two legs; `share` runs from 1 at the front pair to -1 at the hind one, which keeps clear of the abdomen."""
    unit, coat = p.body, p.coat
    r = p.leg_radius * unit
    azimuth = np.deg2rad(p.fan * share)
    start = middle + np.array([0.62 * p.thorax, -0.1 * p.thorax, 0.62 * p.thorax * p.stretch * share]) * unit
    while share < 0 and azimuth < -0.1 and _clearance(start, azimuth, abdomen) < p.abdomen * unit + 1.6 * r:
        azimuth *= 0.94
    out = np.array([np.cos(azimuth), 0.0, np.sin(azimuth)])
    reach = p.reach * unit * (1.0 + 0.12 * abs(share))
    knee = start + 0.42 * reach * out
    knee[1] = p.knee * unit
    ankle = start + 0.86 * reach * out
    ankle[1] = 0.16 * p.knee * unit + r
    foot = start + reach * out
    foot[1] = 0.7 * r
    nodes = [start, knee, ankle, foot]
    radii = [1.5 * r, 1.15 * r, 0.85 * r, 0.7 * r]
    colors = [coat.base, coat.legs or coat.base, coat.feet or coat.legs or coat.base]
    for name, sign in (("left", 1.0), ("right", -1.0)):
        here = [side(node, sign) for node in nodes]
        joints = build.chain([f"{pair}_{name}_{n}" for n in ("upper", "lower", "foot")], 0, here)
        limb = build.limb(joints, 1.2 * r)
        for k in range(3):
            build.blob(here[k], here[k + 1], radii[k], radii[k + 1], colors[k], limb=limb, blend=0.5 * r)


def _face(build: Builder, p: Arthropod, center: np.ndarray, head_r: float) -> None:
    unit, coat = p.body, p.coat
    eye = np.asarray(coat.eye)
    for row in range(p.eyes // 2):
        angle, up = np.deg2rad((28, 58, 82, 40)[row]), np.deg2rad((18, 34, 48, 58)[row])
        for sign in (1.0, -1.0):
            direction = np.array([sign * np.sin(angle) * np.cos(up), np.sin(up), np.cos(angle) * np.cos(up)])
            build.eyes.append(Eye(center, direction, p.eye * head_r * (1.0, 0.75, 0.7, 0.6)[row], eye, 1))
    dark = np.asarray(coat.nose)
    for sign in (1.0, -1.0):
        # Jaws: short, bent inwards.
        jaw = np.array([[0.35, -0.35, 0.55], [0.5, -0.55, 1.1], [0.3, -0.65, 1.45], [0.12, -0.68, 1.55]]) * head_r
        radii = np.array([0.0, 0.2, 0.12, 0.0]) * head_r
        build.shells.append(Shell(center + jaw * [sign, 1, 1], radii, dark, 1))
        if p.feelers:
            length = p.feelers * unit
            path = np.array([[0, 0, 0], [0.05, 0.10, 0.08], [0.25, 0.45, 0.35], [0.35, 0.40, 0.7], [0.45, 0.28, 1.0]])
            start = center + np.array([0.35, 0.55, 0.55]) * head_r
            radii = np.array([0.0, 1.0, 0.8, 0.7, 0.0]) * 0.45 * p.leg_radius * unit + 1e-5
            build.shells.append(Shell((start + path * length) * [sign, 1, 1], radii, dark, 1))
