// Ground, shadow and sky behind a premultiplied image, forwards and backwards.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "arguments.h"

namespace kinema {
namespace KINEMA_ISA {

// One row of the backdrop: share of the light colour, share of the ground, and the shadow's factor with its place.
struct Row {
    float pattern[kWidest], coverage[kWidest], shade[kWidest];
    float ix[kWidest], iz[kWidest];
    uint8_t inside[kWidest];
    int64_t first, last;  // of the pixels inside the shadow's grid; first >= last: none
    bool ground;
};

// Difference of the square wave's integral over a box of the given width (ground.py, _square_mean, times width / 2).
static inline float wave(float x, float width) {
    const float low = (x - 0.5f * width) * 0.5f, high = (x + 0.5f * width) * 0.5f;
    return std::fabs(low - std::floor(low) - 0.5f) - std::fabs(high - std::floor(high) - 0.5f);
}

static void trace_row(const PaintArguments &p, int64_t frame, int64_t y, Row &row) {
    // Copied, or the compiler would have to assume that the stores below change them.
    float R[16];
    std::memcpy(R, p.cameras + frame * 16, sizeof R);
    const float eye_x = R[9], eye_y = R[10], eye_z = R[11];
    const float fx = R[12], fy = R[13], cx = R[14], cy = R[15], per_fx = 1 / fx;
    const float right_x = R[0], right_y = R[1], right_z = R[2];
    const float v = (y + 0.5f - cy) / fy;
    const float bx = v * R[3] + R[6], by = v * R[4] + R[7], bz = v * R[5] + R[8];
    const float drop = p.height - eye_y, sign = drop < 0 ? -1.0f : 1.0f;
    const float rx = R[0] / fx, ry = R[1] / fx, rz = R[2] / fx;
    const float qx = R[3] / fy, qy = R[4] / fy, qz = R[5] / fy;
    const float spread = std::fabs(ry) + std::fabs(qy);
    const float per_pixel = sign / (spread < 1e-9f ? 1e-9f : spread);
    const float scale = 1 / p.tile, level = 1 / p.farthest;
    const int64_t width = p.width;
    // d_y is linear along the row: if neither end sees any ground, no pixel does.
    const float u_first = (0.5f - cx) / fx, u_last = (width - 0.5f - cx) / fx;
    row.ground = 0.5f + per_pixel * (u_first * R[1] + by) > 0 || 0.5f + per_pixel * (u_last * R[1] + by) > 0;
    row.first = row.last = 0;
    if (!row.ground) return;
    const float *grid = p.shadow ? p.origin + 2 * frame : nullptr;
    const float ox = grid ? grid[0] : 0, oz = grid ? grid[1] : 0, per_cell = grid ? 1 / p.cell : 0;
    const float edge = float(p.cells - 1);
    for (int32_t i = 0; i < int32_t(width); ++i) {
        const float u = (float(i) + 0.5f - cx) * per_fx;
        const float dx = u * right_x + bx, dy = u * right_y + by, dz = u * right_z + bz;
        const float steep = sign * dy < level ? level : sign * dy;
        const float inverse = sign / steep, t = drop * inverse;
        const float x = eye_x + t * dx, z = eye_z + t * dz;
        const float kx = dx * inverse, kz = dz * inverse;
        const float ax = std::fabs(rx - kx * ry), bx2 = std::fabs(qx - kx * qy);
        const float az = std::fabs(rz - kz * ry), bz2 = std::fabs(qz - kz * qy);
        float wide_x = t * (ax > bx2 ? ax : bx2) * scale, wide_z = t * (az > bz2 ? az : bz2) * scale;
        wide_x = wide_x < 1e-4f ? 1e-4f : wide_x;
        wide_z = wide_z < 1e-4f ? 1e-4f : wide_z;
        row.pattern[i] = 0.5f + 2 * wave(x * scale, wide_x) * wave(z * scale, wide_z) / (wide_x * wide_z);
        float coverage = 0.5f + per_pixel * dy;
        coverage = coverage < 0 ? 0 : coverage;
        row.coverage[i] = coverage > 1 ? 1 : coverage;
        const float ix = (x - ox) * per_cell, iz = (z - oz) * per_cell;
        row.ix[i] = ix;
        row.iz[i] = iz;
        row.shade[i] = 1;
    }
    if (!grid) return;
    for (int32_t i = 0; i < int32_t(width); ++i)
        row.inside[i] = (row.ix[i] >= 0) & (row.ix[i] < edge) & (row.iz[i] >= 0) & (row.iz[i] < edge);
    // A row of pixels is a straight line on the ground and the grid is convex, so what lies inside is one interval.
    const void *begin = std::memchr(row.inside, 1, size_t(width));
    if (!begin) return;
    row.first = static_cast<const uint8_t *>(begin) - row.inside;
    row.last = width;
    while (!row.inside[row.last - 1]) --row.last;
    const float *factor = p.shadow + frame * p.cells * p.cells;
    // Without branches. Rounding may leave a pixel of the interval just outside: clamped to the last cell it reads what
    // is there, and keeps the factor 1.
    const int32_t cells = int32_t(p.cells), last_cell = cells - 2;
    for (int32_t i = int32_t(row.first); i < int32_t(row.last); ++i) {
        int32_t jx = int32_t(row.ix[i]), jz = int32_t(row.iz[i]);
        jx = jx < 0 ? 0 : jx > last_cell ? last_cell : jx;
        jz = jz < 0 ? 0 : jz > last_cell ? last_cell : jz;
        const float tx = row.ix[i] - float(jx), tz = row.iz[i] - float(jz);
        const int32_t at = jz * cells + jx;
        const float f00 = factor[at], f01 = factor[at + 1], f10 = factor[at + cells], f11 = factor[at + cells + 1];
        const float near = f00 + tx * (f01 - f00), far = f10 + tx * (f11 - f10), shade = near + tz * (far - near);
        const bool inside = (row.ix[i] >= 0) & (row.ix[i] < edge) & (row.iz[i] >= 0) & (row.iz[i] < edge);
        row.shade[i] = inside ? shade : 1.0f;
    }
}

// Copies a row past the cache, by whole lines: a store would first fetch the line that it overwrites.
static inline void stream(float *to, const float *from, int64_t count) {
#if defined(__SSE2__)
    for (int64_t i = 0; i < count; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
#else
    std::memcpy(to, from, sizeof(float) * size_t(count));
#endif
}

void paint_forward(const PaintArguments &p, int64_t frame) {
    Row row;
    alignas(64) float line[kWidest];
    const bool past_cache = p.past_cache && p.width % 16 == 0 && uintptr_t(p.image) % 64 == 0;
    const int64_t area = p.width * p.rows;
    for (int64_t y = 0; y < p.rows; ++y) {
        trace_row(p, frame, y, row);
        const float *alpha = p.alpha + frame * area + y * p.width;
        for (int64_t c = 0; c < 3; ++c) {
            const int64_t at = (frame * 3 + c) * area + y * p.width;
            const float *in = p.features + at;
            float *out = past_cache ? line : p.image + at;
            const float sky = p.colors[c], dark = p.colors[3 + c], contrast = p.colors[6 + c] - dark;
            if (!row.ground) {
                for (int64_t i = 0; i < p.width; ++i) out[i] = in[i] + (1 - alpha[i]) * sky;
            } else {
                for (int64_t i = 0; i < p.width; ++i) {
                    const float color = (dark + contrast * row.pattern[i]) * row.shade[i];
                    out[i] = in[i] + (1 - alpha[i]) * (sky + (color - sky) * row.coverage[i]);
                }
            }
            if (past_cache) stream(p.image + at, line, p.width);
        }
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

void paint_backward(const PaintArguments &p, int64_t frame) {
    Row row;
    float light[kWidest];
    const int64_t area = p.width * p.rows, cells = p.cells;
    float *g_shadow = p.grad_shadow ? p.grad_shadow + frame * cells * cells : nullptr;
    if (g_shadow) std::memset(g_shadow, 0, sizeof(float) * size_t(cells * cells));
    for (int64_t y = 0; y < p.rows; ++y) {
        trace_row(p, frame, y, row);
        const float *alpha = p.alpha + frame * area + y * p.width;
        float *g_alpha = p.grad_alpha + frame * area + y * p.width;
        for (int64_t i = 0; i < p.width; ++i) g_alpha[i] = light[i] = 0;
        for (int64_t c = 0; c < 3; ++c) {
            const float *g = p.grad_image + (frame * 3 + c) * area + y * p.width;
            const float sky = p.colors[c], dark = p.colors[3 + c], contrast = p.colors[6 + c] - dark;
            if (!row.ground) {
                for (int64_t i = 0; i < p.width; ++i) g_alpha[i] -= g[i] * sky;
                continue;
            }
            for (int64_t i = 0; i < p.width; ++i) {
                const float color = dark + contrast * row.pattern[i];
                g_alpha[i] -= g[i] * (sky + (color * row.shade[i] - sky) * row.coverage[i]);
                light[i] += g[i] * color * row.coverage[i];
            }
        }
        if (!g_shadow) continue;
        // Neighbours mostly fall into one cell: their sums stay in registers until the cell changes.
        int32_t cell = -1;
        float sum = 0, sum_x = 0, sum_z = 0, sum_xz = 0;
        const auto flush = [&] {
            if (cell < 0) return;
            float *s = g_shadow + cell;
            s[0] += (sum - sum_x) - (sum_z - sum_xz);
            s[1] += sum_x - sum_xz;
            s[cells] += sum_z - sum_xz;
            s[cells + 1] += sum_xz;
        };
        for (int64_t i = row.first; i < row.last; ++i) {
            if (!row.inside[i]) continue;
            const float g = light[i] * (1 - alpha[i]);
            const int32_t jx = int32_t(row.ix[i]), jz = int32_t(row.iz[i]);
            const float tx = row.ix[i] - jx, tz = row.iz[i] - jz, gx = g * tx;
            if (const int32_t here = jz * int32_t(cells) + jx; here != cell) {
                flush();
                cell = here;
                sum = sum_x = sum_z = sum_xz = 0;
            }
            sum += g;
            sum_x += gx;
            sum_z += g * tz;
            sum_xz += gx * tz;
        }
        flush();
    }
}

}  // namespace KINEMA_ISA
}  // namespace kinema
