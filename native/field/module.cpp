// Python module kinema._field: what of a mesh lies between two points, as Pinocchio sees it. All lengths are edges of the
// unit cube that holds the mesh. Checks nothing but what would crash; its caller in Python knows the shapes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "octree.h"

namespace nb = nanobind;
using namespace kinema;

namespace {

template <typename T> using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

Surface surface(const Array<const double> &corners, const Array<const double> &face_normals,
                const Array<const double> &edge_normals, const Array<const double> &corner_normals) {
    if (corners.shape(0) == 0) throw nb::value_error("a field needs at least one face");
    return Surface(corners.data(), int64_t(corners.shape(0)), face_normals.data(), edge_normals.data(),
                   corner_normals.data());
}

Vec point(const Array<const double> &points, size_t i) {
    const double *p = points.data() + 3 * i;
    return {p[0], p[1], p[2]};
}

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
    m.def("distances", &distances);
    m.def("clear", &clear);
}
