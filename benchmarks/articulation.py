"""Time the simulation: CPU microseconds per substep of one rollout, forward and backward, beside Newton's.

17 bones are the tests' quadruped, 20 the humanoid, standing under control with feet on the ground; chains of 10 to 80
bones show how the cost grows. Newton (SemiImplicit) is measured in the same run where KINEMA_NEWTON_PYTHON names a
Python that has it: it wants packages that Kinema does not, so it lives in an environment of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from kinema.physics.model import Control, Model, State
from kinema.physics.rollout import rollout
from kinema.rig.kinematics import Rig

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from physics_bodies import boxes, chain, humanoid, model_of, quadruped, rest


def run() -> Iterator[tuple[str, float]]:
    torch.set_num_threads(1)
    for name, body in (("17_bones", quadruped()), ("20_bones", humanoid())):
        rig, model = model_of(body)
        before = both_precisions(rig, model)
        theirs = newton(rig, model, boxes(body))
        # Before and after Newton, so that a neighbour's busy second does not count against one side only.
        after = both_precisions(rig, model)
        ours = {key: min(before[key], after[key]) for key in before}
        for key, value in ours.items():
            yield f"{name}.{key}_us", value
        if theirs:
            for key in ("forward", "backward"):
                yield f"{name}.newton_{key}_us", theirs[key]
                yield f"{name}.newton_{key}_ratio", theirs[key] / ours[key]
    for bones in (10, 20, 40, 80):
        rig, model = model_of(chain(bones, length=0.1))
        forward, backward = microseconds(rig, model, torch.float64)
        yield f"chain_{bones}.forward_us_per_bone", forward / bones
        yield f"chain_{bones}.backward_us_per_bone", backward / bones
    rig, model = model_of(quadruped())
    for steps in (300, 1200, 4800):
        forward, backward = microseconds(rig, model, torch.float64, steps=steps)
        yield f"steps_{steps}.both_us", forward + backward
    yield "track_49_frames_200_iterations_s", tracking_seconds()


def both_precisions(rig: Rig, model: Model) -> dict[str, float]:
    forward, backward = microseconds(rig, model, torch.float64)
    forward32, backward32 = microseconds(rig, model, torch.float32)
    return {"forward": forward, "backward": backward, "forward_float32": forward32, "backward_float32": backward32}


def microseconds(rig: Rig, model: Model, dtype: torch.dtype, *, steps: int = 1200) -> tuple[float, float]:
    """The least of several rounds."""
    q = rest(rig).to(dtype).requires_grad_()
    v = torch.zeros_like(q).requires_grad_()
    targets = rest(rig).to(dtype)[:, None].expand(1, 100, -1).clone().requires_grad_()
    model = model.to(dtype)
    best = [float("inf"), float("inf")]
    for _ in range(20):
        begun = time.process_time()
        path, _ = rollout(model, State(q, v), Control(targets), dt=1 / 600, steps=steps, save_every=steps // 100)
        middle = time.process_time()
        torch.autograd.grad(path.sum(), (q, v, targets))
        ends = (middle - begun, time.process_time() - middle)
        best = [min(b, 1e6 * t / steps) for b, t in zip(best, ends)]
    return best[0], best[1]


def tracking_seconds() -> float:
    """CPU seconds of a whole default search for the quadruped."""
    from test_tracking import limbs_of, with_faults

    from kinema.gait.make import make_motion
    from kinema.physics.track import track

    body = quadruped()
    rig = Rig.from_skeleton(body, dtype=torch.float64)
    limbs = limbs_of(body)
    motion, _ = make_motion(rig, limbs, "walk", frames=49, fps=24.0)
    begun = time.process_time()
    track(None, rig, with_faults(motion), limbs=limbs, cuboids=boxes(body))
    return time.process_time() - begun


def newton(rig: Rig, model: Model, cuboids) -> dict[str, float] | None:
    python = os.environ.get("KINEMA_NEWTON_PYTHON")
    if not python:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body.npz"
        np.savez(
            path,
            parents=np.array(rig.parents),
            heads=rig.heads.numpy(),
            offsets=rig.offsets.numpy(),
            axes=rig.axes.numpy(),
            mass=model.mass.numpy(),
            com=model.com.numpy(),
            inertia=model.inertia.numpy(),
            centers=cuboids.centers,
            box_axes=cuboids.axes,
            half_sizes=cuboids.half_sizes,
        )
        script = Path(__file__).with_name("articulation_newton.py")
        done = subprocess.run([python, str(script), str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    for metric, value in run():
        print(f"articulation.{metric} {value:.4g}", flush=True)
