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
  need(W);
  for (uint32_t k = 0; k < region.count; ++k) {
    // In a frame of one region most footprints are used as they are: a vector of them at once.
    while (region.order && k + W <= region.count) {
      const vi at = load_i(region.order + k);
      const vi blocks = gather_i(region.footprints, at), corner = gather_i(region.corners, at);
      need(2 * W);
      store_i(where + n, blocks | (corner & 0xff) << 16 | (corner & 0xff0000) << 8);
      store_i(record + n, at);
      const unsigned large = ~bits(any_bit(blocks, blocks)) & ((1ull << W) - 1);
      const uint32_t ready = large ? __builtin_ctz(large) : W;
      for (unsigned rest = large; rest; rest &= rest - 1)
        __builtin_prefetch(region.records + region.order[k + __builtin_ctz(rest)]);
      n += ready, k += ready;
      if (large) break;
    }
    if (k >= region.count) break;
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
