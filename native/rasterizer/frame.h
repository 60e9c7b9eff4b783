// The code around the vector kernels, frame by frame: from tensors to regions, and from moments to gradients.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "kernel.h"

namespace kinema {

// 64-byte aligned memory that only grows and is not initialised.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr, other.size_ = 0; }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { std::free(data_); }
  T* need(size_t n) {
    if (n > size_ || !data_) {
      std::free(data_);
      size_ = n;
      data_ = static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64));
      if (!data_) throw std::bad_alloc();
    }
    return data_;
  }
  // Keeps the first `used` elements.
  T* grow(size_t n, size_t used) {
    if (n > size_ || !data_) {
      Buffer larger;
      larger.need(used ? n + n / 2 : n);
      if (used) std::memcpy(static_cast<void*>(larger.data_), data_, used * sizeof(T));
      *this = std::move(larger);
    }
    return data_;
  }
  T* data() const { return data_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// Memory that the kernels reallocate.
struct OwnedScratch : Scratch {
  OwnedScratch() : Scratch{nullptr, 0} {}
  OwnedScratch(OwnedScratch&& other) noexcept : OwnedScratch() { std::swap<Scratch>(*this, other); }
  OwnedScratch& operator=(OwnedScratch&& other) noexcept {
    std::swap<Scratch>(*this, other);
    return *this;
  }
  ~OwnedScratch() { std::free(data); }
};

struct FootprintBuffers {
  Buffer<uint32_t> rows[footprint_words], corners;
  Footprints grow(size_t n, size_t used) {
    Footprints r{};
    for (int k = 0; k < footprint_words; ++k) r.rows[k] = rows[k].grow(n, used);
    r.corners = corners.grow(n, used);
    return r;
  }
  size_t bytes() const {
    size_t sum = corners.bytes();
    for (const auto& each : rows) sum += each.bytes();
    return sum;
  }
};

struct Inputs {
  const Kernel* kernel;
  uint32_t frames, points, channels;
  int width, height;
  const float *centers, *covariances, *opacities, *features;
  bool opacities_per_frame, features_per_frame;
  std::vector<Camera> cameras;

  size_t pixels() const { return size_t(width) * height; }
  int passes() const { return channels <= 3 ? 1 : 1 + int(channels) / 4; }
  const float* features_of(uint32_t f) const {
    return features + (features_per_frame ? size_t(f) * points * channels : 0);
  }
  Points points_of(uint32_t f) const {
    return {centers + size_t(f) * points * 3, covariances + size_t(f) * points * 9,
            opacities + (opacities_per_frame ? size_t(f) * points : 0), features_of(f), int(channels), points};
  }
};

// Scratch memory of one thread, kept between calls.
struct Workspace {
  Buffer<Record> projected;
  Buffer<uint32_t> depths, order, counts;
  FootprintBuffers footprints;
  Buffer<uint64_t> keys, keys_other;
  Buffer<Moments> moments, by_index;
  DrawScratch draw{};
  ~Workspace() {
    for (Scratch& s : draw.footprint) std::free(s.data);
    for (Scratch* s : {&draw.corner, &draw.record, &draw.strip_blocks, &draw.strip_row, &draw.strip_record, &draw.rows,
                       &draw.row_lists, &draw.list})
      std::free(s->data);
  }
};

struct RegionData {
  Region region{};
  Buffer<Record> records;
  Buffer<uint32_t> depths, start;  // depths: bits of z
  FootprintBuffers footprints;
  OwnedScratch list;
  Buffer<Moments> moments;
  Buffer<float> more_moments;  // gradients of channels beyond the first pass
};

struct FrameData {
  uint32_t visible = 0;
  Buffer<uint32_t> ids;  // of the visible points
  std::vector<RegionData> regions;
};

size_t bytes(const FrameData&);

struct Image {
  float *features, *alpha, *depth;  // the depth may be null
};
struct ImageGradient {
  const float *features, *alpha, *depth;  // may be null
};
struct OperandGradient {
  float *centers, *covariances, *opacities, *features;  // per frame, all of them
  double* cameras;                                      // 16 per frame, may be null
};

// Projects a frame and assigns its Gaussians to regions; false if an input is not finite.
bool prepare_frame(const Inputs&, uint32_t frame, Workspace&, FrameData&);
void draw_region(const Inputs&, uint32_t frame, Workspace&, const FrameData&, RegionData&, const Image&, bool keep);
void differentiate_region(const Inputs&, uint32_t frame, Workspace&, const FrameData&, RegionData&,
                          const ImageGradient&);
// Computes the gradients of a frame from the moments of its regions, which differentiate_region made.
void finish_frame(const Inputs&, uint32_t frame, Workspace&, const FrameData&, bool depth, const OperandGradient&);

}  // namespace kinema
