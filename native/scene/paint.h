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

// One row of the backdrop: share of the light colour, share of the ground, and the shadow's factor with its position.
struct Row {
    float pattern[kWidest], coverage[kWidest], shade[kWidest + 8];  // eight at a time may run over the end
    float ix[kWidest + 8], iz[kWidest + 8];
    uint8_t inside[kWidest];
    int64_t first, last;  // of the pixels inside the shadow's grid; first >= last: none
    bool ground;
};

// Difference of the square wave's integral over a box of the given width (ground.py, _square_mean, times width / 2).
static inline float wave(float x, float width) {
    const float low = (x - 0.5f * width) * 0.5f, high = (x + 0.5f * width) * 0.5f;
    return std::fabs(low - std::floor(low) - 0.5f) - std::fabs(high - std::floor(high) - 0.5f);
}

// Share of the ground in the pixels of a row; false if the row sees none. d_y is linear along the row: if neither end
// sees ground, no pixel does.
static bool cover_row(const PaintArguments &p, int64_t frame, int64_t y, float *coverage) {
    const float *R = p.cameras + frame * 16;
    const float fx = R[12], fy = R[13], cx = R[14], cy = R[15];
    const float spread = std::fabs(R[1] / fx) + std::fabs(R[4] / fy);
    const float per_pixel = (p.height - R[10] < 0 ? -1.0f : 1.0f) / (spread < 1e-9f ? 1e-9f : spread);
    const float step = per_pixel * R[1] / fx, by = (y + 0.5f - cy) / fy * R[4] + R[7];
    const float start = 0.5f + per_pixel * by + (0.5f - cx) * step;
    const int32_t width = int32_t(p.width);
    if (start <= 0 && start + float(width - 1) * step <= 0) return false;
    for (int32_t i = 0; i < width; ++i) {
        const float share = start + float(i) * step, positive = share < 0 ? 0 : share;
        coverage[i] = positive > 1 ? 1 : positive;
    }
    return true;
}

static void trace_row(const PaintArguments &p, int64_t frame, int64_t y, Row &row) {
    row.first = row.last = 0;
    row.ground = cover_row(p, frame, y, row.coverage);
    if (!row.ground) return;
    // A copy: otherwise the compiler has to assume that the stores below change it.
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
    const float scale = 1 / p.tile, level = 1 / p.farthest;
    const float reach = std::fabs(drop) * scale < 1e-6f ? 1e-6f : std::fabs(drop) * scale;
    const float per_reach2 = 2 / (reach * reach), narrowest = 1e-4f / reach;
    const int64_t width = p.width;
    const float *grid = p.shadow ? p.origin + 2 * frame : nullptr;
    const float ox = grid ? grid[0] : 0, oz = grid ? grid[1] : 0, per_cell = grid ? 1 / p.cell : 0;
    const float edge = float(p.cells - 1);
    for (int32_t i = 0; i < int32_t(width); ++i) {
        const float u = (float(i) + 0.5f - cx) * per_fx;
        const float dx = u * right_x + bx, dy = u * right_y + by, dz = u * right_z + bz;
        const float steep = sign * dy < level ? level : sign * dy;
        // Extents of the pixel on the ground, divided by reach / steep²: one division gives all three quotients.
        const float kx = sign * dx, kz = sign * dz, steep2 = steep * steep, least = narrowest * steep2;
        const float ax = std::fabs(rx * steep - kx * ry), bx2 = std::fabs(qx * steep - kx * qy);
        const float az = std::fabs(rz * steep - kz * ry), bz2 = std::fabs(qz * steep - kz * qy);
        float wide_x = ax > bx2 ? ax : bx2, wide_z = az > bz2 ? az : bz2;
        wide_x = wide_x < least ? least : wide_x;
        wide_z = wide_z < least ? least : wide_z;
        const float area = wide_x * wide_z, quotient = 1 / (steep * area);
        const float inverse = quotient * area, per_area = quotient * steep, t = drop * sign * inverse;
        const float x = eye_x + t * dx, z = eye_z + t * dz, extent = reach * inverse * inverse;
        row.pattern[i] = 0.5f + wave(x * scale, extent * wide_x) * wave(z * scale, extent * wide_z) * per_area *
                                    (steep2 * steep2 * per_reach2);
        const float ix = (x - ox) * per_cell, iz = (z - oz) * per_cell;
        row.ix[i] = ix;
        row.iz[i] = iz;
        row.shade[i] = 1;
    }
    if (!grid) return;
    for (int32_t i = 0; i < int32_t(width); ++i)
        row.inside[i] = (row.ix[i] >= 0) & (row.ix[i] < edge) & (row.iz[i] >= 0) & (row.iz[i] < edge);
    // A row of pixels is a straight line on the ground and the grid is convex: the pixels inside are one interval.
    const void *begin = std::memchr(row.inside, 1, size_t(width));
    if (!begin) return;
    row.first = static_cast<const uint8_t *>(begin) - row.inside;
    row.last = width;
    while (!row.inside[row.last - 1]) --row.last;
    const float *factor = p.shadow + frame * p.cells * p.cells;
    // Rounding may put a pixel of the interval just outside: it reads the last cell and keeps the factor 1.
    const int32_t cells = int32_t(p.cells), last_cell = cells - 2;
    int32_t i = int32_t(row.first);
#if defined(__AVX2__)
    // Gathers two neighbouring cells as one number of 64 bits; lanes 0 1 4 5 and 2 3 6 7, as the shuffle joins them.
    const auto gather = [&](__m256i at, __m256 *left, __m256 *right) {
        at = _mm256_permutevar8x32_epi32(at, _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7));
        const double *base = reinterpret_cast<const double *>(factor);
        const __m256 a = _mm256_castpd_ps(_mm256_i32gather_pd(base, _mm256_castsi256_si128(at), 4));
        const __m256 b = _mm256_castpd_ps(_mm256_i32gather_pd(base, _mm256_extracti128_si256(at, 1), 4));
        *left = _mm256_shuffle_ps(a, b, 0x88), *right = _mm256_shuffle_ps(a, b, 0xdd);
    };
    const __m256 zero = _mm256_setzero_ps(), one = _mm256_set1_ps(1), end = _mm256_set1_ps(edge);
    const __m256i limit = _mm256_set1_epi32(last_cell), step = _mm256_set1_epi32(cells);
    for (; i < int32_t(row.last); i += 8) {
        const __m256 ix = _mm256_loadu_ps(row.ix + i), iz = _mm256_loadu_ps(row.iz + i);
        const auto cell = [&](__m256 v) {
            return _mm256_min_epi32(_mm256_max_epi32(_mm256_cvttps_epi32(v), _mm256_setzero_si256()), limit);
        };
        const __m256i jx = cell(ix), jz = cell(iz), at = _mm256_add_epi32(_mm256_mullo_epi32(jz, step), jx);
        const __m256 tx = _mm256_sub_ps(ix, _mm256_cvtepi32_ps(jx)), tz = _mm256_sub_ps(iz, _mm256_cvtepi32_ps(jz));
        __m256 f00, f01, f10, f11;
        gather(at, &f00, &f01);
        gather(_mm256_add_epi32(at, step), &f10, &f11);
        const __m256 near = _mm256_fmadd_ps(tx, _mm256_sub_ps(f01, f00), f00);
        const __m256 far = _mm256_fmadd_ps(tx, _mm256_sub_ps(f11, f10), f10);
        const auto within = [&](__m256 v) {
            return _mm256_and_ps(_mm256_cmp_ps(v, zero, _CMP_GE_OQ), _mm256_cmp_ps(v, end, _CMP_LT_OQ));
        };
        const __m256 shade = _mm256_fmadd_ps(tz, _mm256_sub_ps(far, near), near);
        _mm256_storeu_ps(row.shade + i, _mm256_blendv_ps(one, shade, _mm256_and_ps(within(ix), within(iz))));
    }
#endif
    for (; i < int32_t(row.last); ++i) {
        int32_t jx = int32_t(row.ix[i]), jz = int32_t(row.iz[i]);
        jx = jx < 0 ? 0 : jx > last_cell ? last_cell : jx;
        jz = jz < 0 ? 0 : jz > last_cell ? last_cell : jz;
        const float tx = row.ix[i] - float(jx), tz = row.iz[i] - float(jz);
        const int32_t at = jz * cells + jx;
        const float f00 = factor[at], f01 = factor[at + 1], f10 = factor[at + cells], f11 = factor[at + cells + 1];
        const float near = f00 + tx * (f01 - f00), far = f10 + tx * (f11 - f10), shade = near + tz * (far - near);
        row.shade[i] = row.inside[i] ? shade : 1.0f;
    }
}

// Keeps the costly part of a row for the backward pass, rounded to 16 bits.
static void keep_row(const PaintArguments &p, int64_t frame, int64_t y, const Row &row) {
    uint32_t *to = p.kept + (frame * p.rows + y) * p.width;
    p.spans[2 * (frame * p.rows + y)] = int32_t(row.first), p.spans[2 * (frame * p.rows + y) + 1] = int32_t(row.last);
    if (!row.ground) return;
    for (int64_t i = 0; i < p.width; ++i) {
        const float light = row.pattern[i] < 0 ? 0 : row.pattern[i];
        const int32_t low = int32_t(65535 * (light > 1 ? 1 : light) + 0.5f), high = int32_t(65535 * row.shade[i] + 0.5f);
        to[i] = uint32_t(low) | uint32_t(high) << 16;
    }
}

static void recall_row(const PaintArguments &p, int64_t frame, int64_t y, Row &row) {
    const uint32_t *from = p.kept + (frame * p.rows + y) * p.width;
    row.first = p.spans[2 * (frame * p.rows + y)], row.last = p.spans[2 * (frame * p.rows + y) + 1];
    row.ground = cover_row(p, frame, y, row.coverage);
    if (!row.ground) return;
    for (int64_t i = 0; i < p.width; ++i) {
        row.pattern[i] = float(int32_t(from[i] & 0xffff)) * (1 / 65535.0f);
        row.shade[i] = float(int32_t(from[i] >> 16)) * (1 / 65535.0f);
    }
    if (row.first >= row.last || !p.grad_shadow) return;
    float R[16];
    std::memcpy(R, p.cameras + frame * 16, sizeof R);
    const float v = (y + 0.5f - R[15]) / R[13], cx = R[14], per_fx = 1 / R[12];
    const float bx = v * R[3] + R[6], by = v * R[4] + R[7], bz = v * R[5] + R[8];
    const float rx = R[0], ry = R[1], rz = R[2], drop = p.height - R[10], per_cell = 1 / p.cell;
    const float ox = (R[9] - p.origin[2 * frame]) * per_cell, oz = (R[11] - p.origin[2 * frame + 1]) * per_cell;
    for (int32_t i = int32_t(row.first); i < int32_t(row.last); ++i) {
        const float u = (float(i) + 0.5f - cx) * per_fx, t = drop / (u * ry + by) * per_cell;
        row.ix[i] = ox + t * (u * rx + bx);
        row.iz[i] = oz + t * (u * rz + bz);
    }
}

// Copies a row past the cache, in whole cache lines: a store would first fetch the line that it overwrites.
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
        if (p.kept) keep_row(p, frame, y, row);
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
    const int32_t last_cell = int32_t(cells) - 2;
    float *g_shadow = p.grad_shadow ? p.grad_shadow + frame * cells * cells : nullptr;
    if (g_shadow) std::memset(g_shadow, 0, sizeof(float) * size_t(cells * cells));
    for (int64_t y = 0; y < p.rows; ++y) {
        recall_row(p, frame, y, row);
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
        // Neighbouring pixels mostly fall into one cell: its sums stay in registers until the cell changes.
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
            const float g = light[i] * (1 - alpha[i]);
            const int32_t jx = int32_t(row.ix[i]), jz = int32_t(row.iz[i]);
            if (!((row.ix[i] >= 0) & (row.iz[i] >= 0) & (jx <= last_cell) & (jz <= last_cell))) continue;
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
