"""RigNet's text files: the joints, and the weights of a mesh, as RigNet, MagicArticulate and Puppeteer write them.

Four kinds of lines: `joints NAME x y z`, `root NAME`, `hier PARENT CHILD` and `skin VERTEX NAME weight ...`, where
names and weights alternate.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from kinema.asset.character import MOST_JOINTS, Character, Skeleton, bone_tails
from kinema.asset.rigs.foreign import ForeignRig
from kinema.asset.rigs.orientation import unplace_skeleton
from kinema.errors import KinemaError
from kinema.files import Budget, write_text

LARGEST = 1e15
"""Coordinates beyond it are no places."""
MOST_VERTICES = 20_000_000


def read_rignet(path: Path) -> ForeignRig:
    """Read a rig, without weights if the file has no `skin` lines.

    A KinemaError names the file and the line of whatever is malformed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise KinemaError(f"{path}: is no text of RigNet's (not UTF-8)") from None
    places: dict[str, list[float]] = {}
    parent_of: dict[str, str] = {}
    skin: dict[int, dict[str, float]] = {}
    root: str | None = None
    where: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        kind, *words = line.split() or [""]
        at = f"{path}:{number}"
        if not kind:
            continue
        if kind == "joints":
            name, place = _joint(at, words)
            if name in places:
                raise KinemaError(f"{at}: a second joint {name!r}")
            places[name] = place
        elif kind == "root":
            if len(words) != 1 or root is not None:
                raise KinemaError(f"{at}: {line.strip()!r:.80} is not the one line `root NAME`")
            root, where[words[0]] = words[0], number
        elif kind == "hier":
            if len(words) != 2 or words[0] == words[1]:
                raise KinemaError(f"{at}: {line.strip()!r:.80} is not `hier PARENT CHILD`")
            if words[1] in parent_of:
                raise KinemaError(f"{at}: {words[1]!r} has a second parent {words[0]!r}")
            parent_of[words[1]] = words[0]
            where |= {name: where.get(name, number) for name in words}
        elif kind == "skin":
            vertex, row = _skin(at, words)
            if vertex in skin:
                raise KinemaError(f"{at}: a second line for vertex {vertex}")
            skin[vertex] = row
            where |= {name: where.get(name, number) for name in row}
        else:
            raise KinemaError(f"{at}: begins with {kind!r:.40}, not with joints, root, hier or skin")
    unknown = next((name for name in where if name not in places), None)
    if unknown is not None:
        raise KinemaError(f"{path}:{where[unknown]}: names the joint {unknown!r:.60}, which has no line `joints`")
    names, parents = _ordered(path, list(places), parent_of, root)
    heads = np.array([places[name] for name in names])
    skeleton = Skeleton(names, parents, heads, _tails(heads, parents))
    return ForeignRig(Path(path), skeleton, weights=_weights(path, names, skin))


def _joint(at: str, words: list[str]) -> tuple[str, list[float]]:
    try:
        name, x, y, z = words
        place = [float(x), float(y), float(z)]
    except ValueError:
        raise KinemaError(f"{at}: {' '.join(['joints', *words])!r:.80} is not `joints NAME x y z`") from None
    if not all(abs(value) < LARGEST for value in place):
        raise KinemaError(f"{at}: joint {name!r:.60} lies at {place}, which is no place")
    return name, place


def _skin(at: str, words: list[str]) -> tuple[int, dict[str, float]]:
    try:
        vertex, pairs = int(words[0]), words[1:]
        row: dict[str, float] = {}
        for name, weight in zip(pairs[::2], pairs[1::2], strict=True):
            row[name] = row.get(name, 0.0) + float(weight)
    except (ValueError, IndexError):
        raise KinemaError(f"{at}: {' '.join(['skin', *words])!r:.80} is not `skin VERTEX NAME weight ...`") from None
    if not 0 <= vertex < MOST_VERTICES:
        raise KinemaError(f"{at}: vertex {vertex} is not between 0 and {MOST_VERTICES}")
    bad = next((name for name, weight in row.items() if not 0 <= weight < LARGEST), None)
    if bad is not None:
        raise KinemaError(f"{at}: vertex {vertex} has the weight {row[bad]} of {bad!r:.60}")
    return vertex, row


def _ordered(
    path: Path, names: list[str], parent_of: dict[str, str], root: str | None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names with parents before children, and the index of each one's parent."""
    if not names:
        raise KinemaError(f"{path}: has no line `joints NAME x y z`")
    if len(names) > MOST_JOINTS:
        raise KinemaError(f"{path}: has {len(names)} joints; at most {MOST_JOINTS} can be read")
    tops = [name for name in names if name not in parent_of]
    if root is not None and root in parent_of:
        raise KinemaError(f"{path}: its root {root!r:.60} is the child of {parent_of[root]!r:.60}")
    if root is None:
        if len(tops) != 1:
            raise KinemaError(f"{path}: has no line `root NAME`, and {len(tops)} joints without a parent")
        root = tops[0]
    if len(tops) > 1:
        stray = next(name for name in tops if name != root)
        raise KinemaError(f"{path}: joint {stray!r:.60} has no parent, and the root is {root!r:.60}")
    below: dict[str, list[str]] = {name: [] for name in names}
    for child, parent in parent_of.items():
        below[parent].append(child)
    order = [root]
    for name in order:
        order.extend(below[name])
    if len(order) < len(names):
        lost = next(name for name in names if name not in order)
        raise KinemaError(f"{path}: joint {lost!r:.60} is its own ancestor")
    return tuple(order), tuple(order.index(parent_of[name]) if name in parent_of else -1 for name in order)


def _tails(heads: Float[np.ndarray, "joints 3"], parents: Sequence[int]) -> Float[np.ndarray, "joints 3"]:
    """Ends of the bones: those of leaves go on as their parent's do, half as far."""
    above = heads[np.maximum(parents, 0)]
    tips = heads + 0.5 * (heads - above)
    short = 0.05 * max(float(np.ptp(heads, axis=0).max()), 1e-6)
    still = np.linalg.norm(tips - heads, axis=1) < 1e-9
    tips[still] += [0.0, short, 0.0]
    return bone_tails(heads, parents, tips)


def _weights(
    path: Path, names: tuple[str, ...], skin: dict[int, dict[str, float]]
) -> Float[np.ndarray, "vertices joints"] | None:
    if not skin:
        return None
    count = max(skin) + 1
    if len(skin) != count:
        missing = next(vertex for vertex in range(count) if vertex not in skin)
        raise KinemaError(f"{path}: has no line `skin` for vertex {missing}, but for vertex {count - 1}")
    # The weights, and normalised.
    Budget.of(path).take(2 * 8 * count * len(names), f"weights of {count} vertices on {len(names)} joints")
    column = {name: k for k, name in enumerate(names)}
    weights = np.zeros((count, len(names)))
    for vertex, row in skin.items():
        for name, weight in row.items():
            weights[vertex, column[name]] = weight
    total = weights.sum(axis=1)
    if (total <= 0).any():
        raise KinemaError(f"{path}: vertex {int(total.argmin())} has no weight")
    return weights / total[:, None]


def write_rignet(path: Path, character: Character) -> None:
    """Write the joints and weights of a character, in its own file's coordinates; the file appears whole."""
    skeleton = character.skeleton
    if skeleton is None:
        raise KinemaError(f"{path}: {character.name} has no skeleton to write")
    names = ["_".join(name.split()) for name in skeleton.names]
    heads = unplace_skeleton(skeleton, character.frame).heads
    lines = [f"joints {name} " + " ".join(f"{x:.8g}" for x in head) for name, head in zip(names, heads)]
    lines.append(f"root {names[0]}")
    lines += [f"hier {names[p]} {names[j]}" for j, p in enumerate(skeleton.parents) if p >= 0]
    if character.weights is not None:
        for vertex, row in enumerate(character.weights):
            held = np.flatnonzero(row)
            lines.append(f"skin {vertex} " + " ".join(f"{names[j]} {row[j]:.6g}" for j in held))
    write_text(Path(path), "\n".join(lines) + "\n")
