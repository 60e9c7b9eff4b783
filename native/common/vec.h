// A vector of three numbers. Included inside the namespace that uses it, and that is another one for every instruction
// set: the linker merges inline functions of the same name, and would take one with AVX-512 for a machine without it.
#pragma once

template <class T>
struct Vec {
    T x, y, z;
};

template <class T>
inline Vec<T> operator+(Vec<T> a, Vec<T> b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <class T>
inline Vec<T> operator-(Vec<T> a, Vec<T> b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
template <class T>
inline Vec<T> operator*(T s, Vec<T> a) { return {s * a.x, s * a.y, s * a.z}; }
template <class T>
inline Vec<T>& operator+=(Vec<T>& a, Vec<T> b) { a.x += b.x, a.y += b.y, a.z += b.z; return a; }
template <class T>
inline Vec<T>& operator-=(Vec<T>& a, Vec<T> b) { a.x -= b.x, a.y -= b.y, a.z -= b.z; return a; }
template <class T>
inline T dot(Vec<T> a, Vec<T> b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T>
inline Vec<T> cross(Vec<T> a, Vec<T> b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <class T>
inline Vec<T> load(const T* p) { return {p[0], p[1], p[2]}; }
template <class T>
inline void store(T* p, Vec<T> v) { p[0] = v.x, p[1] = v.y, p[2] = v.z; }
