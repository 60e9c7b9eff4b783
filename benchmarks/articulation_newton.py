"""Time Newton's SemiImplicit solver on the body that `articulation.py` saved, in a Python that has newton and warp.

Prints one line of JSON: CPU microseconds per substep of the solver, forward, and backward through a tape.
"""

import json
import sys
import time

import newton
import numpy as np
import warp as wp

STEPS, ROUNDS = 50, 12


def build(path: str):
    body = dict(np.load(path))
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    links, joints = [], []
    for j, parent in enumerate(body["parents"]):
        place = wp.transform(wp.vec3(*body["heads"][j]), wp.quat_identity())
        link = builder.add_link(
            xform=place,
            mass=float(body["mass"][j]),
            com=wp.vec3(*body["com"][j]),
            inertia=wp.mat33(*body["inertia"][j].ravel()),
            lock_inertia=True,
        )
        links.append(link)
        turn = wp.quat_from_matrix(wp.mat33(*body["box_axes"][j].ravel()))
        hx, hy, hz = (float(h) for h in body["half_sizes"][j])
        builder.add_shape_box(link, xform=wp.transform(wp.vec3(*body["centers"][j]), turn), hx=hx, hy=hy, hz=hz)
        if parent < 0:
            joints.append(builder.add_joint_free(link))
        else:
            axes = [
                newton.ModelBuilder.JointDofConfig(axis=wp.vec3(*body["axes"][j][:, k]), target_ke=10.0, target_kd=0.1)
                for k in range(3)
            ]
            offset = wp.transform(wp.vec3(*body["offsets"][j]), wp.quat_identity())
            joints.append(builder.add_joint_d6(links[parent], link, angular_axes=axes, parent_xform=offset))
    builder.add_articulation(joints)
    builder.add_ground_plane()
    return builder.finalize(device="cpu", requires_grad=True)


def main() -> None:
    wp.config.quiet = True
    model = build(sys.argv[1])
    solver = newton.solvers.SolverSemiImplicit(model)
    states = [model.state() for _ in range(STEPS + 1)]
    newton.eval_fk(model, model.joint_q, model.joint_qd, states[0])
    control = model.control()
    contacts = model.collide(states[0])

    def simulate() -> None:
        for k in range(STEPS):
            states[k].clear_forces()
            solver.step(states[k], states[k + 1], control, contacts, 1e-5)

    forward, backward = float("inf"), float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        simulate()
        forward = min(forward, time.process_time() - begun)
        tape = wp.Tape()
        with tape:
            simulate()
        seed = wp.ones_like(states[-1].body_q)
        begun = time.process_time()
        tape.backward(grads={states[-1].body_q: seed})
        backward = min(backward, time.process_time() - begun)
        tape.zero()
    print(json.dumps({"forward": 1e6 * forward / STEPS, "backward": 1e6 * backward / STEPS}))


if __name__ == "__main__":
    main()
