import os
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    # pytest-xdist already uses every core.
    torch.set_num_threads(int(os.environ.get("KINEMA_TEST_THREADS", "1")))


def shared_data_path() -> Path:
    """Third-party rigs and motions that lie beside a checkout but are never part of it."""
    return Path(os.environ.get("KINEMA_SHARED", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    path = shared_data_path()
    if not path.is_dir():
        pytest.skip(f"third-party data is not at {path}")
    return path
