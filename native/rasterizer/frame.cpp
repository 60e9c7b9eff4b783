#include <cstring>

#include "frame.h"

namespace kinema {
namespace {

// Images larger than this are streamed past the cache.
constexpr size_t past_cache_bytes = size_t(4) << 20;
// Calls with fewer frames than this cut each of them into regions, so that there is work for all threads.
constexpr uint32_t few_frames = 8;
constexpr int few_frames_blocks_x = 32, few_frames_blocks_y = 64;
// Points are projected in pieces of this size and then assigned to regions, while their records are in the cache.
constexpr uint32_t piece = 512;

// Sorts by depth: a stable radix sort of (depth << 32 | index), least digit first. The order must be exact, and equal
// depths keep theirs.
const uint32_t* sort(Workspace& ws, const uint32_t* depths, uint32_t n) {
  uint64_t *a = ws.keys.need(n), *b = ws.keys_other.need(n);
  uint32_t lowest = ~0u, highest = 0, bits = 0;
  for (uint32_t i = 0; i < n; ++i) lowest = std::min(lowest, depths[i]), highest = std::max(highest, depths[i]);
  for (uint32_t i = 0; i < n; ++i) a[i] = uint64_t(depths[i] - lowest) << 32 | i;  // positive floats order as bits
  for (uint32_t range = n ? highest - lowest : 0; range; range >>= 1) ++bits;
  const uint32_t passes = n < 256 ? (bits + 7) / 8 : (bits + 11) / 12;
  const uint32_t digit = passes ? (bits + passes - 1) / passes : 0, buckets = 1u << digit, mask = buckets - 1;
  uint32_t* counts = ws.counts.need(size_t(passes) << digit);
  std::memset(counts, 0, sizeof(uint32_t) * (size_t(passes) << digit));
  for (uint32_t p = 0; p < passes; ++p) {
    uint32_t* at = counts + (size_t(p) << digit);
    for (uint32_t i = 0; i < n; ++i) ++at[a[i] >> (32 + p * digit) & mask];
  }
  for (uint32_t p = 0; p < passes; ++p) {
    uint32_t* at = counts + (size_t(p) << digit);
    uint32_t sum = 0;
    for (uint32_t k = 0; k < buckets; ++k) {
      const uint32_t count = at[k];
      at[k] = sum;
      sum += count;
    }
    for (uint32_t i = 0; i < n; ++i) b[at[a[i] >> (32 + p * digit) & mask]++] = a[i];
    std::swap(a, b);
  }
  uint32_t* order = ws.order.need(n);
  for (uint32_t i = 0; i < n; ++i) order[i] = uint32_t(a[i]);
  return order;
}

// First channel of a pass. The first pass has channels 0, 1, 2 and the depth; each later one four channels.
int first_channel(int pass) { return pass ? 4 * pass - 1 : 0; }

void set_features(const Inputs& in, const float* features, const uint32_t* ids, int pass, const RegionData& data) {
  const int first = first_channel(pass), n = std::min<int>(pass ? 4 : 3, int(in.channels) - first);
  for (uint32_t i = 0; i < data.region.count; ++i) {
    Record& record = data.records.data()[i];
    const float* from = features + size_t(ids[record.index]) * in.channels + first;
    float* to = record.feature;
    to[0] = to[1] = to[2] = to[3] = 0.0f;
    if (!pass) std::memcpy(to + 3, data.depths.data() + i, sizeof(float));
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
    sum += r.records.bytes() + r.depths.bytes() + r.start.bytes() + 4 * r.list.size + r.footprints.bytes() +
           r.moments.bytes() + r.more_moments.bytes();
  return sum;
}

bool prepare_frame(const Inputs& in, uint32_t f, Workspace& ws, FrameData& frame) {
  const Kernel& kernel = *in.kernel;
  // A frame is one region if it fits. Regions do not depend on the number of threads, so neither does the order of sums.
  const bool few = in.frames < few_frames;
  const int blocks_x = few ? few_frames_blocks_x : region_blocks_max, width = blocks_x * block_px;
  const int blocks_y = few ? few_frames_blocks_y : region_blocks_max, height = blocks_y * block_px;
  const int nx = (in.width + width - 1) / width, ny = (in.height + height - 1) / height;
  const bool single = nx * ny == 1;
  frame.regions.resize(size_t(nx) * ny);
  for (int k = 0; k < nx * ny; ++k) {
    Region& region = frame.regions[k].region;
    region.x0 = k % nx * width, region.y0 = k / nx * height;
    region.x1 = std::min(region.x0 + width, in.width), region.y1 = std::min(region.y0 + height, in.height);
    region.count = 0;
    region.blocks_x = (region.x1 - region.x0 + block_px - 1) / block_px;
    region.blocks_y = (region.y1 - region.y0 + block_px - 1) / block_px;
  }
  int bad = 0;
  const size_t room = size_t(in.points) + kernel.width;
  uint32_t* ids = frame.ids.need(room);
  if (single) {
    RegionData& data = frame.regions[0];
    const Visible visible{0, data.records.need(room), ids, data.depths.need(room),
                          data.footprints.grow(room, 0)};
    data.region.count = kernel.project(in.cameras[f], in.points_of(f), 0, in.points, visible, &bad);
    data.region.footprints = visible.footprints;
    frame.visible = data.region.count;
  } else {
    const size_t piece_room = piece + kernel.width;
    Visible visible{0, ws.projected.need(piece_room), ids, ws.depths.need(piece_room),
                    ws.footprints.grow(piece_room, 0)};
    std::vector<uint16_t> column(size_t(nx) * blocks_x), row(size_t(ny) * blocks_y);  // of regions, by block
    for (size_t i = 0; i < column.size(); ++i) column[i] = uint16_t(i / blocks_x);
    for (size_t i = 0; i < row.size(); ++i) row[i] = uint16_t(i / blocks_y);
    for (uint32_t begin = 0; begin < in.points; begin += piece) {
      const uint32_t end = std::min(begin + piece, in.points);
      const uint32_t n = kernel.project(in.cameras[f], in.points_of(f), begin, end, visible, &bad);
      visible.first += n, visible.ids += n;
      for (RegionData& data : frame.regions) {
        const size_t used = data.region.count, need = used + n + kernel.width;
        data.records.grow(need, used), data.depths.grow(need, used);
        data.region.footprints = data.footprints.grow(need, used);
      }
      for (uint32_t i = 0; i < n; ++i) {
        const Record& r = visible.records[i];
        for (int y = row[r.by0]; y <= row[r.by1]; ++y)
          for (int x = column[r.bx0]; x <= column[r.bx1]; ++x) {
            RegionData& data = frame.regions[y * nx + x];
            const uint32_t to = data.region.count++;
            data.records.data()[to] = r;
            data.depths.data()[to] = visible.depths[i];
            for (int j = 0; j < footprint_words; ++j)
              data.region.footprints.rows[j][to] = visible.footprints.rows[j][i];
            data.region.footprints.corners[to] = visible.footprints.corners[i];
          }
      }
    }
    frame.visible = visible.first;
  }
  for (RegionData& data : frame.regions) {
    const Record nothing = {0, 0, 0, 0, 0, -100.0f, 0, 0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, 0};
    Record* records = data.records.grow(data.region.count + 1, data.region.count);
    records[data.region.count] = nothing;
    data.region.records = records;
  }
  return !bad;
}

void draw_region(const Inputs& in, uint32_t f, Workspace& ws, const FrameData& frame, RegionData& data,
                 const Image& image, bool keep) {
  Region& region = data.region;
  region.order = sort(ws, data.depths.data(), region.count);
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
    set_features(in, in.features_of(f), frame.ids.data(), pass, data);
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
    // The records still hold the features of the forward's last pass.
    if (pass < passes - 1)
      set_features(in, in.features_of(f), frame.ids.data(), pass, data);
    if (!g.features && pass) {
      std::memset(extra, 0, sizeof(float) * region.count * more);
      continue;
    }
    const auto planes = planes_of_pass<ConstPlanes, const float>(in, f, pass, g.features, g.alpha, g.depth);
    in.kernel->raster_backward(region, planes, moments, &ws.draw.list);
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
  } else if (n && c > 3) {  // without points there is nothing to write to
    std::memset(to.features, 0, 4 * n * c);
  }
  const Moments* moments = frame.regions[0].moments.data();
  if (frame.regions.size() > 1) {
    // A Gaussian may lie in several regions; its sums are added in the order of the regions.
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
