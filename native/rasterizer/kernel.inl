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

// 2^x for -8 <= x <= 0 to 2e-6 relative: a polynomial for 2^(x/8), to be squared three times. Garbage outside.
constexpr float EXP2_0 = 0.99999994f, EXP2_1 = 0.0866428465f, EXP2_2 = 0.00375273172f, EXP2_3 = 0.000107979518f,
                EXP2_4 = 2.24468204e-06f, EXP2_5 = 2.87101258e-08f;

#include "simd.inl"

constexpr int BW = W >= 8 ? 4 : 2, BH = W / BW;

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

// log2 of positive floats to 1e-7 of the larger of 1 and itself: exponent plus atanh series of the mantissa around 1.
INLINE vf log2(vf x) {
  const vi shifted = (vi)x - 0x3f3504f3;  // bits of sqrt(1/2)
  const vi exponent = shifted >> 23;
  const vf m = (vf)((shifted & 0x007fffff) + 0x3f3504f3);
  const vf s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
  const vf series = 2.88539008f + s2 * (0.961796694f + s2 * (0.577078016f + s2 * (0.412198583f + s2 * 0.320598898f)));
  return __builtin_convertvector(exponent, vf) + s * series;
}

// The 16 numbers of a point - covariance (9), centre (3), opacity, three features - from rows to columns and back.
// Lane l is the point ids[l].
#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
INLINE void read_points(const Points& p, const uint32_t* ids, vf* columns) {
  const unsigned features = (0xe000u >> (3 - (p.channels < 3 ? p.channels : 3))) & 0xe000u;
  for (int l = 0; l < W; ++l) {
    const size_t i = ids[l];
    __m512 row = _mm512_maskz_loadu_ps(0x01ff, p.covariances + 9 * i);
    row = _mm512_mask_loadu_ps(row, 0x0e00, p.centers + 3 * i - 9);
    row = _mm512_mask_loadu_ps(row, 0x1000, p.opacities + i - 12);
    columns[l] = (vf)_mm512_mask_loadu_ps(row, features, p.features + p.channels * i - 13);
  }
  transpose(columns);
}
INLINE void write_points(const PointsGradient& p, int channels, const uint32_t* ids, int n, vf* columns) {
  const unsigned features = (0xe000u >> (3 - (channels < 3 ? channels : 3))) & 0xe000u;
  transpose(columns);
  for (int l = 0; l < n; ++l) {
    const size_t i = ids[l];
    const __m512 row = (__m512)columns[l];
    _mm512_mask_storeu_ps(p.covariances + 9 * i, 0x01ff, row);
    _mm512_mask_storeu_ps(p.centers + 3 * i - 9, 0x0e00, row);
    _mm512_mask_storeu_ps(p.opacities + i - 12, 0x1000, row);
    _mm512_mask_storeu_ps(p.features + channels * i - 13, features, row);
  }
}
#else
INLINE void read_points(const Points& p, const uint32_t* ids, vf* columns) {
  float t[16][W] = {};
  for (int l = 0; l < W; ++l) {
    const size_t i = ids[l];
    for (int j = 0; j < 9; ++j) t[j][l] = p.covariances[9 * i + j];
    for (int j = 0; j < 3; ++j) t[9 + j][l] = p.centers[3 * i + j];
    t[12][l] = p.opacities[i];
    for (int j = 0; j < 3 && j < p.channels; ++j) t[13 + j][l] = p.features[p.channels * i + j];
  }
  for (int j = 0; j < 16; ++j) columns[j] = load(t[j]);
}
INLINE void write_points(const PointsGradient& p, int channels, const uint32_t* ids, int n, vf* columns) {
  float t[16][W];
  for (int j = 0; j < 16; ++j) store(t[j], columns[j]);
  for (int l = 0; l < n; ++l) {
    const size_t i = ids[l];
    for (int j = 0; j < 9; ++j) p.covariances[9 * i + j] = t[j][l];
    for (int j = 0; j < 3; ++j) p.centers[3 * i + j] = t[9 + j][l];
    p.opacities[i] = t[12][l];
    for (int j = 0; j < 3 && j < channels; ++j) p.features[channels * i + j] = t[13 + j][l];
  }
}
#endif

// Camera coordinates and the linear map M = J R of a batch; shared by both directions.
struct Projected {
  vd x, y, z, iz, slope_x, slope_y, gx, gy, M0[3], M1[3], p, q, r;
  vl free_x, free_y;  // where the slope was not clamped
};

INLINE Projected project_batch(const Camera& k, const vd c[3], const vd S[6]) {
  Projected o;
  o.x = k.R[0] * c[0] + k.R[1] * c[1] + k.R[2] * c[2] + k.t[0];
  o.y = k.R[3] * c[0] + k.R[4] * c[1] + k.R[5] * c[2] + k.t[1];
  o.z = k.R[6] * c[0] + k.R[7] * c[1] + k.R[8] * c[2] + k.t[2];
  o.iz = 1.0 / o.z;
  const double low_x = (-k.cx - margin * k.width) / k.fx, high_x = ((1 + margin) * k.width - k.cx) / k.fx;
  const double low_y = (-k.cy - margin * k.height) / k.fy, high_y = ((1 + margin) * k.height - k.cy) / k.fy;
  const vd sx = o.x * o.iz, sy = o.y * o.iz;
  o.slope_x = min_d(max_d(sx, splat_d(low_x)), splat_d(high_x));
  o.slope_y = min_d(max_d(sy, splat_d(low_y)), splat_d(high_y));
  o.free_x = o.slope_x == sx;
  o.free_y = o.slope_y == sy;
  o.gx = k.fx * o.iz;
  o.gy = k.fy * o.iz;
  for (int j = 0; j < 3; ++j) {
    o.M0[j] = o.gx * (k.R[j] - o.slope_x * k.R[6 + j]);
    o.M1[j] = o.gy * (k.R[3 + j] - o.slope_y * k.R[6 + j]);
  }
  const vd a0 = S[0] * o.M0[0] + S[1] * o.M0[1] + S[2] * o.M0[2];
  const vd a1 = S[1] * o.M0[0] + S[3] * o.M0[1] + S[4] * o.M0[2];
  const vd a2 = S[2] * o.M0[0] + S[4] * o.M0[1] + S[5] * o.M0[2];
  const vd b0 = S[0] * o.M1[0] + S[1] * o.M1[1] + S[2] * o.M1[2];
  const vd b1 = S[1] * o.M1[0] + S[3] * o.M1[1] + S[4] * o.M1[2];
  const vd b2 = S[2] * o.M1[0] + S[4] * o.M1[1] + S[5] * o.M1[2];
  o.p = a0 * o.M0[0] + a1 * o.M0[1] + a2 * o.M0[2] + blur_px2;
  o.q = a0 * o.M1[0] + a1 * o.M1[1] + a2 * o.M1[2];
  o.r = b0 * o.M1[0] + b1 * o.M1[1] + b2 * o.M1[2] + blur_px2;
  return o;
}

// Centre and the six unique entries of the symmetric part of the covariance.
INLINE void widen_points(const float columns[16][W], vd c[3], vd S[6]) {
  for (int j = 0; j < 3; ++j) c[j] = widen(columns[9 + j]);
  S[0] = widen(columns[0]);
  S[1] = 0.5 * (widen(columns[1]) + widen(columns[3]));
  S[2] = 0.5 * (widen(columns[2]) + widen(columns[6]));
  S[3] = widen(columns[4]);
  S[4] = 0.5 * (widen(columns[5]) + widen(columns[7]));
  S[5] = widen(columns[8]);
}

uint32_t project(const Camera& k, const Points& points, const Visible& out, int* bad) {
  const float last_x = float((k.width + BW - 1) / BW - 1), last_y = float((k.height + BH - 1) / BH - 1);
  uint32_t count = 0;
  vf not_finite = {};
  for (uint32_t first = 0; first < points.count; first += W) {
    uint32_t here[W];
    for (int l = 0; l < W; ++l) here[l] = first + l < points.count ? first + l : points.count - 1;
    vf columns[16];
    read_points(points, here, columns);
    alignas(64) float in[16][W];
    for (int j = 0; j < 16; ++j) {
      not_finite += columns[j] * 0.0f;  // NaN unless finite
      store(in[j], columns[j]);
    }
    // In double: the determinant of a needle's image is a difference of nearly equal numbers.
    vd center[3], S[6];
    widen_points(in, center, S);
    const Projected g = project_batch(k, center, S);
    const vd scale = half_log2_e / (g.p * g.r - g.q * g.q);
    const vf mx = narrow(g.gx * g.x + k.cx), my = narrow(g.gy * g.y + k.cy), z = narrow(g.z), p = narrow(g.p),
             q = narrow(g.q), r = narrow(g.r), A = narrow(g.r * scale), B = narrow(-(g.q * scale));
    const vf o = columns[12];
    const mask bright = ge(o, splat(1.0f / 255));
    const vf log2_o = log2(blend(bright, o, splat(1.0f)));
    const vf reach = (log2_o - log2_alpha_min) * float(1.0 / half_log2_e);
    const vf hx = sqrt(reach * p) * 1.000001f + 1e-4f, hy = sqrt(reach * r) * 1.000001f + 1e-4f;
    const vf a = sqrt(A);
    // The first pixel inside is floor(mean - half + 1/2), the last floor(mean + half - 1/2).
    const vf x0 = mx - hx + 0.5f, x1 = mx + hx - 0.5f, y0 = my - hy + 0.5f, y1 = my + hy - 0.5f;
    mask seen = both(both(bright, ge(z, splat(float(near_plane)))), both(gt(A, vf{}), gt(r, vf{})));
    seen = both(seen, both(both(ge(x1, vf{}), gt(splat(float(k.width)), x0)),
                           both(ge(y1, vf{}), gt(splat(float(k.height)), y0))));
    const vi bx0 = __builtin_convertvector(min(max(x0, vf{}) * (1.0f / BW), splat(last_x)), vi);
    const vi bx1 = __builtin_convertvector(min(max(x1, vf{}) * (1.0f / BW), splat(last_x)), vi);
    const vi by0 = __builtin_convertvector(min(max(y0, vf{}) * (1.0f / BH), splat(last_y)), vi);
    const vi by1 = __builtin_convertvector(min(max(y1, vf{}) * (1.0f / BH), splat(last_y)), vi);
    const vf b = B / a, c = sqrt(float(half_log2_e) / r), slope_yx = q / p, slope_xy = q / r;
    unsigned set = bits(seen);
    if (points.count - first < W) set &= (1u << (points.count - first)) - 1;
    // The least of (a dx + b dy)^2 + (c dy)^2 over a block lies on one of the two edges that face the mean.
    const vf fx0 = __builtin_convertvector(bx0, vf), fx1 = __builtin_convertvector(bx1, vf);
    const vf fy0 = __builtin_convertvector(by0, vf), fy1 = __builtin_convertvector(by1, vf);
    const vf limit = (log2_o - log2_alpha_min) + 1e-4f, zero = {};
    vi touched = {};
    for (int row = 0; row < 4; ++row) {
      const mask row_in = ge(fy1, fy0 + float(row));
      if (!(bits(row_in) & set)) break;
      const vf ly = (fy0 + float(row)) * float(BH) + (0.5f - my), hy = ly + float(BH - 1);
      const vf ny = min(max(zero, ly), hy), x_at = ny * slope_xy, bny = b * ny, cny = c * ny, cny2 = cny * cny;
      for (int col = 0; col < 4; ++col) {
        const mask col_in = ge(fx1, fx0 + float(col));
        if (!(bits(col_in) & set)) break;
        const vf lx = (fx0 + float(col)) * float(BW) + (0.5f - mx), hx = lx + float(BW - 1);
        const vf nx = min(max(zero, lx), hx);
        const vf ey = min(max(nx * slope_yx, ly), hy), ex = min(max(x_at, lx), hx);
        const vf u1 = a * nx + b * ey, v1 = c * ey, u2 = a * ex + bny;
        const vf least = min(u1 * u1 + v1 * v1, u2 * u2 + cny2);
        touched = set_bit(touched, both(both(row_in, col_in), ge(limit, least)), 1 << (4 * row + col));
      }
    }
    const mask small = both(ge(fx0 + 3.0f, fx1), ge(fy0 + 3.0f, fy1));
    touched = (vi)keep(small, (vf)touched);
    const mask chosen = from_bits(set);
    append(out.ids + count, chosen, lane_index() + int(first));
    append(out.depths + count, chosen, (vi)z);
    append(out.footprints + count, chosen, touched);
    append(out.corners + count, chosen, bx0 | by0 << 16);
    // Records are rows: transposed, and stored one after the other where visible.
    uint32_t to[W];
    for (int l = 0; l < W; ++l) {
      to[l] = count;
      count += set >> l & 1;
    }
    vi index;
    memcpy(&index, to, sizeof index);
    const vf record[16] = {mx,          my,          a,           b, c,                     log2_o,
                           columns[13], columns[14], columns[15], z, (vf)(bx0 | bx1 << 16), (vf)(by0 | by1 << 16),
                           (vf)index,   slope_yx,    slope_xy,    z};
    for (int j = 0; j < 16; j += W) {
      vf part[W];
      for (int l = 0; l < W; ++l) part[l] = record[j + l];
      transpose(part);
      for (int l = 0; l < W; ++l) store((float*)(out.records + to[l]) + j, part[l]);
    }
  }
  for (int l = 0; l < W; ++l) *bad |= not_finite[l] != 0.0f;
  return count;
}

INLINE int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

INLINE uint32_t* reserve(Scratch* s, size_t n) {
  if (n > s->size) {
    s->size = 2 * n;
    s->data = (uint32_t*)realloc(s->data, 4 * s->size);
    if (!s->data) abort();
  }
  return s->data;
}

// Footprints of the region's Gaussians, front to back, those larger than 4x4 blocks in several pieces:
// blocks | bx << 16 | by << 24, relative to the region.
size_t cut_pieces(const Region& region, DrawScratch* scratch) {
  const int rx = region.x0 / BW, ry = region.y0 / BH, bound_x = region.blocks_x, bound_y = region.blocks_y;
  size_t n = 0, room = 0;
  uint32_t *where = nullptr, *record = nullptr;
  const auto need = [&](size_t more) __attribute__((always_inline)) {
    if (n + more <= room) return;
    room = n + more + region.count;
    where = reserve(&scratch->where, room);
    record = reserve(&scratch->record, room);
  };
  for (uint32_t k = 0; k < region.count; ++k) {
    const uint32_t i = region.order ? region.order[k] : k;
    const uint32_t at = region.order ? i : region.records[i].index;
    const uint32_t blocks = region.footprints[at], corner = region.corners[at];
    const int x = int(corner & 0xffff) - rx, y = int(corner >> 16) - ry;
    need(W);
    // In a frame of several regions a footprint may reach over the edge, then it is made anew.
    if (blocks && (region.order || (x >= 0 && y >= 0 && x + 3 < bound_x && y + 3 < bound_y))) {
      where[n] = blocks | uint32_t(x) << 16 | uint32_t(y) << 24;
      record[n++] = i;
      continue;
    }
    const Record& r = region.records[i];
    const float mx = r.mean_x - region.x0 - 0.5f, my = r.mean_y - region.y0 - 0.5f;
    const int bx0 = clip(r.bx0 - rx, 0, bound_x - 1), bx1 = clip(r.bx1 - rx, 0, bound_x - 1);
    const int by0 = clip(r.by0 - ry, 0, bound_y - 1), by1 = clip(r.by1 - ry, 0, bound_y - 1);
    need(size_t((bx1 - bx0) / 4 + 1) * ((by1 - by0) / 4 + 1) + W);
    const float limit = r.log2_opacity - log2_alpha_min + 1e-4f;
    for (int by = by0; by <= by1; by += 4)
      for (int bx = bx0; bx <= bx1; bx += 4) {
        uint32_t blocks = 0;
        for (int part = 0; part < 16; part += W) {
          vf ox, oy;
          for (int l = 0; l < W; ++l) ox[l] = (part + l) % 4 * BW, oy[l] = (part + l) / 4 * BH;
          const vf lx = ox + (bx * BW - mx), ly = oy + (by * BH - my), hx = lx + (BW - 1.0f), hy = ly + (BH - 1.0f);
          const vf nx = min(max(vf{}, lx), hx), ny = min(max(vf{}, ly), hy);
          const vf ey = min(max(nx * r.slope_yx, ly), hy), ex = min(max(ny * r.slope_xy, lx), hx);
          const vf u1 = r.a * nx + r.b * ey, v1 = r.c * ey, u2 = r.a * ex + r.b * ny, v2 = r.c * ny;
          const vf least = min(u1 * u1 + v1 * v1, u2 * u2 + v2 * v2);
          const mask inside = both(ge(splat((bound_x - 1) * BW - mx), lx), ge(splat((bound_y - 1) * BH - my), ly));
          blocks |= bits(both(ge(splat(limit), least), inside)) << part;
        }
        where[n] = blocks | uint32_t(bx) << 16 | uint32_t(by) << 24;
        record[n] = i;
        n += blocks != 0;
      }
  }
  need(W);
  for (int l = 0; l < W; ++l) where[n + l] = 0;
  return n;
}

// The pieces that touch a strip, with the bits of their blocks moved to the strip's columns: blocks | by << 24.
INLINE size_t filter_strip(DrawScratch* scratch, size_t pieces, int first_column) {
  uint32_t* to_where = reserve(&scratch->strip_where, pieces + 2 * W);
  uint32_t* to_record = reserve(&scratch->strip_record, pieces + 2 * W);
  const uint32_t *from_where = scratch->where.data, *from_record = scratch->record.data;
  size_t n = 0;
  if (W == 4) {  // without variable shifts one by one is faster
    for (size_t i = 0; i < pieces; ++i) {
      const uint32_t where = from_where[i], blocks = where & 0xffff;
      const int right = int(where >> 16 & 255) - first_column;
      const uint32_t moved = right >= 4 || right <= -4 ? 0
                             : right >= 0             ? (blocks << right) & ((0xfu << right & 15) * 0x1111)
                                                      : (blocks >> -right) & ((0xfu >> -right) * 0x1111);
      to_where[n] = moved | (where & 0xff000000u);
      to_record[n] = from_record[i];
      n += moved != 0;
    }
    return n;
  }
  for (size_t i = 0; i < pieces; i += W) {
    const vi where = load_i(from_where + i), blocks = where & 0xffff;
    const vi right = (shift_right(where, splat_i(16)) & 255) - first_column;
    // Bits that leave a row of four must not enter the next one. A shift by a negative number gives 0.
    const vi kept = shift_left(splat_i(15), right) & 15, kept_left = shift_right(splat_i(15), -right);
    const vi to_right = shift_left(blocks, right) & (kept | kept << 4 | kept << 8 | kept << 12);
    const vi to_left = shift_right(blocks, -right) & (kept_left | kept_left << 4 | kept_left << 8 | kept_left << 12);
    const vi moved = to_right | to_left;
    const mask hit = any_bit(moved, moved);
    append(to_where + n, hit, moved | (where & int(0xff000000)));
    append(to_record + n, hit, load_i(from_record + i));
    n += __builtin_popcount(bits(hit));
  }
  for (int l = 0; l < W; ++l) to_where[n + l] = 0;
  return n;
}

// Deals these out to the rows of blocks that they touch: record << 4 | columns, `room` apart.
INLINE void scatter_rows(const DrawScratch& scratch, size_t count, uint32_t rows, uint32_t* to, size_t room,
                         uint32_t* ends) {
  const uint32_t *where = scratch.strip_where.data, *record = scratch.strip_record.data;
  for (uint32_t row = 0; row < rows + 3; ++row) ends[row] = row * room;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t blocks = where[i] & 0xffff, mine = record[i] << 4;
    uint32_t* end = ends + (where[i] >> 24);
    for (int j = 0; j < 4; ++j) {  // without branches: what touches nothing is overwritten by the next
      const uint32_t columns = blocks >> 4 * j & 15;
      to[end[j]] = mine | columns;
      end[j] += columns != 0;
    }
  }
}
INLINE size_t filter_block(const uint32_t* row, size_t count, int column, uint32_t* list) {
  const vi bit = splat_i(1 << column);
  size_t n = 0;
  for (size_t i = 0; i < count; i += W) {
    const vi all = load_i(row + i);
    const mask hit = any_bit(all, bit);
    append(list + n, hit, shift_right_4(all));
    n += __builtin_popcount(bits(hit));
  }
  return n;
}

// Pixels of a block in and out of row-major planes; the part outside of the image is zero or dropped.
INLINE vf read_block(const float* plane, int width, int x, int y, int nx, int ny) {
  plane += size_t(y) * width + x;
  if (nx >= BW && ny >= BH) return read_rows(plane, width);
  vf r = {};
  for (int i = 0; i < W; ++i)
    if (i % BW < nx && i / BW < ny) r[i] = plane[size_t(i / BW) * width + i % BW];
  return r;
}
INLINE void write_block(float* plane, int width, int x, int y, int nx, int ny, vf v) {
  plane += size_t(y) * width + x;
  if (nx >= BW && ny >= BH) return write_rows(plane, width, v);
  for (int i = 0; i < W; ++i)
    if (i % BW < nx && i / BW < ny) plane[size_t(i / BW) * width + i % BW] = v[i];
}

// Gaussians are taken a few at a time: what does not depend on the transmittance is computed for all of them side by
// side, so that the scheduler sees independent work.
constexpr int G = group;
// So many groups ahead records are fetched into the cache.
constexpr int ahead = 6;

// alpha (zero where it is skipped) of G Gaussians, and the value before it was clamped.
INLINE void alphas(const Record* const r[G], vf px, vf py, vf alpha[G], vf raw[G], vf dx[G], vf dy[G]) {
  vf u[G], v[G], e[G], p[G];
  for (int j = 0; j < G; ++j) dx[j] = px - r[j]->mean_x;
  for (int j = 0; j < G; ++j) dy[j] = py - r[j]->mean_y;
  for (int j = 0; j < G; ++j) u[j] = r[j]->b * dy[j];
  for (int j = 0; j < G; ++j) v[j] = r[j]->c * dy[j];
  for (int j = 0; j < G; ++j) u[j] = r[j]->a * dx[j] + u[j];
  for (int j = 0; j < G; ++j) e[j] = r[j]->log2_opacity - v[j] * v[j];
  for (int j = 0; j < G; ++j) e[j] = e[j] - u[j] * u[j];
  for (int j = 0; j < G; ++j) p[j] = EXP2_5 * e[j] + EXP2_4;
  for (int j = 0; j < G; ++j) p[j] = p[j] * e[j] + EXP2_3;
  for (int j = 0; j < G; ++j) p[j] = p[j] * e[j] + EXP2_2;
  for (int j = 0; j < G; ++j) p[j] = p[j] * e[j] + EXP2_1;
  for (int j = 0; j < G; ++j) p[j] = p[j] * e[j] + EXP2_0;
  for (int j = 0; j < G; ++j) p[j] *= p[j];
  for (int j = 0; j < G; ++j) p[j] *= p[j];
  for (int j = 0; j < G; ++j) raw[j] = p[j] * p[j];
  for (int j = 0; j < G; ++j) alpha[j] = keep_min(ge(e[j], splat(log2_alpha_min)), raw[j], splat(alpha_max));
}

// Composites a list over one block and returns how much of it mattered.
INLINE uint32_t paint_block(const Region& region, int bx, int by, const uint32_t* at, uint32_t n, const Planes& out) {
  const Record* const records = region.records;
  const int x = region.x0 + bx * BW, y = region.y0 + by * BH;
  const vf px = lane_x() + (x + 0.5f), py = lane_y() + (y + 0.5f);
  // T runs on when a pixel is finished; as it never grows, comparing it tells that. T_end is what counted.
  vf T = splat(1.0f), T_end = T, c[4] = {};
  uint32_t i = 0;
  while (i < n) {
    const Record* r[G];
    for (int j = 0; j < G; ++j) r[j] = records + at[i + j];
    for (int j = 0; j < G; ++j) __builtin_prefetch(records + at[i + ahead * G + j]);
    vf alpha[G], raw[G], dx[G], dy[G];
    alphas(r, px, py, alpha, raw, dx, dy);
    mask alive = {};
    for (int j = 0; j < G; ++j) {
      const vf after = T * (1.0f - alpha[j]);
      alive = gt(after, splat(transmittance_min));
      const vf weight = keep(alive, T * alpha[j]);
      T_end = blend(alive, after, T_end);
      T = after;
      for (int m = 0; m < 4; ++m) c[m] += weight * r[j]->feature[m];
    }
    i += G;
    if (!bits(alive)) break;
  }
  const int nx = region.x1 - x, ny = region.y1 - y;
  for (int j = 0; j < 4; ++j)
    if (out.channel[j]) write_block(out.channel[j], out.width, x, y, nx, ny, c[j]);
  if (out.alpha) write_block(out.alpha, out.width, x, y, nx, ny, 1.0f - T_end);
  return i;
}

size_t draw(const Region& region, const Planes& out, DrawScratch* scratch) {
  const FlushDenormals flush;
  const size_t pieces = cut_pieces(region, scratch);
  uint32_t ends[region_blocks_max + 3];
  size_t n = 0;
  uint32_t k = 0;
  for (uint32_t bx0 = 0; bx0 < region.blocks_x; bx0 += strip) {
    const size_t in_strip = filter_strip(scratch, pieces, bx0);
    const size_t room = in_strip + W;
    uint32_t* rows = reserve(&scratch->rows, (region.blocks_y + 3) * room);
    scatter_rows(*scratch, in_strip, region.blocks_y, rows, room, ends);
    for (uint32_t by = 0; by < region.blocks_y; ++by) {
      const uint32_t* row = rows + by * room;
      const size_t in_row = ends[by] - by * room;
      for (int l = 0; l < W; ++l) rows[by * room + in_row + l] = 0;
      uint32_t* list = reserve(&scratch->list, n + strip * (in_row + group) + 2 * W + look_ahead * group);
      for (uint32_t column = 0; column < strip; ++column) {
        region.start[k++] = n;
        if (bx0 + column >= region.blocks_x) continue;
        size_t m = filter_block(row, in_row, column, list + n);
        while (m % group) list[n + m++] = region.count;
        n += paint_block(region, bx0 + column, by, list + n, m, out);
      }
    }
  }
  region.start[k] = n;
  uint32_t* list = reserve(&scratch->list, n + look_ahead * group);
  for (uint32_t j = 0; j < look_ahead * group; ++j) list[n + j] = region.count;
  return n;
}

INLINE int block_column(const Region& region, uint32_t k) { return k / (strip * region.blocks_y) * strip + k % strip; }
INLINE int block_row(const Region& region, uint32_t k) { return k / strip % region.blocks_y; }

void redraw(const Region& region, const Planes& out) {
  const FlushDenormals flush;
  for (uint32_t k = 0; k < region.blocks(); ++k)
    if (block_column(region, k) < int(region.blocks_x))
      paint_block(region, block_column(region, k), block_row(region, k), region.list + region.start[k],
                  region.start[k + 1] - region.start[k], out);
}

// Front to back with one number per pixel: S = sum over what is still to come of weight (feature . grad), minus
// T_end dL/dalpha_image. Then dL/dalpha_i = T_i (feature_i . grad) - S_i / (1 - alpha_i).
template <int C>
INLINE void raster_backward_channels(const Region& region, const ConstPlanes& image, const ConstPlanes& grad,
                                     Moments* out) {
  const FlushDenormals flush;
  const Record* const records = region.records;
  const vf lx = lane_x() + 0.5f, ly = lane_y() + 0.5f;
  // In a group of four lanes lie pixels of one row, or all of a 2x2 block.
  constexpr int columns = W == 4 ? 2 : 4;
  vf row;  // of a lane's group
  for (int i = 0; i < W; ++i) row[i] = i / 4;
  for (uint32_t k = 0; k < region.blocks(); ++k) {
    const uint32_t n = region.start[k + 1] - region.start[k];
    if (!n) continue;
    const int x = region.x0 + block_column(region, k) * BW, y = region.y0 + block_row(region, k) * BH;
    const int nx = region.x1 - x, ny = region.y1 - y;
    const vf px = lx + float(x), py = ly + float(y);
    vf g[C], S = {}, T = splat(1.0f);
    alignas(64) float spread[C][4][W];  // the gradient of column p of a lane's group, at all lanes of the group
    for (int c = 0; c < C; ++c) {
      g[c] = grad.channel[c] ? read_block(grad.channel[c], grad.width, x, y, nx, ny) : vf{};
      if (grad.channel[c]) S += g[c] * read_block(image.channel[c], image.width, x, y, nx, ny);
      vf all[4] = {g[c], g[c], g[c], g[c]};
      transpose4(all);
      for (int p = 0; p < 4; ++p) store(spread[c][p], all[p]);
    }
    if (grad.alpha)
      S -= (1.0f - read_block(image.alpha, image.width, x, y, nx, ny)) *
           read_block(grad.alpha, grad.width, x, y, nx, ny);
    const uint32_t* at = region.list + region.start[k];
    for (uint32_t i = 0; i < n; i += G) {
      const Record* r[G];
      for (int j = 0; j < G; ++j) r[j] = records + at[i + j];
      for (int j = 0; j < G; ++j) {
        __builtin_prefetch(records + at[i + ahead * G + j]);
        __builtin_prefetch(out + at[i + ahead * G + j], 1);
      }
      vf alpha[G], raw[G], dx[G], dy[G], dot[G], rest[G], inverse[G], u[G], w[G];
      alphas(r, px, py, alpha, raw, dx, dy);
      alignas(16) float first_dx[G], first_dy[G];
      for (int j = 0; j < G; ++j) first_dx[j] = dx[j][0], first_dy[j] = dy[j][0];
      for (int j = 0; j < G; ++j) dot[j] = g[0] * r[j]->feature[0];
      for (int c = 1; c < C; ++c)
        for (int j = 0; j < G; ++j) dot[j] += g[c] * r[j]->feature[c];
      for (int j = 0; j < G; ++j) rest[j] = 1.0f - alpha[j];
      for (int j = 0; j < G; ++j) inverse[j] = reciprocal(rest[j]);
      for (int j = 0; j < G; ++j) {
        const vf after = T * rest[j];
        const mask alive = gt(after, splat(transmittance_min));
        w[j] = keep(alive, T * alpha[j]);
        S -= w[j] * dot[j];
        u[j] = keep(both(alive, ge(splat(alpha_max), raw[j])), alpha[j] * (T * dot[j] - S * inverse[j]));
        T = after;
      }
      // Sums over pixels, with d = pixel - mean. First over the four lanes of a group: after the transposition u[p] is
      // pixel p of the group for the four Gaussians.
      transpose4(u);
      transpose4(w);
      vf q[12];
      const vf ax = repeat4(first_dx), ay = repeat4(first_dy);
      if (columns == 4) {
        const vf y_row = ay + row;
        const vf s0 = (u[0] + u[1]) + (u[2] + u[3]), b1 = u[1] + 2.0f * u[2] + 3.0f * u[3];
        const vf s1 = b1 + ax * s0, b2 = u[1] + 4.0f * u[2] + 9.0f * u[3];
        q[0] = s0;
        q[1] = s1;
        q[2] = y_row * s0;
        q[3] = b2 + ax * (b1 + s1);  // sum of (ax + p)^2 u
        q[4] = y_row * s1;
        q[5] = y_row * q[2];
      } else {
        const vf low = u[0] + u[1], high = u[2] + u[3], right = u[1] + u[3], ax1 = ax + 1.0f, ay1 = ay + 1.0f;
        q[0] = low + high;
        q[1] = ax * (u[0] + u[2]) + ax1 * right;
        q[2] = ay * low + ay1 * high;
        q[3] = ax * ax * (u[0] + u[2]) + ax1 * ax1 * right;
        q[4] = ay * (ax * u[0] + ax1 * u[1]) + ay1 * (ax * u[2] + ax1 * u[3]);
        q[5] = ay * ay * low + ay1 * ay1 * high;
      }
      for (int c = 0; c < C; ++c)
        q[6 + c] = (w[0] * load(spread[c][0]) + w[1] * load(spread[c][1])) +
                   (w[2] * load(spread[c][2]) + w[3] * load(spread[c][3]));
      for (int j = 6 + C; j < 12; ++j) q[j] = vf{};
      float* to[G];
      for (int j = 0; j < G; ++j) to[j] = (float*)(out + at[i + j]);
      scatter4(q, to);
    }
  }
}

void raster_backward(const Region& region, const ConstPlanes& image, const ConstPlanes& grad, Moments* out) {
  if (grad.channel[3])
    raster_backward_channels<4>(region, image, grad, out);
  else
    raster_backward_channels<3>(region, image, grad, out);
}

struct Gradients {
  vd center[3], covariance[6], opacity, R[9], t[3], fx, fy, cx, cy;
};

INLINE Gradients project_backward_lanes(const Camera& k, const vd c[3], const vd S[6], vd o, const vd m[6], vd grad_z) {
  const Projected g = project_batch(k, c, S);
  // Q = inverse of the image covariance; dL/dmean = Q m1, dL/dcov = Q m2 Q / 2.
  const vd idet = 1.0 / (g.p * g.r - g.q * g.q);
  const vd A = g.r * idet, B = -g.q * idet, C = g.p * idet;
  const vd vx = A * m[1] + B * m[2], vy = B * m[1] + C * m[2];
  const vd h0 = A * m[3] + B * m[4], h1 = A * m[4] + B * m[5], h2 = B * m[3] + C * m[4], h3 = B * m[4] + C * m[5];
  const vd G0 = 0.5 * (h0 * A + h1 * B), G1 = 0.5 * (h0 * B + h1 * C), G2 = 0.5 * (h2 * B + h3 * C);
  Gradients r;
  r.opacity = m[0] / o;
  vd n0[3], n1[3];  // G M
  for (int j = 0; j < 3; ++j) {
    n0[j] = G0 * g.M0[j] + G1 * g.M1[j];
    n1[j] = G1 * g.M0[j] + G2 * g.M1[j];
  }
  const int at[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
  for (int e = 0; e < 6; ++e)
    r.covariance[e] = g.M0[at[e][0]] * n0[at[e][1]] + g.M1[at[e][0]] * n1[at[e][1]];
  // dL/dM = 2 G M Sigma, and M rows are gx (R0 - slope_x R2), gy (R1 - slope_y R2).
  const vd w0[3] = {2.0 * (n0[0] * S[0] + n0[1] * S[1] + n0[2] * S[2]), 2.0 * (n0[0] * S[1] + n0[1] * S[3] + n0[2] * S[4]),
                    2.0 * (n0[0] * S[2] + n0[1] * S[4] + n0[2] * S[5])};
  const vd w1[3] = {2.0 * (n1[0] * S[0] + n1[1] * S[1] + n1[2] * S[2]), 2.0 * (n1[0] * S[1] + n1[1] * S[3] + n1[2] * S[4]),
                    2.0 * (n1[0] * S[2] + n1[1] * S[4] + n1[2] * S[5])};
  vd to_gx = splat_d(0.0), to_gy = to_gx, to_sx = to_gx, to_sy = to_gx;
  for (int j = 0; j < 3; ++j) {
    to_gx += w0[j] * (k.R[j] - g.slope_x * k.R[6 + j]);
    to_gy += w1[j] * (k.R[3 + j] - g.slope_y * k.R[6 + j]);
    to_sx -= w0[j] * g.gx * k.R[6 + j];
    to_sy -= w1[j] * g.gy * k.R[6 + j];
    r.R[j] = g.gx * w0[j];
    r.R[3 + j] = g.gy * w1[j];
    r.R[6 + j] = -(g.slope_x * r.R[j] + g.slope_y * r.R[3 + j]);
  }
  const vd sx = g.x * g.iz, sy = g.y * g.iz;
  const vd free_sx = keep_d(g.free_x, to_sx), free_sy = keep_d(g.free_y, to_sy);
  // mean = (fx x / z + cx, fy y / z + cy)
  const vd along_x = k.fx * vx + free_sx, along_y = k.fy * vy + free_sy;
  const vd px = along_x * g.iz, py = along_y * g.iz;
  const vd pz = grad_z - g.iz * (along_x * sx + along_y * sy + to_gx * g.gx + to_gy * g.gy);
  for (int j = 0; j < 3; ++j) {
    r.center[j] = k.R[j] * px + k.R[3 + j] * py + k.R[6 + j] * pz;
    r.R[j] += px * c[j];
    r.R[3 + j] += py * c[j];
    r.R[6 + j] += pz * c[j];
  }
  r.t[0] = px, r.t[1] = py, r.t[2] = pz;
  // A clamped slope is (edge - cx) / fx.
  const vd held_x = (to_sx - free_sx) * (-1.0 / k.fx), held_y = (to_sy - free_sy) * (-1.0 / k.fy);
  r.fx = vx * sx + to_gx * g.iz + held_x * g.slope_x;
  r.fy = vy * sy + to_gy * g.iz + held_y * g.slope_y;
  r.cx = vx + held_x;
  r.cy = vy + held_y;
  return r;
}

void project_backward(const Camera& k, const Points& points, const uint32_t* ids, uint32_t count,
                      const Moments* moments, int with_depth, const PointsGradient& out) {
  vd sums[16];
  for (vd& s : sums) s = splat_d(0.0);
  for (uint32_t first = 0; first < count; first += W) {
    const int n = count - first < W ? count - first : W;
    uint32_t here[W];
    for (int l = 0; l < W; ++l) here[l] = ids[first + (l < n ? l : n - 1)];
    vf columns[16];
    alignas(64) float in[16][W], sum[16][W];
    read_points(points, here, columns);
    for (int j = 0; j < 16; ++j) store(in[j], columns[j]);
    for (int j = 0; j < 12; j += W) {
      vf part[W];
      for (int l = 0; l < W; ++l) part[l] = l < n ? load((const float*)(moments + first + l) + j) : vf{};
      transpose(part);
      for (int l = 0; l < W && j + l < 16; ++l) store(sum[j + l], part[l]);
    }
    vd c[3], S[6], m[6];
    widen_points(in, c, S);
    for (int j = 0; j < 6; ++j) m[j] = widen(sum[j]);
    const Gradients r = project_backward_lanes(k, c, S, widen(in[12]), m, with_depth ? widen(sum[9]) : splat_d(0.0));
    const int unique[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    vf covariance[6];
    for (int j = 0; j < 6; ++j) covariance[j] = narrow(r.covariance[j]);
    for (int j = 0; j < 9; ++j) columns[j] = covariance[unique[j]];
    for (int j = 0; j < 3; ++j) columns[9 + j] = narrow(r.center[j]);
    columns[12] = narrow(r.opacity);
    for (int j = 13; j < 16; ++j) columns[j] = load(sum[j - 7]);
    if (out.camera) {
      for (int j = 0; j < 9; ++j) sums[j] += r.R[j];
      for (int j = 0; j < 3; ++j) sums[9 + j] += r.t[j];
      sums[12] += r.fx, sums[13] += r.fy, sums[14] += r.cx, sums[15] += r.cy;
    }
    write_points(out, points.channels, here, n, columns);
  }
  if (out.camera)
    for (int j = 0; j < 16; ++j) {
      double s = 0;
      for (int l = 0; l < D; ++l) s += sums[j].a[l] + sums[j].b[l];
      out.camera[j] = s;
    }
}

}  // namespace

extern const Kernel KINEMA_KERNEL;
const Kernel KINEMA_KERNEL = {W, BW, BH, project, draw, redraw, raster_backward, project_backward};

}  // namespace kinema
