// Projection of Gaussians to the image: part of kernel.inl.

// log2 of positive floats, to 1e-7 max(1, |log2 x|): the exponent plus the atanh series of the mantissa around 1.
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

// Address for a masked access that leaves out the first `lanes` lanes: p itself is at the lane after them. It is computed
// as an integer: it may lie before the array, where no pointer may be formed. The lanes left out are not accessed.
INLINE float* lanes_before(const float* p, uintptr_t lanes) { return (float*)(uintptr_t(p) - sizeof(float) * lanes); }

#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
INLINE void read_points(const Points& p, const uint32_t* ids, vf* columns) {
  const unsigned features = (0xe000u >> (3 - (p.channels < 3 ? p.channels : 3))) & 0xe000u;
  for (int l = 0; l < W; ++l) {
    const size_t i = ids[l];
    __m512 row = _mm512_maskz_loadu_ps(0x01ff, p.covariances + 9 * i);
    row = _mm512_mask_loadu_ps(row, 0x0e00, lanes_before(p.centers + 3 * i, 9));
    row = _mm512_mask_loadu_ps(row, 0x1000, lanes_before(p.opacities + i, 12));
    columns[l] = (vf)_mm512_mask_loadu_ps(row, features, lanes_before(p.features + p.channels * i, 13));
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
    _mm512_mask_storeu_ps(lanes_before(p.centers + 3 * i, 9), 0x0e00, row);
    _mm512_mask_storeu_ps(lanes_before(p.opacities + i, 12), 0x1000, row);
    _mm512_mask_storeu_ps(lanes_before(p.features + channels * i, 13), features, row);
  }
}
#else
#if KINEMA_WIDTH == 8 && defined(__AVX2__)
INLINE void read_points(const Points& p, const uint32_t* ids, vf* columns) {
  const int more = p.channels < 3 ? p.channels : 3;
  const __m128i three = _mm_setr_epi32(0, -1, -1, -1);
  const __m128i features = _mm_setr_epi32(0, more > 0 ? -1 : 0, more > 1 ? -1 : 0, more > 2 ? -1 : 0);
  for (int l = 0; l < 4; ++l) {
    __m128 part[2][4];
    for (int half = 0; half < 2; ++half) {
      const size_t i = ids[l + 4 * half];
      const float* covariance = p.covariances + 9 * i;
      part[half][0] = _mm_loadu_ps(covariance);
      part[half][1] = _mm_loadu_ps(covariance + 4);
      const __m128 center = _mm_maskload_ps(lanes_before(p.centers + 3 * i, 1), three);
      const __m128 feature = _mm_maskload_ps(lanes_before(p.features + p.channels * i, 1), features);
      part[half][2] = _mm_move_ss(center, _mm_load_ss(covariance + 8));
      part[half][3] = _mm_move_ss(feature, _mm_load_ss(p.opacities + i));
    }
    for (int j = 0; j < 4; ++j)
      columns[4 * j + l] = (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(part[0][j]), part[1][j], 1);
  }
  for (int j = 0; j < 16; j += 4) transpose4(columns + j);
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
#endif
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

// Camera coordinates and the linear map M = J R of W points, for both directions.
struct Projected {
  vd x, y, z, iz, slope_x, slope_y, gx, gy, M0[3], M1[3], p, q, r;
  vl free_x, free_y;  // masks: the slope was not clamped
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

INLINE vf nearest(vf x, int size) { return min(max(x, vf{}), splat(float(size))); }

// How rows of pixels cut the ellipse (a dx + b dy)^2 + (c dy)^2 <= limit, in columns of blocks.
struct Cut {
  vf c, limit, right_y;     // the ellipse's rightmost point is at dy = right_y, its leftmost at -right_y
  vf first_at, past_at;     // columns of the mean: as a left end, and one past it as a right end
  vf by_root, by_dy;        // columns per root of what is left of the limit, and per pixel of dy
};
constexpr float per_block = 1.0f / block_px;
// rough_root times this is not below the root.
constexpr float root_above = 1.0005f;
// A block counts as touched up to `more` [px] beyond the ellipse. Columns are counted from that of x = 0.
INLINE Cut cut_at(vf inverse_a, vf b, vf c, vf limit, vf right_y, vf mean_x, vf more) {
  const vf columns = inverse_a * per_block;
  // Pixel centres lie half a pixel inside; the block of a pixel is rounded down.
  const vf first_at = (mean_x - more + 0.5f) * per_block, past_at = (mean_x + more + (block_px - 0.5f)) * per_block;
  return {c, limit, right_y, first_at, past_at, columns * root_above, b * columns};
}
// First column that the rows of pixels dy0..dy1 touch, and one past the last, both to be rounded down. The rows cut a
// convex piece out of the ellipse: its leftmost and rightmost points are the ellipse's own, or lie on the edge of the
// rows that is nearest to them.
INLINE void cut_row(const Cut& k, vf dy0, vf dy1, vf* first, vf* past) {
  const vf tiny = splat(1e-12f);
  const vf l = min(max(-k.right_y, dy0), dy1), r = min(max(k.right_y, dy0), dy1), cl = k.c * l, cr = k.c * r;
  *first = k.first_at - rough_root(max(k.limit - cl * cl, tiny)) * k.by_root - k.by_dy * l;
  *past = k.past_at + rough_root(max(k.limit - cr * cr, tiny)) * k.by_root - k.by_dy * r;
}
// Bits of the columns first..past, of eight.
INLINE vi columns_between(vf first, vf past) {
  const vf zero = {}, eight = splat(8.0f);
  const vi begin = __builtin_convertvector(min(max(first, zero), eight), vi);
  const vi end = __builtin_convertvector(min(max(past, zero), eight), vi);
  return shift_right(splat_i(255), 8 - end) & shift_left(splat_i(255), begin) & 255;
}
// The same for four rows: bit 8 * row + column.
INLINE vi columns_of_rows(const vf first[4], const vf past[4]) {
#if KINEMA_WIDTH == 8 && defined(__AVX2__)
  const __m128i from = _mm_setr_epi8(-1, -2, -4, -8, -16, -32, -64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i until = _mm_setr_epi8(0, 1, 3, 7, 15, 31, 63, 127, -1, 0, 0, 0, 0, 0, 0, 0);
  return turn_bytes(_mm256_and_si256(look_up(from, bytes_to_8(first)), look_up(until, bytes_to_8(past))));
#else
  vi r = {};
  for (int j = 0; j < 4; ++j) r |= columns_between(first[j], past[j]) << 8 * j;
  return r;
#endif
}
// Masks of such bits: columns up to `last` (of eight), rows up to `last` (of four, or beyond).
INLINE vi columns_until(vi last) {
  vi r = shift_right(splat_i(255), 7 - last) & 255;
  r |= r << 8;
  return r | r << 16;
}
INLINE vi rows_until(vi last) {
  const vi missing = 3 - last;
  return shift_right(splat_i(-1), (missing & (missing > 0)) << 3);
}
// Margin around the ellipse that counts as touched [px], for rounding: absolute, and relative to its width.
constexpr float slack = 0.01f, slack_of_width = 1e-6f;

uint32_t project(const Camera& k, const Points& points, uint32_t begin, uint32_t end, const Visible& out, int* bad) {
  const float last_x = float((k.width - 1) / block_px), last_y = float((k.height - 1) / block_px);
  uint32_t count = 0;
  vf not_finite[4] = {};
  for (uint32_t first = begin; first < end; first += W) {
    uint32_t here[W];
    for (int l = 0; l < W; ++l) here[l] = first + l < end ? first + l : end - 1;
    vf columns[16];
    read_points(points, here, columns);
    alignas(64) float in[16][W];
    for (int j = 0; j < 16; ++j) {
      not_finite[j % 4] += columns[j] * 0.0f;  // NaN unless finite
      store(in[j], columns[j]);
    }
    // As early as possible: it depends on nothing else here.
    const vf o = columns[12];
    const mask bright = ge(o, splat(alpha_min));
    const vf log2_o = log2(blend(bright, o, splat(1.0f)));
    // In double: the determinant of a needle's image is a difference of nearly equal numbers.
    vd center[3], S[6];
    widen_points(in, center, S);
    const Projected g = project_batch(k, center, S);
    const vd scale = half_log2_e / (g.p * g.r - g.q * g.q);
    const vf mx = narrow(g.gx * g.x + k.cx), my = narrow(g.gy * g.y + k.cy), z = narrow(g.z), p = narrow(g.p),
             q = narrow(g.q), r = narrow(g.r), A = narrow(g.r * scale), B = narrow(-(g.q * scale));
    const vf reach = (log2_o - log2_alpha_min) * float(1.0 / half_log2_e);
    const vf tiny = splat(1e-12f), hx = rough_root(max(reach * p, tiny)) * root_above + 1e-4f,
             hy = rough_root(max(reach * r, tiny)) * root_above + 1e-4f;
    const vf inverse_a = reciprocal_sqrt(A), a = A * inverse_a;
    // The first pixel inside is floor(mean - half + 1/2), the last floor(mean + half - 1/2).
    const vf x0 = mx - hx + 0.5f, x1 = mx + hx - 0.5f, y0 = my - hy + 0.5f, y1 = my + hy - 0.5f;
    mask seen = both(both(bright, ge(z, splat(float(near_plane)))), both(gt(A, vf{}), gt(r, vf{})));
    seen = both(seen, both(both(ge(x1, vf{}), gt(splat(float(k.width)), x0)),
                           both(ge(y1, vf{}), gt(splat(float(k.height)), y0))));
    const vi bx0 = __builtin_convertvector(min(max(x0, vf{}) * per_block, splat(last_x)), vi);
    const vi bx1 = __builtin_convertvector(min(max(x1, vf{}) * per_block, splat(last_x)), vi);
    const vi by0 = __builtin_convertvector(min(max(y0, vf{}) * per_block, splat(last_y)), vi);
    const vi by1 = __builtin_convertvector(min(max(y1, vf{}) * per_block, splat(last_y)), vi);
    const vf b = B * inverse_a, c = float(root_half_log2_e) * reciprocal_sqrt(r);
    unsigned set = bits(seen);
    if (end - first < W) set &= (1u << (end - first)) - 1;
    const vf fx0 = __builtin_convertvector(bx0, vf), fy0 = __builtin_convertvector(by0, vf);
    const vf wide = __builtin_convertvector(bx1, vf) - fx0, tall = __builtin_convertvector(by1, vf) - fy0;
    const mask fits = both(ge(splat(7.0f), wide), ge(splat(footprint_rows - 1.0f), tall));
    const vf limit = (log2_o - log2_alpha_min) + 1e-4f, right_y = hx * q * reciprocal(p);
    const Cut cut = cut_at(inverse_a, b, c, limit, right_y, mx - fx0 * float(block_px), slack + slack_of_width * hx);
    const unsigned fitting = bits(fits) & set;
    const vi last = by1 - by0, columns_here = columns_until(bx1 - bx0);
    const vf top = fy0 * float(block_px) + (0.5f - my);
    vi touched[footprint_words];
#pragma GCC unroll 2
    for (int word = 0; word < footprint_words; ++word) {
      touched[word] = vi{};
      if (!(bits(ge(tall, splat(4.0f * word))) & fitting)) continue;
      vf first_column[4], past[4];
      for (int j = 0; j < 4; ++j) {
        const vf dy = top + float(block_px * (4 * word + j));
        cut_row(cut, dy, dy + float(block_px - 1), &first_column[j], &past[j]);
      }
      touched[word] = columns_of_rows(first_column, past) & columns_here & rows_until(last - 4 * word);
    }
    const mask chosen = from_bits(set);
    append(out.ids + count, chosen, lane_index() + int(first));
    append(out.depths + count, chosen, (vi)z);
    for (int j = 0; j < footprint_words; ++j)
      append(out.footprints.rows[j] + count, chosen, (vi)keep(fits, (vf)touched[j]));
    append(out.footprints.corners + count, chosen, bx0 | by0 << 16);
    // Records are rows: transposed, and stored one after the other where visible.
    uint32_t to[W];
    for (int l = 0; l < W; ++l) {
      to[l] = count;
      count += set >> l & 1;
    }
    const vf near_x = nearest(mx, k.width), near_y = nearest(my, k.height);
    vi index;
    memcpy(&index, to, sizeof index);
    index += int(out.first);
    vf fall = {};
    if (V > 1) {
      const vf twice = -2.0f * (b * b + c * c);
      exp2_of<1>(&twice, &fall);
    }
    const vf columns_of_blocks = (vf)(bx0 | bx1 << 16), rows_of_blocks = (vf)(by0 | by1 << 16);
    const vf record[16] = {mx,          my,          a,           b, c,      log2_o, fall,              (vf)index,
                           columns[13], columns[14], columns[15], z, near_x, near_y, columns_of_blocks, rows_of_blocks};
    for (int j = 0; j < 16; j += W) {
      vf part[W];
      for (int l = 0; l < W; ++l) part[l] = record[j + l];
      transpose(part);
      for (int l = 0; l < W; ++l) store((float*)(out.records + to[l]) + j, part[l]);
    }
  }
  const vf all = (not_finite[0] + not_finite[1]) + (not_finite[2] + not_finite[3]);
  for (int l = 0; l < W; ++l) *bad |= all[l] != 0.0f;
  return count;
}
