// Scalar functions of the simulation: ramps, trigonometry, knots of the control.
#pragma once
#include <cmath>
#include <cstdint>

namespace KINEMA_ISA {

// Smooth ramp: 0 below 0, quadratic up to `width`, of slope 1 above; with its first and second derivative.
template <class T>
struct Ramp {
    T value, slope, curve;
    Ramp(T s, T width) {
        if (s <= 0) value = slope = curve = 0;
        else if (s < width) value = s * s / (2 * width), slope = s / width, curve = 1 / width;
        else value = s - width / 2, slope = 1, curve = 0;
    }
};

// Hunt-Crossley factor: a smooth max(0, 1 - χ v) of the normal velocity v, so that the ground never pulls; with its
// first and second derivative.
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

// Sines and cosines of n angles. Straight-line code, so that the compiler vectorises it and every machine gives the
// same bits.
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

// Where step i of `steps` lies between the control knots, which are evenly spaced in time: (1 - t) low + t high.
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

// Scale a vector down to the norm `most` where it is longer.
template <class T>
void limit(T* x, int64_t n, T most) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    if (!(sum > most * most)) return;
    const T scale = most / std::sqrt(sum);
    for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

}  // namespace KINEMA_ISA
