// kinema._rasterizer: threads, checks and the Python binding.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "common/cpu.h"
#include "frame.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinema {
namespace {

using Array = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<float, nb::c_contig, nb::device::cpu>;

std::vector<const Kernel*> kernels() {
  std::vector<const Kernel*> r;
#if defined(__x86_64__) || defined(_M_X64)
  const Isa isa = best_isa();
  if (__builtin_cpu_supports("sse4.1")) r.push_back(&kernel_base);
  if (isa >= Isa::avx2) r.push_back(&kernel_avx2);
  if (isa >= Isa::avx512) r.push_back(&kernel_avx512);
#else
  r.push_back(&kernel_base);
#endif
  return r;
}

const Kernel* choose(int width) {
  const std::vector<const Kernel*> all = kernels();
  for (const Kernel* k : all)
    if (k->width == width) return k;
  if (width || all.empty()) throw std::invalid_argument("this CPU has no vectors of that width");
  return all.back();
}

// Memory is kept between calls, within limits: on small images page faults cost as much as the work.
std::mutex pool_mutex;
std::vector<std::unique_ptr<Workspace>> pool;
std::vector<FrameData> frame_pool;
size_t frame_pool_bytes = 0;
constexpr size_t frame_pool_limit = size_t(256) << 20;

FrameData take_frame() {
  const std::lock_guard<std::mutex> lock(pool_mutex);
  if (frame_pool.empty()) return {};
  FrameData frame = std::move(frame_pool.back());
  frame_pool.pop_back();
  frame_pool_bytes -= bytes(frame);
  return frame;
}
void give_frame(FrameData&& frame) {
  const std::lock_guard<std::mutex> lock(pool_mutex);
  const size_t size = bytes(frame);
  if (!size || frame_pool_bytes + size > frame_pool_limit) return;
  frame_pool_bytes += size;
  frame_pool.push_back(std::move(frame));
}

// Memory of images and gradients for Python; it returns to the pool when the tensor is gone.
struct Memory {
  Buffer<float> buffer;
};
std::vector<std::unique_ptr<Memory>> memory_pool;
size_t memory_pool_bytes = 0;
constexpr size_t memory_pool_limit = size_t(256) << 20;

std::unique_ptr<Memory> take_memory(size_t n) {
  {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    for (size_t i = memory_pool.size(); i-- > 0;) {
      const size_t bytes = memory_pool[i]->buffer.bytes();
      if (bytes < 4 * n || bytes > 6 * n) continue;
      std::unique_ptr<Memory> memory = std::move(memory_pool[i]);
      memory_pool.erase(memory_pool.begin() + i);
      memory_pool_bytes -= bytes;
      return memory;
    }
  }
  auto memory = std::make_unique<Memory>();
  memory->buffer.need(n);
  return memory;
}
void give_memory(std::unique_ptr<Memory> memory) {
  const std::lock_guard<std::mutex> lock(pool_mutex);
  memory_pool_bytes += memory->buffer.bytes();
  memory_pool.push_back(std::move(memory));
  while (memory_pool_bytes > memory_pool_limit) {  // the oldest first: sizes change
    memory_pool_bytes -= memory_pool.front()->buffer.bytes();
    memory_pool.erase(memory_pool.begin());
  }
}

nb::ndarray<nb::pytorch, float, nb::ndim<1>> empty(size_t n) {
  Memory* memory = take_memory(n).release();
  const nb::capsule owner(
      memory, [](void* p) noexcept { give_memory(std::unique_ptr<Memory>(static_cast<Memory*>(p))); });
  return nb::ndarray<nb::pytorch, float, nb::ndim<1>>(memory->buffer.data(), {n}, owner);
}

class Borrowed {
 public:
  Borrowed() {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    if (pool.empty()) {
      workspace_ = std::make_unique<Workspace>();
    } else {
      workspace_ = std::move(pool.back());
      pool.pop_back();
    }
  }
  ~Borrowed() {
    const std::lock_guard<std::mutex> lock(pool_mutex);
    if (pool.size() < 16) pool.push_back(std::move(workspace_));
  }
  Workspace& operator*() { return *workspace_; }

 private:
  std::unique_ptr<Workspace> workspace_;
};

// Calls body(unit, workspace) for all units, on up to `threads` threads, of which the caller is one and looks for Ctrl-C
// between its units. The result does not depend on which thread takes which unit.
template <class Body>
void for_all(uint32_t units, int threads, const Body& body) {
  std::atomic<uint32_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&](bool main) {
    try {
      Borrowed workspace;
      auto last = std::chrono::steady_clock::now();
      for (uint32_t unit; !stop && (unit = next++) < units;) {
        body(unit, *workspace);
        if (!main) continue;
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(50)) continue;
        last = now;
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals()) {
          stop = true;
          throw nb::python_error();
        }
      }
    } catch (...) {
      stop = true;
      const std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < std::min<int>(threads, units); ++i) {
    try {
      others.emplace_back(work, false);
    } catch (const std::system_error&) {  // no more threads: those that started do the work
      break;
    }
  }
  work(true);
  for (std::thread& t : others) t.join();
  if (error) std::rethrow_exception(error);
}

struct Saved {
  Saved() = default;
  Saved(const Saved&) = delete;
  ~Saved() {
    for (FrameData& frame : frames) give_frame(std::move(frame));
  }
  std::vector<FrameData> frames;
  int width;
};

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

Inputs inputs(const Array& centers, const Array& covariances, const Array& opacities, const Array& features,
              const Array& T_camera_world, const Array& focal_center, int width, int height, int simd) {
  Inputs in;
  in.kernel = choose(simd);
  require(centers.ndim() == 3 && centers.shape(2) == 3, "centers must be [frames, points, 3]");
  in.frames = uint32_t(centers.shape(0)), in.points = uint32_t(centers.shape(1));
  require(centers.shape(0) < (1u << 28) && centers.shape(1) < (1u << 24),
          "too many points (at most 16777215) or frames");
  require(covariances.ndim() == 4 && covariances.size() == size_t(in.frames) * in.points * 9,
          "covariances must be [frames, points, 3, 3]");
  in.opacities_per_frame = opacities.ndim() == 2;
  require(opacities.size() == (in.opacities_per_frame ? size_t(in.frames) : 1) * in.points,
          "opacities must be [points] or [frames, points]");
  in.features_per_frame = features.ndim() == 3;
  require(features.ndim() >= 2, "features must be [points, channels] or [frames, points, channels]");
  in.channels = uint32_t(features.shape(features.ndim() - 1));
  require(features.size() == (in.features_per_frame ? size_t(in.frames) : 1) * in.points * in.channels,
          "features must be [points, channels] or [frames, points, channels]");
  require(T_camera_world.size() == size_t(in.frames) * 12, "T_camera_world must be [frames, 3, 4]");
  require(focal_center.size() == size_t(in.frames) * 4, "focal_center must be [frames, 4]");
  require(width > 0 && height > 0 && width <= 1 << 16 && height <= 1 << 16,
          "an image is 1 to 65536 pixels wide and high");
  in.width = width, in.height = height;
  in.centers = centers.data(), in.covariances = covariances.data();
  in.opacities = opacities.data(), in.features = features.data();
  in.cameras.resize(in.frames);
  for (uint32_t f = 0; f < in.frames; ++f) {
    Camera& c = in.cameras[f];
    const float *T = T_camera_world.data() + 12 * f, *k = focal_center.data() + 4 * f;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) c.R[3 * i + j] = T[4 * i + j];
      c.t[i] = T[4 * i + 3];
    }
    c.fx = k[0], c.fy = k[1], c.cx = k[2], c.cy = k[3];
    c.width = width, c.height = height;
    double sum = c.fx + c.fy + c.cx + c.cy;
    for (int i = 0; i < 12; ++i) sum += T[i];
    require(sum * 0.0 == 0.0, "cameras hold NaN or infinity");
    require(c.fx > 0 && c.fy > 0, "focal lengths must be positive");
  }
  return in;
}

Saved* forward(const Array& centers, const Array& covariances, const Array& opacities, const Array& features,
               const Array& T_camera_world, const Array& focal_center, int width, int height, const Output& out_features,
               const Output& out_alpha, const std::optional<Output>& out_depth, int threads, bool keep, int simd) {
  const Inputs in =
      inputs(centers, covariances, opacities, features, T_camera_world, focal_center, width, height, simd);
  require(out_features.size() == in.frames * in.channels * in.pixels(),
          "out_features must be [frames, channels, height, width]");
  require(out_alpha.size() == in.frames * in.pixels(), "out_alpha must be [frames, height, width]");
  require(!out_depth || out_depth->size() == out_alpha.size(), "out_depth must be [frames, height, width]");
  const Image image{out_features.data(), out_alpha.data(), out_depth ? out_depth->data() : nullptr};
  auto saved = std::make_unique<Saved>();
  saved->frames.resize(in.frames);
  saved->width = in.kernel->width;
  std::atomic<bool> finite{true};
  {
    const nb::gil_scoped_release release;
    if (in.frames >= 2 * uint32_t(threads)) {
      for_all(in.frames, threads, [&](uint32_t f, Workspace& ws) {
        FrameData& frame = saved->frames[f] = take_frame();
        // The thread lends buffers that only drawing needs: its caches still hold them. With several passes, the
        // backward pass reads the depths again.
        const auto lend = [&] {
          std::swap(frame.regions[0].footprints, ws.footprints);
          if (in.passes() == 1) std::swap(frame.regions[0].depths, ws.depths);
        };
        frame.regions.resize(std::max<size_t>(frame.regions.size(), 1));
        lend();
        if (!prepare_frame(in, f, ws, frame)) {
          finite = false;
          return;
        }
        for (RegionData& region : frame.regions) draw_region(in, f, ws, frame, region, image, keep);
        lend();
        if (!keep) give_frame(std::exchange(frame, FrameData()));
      });
    } else {
      for_all(in.frames, threads, [&](uint32_t f, Workspace& ws) {
        saved->frames[f] = take_frame();
        if (!prepare_frame(in, f, ws, saved->frames[f])) finite = false;
      });
      const uint32_t regions = in.frames && finite ? uint32_t(saved->frames[0].regions.size()) : 0;
      for_all(in.frames * regions, threads, [&](uint32_t unit, Workspace& ws) {
        const uint32_t f = unit / regions;
        draw_region(in, f, ws, saved->frames[f], saved->frames[f].regions[unit % regions], image, keep);
      });
    }
  }
  if (!finite) throw std::invalid_argument("centers, covariances or opacities hold NaN or infinity");
  return keep ? saved.release() : nullptr;
}

const float* data_or_null(const std::optional<Array>& a, size_t size, const char* what) {
  if (!a) return nullptr;
  require(a->size() == size, what);
  return a->data();
}

void backward(Saved& saved, const Array& centers, const Array& covariances, const Array& opacities,
              const Array& features, const Array& T_camera_world, const Array& focal_center, int width, int height,
              const std::optional<Array>& g_features, const std::optional<Array>& g_alpha,
              const std::optional<Array>& g_depth, const Output& out_centers, const Output& out_covariances,
              const Output& out_opacities, const Output& out_features,
              const std::optional<nb::ndarray<double, nb::c_contig, nb::device::cpu>>& out_cameras, int threads) {
  const Inputs in =
      inputs(centers, covariances, opacities, features, T_camera_world, focal_center, width, height, saved.width);
  require(saved.frames.size() == in.frames, "saved is of another number of frames");
  const size_t pixels = in.frames * in.pixels();
  const ImageGradient grad{
      data_or_null(g_features, pixels * in.channels, "grad_features must be [frames, channels, height, width]"),
      data_or_null(g_alpha, pixels, "grad_alpha must be [frames, height, width]"),
      data_or_null(g_depth, pixels, "grad_depth must be [frames, height, width]")};
  require(out_centers.size() == centers.size() && out_covariances.size() == covariances.size() &&
              out_opacities.size() == opacities.size() && out_features.size() == features.size(),
          "outputs must have the shapes of the operands");
  OperandGradient out{out_centers.data(), out_covariances.data(), out_opacities.data(), out_features.data(),
                      out_cameras ? out_cameras->data() : nullptr};
  // Operands that all frames share get a gradient per frame first; at the end they are summed in the order of frames.
  std::unique_ptr<Memory> opacities_by_frame, features_by_frame;
  const size_t n = in.points, m = n * in.channels;
  if (!in.opacities_per_frame && in.frames > 1) {
    opacities_by_frame = take_memory(in.frames * n);
    out.opacities = opacities_by_frame->buffer.data();
  }
  if (!in.features_per_frame && in.frames > 1) {
    features_by_frame = take_memory(in.frames * m);
    out.features = features_by_frame->buffer.data();
  }
  const nb::gil_scoped_release release;
  if (in.frames >= 2 * uint32_t(threads)) {
    for_all(in.frames, threads, [&](uint32_t f, Workspace& ws) {
      FrameData& frame = saved.frames[f];
      // Moments are needed only until finish_frame: the thread lends its memory.
      if (frame.regions.size() == 1) std::swap(frame.regions[0].moments, ws.moments);
      for (RegionData& region : frame.regions) differentiate_region(in, f, ws, frame, region, grad);
      finish_frame(in, f, ws, frame, grad.depth, out);
      if (frame.regions.size() == 1) std::swap(frame.regions[0].moments, ws.moments);
    });
  } else {
    const uint32_t regions = in.frames ? uint32_t(saved.frames[0].regions.size()) : 0;
    for_all(in.frames * regions, threads, [&](uint32_t unit, Workspace& ws) {
      FrameData& frame = saved.frames[unit / regions];
      differentiate_region(in, unit / regions, ws, frame, frame.regions[unit % regions], grad);
    });
    for_all(in.frames, threads,
            [&](uint32_t f, Workspace& ws) { finish_frame(in, f, ws, saved.frames[f], grad.depth, out); });
  }
  const auto add_frames = [&](std::unique_ptr<Memory> memory, size_t size, float* to) {
    if (!memory) return;
    const float* by_frame = memory->buffer.data();
    constexpr size_t piece = 4096;
    for_all(uint32_t((size + piece - 1) / piece), threads, [&](uint32_t unit, Workspace&) {
      const size_t low = unit * piece, high = std::min(size, low + piece);
      std::copy(by_frame + low, by_frame + high, to + low);
      for (uint32_t f = 1; f < in.frames; ++f)
        for (size_t i = low; i < high; ++i) to[i] += by_frame[f * size + i];
    });
    give_memory(std::move(memory));
  };
  add_frames(std::move(opacities_by_frame), n, out_opacities.data());
  add_frames(std::move(features_by_frame), m, out_features.data());
}

}  // namespace
}  // namespace kinema

NB_MODULE(_rasterizer, m) {
  using namespace kinema;
  nb::set_leak_warnings(false);  // a graph that is alive at exit holds one
  nb::class_<Saved>(m, "Saved");
  m.def("widths", [] {
    std::vector<int> r;
    for (const Kernel* k : kernels()) r.push_back(k->width);
    return r;
  });
  m.def("empty", &empty, "size"_a);
  m.def("forward", &forward, "centers"_a, "covariances"_a, "opacities"_a, "features"_a, "T_camera_world"_a,
        "focal_center"_a, "width"_a, "height"_a, "out_features"_a, "out_alpha"_a, "out_depth"_a.none(), "threads"_a,
        "keep"_a, "simd"_a, nb::rv_policy::take_ownership);
  m.def("backward", &backward, "saved"_a, "centers"_a, "covariances"_a, "opacities"_a, "features"_a,
        "T_camera_world"_a, "focal_center"_a, "width"_a, "height"_a, "grad_features"_a.none(), "grad_alpha"_a.none(),
        "grad_depth"_a.none(), "out_centers"_a, "out_covariances"_a, "out_opacities"_a, "out_features"_a,
        "out_cameras"_a.none(), "threads"_a);
}
