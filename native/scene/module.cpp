// kinema._scene: posed Gaussians, their shadow, and ground and sky behind them. The callers in Python check the shapes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <optional>

#include "arguments.h"
#include "common/cpu.h"
#include "common/parallel.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace kinema;

namespace {

template <typename T> using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// Asks for pages of 2 MB: page faults of a fresh array of tens of megabytes cost more than computing into it.
void fresh(const Array<float> &array) {
#if defined(__linux__)
    const size_t bytes = array.size() * sizeof(float), page = 4096;
    if (bytes < (size_t(4) << 20)) return;
    const auto start = (reinterpret_cast<uintptr_t>(array.data()) + page - 1) / page * page;
    const auto end = (reinterpret_cast<uintptr_t>(array.data()) + bytes) / page * page;
    madvise(reinterpret_cast<void *>(start), end - start, MADV_HUGEPAGE);
#else
    (void)array;
#endif
}

template <typename Arguments> using Kernel = void (*)(const Arguments &, int64_t);

template <typename Arguments>
Kernel<Arguments> pick(Kernel<Arguments> base, Kernel<Arguments> avx2, Kernel<Arguments> avx512) {
    static const Isa isa = best_isa();
    return isa == Isa::avx512 ? avx512 : isa == Isa::avx2 ? avx2 : base;
}

template <typename Arguments>
void run(Kernel<Arguments> kernel, const Arguments &arguments, size_t frames, int threads) {
    nb::gil_scoped_release release;
    parallel(int64_t(frames), threads, [&](std::atomic<int64_t> &next) {
        for (int64_t frame; (frame = next++) < int64_t(frames);) kernel(arguments, frame);
    });
}

PoseArguments pose_arguments(const Array<const float> &transforms, const Array<const float> &rest,
                             const Array<const int32_t> &joints, const Array<const float> &weights,
                             const std::optional<Array<const float>> &offsets) {
    PoseArguments p{};
    p.offsets = offsets ? offsets->data() : nullptr;
    p.transforms = transforms.data();
    p.rest = rest.data();
    p.joints = joints.data();
    p.weights = weights.data();
    p.joint_count = int64_t(transforms.shape(1));
    p.count = int64_t(joints.shape(0));
    p.influences = int64_t(joints.shape(1));
    return p;
}

void pose_forward(Array<const float> transforms, Array<const float> rest, Array<const int32_t> joints,
                  Array<const float> weights, std::optional<Array<const float>> offsets, Array<float> centers,
                  Array<float> covariances, int threads) {
    PoseArguments p = pose_arguments(transforms, rest, joints, weights, offsets);
    fresh(centers);
    fresh(covariances);
    p.centers = centers.data();
    p.covariances = covariances.data();
    run(pick(base::pose_forward, avx2::pose_forward, avx512::pose_forward), p, transforms.shape(0), threads);
}

void pose_backward(Array<const float> transforms, Array<const float> rest, Array<const int32_t> joints,
                   Array<const float> weights, std::optional<Array<const float>> offsets,
                   Array<const float> grad_centers, Array<const float> grad_covariances,
                   Array<float> grad_transforms, int threads) {
    PoseArguments p = pose_arguments(transforms, rest, joints, weights, offsets);
    p.grad_centers = grad_centers.data();
    p.grad_covariances = grad_covariances.data();
    p.grad_transforms = grad_transforms.data();
    run(pick(base::pose_backward, avx2::pose_backward, avx512::pose_backward), p, transforms.shape(0), threads);
}

PaintArguments paint_arguments(const Array<const float> &alpha, const Array<const float> &cameras,
                               const std::optional<Array<const float>> &shadow,
                               const std::optional<Array<const float>> &origin, const Array<const float> &colors,
                               float cell, float tile, float height, float farthest) {
    PaintArguments p{};
    p.alpha = alpha.data();
    p.cameras = cameras.data();
    p.rows = int64_t(alpha.shape(1));
    p.width = int64_t(alpha.shape(2));
    if (p.width > kWidest) throw nb::value_error("an image is at most 4096 pixels wide");
    if (shadow) {
        p.shadow = shadow->data();
        p.origin = origin->data();
        p.cells = int64_t(shadow->shape(1));
    }
    p.colors = colors.data();
    p.cell = cell;
    p.tile = tile;
    p.height = height;
    p.farthest = farthest;
    return p;
}

void paint_forward(Array<const float> features, Array<const float> alpha, Array<const float> cameras,
                   std::optional<Array<const float>> shadow, std::optional<Array<const float>> origin,
                   Array<const float> colors, float cell, float tile, float height, float farthest,
                   Array<float> image, std::optional<Array<int32_t>> kept, std::optional<Array<int32_t>> spans,
                   int threads) {
    PaintArguments p = paint_arguments(alpha, cameras, shadow, origin, colors, cell, tile, height, farthest);
    p.features = features.data();
    fresh(image);
    p.image = image.data();
    p.kept = kept ? reinterpret_cast<uint32_t *>(kept->data()) : nullptr;
    p.spans = spans ? spans->data() : nullptr;
    p.past_cache = image.size() * sizeof(float) > size_t(4) << 20;
    run(pick(base::paint_forward, avx2::paint_forward, avx512::paint_forward), p, alpha.shape(0), threads);
}

void paint_backward(Array<const float> alpha, Array<const float> cameras, std::optional<Array<const float>> shadow,
                    std::optional<Array<const float>> origin, Array<const float> colors, float cell, float tile,
                    float height, float farthest, Array<int32_t> kept, Array<int32_t> spans,
                    Array<const float> grad_image, Array<float> grad_alpha, std::optional<Array<float>> grad_shadow,
                    int threads) {
    PaintArguments p = paint_arguments(alpha, cameras, shadow, origin, colors, cell, tile, height, farthest);
    p.kept = reinterpret_cast<uint32_t *>(kept.data());
    p.spans = spans.data();
    p.grad_image = grad_image.data();
    fresh(grad_alpha);
    p.grad_alpha = grad_alpha.data();
    p.grad_shadow = grad_shadow ? grad_shadow->data() : nullptr;
    run(pick(base::paint_backward, avx2::paint_backward, avx512::paint_backward), p, alpha.shape(0), threads);
}

ShadowArguments shadow_arguments(const Array<const float> &centers, const Array<const float> &covariances,
                                 const Array<const float> &opacities, const Array<const float> &origin,
                                 const Array<float> &mass, int64_t step, float cell, float gain, float kappa,
                                 float height, float strength, float tiny) {
    ShadowArguments p{};
    p.centers = centers.data();
    p.covariances = covariances.data();
    p.opacities = opacities.data();
    p.opacity_per_frame = opacities.ndim() == 2;
    p.origin = origin.data();
    p.mass = mass.data();
    p.cells = int64_t(mass.shape(2));
    p.count = int64_t(centers.shape(1));
    p.step = step;
    p.per_cell = 1 / cell;
    p.gain = gain;
    p.kappa = kappa;
    p.height = height;
    p.strength = strength;
    p.tiny = tiny;
    return p;
}

void shadow_forward(Array<const float> centers, Array<const float> covariances, Array<const float> opacities,
                    Array<const float> origin, Array<float> mass, int64_t step, float cell, float gain, float kappa,
                    float height, float strength, float tiny, Array<float> factor, int threads) {
    ShadowArguments p = shadow_arguments(centers, covariances, opacities, origin, mass, step, cell, gain, kappa,
                                         height, strength, tiny);
    p.factor = factor.data();
    run(pick(base::shadow_forward, avx2::shadow_forward, avx512::shadow_forward), p, centers.shape(0), threads);
}

// Adds to grad_centers.
void shadow_backward(Array<const float> centers, Array<const float> covariances, Array<const float> opacities,
                     Array<const float> origin, Array<float> mass, int64_t step, float cell, float gain, float kappa,
                     float height, float strength, float tiny, Array<const float> grad_factor,
                     Array<float> grad_centers, int threads) {
    ShadowArguments p = shadow_arguments(centers, covariances, opacities, origin, mass, step, cell, gain, kappa,
                                         height, strength, tiny);
    p.grad_factor = grad_factor.data();
    p.grad_centers = grad_centers.data();
    run(pick(base::shadow_backward, avx2::shadow_backward, avx512::shadow_backward), p, centers.shape(0), threads);
}

void bounds(Array<const float> centers, Array<float> boxes, int threads) {
    ShadowArguments p{};
    p.centers = centers.data();
    p.count = int64_t(centers.shape(1));
    p.boxes = boxes.data();
    run(pick(base::bounds, avx2::bounds, avx512::bounds), p, centers.shape(0), threads);
}

}  // namespace

NB_MODULE(_scene, m) {
    m.def("pose_forward", &pose_forward, "transforms"_a, "rest"_a, "joints"_a, "weights"_a, "offsets"_a.none(),
          "centers"_a, "covariances"_a, "threads"_a);
    m.def("pose_backward", &pose_backward, "transforms"_a, "rest"_a, "joints"_a, "weights"_a, "offsets"_a.none(),
          "grad_centers"_a, "grad_covariances"_a, "grad_transforms"_a, "threads"_a);
    m.def("bounds", &bounds, "centers"_a, "boxes"_a, "threads"_a);
    m.def("shadow_forward", &shadow_forward, "centers"_a, "covariances"_a, "opacities"_a, "origin"_a, "mass"_a, "step"_a,
          "cell"_a, "gain"_a, "kappa"_a, "height"_a, "strength"_a, "tiny"_a, "factor"_a, "threads"_a);
    m.def("shadow_backward", &shadow_backward, "centers"_a, "covariances"_a, "opacities"_a, "origin"_a, "mass"_a,
          "step"_a, "cell"_a, "gain"_a, "kappa"_a, "height"_a, "strength"_a, "tiny"_a, "grad_factor"_a,
          "grad_centers"_a, "threads"_a);
    m.def("paint_forward", &paint_forward, "features"_a, "alpha"_a, "cameras"_a, "shadow"_a.none(), "origin"_a.none(),
          "colors"_a, "cell"_a, "tile"_a, "height"_a, "farthest"_a, "image"_a, "kept"_a.none(), "spans"_a.none(),
          "threads"_a);
    m.def("paint_backward", &paint_backward, "alpha"_a, "cameras"_a, "shadow"_a.none(), "origin"_a.none(), "colors"_a,
          "cell"_a, "tile"_a, "height"_a, "farthest"_a, "kept"_a, "spans"_a, "grad_image"_a, "grad_alpha"_a,
          "grad_shadow"_a.none(), "threads"_a);
}
