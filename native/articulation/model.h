// The constants of a simulation: read from Python by name, checked, and copied into the layout of the kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <forward_list>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "views.h"

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// Keyword arguments that are read one by one; an error names the field and says what is wrong with it.
class Fields {
  public:
    explicit Fields(nb::kwargs fields) : fields_(std::move(fields)) {}

    bool has(const char* name) const { return fields_.contains(name); }

    // `shape` may have -1 for any size.
    template <class T>
    Array<const T> array(const char* name, std::vector<int64_t> shape) {
        Array<const T> found;
        if (!nb::try_cast(take(name), found, false)) fail(name, "is not a dense array on the CPU of the model's dtype");
        bool fits = found.ndim() == shape.size();
        for (size_t k = 0; fits && k < shape.size(); ++k) fits = shape[k] < 0 || int64_t(found.shape(k)) == shape[k];
        if (fits) return found;
        std::vector<int64_t> actual;
        for (size_t k = 0; k < found.ndim(); ++k) actual.push_back(int64_t(found.shape(k)));
        fail(name, "has the shape " + list(actual) + ", not " + list(shape));
    }

    double number(const char* name) {
        double found;
        if (!nb::try_cast(take(name), found)) fail(name, "is not a number");
        return found;
    }

    // Call it after the last field was read.
    void expect_no_others() const {
        for (auto [name, value] : fields_)
            if (const auto text = nb::cast<std::string>(name); !read_.count(text)) fail(text, "is unknown");
    }

    [[noreturn]] static void fail(const std::string& name, const std::string& what) {
        throw std::invalid_argument("model field '" + name + "' " + what);
    }

  private:
    nb::object take(const char* name) {
        if (!has(name)) fail(name, "is missing");
        read_.insert(name);
        return fields_[name];
    }

    static std::string list(const std::vector<int64_t>& shape) {
        std::string text;
        for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
        return "[" + text + "]";
    }

    nb::kwargs fields_;
    std::set<std::string> read_;
};

// Owns what its view points to, so that the caller's tensors may go away.
template <class T>
struct Model {
    std::vector<int32_t> parents;
    std::forward_list<std::vector<T>> arrays;
    ModelView<T> view{};

    T* keep(std::vector<T> values) { return arrays.emplace_front(std::move(values)).data(); }
    T* keep(const Array<const T>& values) { return keep(std::vector<T>(values.data(), values.data() + values.size())); }
};

// Centre and radius of a ball around eight corners.
template <class T>
void enclose(const T* corners, T* ball) {
    for (int c = 0; c < 3; ++c) {
        ball[c] = 0;
        for (int k = 0; k < 8; ++k) ball[c] += corners[3 * k + c] / 8;
    }
    ball[3] = 0;
    for (int k = 0; k < 8; ++k) {
        T sum = 0;
        for (int c = 0; c < 3; ++c) sum += (corners[3 * k + c] - ball[c]) * (corners[3 * k + c] - ball[c]);
        ball[3] = std::max(ball[3], std::sqrt(sum));
    }
}

// Gives every joint the frame of its own rotation axes instead of the world's at rest: one matrix product less per joint
// and step. `axes` become those seen from the parent's frame.
template <class T>
void turn_to_axes(const int32_t* parents, int joints, T* offsets, T* axes, T* com, T* inertia, T* corners) {
    auto into = [](const T* A, T* v) {  // v = Aᵀ v
        const T x = v[0], y = v[1], z = v[2];
        for (int k = 0; k < 3; ++k) v[k] = A[k] * x + A[3 + k] * y + A[6 + k] * z;
    };
    for (int j = joints - 1; j >= 0; --j) {
        T* A = axes + 9 * j;
        into(A, com + 3 * j);
        for (int k = 0; k < 8; ++k) into(A, corners + 24 * j + 3 * k);
        T* s = inertia + 6 * j;
        T I[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};  // rows; symmetric
        for (int r = 0; r < 3; ++r) into(A, I + 3 * r);
        T columns[9];
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) columns[3 * c + r] = I[3 * r + c];
        for (int c = 0; c < 3; ++c) into(A, columns + 3 * c);
        s[0] = columns[0], s[1] = columns[4], s[2] = columns[8];
        s[3] = columns[1], s[4] = columns[2], s[5] = columns[5];
        if (parents[j] < 0) continue;
        const T* P = axes + 9 * parents[j];  // still its own: parents come before their children
        into(P, offsets + 3 * j);
        T seen[9];
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) seen[3 * r + c] = P[r] * A[c] + P[3 + r] * A[3 + c] + P[6 + r] * A[6 + c];
        std::copy(seen, seen + 9, A);
    }
}

template <class T>
Model<T>* make_model(nb::kwargs keywords) {
    Fields fields(keywords);
    auto model = std::make_unique<Model<T>>();
    ModelView<T>& v = model->view;
    const auto parents = fields.array<int32_t>("parents", {-1});
    const int64_t J = int64_t(parents.shape(0)), n = 3 + 3 * J;
    model->parents.assign(parents.data(), parents.data() + J);
    for (int64_t j = 0; j < J; ++j)
        if (model->parents[j] >= j || model->parents[j] < (j ? 0 : -1))
            Fields::fail("parents", "has a joint before its parent, or a second root: joint " + std::to_string(j));
    v.joints = int(J), v.parents = model->parents.data();
    const auto keep = [&](const char* name, std::vector<int64_t> shape) {
        return model->keep(fields.array<T>(name, std::move(shape)));
    };
    const auto number = [&](const char* name) { return static_cast<T>(fields.number(name)); };

    T *offsets = keep("offsets", {J, 3}), *axes = keep("axes", {J, 3, 3}), *com = keep("com", {J, 3});
    T *full = keep("inertia", {J, 3, 3}), *points = keep("corners", {J, 8, 3});
    v.mass = keep("mass", {J});
    v.stiffness = keep("stiffness", {n}), v.damping = keep("damping", {n}), v.armature = keep("armature", {n});
    v.lower = keep("lower", {n}), v.upper = keep("upper", {n});
    v.stop_stiffness = keep("stop_stiffness", {n}), v.stop_damping = keep("stop_damping", {n});
    v.stop_ramp = number("stop_ramp");
    const T* gravity = keep("gravity", {3});
    std::copy(gravity, gravity + 3, v.gravity);
    v.contact_stiffness = number("contact_stiffness"), v.contact_damping = number("contact_damping");
    v.contact_ramp = number("contact_ramp");
    v.friction = number("friction"), v.slip_speed = number("slip_speed"), v.most_speed = number("most_speed");
    if (fields.has("terrain")) {
        const auto heights = fields.array<T>("terrain", {-1, -1});
        if (!heights.size()) Fields::fail("terrain", "is empty");
        v.terrain = model->keep(heights), v.rows = int(heights.shape(0)), v.columns = int(heights.shape(1));
        v.terrain_x = number("terrain_x"), v.terrain_z = number("terrain_z"), v.terrain_step = number("terrain_step");
        v.terrain_top = *std::max_element(v.terrain, v.terrain + heights.size());
    }
    fields.expect_no_others();

    std::vector<T> inertia, corners(24 * J), ball(4 * J);
    for (int64_t j = 0; j < J; ++j)
        for (const int k : {0, 4, 8, 1, 2, 5}) inertia.push_back(full[9 * j + k]);
    turn_to_axes(v.parents, v.joints, offsets, axes, com, inertia.data(), points);
    for (int64_t j = 0; j < J; ++j) {
        enclose(points + 24 * j, ball.data() + 4 * j);
        // [8, 3] to [3, 8]: the kernel takes eight corners at a time.
        for (int k = 0; k < 24; ++k) corners[24 * j + k % 3 * 8 + k / 3] = points[24 * j + k];
    }
    v.offsets = offsets, v.axes = axes, v.com = com;
    v.inertia = model->keep(std::move(inertia)), v.corners = model->keep(std::move(corners));
    v.ball = model->keep(std::move(ball));
    return model.release();
}
