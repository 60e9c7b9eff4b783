// Arguments of the kernels. All arrays are dense float32 unless they say otherwise.
#pragma once

#include <cstdint>

namespace kinema {

constexpr int64_t kWidest = 4096;  // pixels in a row of the image

struct PoseArguments {
    const float *transforms;  // frames x joints x 3 x 4, from rest to pose
    const float *rest;        // count x 3 x 4: rows [half of the covariance | centre]
    const int32_t *joints;    // count x influences
    const float *weights;
    const float *offsets;          // count x influences x 4: the point as each joint sees it, minus the point; or null
    float *centers, *covariances;  // frames x count x 3, x 3 x 3
    const float *grad_centers, *grad_covariances;
    float *grad_transforms;
    int64_t joint_count, count, influences;
};

struct PaintArguments {
    const float *features, *alpha;  // frames x 3 x rows x width, frames x rows x width
    const float *cameras;           // frames x (rotation 9, eye 3, focal and centre 4)
    const float *shadow, *origin;   // frames x cells x cells, frames x 2; null without shadow
    const float *colors;            // sky, dark, light
    float *image;
    const float *grad_image;
    float *grad_alpha, *grad_shadow;
    uint32_t *kept;    // frames x rows x width: pattern | shade << 16, for the backward pass; or null
    int32_t *spans;    // frames x rows x 2: first and past the last pixel inside the shadow's grid; or null
    bool past_cache;  // the image is too large to stay in the cache until it is read
    float cell, tile, height, farthest;
    int64_t rows, width, cells;
};

struct ShadowArguments {
    const float *centers, *covariances, *opacities;  // frames x count x 3, x 3 x 3, [frames x] count
    const float *origin;                             // frames x 2
    float *mass, *factor;                            // frames x 2 x cells x cells, frames x cells x cells
    const float *grad_factor;
    float *grad_centers;  // the gradient is added to it
    float *boxes;  // frames x 6: least x, y, z, then greatest
    float per_cell, gain, kappa, height, strength, tiny;
    int64_t count, step, cells;
    bool opacity_per_frame;
};

#define KINEMA_DECLARE(isa)                                \
    namespace isa {                                        \
    void pose_forward(const PoseArguments &, int64_t);     \
    void pose_backward(const PoseArguments &, int64_t);    \
    void paint_forward(const PaintArguments &, int64_t);   \
    void paint_backward(const PaintArguments &, int64_t);  \
    void shadow_forward(const ShadowArguments &, int64_t); \
    void shadow_backward(const ShadowArguments &, int64_t); \
    void bounds(const ShadowArguments &, int64_t);         \
    }
KINEMA_DECLARE(base)
KINEMA_DECLARE(avx2)
KINEMA_DECLARE(avx512)

}  // namespace kinema
