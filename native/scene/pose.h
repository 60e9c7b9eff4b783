// Linear blend skinning of Gaussians: centres and covariances, forwards and backwards.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "arguments.h"

namespace kinema {
namespace KINEMA_ISA {

typedef float v4 __attribute__((vector_size(16)));

static inline v4 load4(const float *from) {
    v4 value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

static inline void store4(float *to, v4 value) { std::memcpy(to, &value, sizeof value); }

// Rows of the blended map M = sum of w T, and of A = M [H x; 0 1] = [half of the posed covariance | posed centre].
struct Posed {
    v4 m[3], a[3];
};

static inline Posed pose_one(const PoseArguments &p, const float *T, int64_t n) {
    Posed r;
    const int32_t *joints = p.joints + n * p.influences;
    const float *weights = p.weights + n * p.influences;
    const float *offset = p.offsets ? p.offsets + 4 * n * p.influences : nullptr;
    v4 shift[3];
    for (int i = 0; i < 3; ++i) r.m[i] = shift[i] = v4{0, 0, 0, 0};
    for (int64_t k = 0; k < p.influences; ++k) {
        const float *t = T + 12 * int64_t(joints[k]);
        const v4 w = {weights[k], weights[k], weights[k], weights[k]};
        for (int i = 0; i < 3; ++i) r.m[i] += w * load4(t + 4 * i);
        if (offset)
            for (int i = 0; i < 3; ++i) shift[i] += w * load4(t + 4 * i) * load4(offset + 4 * k);
    }
    const float *rest = p.rest + 12 * n;
    const v4 h0 = load4(rest), h1 = load4(rest + 4), h2 = load4(rest + 8);
    for (int i = 0; i < 3; ++i) {
        const v4 m = r.m[i];
        const float moved = m[3] + (shift[i][0] + shift[i][1] + shift[i][2]);
        r.a[i] = m[0] * h0 + m[1] * h1 + m[2] * h2 + v4{0, 0, 0, moved};
    }
    return r;
}

void pose_forward(const PoseArguments &p, int64_t frame) {
    const float *T = p.transforms + frame * p.joint_count * 12;
    float *center = p.centers + frame * p.count * 3;
    float *covariance = p.covariances + frame * p.count * 9;
    for (int64_t n = 0; n < p.count; ++n, center += 3, covariance += 9) {
        const Posed r = pose_one(p, T, n);
        v4 column[3];
        for (int j = 0; j < 3; ++j) column[j] = v4{r.a[0][j], r.a[1][j], r.a[2][j], 0};
        for (int i = 0; i < 3; ++i) {
            center[i] = r.a[i][3];
            const v4 row = r.a[i][0] * column[0] + r.a[i][1] * column[1] + r.a[i][2] * column[2];
            for (int j = 0; j < 3; ++j) covariance[3 * i + j] = row[j];
        }
    }
}

void pose_backward(const PoseArguments &p, int64_t frame) {
    const float *T = p.transforms + frame * p.joint_count * 12;
    const float *g_center = p.grad_centers + frame * p.count * 3;
    const float *g_covariance = p.grad_covariances + frame * p.count * 9;
    float *g_T = p.grad_transforms + frame * p.joint_count * 12;
    std::memset(g_T, 0, sizeof(float) * 12 * size_t(p.joint_count));
    for (int64_t n = 0; n < p.count; ++n, g_center += 3, g_covariance += 9) {
        const Posed r = pose_one(p, T, n);
        const float *rest = p.rest + 12 * n;
        const float *g = g_covariance;
        // d(A Aᵀ) pulls back to (G + Gᵀ) A; the fourth column is the centre's.
        const float s[3][3] = {{2 * g[0], g[1] + g[3], g[2] + g[6]},
                               {g[1] + g[3], 2 * g[4], g[5] + g[7]},
                               {g[2] + g[6], g[5] + g[7], 2 * g[8]}};
        v4 g_m[3];
        for (int i = 0; i < 3; ++i) {
            v4 g_a = s[i][0] * r.a[0] + s[i][1] * r.a[1] + s[i][2] * r.a[2];
            g_a[3] = g_center[i];
            v4 dot = {0, 0, 0, g_center[i]};
            for (int k = 0; k < 3; ++k) {
                const v4 product = g_a * load4(rest + 4 * k);
                dot[k] = (product[0] + product[1]) + (product[2] + product[3]);
            }
            g_m[i] = dot;
        }
        const int32_t *joints = p.joints + n * p.influences;
        const float *weights = p.weights + n * p.influences;
        const float *offset = p.offsets ? p.offsets + 4 * n * p.influences : nullptr;
        for (int64_t k = 0; k < p.influences; ++k) {
            float *t = g_T + 12 * int64_t(joints[k]);
            const v4 w = {weights[k], weights[k], weights[k], weights[k]};
            if (offset) {
                const v4 seen = load4(offset + 4 * k);
                for (int i = 0; i < 3; ++i)
                    store4(t + 4 * i, load4(t + 4 * i) + w * (g_m[i] + g_center[i] * seen));
            } else {
                for (int i = 0; i < 3; ++i) store4(t + 4 * i, load4(t + 4 * i) + w * g_m[i]);
            }
        }
    }
}

}  // namespace KINEMA_ISA
}  // namespace kinema
