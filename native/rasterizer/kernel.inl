// The rasterizer at one vector width: projection, binning, compositing and their gradients.
//
// A region of pixels is cut into blocks of one vector of pixels each (4x4, 4x2 or 2x2). Every block has its own list
// of Gaussians, front to back, culled by the exact distance of the block to the ellipse alpha = 1/255; its pixels stay
// in registers while the list is walked, and the walk ends when all of them are opaque. The lists are filtered out of
// the depth order by strip of four columns, by row and by block: a few vector instructions per 16 Gaussians each, no
// branches.
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include "kernel.h"

namespace kinema {
namespace {

#include "simd.inl"

constexpr int BW = W >= 8 ? 4 : 2, BH = W / BW;
// Flat blocks: more rows of them, or too many Gaussians would not fit.
constexpr int bands = BH == 2 ? 2 : 1, rows_max = 8 * bands;

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
const Kernel KINEMA_KERNEL = {W, BW, BH, 2 * bands, project, draw, redraw, raster_backward, project_backward};

}  // namespace kinema
