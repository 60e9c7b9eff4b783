// The gradient of compositing: part of kernel.inl. paint.inl explains the letters.

// First front to back: alpha and weight of every Gaussian. Then back to front with one number per pixel, `behind`: the
// derivative of the loss by the light that passes Gaussian i. It is the sum of weight (feature . grad) over the
// Gaussians behind it, divided by the transmittance, and -dL/dalpha_image for light that passes all of them. So
// dL/dalpha_i = T_i (feature_i . grad - behind_i), without a division by 1 - alpha_i, which would magnify errors.
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
    // Alphas and weights of the block for every Gaussian, aligned to 64 bytes, hence 64 bytes more.
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
          const mask on = gt(after, splat(transmittance_min));  // T never grows: a finished pixel stays so
          store(to, keep(on, alpha[j][h])), store(to + block_size, keep(on, weight));
          T[h] = after;
        }
    }
    for (uint32_t i = n; i;) {
      i -= G;
      const Record* r[G];
      for (int j = 0; j < G; ++j) r[j] = records + at[i + j];
      // Not through an array: a wide load after narrow stores waits for all of them.
      const v4 near_x = {r[0]->near_x, r[1]->near_x, r[2]->near_x, r[3]->near_x};
      const v4 near_y = {r[0]->near_y, r[1]->near_y, r[2]->near_y, r[3]->near_y};
      // Sums over pixels, by groups of four lanes, which are pixels of a row: of u, x u and x^2 u (x from the left of
      // the block); of u and x u times the top y of the vector, and u times y^2; of the feature gradients.
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
      // Moments about `near`: d = (ax + x, ay + y), where ay is that of the row in the first vector.
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
