// kinema._contact: pairs of faces of a skinned mesh that intersect in a pose and not at rest.
// The caller in Python checks shapes, indices and that all numbers are finite.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "common/parallel.h"
#include "tree.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace kinema;

namespace {

template <typename T> using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

nb::object pairs(const SelfContact &tree, Array<const double> poses, int threads) {
    const int64_t frames = int64_t(poses.shape(0)), stride = int64_t(poses.shape(1)) * 3;
    std::vector<std::vector<int64_t>> found(static_cast<size_t>(frames));
    {
        nb::gil_scoped_release release;
        parallel(frames, threads, [&](std::atomic<int64_t> &next) {
            Scratch scratch;
            for (int64_t f; (f = next++) < frames;) {
                tree.find(poses.data() + f * stride, scratch);
                found[size_t(f)] = scratch.pairs;
            }
        });
    }
    size_t count = 0;
    for (const auto &of : found) count += of.size();
    auto *data = new int32_t[3 * count + 1];
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<int32_t *>(p); });
    int32_t *row = data;
    for (size_t f = 0; f < found.size(); ++f)
        for (const int64_t pair : found[f]) {
            *row++ = int32_t(f);
            *row++ = int32_t(pair >> 32);
            *row++ = int32_t(pair);
        }
    return nb::cast(nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(data, {count, 3}, owner));
}

}  // namespace

NB_MODULE(_contact, m) {
    nb::class_<SelfContact>(m, "SelfContact")
        .def("__init__",
             [](SelfContact *self, Array<const int32_t> faces, Array<const int32_t> group, Array<const double> rest,
                double near) {
                 nb::gil_scoped_release release;
                 new (self) SelfContact(faces.data(), int64_t(faces.shape(0)), group.data(), rest.data(), near);
             },
             "faces"_a, "group"_a, "rest"_a, "near"_a)
        .def("pairs", &pairs, "poses"_a, "threads"_a);
}
