"""`kinema collect-poses` and `make-clips` as jobs of a batch: a process for each block of bodies or shards."""

import json
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from kinema.batch.job import Job
from kinema.batch.key import key_of
from kinema.collect.collect import count_bodies
from kinema.collect.config import BLOCK, CollectPoses
from kinema.prior.nano.config import SHARDS_PER_BLOCK, MakeClips

COMMANDS = {CollectPoses: "collect-poses", MakeClips: "make-clips"}
"""What makes a block, by its options."""
OF_THE_BATCH = ("out", "workers", "ray")
"""Options that are the batch's own business."""


def collect_jobs(config: CollectPoses) -> list[Job]:
    """Blocks of all bodies."""
    told = [config.source, config.seed, config.clips, str(config.weights), str(config.shared)]
    return _jobs(config, count_bodies(config), BLOCK, told, f"{config.source} bodies")


def clip_jobs(config: MakeClips) -> list[Job]:
    """Blocks of all shards."""
    return _jobs(config, config.shards, SHARDS_PER_BLOCK, ["clips", config.seed, str(config.shared)], "shards")


def _jobs(config: CollectPoses | MakeClips, count: int, size: int, told: Sequence[Any], title: str) -> list[Job]:
    """Blocks of so many things. A block is known by what decides its content; the last one grows with their number."""
    jobs = []
    for block in range(-(-count // size)):
        last = min(size * (block + 1), count)
        key = key_of(json.dumps([*told, block, last]))
        jobs.append(Job(key, f"{title} {size * block} to {last - 1}", content=replace(config, block=block)))
    return jobs


def block_command(job: Job, folder: Path) -> list[str]:
    """The process that makes the block in its folder, or what is missing of it."""
    config: CollectPoses | MakeClips = job.content
    words = [sys.executable, "-m", "kinema", COMMANDS[type(config)], "-q", "-o", str(folder)]
    options = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in OF_THE_BATCH}
    return words + [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
