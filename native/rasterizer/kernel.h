// Types that the vector kernels and the code around them share. Plain data only: the header is compiled once per
// instruction set, and nothing in it may become a symbol that the linker could merge across them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kinema {

// A Gaussian projected to the image, in one cache line.
// alpha(d) = 2^(log2_opacity - (a dx + b dy)^2 - (c dy)^2), the Cholesky factor of the conic in units of log2.
// The factored form keeps its precision for needles, where the expanded quadratic cancels.
struct alignas(64) Record {
  float mean_x, mean_y;
  float a, b, c;
  float log2_opacity;
  float fall;                       // 2^(-2 (b^2 + c^2)), for blocks of several vectors: see paint.inl
  uint32_t index;                   // among the visible Gaussians of the frame
  float feature[4];                 // three channels and the depth, or a group of four channels
  float near_x, near_y;             // the point of the image that is nearest to the mean
  uint16_t bx0, bx1, by0, by1;      // blocks of the image that the box around all alpha >= 1/255 touches
};

// Sums over pixels of u = alpha dL/dalpha, with d = pixel - near: {1, dx, dy, dx^2, dx dy, dy^2}, then dL/dfeature.
// Around a mean far outside of the image the squares would be large and their sum, in single precision, too coarse for
// a needle.
struct alignas(64) Moments {
  float u[6];
  float feature[4];
  float pad[6];
};

struct Camera {
  double R[9], t[3];
  double fx, fy, cx, cy;
  int width, height;
};

constexpr double near_plane = 0.01, blur_px2 = 0.3, margin = 0.15;
constexpr uint32_t group = 4, look_ahead = 8;
constexpr float alpha_max = 0.999f, transmittance_min = 1e-4f;
constexpr float alpha_min = 1.0f / 255, log2_alpha_min = -7.9943534368588578f;
constexpr double half_log2_e = 0.72134752044448170368, root_half_log2_e = 0.84932180028801904272;

// The image is cut into square blocks with this many pixels along an edge.
constexpr int block_px = 4;

// Blocks that a Gaussian touches, of eight columns and eight rows from (bx0, by0) on: bit 8 * row + column, four rows to
// a word. All zero if the Gaussian is larger.
constexpr int footprint_words = 2, footprint_rows = 8;
struct Footprints {
  uint32_t* rows[footprint_words];
  uint32_t* corners;  // bx0 | by0 << 16
};

// Output of project: arrays of the visible Gaussians, with room for `width` more than there are points.
struct Visible {
  uint32_t first;  // index of the first record
  Record* records;
  uint32_t* ids;     // of the points
  uint32_t* depths;  // bits of z, which order as positive floats do
  Footprints footprints;
};

// Greatest width and height of a region in blocks: their numbers, from -8 on, fit a byte.
constexpr int region_blocks_max = 240;
// Blocks are visited in strips of four columns, downwards: records of a block are still in the first-level cache for its
// neighbours. Block k of a region is at column 4 (k / (4 blocks_y)) + k % 4, row k / 4 % blocks_y; the last strip
// may have columns outside of the region, which stay empty.
constexpr uint32_t strip = 4;

// Rectangle of pixels that is rasterized at once, with the Gaussians that touch it.
struct Region {
  int x0, y0, x1, y1;
  uint32_t blocks_x, blocks_y;
  uint32_t count;
  const Record* records;  // plus one after the last, which contributes nothing
  const uint32_t* order;  // records front to back
  Footprints footprints;  // of the records
  // Records of block k, front to back: list[start[k]..start[k + 1]], padded to a multiple of `group` with the record
  // that contributes nothing.
  uint32_t* start;
  const uint32_t* list;  // with room for look_ahead groups after the end

  __attribute__((always_inline)) uint32_t blocks() const { return (blocks_x + strip - 1) / strip * strip * blocks_y; }
};

// Memory that grows by realloc.
struct Scratch {
  uint32_t* data;
  size_t size;
};
struct DrawScratch {
  Scratch footprint[footprint_words], corner, record, strip_blocks, strip_row, strip_record, rows, row_lists;
  Scratch list;  // for the backward pass
};

// Image planes of one frame: up to four channels (null for none), and alpha.
struct Planes {
  float* channel[4];
  float* alpha;
  int width;
  bool past_cache;  // stream past the cache: the image does not fit it
};
struct ConstPlanes {
  const float* channel[4];
  const float* alpha;
  int width;
};

// The Gaussians of one frame.
struct Points {
  const float *centers, *covariances, *opacities, *features;
  int channels;
  uint32_t count;
};
struct PointsGradient {
  float *centers, *covariances, *opacities, *features;
  double* camera;  // R, t, fx, fy, cx, cy; may be null
};

struct Kernel {
  int width;
  // Finds the visible among the points begin..end, in their order, and returns their number. Sets *bad if an input is
  // not finite.
  uint32_t (*project)(const Camera&, const Points&, uint32_t begin, uint32_t end, const Visible& out, int* bad);
  // Paints features and alpha. If `list` is not null, also fills region.start and the lists.
  void (*draw)(const Region&, const Planes& out, DrawScratch* scratch, Scratch* list);
  // Paints further channels with the lists of draw.
  void (*redraw)(const Region&, const Planes& out);
  void (*raster_backward)(const Region&, const ConstPlanes& grad, Moments* out, Scratch* scratch);
  // Gradients of the points `ids` from their moments; the other points are not touched.
  void (*project_backward)(const Camera&, const Points&, const uint32_t* ids, uint32_t count, const Moments*,
                           int with_depth, const PointsGradient&);
};

extern const Kernel kernel_base;
#if defined(__x86_64__) || defined(_M_X64)
extern const Kernel kernel_avx2, kernel_avx512;
#endif

}  // namespace kinema
