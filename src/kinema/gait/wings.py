"""Flight: wings beat, legs are drawn up, the body rises and falls with the beat."""

import numpy as np

from kinema.gait.arms import beat_wing
from kinema.gait.cycle import TAU, travel
from kinema.gait.kinds import Style, WingBeat
from kinema.gait.plan import FootPlan, GaitBody, bend


def flight_plan(
    body: GaitBody, beat: WingBeat, *, frames: int, fps: float, phase: float, period: float, speed: float, style: Style
) -> FootPlan:
    """Plan of a flight: `phase` [cycles] at frame 0, `period` [s], `speed` [leg lengths per second]."""
    time, plan = np.arange(frames) / fps, FootPlan.still(body, frames)
    cycles, limbs = time / period + phase, body.limbs
    plan.path, _ = travel(time, speed=speed * body.leg, turn=0.0)
    amplitude = beat.amplitude * float(np.clip(style.arms, 0.7, 1.3))
    wings = [arm for arm in limbs.arms if arm.wing]
    # As high as the tips need to clear the ground.
    spans = [(float(np.linalg.norm(body.heads[a.joints[-1]] - body.heads[a.joints[0]])), a.joints[0]) for a in wings]
    deep = [1.3 * span * np.sin(amplitude) - float(body.heads[top, 1]) + 0.2 * body.leg for span, top in spans]
    rise = max(beat.height * body.leg, *deep) - beat.bob * style.bob * body.leg * np.cos(TAU * cycles)
    plan.shift[:, 1] += rise
    pitch = beat.pitch + 0.05 * style.bob * np.sin(TAU * cycles)
    plan.tilt[:, 0] += pitch
    for arm in wings:
        beat_wing(body, plan, arm, cycles, amplitude=amplitude, fold=beat.fold, opens=True)
    for i in range(len(limbs.legs)):
        # Drawn up under the body and trailing behind it.
        plan.contacts[i] += plan.path + np.stack((0 * rise, rise + 0.45 * body.leg, 0 * rise - 0.3 * body.leg), -1)
        plan.contacts[i, :, 0] -= 0.2 * body.home[i, 0]
        plan.foot_pitch[i] += 0.9
        plan.toe_pitch[i] += 1.1
        plan.stance[i] = False
    # Necks reach forward.
    neck = body.heads[body.neck[-1]] - body.heads[body.neck[0]] if len(body.neck) > 1 else np.zeros(3)
    steep = float(np.clip(np.arctan2(neck[1], max(abs(neck[2]), 1e-9)), 0.0, 1.3)) if neck.any() else 0.0
    bend(plan, limbs.neck, pitch=0.75 * steep - pitch)
    if limbs.head is not None:
        bend(plan, (limbs.head,), pitch=-0.7 * steep + style.head)
    for k, j in enumerate(limbs.tail):
        wave = TAU * (cycles - 0.4 * (k + 1) / len(limbs.tail))
        bend(plan, (j,), pitch=0.25 * style.tail / len(limbs.tail) * np.sin(wave))
    return plan
