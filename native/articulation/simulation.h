// Articulated rigid bodies in reduced coordinates, and their adjoint (adjoint.h). docs/physics.md has the equations.
//
// World axes, every quantity referred to the head of its own joint (so float32 stays exact far from the origin).
// The root's translation is an extra joint above joint 0. A step solves
//     M a = τ - c,   v+ = v + dt a,   q+ = q + dt v+
// with M = H + armature + h (damping) + h² (stiffness), h = dt in the implicit mode and 0 in the explicit one, by the
// articulated-body recursion: linear in the number of joints. All implicit terms either sit on the diagonal or act on
// one body, so they only add to a joint's diagonal or to a body's 6x6 inertia.
//
// The adjoint never differentiates the solve: with λ = M⁻¹ (dt g) it differentiates the scalar P = λᵀ(M a + c - τ),
// which is the virtual power of all forces under the virtual velocity λ.
#pragma once
#include "numerics.h"
#include "terrain.h"

namespace KINEMA_ISA {

// Kinematics, inertia and adjoints of one joint with the body that it carries.
template <class T>
struct Body {
    int parent;
    Mat<T> R;         // world from joint; the joint frame of the kernel has the joint's rotation axes
    Vec<T> e1, e2, e3;  // rotation axes in the world
    Vec<T> x, r, c;   // head; head from the parent's head; centre of mass from the head
    Vec<T> w, v;      // angular velocity; velocity of the head
    Vec<T> aw, av;    // acceleration: in assemble() that with q̈ = 0, in the adjoint the full one
    Vec<T> lw, lv;    // virtual velocity under λ
    Sym<T> I;         // about the centre of mass, world axes
    Sym<T> Iww;       // articulated inertia: (Iww Iwv; Iwvᵀ Ivv)
    Mat<T> Iwv;
    Sym<T> Ivv;
    Vec<T> fw, fv;    // wrench needed for q̈ = 0
    Mat<T> Kw, Kv;    // U D⁻¹
    Sym<T> Dinv;
    Vec<T> u;
    bool near_ground;
    // adjoints of x, rotation, w, v, lw, lv, aw, av
    Vec<T> gx, gr, gw, gv, glw, glv, gaw, gav;
};

// One body tree in memory of the caller, `bytes` large.
template <class T>
struct Simulation {
    const ModelView<T>& m;
    const T dt, h;
    Body<T>* body;
    T* diagonal;  // [n] armature and implicit joint terms
    T* torque;    // [n] right-hand side
    T* lambda;    // [n] the virtual velocity λ
    T* control;   // [n] target of the PD control in this step
    T* sine;      // [3 J]
    T* cosine;    // [3 J]

    int dofs() const { return 3 + 3 * m.joints; }

    static int64_t bytes(int joints) { return sizeof(Body<T>) * joints + sizeof(T) * 6 * (3 + 3 * joints) + 64; }

    Simulation(const ModelView<T>& model, T step, bool implicit, void* scratch)
        : m(model), dt(step), h(implicit ? step : T(0)), body(static_cast<Body<T>*>(scratch)) {
        T* rest = reinterpret_cast<T*>(body + m.joints);
        const int n = dofs();
        diagonal = rest, torque = rest + n, lambda = rest + 2 * n, control = rest + 3 * n;
        sine = rest + 4 * n, cosine = rest + 5 * n;
    }

    // ---- kinematics, wrenches and inertias at (q, v) with q̈ = 0 ----

    void place(int j, const T* q, const T* v) {
        Body<T>& b = body[j];
        b.parent = m.parents[j];
        const T* rate = v + 3 + 3 * j;
        const T* A = m.axes + 9 * j;
        const Mat<T> axes = {{A[0], A[3], A[6]}, {A[1], A[4], A[7]}, {A[2], A[5], A[8]}};
        const T *s = sine + 3 * j, *c = cosine + 3 * j;
        const T sa = s[0], ca = c[0], sb = s[1], cb = c[1], sc = s[2], cc = c[2];
        Mat<T> frame;  // world from the parent, times the axes
        Vec<T> wp = {0, 0, 0}, awp = {0, 0, 0};
        if (j == 0) {
            frame = axes;
            b.r = {0, 0, 0};
            b.x = load(q);
            b.v = load(v);
            b.av = {0, 0, 0};
        } else {
            const Body<T>& p = body[b.parent];
            frame = p.R * axes;
            b.r = p.R * load(m.offsets + 3 * j);
            b.x = p.x + b.r;
            b.v = p.v + cross(p.w, b.r);
            b.av = p.av + cross(p.aw, b.r) + cross(p.w, cross(p.w, b.r));
            wp = p.w;
            awp = p.aw;
        }
        // Columns of frame · Rx(a), then · Ry(b), then · Rz(c).
        b.e1 = frame.x;
        b.e2 = ca * frame.y + sa * frame.z;
        const Vec<T> z1 = ca * frame.z - sa * frame.y;
        b.e3 = sb * b.e1 + cb * z1;
        const Vec<T> x2 = cb * b.e1 - sb * z1;
        b.R = {cc * x2 + sc * b.e2, cc * b.e2 - sc * x2, b.e3};
        const Vec<T> d1 = rate[0] * b.e1, d2 = rate[1] * b.e2, d3 = rate[2] * b.e3, d23 = d2 + d3;
        b.w = wp + d1 + d23;
        b.aw = awp + cross(wp, d1 + d23) + cross(d1, d23) + cross(d2, d3);
        b.c = b.R * load(m.com + 3 * j);
        const T* I = m.inertia + 6 * j;
        b.I = congruent(b.R, Sym<T>{I[0], I[1], I[2], I[3], I[4], I[5]});
    }

    void load_body(int j) {
        Body<T>& b = body[j];
        const T mass = m.mass[j];
        const Vec<T> g = {m.gravity[0], m.gravity[1], m.gravity[2]}, c = b.c;
        const Vec<T> F = mass * (b.av + cross(b.aw, c) + cross(b.w, cross(b.w, c)) - g);
        b.fv = F;
        b.fw = b.I * b.aw + cross(b.w, b.I * b.w) + cross(c, F);
        const T mx = mass * c.x, my = mass * c.y, mz = mass * c.z;
        b.Ivv = {mass, mass, mass, 0, 0, 0};
        b.Iwv = {{0, mz, -my}, {-mz, 0, mx}, {my, -mx, 0}};
        b.Iww = {b.I.xx + my * c.y + mz * c.z, b.I.yy + mx * c.x + mz * c.z, b.I.zz + mx * c.x + my * c.y,
                 b.I.xy - mx * c.y, b.I.xz - mx * c.z, b.I.yz - my * c.z};
    }

    void add_joint_forces(const T* q, const T* v) {
        for (int i = 0; i < dofs(); ++i) {
            const T ke = m.stiffness[i], kd = m.damping[i];
            torque[i] = ke * (control[i] - q[i] - h * v[i]) - kd * v[i];
            diagonal[i] = m.armature[i] + h * (kd + h * ke);
            const T next = q[i] + h * v[i];
            const T over = next > m.upper[i] ? next - m.upper[i] : m.lower[i] - next;
            if (over > 0) {
                const T sign = next > m.upper[i] ? T(1) : T(-1);
                const Ramp<T> stop(over, m.stop_ramp);
                torque[i] -= sign * m.stop_stiffness[i] * stop.value + m.stop_damping[i] * stop.slope * v[i];
                diagonal[i] += h * stop.slope * (h * m.stop_stiffness[i] + m.stop_damping[i]);
            }
        }
    }

    void assemble(const T* q, const T* v) {
        sines_and_cosines(q + 3, 3 * m.joints, sine, cosine);
        for (int j = 0; j < m.joints; ++j) {
            place(j, q, v);
            load_body(j);
            add_contacts(j);
        }
        add_joint_forces(q, v);
    }

    // ---- the articulated-body recursion: M x = rhs ----

    Sym<T> root_inverse;

    void factor() {
        for (int j = m.joints - 1; j >= 0; --j) {
            Body<T>& b = body[j];
            const T* d = diagonal + 3 + 3 * j;
            const Mat<T> E = {b.e1, b.e2, b.e3};
            const Mat<T> Uw = {b.Iww * b.e1, b.Iww * b.e2, b.Iww * b.e3};
            const Mat<T> Uv = {transposed(b.Iwv, b.e1), transposed(b.Iwv, b.e2), transposed(b.Iwv, b.e3)};
            const Sym<T> D = {dot(E.x, Uw.x) + d[0], dot(E.y, Uw.y) + d[1], dot(E.z, Uw.z) + d[2],
                              dot(E.x, Uw.y), dot(E.x, Uw.z), dot(E.y, Uw.z)};
            const Sym<T> Di = b.Dinv = inverse(D);
            b.Kw = {Di.xx * Uw.x + Di.xy * Uw.y + Di.xz * Uw.z, Di.xy * Uw.x + Di.yy * Uw.y + Di.yz * Uw.z,
                    Di.xz * Uw.x + Di.yz * Uw.y + Di.zz * Uw.z};
            b.Kv = {Di.xx * Uv.x + Di.xy * Uv.y + Di.xz * Uv.z, Di.xy * Uv.x + Di.yy * Uv.y + Di.yz * Uv.z,
                    Di.xz * Uv.x + Di.yz * Uv.y + Di.zz * Uv.z};
            // Inertia that the parent feels through the joint: I - U D⁻¹ Uᵀ
            Sym<T> vv = b.Ivv;
            subtract_product(vv, b.Kv, Uv);
            if (j == 0) {
                vv.xx += diagonal[0], vv.yy += diagonal[1], vv.zz += diagonal[2];
                root_inverse = inverse(vv);
                continue;
            }
            Sym<T> ww = b.Iww;
            subtract_product(ww, b.Kw, Uw);
            const Mat<T> wv = {b.Iwv.x - (Uv.x.x * b.Kw.x + Uv.y.x * b.Kw.y + Uv.z.x * b.Kw.z),
                               b.Iwv.y - (Uv.x.y * b.Kw.x + Uv.y.y * b.Kw.y + Uv.z.y * b.Kw.z),
                               b.Iwv.z - (Uv.x.z * b.Kw.x + Uv.y.z * b.Kw.y + Uv.z.z * b.Kw.z)};
            // Moved to the parent's head: wv' = wv + [r] vv;  ww' = ww + [r] wvᵀ - wv' [r]
            const Vec<T> r = b.r;
            const Mat<T> moved = {wv.x + cross(r, Vec<T>{vv.xx, vv.xy, vv.xz}),
                                  wv.y + cross(r, Vec<T>{vv.xy, vv.yy, vv.yz}),
                                  wv.z + cross(r, Vec<T>{vv.xz, vv.yz, vv.zz})};
            Body<T>& p = body[b.parent];
            p.Ivv.xx += vv.xx, p.Ivv.yy += vv.yy, p.Ivv.zz += vv.zz;
            p.Ivv.xy += vv.xy, p.Ivv.xz += vv.xz, p.Ivv.yz += vv.yz;
            p.Iwv.x += moved.x, p.Iwv.y += moved.y, p.Iwv.z += moved.z;
            // Columns of [r] wvᵀ are r × (rows of wv); columns of -wv' [r] are the wv' columns times r.
            const Vec<T> row_x = {wv.x.x, wv.y.x, wv.z.x}, row_y = {wv.x.y, wv.y.y, wv.z.y},
                         row_z = {wv.x.z, wv.y.z, wv.z.z};
            const Vec<T> cx = cross(r, row_x) + (r.y * moved.z - r.z * moved.y);
            const Vec<T> cy = cross(r, row_y) + (r.z * moved.x - r.x * moved.z);
            const Vec<T> cz = cross(r, row_z) + (r.x * moved.y - r.y * moved.x);
            p.Iww.xx += ww.xx + cx.x, p.Iww.yy += ww.yy + cy.y, p.Iww.zz += ww.zz + cz.z;
            p.Iww.xy += ww.xy + cy.x, p.Iww.xz += ww.xz + cz.x, p.Iww.yz += ww.yz + cz.y;
        }
    }

    // s -= a bᵀ, known to be symmetric
    static void subtract_product(Sym<T>& s, const Mat<T>& a, const Mat<T>& b) {
        s.xx -= a.x.x * b.x.x + a.y.x * b.y.x + a.z.x * b.z.x;
        s.yy -= a.x.y * b.x.y + a.y.y * b.y.y + a.z.y * b.z.y;
        s.zz -= a.x.z * b.x.z + a.y.z * b.y.z + a.z.z * b.z.z;
        s.xy -= a.x.x * b.x.y + a.y.x * b.y.y + a.z.x * b.z.y;
        s.xz -= a.x.x * b.x.z + a.y.x * b.y.z + a.z.x * b.z.z;
        s.yz -= a.x.y * b.x.z + a.y.y * b.y.z + a.z.y * b.z.z;
    }

    // x = M⁻¹ (rhs - Jᵀ f) with the wrenches f in body[].fw, fv, which it uses up. Leaves J x in body[].lw, lv.
    void solve(const T* rhs, T* x) {
        for (int j = m.joints - 1; j >= 0; --j) {
            Body<T>& b = body[j];
            const T* t = rhs + 3 + 3 * j;
            b.u = {t[0] - dot(b.e1, b.fw), t[1] - dot(b.e2, b.fw), t[2] - dot(b.e3, b.fw)};
            const Vec<T> fw = b.fw + b.Kw * b.u, fv = b.fv + b.Kv * b.u;
            if (j == 0) {
                const Vec<T> root = root_inverse * (load(rhs) - fv);
                store(x, root);
            } else {
                Body<T>& p = body[b.parent];
                p.fw += fw + cross(b.r, fv);
                p.fv += fv;
            }
        }
        for (int j = 0; j < m.joints; ++j) {
            Body<T>& b = body[j];
            Vec<T> w = {0, 0, 0};
            b.lv = load(x);
            if (j > 0) {
                const Body<T>& p = body[b.parent];
                w = p.lw;
                b.lv = p.lv + cross(p.lw, b.r);
            }
            const Vec<T> s = b.Dinv * b.u - transposed(b.Kw, w) - transposed(b.Kv, b.lv);
            store(x + 3 + 3 * j, s);
            b.lw = w + s.x * b.e1 + s.y * b.e2 + s.z * b.e3;
        }
    }

    // contacts.h
    template <bool ROUGH, class Touch>
    inline void for_contacts(int j, Touch touch);
    inline void add_contacts(int j);
    inline void add_rough_contacts(int j);
    inline void differentiate_contacts(int j);
    inline void differentiate_rough_contacts(int j);

    // adjoint.h
    inline void step_back(const T* q, const T* v, const T* a, const T* v_next, T* gq, T* gv, T* gu);
    inline void add_acceleration(int j, const T* a);
    inline void differentiate_body(int j);
    inline void pull_to_parent(int j, const T* v, const T* a, T* gq, T* gv);
    inline void differentiate_joint(int i, const T* q, const T* v, const T* a, T* gq, T* gv, T* gu);
};

}  // namespace KINEMA_ISA
