// kinema._field: distances to a mesh in the unit cube, and segments that stay inside it (Pinocchio's distance field).
// The caller in Python checks the shapes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "octree.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace kinema;

namespace {

template <typename T> using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

Surface surface(const Array<const double> &corners, const Array<const double> &face_normals,
                const Array<const double> &edge_normals, const Array<const double> &corner_normals) {
    if (corners.shape(0) == 0) throw nb::value_error("a field needs at least one face");
    return Surface(corners.data(), int64_t(corners.shape(0)), face_normals.data(), edge_normals.data(),
                   corner_normals.data());
}

Point point(const Array<const double> &points, size_t i) { return load(points.data() + 3 * i); }

void distances(Array<const double> corners, Array<const double> face_normals, Array<const double> edge_normals,
               Array<const double> corner_normals, Array<const double> points, Array<double> result) {
    nb::gil_scoped_release release;
    const Surface mesh = surface(corners, face_normals, edge_normals, corner_normals);
    int32_t face = 0;
    for (size_t i = 0; i < points.shape(0); ++i) result.data()[i] = mesh.distance(point(points, i), face);
}

void clear(Array<const double> corners, Array<const double> face_normals, Array<const double> edge_normals,
           Array<const double> corner_normals, Array<const double> from, Array<const double> to, double tolerance,
           double slack, int steps, Array<uint8_t> result) {
    nb::gil_scoped_release release;
    const Surface mesh = surface(corners, face_normals, edge_normals, corner_normals);
    Octree tree(mesh, tolerance, slack);
    for (size_t i = 0; i < from.shape(0); ++i) result.data()[i] = tree.clear(point(from, i), point(to, i), steps);
}

}  // namespace

NB_MODULE(_field, m) {
    m.def("distances", &distances, "corners"_a, "face_normals"_a, "edge_normals"_a, "corner_normals"_a, "points"_a,
          "result"_a);
    m.def("clear", &clear, "corners"_a, "face_normals"_a, "edge_normals"_a, "corner_normals"_a, "from_points"_a,
          "to_points"_a, "tolerance"_a, "slack"_a, "steps"_a, "result"_a);
}
