// The adjoint of one step: reverse differentiation of the virtual power P (simulation.h).
#pragma once
#include "contacts.h"

namespace KINEMA_ISA {

// Turns (gq, gv), the adjoints of (q+, v+), into those of (q, v) and adds the control's to gu.
template <class T>
inline void Simulation<T>::step_back(const T* q, const T* v, const T* a, const T* v_next, T* gq, T* gv, T* gu) {
    const int n = dofs();
    assemble(q, v);
    factor();
    for (int i = 0; i < n; ++i) {
        gv[i] += dt * gq[i];
        if (h > 0 && std::fabs(v_next[i]) >= m.most_speed) gv[i] = 0;  // it was limited: nothing depends on it
        torque[i] = dt * gv[i];
    }
    for (int j = 0; j < m.joints; ++j) body[j].fw = body[j].fv = {0, 0, 0};
    solve(torque, lambda);
    for (int j = 0; j < m.joints; ++j) {
        Body<T>& b = body[j];
        add_acceleration(j, a);
        b.gx = b.gr = b.gw = b.gv = b.glw = b.glv = b.gaw = b.gav = {0, 0, 0};
        differentiate_body(j);
        if (b.near_ground) differentiate_contacts(j);
    }
    for (int j = m.joints - 1; j >= 0; --j) pull_to_parent(j, v, a, gq, gv);
    for (int i = 0; i < n; ++i) differentiate_joint(i, q, v, a, gq, gv, gu);
}

// From the acceleration with q̈ = 0 to the full one: add J q̈.
template <class T>
inline void Simulation<T>::add_acceleration(int j, const T* a) {
    Body<T>& b = body[j];
    const T* s = a + 3 + 3 * j;
    const Vec<T> own = s[0] * b.e1 + s[1] * b.e2 + s[2] * b.e3;
    // u and fv, which the solve no longer needs, hold J q̈: the children read their parent's.
    if (j == 0) {
        b.u = own;
        b.fv = load(a);
    } else {
        const Body<T>& p = body[b.parent];
        b.u = p.u + own;
        b.fv = p.fv + cross(p.u, b.r);
    }
    b.aw += b.u;
    b.av += b.fv;
}

template <class T>
inline void Simulation<T>::differentiate_body(int j) {
    Body<T>& b = body[j];
    const T mass = m.mass[j];
    const Vec<T> gravity = {m.gravity[0], m.gravity[1], m.gravity[2]}, c = b.c;
    // P = F·(lv + lw × c) + (I aw)·lw + (I w)·(lw × w),  F = m (av + aw × c + w × (w × c) - g)
    const Vec<T> wc = cross(b.w, c);
    const Vec<T> F = mass * (b.av + cross(b.aw, c) + cross(b.w, wc) - gravity);
    const Vec<T> G = mass * (b.lv + cross(b.lw, c));
    const Vec<T> Gw = cross(G, b.w);
    b.glv += F;
    b.gav += G;
    const Vec<T> Il = b.I * b.lw, Ia = b.I * b.aw, Iw = b.I * b.w, n = cross(b.lw, b.w), In = b.I * n;
    b.glw += cross(c, F) + Ia + cross(b.w, Iw);
    b.gaw += cross(c, G) + Il;
    b.gw += cross(wc, G) + cross(c, Gw) + cross(Iw, b.lw) + In;
    const Vec<T> gc = cross(F, b.lw) + cross(G, b.aw) + cross(Gw, b.w);
    // A vector fixed in the body turns with it: δc = δφ × c; δI = [δφ] I - I [δφ].
    b.gr += cross(c, gc) + cross(Ia, b.lw) - cross(b.aw, Il) + cross(Iw, n) - cross(b.w, In);
}

template <class T>
inline void Simulation<T>::pull_to_parent(int j, const T* v, const T* a, T* gq, T* gv) {
    Body<T>& b = body[j];
    const T *rate = v + 3 + 3 * j, *acc = a + 3 + 3 * j, *l = lambda + 3 + 3 * j;
    const Vec<T> wp = j ? body[b.parent].w : Vec<T>{0, 0, 0};
    // aw = aw_p + E q̈ + w_p × (d1 + d2 + d3) + d1 × (d2 + d3) + d2 × d3,  d_k = rate_k e_k
    const Vec<T> d1 = rate[0] * b.e1, d2 = rate[1] * b.e2, d3 = rate[2] * b.e3, d23 = d2 + d3;
    const Vec<T> gd1 = cross(b.gaw, wp - d23), gd2 = cross(b.gaw, wp + d1 - d3),
                 gd3 = cross(b.gaw, wp + d1 + d2);
    const Vec<T> ge1 = rate[0] * (b.gw + gd1) + l[0] * b.glw + acc[0] * b.gaw;
    const Vec<T> ge2 = rate[1] * (b.gw + gd2) + l[1] * b.glw + acc[1] * b.gaw;
    const Vec<T> ge3 = rate[2] * (b.gw + gd3) + l[2] * b.glw + acc[2] * b.gaw;
    // e1 turns with the parent, e2 also about e1, e3 also about e2.
    const Vec<T> t1 = cross(b.e1, ge1), t2 = cross(b.e2, ge2), t3 = cross(b.e3, ge3), t23 = t2 + t3;
    gq[3 + 3 * j] -= dot(b.e1, b.gr + t23);
    gq[4 + 3 * j] -= dot(b.e2, b.gr + t3);
    gq[5 + 3 * j] -= dot(b.e3, b.gr);
    gv[3 + 3 * j] -= dot(b.e1, b.gw + gd1);
    gv[4 + 3 * j] -= dot(b.e2, b.gw + gd2);
    gv[5 + 3 * j] -= dot(b.e3, b.gw + gd3);
    if (j == 0) {
        gq[0] -= b.gx.x, gq[1] -= b.gx.y, gq[2] -= b.gx.z;
        gv[0] -= b.gv.x, gv[1] -= b.gv.y, gv[2] -= b.gv.z;
        return;
    }
    Body<T>& p = body[b.parent];
    const Vec<T> r = b.r, wr = cross(p.w, r), gwr = cross(b.gav, p.w);
    const Vec<T> offset = b.gx + cross(b.gv, p.w) + cross(b.glv, p.lw) + cross(b.gav, p.aw) + cross(gwr, p.w);
    p.gx += b.gx;
    p.gv += b.gv;
    p.glv += b.glv;
    p.gav += b.gav;
    p.gr += b.gr + t1 + t23 + cross(r, offset);
    p.gw += b.gw + cross(d1 + d23, b.gaw) + cross(r, b.gv) + cross(wr, b.gav) + cross(r, gwr);
    p.glw += b.glw + cross(r, b.glv);
    p.gaw += b.gaw + cross(r, b.gav);
}

template <class T>
inline void Simulation<T>::differentiate_joint(int i, const T* q, const T* v, const T* a, T* gq, T* gv, T* gu) {
    const T l = lambda[i], ke = m.stiffness[i], kd = m.damping[i];
    gq[i] -= l * ke;
    gv[i] -= l * (h * ke + kd);
    gu[i] += l * ke;
    const T next = q[i] + h * v[i];
    const T over = next > m.upper[i] ? next - m.upper[i] : m.lower[i] - next;
    if (over > 0) {
        const T sign = next > m.upper[i] ? T(1) : T(-1), k = m.stop_stiffness[i], c = m.stop_damping[i];
        const Ramp<T> stop(over, m.stop_ramp);
        const T d_over = l * (sign * k * stop.slope + stop.curve * (c * v[i] + h * (h * k + c) * a[i]));
        gq[i] -= sign * d_over;
        gv[i] -= h * sign * d_over + l * c * stop.slope;
    }
}

}  // namespace KINEMA_ISA
