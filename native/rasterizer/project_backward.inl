// The gradient of the projection: part of kernel.inl.

struct Gradients {
  vd center[3], covariance[6], opacity, R[9], t[3], fx, fy, cx, cy;
};

INLINE Gradients project_backward_lanes(const Camera& k, const vd c[3], const vd S[6], vd o, const vd sums[6],
                                        vd grad_z) {
  const Projected g = project_batch(k, c, S);
  // From the point near the mean to the mean: pixel - mean = (pixel - near) + (near - mean).
  const vd mx = g.gx * g.x + k.cx, my = g.gy * g.y + k.cy;
  const vd ex = widen(nearest(narrow(mx), k.width)) - mx, ey = widen(nearest(narrow(my), k.height)) - my;
  const vd m[6] = {sums[0],
                   sums[1] + ex * sums[0],
                   sums[2] + ey * sums[0],
                   sums[3] + ex * (2.0 * sums[1] + ex * sums[0]),
                   sums[4] + ex * sums[2] + ey * (sums[1] + ex * sums[0]),
                   sums[5] + ey * (2.0 * sums[2] + ey * sums[0])};
  // Q = inverse of the image covariance; dL/dmean = Q m1, dL/dcov = Q m2 Q / 2.
  const vd idet = 1.0 / (g.p * g.r - g.q * g.q);
  const vd A = g.r * idet, B = -g.q * idet, C = g.p * idet;
  const vd vx = A * m[1] + B * m[2], vy = B * m[1] + C * m[2];
  const vd h0 = A * m[3] + B * m[4], h1 = A * m[4] + B * m[5], h2 = B * m[3] + C * m[4], h3 = B * m[4] + C * m[5];
  const vd G0 = 0.5 * (h0 * A + h1 * B), G1 = 0.5 * (h0 * B + h1 * C), G2 = 0.5 * (h2 * B + h3 * C);
  Gradients r;
  r.opacity = m[0] / o;
  vd n0[3], n1[3];  // G M
  for (int j = 0; j < 3; ++j) {
    n0[j] = G0 * g.M0[j] + G1 * g.M1[j];
    n1[j] = G1 * g.M0[j] + G2 * g.M1[j];
  }
  const int at[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
  for (int e = 0; e < 6; ++e)
    r.covariance[e] = g.M0[at[e][0]] * n0[at[e][1]] + g.M1[at[e][0]] * n1[at[e][1]];
  // dL/dM = 2 G M Sigma, and M rows are gx (R0 - slope_x R2), gy (R1 - slope_y R2).
  const int row[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  vd w0[3], w1[3];
  for (int j = 0; j < 3; ++j) {
    w0[j] = 2.0 * (n0[0] * S[row[j][0]] + n0[1] * S[row[j][1]] + n0[2] * S[row[j][2]]);
    w1[j] = 2.0 * (n1[0] * S[row[j][0]] + n1[1] * S[row[j][1]] + n1[2] * S[row[j][2]]);
  }
  vd to_gx = splat_d(0.0), to_gy = to_gx, to_sx = to_gx, to_sy = to_gx;
  for (int j = 0; j < 3; ++j) {
    to_gx += w0[j] * (k.R[j] - g.slope_x * k.R[6 + j]);
    to_gy += w1[j] * (k.R[3 + j] - g.slope_y * k.R[6 + j]);
    to_sx -= w0[j] * g.gx * k.R[6 + j];
    to_sy -= w1[j] * g.gy * k.R[6 + j];
    r.R[j] = g.gx * w0[j];
    r.R[3 + j] = g.gy * w1[j];
    r.R[6 + j] = -(g.slope_x * r.R[j] + g.slope_y * r.R[3 + j]);
  }
  const vd sx = g.x * g.iz, sy = g.y * g.iz;
  const vd free_sx = keep_d(g.free_x, to_sx), free_sy = keep_d(g.free_y, to_sy);
  // mean = (fx x / z + cx, fy y / z + cy)
  const vd along_x = k.fx * vx + free_sx, along_y = k.fy * vy + free_sy;
  const vd px = along_x * g.iz, py = along_y * g.iz;
  const vd pz = grad_z - g.iz * (along_x * sx + along_y * sy + to_gx * g.gx + to_gy * g.gy);
  for (int j = 0; j < 3; ++j) {
    r.center[j] = k.R[j] * px + k.R[3 + j] * py + k.R[6 + j] * pz;
    r.R[j] += px * c[j];
    r.R[3 + j] += py * c[j];
    r.R[6 + j] += pz * c[j];
  }
  r.t[0] = px, r.t[1] = py, r.t[2] = pz;
  // A clamped slope is (edge - cx) / fx.
  const vd held_x = (to_sx - free_sx) * (-1.0 / k.fx), held_y = (to_sy - free_sy) * (-1.0 / k.fy);
  r.fx = vx * sx + to_gx * g.iz + held_x * g.slope_x;
  r.fy = vy * sy + to_gy * g.iz + held_y * g.slope_y;
  r.cx = vx + held_x;
  r.cy = vy + held_y;
  return r;
}

void project_backward(const Camera& k, const Points& points, const uint32_t* ids, uint32_t count,
                      const Moments* moments, int with_depth, const PointsGradient& out) {
  vd sums[16];
  for (vd& s : sums) s = splat_d(0.0);
  for (uint32_t first = 0; first < count; first += W) {
    const int n = count - first < W ? count - first : W;
    uint32_t here[W];
    for (int l = 0; l < W; ++l) here[l] = ids[first + (l < n ? l : n - 1)];
    vf columns[16];
    alignas(64) float in[16][W], sum[16][W];
    read_points(points, here, columns);
    for (int j = 0; j < 16; ++j) store(in[j], columns[j]);
    for (int j = 0; j < 12; j += W) {
      vf part[W];
      for (int l = 0; l < W; ++l) part[l] = l < n ? load((const float*)(moments + first + l) + j) : vf{};
      transpose(part);
      for (int l = 0; l < W && j + l < 16; ++l) store(sum[j + l], part[l]);
    }
    vd c[3], S[6], m[6];
    widen_points(in, c, S);
    for (int j = 0; j < 6; ++j) m[j] = widen(sum[j]);
    const Gradients r = project_backward_lanes(k, c, S, widen(in[12]), m, with_depth ? widen(sum[9]) : splat_d(0.0));
    const int unique[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    vf covariance[6];
    for (int j = 0; j < 6; ++j) covariance[j] = narrow(r.covariance[j]);
    for (int j = 0; j < 9; ++j) columns[j] = covariance[unique[j]];
    for (int j = 0; j < 3; ++j) columns[9 + j] = narrow(r.center[j]);
    columns[12] = narrow(r.opacity);
    for (int j = 13; j < 16; ++j) columns[j] = load(sum[j - 7]);
    if (out.camera) {
      for (int j = 0; j < 9; ++j) sums[j] += r.R[j];
      for (int j = 0; j < 3; ++j) sums[9 + j] += r.t[j];
      sums[12] += r.fx, sums[13] += r.fy, sums[14] += r.cx, sums[15] += r.cy;
    }
    write_points(out, points.channels, here, n, columns);
  }
  if (out.camera)
    for (int j = 0; j < 16; ++j) {
      double s = 0;
      for (int l = 0; l < D; ++l) s += sums[j].a[l] + sums[j].b[l];
      out.camera[j] = s;
    }
}
