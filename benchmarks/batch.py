"""Batches of `kinema animate` whose processes and nodes are killed, their throughput, the parent's memory, the cost.

python benchmarks/batch.py pool         [--jobs 40] [--out runs/batch]   # kill -9 of a worker, then of the parent
python benchmarks/batch.py ray          [--jobs 40]                      # three Ray nodes on this machine, one killed
python benchmarks/batch.py throughput   [--jobs 4]                       # one worker and two in turns
python benchmarks/batch.py memory       [--jobs 200]                     # peak memory of the parent
python benchmarks/batch.py cost [OUT | --seconds 31]                     # a table, from the reports of a batch

Jobs are the cheapest real ones (CHEAP): what is tested is the batch, not the clips. Each script stops with a message
if a result is missing or was made twice. Prints `name.metric value` lines.
"""

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

CHEAP = {
    "asset": "a red fox", "prompt": "a fox is walking", "preset": "fast", "views": 1, "fit_iterations": 8,
    "iterations": 4, "physics": "false", "frames": 8, "splats": 500, "checkpoint_seconds": 0,
}  # fmt: skip
ROUNDS = 3
"""Of throughput, one worker and two in turns."""
PRICES = {
    "a laptop: 8 cores, 45 W, electricity at 0.30 per kWh": (8, 45 / 1000 * 0.30),
    "a server, rented: 32 cores at 0.70 per hour": (32, 0.70),
    "a cloud's on-demand cores: 64 at 0.045 per core-hour": (64, 64 * 0.045),
    "a cloud's spot cores: 64 at 0.015 per core-hour": (64, 64 * 0.015),
}
"""Machines with what an hour of them costs in dollars: ASSUMED, not quoted from anyone."""


def write_jobs(path: Path, count: int) -> Path:
    lines = [",".join([*CHEAP, "seed"])]
    lines += [",".join(map(str, [*CHEAP.values(), seed])) for seed in range(count)]
    path.write_text("\n".join(lines) + "\n")
    return path


def kinema_batch(jobs: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "kinema", "batch", str(jobs), "-o", str(out), *options]


def finished(out: Path) -> int:
    return len(list(out.glob("*/report.json")))


def wait_until(condition: Callable[[], bool], process: subprocess.Popen) -> None:
    while not condition():
        if process.poll() is not None:
            raise SystemExit(f"the batch ended with code {process.returncode} before it could be killed")
        time.sleep(0.1)


def underway(out: Path) -> list[Path]:
    """Runs that have a checkpoint and no result yet."""
    return [path.parent for path in out.glob("*/distill.safetensors") if not (path.parent / "report.json").exists()]


def kill_worker(pid: int, out: Path) -> None:
    """kill -9 of a child that is in the middle of its run."""
    for child in psutil.Process(pid).children():
        if any(run.name in " ".join(child.cmdline()) for run in underway(out)):
            print(f"kill -9 {child.pid}: a worker")
            return child.kill()
    raise SystemExit("no worker was in the middle of its run")


def kill_node(node: Any) -> None:
    """kill -9 of the raylet and of all processes under it at once, as when a machine loses power."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    doomed = [raylet, *raylet.children(recursive=True)]
    print(f"kill -9 of a node: {len(doomed)} processes")
    for process in doomed:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def check(name: str, out: Path, count: int) -> None:
    """All results are there, each once, and the log tells what was resumed."""
    log = (out / "batch.log").read_text()
    done = Counter(re.findall(r" line [\d, ]+ ([0-9a-f]{16}) .*: done in", log))
    # A job may end while its parent is killed: its result is there, though no line says so.
    if finished(out) != count or set(done.values()) != {1}:
        raise SystemExit(f"{name}: {finished(out)} results of {count}; done in the log: {sorted(done.values())}")
    if list(out.glob("*/*.part")):
        raise SystemExit(f"{name}: half-written files are left")
    if "had resumed" not in log:
        raise SystemExit(f"{name}: nothing was resumed")
    print(f"{name}.results {finished(out)}/{count}")
    print(f"{name}.done_once {sum(times == 1 for times in done.values())}")
    print(f"{name}.resumed {log.count('had resumed')}")
    print(f"{name}.tried_again {log.count('tried again')}")


def pool(out: Path, count: int) -> None:
    """Kill a worker after a quarter of the jobs and the parent after half of them; the same command goes on."""
    call = kinema_batch(write_jobs(out / "jobs.csv", count), out / "pool")
    with (out / "pool.txt").open("w") as said:
        process = subprocess.Popen(call, stderr=said)
        wait_until(lambda: finished(out / "pool") >= count // 4 and bool(underway(out / "pool")), process)
        kill_worker(process.pid, out / "pool")
        wait_until(lambda: finished(out / "pool") >= count // 2 and bool(underway(out / "pool")), process)
        print(f"kill -9 {process.pid}: the parent")
        process.kill()
        process.wait()
        subprocess.run(call, stderr=said, check=True)
    check("pool", out / "pool", count)


def ray_nodes(out: Path, count: int) -> None:
    """A Ray cluster of three nodes with a core each; one of them is killed after a third of the jobs."""
    # Ray lets its workers give way to everything else on the machine, and reports to its makers.
    os.environ |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
    cluster.wait_for_nodes()
    try:
        call = kinema_batch(write_jobs(out / "jobs.csv", count), out / "ray", "--ray", cluster.address)
        with (out / "ray.txt").open("w") as said:
            process = subprocess.Popen(call, stderr=said)
            wait_until(lambda: finished(out / "ray") >= count // 3 and len(underway(out / "ray")) >= 3, process)
            kill_node(nodes[1])
            if process.wait():
                raise SystemExit(f"ray: the batch ended with code {process.returncode}, see {out / 'ray.txt'}")
    finally:
        cluster.shutdown()
    check("ray", out / "ray", count)


def throughput(out: Path, count: int) -> None:
    """Clips per minute with one worker on one core and with two on two, in turns; medians over ROUNDS."""
    found: dict[tuple[str, int], list[float]] = {}
    for number in range(ROUNDS):
        for workers in (1, 2):
            folder = out / f"workers{workers}-{number}"
            # One core for one worker, as it would have in a pool of two.
            cores = sorted(os.sched_getaffinity(0))[:workers]
            call = kinema_batch(write_jobs(out / "jobs.csv", count), folder, "--workers", str(workers))
            begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            pinned = lambda c=cores: os.sched_setaffinity(0, c)  # noqa: E731
            subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pinned)
            seconds, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            # Others may use the machine too; what a clip costs shows whether workers disturb each other.
            told = {"clips_per_minute": 60 * count / seconds, "cpu_seconds_per_clip": cpu / count}
            for name, value in (told | {"cores_used": cpu / seconds}).items():
                found.setdefault((name, workers), []).append(value)
                print(f"throughput.round{number}.workers{workers}.{name} {value:.2f}", flush=True)
        rates, costs = ([found[name, w] for w in (1, 2)] for name in ("clips_per_minute", "cpu_seconds_per_clip"))
        print(f"throughput.two_to_one.wall {statistics.median(two / one for one, two in zip(*rates)):.2f}")
        # Twice the cores, each as fast as the cost of a clip lets it be: the ratio of a machine that is free.
        print(f"throughput.two_to_one.by_cpu {2 * statistics.median(one / two for one, two in zip(*costs)):.2f}")


def memory(out: Path, count: int) -> None:
    """Peak memory of a parent that has read real rows and runs a trivial program for each."""
    from kinema.batch.animate import run_batch
    from kinema.batch.process import Pool
    from kinema.batch.rows import read_jobs

    write = "import sys; open(sys.argv[1] + '/report.json', 'w').write('{}')"
    jobs = read_jobs(write_jobs(out / "jobs.csv", count))
    executor = Pool(lambda job, folder: [sys.executable, "-S", "-c", write, str(folder)], out / "memory")
    done = run_batch(jobs, executor, title="memory", tell=lambda *_: None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"memory.jobs {done.count('done')}")
    print(f"memory.parent_peak_mb {peak:.0f}")


def cost(folder: Path, seconds: float | None) -> None:
    """A table of a thousand clips, from the CPU seconds that the runs of a batch report, or from those given."""
    if seconds is None:
        reports = [json.loads(path.read_text()) for path in folder.glob("*/report.json")]
        if not reports:
            raise SystemExit(f"{folder}: no finished runs")
        seconds = statistics.fmean(report["cpu_seconds"] for report in reports)
        print(f"The mean of {len(reports)} runs.")
    print(f"{seconds:.1f} core-seconds per clip; prices are assumptions.\n")
    print("| machine (assumed) | hours per 1,000 clips | dollars per 1,000 clips |\n|---|---|---|")
    for name, (cores, price) in PRICES.items():
        hours = 1000 * seconds / 3600 / cores
        print(f"| {name} | {hours:.2f} | {hours * price:.2f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    counts = {"pool": 40, "ray": 40, "throughput": 4, "memory": 200}
    parser.add_argument("what", choices=[*counts, "cost"])
    parser.add_argument("folder", type=Path, nargs="?", help="of `cost`")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--seconds", type=float, help="of `cost`: core-seconds per clip")
    parser.add_argument("--out", type=Path, default=Path("runs/batch"))
    options = parser.parse_args(arguments)
    if options.what == "cost":
        return cost(options.folder or options.out / "pool", options.seconds)
    for old in options.out.glob("workers*" if options.what == "throughput" else options.what):
        shutil.rmtree(old, ignore_errors=True)
    options.out.mkdir(parents=True, exist_ok=True)
    works = {"pool": pool, "ray": ray_nodes, "throughput": throughput, "memory": memory}
    works[options.what](options.out, options.jobs or counts[options.what])


if __name__ == "__main__":
    main()
