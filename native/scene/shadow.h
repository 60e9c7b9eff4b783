// Shadows: Gaussians dropped onto a grid on the ground (render/shadow.py has the equations), and bounding boxes.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "arguments.h"

namespace kinema {
namespace KINEMA_ISA {

constexpr int64_t kAhead = 12;  // prefetch distance, in steps

struct Drop {
    int64_t cell;
    float tx, tz, weight, near;  // near = exp(-kappa y)
    bool falls, free;            // free: y lies where it is not clamped
};

static inline Drop drop_one(const ShadowArguments &p, int64_t frame, int64_t n) {
    const float *c = p.centers + (frame * p.count + n) * 3;
    const float *v = p.covariances + (frame * p.count + n) * 9;
    // Steps are too long for the hardware's prefetcher; a prefetch beyond the end is harmless.
    __builtin_prefetch(c + 3 * kAhead * p.step);
    __builtin_prefetch(v + 9 * kAhead * p.step);
    __builtin_prefetch(v + 9 * kAhead * p.step + 8);
    const float area = v[0] * v[8] - v[2] * v[2], y = c[1] - p.height;
    Drop d{};
    d.falls = y > 0 && area > 0;
    if (!d.falls) return d;
    d.weight = p.gain * p.opacities[(p.opacity_per_frame ? frame * p.count : 0) + n] * std::sqrt(area);
    const float px = (c[0] - p.origin[2 * frame]) * p.per_cell, pz = (c[2] - p.origin[2 * frame + 1]) * p.per_cell;
    int64_t jx = int64_t(std::floor(px)), jz = int64_t(std::floor(pz));
    d.tx = px - jx;
    d.tz = pz - jz;
    jx = jx < 0 ? 0 : jx > p.cells - 2 ? p.cells - 2 : jx;
    jz = jz < 0 ? 0 : jz > p.cells - 2 ? p.cells - 2 : jz;
    d.cell = jz * p.cells + jx;
    d.free = p.kappa * y < 50;
    d.near = std::exp(d.free ? -p.kappa * y : -50.0f);
    return d;
}

static inline float fourth_root(float x) { return std::sqrt(std::sqrt(x)); }

// (1 4 6 4 1) / 16 along both axes; symmetric, hence its own transpose.
static void blur(float *mass, float *scratch, int64_t cells) {
    for (int axis = 0; axis < 2; ++axis) {
        const int64_t step = axis ? cells : 1, across = axis ? 1 : cells;
        std::memset(scratch, 0, sizeof(float) * size_t(cells * cells));
        const float taps[5] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};
        for (int64_t k = -2; k <= 2; ++k) {
            const int64_t from = k < 0 ? -k : 0, to = k > 0 ? cells - k : cells;
            const float tap = taps[k + 2];
            if (axis)
                for (int64_t i = from * step; i < to * step; ++i) scratch[i] += tap * mass[i + k * step];
            else
                for (int64_t j = 0; j < cells; ++j)
                    for (int64_t i = from; i < to; ++i)
                        scratch[j * across + i] += tap * mass[j * across + i + k];
        }
        std::memcpy(mass, scratch, sizeof(float) * size_t(cells * cells));
    }
}

void shadow_forward(const ShadowArguments &p, int64_t frame) {
    const int64_t area = p.cells * p.cells;
    float *s0 = p.mass + frame * 2 * area, *s1 = s0 + area, *factor = p.factor + frame * area;
    std::memset(s0, 0, sizeof(float) * size_t(2 * area));
    for (int64_t n = 0; n < p.count; n += p.step) {
        const Drop d = drop_one(p, frame, n);
        if (!d.falls) continue;
        const float part[4] = {(1 - d.tx) * (1 - d.tz), d.tx * (1 - d.tz), (1 - d.tx) * d.tz, d.tx * d.tz};
        const int64_t at[4] = {d.cell, d.cell + 1, d.cell + p.cells, d.cell + p.cells + 1};
        for (int k = 0; k < 4; ++k) {
            s0[at[k]] += d.weight * part[k];
            s1[at[k]] += d.weight * d.near * part[k];
        }
    }
    blur(s0, factor, p.cells);
    blur(s1, factor, p.cells);
    for (int64_t i = 0; i < area; ++i) {
        factor[i] = 1;
        if (s0[i] == 0) continue;  // most of the grid
        const float nearness = fourth_root((s1[i] + p.tiny) / (s0[i] + p.tiny));
        factor[i] = 1 - p.strength * (1 - std::exp(-s0[i])) * nearness;
    }
}

void shadow_backward(const ShadowArguments &p, int64_t frame) {
    const int64_t area = p.cells * p.cells;
    const float *m0 = p.mass + frame * 2 * area, *m1 = m0 + area, *g = p.grad_factor + frame * area;
    // Gradients of both masses, and room to blur them. No std::vector: the linker may merge it across instruction sets.
    float *s0 = static_cast<float *>(std::calloc(size_t(3 * area), sizeof(float)));
    if (!s0) std::abort();
    float *s1 = s0 + area, *scratch = s1 + area;
    for (int64_t i = 0; i < area; ++i) {
        if (m0[i] == 0 && g[i] == 0) continue;  // most of the grid; both masses are 0 there and so are their gradients
        const float a = m0[i], b = m1[i], cover = 1 - std::exp(-a);
        const float nearness = a == 0 ? 1 : fourth_root((b + p.tiny) / (a + p.tiny));
        const float down = -p.strength * g[i] * nearness;
        s0[i] = down * ((1 - cover) - cover * 0.25f / (a + p.tiny));
        s1[i] = down * cover * 0.25f / (b + p.tiny);
    }
    blur(s0, scratch, p.cells);
    blur(s1, scratch, p.cells);
    for (int64_t n = 0; n < p.count; n += p.step) {
        const Drop d = drop_one(p, frame, n);
        if (!d.falls) continue;
        float *out = p.grad_centers + (frame * p.count + n) * 3;
        const float *h0 = s0 + d.cell, *h1 = s1 + d.cell;
        const int64_t c = p.cells;
        float q[4];
        for (int k = 0; k < 4; ++k) {
            const int64_t at = (k & 1) + (k >> 1) * c;
            q[k] = h0[at] + d.near * h1[at];
        }
        const float lift =
            (1 - d.tz) * ((1 - d.tx) * h1[0] + d.tx * h1[1]) + d.tz * ((1 - d.tx) * h1[c] + d.tx * h1[c + 1]);
        out[0] += d.weight * p.per_cell * ((1 - d.tz) * (q[1] - q[0]) + d.tz * (q[3] - q[2]));
        out[1] += d.free ? -p.kappa * d.weight * d.near * lift : 0;
        out[2] += d.weight * p.per_cell * ((1 - d.tx) * (q[2] - q[0]) + d.tx * (q[3] - q[1]));
    }
    std::free(s0);
}

// Smallest and largest x, y, z of a frame, sixteen points at a time.
void bounds(const ShadowArguments &p, int64_t frame) {
    constexpr int64_t many = 16 * 3;
    const float *c = p.centers + frame * p.count * 3;
    float low[many], high[many];
    for (int64_t k = 0; k < many; ++k) low[k] = INFINITY, high[k] = -INFINITY;
    const auto widen = [&](const float *from, int64_t n) {
        for (int64_t k = 0; k < n; ++k) {
            low[k] = from[k] < low[k] ? from[k] : low[k];
            high[k] = from[k] > high[k] ? from[k] : high[k];
        }
    };
    int64_t i = 0;
    for (; i + many <= 3 * p.count; i += many) widen(c + i, many);
    widen(c + i, 3 * p.count - i);
    for (int64_t k = 3; k < many; ++k) {
        low[k % 3] = low[k] < low[k % 3] ? low[k] : low[k % 3];
        high[k % 3] = high[k] > high[k % 3] ? high[k] : high[k % 3];
    }
    for (int k = 0; k < 3; ++k) {
        p.boxes[6 * frame + k] = low[k];
        p.boxes[6 * frame + 3 + k] = high[k];
    }
}

}  // namespace KINEMA_ISA
}  // namespace kinema
