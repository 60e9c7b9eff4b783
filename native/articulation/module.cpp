// kinema._articulation: rollouts of articulated bodies and their adjoint, for float32 and float64 tensors on the CPU.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "rollout.h"

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
struct Model {
    std::vector<int32_t> parents;
    std::vector<T> data;
    ModelView<T> view;
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

// Give every joint the frame of its own rotation axes instead of the world's at rest: one matrix product less per joint
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

// The constants of a model, copied, so that the caller's tensors may go away.
template <class T>
Model<T>* make_model(nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> parents,
                     std::vector<Array<const T>> arrays, std::vector<double> scalars) {
    const size_t J = parents.shape(0), n = 3 + 3 * J;
    const size_t sizes[] = {3 * J, 9 * J, J, 3 * J, 6 * J, 24 * J, n, n, n, n, n, n, n};
    // With a fourteenth array, the heights of a terrain, come three numbers: where it begins and how far it steps.
    const bool rough = arrays.size() == 14;
    if ((arrays.size() != 13 && !rough) || scalars.size() != (rough ? 13 : 10))
        throw std::invalid_argument("articulation: wrong model");
    auto* model = new Model<T>;
    model->parents.assign(parents.data(), parents.data() + J);
    size_t total = 0;
    for (size_t i = 0; i < 13; ++i) {
        if (arrays[i].size() != sizes[i]) {
            delete model;
            throw std::invalid_argument("articulation: model array " + std::to_string(i) + " has the wrong size");
        }
        total += sizes[i];
    }
    const size_t points = rough ? arrays[13].size() : 0;
    model->data.reserve(total + 4 * J + points);
    T* at[13];
    for (size_t i = 0; i < 13; ++i) {
        at[i] = model->data.data() + model->data.size();
        model->data.insert(model->data.end(), arrays[i].data(), arrays[i].data() + sizes[i]);
    }
    turn_to_axes(model->parents.data(), int(J), at[0], at[1], at[3], at[4], at[5]);
    T* ball = model->data.data() + total;
    model->data.resize(total + 4 * J);
    for (size_t j = 0; j < J; ++j) {
        enclose(at[5] + 24 * j, ball + 4 * j);
        // [8, 3] to [3, 8], which the kernel takes eight at a time.
        T turned[24];
        for (int k = 0; k < 24; ++k) turned[k % 3 * 8 + k / 3] = at[5][24 * j + k];
        std::copy(turned, turned + 24, at[5] + 24 * j);
    }
    auto s = [&](int i) { return static_cast<T>(scalars[i]); };
    model->view = {int(J), model->parents.data(), at[0], at[1], at[2], at[3], at[4], at[5], ball, at[6], at[7],
                   at[8], at[9], at[10], at[11], at[12], s(0), {s(1), s(2), s(3)}, s(4), s(5), s(6), s(7), s(8), s(9), nullptr, 0, 0, 0, 0, 0, 0};
    if (points) {
        const T* heights = model->data.data() + model->data.size();
        model->data.insert(model->data.end(), arrays[13].data(), arrays[13].data() + points);
        auto& v = model->view;
        v.terrain = heights, v.rows = int(arrays[13].shape(0)), v.columns = int(arrays[13].shape(1));
        v.terrain_x = s(10), v.terrain_z = s(11), v.terrain_step = s(12);
        v.terrain_top = *std::max_element(heights, heights + points);
    }
    return model;
}

static bool has_avx2() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

// Motions that die out (a symmetric body's sideways drift) decay into denormal numbers, which are 10x slower.
struct FlushDenormals {
#if defined(__x86_64__)
    unsigned saved = _mm_getcsr();
    FlushDenormals() { _mm_setcsr(saved | 0x8040); }
    ~FlushDenormals() { _mm_setcsr(saved); }
#endif
};

template <class T>
void run(const RolloutView<T>& r, bool back, int threads) {
    const bool fast = has_avx2();
    const size_t bytes = fast ? avx2::scratch_bytes(r) : base::scratch_bytes(r);
    std::atomic<int64_t> next{0};
    auto work = [&] {
        const FlushDenormals flush;
        std::vector<std::max_align_t> scratch(bytes / sizeof(std::max_align_t) + 1);
        for (int64_t item; (item = next++) < r.batch;) {
            if (fast) back ? avx2::backward(r, item, scratch.data()) : avx2::forward(r, item, scratch.data());
            else back ? base::backward(r, item, scratch.data()) : base::forward(r, item, scratch.data());
        }
    };
    std::vector<std::thread> pool;
    for (int64_t t = 1; t < threads && t < r.batch; ++t) pool.emplace_back(work);
    work();
    for (auto& thread : pool) thread.join();
}

template <class T>
void bind(nb::module_& m, const char* name) {
    nb::class_<Model<T>>(m, name)
        .def_static("make", &make_model<T>, "parents"_a, "arrays"_a, "scalars"_a, nb::rv_policy::take_ownership);
    m.def(
        "forward",
        [](const Model<T>& model, double dt, bool implicit, Array<const T> q0, Array<const T> v0,
           Array<const T> targets, Array<T> q, Array<T> v, Array<T> a, Array<int64_t> failed, int threads) {
            RolloutView<T> r{};
            r.model = model.view, r.dt = T(dt), r.implicit = implicit;
            r.batch = q.shape(0), r.steps = a.shape(1), r.knots = targets.shape(1);
            r.save_every = r.clip_every = 1;
            r.q0 = q0.data(), r.v0 = v0.data(), r.targets = targets.data();
            r.q = q.data(), r.v = v.data(), r.a = a.data(), r.failed = failed.data();
            nb::gil_scoped_release release;
            run(r, false, threads);
        },
        "model"_a, "dt"_a, "implicit"_a, "q0"_a, "v0"_a, "targets"_a, "q"_a, "v"_a, "a"_a, "failed"_a, "threads"_a);
    m.def(
        "backward",
        [](const Model<T>& model, double dt, bool implicit, Array<const T> targets, Array<T> q, Array<T> v,
           Array<T> a, Array<const T> grad_q, Array<const T> grad_v, Array<T> grad_q0, Array<T> grad_v0,
           Array<T> grad_targets, int64_t save_every, int64_t clip_every, double clip, int threads) {
            RolloutView<T> r{};
            r.model = model.view, r.dt = T(dt), r.implicit = implicit;
            r.batch = q.shape(0), r.steps = a.shape(1), r.knots = targets.shape(1);
            r.save_every = save_every, r.clip_every = clip_every, r.clip = T(clip);
            r.targets = targets.data(), r.q = q.data(), r.v = v.data(), r.a = a.data();
            r.grad_q = grad_q.data(), r.grad_v = grad_v.data();
            r.grad_q0 = grad_q0.data(), r.grad_v0 = grad_v0.data(), r.grad_targets = grad_targets.data();
            nb::gil_scoped_release release;
            run(r, true, threads);
        },
        "model"_a, "dt"_a, "implicit"_a, "targets"_a, "q"_a, "v"_a, "a"_a, "grad_q"_a, "grad_v"_a, "grad_q0"_a,
        "grad_v0"_a, "grad_targets"_a, "save_every"_a, "clip_every"_a, "clip"_a, "threads"_a);
}

NB_MODULE(_articulation, m) {
    // Tensors that are alive when Python ends keep their models; that is no leak.
    nb::set_leak_warnings(false);
    bind<float>(m, "Model32");
    bind<double>(m, "Model64");
}
