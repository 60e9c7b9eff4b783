"""Measure how far the skin of stance feet is from the ground, on exported GLB files and with none of Kinema's code.

python benchmarks/hover.py runs/*/motion.glb [--ground 0.0]
python benchmarks/hover.py --runs runs/hover --shared ../shared     10 creatures and 5 rigs that walk and run

For every file: the worst foot's mean distance, the worst frame, and how many of the foot-frames in stance are within
5 mm per metre of leg. Feet, stance and leg length are found here from the file alone:

- a foot is a connected patch of the mesh near the ground at rest, on one side of the body;
- a leg is as long as the highest joint that carries this foot alone is high (median over the feet);
- it stands while its lowest vertices move at less than 15 % of the speed of the body, up or sideways, for at least
  three frames.
"""

import argparse
import json
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CREATURES = ("fox", "wolf", "horse", "cat", "cow", "bear", "human", "robot", "ostrich", "raptor")
RIGS = ("khronos_fox", "wolf", "velociraptor", "husky", "kaykit_knight")
VERBS = ("walking", "running")
FAST = ("--preset", "fast")
BAR = 0.005
"""Distance that is allowed [leg lengths]."""
STILL = 0.15
"""Speed below which a foot stands [of the body's speed]."""
LINK = 0.12
"""Gap within one foot, such as between heel and toes [of the height]."""
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


def find_feet(glb: Glb, skinned: Skinned, rest: np.ndarray, heads: np.ndarray) -> tuple[list[np.ndarray], float]:
    """Vertices of each foot, and the leg length."""
    tall, low = np.ptp(rest[:, 1]), rest[:, 1].min()
    middle = (rest[:, 0].min() + rest[:, 0].max()) / 2
    places, inverse = np.unique((rest[:, [0, 2]] / (0.005 * tall)).round().astype(int), axis=0, return_inverse=True)
    flat, left = places * 0.005 * tall, places[:, 0] * 0.005 * tall > middle
    lowest = np.full(len(places), np.inf)
    np.minimum.at(lowest, inverse, rest[:, 1] - low)
    near = np.flatnonzero(lowest < 0.04 * tall)
    group = np.arange(len(near))
    away = np.linalg.norm(flat[near][:, None] - flat[near][None], axis=-1)
    linked = (away < LINK * tall) & (left[near][:, None] == left[near][None])
    for _ in near:  # the smallest number spreads over each group
        spread = np.where(linked, group[None], len(near)).min(1)
        if (spread == group).all():
            break
        group = spread
    parents, carrier = parents_of(glb), skinned.carrier
    feet, lines = [], []
    for number in np.unique(group):
        chosen = np.flatnonzero(np.isin(inverse, near[group == number]) & (rest[:, 1] < low + 0.1 * tall))
        feet.append(chosen)
        lines.append({k for j in np.unique(carrier[chosen]) for k in _upwards(parents, int(j))})
    legs = []
    for own, chosen in zip(lines, feet):
        alone = own.difference(*(other for other in lines if other is not own))
        legs.append(max((heads[k, 1] - rest[chosen, 1].min() for k in alone), default=0.0))
    # Feet that hang on the root, as those of IK rigs do, tell nothing of their legs.
    long = [leg for leg in legs if leg > 0.15 * tall]
    return feet, float(np.median(long)) if long else 0.5 * float(tall)


def _upwards(parents: list[int], joint: int) -> list[int]:
    line = []
    while joint >= 0:
        line.append(joint)
        joint = parents[joint]
    return line


@dataclass(frozen=True)
class Hover:
    """Distances of the skin of stance feet from the ground [leg lengths]."""

    heights: list[np.ndarray]
    """Of each foot in every frame."""
    stances: list[np.ndarray]

    @property
    def feet(self) -> int:
        return len(self.heights)

    @property
    def distances(self) -> list[np.ndarray]:
        """Of each foot that stands at all, in its stance."""
        return [np.abs(height[stands]) for height, stands in zip(self.heights, self.stances) if stands.any()]

    @property
    def stands(self) -> int:
        return sum(map(len, self.distances))

    @property
    def worst_foot(self) -> float:
        return max((float(foot.mean()) for foot in self.distances), default=0.0)

    @property
    def worst_frame(self) -> float:
        return max((float(foot.max()) for foot in self.distances), default=0.0)

    @property
    def within(self) -> float:
        return float(np.mean(np.concatenate(self.distances) <= BAR)) if self.stands else 1.0


def measure(path: Path, *, ground: float = 0.0) -> Hover:
    """Measure the file's first clip, which is where Kinema puts its own."""
    glb = Glb(path)
    animation = glb.json["animations"][0]
    times = max((glb.array(index) for index in {sampler["input"] for sampler in animation["samplers"]}), key=len)
    skinned = Skinned.of(glb)
    still = node_matrices(glb, np.zeros(1), None)
    rest = skinned.at(still, np.arange(len(skinned.vertices)))[0]
    feet, leg = find_feet(glb, skinned, rest, still[0, :, :3, 3])
    world = node_matrices(glb, times, animation)
    paths = [skinned.at(world, chosen) for chosen in feet]
    centre = np.mean([foot.mean(1) for foot in paths], 0)[:, [0, 2]]
    speed = float(np.linalg.norm(centre[-1] - centre[0]) / (times[-1] - times[0]))
    found = Hover([], [])
    for foot in paths:
        height = foot[..., 1] - ground
        over = height - height.min(1, keepdims=True)
        # The vertices within 1 % of the leg of the lowest one, at the beginning and the end of a step.
        over = np.maximum(over[1:], over[:-1])
        touches = over <= np.maximum(0.01 * leg, over.min(1, keepdims=True))
        velocity = np.linalg.norm(np.diff(foot, axis=0), axis=-1) / np.diff(times)[:, None]
        slow = np.nanmedian(np.where(touches, velocity, np.nan), 1) < STILL * max(speed, 0.5 * leg)
        stands = np.zeros(len(times), bool)
        for t in range(1, len(times) - 1):
            if slow[t - 1] and slow[t]:
                stands[t - 1 : t + 2] = True
        found.heights.append(height.min(1) / leg)
        found.stances.append(stands)
    return found


def animate(asset: str, verb: str, runs: Path) -> tuple[Path, float]:
    """The clip of `kinema animate` and the height of the ground that `kinema inspect` tells of the file."""
    name = Path(asset).stem
    out = runs / f"{name}-{verb}{'-rig' * (asset != name)}"
    kinema = [sys.executable, "-m", "kinema"]
    if not (out / "report.json").is_file():
        prompt = f"the {name.split('_')[-1]} is {verb}"
        subprocess.run([*kinema, "-q", "animate", asset, prompt, "-o", str(out), "--overwrite", *FAST], check=True)
    shown = subprocess.run([*kinema, "inspect", asset, "--json"], check=True, capture_output=True, text=True).stdout
    return out / "motion.glb", json.loads(shown)["frame"]["ground"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--ground", type=float, default=0.0, help="height of the ground in the files' units")
    parser.add_argument("--runs", type=Path, help="make (or take) the runs of 10 creatures and 5 rigs in this folder")
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="folder with data/assets of the rigs")
    options = parser.parse_args()
    jobs = [(path, options.ground) for path in options.files]
    if options.runs is not None:
        rigs = [str(options.shared / "data" / "assets" / f"{name}.glb") for name in RIGS]
        jobs += [animate(asset, verb, options.runs) for verb in VERBS for asset in (*CREATURES, *rigs)]
    print("mm per metre of leg: mean of the worst foot, worst frame; foot-frames within 5")
    missed = 0
    for path, ground in jobs:
        found = measure(path, ground=ground)
        missed += found.worst_foot > BAR
        text = f"{1000 * found.worst_foot:7.2f} {1000 * found.worst_frame:8.2f} {100 * found.within:6.1f} %"
        print(f"{text}  {path} ({found.feet} feet, {found.stands} foot-frames)", flush=True)
    print(f"{len(jobs) - missed} of {len(jobs)}: every foot within {1000 * BAR:g} mm per metre (mean over its stance)")


if __name__ == "__main__":
    main()
