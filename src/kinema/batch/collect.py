"""`kinema collect-poses` as jobs of a batch: a process for each block of bodies."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from kinema.batch.job import Job
from kinema.batch.key import key_of
from kinema.collect.collect import count_bodies
from kinema.collect.config import BLOCK, CollectPoses


def collect_jobs(config: CollectPoses) -> list[Job]:
    """Blocks of all bodies. A block is known by what decides its poses; the last one grows with the bodies."""
    count = count_bodies(config)
    jobs = []
    for block in range(-(-count // BLOCK)):
        last = min(BLOCK * (block + 1), count)
        told = [config.source, config.seed, config.clips, str(config.weights), str(config.shared), block, last]
        title = f"{config.source} bodies {BLOCK * block} to {last - 1}"
        jobs.append(Job(key_of(json.dumps(told)), title, content=replace(config, block=block)))
    return jobs


def collect_command(job: Job, folder: Path) -> list[str]:
    """The process that makes the block in its folder, or what is missing of it."""
    config: CollectPoses = job.content
    words = [sys.executable, "-m", "kinema", "collect-poses", "-q", "-o", str(folder), "--source", config.source]
    for name in ("block", "bodies", "clips", "seed", "shared", "weights"):
        value = getattr(config, name)
        words += [] if value is None else [f"--{name}", str(value)]
    return words
