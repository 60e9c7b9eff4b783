"""Measure how far the skin of stance feet is from the ground, on exported GLB files and with none of Kinema's code.

python benchmarks/hover.py runs/*/motion.glb [--ground 0.0]

For every file: the worst foot's mean distance, the worst frame, and how many of the foot-frames in stance are within
5 mm per metre of leg. Feet, stance and leg length are found here from the file alone:

- a foot is the part of the mesh near the ground at rest, grouped by the joints that carry it;
- its leg is as long as the way from its lowest vertex to the highest joint that carries no other foot;
- it stands while its lowest vertices move at less than 15 % of the speed of the body, up or sideways, for at least
  three frames.
"""

import argparse
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BAR = 0.005
"""Distance that is allowed [leg lengths]."""
STILL = 0.15
"""Speed below which a foot stands [of the body's speed]."""
TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
SIZES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Glb:
    """A binary glTF file: its JSON and its accessors as arrays."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        length = struct.unpack_from("<I", data, 12)[0]
        self.json: dict[str, Any] = json.loads(data[20 : 20 + length])
        self.binary = data[28 + length :]

    def array(self, index: int) -> np.ndarray:
        accessor = self.json["accessors"][index]
        view = self.json["bufferViews"][accessor["bufferView"]]
        kind, width, count = np.dtype(TYPES[accessor["componentType"]]), SIZES[accessor["type"]], accessor["count"]
        begin = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", kind.itemsize * width)
        shape, strides = (count, width), (stride, kind.itemsize)
        values = np.ndarray(shape, kind, self.binary, begin, strides).astype(np.float64 if kind.kind == "f" else int)
        if accessor.get("normalized"):
            values = values / np.iinfo(kind).max
        return values[:, 0] if width == 1 else values


def local_matrix(node: dict, values: dict[str, np.ndarray], frames: int) -> np.ndarray:
    """The node's matrix in its parent in every frame."""
    if "matrix" in node and not values:
        return np.tile(np.array(node["matrix"], float).reshape(4, 4).T, (frames, 1, 1))
    move = values.get("translation", np.tile(node.get("translation", [0.0, 0.0, 0.0]), (frames, 1)))
    turn = values.get("rotation", np.tile(node.get("rotation", [0.0, 0.0, 0.0, 1.0]), (frames, 1)))
    size = values.get("scale", np.tile(node.get("scale", [1.0, 1.0, 1.0]), (frames, 1)))
    x, y, z, w = (turn / np.linalg.norm(turn, axis=-1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix = np.tile(np.eye(4), (frames, 1, 1))
    matrix[:, :3, :3] = np.moveaxis(np.array(rows), -1, 0) * size[:, None]
    matrix[:, :3, 3] = move
    return matrix


def parents_of(glb: Glb) -> list[int]:
    parents = [-1] * len(glb.json["nodes"])
    for index, node in enumerate(glb.json["nodes"]):
        for child in node.get("children", ()):
            parents[child] = index
    return parents


def node_matrices(glb: Glb, times: np.ndarray, animation: dict | None) -> np.ndarray:
    """World matrices [frames, nodes, 4, 4]."""
    nodes, parents = glb.json["nodes"], parents_of(glb)
    moved: dict[int, dict[str, np.ndarray]] = {}
    for channel in animation["channels"] if animation else ():
        sampler, target = animation["samplers"][channel["sampler"]], channel["target"]
        if "node" not in target or target["path"] == "weights":
            continue
        at, keys = glb.array(sampler["input"]), glb.array(sampler["output"])
        keys = keys[1::3] if sampler.get("interpolation") == "CUBICSPLINE" else keys
        if target["path"] == "rotation":  # the shorter way between keys
            flips = np.cumprod(np.where((keys[1:] * keys[:-1]).sum(-1) < 0, -1.0, 1.0))
            keys = keys * np.concatenate(([1.0], flips))[:, None]
        values = np.stack([np.interp(times, at, column) for column in keys.T], -1)
        moved.setdefault(target["node"], {})[target["path"]] = values
    local = [local_matrix(node, moved.get(index, {}), len(times)) for index, node in enumerate(nodes)]
    world: dict[int, np.ndarray] = {}

    def place(index: int) -> np.ndarray:
        if index not in world:
            world[index] = local[index] if parents[index] < 0 else place(parents[index]) @ local[index]
        return world[index]

    return np.stack([place(index) for index in range(len(nodes))], 1)


@dataclass(frozen=True)
class Skinned:
    """The vertices of all skinned meshes."""

    vertices: np.ndarray
    joints: np.ndarray
    """Nodes that carry each vertex."""
    weights: np.ndarray
    inverse_bind: np.ndarray
    """Of each vertex and joint."""

    @staticmethod
    def of(glb: Glb) -> "Skinned":
        parts = []
        for node in glb.json["nodes"]:
            if "mesh" not in node or "skin" not in node:
                continue
            skin = glb.json["skins"][node["skin"]]
            bind = glb.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
            for primitive in glb.json["meshes"][node["mesh"]]["primitives"]:
                attributes = primitive["attributes"]
                sets = [k for k in (0, 1) if f"JOINTS_{k}" in attributes]
                joints = np.concatenate([glb.array(attributes[f"JOINTS_{k}"]) for k in sets], 1)
                weights = np.concatenate([glb.array(attributes[f"WEIGHTS_{k}"]) for k in sets], 1)
                joints, weights = (np.pad(x, ((0, 0), (0, 8 - x.shape[1]))) for x in (joints, weights))
                vertices = glb.array(attributes["POSITION"])
                parts.append((vertices, np.array(skin["joints"])[joints], weights, bind[joints]))
        return Skinned(*(np.concatenate(column) for column in zip(*parts)))

    def at(self, world: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Chosen vertices in every frame."""
        weights = self.weights[chosen] / self.weights[chosen].sum(1, keepdims=True)
        points = np.concatenate((self.vertices[chosen], np.ones((len(chosen), 1))), 1)
        at_rest = np.einsum("vjxy,vy->vjx", self.inverse_bind[chosen], points)
        return np.stack([np.einsum("vj,vjxy,vjy->vx", weights, T[self.joints[chosen]], at_rest)[:, :3] for T in world])

    @property
    def carrier(self) -> np.ndarray:
        return np.take_along_axis(self.joints, self.weights.argmax(1)[:, None], 1)[:, 0]


def find_feet(glb: Glb, skinned: Skinned, rest: np.ndarray, heads: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Vertices and leg length of each foot."""
    parents, carrier = parents_of(glb), skinned.carrier
    tall, low = np.ptp(rest[:, 1]), rest[:, 1].min()
    near = rest[:, 1] < low + 0.04 * tall
    lines = {j: _upwards(parents, j) for j in np.unique(carrier)}
    feet: list[set[int]] = []
    for j in np.unique(carrier[near]).tolist():
        # Toes of one foot meet in a joint that is near the ground too; two legs meet far above.
        high = (at for at, k in enumerate(lines[j]) if heads[k, 1] > low + 0.2 * tall)
        mine = {j, *lines[j][: next(high, 1)]}
        touching = [foot for foot in feet if foot & {*mine, *lines[j]} or any(j in _upwards(parents, k) for k in foot)]
        feet = [foot for foot in feet if foot not in touching] + [set().union(mine, *touching)]
    result = []
    for foot in feet:
        others = {k for other in feet if other is not foot for j in other for k in _upwards(parents, j)}
        alone = [k for j in foot for k in _upwards(parents, j) if k not in others]
        chosen = np.flatnonzero(np.isin(carrier, list(foot)) & (rest[:, 1] < low + 0.2 * tall))
        lowest = rest[chosen[rest[chosen, 1].argmin()]]
        leg = max(np.linalg.norm(heads[k] - lowest) for k in alone)
        # A tail or a staff may touch the ground at rest; legs carry the body from above.
        if leg > 0.15 * tall and len(feet) > 1:
            result.append((chosen, float(leg)))
    return result


def _upwards(parents: list[int], joint: int) -> list[int]:
    line = []
    while joint >= 0:
        line.append(joint)
        joint = parents[joint]
    return line


def measure(path: Path, *, ground: float | None = None, clip: str | None = None) -> dict[str, Any]:
    """Distances of the stance feet of a file's clip from the ground [leg lengths]."""
    glb = Glb(path)
    animations = glb.json["animations"]
    animation = next(a for a in animations if a.get("name") == clip) if clip else animations[-1]
    inputs = {sampler["input"] for sampler in animation["samplers"]}
    times = max((glb.array(index) for index in inputs), key=len)
    skinned = Skinned.of(glb)
    still = node_matrices(glb, np.zeros(1), None)
    rest = skinned.at(still, np.arange(len(skinned.vertices)))[0]
    feet = find_feet(glb, skinned, rest, still[0, :, :3, 3])
    world = node_matrices(glb, times, animation)
    seconds, rows = np.diff(times)[:, None], []
    paths = [skinned.at(world, chosen) for chosen, _ in feet]
    centre = np.mean([path.mean(1) for path in paths], 0)[:, [0, 2]]
    leg = float(np.mean([leg for _, leg in feet]))
    speed = float(np.linalg.norm(centre[-1] - centre[0]) / (times[-1] - times[0]))
    still_speed = STILL * max(speed, 0.5 * leg)
    for path_, (_, length) in zip(paths, feet):
        height = path_[..., 1] - (rest[:, 1].min() if ground is None else ground)
        # The vertices within 1 % of the leg of the lowest one, at the beginning and the end of a step.
        over = np.maximum(height[1:] - height[1:].min(1, keepdims=True), height[:-1] - height[:-1].min(1, keepdims=True))
        touches = over <= np.maximum(0.01 * length, over.min(1, keepdims=True))
        velocity = np.linalg.norm(np.diff(path_, axis=0), axis=-1) / seconds
        slow = np.nanmedian(np.where(touches, velocity, np.nan), 1) < still_speed
        stands = np.zeros(len(times), bool)
        for t in range(1, len(times) - 1):
            if slow[t - 1] and slow[t]:
                stands[t - 1 : t + 2] = True
        rows.append((height.min(1) / length, stands))
    stance = [height[stands] for height, stands in rows if stands.any()]
    every = np.abs(np.concatenate(stance)) if stance else np.zeros(0)
    return {
        "feet": len(feet),
        "leg": leg,
        "stands": len(every),
        "duty": float(np.mean([stands.mean() for _, stands in rows])),
        "worst_foot": max((float(np.abs(h).mean()) for h in stance), default=0.0),
        "worst_frame": float(every.max(initial=0.0)),
        "within": float((every <= BAR).mean()) if len(every) else 1.0,
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--ground", type=float, help="height of the ground in the file's units; by default that of the lowest vertex at rest")
    parser.add_argument("--clip", help="name of the clip; by default the last one, which Kinema has added")
    options = parser.parse_args()
    print("mm per metre of leg: mean of the worst foot, worst frame; foot-frames within 5")
    missed = 0
    for path in options.files:
        found = measure(path, ground=options.ground, clip=options.clip)
        missed += found["worst_foot"] > BAR
        text = f"{1000 * found['worst_foot']:7.2f} {1000 * found['worst_frame']:8.2f} {100 * found['within']:6.1f} %"
        print(f"{text}  {path} ({found['feet']} feet, {found['stands']} foot-frames)")
    print(f"{len(options.files) - missed} of {len(options.files)} have every foot within {1000 * BAR:g} mm per metre")


if __name__ == "__main__":
    main()
