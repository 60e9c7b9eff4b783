// The rasterizer at one vector width: projection, binning, compositing and their gradients.
//
// A region of pixels is cut into blocks of 4x4 pixels: one, two or four vectors below each other. Every block has its
// own list of Gaussians, front to back, culled by the exact distance of the block to the ellipse alpha = 1/255; its
// pixels stay in registers while the list is walked, and the walk ends when all of them are opaque. The lists are
// filtered out of the depth order by strip of four columns, by row and by block: a few vector instructions per 16
// Gaussians each, no branches. The backward pass walks them again.
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include "common/denormals.h"
#include "kernel.h"

namespace kinema {
namespace {

#include "simd.inl"

// A block is V vectors below each other, each VH pixels high and as wide as the block.
constexpr int V = block_px * block_px / W, VH = block_px / V;

INLINE vf lane_x() {
  vf r;
  for (int i = 0; i < W; ++i) r[i] = i % block_px;
  return r;
}
INLINE vi lane_index() {
  vi r;
  for (int i = 0; i < W; ++i) r[i] = i;
  return r;
}
INLINE vf lane_y() {
  vf r;
  for (int i = 0; i < W; ++i) r[i] = i / block_px;
  return r;
}

#include "project.inl"
#include "project_backward.inl"
#include "lists.inl"
#include "paint.inl"
#include "paint_backward.inl"

}  // namespace

extern const Kernel KINEMA_KERNEL;
const Kernel KINEMA_KERNEL = {W, project, draw, redraw, raster_backward, project_backward};

}  // namespace kinema
