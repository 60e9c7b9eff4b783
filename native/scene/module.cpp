// Python module kinema._scene: checks nothing but what would crash; its callers in Python know the shapes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "arguments.h"

namespace nb = nanobind;
using namespace kinema;

namespace {

template <typename T> using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

enum class Isa { base, avx2, avx512 };

Isa best() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return Isa::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
    return Isa::base;
}

// A fresh array of tens of megabytes costs more in page faults than what we compute into it; 2 MB pages make that cheap
// where the kernel grants them. Asking changes nothing else.
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
    static const Isa isa = best();
    return isa == Isa::avx512 ? avx512 : isa == Isa::avx2 ? avx2 : base;
}

// Frames write to disjoint memory, so the result does not depend on the number of threads.
template <typename Arguments>
void run(Kernel<Arguments> kernel, const Arguments &arguments, int64_t frames, int threads) {
    std::atomic<int64_t> next{0};
    auto work = [&] {
        for (int64_t frame; (frame = next.fetch_add(1)) < frames;) kernel(arguments, frame);
    };
    std::vector<std::thread> pool;
    for (int k = 1; k < threads && k < frames; ++k) pool.emplace_back(work);
    work();
    for (auto &thread : pool) thread.join();
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
    nb::gil_scoped_release release;
    run(pick(base::pose_forward, avx2::pose_forward, avx512::pose_forward), p, int64_t(transforms.shape(0)), threads);
}

void pose_backward(Array<const float> transforms, Array<const float> rest, Array<const int32_t> joints,
                   Array<const float> weights, std::optional<Array<const float>> offsets,
                   Array<const float> grad_centers, Array<const float> grad_covariances,
                   Array<float> grad_transforms, int threads) {
    PoseArguments p = pose_arguments(transforms, rest, joints, weights, offsets);
    p.grad_centers = grad_centers.data();
    p.grad_covariances = grad_covariances.data();
    p.grad_transforms = grad_transforms.data();
    nb::gil_scoped_release release;
    run(pick(base::pose_backward, avx2::pose_backward, avx512::pose_backward), p, int64_t(transforms.shape(0)),
        threads);
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
    nb::gil_scoped_release release;
    run(pick(base::paint_forward, avx2::paint_forward, avx512::paint_forward), p, int64_t(alpha.shape(0)), threads);
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
    nb::gil_scoped_release release;
    run(pick(base::paint_backward, avx2::paint_backward, avx512::paint_backward), p, int64_t(alpha.shape(0)), threads);
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
    nb::gil_scoped_release release;
    run(pick(base::shadow_forward, avx2::shadow_forward, avx512::shadow_forward), p, int64_t(centers.shape(0)),
        threads);
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
    nb::gil_scoped_release release;
    run(pick(base::shadow_backward, avx2::shadow_backward, avx512::shadow_backward), p, int64_t(centers.shape(0)),
        threads);
}

void bounds(Array<const float> centers, Array<float> boxes, int threads) {
    ShadowArguments p{};
    p.centers = centers.data();
    p.count = int64_t(centers.shape(1));
    p.boxes = boxes.data();
    nb::gil_scoped_release release;
    run(pick(base::bounds, avx2::bounds, avx512::bounds), p, int64_t(centers.shape(0)), threads);
}

}  // namespace

NB_MODULE(_scene, m) {
    m.def("pose_forward", &pose_forward, nb::arg("transforms"), nb::arg("rest"), nb::arg("joints"), nb::arg("weights"),
          nb::arg("offsets").none(), nb::arg("centers"), nb::arg("covariances"), nb::arg("threads"));
    m.def("pose_backward", &pose_backward, nb::arg("transforms"), nb::arg("rest"), nb::arg("joints"),
          nb::arg("weights"), nb::arg("offsets").none(), nb::arg("grad_centers"), nb::arg("grad_covariances"),
          nb::arg("grad_transforms"), nb::arg("threads"));
    m.def("bounds", &bounds);
    m.def("shadow_forward", &shadow_forward);
    m.def("shadow_backward", &shadow_backward);
    m.def("paint_forward", &paint_forward, nb::arg("features"), nb::arg("alpha"), nb::arg("cameras"),
          nb::arg("shadow").none(), nb::arg("origin").none(), nb::arg("colors"), nb::arg("cell"), nb::arg("tile"),
          nb::arg("height"), nb::arg("farthest"), nb::arg("image"), nb::arg("kept").none(), nb::arg("spans").none(),
          nb::arg("threads"));
    m.def("paint_backward", &paint_backward, nb::arg("alpha"), nb::arg("cameras"), nb::arg("shadow").none(),
          nb::arg("origin").none(), nb::arg("colors"), nb::arg("cell"), nb::arg("tile"), nb::arg("height"),
          nb::arg("farthest"), nb::arg("kept"), nb::arg("spans"), nb::arg("grad_image"), nb::arg("grad_alpha"),
          nb::arg("grad_shadow").none(), nb::arg("threads"));
}
