// Uneven ground: a height field as a cubic B-spline.
#pragma once
#include <cmath>
#include "linear.h"
#include "views.h"

namespace KINEMA_ISA {

// The ground under a point: the distance along the normal, to first order, and the normal, with their derivatives.
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

    // Pulls the adjoints of distance and normal back to the point.
    Vec<T> back(T d_distance, Vec<T> d_n) const {
        const T Lx = (Hx * Hxx + Hz * Hxz) / length, Lz = (Hx * Hxz + Hz * Hzz) / length;
        const T d_length = -(d_distance * distance + dot(d_n, n)) / length;
        return {(-d_distance * Hx - d_n.x * Hxx - d_n.z * Hxz) / length + d_length * Lx, d_distance / length,
                (-d_distance * Hz - d_n.x * Hxz - d_n.z * Hzz) / length + d_length * Lz};
    }

  private:
    static int clamped(int i, int count) { return i < 0 ? 0 : i < count ? i : count - 1; }

    // Weights of the four control points around `at`: cubic B-spline, then its first and second derivative. Returns the
    // first of the four. Outside the grid the heights of its edge go on.
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

}  // namespace KINEMA_ISA
