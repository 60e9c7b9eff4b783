// Vectors and 3x3 matrices of the simulation.
#pragma once

namespace KINEMA_ISA {

#include "common/vec.h"

// A matrix by its columns.
template <class T>
struct Mat {
    Vec<T> x, y, z;
};

template <class T>
inline Vec<T> operator*(const Mat<T>& m, Vec<T> v) { return v.x * m.x + v.y * m.y + v.z * m.z; }
template <class T>
inline Vec<T> transposed(const Mat<T>& m, Vec<T> v) { return {dot(m.x, v), dot(m.y, v), dot(m.z, v)}; }
template <class T>
inline Mat<T> operator*(const Mat<T>& a, const Mat<T>& b) { return {a * b.x, a * b.y, a * b.z}; }

// A symmetric matrix by its six numbers.
template <class T>
struct Sym {
    T xx, yy, zz, xy, xz, yz;
};

template <class T>
inline Vec<T> operator*(const Sym<T>& s, Vec<T> v) {
    return {s.xx * v.x + s.xy * v.y + s.xz * v.z, s.xy * v.x + s.yy * v.y + s.yz * v.z,
            s.xz * v.x + s.yz * v.y + s.zz * v.z};
}

template <class T>
inline Sym<T> inverse(const Sym<T>& s) {
    const T a = s.yy * s.zz - s.yz * s.yz, b = s.xz * s.yz - s.xy * s.zz, c = s.xy * s.yz - s.xz * s.yy;
    const T d = T(1) / (s.xx * a + s.xy * b + s.xz * c);
    return {d * a, d * (s.xx * s.zz - s.xz * s.xz), d * (s.xx * s.yy - s.xy * s.xy),
            d * b, d * c, d * (s.xy * s.xz - s.xx * s.yz)};
}

// m s mᵀ
template <class T>
inline Sym<T> congruent(const Mat<T>& m, const Sym<T>& s) {
    const Mat<T> p = {s.xx * m.x + s.xy * m.y + s.xz * m.z, s.xy * m.x + s.yy * m.y + s.yz * m.z,
                      s.xz * m.x + s.yz * m.y + s.zz * m.z};
    return {p.x.x * m.x.x + p.y.x * m.y.x + p.z.x * m.z.x, p.x.y * m.x.y + p.y.y * m.y.y + p.z.y * m.z.y,
            p.x.z * m.x.z + p.y.z * m.y.z + p.z.z * m.z.z, p.x.x * m.x.y + p.y.x * m.y.y + p.z.x * m.z.y,
            p.x.x * m.x.z + p.y.x * m.y.z + p.z.x * m.z.z, p.x.y * m.x.z + p.y.y * m.y.z + p.z.y * m.z.z};
}

}  // namespace KINEMA_ISA
