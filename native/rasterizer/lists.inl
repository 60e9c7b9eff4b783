// Which Gaussians matter to which block: part of kernel.inl.

INLINE int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

INLINE uint32_t* reserve(Scratch* s, size_t n) {
  if (n > s->size) {
    s->size = 2 * n;
    s->data = (uint32_t*)realloc(s->data, 4 * s->size);
    if (!s->data) abort();
  }
  return s->data;
}

// The footprints of the region's Gaussians, front to back. What is larger than one is cut into several.
size_t line_up(const Region& region, DrawScratch* scratch) {
  const int rx = region.x0 / BW, ry = region.y0 / BH, bound_x = region.blocks_x, bound_y = region.blocks_y;
  const Footprints& from = region.footprints;
  size_t n = 0, room = 0;
  uint32_t *rows[2 * bands], *corner = nullptr, *record = nullptr;
  const auto need = [&](size_t more) __attribute__((always_inline)) {
    if (__builtin_expect(n + more <= room, 1)) return;
    room = n + more + region.count;
    for (int j = 0; j < 2 * bands; ++j) rows[j] = reserve(&scratch->footprint[j], room);
    corner = reserve(&scratch->corner, room), record = reserve(&scratch->record, room);
  };
  const auto cut = [&](uint32_t i) {
    const Record& r = region.records[i];
    const int bx0 = clip(r.bx0 - rx, 0, bound_x - 1), bx1 = clip(r.bx1 - rx, 0, bound_x - 1);
    const int by0 = clip(r.by0 - ry, 0, bound_y - 1), by1 = clip(r.by1 - ry, 0, bound_y - 1);
    need(size_t((bx1 - bx0) / 8 + 1) * ((by1 - by0) / block_rows_max + 1) + 2 * W);
    const float reach = r.log2_opacity - log2_alpha_min + 1e-4f;
    const float right_y = -r.b / r.c * __builtin_sqrtf(reach / (r.b * r.b + r.c * r.c));
    const float more = slack + slack_of_width * (r.bx1 - r.bx0 + 1) * BW;
    const Cut ellipse = cut_at(splat(1.0f / r.a), splat(r.b), splat(r.c), splat(reach), splat(right_y),
                               splat(r.mean_x), splat(more));
    for (int y = by0; y <= by1; y += block_rows_max) {
      constexpr int parts = rows_max > W ? rows_max / W : 1;
      vf first[parts], past[parts];  // column of blocks, a lane per row
      for (int part = 0; part < parts; ++part) {
        const vf row = __builtin_convertvector(lane_index(), vf) + float(part * W);
        const vf dy = (row + float(V * (ry + y))) * float(VH) + (0.5f - r.mean_y);
        cut_row(ellipse, dy, dy + float(VH - 1), &first[part], &past[part]);
        past[part] = keep(ge(splat(float(V * (by1 - y) + V - 1)), row), past[part]);
      }
      for (int x = bx0; x <= bx1; x += 8) {
        uint32_t row[parts * W], any = 0;
        for (int part = 0; part < parts; ++part)
          store_i(row + part * W, columns_between(first[part] - float(rx + x), past[part] - float(rx + x)));
        for (int j = 0; j < 2 * bands; ++j)
          any |= rows[j][n] = row[4 * j] | row[4 * j + 1] << 8 | row[4 * j + 2] << 16 | row[4 * j + 3] << 24;
        corner[n] = (x + rx) | (y + ry) << 16;
        record[n] = i;
        n += any != 0;
      }
    }
  };
  const auto line_up_one = [&](uint32_t i) {
    need(2 * W);
    uint32_t any = 0;
    for (int j = 0; j < 2 * bands; ++j) any |= rows[j][n] = from.rows[j][i];
    corner[n] = from.corners[i], record[n] = i;
    if (any)
      ++n;
    else
      cut(i);
  };
  need(2 * W);
  uint32_t k = 0;
  for (; k + W <= region.count; k += W) {
    const vi at = load_i(region.order + k);
    vi words[2 * bands], any = {};
    for (int j = 0; j < 2 * bands; ++j) any |= words[j] = gather_i(from.rows[j], at);
    if (__builtin_expect(bits(any_bit(any, any)) != (1ull << W) - 1, 0)) {
      for (uint32_t j = k; j < k + W; ++j) line_up_one(region.order[j]);
      continue;
    }
    need(2 * W);
    for (int j = 0; j < 2 * bands; ++j) store_i(rows[j] + n, words[j]);
    store_i(corner + n, gather_i(from.corners, at));
    store_i(record + n, at);
    n += W;
  }
  for (; k < region.count; ++k) line_up_one(region.order[k]);
  need(W);
  for (int l = 0; l < W; ++l) {
    for (int j = 0; j < 2 * bands; ++j) rows[j][n + l] = 0;
    corner[n + l] = record[n + l] = 0;
  }
  return n;
}

// Rows of blocks are counted from -block_rows_max: so far a footprint may reach out of the region, above and below.
constexpr uint32_t rows_outside = 2 * block_rows_max;

// Four rows of vectors (bit 8 * row + column) and the next four, of four columns each, in one word: the rows of a block
// side by side. Block row j of the eight (or four) lies at bit place(j).
INLINE uint32_t place(int j) { return V == 1 ? j % 4 * 8 + j / 4 * 4 : j % 2 * 16 + j / 2 * 8; }
template <class T>
INLINE T fold(T upper, T lower) {
  if (V == 1) return upper | lower << 4;
  const auto pairs = [](T x) __attribute__((always_inline)) { return (x | x >> 4) & 0x00ff00ff; };
  return pairs(upper) | pairs(lower) << 8;
}

// What touches a strip, with the bits of its vectors moved to the strip's columns and folded, for every eight rows.
INLINE size_t filter_strip(const Region& region, DrawScratch* scratch, size_t count, uint32_t first_column) {
  uint32_t *to_blocks[bands], *to_row = reserve(&scratch->strip_row, count + 2 * W);
  for (int j = 0; j < bands; ++j) to_blocks[j] = reserve(&scratch->strip_blocks[j], count + 2 * W);
  uint32_t* to_record = reserve(&scratch->strip_record, count + 2 * W);
  const uint32_t *rows[2 * bands], *corner = scratch->corner.data, *record = scratch->record.data;
  for (int j = 0; j < 2 * bands; ++j) rows[j] = scratch->footprint[j].data;
  const int column = region.x0 / BW + int(first_column), row = region.y0 / BH - block_rows_max;
  size_t n = 0;
  if (W == 4) {  // without variable shifts one by one is faster
    for (size_t i = 0; i < count; ++i) {
      const int right = int(corner[i] & 0xffff) - column;
      if (right >= 4 || right <= -8) continue;
      const uint32_t kept = (right >= 0 ? 15u << right & 15 : 255u >> -right & 15) * 0x01010101u;
      const auto moved = [&](uint32_t x) { return (right >= 0 ? x << right : x >> -right) & kept; };
      uint32_t any = 0;
      for (int j = 0; j < bands; ++j) any |= to_blocks[j][n] = fold(moved(rows[2 * j][i]), moved(rows[2 * j + 1][i]));
      to_row[n] = (corner[i] >> 16) - row;
      to_record[n] = record[i];
      n += any != 0;
    }
    return n;
  }
  for (size_t i = 0; i < count; i += W) {
    const vi corners = load_i(corner + i), right = (corners & 0xffff) - column, left = -right;
    // Bits that leave their row must not enter the next one. A shift by a negative number gives 0.
    vi kept = (shift_left(splat_i(15), right) | shift_right(splat_i(255), left)) & 15;
    kept |= kept << 8;
    kept |= kept << 16;
    const auto moved = [&](const uint32_t* from) __attribute__((always_inline)) {
      const vi x = load_i(from + i);
      return (shift_left(x, right) | shift_right(x, left)) & kept;
    };
    vi blocks[bands], any = {};
    for (int j = 0; j < bands; ++j) any |= blocks[j] = fold(moved(rows[2 * j]), moved(rows[2 * j + 1]));
    const mask hit = any_bit(any, any);
    for (int j = 0; j < bands; ++j) append(to_blocks[j] + n, hit, blocks[j]);
    append(to_row + n, hit, (vi)((vu)corners >> 16) - row);
    append(to_record + n, hit, load_i(record + i));
    n += __builtin_popcount(bits(hit));
  }
  return n;
}

// In lists, a record stands above a bit for each of the vectors of a row of blocks: column + 4 * (vector of the block).
constexpr int record_shift = 4 * V;
constexpr uint32_t vector_bits = (1u << record_shift) - 1, column_bits = V == 1 ? 1 : 0x11;

// Deals these out to the rows of blocks that they touch. Row k lies at to[begins[k]..ends[k]], with W zeros after it.
INLINE const uint32_t* scatter_rows(DrawScratch* scratch, size_t count, uint32_t rows, uint32_t* begins,
                                    uint32_t* ends) {
  const uint32_t *first = scratch->strip_row.data, *record = scratch->strip_record.data;
  // A row has at most as many as begin in the block_rows_max rows from it upwards. Packed so closely, what is written
  // stays in the first-level cache.
  for (uint32_t k = 0; k < rows; ++k) ends[k] = 0;
  for (size_t i = 0; i < count; ++i) ++ends[first[i]];
  uint32_t at = 0, window = 0;
  for (uint32_t k = 0; k < rows; ++k) {
    window += ends[k];
    begins[k] = at;
    at += window + W;
    if (k + 1 >= block_rows_max) window -= ends[k + 1 - block_rows_max];
  }
  for (uint32_t k = 0; k < rows; ++k) ends[k] = begins[k];
  uint32_t* to = reserve(&scratch->rows, at);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t mine = record[i] << record_shift;
    uint32_t* end = ends + first[i];
    for (int band = 0; band < bands; ++band, end += 8 / V) {
      const uint32_t blocks = scratch->strip_blocks[band].data[i];
      const auto put = [&](int row) __attribute__((always_inline)) {
        const uint32_t vectors = blocks >> place(row) & vector_bits;
        to[end[row]] = mine | vectors;  // without branches: what touches nothing is overwritten by the next
        end[row] += vectors != 0;
      };
      if (V == 2) {
        if (band == 0 || blocks)
          for (int j = 0; j < 4; ++j) put(j);
        continue;
      }
      if (bands == 1 || blocks & 0x0f0f0f0f)
        for (int j = 0; j < 4; ++j) put(j);
      if (blocks & 0xf0f0f0f0)
        for (int j = 4; j < 8; ++j) put(j);
    }
  }
  for (uint32_t k = 0; k < rows; ++k)
    for (int l = 0; l < W; ++l) to[ends[k] + l] = 0;
  return to;
}

// The lists of the four blocks of a row, `room` apart.
INLINE void filter_blocks(const uint32_t* row, size_t count, uint32_t* lists, size_t room, size_t n[strip]) {
  for (uint32_t c = 0; c < strip; ++c) n[c] = 0;
  for (size_t i = 0; i < count; i += W) {
    const vi all = load_i(row + i);
    for (uint32_t c = 0; c < strip; ++c) {
      const mask hit = any_bit(all, splat_i(column_bits << c));
      append(lists + c * room + n[c], hit, all);
      n[c] += __builtin_popcount(bits(hit));
    }
  }
}

// The records of a list that have this bit, and their number.
INLINE uint32_t filter_vector(const uint32_t* list, uint32_t count, uint32_t bit, uint32_t* to) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i += W) {
    const vi all = load_i(list + i);
    const mask hit = any_bit(all, splat_i(bit));
    append(to + n, hit, shift_right_by<record_shift>(all));
    n += __builtin_popcount(bits(hit));
  }
  return n;
}
