// Contact and friction of the box corners with the ground: forces, implicit inertias and their adjoint.
#pragma once
#include "simulation.h"

namespace KINEMA_ISA {

// Calls touch(corner, its velocity, depth, ground) for every corner of body j that the ground pushes.
template <class T>
template <bool ROUGH, class Touch>
inline void Simulation<T>::for_contacts(int j, Touch touch) {
    Body<T>& b = body[j];
    b.near_ground = false;
    if (!(m.contact_stiffness > 0)) return;
    const T* ball = m.ball + 4 * j;
    const Vec<T> middle = b.R * load(ball);
    const T spin = std::fabs(b.w.x) + std::fabs(b.w.y) + std::fabs(b.w.z), slack = ball[3] * (1 + h * spin);
    // On a slope horizontal velocity has a part along the normal.
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

template <class T>
inline void Simulation<T>::add_contacts(int j) {
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
template <class T>
inline void Simulation<T>::add_rough_contacts(int j) {
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

template <class T>
inline void Simulation<T>::differentiate_contacts(int j) {
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

// The same for any normal n(x), which depends on the position of the corner.
template <class T>
inline void Simulation<T>::differentiate_rough_contacts(int j) {
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

}  // namespace KINEMA_ISA
