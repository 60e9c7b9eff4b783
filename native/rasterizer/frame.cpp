#include <cstring>

#include "frame.h"

namespace kinema {
namespace {

// Few frames are cut into regions of so many blocks, so that there is work for all threads.
constexpr size_t past_cache_bytes = size_t(4) << 20;
constexpr uint32_t few_frames = 8;
constexpr int few_frames_blocks_x = 32, few_frames_blocks_y = 64;

// Stable radix sort of (key << 32 | value) by key, least digit first. Order must be exact: depth ties keep their index.
uint64_t* sort(uint64_t* a, uint64_t* b, uint32_t n, uint32_t lowest, uint32_t highest) {
  int bits = 0;
  for (uint32_t range = highest - lowest; range; range >>= 1) ++bits;
  const int passes = n < 256 ? (bits + 7) / 8 : (bits + 11) / 12;
  if (!passes) return a;
  const int digit = (bits + passes - 1) / passes;
  const uint32_t buckets = 1u << digit, mask = buckets - 1;
  std::vector<uint32_t> counts(size_t(passes) << digit);
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t key = uint32_t(a[i] >> 32) - lowest;
    for (int p = 0; p < passes; ++p) ++counts[(size_t(p) << digit) + (key >> (p * digit) & mask)];
  }
  for (int p = 0; p < passes; ++p) {
    uint32_t* at = counts.data() + (size_t(p) << digit);
    uint32_t sum = 0;
    for (uint32_t k = 0; k < buckets; ++k) {
      const uint32_t count = at[k];
      at[k] = sum;
      sum += count;
    }
    for (uint32_t i = 0; i < n; ++i) b[at[(uint32_t(a[i] >> 32) - lowest) >> (p * digit) & mask]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

// Channels of a pass: 0, 1, 2 and the depth; then four at a time.
int first_channel(int pass) { return pass ? 4 * pass - 1 : 0; }

void set_features(const Inputs& in, const float* features, const uint32_t* ids, int pass, Record* records,
                  uint32_t count) {
  const int first = first_channel(pass), n = std::min<int>(pass ? 4 : 3, int(in.channels) - first);
  for (uint32_t i = 0; i < count; ++i) {
    const float* from = features + size_t(ids[records[i].index]) * in.channels + first;
    float* to = records[i].feature;
    to[0] = to[1] = to[2] = 0.0f, to[3] = pass ? 0.0f : records[i].z;
    for (int c = 0; c < n; ++c) to[c] = from[c];
  }
}

template <class P, class F>
P planes_of_pass(const Inputs& in, uint32_t frame, int pass, F* features, F* alpha, F* depth) {
  P r{};
  r.width = in.width;
  const int first = first_channel(pass);
  for (int c = 0; c < (pass ? 4 : 3); ++c)
    if (features && first + c < int(in.channels))
      r.channel[c] = features + (size_t(frame) * in.channels + first + c) * in.pixels();
  if (!pass) {
    if (depth) r.channel[3] = depth + frame * in.pixels();
    if (alpha) r.alpha = alpha + frame * in.pixels();
  }
  return r;
}

}  // namespace

size_t bytes(const FrameData& frame) {
  size_t sum = frame.ids.bytes();
  for (const RegionData& r : frame.regions)
    sum += r.records.bytes() + r.order.bytes() + r.start.bytes() + 4 * r.list.size + r.footprints.bytes() + r.moments.bytes() +
           r.more_moments.bytes();
  return sum;
}

bool prepare_frame(const Inputs& in, uint32_t f, Workspace& ws, FrameData& frame) {
  const Kernel& kernel = *in.kernel;
  const size_t room = size_t(in.points) + kernel.width;
  // A frame is one region if it can be. The regions of few frames do not depend on the number of threads, so sums have
  // one order for any.
  const bool few = in.frames < few_frames;
  const int blocks_x = few ? few_frames_blocks_x : region_blocks_max, width = blocks_x * kernel.block_w;
  const int blocks_y = few ? few_frames_blocks_y : region_blocks_max, height = blocks_y * kernel.block_h;
  const int nx = (in.width + width - 1) / width, ny = (in.height + height - 1) / height;
  const bool single = nx * ny == 1;
  frame.regions.resize(size_t(nx) * ny);
  Record* projected = (single ? frame.regions[0].records : ws.projected).need(room);
  uint32_t* depths = ws.depths.need(room);
  int bad = 0;
  const Visible visible{projected, frame.ids.need(room), depths,
                        (single ? frame.regions[0].footprints : ws.footprints).need(room)};
  const uint32_t n = frame.visible = kernel.project(in.cameras[f], in.points_of(f), visible, &bad);
  if (bad) return false;
  uint64_t* keys = ws.keys.need(n);
  uint32_t lowest = ~0u, highest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    lowest = std::min(lowest, depths[i]), highest = std::max(highest, depths[i]);
    keys[i] = uint64_t(depths[i]) << 32 | i;  // positive floats order as their bits
  }
  keys = sort(keys, ws.keys_other.need(n), n, lowest, n ? highest : lowest);

  std::vector<uint32_t> counts(frame.regions.size());
  std::vector<uint16_t> column(size_t(nx) * blocks_x), row(size_t(ny) * blocks_y);  // of regions, by block
  if (single) {
    counts[0] = n;
  } else {
    for (size_t i = 0; i < column.size(); ++i) column[i] = uint16_t(i / blocks_x);
    for (size_t i = 0; i < row.size(); ++i) row[i] = uint16_t(i / blocks_y);
    for (uint32_t i = 0; i < n; ++i) {
      const Record& r = projected[i];
      for (int y = row[r.by0]; y <= row[r.by1]; ++y)
        for (int x = column[r.bx0]; x <= column[r.bx1]; ++x) ++counts[y * nx + x];
    }
  }
  for (int k = 0; k < nx * ny; ++k) {
    RegionData& data = frame.regions[k];
    Region& region = data.region;
    region.x0 = k % nx * width, region.y0 = k / nx * height;
    region.x1 = std::min(region.x0 + width, in.width), region.y1 = std::min(region.y0 + height, in.height);
    region.count = counts[k];
    region.blocks_x = (region.x1 - region.x0 + kernel.block_w - 1) / kernel.block_w;
    region.blocks_y = (region.y1 - region.y0 + kernel.block_h - 1) / kernel.block_h;
    Record* records = single ? projected : data.records.need(counts[k] + 1);
    const Record nothing = {0, 0, 0, 0, 0, -100.0f, {0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0};
    records[counts[k]] = nothing;
    region.records = records;
    region.order = nullptr;
    region.footprints = single ? visible.footprints : data.footprints.need(counts[k] + kernel.width);
  }
  if (single) {
    uint32_t* order = frame.regions[0].order.need(n);
    for (uint32_t i = 0; i < n; ++i) order[i] = uint32_t(keys[i]);
    frame.regions[0].region.order = order;
  } else {
    std::fill(counts.begin(), counts.end(), 0);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t at = uint32_t(keys[i]);
      const Record& r = projected[at];
      if (i + 16 < n) __builtin_prefetch(projected + uint32_t(keys[i + 16]));
      for (int y = row[r.by0]; y <= row[r.by1]; ++y)
        for (int x = column[r.bx0]; x <= column[r.bx1]; ++x) {
          RegionData& data = frame.regions[y * nx + x];
          const uint32_t to = counts[y * nx + x]++;
          data.records.data()[to] = r;
          data.region.footprints.top[to] = visible.footprints.top[at];
          data.region.footprints.bottom[to] = visible.footprints.bottom[at];
          data.region.footprints.corners[to] = visible.footprints.corners[at];
        }
    }
  }
  return true;
}

void draw_region(const Inputs& in, uint32_t f, Workspace& ws, const FrameData& frame, RegionData& data,
                 const Image& image, bool keep) {
  Region& region = data.region;
  const bool listed = keep || in.passes() > 1;
  if (listed) region.start = data.start.need(region.blocks() + 1);
  const auto planes = [&](int pass) {
    Planes r = planes_of_pass<Planes, float>(in, f, pass, image.features, image.alpha, image.depth);
    r.past_cache = in.frames * in.pixels() * (in.channels + 2) * sizeof(float) > past_cache_bytes;
    return r;
  };
  in.kernel->draw(region, planes(0), &ws.draw, listed ? &data.list : nullptr);
  region.list = data.list.data;
  for (int pass = 1; pass < in.passes(); ++pass) {
    set_features(in, in.features_of(f), frame.ids.data(), pass, data.records.data(), region.count);
    in.kernel->redraw(region, planes(pass));
  }
}

void differentiate_region(const Inputs& in, uint32_t f, Workspace& ws, const FrameData& frame, RegionData& data,
                          const ImageGradient& g) {
  const Region& region = data.region;
  Moments* moments = data.moments.need(region.count + 1);
  std::memset(static_cast<void*>(moments), 0, sizeof(Moments) * (region.count + 1));
  const int passes = in.passes(), more = 4 * (passes - 1);
  float* extra = more ? data.more_moments.need(size_t(region.count) * more) : nullptr;
  for (int pass = passes - 1; pass >= 0; --pass) {
    // The records still hold the last pass of the forward, and of a single pass all.
    if (pass < passes - 1)
      set_features(in, in.features_of(f), frame.ids.data(), pass, data.records.data(), region.count);
    if (!g.features && pass) {
      std::memset(extra, 0, sizeof(float) * region.count * more);
      continue;
    }
    in.kernel->raster_backward(region, planes_of_pass<ConstPlanes, const float>(in, f, pass, g.features, g.alpha, g.depth),
                               moments, &ws.draw.list);
    if (!pass) continue;
    for (uint32_t i = 0; i < region.count; ++i) {
      std::memcpy(extra + size_t(i) * more + 4 * (pass - 1), moments[i].feature, 16);
      std::memset(moments[i].feature, 0, 16);
    }
  }
}

void finish_frame(const Inputs& in, uint32_t f, Workspace& ws, const FrameData& frame, bool depth,
                  const OperandGradient& out) {
  const size_t n = in.points, c = in.channels;
  const PointsGradient to{out.centers + f * n * 3, out.covariances + f * n * 9, out.opacities + f * n,
                          out.features + f * n * c, out.cameras ? out.cameras + 16 * f : nullptr};
  if (frame.visible < n) {
    std::memset(to.centers, 0, 12 * n), std::memset(to.covariances, 0, 36 * n), std::memset(to.opacities, 0, 4 * n);
    std::memset(to.features, 0, 4 * n * c);
  } else if (c > 3) {
    std::memset(to.features, 0, 4 * n * c);
  }
  const Moments* moments = frame.regions[0].moments.data();
  if (frame.regions.size() > 1) {
    // One Gaussian may lie in several regions; their sums are added in the order of the regions.
    Moments* sum = ws.by_index.need(frame.visible);
    std::memset(static_cast<void*>(sum), 0, sizeof(Moments) * frame.visible);
    for (const RegionData& data : frame.regions)
      for (uint32_t i = 0; i < data.region.count; ++i) {
        const Moments& from = data.moments.data()[i];
        Moments& at = sum[data.region.records[i].index];
        for (int j = 0; j < 6; ++j) at.u[j] += from.u[j];
        for (int j = 0; j < 4; ++j) at.feature[j] += from.feature[j];
      }
    moments = sum;
  }
  in.kernel->project_backward(in.cameras[f], in.points_of(f), frame.ids.data(), frame.visible, moments, depth, to);
  const size_t more = 4 * (in.passes() - 1);
  if (more)
    for (const RegionData& data : frame.regions)
      for (uint32_t i = 0; i < data.region.count; ++i) {
        float* feature = to.features + frame.ids.data()[data.region.records[i].index] * c;
        for (size_t j = 3; j < c; ++j) feature[j] += data.more_moments.data()[i * more + j - 3];
      }
}

}  // namespace kinema
