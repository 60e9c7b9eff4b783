"""Play the motion beside this script in MuJoCo. It needs nothing but `pip install mujoco`.

    python NAME_play.py                   in a window, with the root force
    python NAME_play.py --no-root-force   servos and ground alone
    python NAME_play.py --headless        one round without a window: how far the body is from the motion

`NAME.xml` has the body, `NAME_trajectory.npz` its motion: time, qpos, qvel, ctrl (targets of the servos) and
root_target (pose of the mocap body that the root force pulls to).
"""

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

# pyright: reportAttributeAccessIssue=false
# MuJoCo's module is compiled and has no stubs.


def replay(
    model: Any, moves: Mapping[str, np.ndarray], *, root_force: bool = True, shown: Callable[[Any], bool] | None = None
) -> tuple[float, float]:
    """Simulate one round from the keyframe; `shown` gets the data after each step and ends it by returning False.

    Returns the largest distance of the root [m] and of a hinge [rad] from the trajectory, at its frames.
    """
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("start").id)
    data.eq_active[model.equality("root_force").id] = root_force
    times, qpos, ctrl = moves["time"], moves["qpos"], moves["ctrl"]
    apart, turned, frame = 0.0, 0.0, 0
    while frame < len(times):
        if data.time >= times[frame] - model.opt.timestep / 2:
            apart = max(apart, float(np.linalg.norm(data.qpos[:3] - qpos[frame, :3])))
            turned = max(turned, float(np.abs(data.qpos[7:] - qpos[frame, 7:]).max(initial=0.0)))
            frame += 1
            continue
        last = frame - 1
        t = (data.time - times[last]) / (times[frame] - times[last])
        data.ctrl[:] = (1 - t) * ctrl[last] + t * ctrl[frame]
        target = (1 - t) * moves["root_target"][last] + t * moves["root_target"][frame]
        data.mocap_pos[0], data.mocap_quat[0] = target[:3], target[3:] / np.linalg.norm(target[3:])
        mujoco.mj_step(model, data)
        if shown is not None and not shown(data):
            break
    return apart, turned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-root-force", action="store_true", help="let go of the root")
    parser.add_argument("--headless", action="store_true", help="one round without a window")
    given, here = parser.parse_args(), Path(__file__)
    name = here.name.removesuffix("_play.py")
    model = mujoco.MjModel.from_xml_path(str(here.with_name(f"{name}.xml")))
    with np.load(here.with_name(f"{name}_trajectory.npz")) as file:
        moves = dict(file)
    if given.headless:
        apart, turned = replay(model, moves, root_force=not given.no_root_force)
        print(f"root within {100 * apart:.1f} cm, hinges within {np.degrees(turned):.1f} degrees of the motion")
        return
    from mujoco.viewer import launch_passive

    shadow = mujoco.MjData(model)
    with launch_passive(model, shadow) as window:

        def shown(data: Any) -> bool:
            shadow.qpos[:], shadow.time = data.qpos, data.time
            mujoco.mj_forward(model, shadow)
            window.sync()
            time.sleep(max(0.0, start + data.time - time.monotonic()))
            return window.is_running()

        while window.is_running():
            start = time.monotonic()
            replay(model, moves, root_force=not given.no_root_force, shown=shown)


if __name__ == "__main__":
    main()
