// The rasterizer at one vector width: projection, binning, compositing and their gradients.
//
// A region of pixels is cut into blocks of 4x4 pixels (2x2 with four lanes): one vector, or two below each other. Every
// block has its own list of Gaussians, front to back, culled by the exact distance of its vectors to the ellipse
// alpha = 1/255; its pixels stay in registers while the list is walked, and the walk ends when all of them are opaque.
// The lists are filtered out of the depth order by strip of four columns, by row and by block: a few vector instructions
// per 16 Gaussians each, no branches. For the backward pass they are kept by vector, so that fewer lanes are idle.
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include "kernel.h"

namespace kinema {
namespace {

#include "simd.inl"

// A vector of pixels is BW wide and VH high; a block is V vectors below each other.
constexpr int BW = W >= 8 ? 4 : 2, VH = W / BW, V = W == 8 ? 2 : 1, BH = V * VH;
// Footprints count in rows of vectors. Flat vectors: more rows of them, or too many Gaussians would not fit.
constexpr int bands = VH == 2 ? 2 : 1, rows_max = 8 * bands, block_rows_max = rows_max / V;

INLINE vf lane_x() {
  vf r;
  for (int i = 0; i < W; ++i) r[i] = i % BW;
  return r;
}
INLINE vi lane_index() {
  vi r;
  for (int i = 0; i < W; ++i) r[i] = i;
  return r;
}
INLINE vf lane_y() {
  vf r;
  for (int i = 0; i < W; ++i) r[i] = i / BW;
  return r;
}

#include "project.inl"

#include "lists.inl"

#include "paint.inl"

}  // namespace

extern const Kernel KINEMA_KERNEL;
const Kernel KINEMA_KERNEL = {W, BW, BH, V, 2 * bands, project, draw, redraw, raster_backward, project_backward};

}  // namespace kinema
