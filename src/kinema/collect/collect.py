"""One block of bodies of `kinema collect-poses`, each from the seed and its number alone; `batch.blocks` runs all."""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinema.collect.config import BLOCK, BLOCK_DONE, CollectPoses
from kinema.errors import KinemaError
from kinema.files import make_folder, write_text
from kinema.posespace.shards import BodyPoses, shard_path, write_shard

Report = Callable[[dict[str, Any]], None]


def count_bodies(config: CollectPoses) -> int:
    """How many bodies there are to collect: of recorded clips, as many as files."""
    if config.source != "recorded":
        return config.bodies
    from kinema.collect.clips import recorded_files

    if config.shared is None:
        raise KinemaError("--source recorded needs --shared FOLDER with third-party clips")
    return len(recorded_files(config.shared))


def collect_block(config: CollectPoses, *, report: Report = lambda _: None) -> int:
    """Write the shards of a block that are missing, then what became of each body; returns how many have poses."""
    assert config.block is not None
    folder, make = make_folder(config.out), _maker(config)
    bodies = range(BLOCK * config.block, min(BLOCK * (config.block + 1), count_bodies(config)))
    entries = []
    for index in bodies:
        path, start = shard_path(folder, config.source, index), time.process_time()
        entry: dict[str, Any] = {"body": index}
        if not path.exists():
            try:
                shard = make(index)
            except KinemaError as error:
                shard, entry["error"] = None, str(error)
            if shard is not None:
                write_shard(path, shard)
                entry |= {"name": shard.name, "family": shard.family, "poses": len(shard.height)}
        entries.append(entry | {"seconds": round(time.process_time() - start, 2)})
        report(entries[-1])
    write_text(folder / BLOCK_DONE, json.dumps(entries))
    return sum(shard_path(folder, config.source, index).exists() for index in bodies)


def _maker(config: CollectPoses) -> Callable[[int], BodyPoses | None]:
    """What makes body number i."""
    shared, seed = config.shared, config.seed
    if config.source == "recorded":
        from kinema.collect.clips import recorded_files, recorded_poses

        assert shared is not None
        files = list(recorded_files(shared).items())
        return lambda index: recorded_poses(*files[index])
    if config.source == "procedural":
        from kinema.collect.clips import procedural_poses

        return lambda index: procedural_poses(np.random.default_rng((seed, index)))
    from kinema.collect.distilled import Distilling

    distilling = Distilling.of(config.weights, shared, clips=config.clips)
    return lambda index: distilling.poses(index, seed)
