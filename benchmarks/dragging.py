"""Dragging through the pose space on one core: `python benchmarks/dragging.py`. Bar: 33 ms per event.

Each body's hand, foot or head (the joint of every limb's end) is pulled along a circle of a fifth of the body's scale
in 48 events, with the feet pinned. Prints CPU milliseconds per event (median, 95 %), how far the joint is missed and
pins move (per cent of the scale, median over events after the first eight), and the largest step of a joint between two
events over the step of the dragged one.
"""

import math
import time

import numpy as np
import torch

from kinema.create.creatures import creature
from kinema.posespace.drag import Drag
from kinema.posespace.pose import Poses
from kinema.posespace.space import PoseSpace
from kinema.rig.limbs import find_limbs

BODIES = ("fox", "person", "ostrich", "spider", "horse")
EVENTS, RADIUS = 48, 0.1


def circle(start: torch.Tensor, radius: float) -> list[tuple[float, float, float]]:
    """Up and forward, and back to where it began."""
    angles = [2 * math.pi * k / EVENTS for k in range(1, EVENTS + 1)]
    x, y, z = start.tolist()
    return [(x, y + radius * (1 - math.cos(a)), z + radius * math.sin(a)) for a in angles]


def main() -> None:
    torch.set_num_threads(1)
    every: list[float] = []
    for name in BODIES:
        character = creature(name)
        space, limbs = PoseSpace.of(character), find_limbs(character)
        feet = [leg.joints[-1] for leg in limbs.legs]
        ends = [feet[0], *(arm.joints[-1] for arm in limbs.arms[:1]), *limbs.heads[:1]]
        spent, misses, slips, jumps = [], [], [], []
        for joint in ends:
            pose = Poses.rest(space.rig)
            rest = pose.place(space.rig)[0, :, :, 3]
            drag = Drag.begin(space, pose, joint, [foot for foot in feet if foot != joint])
            before = rest
            for k, goal in enumerate(circle(rest[joint], RADIUS * space.body.scale)):
                begun = time.process_time()
                drag = drag.to(goal)
                spent.append(1e3 * (time.process_time() - begun))
                now = drag.pose.place(space.rig)[0, :, :, 3]
                if k >= 8:
                    misses.append(100 * drag.miss / space.body.scale)
                    held = [target.joint for target in drag.held]
                    slips.append(100 * float((now - rest)[held].norm(dim=-1).max()) / space.body.scale)
                    step = (now - before).norm(dim=-1)
                    jumps.append(float(step.max() / step[joint].clamp(min=1e-6)))
                before = now
        every += spent
        print(f"dragging.{name}.joints {len(space.rig.parents)}")
        print(f"dragging.{name}.ms {np.median(spent):.1f} (95 %: {np.quantile(spent, 0.95):.1f})")
        print(f"dragging.{name}.miss_percent {np.median(misses):.2f}")
        print(f"dragging.{name}.pins_percent {np.median(slips):.2f}")
        print(f"dragging.{name}.largest_step {np.median(jumps):.2f}", flush=True)
    print(f"dragging.all.ms {np.median(every):.1f} (95 %: {np.quantile(every, 0.95):.1f})")


if __name__ == "__main__":
    main()
