// Rollouts of the simulation and their adjoint. Compiled once per instruction set, in a namespace of its own.
#pragma once
#include <cstring>
#include "adjoint.h"

namespace KINEMA_ISA {

template <class T>
int64_t scratch_bytes(const RolloutView<T>& r) {
    const int64_t n = 3 + 3 * r.model.joints;
    return Simulation<T>::bytes(r.model.joints) + sizeof(T) * n * (r.clip_every + 2);
}

template <class T>
void forward(const RolloutView<T>& r, int64_t item, void* scratch) {
    Simulation<T> sim(r.model, r.dt, r.implicit, scratch);
    const int64_t n = sim.dofs();
    T* q = r.q + item * (r.steps + 1) * n;
    T* v = r.v + item * (r.steps + 1) * n;
    T* a = r.a + item * r.steps * n;
    const T* targets = r.targets + item * r.knots * n;
    std::memcpy(q, r.q0 + item * n, sizeof(T) * n);
    std::memcpy(v, r.v0 + item * n, sizeof(T) * n);
    r.failed[item] = -1;
    for (int64_t i = 0; i < r.steps; ++i, q += n, v += n, a += n) {
        const Knot<T> knot(i, r.steps, r.knots);
        const T *low = targets + knot.low * n, *high = targets + knot.high * n;
        for (int64_t k = 0; k < n; ++k) sim.control[k] = low[k] + knot.t * (high[k] - low[k]);
        sim.assemble(q, v);
        sim.factor();
        sim.solve(sim.torque, a);
        T sum = 0;
        for (int64_t k = 0; k < n; ++k) {
            v[n + k] = v[k] + r.dt * a[k];
            // Velocity products are explicit: without a limit a wild enough target could still blow up.
            if (r.implicit) v[n + k] = limited(v[n + k], r.model.most_speed);
            q[n + k] = q[k] + r.dt * v[n + k];
            sum += std::fabs(q[n + k]) + std::fabs(v[n + k]);
        }
        if (!(sum < T(1e8))) {
            r.failed[item] = i;
            return;
        }
    }
}

template <class T>
void backward(const RolloutView<T>& r, int64_t item, void* scratch) {
    Simulation<T> sim(r.model, r.dt, r.implicit, scratch);
    const int64_t n = sim.dofs(), saves = r.steps / r.save_every + 1;
    T* chunk = reinterpret_cast<T*>(static_cast<char*>(scratch) + Simulation<T>::bytes(r.model.joints));
    T *gq = r.grad_q0 + item * n, *gv = r.grad_v0 + item * n;
    const T *q = r.q + item * (r.steps + 1) * n, *v = r.v + item * (r.steps + 1) * n, *a = r.a + item * r.steps * n;
    const T *grad_q = r.grad_q + item * saves * n, *grad_v = r.grad_v + item * saves * n;
    const T* targets = r.targets + item * r.knots * n;
    T* grad_targets = r.grad_targets + item * r.knots * n;
    std::memset(gq, 0, sizeof(T) * n);
    std::memset(gv, 0, sizeof(T) * n);
    int64_t filled = 0;
    for (int64_t i = r.steps; i >= 0; --i) {
        if (i % r.save_every == 0) {
            const int64_t s = i / r.save_every;
            for (int64_t k = 0; k < n; ++k) gq[k] += grad_q[s * n + k], gv[k] += grad_v[s * n + k];
        }
        if (i == 0) break;
        const int64_t step = i - 1;
        const Knot<T> knot(step, r.steps, r.knots);
        const T *low = targets + knot.low * n, *high = targets + knot.high * n;
        for (int64_t k = 0; k < n; ++k) sim.control[k] = low[k] + knot.t * (high[k] - low[k]);
        T* gu = chunk + filled * n;
        std::memset(gu, 0, sizeof(T) * n);
        sim.step_back(q + step * n, v + step * n, a + step * n, v + (step + 1) * n, gq, gv, gu);
        if (++filled == r.clip_every || step == 0) {
            if (r.clip > 0) limit(gq, n, r.clip), limit(gv, n, r.clip), limit(chunk, filled * n, r.clip);
            for (int64_t back = 0; back < filled; ++back) {
                const Knot<T> at(step + filled - 1 - back, r.steps, r.knots);
                for (int64_t k = 0; k < n; ++k) {
                    const T g = chunk[back * n + k];
                    grad_targets[at.low * n + k] += (1 - at.t) * g;
                    grad_targets[at.high * n + k] += at.t * g;
                }
            }
            filled = 0;
        }
    }
}

template int64_t scratch_bytes<float>(const RolloutView<float>&);
template int64_t scratch_bytes<double>(const RolloutView<double>&);
template void forward<float>(const RolloutView<float>&, int64_t, void*);
template void forward<double>(const RolloutView<double>&, int64_t, void*);
template void backward<float>(const RolloutView<float>&, int64_t, void*);
template void backward<double>(const RolloutView<double>&, int64_t, void*);

}  // namespace KINEMA_ISA
