// Articulated rigid bodies in reduced coordinates and their adjoint. docs/physics.md has the equations.
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
#include <cmath>
#include <cstring>

namespace KINEMA_ISA {

#include "linear.h"

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

// Smooth ramp: 0 below 0, quadratic up to `width`, then of slope 1.
template <class T>
struct Ramp {
    T value, slope, curve;
    Ramp(T s, T width) {
        if (s <= 0) value = slope = curve = 0;
        else if (s < width) value = s * s / (2 * width), slope = s / width, curve = 1 / width;
        else value = s - width / 2, slope = 1, curve = 0;
    }
};

// Hunt-Crossley factor: a smooth max(0, 1 - χ v) of the normal velocity, so that the ground never pulls.
template <class T>
struct Bounce {
    T value, slope, curve;
    Bounce(T v, T chi) {
        const T eps = T(0.01), s = 1 - chi * v, root = std::sqrt(s * s + eps);
        value = (s + root) / 2;
        slope = -chi / 2 * (1 + s / root);
        curve = chi * chi / 2 * eps / (root * root * root);
    }
};

// Of many angles at once: straight-line code that the compiler makes vectors of, the same on every machine.
template <class T>
void sines_and_cosines(const T* __restrict x, int n, T* __restrict sine, T* __restrict cosine) {
    for (int i = 0; i < n; ++i) {
        // x = k π/2 + r, |r| <= π/4; π/2 in parts with zeros at their ends, so that k times them is exact.
        const T magic = sizeof(T) == 8 ? T(6755399441055744.0) : T(12582912.0);  // 1.5 · 2^52, 1.5 · 2^23
        const T k = (x[i] * T(0.63661977236758134308) + magic) - magic;
        T r;
        if (sizeof(T) == 8)
            r = ((x[i] - k * T(1.5707963267341256)) - k * T(6.077100506303966e-11)) - k * T(2.0222662487959506e-21);
        else
            r = ((x[i] - k * T(1.5703125)) - k * T(4.837512969970703e-4)) - k * T(7.549789948768648e-8);
        const T z = r * r;
        // Taylor: what is left out is below 5e-17.
        const T s = r + r * z * (T(-1.0 / 6) + z * (T(1.0 / 120) + z * (T(-1.0 / 5040) + z * (T(1.0 / 362880) +
                    z * (T(-1.0 / 39916800) + z * (T(1.0 / 6227020800) - z * T(1.0 / 1307674368000)))))));
        const T c = 1 - z / 2 + z * z * (T(1.0 / 24) + z * (T(-1.0 / 720) + z * (T(1.0 / 40320) +
                    z * (T(-1.0 / 3628800) + z * (T(1.0 / 479001600) +
                    z * (T(-1.0 / 87178291200) + z * T(1.0 / 20922789888000)))))));
        const T half = (k * T(0.5) + magic) - magic, odd = k - 2 * half;  // k = 2 half + odd, odd in {-1, 0, 1}
        const T quarter = (half * T(0.5) + magic) - magic, turned = half - 2 * quarter;
        const T sign = 1 - 2 * std::fabs(turned);  // cos of `half` half turns
        sine[i] = sign * (odd == 0 ? s : odd * c);
        cosine[i] = sign * (odd == 0 ? c : -odd * s);
    }
    for (int i = 0; i < n; ++i)
        if (std::fabs(x[i]) > T(1e4)) sine[i] = std::sin(x[i]), cosine[i] = std::cos(x[i]);
}

template <class T>
inline Vec<T> load(const T* p) { return {p[0], p[1], p[2]}; }
// The terrain under a point: its distance along the normal, to first order, and the normal, with their derivatives.
template <class T>
struct Ground {
    T distance;
    Vec<T> n;
    T gap, length;           // height over the ground; |(-Hx, 1, -Hz)|
    T Hx, Hz, Hxx, Hxz, Hzz;  // derivatives of its height

    Ground() {}
    Ground(const ModelView<T>& m, Vec<T> at) {
        T bx[12], bz[12];
        const int row = weigh((at.x - m.terrain_x) / m.terrain_step, m.rows, bx);
        const int column = weigh((at.z - m.terrain_z) / m.terrain_step, m.columns, bz);
        T H = 0;
        Hx = Hz = Hxx = Hxz = Hzz = 0;
        for (int i = 0; i < 4; ++i) {
            T value = 0, slope = 0, curve = 0;
            for (int k = 0; k < 4; ++k) {
                const T height = m.terrain[clamped(row + i, m.rows) * m.columns + clamped(column + k, m.columns)];
                value += bz[k] * height, slope += bz[4 + k] * height, curve += bz[8 + k] * height;
            }
            H += bx[i] * value, Hx += bx[4 + i] * value, Hxx += bx[8 + i] * value;
            Hz += bx[i] * slope, Hxz += bx[4 + i] * slope, Hzz += bx[i] * curve;
        }
        const T per = T(1) / m.terrain_step;
        Hx *= per, Hz *= per, Hxx *= per * per, Hxz *= per * per, Hzz *= per * per;
        gap = at.y - H;
        length = std::sqrt(1 + Hx * Hx + Hz * Hz);
        distance = gap / length;
        n = {-Hx / length, 1 / length, -Hz / length};
    }

    // Adjoints of distance and normal to that of the point.
    Vec<T> back(T d_distance, Vec<T> d_n) const {
        const T Lx = (Hx * Hxx + Hz * Hxz) / length, Lz = (Hx * Hxz + Hz * Hzz) / length;
        const T d_length = -(d_distance * distance + dot(d_n, n)) / length;
        return {(-d_distance * Hx - d_n.x * Hxx - d_n.z * Hxz) / length + d_length * Lx, d_distance / length,
                (-d_distance * Hz - d_n.x * Hxz - d_n.z * Hzz) / length + d_length * Lz};
    }

  private:
    static int clamped(int i, int count) { return i < 0 ? 0 : i < count ? i : count - 1; }

    // Cubic B-spline weights of four neighbours, then their first and second derivatives; where they begin.
    // Off the grid its edge goes on.
    static int weigh(T at, int count, T* w) {
        const T inside = at < -2 ? T(-2) : at > count + 1 ? T(count + 1) : at;
        const int low = int(std::floor(inside));
        const T t = inside - low, u = 1 - t, six = T(1) / 6;
        w[0] = six * u * u * u, w[1] = six * (3 * t * t * t - 6 * t * t + 4);
        w[2] = six * (3 * u * u * u - 6 * u * u + 4), w[3] = six * t * t * t;
        w[4] = -u * u / 2, w[5] = (3 * t * t - 4 * t) / 2, w[6] = -(3 * u * u - 4 * u) / 2, w[7] = t * t / 2;
        w[8] = u, w[9] = 3 * t - 2, w[10] = 3 * u - 2, w[11] = t;
        return low - 1;
    }
};

template <class T>
inline void store(T* p, Vec<T> v) { p[0] = v.x, p[1] = v.y, p[2] = v.z; }

template <class T>
struct Simulation {
    const ModelView<T>& m;
    const T dt, h;
    Body<T>* body;
    T* diagonal;  // [n] armature and implicit joint terms
    T* torque;    // [n] right-hand side
    T* accel;     // [n]
    T* lambda;    // [n]
    T* control;   // [n]
    T* sine;      // [3 J]
    T* cosine;    // [3 J]

    int dofs() const { return 3 + 3 * m.joints; }

    static int64_t bytes(int joints) { return sizeof(Body<T>) * joints + sizeof(T) * 7 * (3 + 3 * joints) + 64; }

    Simulation(const ModelView<T>& model, T step, bool implicit, void* scratch)
        : m(model), dt(step), h(implicit ? step : T(0)), body(static_cast<Body<T>*>(scratch)) {
        T* rest = reinterpret_cast<T*>(body + m.joints);
        const int n = dofs();
        diagonal = rest, torque = rest + n, accel = rest + 2 * n, lambda = rest + 3 * n, control = rest + 4 * n;
        sine = rest + 5 * n, cosine = rest + 6 * n;
    }

    // ---- forward: kinematics, wrenches and inertias at (q, v) with q̈ = 0 --------------------------------------

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

    // Calls touch(corner, its velocity, depth, ground) for every corner of body j that the ground pushes.
    template <bool ROUGH, class Touch>
    void for_contacts(int j, Touch touch) {
        Body<T>& b = body[j];
        b.near_ground = false;
        if (!(m.contact_stiffness > 0)) return;
        const T* ball = m.ball + 4 * j;
        const Vec<T> middle = b.R * load(ball);
        const T spin = std::fabs(b.w.x) + std::fabs(b.w.y) + std::fabs(b.w.z), slack = ball[3] * (1 + h * spin);
        // Over a slope the normal velocity has a level part.
        const T drift = ROUGH ? h * (std::fabs(b.v.x) + std::fabs(b.v.z)) + m.terrain_top : T(0);
        if (b.x.y + middle.y + h * (b.v + cross(b.w, middle)).y > slack + drift) return;
        const T* at = m.corners + 24 * j;
        T px[8], py[8], pz[8], vy[8], depth[8];
        for (int k = 0; k < 8; ++k) {
            const T x = at[k], y = at[8 + k], z = at[16 + k];
            px[k] = b.R.x.x * x + b.R.y.x * y + b.R.z.x * z;
            py[k] = b.R.x.y * x + b.R.y.y * y + b.R.z.y * z;
            pz[k] = b.R.x.z * x + b.R.y.z * y + b.R.z.z * z;
            vy[k] = b.v.y + b.w.z * px[k] - b.w.x * pz[k];
            depth[k] = -(b.x.y + py[k]) - h * vy[k];
        }
        for (int k = 0; k < 8; ++k) {
            Ground<T> ground;
            const Vec<T> p = {px[k], py[k], pz[k]};
            if (!ROUGH && depth[k] <= 0) continue;
            const Vec<T> vel = {b.v.x + b.w.y * p.z - b.w.z * p.y, vy[k], b.v.z + b.w.x * p.y - b.w.y * p.x};
            if (ROUGH) {
                ground = Ground<T>(m, b.x + p);
                depth[k] = -ground.distance - h * dot(vel, ground.n);
                if (depth[k] <= 0) continue;
            }
            b.near_ground = true;
            touch(p, vel, depth[k], ground);
        }
    }

    void add_contacts(int j) {
        if (m.terrain) return add_rough_contacts(j);
        Body<T>& b = body[j];
        for_contacts<false>(j, [&](Vec<T> p, Vec<T> vel, T depth, const Ground<T>&) {
            const Ramp<T> push(depth, m.contact_ramp);
            const Bounce<T> bounce(vel.y, m.contact_damping);
            const T k = m.contact_stiffness, normal = k * push.value * bounce.value;
            const T slide = m.friction * normal /
                            std::sqrt(vel.x * vel.x + vel.z * vel.z + m.slip_speed * m.slip_speed);
            const T dt_ = h * slide, dn = h * k * (h * push.slope * bounce.value - push.value * bounce.slope);
            const Vec<T> acc = b.av + cross(b.aw, p) + cross(b.w, cross(b.w, p));
            const Vec<T> f = {slide * vel.x + dt_ * acc.x, dn * acc.y - normal, slide * vel.z + dt_ * acc.z};
            b.fv += f;
            b.fw += cross(p, f);
            b.Ivv.xx += dt_, b.Ivv.yy += dn, b.Ivv.zz += dt_;
            // [p] D and [p] D [p]ᵀ with the diagonal D = (dt, dn, dt)
            b.Iwv.x += Vec<T>{0, dt_ * p.z, -dt_ * p.y};
            b.Iwv.y += Vec<T>{-dn * p.z, 0, dn * p.x};
            b.Iwv.z += Vec<T>{dt_ * p.y, -dt_ * p.x, 0};
            b.Iww.xx += dn * p.z * p.z + dt_ * p.y * p.y;
            b.Iww.yy += dt_ * (p.x * p.x + p.z * p.z);
            b.Iww.zz += dt_ * p.y * p.y + dn * p.x * p.x;
            b.Iww.xy -= dt_ * p.x * p.y;
            b.Iww.xz -= dn * p.x * p.z;
            b.Iww.yz -= dt_ * p.y * p.z;
        });
    }

    // The same with D = dt I + e n nᵀ, e = dn - dt: [p] D = dt [p] + e c nᵀ and [p] D [p]ᵀ = dt (p² I - p pᵀ) + e c cᵀ,
    // c = p × n.
    void add_rough_contacts(int j) {
        Body<T>& b = body[j];
        for_contacts<true>(j, [&](Vec<T> p, Vec<T> vel, T depth, const Ground<T>& ground) {
            const Vec<T> n = ground.n;
            const T vn = dot(vel, n);
            const Vec<T> level = vel - vn * n;
            const Ramp<T> push(depth, m.contact_ramp);
            const Bounce<T> bounce(vn, m.contact_damping);
            const T k = m.contact_stiffness, normal = k * push.value * bounce.value;
            const T slide = m.friction * normal / std::sqrt(dot(level, level) + m.slip_speed * m.slip_speed);
            const T dt_ = h * slide, dn = h * k * (h * push.slope * bounce.value - push.value * bounce.slope);
            const T e = dn - dt_;
            const Vec<T> acc = b.av + cross(b.aw, p) + cross(b.w, cross(b.w, p));
            const Vec<T> f = slide * level + dt_ * acc + (e * dot(acc, n) - normal) * n;
            b.fv += f;
            b.fw += cross(p, f);
            const Vec<T> c = cross(p, n), en = e * n, ec = e * c;
            b.Ivv.xx += dt_ + en.x * n.x, b.Ivv.yy += dt_ + en.y * n.y, b.Ivv.zz += dt_ + en.z * n.z;
            b.Ivv.xy += en.x * n.y, b.Ivv.xz += en.x * n.z, b.Ivv.yz += en.y * n.z;
            b.Iwv.x += Vec<T>{0, dt_ * p.z, -dt_ * p.y} + n.x * ec;
            b.Iwv.y += Vec<T>{-dt_ * p.z, 0, dt_ * p.x} + n.y * ec;
            b.Iwv.z += Vec<T>{dt_ * p.y, -dt_ * p.x, 0} + n.z * ec;
            b.Iww.xx += dt_ * (p.y * p.y + p.z * p.z) + ec.x * c.x;
            b.Iww.yy += dt_ * (p.x * p.x + p.z * p.z) + ec.y * c.y;
            b.Iww.zz += dt_ * (p.x * p.x + p.y * p.y) + ec.z * c.z;
            b.Iww.xy += ec.x * c.y - dt_ * p.x * p.y;
            b.Iww.xz += ec.x * c.z - dt_ * p.x * p.z;
            b.Iww.yz += ec.y * c.z - dt_ * p.y * p.z;
        });
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

    // ---- the articulated-body recursion: M x = rhs ------------------------------------------------------------

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
            // What is left after the joint has given way: I - U D⁻¹ Uᵀ
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

    // ---- adjoint of one step ----------------------------------------------------------------------------------

    // Turns (gq, gv), the adjoints of (q+, v+), into those of (q, v) and adds the control's to gu.
    void step_back(const T* q, const T* v, const T* a, const T* v_next, T* gq, T* gv, T* gu) {
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
    void add_acceleration(int j, const T* a) {
        Body<T>& b = body[j];
        const T* s = a + 3 + 3 * j;
        const Vec<T> own = s[0] * b.e1 + s[1] * b.e2 + s[2] * b.e3;
        // gaw, gav hold J q̈ until they become adjoints below; the parent's are needed, so keep them in u and fv.
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

    void differentiate_body(int j) {
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

    void differentiate_contacts(int j) {
        if (m.terrain) return differentiate_rough_contacts(j);
        Body<T>& b = body[j];
        for_contacts<false>(j, [&](Vec<T> p, Vec<T> vel, T depth, const Ground<T>&) {
            const Ramp<T> push(depth, m.contact_ramp);
            const Bounce<T> bounce(vel.y, m.contact_damping);
            const T k = m.contact_stiffness, phi = push.value, g = bounce.value;
            const Vec<T> wp = cross(b.w, p);
            const Vec<T> acc = b.av + cross(b.aw, p) + cross(b.w, wp), l = b.lv + cross(b.lw, p);
            const T s = T(1) / std::sqrt(vel.x * vel.x + vel.z * vel.z + m.slip_speed * m.slip_speed);
            const Vec<T> late = vel + h * acc;  // velocity at the end of the step, which friction opposes
            const T along = late.x * l.x + late.z * l.z;
            // P = k (φ g A + B (h φ' g - φ g')),  A = µ s along - l_y,  B = h acc_y l_y
            const T A = m.friction * s * along - l.y, B = h * acc.y * l.y;
            const T stiff = h * push.slope * g - phi * bounce.slope;
            const T d_depth = k * (push.slope * g * A + B * (h * push.curve * g - push.slope * bounce.slope));
            const T d_normal = k * (phi * bounce.slope * A + B * (h * push.slope * bounce.slope - phi * bounce.curve));
            const T mu = k * phi * g * m.friction * s, turn = mu * s * s * along;
            const Vec<T> d_vel = {mu * l.x - turn * vel.x, d_normal - h * d_depth, mu * l.z - turn * vel.z};
            const Vec<T> d_acc = {mu * h * l.x, k * h * l.y * stiff, mu * h * l.z};
            const Vec<T> d_l = {mu * late.x, k * (h * acc.y * stiff - phi * g), mu * late.z};
            const Vec<T> d_wp = cross(d_acc, b.w);
            b.gx.y -= d_depth;
            b.gv += d_vel;
            b.gav += d_acc;
            b.glv += d_l;
            b.gw += cross(p, d_vel) + cross(wp, d_acc) + cross(p, d_wp);
            b.gaw += cross(p, d_acc);
            b.glw += cross(p, d_l);
            Vec<T> gp = cross(d_vel, b.w) + cross(d_acc, b.aw) + cross(d_wp, b.w) + cross(d_l, b.lw);
            gp.y -= d_depth;
            b.gr += cross(p, gp);
        });
    }

    // The same for any normal n(x), which the place of the corner changes too.
    void differentiate_rough_contacts(int j) {
        Body<T>& b = body[j];
        for_contacts<true>(j, [&](Vec<T> p, Vec<T> vel, T depth, const Ground<T>& ground) {
            const Vec<T> n = ground.n, wp = cross(b.w, p);
            const Vec<T> acc = b.av + cross(b.aw, p) + cross(b.w, wp), l = b.lv + cross(b.lw, p), late = vel + h * acc;
            const T vn = dot(vel, n), an = dot(acc, n), ln = dot(l, n), late_n = vn + h * an;
            const Vec<T> level = vel - vn * n, l_level = l - ln * n, late_level = late - late_n * n;
            const Ramp<T> push(depth, m.contact_ramp);
            const Bounce<T> bounce(vn, m.contact_damping);
            const T k = m.contact_stiffness, phi = push.value, g = bounce.value;
            const T s = T(1) / std::sqrt(dot(level, level) + m.slip_speed * m.slip_speed);
            const T along = dot(late_level, l);
            const T A = m.friction * s * along - ln, B = h * an * ln;
            const T stiff = h * push.slope * g - phi * bounce.slope;
            const T d_depth = k * (push.slope * g * A + B * (h * push.curve * g - push.slope * bounce.slope));
            const T d_normal = k * (phi * bounce.slope * A + B * (h * push.slope * bounce.slope - phi * bounce.curve)) -
                               h * d_depth;
            const T mu = k * phi * g * m.friction * s, turn = mu * s * s * along;
            const T d_an = k * h * ln * stiff, d_ln = k * (h * an * stiff - phi * g);
            const Vec<T> d_vel = mu * l_level - turn * level + d_normal * n;
            const Vec<T> d_acc = (mu * h) * l_level + d_an * n;
            const Vec<T> d_l = mu * late_level + d_ln * n;
            // vn, an and ln are all that knows n: also |level|² = vel² - vn² and along = late · l - late_n ln.
            const Vec<T> d_n = (d_normal + turn * vn - mu * ln) * vel + (d_an - mu * h * ln) * acc +
                               (d_ln - mu * late_n) * l;
            const Vec<T> d_place = ground.back(-d_depth, d_n), d_wp = cross(d_acc, b.w);
            b.gx += d_place;
            b.gv += d_vel;
            b.gav += d_acc;
            b.glv += d_l;
            b.gw += cross(p, d_vel) + cross(wp, d_acc) + cross(p, d_wp);
            b.gaw += cross(p, d_acc);
            b.glw += cross(p, d_l);
            const Vec<T> gp = cross(d_vel, b.w) + cross(d_acc, b.aw) + cross(d_wp, b.w) + cross(d_l, b.lw) + d_place;
            b.gr += cross(p, gp);
        });
    }

    void pull_to_parent(int j, const T* v, const T* a, T* gq, T* gv) {
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

    void differentiate_joint(int i, const T* q, const T* v, const T* a, T* gq, T* gv, T* gu) {
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
};

// Piecewise linear in the knots: step i of `steps` lies at i (knots - 1) / (steps - 1).
template <class T>
struct Knot {
    int64_t low, high;
    T t;
    Knot(int64_t i, int64_t steps, int64_t knots) {
        if (knots == steps || steps == 1) {
            low = high = knots == steps ? i : 0, t = 0;
            return;
        }
        const double at = double(i) * double(knots - 1) / double(steps - 1);
        low = int64_t(at);
        if (low > knots - 2) low = knots > 1 ? knots - 2 : 0;
        high = low + 1 < knots ? low + 1 : low;
        t = T(at - double(low));
    }
};

template <class T>
inline T limited(T x, T most) { return x > most ? most : x < -most ? -most : x; }

template <class T>
void limit(T* x, int64_t n, T most) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    if (!(sum > most * most)) return;
    const T scale = most / std::sqrt(sum);
    for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

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
