// Lists of the Gaussians that each block of pixels sees, by three filters: part of kernel.inl.

INLINE int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

INLINE uint32_t* reserve(Scratch* s, size_t n) {
  if (n > s->size) {
    s->size = 2 * n;
    s->data = (uint32_t*)realloc(s->data, 4 * s->size);
    if (!s->data) abort();
  }
  return s->data;
}

// Writes the footprints of the region's Gaussians front to back; a Gaussian larger than a footprint gets several.
size_t line_up(const Region& region, DrawScratch* scratch) {
  const int rx = region.x0 / block_px, ry = region.y0 / block_px, bound_x = region.blocks_x, bound_y = region.blocks_y;
  const Footprints& from = region.footprints;
  size_t n = 0, room = 0;
  uint32_t *rows[footprint_words], *corner = nullptr, *record = nullptr;
  const auto need = [&](size_t more) __attribute__((always_inline)) {
    if (__builtin_expect(n + more <= room, 1)) return;
    room = n + more + region.count;
    for (int j = 0; j < footprint_words; ++j) rows[j] = reserve(&scratch->footprint[j], room);
    corner = reserve(&scratch->corner, room), record = reserve(&scratch->record, room);
  };
  const auto cut = [&](uint32_t i) {
    const Record& r = region.records[i];
    const int bx0 = clip(r.bx0 - rx, 0, bound_x - 1), bx1 = clip(r.bx1 - rx, 0, bound_x - 1);
    const int by0 = clip(r.by0 - ry, 0, bound_y - 1), by1 = clip(r.by1 - ry, 0, bound_y - 1);
    need(size_t((bx1 - bx0) / 8 + 1) * ((by1 - by0) / footprint_rows + 1) + 2 * W);
    const float reach = r.log2_opacity - log2_alpha_min + 1e-4f;
    const float right_y = -r.b / r.c * __builtin_sqrtf(reach / (r.b * r.b + r.c * r.c));
    const float more = slack + slack_of_width * (r.bx1 - r.bx0 + 1) * block_px;
    const Cut ellipse = cut_at(splat(1.0f / r.a), splat(r.b), splat(r.c), splat(reach), splat(right_y),
                               splat(r.mean_x), splat(more));
    for (int y = by0; y <= by1; y += footprint_rows) {
      constexpr int parts = footprint_rows > W ? footprint_rows / W : 1;
      vf first[parts], past[parts];  // column of blocks, a lane per row
      for (int part = 0; part < parts; ++part) {
        const vf row = __builtin_convertvector(lane_index(), vf) + float(part * W);
        const vf dy = (row + float(ry + y)) * float(block_px) + (0.5f - r.mean_y);
        cut_row(ellipse, dy, dy + float(block_px - 1), &first[part], &past[part]);
        past[part] = keep(ge(splat(float(by1 - y)), row), past[part]);
      }
      for (int x = bx0; x <= bx1; x += 8) {
        uint32_t row[parts * W], any = 0;
        for (int part = 0; part < parts; ++part)
          store_i(row + part * W, columns_between(first[part] - float(rx + x), past[part] - float(rx + x)));
        for (int j = 0; j < footprint_words; ++j)
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
    for (int j = 0; j < footprint_words; ++j) any |= rows[j][n] = from.rows[j][i];
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
    vi words[footprint_words], any = {};
    for (int j = 0; j < footprint_words; ++j) any |= words[j] = gather_i(from.rows[j], at);
    if (__builtin_expect(bits(any_bit(any, any)) != (1ull << W) - 1, 0)) {
      for (uint32_t j = k; j < k + W; ++j) line_up_one(region.order[j]);
      continue;
    }
    need(2 * W);
    for (int j = 0; j < footprint_words; ++j) store_i(rows[j] + n, words[j]);
    store_i(corner + n, gather_i(from.corners, at));
    store_i(record + n, at);
    n += W;
  }
  for (; k < region.count; ++k) line_up_one(region.order[k]);
  need(W);
  for (int l = 0; l < W; ++l) {
    for (int j = 0; j < footprint_words; ++j) rows[j][n + l] = 0;
    corner[n + l] = record[n + l] = 0;
  }
  return n;
}

// A footprint may reach this far above and below the region, so rows of blocks are counted from -footprint_rows.
constexpr uint32_t rows_outside = 2 * footprint_rows;

// Bit of row j of a footprint that is folded to one word: of four columns each, rows 0..3 (bit 8 * row + column) and,
// four bits above them, rows 4..7.
INLINE uint32_t place(int j) { return j % 4 * 8 + j / 4 * 4; }

// Selects the footprints that touch a strip; their bits are moved to the strip's columns and folded.
INLINE size_t filter_strip(const Region& region, DrawScratch* scratch, size_t count, uint32_t first_column) {
  uint32_t* to_blocks = reserve(&scratch->strip_blocks, count + 2 * W);
  uint32_t* to_row = reserve(&scratch->strip_row, count + 2 * W);
  uint32_t* to_record = reserve(&scratch->strip_record, count + 2 * W);
  const uint32_t *upper = scratch->footprint[0].data, *lower = scratch->footprint[1].data;
  const uint32_t *corner = scratch->corner.data, *record = scratch->record.data;
  const int column = region.x0 / block_px + int(first_column), row = region.y0 / block_px - footprint_rows;
  size_t n = 0;
  if (W == 4) {  // without variable shifts, one at a time is faster
    for (size_t i = 0; i < count; ++i) {
      const int right = int(corner[i] & 0xffff) - column;
      if (right >= 4 || right <= -8) continue;
      const uint32_t kept = (right >= 0 ? 15u << right & 15 : 255u >> -right & 15) * 0x01010101u;
      const auto moved = [&](uint32_t x) { return (right >= 0 ? x << right : x >> -right) & kept; };
      to_blocks[n] = moved(upper[i]) | moved(lower[i]) << 4;
      to_row[n] = (corner[i] >> 16) - row;
      to_record[n] = record[i];
      n += to_blocks[n] != 0;
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
    const vi blocks = moved(upper) | moved(lower) << 4;
    const mask hit = any_bit(blocks, blocks);
    append(to_blocks + n, hit, blocks);
    append(to_row + n, hit, (vi)((vu)corners >> 16) - row);
    append(to_record + n, hit, load_i(record + i));
    n += __builtin_popcount(bits(hit));
  }
  return n;
}

// An entry of the list of a row of blocks: the record number, and below it one bit for each column of the strip.
constexpr int record_shift = strip;
constexpr uint32_t column_bits = (1u << strip) - 1;

// Distributes the footprints of a strip to the rows of blocks that they touch: row k is to[begins[k]..ends[k]], with W
// zeros after it.
INLINE const uint32_t* scatter_rows(DrawScratch* scratch, size_t count, uint32_t rows, uint32_t* begins,
                                    uint32_t* ends) {
  const uint32_t *first = scratch->strip_row.data, *record = scratch->strip_record.data;
  const uint32_t* all_blocks = scratch->strip_blocks.data;
  // A row has at most as many entries as begin in the footprint_rows rows up to it. Packed this closely, they stay in
  // the first-level cache.
  for (uint32_t k = 0; k < rows; ++k) ends[k] = 0;
  for (size_t i = 0; i < count; ++i) ++ends[first[i]];
  uint32_t at = 0, window = 0;
  for (uint32_t k = 0; k < rows; ++k) {
    window += ends[k];
    begins[k] = at;
    at += window + W;
    if (k + 1 >= footprint_rows) window -= ends[k + 1 - footprint_rows];
  }
  for (uint32_t k = 0; k < rows; ++k) ends[k] = begins[k];
  uint32_t* to = reserve(&scratch->rows, at);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t mine = record[i] << record_shift, blocks = all_blocks[i];
    uint32_t* end = ends + first[i];
    const auto put = [&](int row) __attribute__((always_inline)) {
      const uint32_t columns = blocks >> place(row) & column_bits;
      to[end[row]] = mine | columns;  // no branch: an entry that touches nothing is overwritten by the next
      end[row] += columns != 0;
    };
    for (int j = 0; j < 4; ++j) put(j);
    if (blocks & 0xf0f0f0f0)
      for (int j = 4; j < 8; ++j) put(j);
  }
  for (uint32_t k = 0; k < rows; ++k)
    for (int l = 0; l < W; ++l) to[ends[k] + l] = 0;
  return to;
}

// Splits a row of blocks into the lists of its four blocks, `room` apart.
INLINE void filter_blocks(const uint32_t* row, size_t count, uint32_t* lists, size_t room, size_t n[strip]) {
  for (uint32_t c = 0; c < strip; ++c) n[c] = 0;
  for (size_t i = 0; i < count; i += W) {
    const vi all = load_i(row + i);
    for (uint32_t c = 0; c < strip; ++c) {
      const mask hit = any_bit(all, splat_i(1 << c));
      append(lists + c * room + n[c], hit, all);
      n[c] += __builtin_popcount(bits(hit));
    }
  }
}
