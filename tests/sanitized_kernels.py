"""Pytest plugin of `make sanitize`: takes the native modules from $KINEMA_KERNELS instead of the installed ones."""

import importlib.util
import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["KINEMA_KERNELS"])

for name in ("_rasterizer", "_articulation", "_scene", "_field", "_contact"):
    (path,) = FOLDER.rglob(f"{name}.*.so")
    spec = importlib.util.spec_from_file_location(f"kinema.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    # Not `import kinema` first: the jaxtyping plugin has to see that import.
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def pytest_report_header() -> str:
    return f"kernels: {FOLDER}"
