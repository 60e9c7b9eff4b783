#include <cstring>

#include "frame.h"

namespace kinema {
namespace {

// Regions bound the working set of a frame (records, lists and moments stay in the second-level cache) and are the unit
// of work when there are few frames. The size is fixed so that sums have one order whatever the number of threads.
constexpr int region_size = 128;

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

uint32_t float_bits(float x) {
  uint32_t r;
  std::memcpy(&r, &x, 4);
  return r;
}

// Channels of a pass: 0, 1, 2 and the depth; then four at a time.
int first_channel(int pass) { return pass ? 4 * pass - 1 : 0; }

void set_features(const Inputs& in, const float* features, int pass, Record* records, uint32_t count) {
  const int first = first_channel(pass), n = std::min<int>(pass ? 4 : 3, int(in.channels) - first);
  for (uint32_t i = 0; i < count; ++i) {
    const float* from = features + size_t(records[i].id) * in.channels + first;
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

bool prepare_frame(const Inputs& in, uint32_t f, Workspace& ws, FrameData& frame) {
  const Kernel& kernel = *in.kernel;
  Record* projected = ws.projected.need(in.points);
  int bad = 0;
  const uint32_t n = kernel.project(in.cameras[f], in.centers_of(f), in.covariances_of(f), in.opacities_of(f),
                                    in.points, projected, &bad);
  if (bad) return false;
  uint64_t* keys = ws.keys.need(n);
  uint32_t lowest = ~0u, highest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t key = float_bits(projected[i].z);  // positive floats order as their bits
    lowest = std::min(lowest, key), highest = std::max(highest, key);
    keys[i] = uint64_t(key) << 32 | i;
  }
  keys = sort(keys, ws.keys_other.need(n), n, lowest, n ? highest : lowest);

  const int nx = (in.width + region_size - 1) / region_size, ny = (in.height + region_size - 1) / region_size;
  frame.regions.resize(size_t(nx) * ny);
  const auto span = [&](float low, float high, int count, int& first, int& last) {
    first = std::min(std::max(int(low) / region_size, 0), count - 1);
    last = std::min(std::max(int(high) / region_size, 0), count - 1);
  };
  std::vector<uint32_t> counts(frame.regions.size());
  int x0, x1, y0, y1;
  if (nx * ny == 1) {
    counts[0] = n;
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      const Record& r = projected[i];
      span(r.mean_x - r.half_x, r.mean_x + r.half_x, nx, x0, x1);
      span(r.mean_y - r.half_y, r.mean_y + r.half_y, ny, y0, y1);
      for (int y = y0; y <= y1; ++y)
        for (int x = x0; x <= x1; ++x) ++counts[y * nx + x];
    }
  }
  std::vector<Record*> to(frame.regions.size());
  for (int k = 0; k < nx * ny; ++k) {
    RegionData& data = frame.regions[k];
    Region& region = data.region;
    region.x0 = k % nx * region_size, region.y0 = k / nx * region_size;
    region.x1 = std::min(region.x0 + region_size, in.width), region.y1 = std::min(region.y0 + region_size, in.height);
    region.count = counts[k];
    region.blocks_x = (region.x1 - region.x0 + kernel.block_w - 1) / kernel.block_w;
    region.blocks_y = (region.y1 - region.y0 + kernel.block_h - 1) / kernel.block_h;
    region.records = to[k] = data.records.need(counts[k]);
  }
  if (nx * ny == 1) {
    for (uint32_t i = 0; i < n; ++i) to[0][i] = projected[uint32_t(keys[i])];
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      const Record& r = projected[uint32_t(keys[i])];
      span(r.mean_x - r.half_x, r.mean_x + r.half_x, nx, x0, x1);
      span(r.mean_y - r.half_y, r.mean_y + r.half_y, ny, y0, y1);
      for (int y = y0; y <= y1; ++y)
        for (int x = x0; x <= x1; ++x) *to[y * nx + x]++ = r;
    }
  }
  return true;
}

void draw_region(const Inputs& in, uint32_t f, Workspace& ws, RegionData& data, const Image& image) {
  Region& region = data.region;
  const uint32_t blocks = region.blocks_x * region.blocks_y;
  uint32_t* cursor = ws.cursor.need(blocks);
  std::memset(cursor, 0, 4 * blocks);
  const size_t n = in.kernel->pairs(region, cursor, &ws.blocks, &ws.records);
  region.start = data.lists.need(n + 2 * blocks + 1);
  region.used = region.start + blocks + 1;
  region.list = region.used + blocks;
  uint32_t sum = 0;
  for (uint32_t k = 0; k < blocks; ++k) {
    region.start[k] = sum;
    sum += cursor[k];
    cursor[k] = region.start[k];
  }
  region.start[blocks] = sum;
  const uint32_t* block = static_cast<const uint32_t*>(ws.blocks.data);
  const uint32_t* record = static_cast<const uint32_t*>(ws.records.data);
  for (size_t i = 0; i < n; ++i) region.list[cursor[block[i]]++] = record[i];
  for (int pass = 0; pass < in.passes(); ++pass) {
    set_features(in, in.features_of(f), pass, data.records.data(), region.count);
    in.kernel->raster(region, planes_of_pass<Planes, float>(in, f, pass, image.features, image.alpha, image.depth),
                      pass == 0);
  }
}

void differentiate_region(const Inputs& in, uint32_t f, RegionData& data, const ImageGradient& g, Moments* moments) {
  const Region& region = data.region;
  std::memset(static_cast<void*>(moments), 0, sizeof(Moments) * region.count);
  const int passes = in.passes(), more = 4 * (passes - 1);
  float* extra = more ? data.more_moments.need(size_t(region.count) * more) : nullptr;
  for (int pass = passes - 1; pass >= 0; --pass) {
    // The records still hold the last pass of the forward, and of a single pass all.
    if (pass < passes - 1) set_features(in, in.features_of(f), pass, data.records.data(), region.count);
    if (!g.features && pass) {
      std::memset(extra, 0, sizeof(float) * region.count * more);
      continue;
    }
    in.kernel->raster_backward(
        region, planes_of_pass<ConstPlanes, const float>(in, f, pass, g.image_features, g.image_alpha, g.image_depth),
        planes_of_pass<ConstPlanes, const float>(in, f, pass, g.features, g.alpha, g.depth), moments);
    if (!pass) continue;
    for (uint32_t i = 0; i < region.count; ++i) {
      std::memcpy(extra + size_t(i) * more + 4 * (pass - 1), moments[i].feature, 16);
      std::memset(moments[i].feature, 0, 16);
    }
  }
}

void begin_gather(const Inputs& in, uint32_t f, Workspace& ws, const OperandGradient& out) {
  std::memset(ws.seen.need(in.points), 0, in.points);
  ws.by_point.need(in.points);
  std::memset(out.features + size_t(f) * in.points * in.channels, 0, 4 * size_t(in.points) * in.channels);
}

void gather_region(const Inputs& in, uint32_t f, Workspace& ws, const RegionData& data, const Moments* moments,
                   const OperandGradient& out) {
  Moments* to = ws.by_point.data();
  uint8_t* seen = ws.seen.data();
  const int n = std::min<int>(3, in.channels), more = 4 * (in.passes() - 1);
  float* features = out.features + size_t(f) * in.points * in.channels;
  for (uint32_t i = 0; i < data.region.count; ++i) {
    const uint32_t id = data.region.records[i].id;
    const Moments& from = moments[i];
    Moments& sum = to[id];
    if (seen[id]) {
      for (int j = 0; j < 6; ++j) sum.u[j] += from.u[j];
      for (int j = 0; j < 4; ++j) sum.feature[j] += from.feature[j];
    } else {
      sum = from;
      seen[id] = 1;
    }
    float* feature = features + size_t(id) * in.channels;
    for (int c = 0; c < n; ++c) feature[c] += from.feature[c];
    const float* extra = data.more_moments.data() + size_t(i) * more;
    for (int c = 3; c < int(in.channels); ++c) feature[c] += extra[c - 3];
  }
}

void finish_frame(const Inputs& in, uint32_t f, Workspace& ws, bool depth, const OperandGradient& out) {
  in.kernel->project_backward(in.cameras[f], in.centers_of(f), in.covariances_of(f), in.opacities_of(f),
                              ws.by_point.data(), ws.seen.data(), depth ? 3 : -1, in.points,
                              out.centers + size_t(f) * in.points * 3, out.covariances + size_t(f) * in.points * 9,
                              out.opacities + size_t(f) * in.points, out.cameras ? out.cameras + 16 * f : nullptr);
}

}  // namespace kinema
