// Compositing and its gradient: part of kernel.inl.

// A vector of pixels out of a row-major plane; the part outside of the image is zero.
INLINE vf read_pixels(const float* plane, int width, int x, int y, int nx, int ny) {
  plane += size_t(y) * width + x;
  if (nx >= block_px && ny >= VH) return read_rows(plane, width);
  vf r = {};
  for (int i = 0; i < W; ++i)
    if (i % block_px < nx && i / block_px < ny) r[i] = plane[size_t(i / block_px) * width + i % block_px];
  return r;
}

// The pixels of a row of blocks of a strip: four channels and alpha.
struct alignas(64) RowOfBlocks {
  float plane[5][block_px][strip * block_px];
};

// Whole cache lines go past the cache if the image is large: fetching the line to be overwritten would take longer than
// the painting.
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

// Lists are walked so many Gaussians at a time.
constexpr int G = group;
// So many of them ahead records are fetched into the cache.
constexpr int ahead = 24;

// Alpha of N Gaussians at a vector of pixels, zero where it is skipped. What is computed for one after the other would
// be a chain that waits for itself: side by side, the scheduler sees independent work.
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

// Lists are walked in turns of so many Gaussians, `offsets` in bytes from the first record: first the alphas of all
// pixels of the block, then compositing. Both at once would not fit the registers.
constexpr uint32_t turn = 16;
static_assert(2 * turn <= look_ahead * group, "a turn and the next are read beyond the end of a list");
constexpr int block_size = block_px * block_px;
INLINE const Record* at_offset(const Record* records, uint32_t offset) {
  return (const Record*)((const char*)records + offset);
}

// The alphas of n Gaussians, at most a turn, at the pixels of the block at (x, y).
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
// Downwards, log2 alpha is a parabola: the ratio of an alpha to the one above it falls from row to row by the same
// factor, `fall`. So two powers of two, of a column's first alpha and first ratio, give four alphas. (With 16 lanes,
// turning them to rows of pixels takes longer than the powers that it saves.) No power leaves the range of exp2_of:
// because of the blur, the root of what is taken from log2_opacity grows by at most 1.56 per pixel. Where a block is
// touched at all it is below sqrt(8) + 1.56 * sqrt(18) < 9.5 in all of it, and the exponent of the ratio below
// 2 * 1.56 * 9.5 + 2.5 < 33.
// Three loops instead of one: the scheduler does not look far enough ahead to overlap what is as long as all three.
INLINE void alphas_of_turn(const Record* records, const uint32_t* offsets, uint32_t n, int x, int y,
                           float (*alpha)[block_size]) {
  alignas(64) float power[turn / W][2 * block_px][W], fall[turn / W][W];
  const uint32_t vectors = (n + W - 1) / W;
  // A lane is a Gaussian here; power[.][2 k] and power[.][2 k + 1] belong to column k.
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
  // And here a group of four lanes is a row of Gaussian k, or 4 + k.
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

// P vectors of pixels while a list is composited over them.
template <int P, int C>
struct Pixels {
  // T runs on when a pixel is finished; as it never grows, comparing it tells that. `left` does not.
  vf T[P], left[P], color[C][P] = {};
  bool all_going = true, going = true;
  __attribute__((always_inline)) Pixels() {
    for (int h = 0; h < P; ++h) T[h] = left[h] = splat(1.0f);
  }
};

// Composites n Gaussians, at most a turn, and tells how many of them were walked until all pixels were finished.
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

// Composites C channels of a list over the block at (x, y) and tells how much of it mattered.
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
      // All lists of the row before the first block is painted: so it is known early which records come next.
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

// Where block k of a region lies.
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

// First front to back: alpha and weight of every Gaussian. Then back to front with one number per pixel, `behind`: what
// light that has passed Gaussian i adds to the loss per unit of it, the sum over what lies behind of weight (feature .
// grad) over the transmittance, and -dL/dalpha_image for what passes all. So dL/dalpha_i = T_i (feature_i . grad -
// behind_i), without a division by 1 - alpha_i, which would magnify errors.
template <int C>
INLINE void raster_backward_channels(const Region& region, const ConstPlanes& grad, Moments* out, Scratch* scratch) {
  const FlushDenormals flush;
  const Record* const records = region.records;
  for (uint32_t k = 0; k < region.blocks(); ++k) {
    const uint32_t n = region.start[k + 1] - region.start[k];
    if (!n) continue;
    const int x = block_x(region, k), y = block_y(region, k), nx = region.x1 - x;
    vf g[V][C], behind[V], T[V];
    alignas(64) float spread[V][C][4][W];  // the gradient of column p, at all lanes of its row
    for (int h = 0; h < V; ++h) {
      const int y_here = y + h * VH, ny = region.y1 - y_here;
      const auto read = [&](const float* plane) __attribute__((always_inline)) {
        return plane ? read_pixels(plane, grad.width, x, y_here, nx, ny) : vf{};
      };
      for (int c = 0; c < C; ++c) {
        g[h][c] = read(grad.channel[c]);
        vf all[4] = {g[h][c], g[h][c], g[h][c], g[h][c]};
        transpose4(all);
        for (int p = 0; p < 4; ++p) store(spread[h][c][p], all[p]);
      }
      T[h] = splat(1.0f), behind[h] = -read(grad.alpha);
    }
    const uint32_t* at = region.list + region.start[k];
    // Per Gaussian the alphas and weights of the block, aligned to 64 bytes, for which there must be 64 more.
    constexpr size_t pair = 2 * block_size;
    float* kept = (float*)((uintptr_t(reserve(scratch, pair * n + 16)) + 63) / 64 * 64);
    alignas(64) float alphas_now[turn][block_size];
    for (uint32_t i = 0; i < n; i += G) {
      const Record* r[G];
      for (int j = 0; j < G; ++j) {
        r[j] = records + at[i + j];
        __builtin_prefetch(records + at[i + ahead + j]);
        __builtin_prefetch(out + at[i + ahead + j], 1);
      }
      vf alpha[G][V];
      if (V == 1) {
        alphas<G>(r, lane_x() + (x + 0.5f), lane_y() + (y + 0.5f), alpha[0]);
      } else {
        if (i % turn == 0) {
          alignas(64) uint32_t offsets[turn];
          for (uint32_t j = 0; j < turn; j += W) store_i(offsets + j, load_i(at + i + j) * int(sizeof(Record)));
          alphas_of_turn(records, offsets, n - i < turn ? n - i : turn, x, y, alphas_now);
        }
        for (int j = 0; j < G; ++j)
          for (int h = 0; h < V; ++h) alpha[j][h] = load(alphas_now[i % turn + j] + h * W);
      }
      for (int j = 0; j < G; ++j)
        for (int h = 0; h < V; ++h) {
          float* to = kept + pair * (i + j) + h * W;
          const vf weight = T[h] * alpha[j][h], after = T[h] - weight;
          const mask on = gt(after, splat(transmittance_min));  // as it never grows, what is finished stays so
          store(to, keep(on, alpha[j][h])), store(to + block_size, keep(on, weight));
          T[h] = after;
        }
    }
    for (uint32_t i = n; i;) {
      i -= G;
      const Record* r[G];
      for (int j = 0; j < G; ++j) r[j] = records + at[i + j];
      // Not through an array: what is written in parts and read at once would wait for all before it.
      const v4 near_x = {r[0]->near_x, r[1]->near_x, r[2]->near_x, r[3]->near_x};
      const v4 near_y = {r[0]->near_y, r[1]->near_y, r[2]->near_y, r[3]->near_y};
      // Sums over pixels, by groups of four lanes, which are pixels of a row: of u, x u and x^2 u with x from the left of
      // the block, the first two times the top of the vector, the first times its square, and of the features.
      vf u0 = {}, u1 = {}, u2 = {}, u0_y = {}, u1_y = {}, u0_yy = {}, q[12] = {};
#pragma GCC unroll 4
      for (int h = 0; h < V; ++h) {
        vf alpha[G], dot[G], u[G], w[G];
        for (int j = 0; j < G; ++j) {
          const float* from = kept + pair * (i + j) + h * W;
          alpha[j] = load(from), w[j] = load(from + block_size);
        }
        for (int j = 0; j < G; ++j) dot[j] = g[h][0] * r[j]->feature[0];
        for (int c = 1; c < C; ++c)
          for (int j = 0; j < G; ++j) dot[j] += g[h][c] * r[j]->feature[c];
        for (int j = G - 1; j >= 0; --j) {
          const vf more = dot[j] - behind[h];
          u[j] = keep(gt(splat(alpha_max), alpha[j]), w[j] * more);
          behind[h] += alpha[j] * more;
        }
        // After this, u[p] is pixel p of the group for the four Gaussians.
        transpose4(u);
        transpose4(w);
        const vf s0 = (u[0] + u[1]) + (u[2] + u[3]), s1 = u[1] + 2.0f * u[2] + 3.0f * u[3],
                 s2 = u[1] + 4.0f * u[2] + 9.0f * u[3];
        const auto add = [&](vf& sum, vf x) __attribute__((always_inline)) { sum = h ? sum + x : x; };
        add(u0, s0), add(u1, s1), add(u2, s2);
        if (h) {
          const float top = h * VH;
          u0_y += top * s0, u1_y += top * s1, u0_yy += top * top * s0;
        }
        for (int c = 0; c < C; ++c)
          add(q[6 + c], (w[0] * load(spread[h][c][0]) + w[1] * load(spread[h][c][1])) +
                            (w[2] * load(spread[h][c][2]) + w[3] * load(spread[h][c][3])));
      }
      // To d = pixel - near: (ax + x, ay + y), where ay is that of the row in the first vector.
      const vf ax = repeat4((x + 0.5f) - near_x), ay = repeat4((y + 0.5f) - near_y) + lane_y();
      q[0] = u0;
      q[1] = u1 + ax * u0;
      q[2] = ay * u0;
      q[3] = u2 + ax * (u1 + q[1]);
      q[4] = ay * q[1];
      if (V > 1) {
        q[2] += u0_y;
        q[4] += u1_y + ax * u0_y;
        q[5] = u0_yy + ay * (q[2] + u0_y);
      } else {
        q[5] = ay * q[2];
      }
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
