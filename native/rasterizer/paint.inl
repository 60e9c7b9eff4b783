// Compositing and its gradient: part of kernel.inl.

// Pixels of a block in and out of row-major planes; the part outside of the image is zero or dropped.
INLINE vf read_block(const float* plane, int width, int x, int y, int nx, int ny) {
  plane += size_t(y) * width + x;
  if (nx >= BW && ny >= BH) return read_rows(plane, width);
  vf r = {};
  for (int i = 0; i < W; ++i)
    if (i % BW < nx && i / BW < ny) r[i] = plane[size_t(i / BW) * width + i % BW];
  return r;
}

// The pixels of a row of blocks of a strip: four channels and alpha.
struct alignas(64) RowOfBlocks {
  float plane[5][BH][strip * BW];
};

// Whole cache lines go past the cache if the image is large: fetching the line to be overwritten would take longer than
// the painting.
INLINE void write_row_of_blocks(const Region& region, uint32_t bx0, uint32_t by, const Planes& out,
                                const RowOfBlocks& from) {
  constexpr int columns = strip * BW;
  const int x = region.x0 + bx0 * BW, y = region.y0 + by * BH;
  const int nx = region.x1 - x < columns ? region.x1 - x : columns, ny = region.y1 - y < BH ? region.y1 - y : BH;
  for (int p = 0; p < 5; ++p) {
    float* plane = p < 4 ? out.channel[p] : out.alpha;
    if (!plane) continue;
    float* to = plane + size_t(y) * out.width + x;
    const bool past = out.past_cache && nx == columns && out.width % 16 == 0 && uintptr_t(to) % 64 == 0;
    for (int row = 0; row < ny; ++row, to += out.width) {
      if (past)
        for (int i = 0; i < columns; i += W) store_past_cache(to + i, load(from.plane[p][row] + i));
      else if (nx == columns)
        for (int i = 0; i < columns; i += W) store(to + i, load(from.plane[p][row] + i));
      else
        for (int i = 0; i < nx; ++i) to[i] = from.plane[p][row][i];
    }
  }
}

// Gaussians are taken a few at a time: what does not depend on the transmittance is computed for all of them side by
// side, so that the scheduler sees independent work.
constexpr int G = group;
// So many groups ahead records are fetched into the cache.
constexpr int ahead = 6;

// Alpha of G Gaussians, zero where it is skipped.
INLINE void alphas(const Record* const r[G], vf px, vf py, vf alpha[G]) {
  vf dx[G], dy[G], u[G], v[G], e[G], p[G];
  for (int j = 0; j < G; ++j) dx[j] = px - r[j]->mean_x;
  for (int j = 0; j < G; ++j) dy[j] = py - r[j]->mean_y;
  for (int j = 0; j < G; ++j) u[j] = r[j]->b * dy[j];
  for (int j = 0; j < G; ++j) v[j] = r[j]->c * dy[j];
  for (int j = 0; j < G; ++j) u[j] = r[j]->a * dx[j] + u[j];
  for (int j = 0; j < G; ++j) e[j] = r[j]->log2_opacity - v[j] * v[j];
  for (int j = 0; j < G; ++j) e[j] = e[j] - u[j] * u[j];
  exp2_of<G>(e, p);
  for (int j = 0; j < G; ++j) alpha[j] = keep_min(ge(e[j], splat(log2_alpha_min)), p[j], splat(alpha_max));
}

// Composites a list over one block and returns how much of it mattered.
INLINE uint32_t paint_block(const Region& region, int bx, int by, const uint32_t* at, uint32_t n, RowOfBlocks* out) {
  const Record* const records = region.records;
  const int x = region.x0 + bx * BW, y = region.y0 + by * BH;
  const vf px = lane_x() + (x + 0.5f), py = lane_y() + (y + 0.5f);
  // T runs on when a pixel is finished; as it never grows, comparing it tells that. T_end is what counted.
  vf T = splat(1.0f), T_end = T, c[4] = {};
  uint32_t i = 0;
  const Record* r[G];
  vf alpha[G];
  const auto fetch = [&](uint32_t first) __attribute__((always_inline)) {
    for (int j = 0; j < G; ++j) r[j] = records + at[first + j];
    alphas(r, px, py, alpha);
  };
  if (n) fetch(0);
  while (i < n) {
    for (int j = 0; j < G; ++j) __builtin_prefetch(records + at[i + ahead * G + j]);
    vf now[G];
    const float* feature[G];
    for (int j = 0; j < G; ++j) now[j] = alpha[j], feature[j] = r[j]->feature;
    // The next group's alphas come before this one is composited: while that waits for its chain of T, they are work.
    fetch(i + G);
    mask alive = {};
    for (int j = 0; j < G; ++j) {
      const vf after = T - T * now[j];
      alive = gt(after, splat(transmittance_min));
      const vf weight = keep(alive, T * now[j]);
      T_end = blend(alive, after, T_end);
      T = after;
      for (int m = 0; m < 4; ++m) c[m] += weight * feature[j][m];
    }
    i += G;
    if (!bits(alive)) break;
  }
  for (int j = 0; j < 4; ++j) write_rows(out->plane[j][0] + bx % strip * BW, strip * BW, c[j]);
  write_rows(out->plane[4][0] + bx % strip * BW, strip * BW, 1.0f - T_end);
  return i;
}

void draw(const Region& region, const Planes& out, DrawScratch* scratch, Scratch* kept) {
  const FlushDenormals flush;
  const size_t footprints = line_up(region, scratch);
  uint32_t begins[region_blocks_max + rows_outside], ends[region_blocks_max + rows_outside];
  RowOfBlocks painted;
  size_t n = 0;
  uint32_t k = 0;
  for (uint32_t bx0 = 0; bx0 < region.blocks_x; bx0 += strip) {
    const size_t in_strip = filter_strip(region, scratch, footprints, bx0);
    const uint32_t* rows = scatter_rows(scratch, in_strip, region.blocks_y + rows_outside, begins, ends);
    for (uint32_t by = 0; by < region.blocks_y; ++by) {
      const uint32_t* row = rows + begins[by + rows_max];
      const size_t in_row = ends[by + rows_max] - begins[by + rows_max];
      // All lists of the row before the first block is painted: so it is known early which records come next.
      const size_t list_room = in_row + W + look_ahead * group;
      uint32_t* lists = reserve(&scratch->row_lists, strip * list_room);
      size_t count[strip];
      filter_blocks(row, in_row, lists, list_room, count);
      for (uint32_t column = 0; column < strip; ++column)
        for (uint32_t j = 0; j < look_ahead * group; ++j) lists[column * list_room + count[column] + j] = region.count;
      uint32_t* list = kept ? reserve(kept, n + strip * list_room) : nullptr;
      for (uint32_t column = 0; column < strip; ++column) {
        uint32_t* mine = lists + column * list_room;
        if (kept) region.start[k++] = n;
        if (bx0 + column >= region.blocks_x) continue;
        if (column + 1 < strip)
          for (uint32_t j = 0; j < ahead * group; ++j) __builtin_prefetch(region.records + mine[list_room + j]);
        const uint32_t used = paint_block(region, bx0 + column, by, mine, count[column], &painted);
        if (!kept) continue;
        for (uint32_t j = 0; j < used; j += W) store_i(list + n + j, load_i(mine + j));
        n += used;
      }
      write_row_of_blocks(region, bx0, by, out, painted);
    }
  }
  finish_stores();
  if (!kept) return;
  region.start[k] = n;
  uint32_t* list = reserve(kept, n + look_ahead * group);
  for (uint32_t j = 0; j < look_ahead * group; ++j) list[n + j] = region.count;
}

INLINE int block_column(const Region& region, uint32_t k) { return k / (strip * region.blocks_y) * strip + k % strip; }
INLINE int block_row(const Region& region, uint32_t k) { return k / strip % region.blocks_y; }

void redraw(const Region& region, const Planes& out) {
  const FlushDenormals flush;
  RowOfBlocks painted;
  for (uint32_t k = 0; k < region.blocks(); ++k) {
    const int column = block_column(region, k), row = block_row(region, k);
    if (column < int(region.blocks_x))
      paint_block(region, column, row, region.list + region.start[k], region.start[k + 1] - region.start[k], &painted);
    if (k % strip == strip - 1) write_row_of_blocks(region, column - int(strip - 1), row, out, painted);
  }
  finish_stores();
}

// First front to back: alpha and T of every Gaussian. Then back to front with one number per pixel, S = sum over what
// lies behind of weight (feature . grad), minus T_end dL/dalpha_image: dL/dalpha_i = T_i (feature_i . grad) -
// S_i / (1 - alpha_i). From the front, S would come out of a subtraction, and 1 / (1 - alpha) magnifies its error.
template <int C>
INLINE void raster_backward_channels(const Region& region, const ConstPlanes& grad, Moments* out, Scratch* scratch) {
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
    vf g[C], S = {}, T = splat(1.0f), T_end = T;
    alignas(64) float spread[C][4][W];  // the gradient of column p of a lane's group, at all lanes of the group
    for (int c = 0; c < C; ++c) {
      g[c] = grad.channel[c] ? read_block(grad.channel[c], grad.width, x, y, nx, ny) : vf{};
      vf all[4] = {g[c], g[c], g[c], g[c]};
      transpose4(all);
      for (int p = 0; p < 4; ++p) store(spread[c][p], all[p]);
    }
    const uint32_t* at = region.list + region.start[k];
    // Per Gaussian its alpha and T, in places aligned to 64 bytes, for which there must be 64 more.
    float* kept = (float*)((uintptr_t(reserve(scratch, 2 * size_t(n) * W + 16)) + 63) / 64 * 64);
    for (uint32_t i = 0; i < n; i += G) {
      const Record* r[G];
      for (int j = 0; j < G; ++j) {
        r[j] = records + at[i + j];
        __builtin_prefetch(records + at[i + ahead * G + j]);
        __builtin_prefetch(out + at[i + ahead * G + j], 1);
      }
      vf alpha[G];
      alphas(r, px, py, alpha);
      for (int j = 0; j < G; ++j) {
        float* to = kept + 2 * W * (i + j);
        store(to, alpha[j]), store(to + W, T);
        const vf after = T - T * alpha[j];
        T_end = blend(gt(after, splat(transmittance_min)), after, T_end);
        T = after;
      }
    }
    if (grad.alpha) S -= T_end * read_block(grad.alpha, grad.width, x, y, nx, ny);
    for (uint32_t i = n; i;) {
      i -= G;
      const Record* r[G];
      vf alpha[G], T[G], dot[G], rest[G], inverse[G], u[G], w[G];
      alignas(16) float first_dx[G], first_dy[G];
      for (int j = 0; j < G; ++j) {
        r[j] = records + at[i + j];
        alpha[j] = load(kept + 2 * W * (i + j)), T[j] = load(kept + 2 * W * (i + j) + W);
        first_dx[j] = (x + 0.5f) - r[j]->near_x, first_dy[j] = (y + 0.5f) - r[j]->near_y;
      }
      for (int j = 0; j < G; ++j) dot[j] = g[0] * r[j]->feature[0];
      for (int c = 1; c < C; ++c)
        for (int j = 0; j < G; ++j) dot[j] += g[c] * r[j]->feature[c];
      for (int j = 0; j < G; ++j) rest[j] = 1.0f - alpha[j];
      for (int j = 0; j < G; ++j) inverse[j] = reciprocal(rest[j]);
      for (int j = G - 1; j >= 0; --j) {
        const mask alive = gt(T[j] - T[j] * alpha[j], splat(transmittance_min));
        w[j] = keep(alive, T[j] * alpha[j]);
        u[j] = keep(both(alive, gt(splat(alpha_max), alpha[j])), alpha[j] * (T[j] * dot[j] - S * inverse[j]));
        S += w[j] * dot[j];
      }
      // Sums over pixels, with d = pixel - near. First over the four lanes of a group: after the transposition u[p] is
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
      scatter4<6 + C>(q, to);
    }
  }
}

void raster_backward(const Region& region, const ConstPlanes& grad, Moments* out, Scratch* scratch) {
  if (grad.channel[3])
    raster_backward_channels<4>(region, grad, out, scratch);
  else
    raster_backward_channels<3>(region, grad, out, scratch);
}
