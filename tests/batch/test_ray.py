"""Jobs on a real Ray cluster of several nodes on this machine, one of which is killed in the middle."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

from small_work import command, jobs, steps_of  # noqa: E402

from kinema.batch.cluster import RayTasks  # noqa: E402
from kinema.batch.engine import LOG, run_jobs  # noqa: E402
from kinema.batch.job import LOST  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without cores, so that all work is on the nodes, and three nodes with one core each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        # Workers import the module of the command by its name.
        patch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))))
        # Ray lets its workers give way to everything else on the machine.
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        nodes = [found.add_node(num_cpus=1) for _ in range(3)]
        found.wait_for_nodes()
        ray.init(address=found.address, log_to_driver=False)
        yield found, nodes
        ray.shutdown()
        found.shutdown()


def kill(node: Any) -> None:
    """The raylet and all its workers at once, as when a machine loses power."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    # What the workers have started dies with a machine too, but a child of a killed worker gets a signal only.
    for process in [raylet, *raylet.children(recursive=True)]:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Killing(RayTasks):
    """Kills a node when some jobs have begun."""

    node: Any = None

    def wait(self, seconds: float):
        if self.node is not None and len(list(self.out.glob("job*/state.txt"))) >= 3:
            kill(self.node)
            Killing.node = None
        return super().wait(0.1)


def test_bad_input_is_not_tried_again_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    found, _ = cluster
    mixed = [*jobs(1, 1, 0.0, "bad"), *jobs(2, 1, 0.0)[1:]]
    done = run_jobs(mixed, RayTasks(command, tmp_path, address=found.address))
    assert [(entry.state, entry.attempts) for entry in done.entries.values()] == [("failed", 1), ("done", 1)]
    assert done.entries["job00"].message == "the prompt is empty"


def test_a_node_is_lost_and_its_jobs_go_on_elsewhere(cluster: Any, tmp_path: Path) -> None:
    found, nodes = cluster
    Killing.node = nodes[1]
    begun = time.monotonic()
    done = run_jobs(jobs(9, 10, 0.2), Killing(command, tmp_path, address=found.address))
    assert time.monotonic() - begun < 600
    assert Killing.node is None
    assert done.count("done") == 9
    assert len(list(tmp_path.glob("*/report.json"))) == 9
    for k in range(9):
        # Each step once; only the one at which the node died may have been done twice.
        steps = [step for _, step in steps_of(tmp_path / f"job{k:02d}")]
        assert sorted(set(steps)) == list(range(10))
        assert len(steps) <= 11
    log = (tmp_path / LOG).read_text()
    assert f"killed by signal {-LOST}" in log
    assert "had resumed from its checkpoint" in log
