"""`kinema collect-poses`: shard after shard, each from the seed and its number alone, so that a killed run goes on."""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinema.collect.config import CollectPoses
from kinema.errors import KinemaError
from kinema.files import make_folder, replacing
from kinema.posespace.shards import BodyPoses, shard_path, write_shard

Report = Callable[[dict[str, Any]], None]


def collect(config: CollectPoses, *, report: Report = lambda _: None) -> int:
    """Write every shard that is missing; returns how many there are now."""
    if config.source == "recorded" and config.shared is None:
        raise KinemaError("--source recorded needs --shared FOLDER with third-party clips")
    make_folder(config.out)
    make, count = _maker(config)
    begun, (first, step) = time.monotonic(), config.only
    for index in range(first, count, step):
        path = shard_path(config.out, config.source, index)
        # A body that gave nothing leaves an empty note, so that it is not tried again.
        empty = path.with_suffix(".none")
        if path.exists() or empty.exists():
            continue
        if time.monotonic() - begun > config.minutes * 60:
            break
        start = time.process_time()
        entry: dict[str, Any] = {"body": index}
        try:
            shard = make(index)
        except KinemaError as error:
            shard, entry["error"] = None, str(error)
        if shard is None:
            with replacing(empty) as partial:
                partial.touch()
        else:
            write_shard(path, shard)
            entry |= {"name": shard.name, "family": shard.family, "poses": len(shard.height)}
        entry["seconds"] = round(time.process_time() - start, 2)
        with (config.out / "log.jsonl").open("a") as log:
            log.write(json.dumps(entry) + "\n")
        report(entry)
    return len(list(config.out.glob(f"{config.source}_*.npz")))


def _maker(config: CollectPoses) -> tuple[Callable[[int], BodyPoses | None], int]:
    """What makes body number i, and how many there are."""
    shared, seed = config.shared, config.seed
    if config.source == "recorded":
        from kinema.collect.recorded import recorded_files, recorded_poses

        assert shared is not None
        files = list(recorded_files(shared).items())
        return lambda index: recorded_poses(*files[index]), len(files)
    if config.source == "procedural":
        from kinema.collect.procedural import procedural_poses

        return lambda index: procedural_poses(np.random.default_rng((seed, index))), config.bodies
    from kinema.collect.distilled import Distilling

    distilling = Distilling.of(config.weights, shared, clips=config.clips)
    return lambda index: distilling.poses(np.random.default_rng((seed, index))), config.bodies
