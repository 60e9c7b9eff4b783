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

// A square of 4x4 blocks that a Gaussian touches: blocks | (x + 8) << 16 | (y + 8) << 24, relative to the region. What
// lies outside of the region is never asked for.
INLINE uint32_t piece(uint32_t blocks, int x, int y) { return blocks | uint32_t(x + 8) << 16 | uint32_t(y + 8) << 24; }

// The pieces of the region's Gaussians, front to back.
size_t cut_pieces(const Region& region, DrawScratch* scratch) {
  const int rx = region.x0 / BW, ry = region.y0 / BH, bound_x = region.blocks_x, bound_y = region.blocks_y;
  const uint32_t *top = region.footprints.top, *bottom = region.footprints.bottom, *corners = region.footprints.corners;
  size_t n = 0, room = 0;
  uint32_t *where = nullptr, *record = nullptr;
  const auto need = [&](size_t more) __attribute__((always_inline)) {
    if (__builtin_expect(n + more <= room, 1)) return;
    room = n + more + region.count;
    where = reserve(&scratch->where, room);
    record = reserve(&scratch->record, room);
  };
  // Without branches: what touches nothing is overwritten by the next.
  const auto append_piece = [&](uint32_t mine, uint32_t blocks, int x, int y) __attribute__((always_inline)) {
    where[n] = piece(blocks, x, y);
    record[n] = mine;
    n += blocks != 0;
  };
  const auto append_record = [&](uint32_t i) __attribute__((always_inline)) {
    const int x = int(corners[i] & 0xffff) - rx, y = int(corners[i] >> 16) - ry;
    need(5 * W);
    if (__builtin_expect((top[i] | bottom[i]) != 0, 1)) {
      append_piece(i, top[i] & 0xffff, x, y);
      append_piece(i, top[i] >> 16, x + 4, y);
      append_piece(i, bottom[i] & 0xffff, x, y + 4);
      append_piece(i, bottom[i] >> 16, x + 4, y + 4);
      return;
    }
    const Record& r = region.records[i];
    const int bx0 = clip(r.bx0 - rx, 0, bound_x - 1), bx1 = clip(r.bx1 - rx, 0, bound_x - 1);
    const int by0 = clip(r.by0 - ry, 0, bound_y - 1), by1 = clip(r.by1 - ry, 0, bound_y - 1);
    need(size_t((bx1 - bx0) / 4 + 1) * ((by1 - by0) / 4 + 1) + W);
    for (int y = by0; y <= by1; y += 4)
      for (int x = bx0; x <= bx1; x += 4)
        append_piece(i, touched_blocks(r, (rx + x) * BW + 0.5f - r.mean_x, (ry + y) * BH + 0.5f - r.mean_y), x, y);
  };
  uint32_t k = 0;
  // Most footprints are one piece: a vector of them at once if all are.
  for (; k + W <= region.count; k += W) {
    vi at, above, below, corner;
    if (region.order) {
      at = load_i(region.order + k);
      above = gather_i(top, at), below = gather_i(bottom, at), corner = gather_i(corners, at);
    } else {
      at = lane_index() + int(k);
      above = load_i(top + k), below = load_i(bottom + k), corner = load_i(corners + k);
    }
    const vi more = (above & int(0xffff0000)) | below;
    if (bits(any_bit(more, more)) || bits(any_bit(above, above)) != (1ull << W) - 1) {
      for (uint32_t j = k; j < k + W; ++j) append_record(region.order ? region.order[j] : j);
      continue;
    }
    need(2 * W);
    const vi x = (corner & 0xffff) - (rx - 8), y = (vi)((vu)corner >> 16) - (ry - 8);
    store_i(where + n, above | (x & 255) << 16 | y << 24);
    store_i(record + n, at);
    n += W;
  }
  for (; k < region.count; ++k) append_record(region.order ? region.order[k] : k);
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
      const int right = int(where >> 16 & 255) - 8 - first_column;
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
    const vi right = (shift_right(where, splat_i(16)) & 255) - (first_column + 8);
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

// Deals these out to the rows of blocks that they touch: record << 4 | columns, `room` apart; rows are counted from -8.
constexpr uint32_t rows_outside = 16;
INLINE void scatter_rows(const DrawScratch& scratch, size_t count, uint32_t rows, uint32_t* to, size_t room,
                         uint32_t* ends) {
  const uint32_t *where = scratch.strip_where.data, *record = scratch.strip_record.data;
  for (uint32_t row = 0; row < rows + rows_outside; ++row) ends[row] = row * room;
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

// The lists of the four blocks of a row, `room` apart.
INLINE void filter_blocks(const uint32_t* row, size_t count, uint32_t* lists, size_t room, size_t n[strip]) {
  for (uint32_t c = 0; c < strip; ++c) n[c] = 0;
  for (size_t i = 0; i < count; i += W) {
    const vi all = load_i(row + i), records = shift_right_4(all);
    for (uint32_t c = 0; c < strip; ++c) {
      const mask hit = any_bit(all, splat_i(1 << c));
      append(lists + c * room + n[c], hit, records);
      n[c] += __builtin_popcount(bits(hit));
    }
  }
}
