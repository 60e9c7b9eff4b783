// Compositing and its gradient: part of kernel.inl.

// A vector of pixels out of a row-major plane; the part outside of the image is zero.
INLINE vf read_pixels(const float* plane, int width, int x, int y, int nx, int ny) {
  plane += size_t(y) * width + x;
  if (nx >= BW && ny >= VH) return read_rows(plane, width);
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

// Forward, lists are walked in turns of so many Gaussians: first their alphas, then compositing. Both at once would not
// fit the registers. What a turn needs of the list stands in `offsets`, in bytes from the first record.
constexpr uint32_t turn = 16;
static_assert(2 * turn <= look_ahead * group, "a turn and the next are read beyond the end of a list");
INLINE const Record* at_offset(const Record* records, uint32_t offset) {
  return (const Record*)((const char*)records + offset);
}

// The alphas of n Gaussians, at most a turn, at one vector of pixels from (x, y) on.
INLINE void alphas_of_turn(const Record* records, const uint32_t* offsets, uint32_t n, int x, int y,
                           float (*alpha)[1][W]) {
  const vf px = lane_x() + (x + 0.5f), py = lane_y() + (y + 0.5f);
  for (uint32_t j = 0; j < n; j += G) {
    const Record* r[G];
    vf now[G];
    for (int k = 0; k < G; ++k) r[k] = at_offset(records, offsets[j + k]);
    alphas<G>(r, px, py, now);
    for (int k = 0; k < G; ++k) store(alpha[j + k][0], now[k]);
  }
}

#if KINEMA_WIDTH == 8 && defined(__AVX2__)
// At both vectors of a block of 4x4 pixels, eight Gaussians at a time. Downwards, log2 alpha is a parabola: the ratio
// of an alpha to the one above it falls from row to row by the same factor, `fall`. So two powers of two, of a column's
// first alpha and first ratio, give four alphas. No power leaves the range of exp2_wide: because of the blur, the root
// of what is taken from log2_opacity grows by at most 1.56 per pixel. Where a block is touched at all it is below
// sqrt(8) + 1.56 * sqrt(18) < 9.5 in all of it, and the exponent of the ratio below 2 * 1.56 * 9.5 + 2.5 < 33.
// Three loops instead of one: the scheduler does not look far enough ahead to overlap what is as long as all three.
INLINE void alphas_of_turn(const Record* records, const uint32_t* offsets, uint32_t n, int x, int y,
                           float (*alpha)[2][W]) {
  alignas(64) float power[turn][W], fall[turn / W][W];
  // A lane is a Gaussian here; power[2 k] and power[2 k + 1] belong to column k.
  for (uint32_t j = 0; j < n; j += W) {
    vf r[8];
    for (int k = 0; k < 4; ++k) {
      const float *first = (const float*)at_offset(records, offsets[j + k]),
                  *second = (const float*)at_offset(records, offsets[j + 4 + k]);
      r[k] = join(first, second), r[4 + k] = join(first + 4, second + 4);
    }
    transpose4(r), transpose4(r + 4);
    const vf dx = (x + 0.5f) - r[0], dy = (y + 0.5f) - r[1], a = r[2], b = r[3], c = r[4], log2_opacity = r[5];
    store(fall[j / W], r[6]);
    const vf v = c * dy, v_below = v + c, u_first = a * dx + b * dy;
    const vf rest = log2_opacity - v * v, rest_below = log2_opacity - v_below * v_below;
    for (int k = 0; k < 4; ++k) {
      const vf u = a * float(k) + u_first, u_below = u + b, e = rest - u * u;
      store(power[j + 2 * k], e);
      store(power[j + 2 * k + 1], (rest_below - u_below * u_below) - e);
    }
  }
  for (uint32_t j = 0; j < (n + W - 1) / W * W; j += 4) {
    vf e[4];
    for (int k = 0; k < 4; ++k) e[k] = load(power[j + k]);
    exp2_wide<4>(e, e);
    for (int k = 0; k < 4; ++k) store(power[j + k], e[k]);
  }
  // And here a column of Gaussian k, or 4 + k: one in the first group of lanes, one in the second.
  for (uint32_t j = 0; j < n; j += W) {
    vf first[4], ratio[4];
    for (int k = 0; k < 4; ++k) first[k] = load(power[j + 2 * k]), ratio[k] = load(power[j + 2 * k + 1]);
    transpose4(first), transpose4(ratio);
    const vf all = load(fall[j / W]);
    const vf falls[4] = {repeat_in_group<0>(all), repeat_in_group<1>(all), repeat_in_group<2>(all),
                         repeat_in_group<3>(all)};
    for (int k = 0; k < 4; ++k) {
      const vf second_ratio = ratio[k] * falls[k], third_ratio = second_ratio * falls[k];
      vf row[4] = {first[k]};
      row[1] = row[0] * ratio[k], row[2] = row[1] * second_ratio, row[3] = row[2] * third_ratio;
      for (vf& p : row) p = keep_min(ge(p, splat(alpha_min)), p, splat(alpha_max));
      for (int h = 0; h < 2; ++h) {
        store(alpha[j + k][h], first_groups(row[2 * h], row[2 * h + 1]));
        store(alpha[j + 4 + k][h], second_groups(row[2 * h], row[2 * h + 1]));
      }
    }
  }
}
#endif

// Composites C channels of a list over P vectors of pixels from (x, y) downwards and tells how much of it mattered to
// each.
template <int P, int shift, int C>
INLINE void paint(const Record* records, int x, int y, const uint32_t* at, uint32_t n, float* to, size_t plane,
                  uint32_t used[P]) {
  const vf low = splat(transmittance_min);
  // T runs on when a pixel is finished; as it never grows, comparing it tells that. `left` does not.
  vf T[P], left[P], c[C][P] = {};
  for (int h = 0; h < P; ++h) T[h] = left[h] = splat(1.0f), used[h] = 0;
  alignas(64) float alpha[turn][P][W];
  alignas(64) uint32_t offsets[2][turn];  // of this turn and the next
  const auto look_up = [&](uint32_t i, uint32_t* to) __attribute__((always_inline)) {
    for (uint32_t k = 0; k < turn; k += W)
      store_i(to + k, shift_right_by<shift>(load_i(at + i + k)) * int(sizeof(Record)));
  };
  look_up(0, offsets[0]);
  uint32_t* mine = offsets[0];
  bool all_going = true, going = true;
  for (uint32_t i = 0; going && i < n;) {
    const uint32_t end = n - i < turn ? n : i + turn;
    uint32_t* next = offsets[mine == offsets[0]];
    look_up(i + turn, next);
    for (uint32_t k = 0; k < turn; ++k) __builtin_prefetch(at_offset(records, next[k]));
    alphas_of_turn(records, mine, end - i, x, y, alpha);
    const float(*now)[P][W] = alpha;
    const uint32_t* who = mine;
    // As long as no pixel is finished nothing needs to be masked.
    for (; all_going && i < end; i += G, now += G, who += G) {
      vf t[G + 1][P];
      for (int h = 0; h < P; ++h) t[0][h] = T[h];
      for (int j = 0; j < G; ++j)
        for (int h = 0; h < P; ++h) t[j + 1][h] = t[j][h] - t[j][h] * load(now[j][h]);
      vf least = t[G][0];
      for (int h = 1; h < P; ++h) least = min(least, t[G][h]);
      all_going = bits(gt(least, low)) == (1ull << W) - 1;
      if (!all_going) {
        for (int h = 0; h < P; ++h) left[h] = T[h];
        break;
      }
      for (int j = 0; j < G; ++j) {
        const float* feature = at_offset(records, who[j])->feature;
        for (int m = 0; m < C; ++m)
          for (int h = 0; h < P; ++h) c[m][h] += (t[j][h] - t[j + 1][h]) * feature[m];
      }
      for (int h = 0; h < P; ++h) T[h] = t[G][h], used[h] = i + G;
    }
    for (; going && i < end; i += G, now += G, who += G) {
      for (int h = 0; h < P; ++h)
        if (bits(gt(T[h], low))) used[h] = i + G;
      for (int j = 0; j < G; ++j) {
        const float* feature = at_offset(records, who[j])->feature;
        vf weight[P];
        for (int h = 0; h < P; ++h) {
          const vf after = T[h] - T[h] * load(now[j][h]);
          const mask on = gt(after, low);
          weight[h] = keep(on, T[h] - after);
          left[h] = blend(on, after, left[h]);
          T[h] = after;
        }
        for (int m = 0; m < C; ++m)
          for (int h = 0; h < P; ++h) c[m][h] += weight[h] * feature[m];
      }
      going = false;
      for (int h = 0; h < P; ++h) going |= bits(gt(T[h], low)) != 0;
    }
    mine = next;
  }
  for (int h = 0; h < P; ++h, to += VH * strip * BW) {
    for (int m = 0; m < C; ++m) write_rows(to + m * plane, strip * BW, c[m][h]);
    write_rows(to + 4 * plane, strip * BW, 1.0f - (all_going ? T[h] : left[h]));
  }
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
      const uint32_t* row = rows + begins[by + block_rows_max];
      const size_t in_row = ends[by + block_rows_max] - begins[by + block_rows_max];
      if (!in_row) {
        for (uint32_t j = 0; kept && j < V * strip; ++j) region.start[k++] = n;
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
      uint32_t* list = kept ? reserve(kept, n + V * strip * list_room) : nullptr;
      for (uint32_t column = 0; column < strip; ++column) {
        uint32_t* mine = lists + column * list_room;
        uint32_t used[V] = {};
        if (bx0 + column < region.blocks_x) {
          if (column + 1 < strip)
            for (uint32_t j = 0; j < ahead; ++j)
              __builtin_prefetch(region.records + (mine[list_room + j] >> record_shift));
          paint<V, record_shift, C>(region.records, region.x0 + (bx0 + column) * BW, region.y0 + by * BH, mine,
                                    (count[column] + G - 1) / G * G, painted.plane[0][0] + column * BW,
                                    BH * strip * BW, used);
        }
        for (int h = 0; kept && h < V; ++h) {
          region.start[k++] = n;
          n += filter_vector(mine, used[h], 1u << (column + 4 * h), list + n);
          for (; n % G; ++n) list[n] = region.count;
        }
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

// Where vector k of a region lies.
INLINE int vector_x(const Region& region, uint32_t k) {
  const uint32_t block = k / V;
  return region.x0 + (block / (strip * region.blocks_y) * strip + block % strip) * BW;
}
INLINE int vector_y(const Region& region, uint32_t k) {
  return region.y0 + (k / V / strip % region.blocks_y) * BH + k % V * VH;
}

void redraw(const Region& region, const Planes& out) {
  const FlushDenormals flush;
  RowOfBlocks painted;
  for (uint32_t k = 0; k < V * region.blocks(); ++k) {
    const int x = vector_x(region, k), y = vector_y(region, k);
    const uint32_t begin = region.start[k], column = k / V % strip;
    uint32_t used[1];
    if (x < region.x1)
      paint<1, 0, 4>(region.records, x, y, region.list + begin, region.start[k + 1] - begin,
                     painted.plane[0][k % V * VH] + column * BW, BH * strip * BW, used);
    if (k % (V * strip) == V * strip - 1)
      write_row_of_blocks(region, (x - region.x0) / BW - (strip - 1), (y - region.y0) / BH, out, painted);
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
  const vf lx = lane_x() + 0.5f, ly = lane_y() + 0.5f;
  // In a group of four lanes lie pixels of one row, or all of a 2x2 block.
  constexpr int columns = W == 4 ? 2 : 4;
  vf row;  // of a lane's group
  for (int i = 0; i < W; ++i) row[i] = i / 4;
  for (uint32_t k = 0; k < V * region.blocks(); ++k) {
    const uint32_t n = region.start[k + 1] - region.start[k];
    if (!n) continue;
    const int x = vector_x(region, k), y = vector_y(region, k);
    const int nx = region.x1 - x, ny = region.y1 - y;
    const vf px = lx + float(x), py = ly + float(y);
    vf g[C], behind = {}, T = splat(1.0f);
    alignas(64) float spread[C][4][W];  // the gradient of column p of a lane's group, at all lanes of the group
    for (int c = 0; c < C; ++c) {
      g[c] = grad.channel[c] ? read_pixels(grad.channel[c], grad.width, x, y, nx, ny) : vf{};
      vf all[4] = {g[c], g[c], g[c], g[c]};
      transpose4(all);
      for (int p = 0; p < 4; ++p) store(spread[c][p], all[p]);
    }
    const uint32_t* at = region.list + region.start[k];
    // Per Gaussian its alpha and weight, in places aligned to 64 bytes, for which there must be 64 more.
    float* kept = (float*)((uintptr_t(reserve(scratch, 2 * size_t(n) * W + 16)) + 63) / 64 * 64);
    for (uint32_t i = 0; i < n; i += G) {
      const Record* r[G];
      for (int j = 0; j < G; ++j) {
        r[j] = records + at[i + j];
        __builtin_prefetch(records + at[i + ahead + j]);
        __builtin_prefetch(out + at[i + ahead + j], 1);
      }
      vf alpha[G];
      alphas<G>(r, px, py, alpha);
      for (int j = 0; j < G; ++j) {
        float* to = kept + 2 * W * (i + j);
        const vf after = T - T * alpha[j];
        const mask on = gt(after, splat(transmittance_min));  // as it never grows, what is finished stays so
        store(to, keep(on, alpha[j])), store(to + W, keep(on, T * alpha[j]));
        T = after;
      }
    }
    if (grad.alpha) behind -= read_pixels(grad.alpha, grad.width, x, y, nx, ny);
    for (uint32_t i = n; i;) {
      i -= G;
      const Record* r[G];
      vf alpha[G], w[G], dot[G], u[G];
      alignas(16) float first_dx[G], first_dy[G];
      for (int j = 0; j < G; ++j) {
        r[j] = records + at[i + j];
        alpha[j] = load(kept + 2 * W * (i + j)), w[j] = load(kept + 2 * W * (i + j) + W);
        first_dx[j] = (x + 0.5f) - r[j]->near_x, first_dy[j] = (y + 0.5f) - r[j]->near_y;
      }
      for (int j = 0; j < G; ++j) dot[j] = g[0] * r[j]->feature[0];
      for (int c = 1; c < C; ++c)
        for (int j = 0; j < G; ++j) dot[j] += g[c] * r[j]->feature[c];
      for (int j = G - 1; j >= 0; --j) {
        const vf more = dot[j] - behind;
        u[j] = keep(gt(splat(alpha_max), alpha[j]), w[j] * more);
        behind += alpha[j] * more;
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
