// kinema._articulation: rollouts of articulated bodies and their adjoint, for float32 and float64 tensors on the CPU.
#include "common/cpu.h"
#include "common/denormals.h"
#include "common/parallel.h"
#include "model.h"

using namespace nb::literals;

template <class T>
void run(const RolloutView<T>& r, bool back, int threads) {
    const bool fast = kinema::best_isa() >= kinema::Isa::avx2;
    const size_t bytes = fast ? avx2::scratch_bytes(r) : base::scratch_bytes(r);
    kinema::parallel(r.batch, threads, [&](std::atomic<int64_t>& next) {
        const kinema::FlushDenormals flush;
        std::vector<std::max_align_t> scratch(bytes / sizeof(std::max_align_t) + 1);
        for (int64_t item; (item = next++) < r.batch;) {
            if (fast) back ? avx2::backward(r, item, scratch.data()) : avx2::forward(r, item, scratch.data());
            else back ? base::backward(r, item, scratch.data()) : base::forward(r, item, scratch.data());
        }
    });
}

template <class T>
void bind(nb::module_& m, const char* name) {
    nb::class_<Model<T>>(m, name)
        .def_static("make", &make_model<T>, nb::rv_policy::take_ownership);
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
    // Tensors that are alive when Python ends keep their models: no leak.
    nb::set_leak_warnings(false);
    bind<float>(m, "Model32");
    bind<double>(m, "Model64");
}
