// Compositing: part of kernel.inl, as its gradient in paint_backward.inl.
//
// Letters, template parameters and compile-time constants:
//   W   lanes (floats) of a vector: 4, 8 or 16                       (simd.inl)
//   V   vectors of a block of 4x4 pixels: 16 / W                     (kernel.inl)
//   VH  rows of pixels in a vector: W / 4                            (kernel.inl)
//   C   channels that are composited: 3 features, or 4 with the depth or in a later pass
//   P   vectors of pixels that are composited at once: min(V, 2), as more do not fit the registers
//   G   Gaussians that are computed side by side, `group` = 4
//   N   Gaussians or vectors of a helper that is unrolled (alphas, exp2_of, scatter4)
//   shift  bits below the record number in an entry of a list: record_shift with column bits, 0 without
// Indices: h vector of the block, j Gaussian of the group, c or m channel, k block or lane, i position in a list.

// Reads a vector of pixels from a row-major plane; lanes outside of the image are zero.
INLINE vf read_pixels(const float* plane, int width, int x, int y, int nx, int ny) {
  plane += size_t(y) * width + x;
  if (nx >= block_px && ny >= VH) return read_rows(plane, width);
  vf r = {};
  for (int i = 0; i < W; ++i)
    if (i % block_px < nx && i / block_px < ny) r[i] = plane[size_t(i / block_px) * width + i % block_px];
  return r;
}

// The pixels of one row of blocks in a strip: four channels and alpha.
struct alignas(64) RowOfBlocks {
  float plane[5][block_px][strip * block_px];
};

// Writes them to the image. Of a large image, whole cache lines are streamed past the cache: fetching the lines that are
// overwritten would take longer than painting.
INLINE void write_row_of_blocks(const Region& region, uint32_t bx0, uint32_t by, const Planes& out,
                                const RowOfBlocks& from) {
  constexpr int columns = strip * block_px;
  const int x = region.x0 + bx0 * block_px, y = region.y0 + by * block_px;
  const int nx = region.x1 - x < columns ? region.x1 - x : columns;
  const int ny = region.y1 - y < block_px ? region.y1 - y : block_px;
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

constexpr int G = group;
// Prefetch distance: records are fetched into the cache this many list entries before they are used.
constexpr int ahead = 24;

// Alphas of N Gaussians at a vector of pixels, zero where they are skipped. They are computed side by side: one Gaussian
// alone is a chain of dependent instructions that leaves the processor waiting.
template <int N>
INLINE void alphas(const Record* const r[N], vf px, vf py, vf alpha[N]) {
  vf dx[N], dy[N], u[N], v[N], e[N], p[N];
  for (int j = 0; j < N; ++j) dx[j] = px - r[j]->mean_x;
  for (int j = 0; j < N; ++j) dy[j] = py - r[j]->mean_y;
  for (int j = 0; j < N; ++j) u[j] = r[j]->b * dy[j];
  for (int j = 0; j < N; ++j) v[j] = r[j]->c * dy[j];
  for (int j = 0; j < N; ++j) u[j] = r[j]->a * dx[j] + u[j];
  for (int j = 0; j < N; ++j) e[j] = r[j]->log2_opacity - v[j] * v[j];
  for (int j = 0; j < N; ++j) e[j] = e[j] - u[j] * u[j];
  exp2_of<N>(e, p);
  for (int j = 0; j < N; ++j) alpha[j] = keep_min(ge(e[j], splat(log2_alpha_min)), p[j], splat(alpha_max));
}

// A list is walked in turns of this many Gaussians: first the alphas of all pixels of the block, then compositing. Both
// at once would not fit the registers. `offsets` are bytes from the first record.
constexpr uint32_t turn = 16;
static_assert(2 * turn <= look_ahead * group, "a turn and the next are read beyond the end of a list");
constexpr int block_size = block_px * block_px;
INLINE const Record* at_offset(const Record* records, uint32_t offset) {
  return (const Record*)((const char*)records + offset);
}

// Alphas of n Gaussians, at most a turn, at the pixels of the block at (x, y).
#if KINEMA_WIDTH == 16
INLINE void alphas_of_turn(const Record* records, const uint32_t* offsets, uint32_t n, int x, int y,
                           float (*alpha)[block_size]) {
  const vf px = lane_x() + (x + 0.5f), py = lane_y() + (y + 0.5f);
  for (uint32_t j = 0; j < n; j += G) {
    const Record* r[G];
    vf now[G];
    for (int k = 0; k < G; ++k) r[k] = at_offset(records, offsets[j + k]);
    alphas<G>(r, px, py, now);
    for (int k = 0; k < G; ++k) store(alpha[j + k], now[k]);
  }
}
#else
// Down a column of pixels log2 alpha is a parabola, so the ratio of an alpha to the one above it falls by the same
// factor `fall` in every row: two powers of two, of the column's first alpha and first ratio, give four alphas. (With 16
// lanes, transposing them to rows of pixels takes longer than the powers that it saves.)
// No power leaves the range of exp2_of: because of the blur, sqrt(log2_opacity - log2 alpha) grows by at most 1.56 per
// pixel. In a block that is touched it is below sqrt(8) + 1.56 * sqrt(18) < 9.5 everywhere, and the exponent of the
// ratio below 2 * 1.56 * 9.5 + 2.5 < 33.
// Three loops instead of one: the processor does not look far enough ahead to overlap iterations as long as all three.
INLINE void alphas_of_turn(const Record* records, const uint32_t* offsets, uint32_t n, int x, int y,
                           float (*alpha)[block_size]) {
  alignas(64) float power[turn / W][2 * block_px][W], fall[turn / W][W];
  const uint32_t vectors = (n + W - 1) / W;
  // Here a lane is a Gaussian; power[.][2 k] and power[.][2 k + 1] belong to column k of pixels.
  for (uint32_t j = 0; j < vectors; ++j) {
    const float* from[W];
    for (int k = 0; k < W; ++k) from[k] = (const float*)at_offset(records, offsets[W * j + k]);
    vf r[8];
    read_eight(from, r);
    const vf dx = (x + 0.5f) - r[0], dy = (y + 0.5f) - r[1], a = r[2], b = r[3], c = r[4], log2_opacity = r[5];
    store(fall[j], r[6]);
    const vf v = c * dy, v_below = v + c, u_first = a * dx + b * dy;
    const vf rest = log2_opacity - v * v, rest_below = log2_opacity - v_below * v_below;
    for (int k = 0; k < block_px; ++k) {
      const vf u = a * float(k) + u_first, u_below = u + b, e = rest - u * u;
      store(power[j][2 * k], e);
      store(power[j][2 * k + 1], (rest_below - u_below * u_below) - e);
    }
  }
  for (uint32_t j = 0; j < vectors; ++j)
    for (int k = 0; k < 2 * block_px; k += 4) {
      vf e[4];
      for (int l = 0; l < 4; ++l) e[l] = load(power[j][k + l]);
      exp2_of<4>(e, e);
      for (int l = 0; l < 4; ++l) store(power[j][k + l], e[l]);
    }
  // Here a group of four lanes is a row of pixels of Gaussian k, or 4 + k.
  for (uint32_t j = 0; j < vectors; ++j) {
    vf first[4], ratio[4];
    for (int k = 0; k < 4; ++k) first[k] = load(power[j][2 * k]), ratio[k] = load(power[j][2 * k + 1]);
    transpose4(first), transpose4(ratio);
    const vf all = load(fall[j]);
    const vf falls[4] = {repeat_in_group<0>(all), repeat_in_group<1>(all), repeat_in_group<2>(all),
                         repeat_in_group<3>(all)};
    for (int k = 0; k < 4; ++k) {
      const vf second_ratio = ratio[k] * falls[k], third_ratio = second_ratio * falls[k];
      vf row[4] = {first[k]};
      row[1] = row[0] * ratio[k], row[2] = row[1] * second_ratio, row[3] = row[2] * third_ratio;
      for (vf& p : row) p = keep_min(ge(p, splat(alpha_min)), p, splat(alpha_max));
      store_groups(row, alpha + W * j + k);
    }
  }
}
#endif

// The state of P vectors of pixels while a list is composited over them.
template <int P, int C>
struct Pixels {
  // Transmittances. T goes on falling when a pixel is finished, so comparing it tells that; `left` stops there.
  vf T[P], left[P], color[C][P] = {};
  bool all_going = true, going = true;
  __attribute__((always_inline)) Pixels() {
    for (int h = 0; h < P; ++h) T[h] = left[h] = splat(1.0f);
  }
};

// Composites n Gaussians, at most a turn, and returns how many were walked until all pixels were finished.
template <int P, int C>
INLINE uint32_t composite(const Record* records, const uint32_t* offsets, uint32_t n, const float* alpha,
                          Pixels<P, C>& to) {
  const vf low = splat(transmittance_min);
  uint32_t i = 0;
  // As long as no pixel is finished nothing needs to be masked.
  for (; to.all_going && i < n; i += G) {
    vf t[G + 1][P];
    for (int h = 0; h < P; ++h) t[0][h] = to.T[h];
    for (int j = 0; j < G; ++j)
      for (int h = 0; h < P; ++h) t[j + 1][h] = t[j][h] - t[j][h] * load(alpha + block_size * (i + j) + h * W);
    vf least = t[G][0];
    for (int h = 1; h < P; ++h) least = min(least, t[G][h]);
    to.all_going = bits(gt(least, low)) == (1ull << W) - 1;
    if (!to.all_going) {
      for (int h = 0; h < P; ++h) to.left[h] = to.T[h];
      break;
    }
    for (int j = 0; j < G; ++j) {
      const float* feature = at_offset(records, offsets[i + j])->feature;
      for (int m = 0; m < C; ++m)
        for (int h = 0; h < P; ++h) to.color[m][h] += (t[j][h] - t[j + 1][h]) * feature[m];
    }
    for (int h = 0; h < P; ++h) to.T[h] = t[G][h];
  }
  for (; to.going && i < n; i += G) {
    for (int j = 0; j < G; ++j) {
      const float* feature = at_offset(records, offsets[i + j])->feature;
      vf weight[P];
      for (int h = 0; h < P; ++h) {
        const vf after = to.T[h] - to.T[h] * load(alpha + block_size * (i + j) + h * W);
        const mask on = gt(after, low);
        weight[h] = keep(on, to.T[h] - after);
        to.left[h] = blend(on, after, to.left[h]);
        to.T[h] = after;
      }
      for (int m = 0; m < C; ++m)
        for (int h = 0; h < P; ++h) to.color[m][h] += weight[h] * feature[m];
    }
    to.going = false;
    for (int h = 0; h < P; ++h) to.going |= bits(gt(to.T[h], low)) != 0;
  }
  return i;
}

// Composites C channels of a list over the block at (x, y) and returns how many of its entries mattered.
template <int shift, int C>
INLINE uint32_t paint(const Record* records, int x, int y, const uint32_t* at, uint32_t n, float* to, size_t plane) {
  constexpr int P = V < 2 ? V : 2, parts = V / P;  // more vectors at once would not fit the registers
  Pixels<P, C> pixels[parts];
  alignas(64) float alpha[turn][block_size];
  alignas(64) uint32_t offsets[2][turn];  // of this turn and the next
  const auto look_up = [&](uint32_t i, uint32_t* to) __attribute__((always_inline)) {
    for (uint32_t k = 0; k < turn; k += W)
      store_i(to + k, shift_right_by<shift>(load_i(at + i + k)) * int(sizeof(Record)));
  };
  look_up(0, offsets[0]);
  uint32_t *mine = offsets[0], used = 0;
  bool going = true;
  for (uint32_t i = 0; going && i < n; i += turn) {
    uint32_t* next = offsets[mine == offsets[0]];
    look_up(i + turn, next);
    for (uint32_t k = 0; k < turn; ++k) __builtin_prefetch(at_offset(records, next[k]));
    const uint32_t now = n - i < turn ? n - i : turn;
    alphas_of_turn(records, mine, now, x, y, alpha);
    going = false;
    for (int part = 0; part < parts; ++part) {
      if (parts > 1 && !pixels[part].going) continue;
      const uint32_t walked = i + composite(records, mine, now, alpha[0] + part * P * W, pixels[part]);
      used = walked > used ? walked : used;
      going |= pixels[part].going;
    }
    mine = next;
  }
  for (int h = 0; h < V; ++h, to += VH * strip * block_px) {
    const Pixels<P, C>& from = pixels[h / P];
    for (int m = 0; m < C; ++m) write_rows(to + m * plane, strip * block_px, from.color[m][h % P]);
    write_rows(to + 4 * plane, strip * block_px, 1.0f - (from.all_going ? from.T[h % P] : from.left[h % P]));
  }
  return used;
}

template <int C>
INLINE void draw_channels(const Region& region, const Planes& out, DrawScratch* scratch, Scratch* kept) {
  const FlushDenormals flush;
  const size_t footprints = line_up(region, scratch);
  uint32_t begins[region_blocks_max + rows_outside], ends[region_blocks_max + rows_outside];
  const RowOfBlocks nothing = {};
  RowOfBlocks painted;
  size_t n = 0;
  uint32_t k = 0;
  for (uint32_t bx0 = 0; bx0 < region.blocks_x; bx0 += strip) {
    const size_t in_strip = filter_strip(region, scratch, footprints, bx0);
    const uint32_t* rows = scatter_rows(scratch, in_strip, region.blocks_y + rows_outside, begins, ends);
    for (uint32_t by = 0; by < region.blocks_y; ++by) {
      const uint32_t* row = rows + begins[by + footprint_rows];
      const size_t in_row = ends[by + footprint_rows] - begins[by + footprint_rows];
      if (!in_row) {
        for (uint32_t j = 0; kept && j < strip; ++j) region.start[k++] = n;
        write_row_of_blocks(region, bx0, by, out, nothing);
        continue;
      }
      // All lists of the row come before the first block is painted, so that records can be prefetched.
      const size_t list_room = in_row + W + look_ahead * group;
      uint32_t* lists = reserve(&scratch->row_lists, strip * list_room);
      size_t count[strip];
      filter_blocks(row, in_row, lists, list_room, count);
      for (uint32_t column = 0; column < strip; ++column)
        for (uint32_t j = 0; j < look_ahead * group; ++j)
          lists[column * list_room + count[column] + j] = region.count << record_shift;
      uint32_t* list = kept ? reserve(kept, n + strip * list_room) : nullptr;
      for (uint32_t column = 0; column < strip; ++column) {
        uint32_t* mine = lists + column * list_room;
        uint32_t used = 0;
        if (bx0 + column < region.blocks_x) {
          if (column + 1 < strip)
            for (uint32_t j = 0; j < ahead; ++j)
              __builtin_prefetch(region.records + (mine[list_room + j] >> record_shift));
          used = paint<record_shift, C>(region.records, region.x0 + (bx0 + column) * block_px,
                                        region.y0 + by * block_px, mine, (count[column] + G - 1) / G * G,
                                        painted.plane[0][0] + column * block_px, block_px * strip * block_px);
        }
        if (!kept) continue;
        region.start[k++] = n;
        for (uint32_t j = 0; j < used; j += W) store_i(list + n + j, shift_right_by<record_shift>(load_i(mine + j)));
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

void draw(const Region& region, const Planes& out, DrawScratch* scratch, Scratch* kept) {
  if (out.channel[3])
    draw_channels<4>(region, out, scratch, kept);
  else
    draw_channels<3>(region, out, scratch, kept);
}

// Pixel of the upper left corner of block k.
INLINE int block_x(const Region& region, uint32_t k) {
  return region.x0 + (k / (strip * region.blocks_y) * strip + k % strip) * block_px;
}
INLINE int block_y(const Region& region, uint32_t k) { return region.y0 + k / strip % region.blocks_y * block_px; }

void redraw(const Region& region, const Planes& out) {
  const FlushDenormals flush;
  RowOfBlocks painted;
  for (uint32_t k = 0; k < region.blocks(); ++k) {
    const int x = block_x(region, k), y = block_y(region, k);
    const uint32_t begin = region.start[k], column = k % strip;
    if (x < region.x1)
      paint<0, 4>(region.records, x, y, region.list + begin, region.start[k + 1] - begin,
                  painted.plane[0][0] + column * block_px, block_px * strip * block_px);
    if (column == strip - 1)
      write_row_of_blocks(region, (x - region.x0) / block_px - (strip - 1), (y - region.y0) / block_px, out, painted);
  }
  finish_stores();
}
