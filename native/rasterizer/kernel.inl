// The rasterizer at one vector width: projection, binning, compositing and their gradients.
//
// A region of pixels is cut into blocks of one vector of pixels each (4x4, 4x2 or 2x2). Every block has its own list
// of Gaussians, front to back, culled by the exact distance of the block to the ellipse alpha = 1/255; its pixels stay
// in registers while the list is walked, and the walk ends when all of them are opaque.
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include "kernel.h"

namespace kinema {
namespace {

constexpr float EXP2_0 = 0.99999994f, EXP2_1 = 0.0866428465f, EXP2_2 = 0.00375273172f, EXP2_3 = 0.000107979518f,
                EXP2_4 = 2.24468204e-06f, EXP2_5 = 2.87101258e-08f;

#include "simd.inl"

constexpr int BW = W >= 8 ? 4 : 2, BH = W / BW;
typedef float vh __attribute__((vector_size(4 * D)));

INLINE vf lane_x() {
  vf r;
  for (int i = 0; i < W; ++i) r[i] = i % BW;
  return r;
}
INLINE vf lane_y() {
  vf r;
  for (int i = 0; i < W; ++i) r[i] = i / BW;
  return r;
}

// log2 of positive doubles to 1e-9: exponent plus atanh series of the mantissa around 1.
INLINE vd log2_d(vd x) {
  const vl raw = (vl)x;
  vl exponent = (raw >> 52) - 1023;
  vd m = (vd)((raw & 0x000fffffffffffffLL) | 0x3ff0000000000000LL);
  const vl big = m > 1.4142135623730951;
  m = blend_d(big, m * 0.5, m);
  exponent -= big;
  const vd whole = (vd)(exponent + 0x4338000000000000LL) - 6755399441055744.0;
  const vd s = (m - 1.0) / (m + 1.0), s2 = s * s;
  const vd series = 1.0 + s2 * (1.0 / 3 + s2 * (1.0 / 5 + s2 * (1.0 / 7 + s2 * (1.0 / 9))));
  return whole + 2.8853900817779268 * s * series;
}

// Camera coordinates and the linear map M = J R of a batch; shared by both directions.
struct Projected {
  vd x, y, z, iz, slope_x, slope_y, gx, gy, M0[3], M1[3], p, q, r;
  vl free_x, free_y;  // where the slope was not clamped
};

INLINE Projected project_batch(const Camera& k, const vd c[3], const vd S[6]) {
  Projected o;
  o.x = k.R[0] * c[0] + k.R[1] * c[1] + k.R[2] * c[2] + k.t[0];
  o.y = k.R[3] * c[0] + k.R[4] * c[1] + k.R[5] * c[2] + k.t[1];
  o.z = k.R[6] * c[0] + k.R[7] * c[1] + k.R[8] * c[2] + k.t[2];
  o.iz = 1.0 / o.z;
  const double low_x = (-k.cx - margin * k.width) / k.fx, high_x = ((1 + margin) * k.width - k.cx) / k.fx;
  const double low_y = (-k.cy - margin * k.height) / k.fy, high_y = ((1 + margin) * k.height - k.cy) / k.fy;
  const vd sx = o.x * o.iz, sy = o.y * o.iz;
  o.slope_x = min_d(max_d(sx, splat_d(low_x)), splat_d(high_x));
  o.slope_y = min_d(max_d(sy, splat_d(low_y)), splat_d(high_y));
  o.free_x = o.slope_x == sx;
  o.free_y = o.slope_y == sy;
  o.gx = k.fx * o.iz;
  o.gy = k.fy * o.iz;
  for (int j = 0; j < 3; ++j) {
    o.M0[j] = o.gx * (k.R[j] - o.slope_x * k.R[6 + j]);
    o.M1[j] = o.gy * (k.R[3 + j] - o.slope_y * k.R[6 + j]);
  }
  const vd a0 = S[0] * o.M0[0] + S[1] * o.M0[1] + S[2] * o.M0[2];
  const vd a1 = S[1] * o.M0[0] + S[3] * o.M0[1] + S[4] * o.M0[2];
  const vd a2 = S[2] * o.M0[0] + S[4] * o.M0[1] + S[5] * o.M0[2];
  const vd b0 = S[0] * o.M1[0] + S[1] * o.M1[1] + S[2] * o.M1[2];
  const vd b1 = S[1] * o.M1[0] + S[3] * o.M1[1] + S[4] * o.M1[2];
  const vd b2 = S[2] * o.M1[0] + S[4] * o.M1[1] + S[5] * o.M1[2];
  o.p = a0 * o.M0[0] + a1 * o.M0[1] + a2 * o.M0[2] + blur_px2;
  o.q = a0 * o.M1[0] + a1 * o.M1[1] + a2 * o.M1[2];
  o.r = b0 * o.M1[0] + b1 * o.M1[1] + b2 * o.M1[2] + blur_px2;
  return o;
}

// Reads D Gaussians; the six unique entries of the symmetric part of the covariance.
INLINE void read_batch(const float* centers, const float* covariances, vd c[3], vd S[6]) {
  for (int j = 0; j < 3; ++j) c[j] = gather(centers + j, 3);
  S[0] = gather(covariances, 9);
  S[1] = 0.5 * (gather(covariances + 1, 9) + gather(covariances + 3, 9));
  S[2] = 0.5 * (gather(covariances + 2, 9) + gather(covariances + 6, 9));
  S[3] = gather(covariances + 4, 9);
  S[4] = 0.5 * (gather(covariances + 5, 9) + gather(covariances + 7, 9));
  S[5] = gather(covariances + 8, 9);
}

INLINE unsigned project_lanes(const Camera& k, const float* centers, const float* covariances, const float* opacities,
                              float out[13][D], vd* bad) {
  vd c[3], S[6];
  read_batch(centers, covariances, c, S);
  const vd o = gather(opacities, 1);
  // Zero for finite numbers, NaN otherwise.
  *bad += ((c[0] + c[1] + c[2]) + (S[0] + S[1] + S[2]) + (S[3] + S[4] + S[5]) + o) * 0.0;
  const Projected g = project_batch(k, c, S);
  const vd det = g.p * g.r - g.q * g.q, scale = half_log2_e / det;
  const vd mx = g.gx * g.x + k.cx, my = g.gy * g.y + k.cy;
  const vl bright = o >= 1.0 / 255;
  const vd log2_o = log2_d(blend_d(bright, o, splat_d(1.0)));
  const vd reach2 = (log2_o - (double)log2_alpha_min) * (1.0 / half_log2_e);
  const vd hx = sqrt_d(reach2 * g.p) * 1.000001 + 1e-4, hy = sqrt_d(reach2 * g.r) * 1.000001 + 1e-4;
  const vd a = sqrt_d(g.r * scale), b = -g.q * scale / a, cc = sqrt_d(half_log2_e / g.r);
  const vl seen = (g.z >= near_plane) & (det > 0.0) & (g.p > 0.0) & (g.r > 0.0) & bright & (mx + hx >= 0.5) &
                  (mx - hx <= k.width - 0.5) & (my + hy >= 0.5) & (my - hy <= k.height - 0.5);
  const vd columns[13] = {mx, my, a, b, cc, log2_o, hx, hy, g.z, g.q / g.p, g.q / g.r};
  for (int j = 0; j < 11; ++j) {
    const vh x = __builtin_convertvector(columns[j], vh);
    memcpy(out[j], &x, sizeof x);
  }
  return bits_d(seen);
}

uint32_t project(const Camera& k, const float* centers, const float* covariances, const float* opacities,
                 uint32_t points, Record* out, int* bad) {
  uint32_t count = 0;
  vd not_finite = {};
  for (uint32_t i = 0; i < points; i += D) {
    float lanes[13][D], c[3 * D], S[9 * D], o[D];
    unsigned seen;
    if (i + D <= points) {
      seen = project_lanes(k, centers + 3 * i, covariances + 9 * i, opacities + i, lanes, &not_finite);
    } else {
      const size_t n = points - i;
      memset(c, 0, sizeof c), memset(S, 0, sizeof S), memset(o, 0, sizeof o);
      memcpy(c, centers + 3 * i, 12 * n), memcpy(S, covariances + 9 * i, 36 * n), memcpy(o, opacities + i, 4 * n);
      seen = project_lanes(k, c, S, o, lanes, &not_finite);
    }
    for (; seen; seen &= seen - 1) {
      const int l = __builtin_ctz(seen);
      Record& r = out[count++];
      r.mean_x = lanes[0][l], r.mean_y = lanes[1][l];
      r.a = lanes[2][l], r.b = lanes[3][l], r.c = lanes[4][l], r.log2_opacity = lanes[5][l];
      r.half_x = lanes[6][l], r.half_y = lanes[7][l], r.z = lanes[8][l];
      r.slope_yx = lanes[9][l], r.slope_xy = lanes[10][l];
      r.id = i + l;
    }
  }
  for (int l = 0; l < D; ++l) *bad |= not_finite[l] != 0.0;
  return count;
}

INLINE int clip(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

size_t pairs(const Region& region, uint32_t* counts, Scratch* blocks, Scratch* records) {
  const vf ox = lane_x() * float(BW), oy = lane_y() * float(BH);
  vi offset;
  for (int i = 0; i < W; ++i) offset[i] = i / BW * region.blocks_x + i % BW;
  const int w = region.x1 - region.x0, h = region.y1 - region.y0;
  size_t n = 0;
  for (uint32_t i = 0; i < region.count; ++i) {
    const Record& r = region.records[i];
    const float mx = r.mean_x - region.x0 - 0.5f, my = r.mean_y - region.y0 - 0.5f;
    const int bx0 = clip(int(mx - r.half_x), 0, w - 1) / BW, bx1 = clip(int(mx + r.half_x), 0, w - 1) / BW;
    const int by0 = clip(int(my - r.half_y), 0, h - 1) / BH, by1 = clip(int(my + r.half_y), 0, h - 1) / BH;
    const size_t need = 4 * (n + size_t(bx1 - bx0 + BW) * (by1 - by0 + BH) + W);
    if (need > blocks->size) {
      blocks->size = records->size = 2 * need;
      blocks->data = realloc(blocks->data, 2 * need);
      records->data = realloc(records->data, 2 * need);
    }
    const float limit = r.log2_opacity - log2_alpha_min + 1e-4f;
    for (int by = by0; by <= by1; by += BH)
      for (int bx = bx0; bx <= bx1; bx += BW) {
        // The least of (a dx + b dy)^2 + (c dy)^2 over a block lies on one of the two edges that face the mean.
        const vf lx = ox + (bx * BW - mx), ly = oy + (by * BH - my), hx = lx + (BW - 1.0f), hy = ly + (BH - 1.0f);
        const vf nx = min(max(vf{}, lx), hx), ny = min(max(vf{}, ly), hy);
        const vf ey = min(max(nx * r.slope_yx, ly), hy), ex = min(max(ny * r.slope_xy, lx), hx);
        const vf u1 = r.a * nx + r.b * ey, v1 = r.c * ey, u2 = r.a * ex + r.b * ny, v2 = r.c * ny;
        const vf least = min(u1 * u1 + v1 * v1, u2 * u2 + v2 * v2);
        const mask hit = both(ge(splat(limit), least), both(ge(splat(w - 1 - mx), lx), ge(splat(h - 1 - my), ly)));
        append((uint32_t*)blocks->data + n, hit, offset + int(by * region.blocks_x + bx));
        const vi self = int(i) - vi{};
        memcpy((uint32_t*)records->data + n, &self, sizeof self);
        n += __builtin_popcount(bits(hit));
      }
  }
  const uint32_t* at = (const uint32_t*)blocks->data;
  for (size_t i = 0; i < n; ++i) ++counts[at[i]];
  return n;
}

// Pixels of a block in and out of row-major planes; the part outside of the image is zero or dropped.
INLINE vf read_block(const float* plane, int width, int x, int y, int nx, int ny) {
  alignas(64) float t[W];
  if (nx >= BW && ny >= BH) {
    for (int j = 0; j < BH; ++j) memcpy(t + j * BW, plane + size_t(y + j) * width + x, 4 * BW);
  } else {
    for (int i = 0; i < W; ++i)
      t[i] = i % BW < nx && i / BW < ny ? plane[size_t(y + i / BW) * width + x + i % BW] : 0.0f;
  }
  return load(t);
}
INLINE void write_block(float* plane, int width, int x, int y, int nx, int ny, vf v) {
  alignas(64) float t[W];
  store(t, v);
  if (nx >= BW && ny >= BH) {
    for (int j = 0; j < BH; ++j) memcpy(plane + size_t(y + j) * width + x, t + j * BW, 4 * BW);
  } else {
    for (int i = 0; i < W; ++i)
      if (i % BW < nx && i / BW < ny) plane[size_t(y + i / BW) * width + x + i % BW] = t[i];
  }
}

INLINE vf exponent(const Record& r, vf px, vf py) {
  const vf dx = px - r.mean_x, dy = py - r.mean_y;
  const vf u = r.a * dx + r.b * dy, v = r.c * dy;
  return (r.log2_opacity - u * u) - v * v;
}

// One Gaussian onto one block. A negative transmittance marks a finished pixel.
INLINE void blend_over(const Record& r, vf px, vf py, vf& T, vf c[4]) {
  const vf e = exponent(r, px, py);
  const vf alpha = keep_min(ge(e, splat(log2_alpha_min)), exp2_8(e), splat(alpha_max));
  const vf after = T - T * alpha;
  const mask alive = gt(after, splat(transmittance_min));
  const vf weight = keep(alive, T * alpha);
  T = blend(alive, after, (vf)((vi)T | int(0x80000000)));
  for (int j = 0; j < 4; ++j) c[j] += weight * r.feature[j];
}

void raster(const Region& region, const Planes& out, int first_pass) {
  const vf lx = lane_x() + 0.5f, ly = lane_y() + 0.5f;
  for (uint32_t k = 0; k < region.blocks_x * region.blocks_y; ++k) {
    const int x = region.x0 + int(k % region.blocks_x) * BW, y = region.y0 + int(k / region.blocks_x) * BH;
    const vf px = lx + float(x), py = ly + float(y);
    const uint32_t* at = region.list + region.start[k];
    const uint32_t n = first_pass ? region.start[k + 1] - region.start[k] : region.used[k];
    vf T = splat(1.0f), c[4] = {};
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (int j = 0; j < 4; ++j) blend_over(region.records[at[i + j]], px, py, T, c);
      if (all_negative(T)) break;
    }
    if (i + 4 <= n) {
      i += 4;
    } else {
      for (; i < n; ++i) blend_over(region.records[at[i]], px, py, T, c);
    }
    if (first_pass) region.used[k] = i;
    const int nx = region.x1 - x, ny = region.y1 - y;
    for (int j = 0; j < 4; ++j)
      if (out.channel[j]) write_block(out.channel[j], out.width, x, y, nx, ny, c[j]);
    if (first_pass) write_block(out.alpha, out.width, x, y, nx, ny, 1.0f - max(T, -T));
  }
}

// Front to back with one number per pixel: S = sum over what is still to come of weight (feature . grad), minus
// T_end dL/dalpha_image. Then dL/dalpha_i = T_i (feature_i . grad) - S_i / (1 - alpha_i).
template <int C>
INLINE void raster_backward_channels(const Region& region, const ConstPlanes& image, const ConstPlanes& grad,
                                     Moments* out) {
  const vf lx = lane_x() + 0.5f, ly = lane_y() + 0.5f;
  for (uint32_t k = 0; k < region.blocks_x * region.blocks_y; ++k) {
    const uint32_t n = region.used[k];
    if (!n) continue;
    const int x = region.x0 + int(k % region.blocks_x) * BW, y = region.y0 + int(k / region.blocks_x) * BH;
    const int nx = region.x1 - x, ny = region.y1 - y;
    const vf px = lx + float(x), py = ly + float(y);
    vf g[C], S = {}, T = splat(1.0f);
    alignas(64) float pixel_grad[C][W];
    for (int j = 0; j < C; ++j) {
      g[j] = grad.channel[j] ? read_block(grad.channel[j], grad.width, x, y, nx, ny) : vf{};
      if (grad.channel[j]) S += g[j] * read_block(image.channel[j], image.width, x, y, nx, ny);
      store(pixel_grad[j], g[j]);
    }
    if (grad.alpha)
      S -= (1.0f - read_block(image.alpha, image.width, x, y, nx, ny)) *
           read_block(grad.alpha, grad.width, x, y, nx, ny);
    const uint32_t* at = region.list + region.start[k];
    for (uint32_t i = 0; i < n; i += W) {
      const int m = n - i < W ? n - i : W;
      vf us[W], ws[W];
      float dx[W], dy[W];
      for (int j = 0; j < m; ++j) {
        const Record& r = region.records[at[i + j]];
        dx[j] = r.mean_x, dy[j] = r.mean_y;
        const vf e = exponent(r, px, py), raw = exp2_8(e);
        const vf alpha = keep_min(ge(e, splat(log2_alpha_min)), raw, splat(alpha_max));
        const vf after = T - T * alpha;
        const mask alive = gt(after, splat(transmittance_min));
        const vf weight = keep(alive, T * alpha);
        vf dot = g[0] * r.feature[0];
        for (int c = 1; c < C; ++c) dot += g[c] * r.feature[c];
        S -= weight * dot;
        const vf to_alpha = T * dot - S * reciprocal(1.0f - alpha);
        ws[j] = weight;
        us[j] = keep(both(alive, ge(splat(alpha_max), raw)), alpha * to_alpha);
        T = blend(alive, after, (vf)((vi)T | int(0x80000000)));
      }
      for (int j = m; j < W; ++j) us[j] = ws[j] = vf{}, dx[j] = dy[j] = 0.0f;
      // From lanes that are pixels to lanes that are Gaussians: the sums over pixels become plain additions.
      transpose(us);
      vf u00 = {}, u10 = {}, u01 = {}, u20 = {}, u11 = {}, u02 = {};
      for (int row = 0; row < BH; ++row) {
        vf s0 = us[row * BW], s1 = {}, s2 = {};
        for (int col = 1; col < BW; ++col) {
          const vf u = us[row * BW + col];
          s0 += u, s1 += float(col) * u, s2 += float(col * col) * u;
        }
        u00 += s0, u10 += s1, u20 += s2;
        if (row) u01 += float(row) * s0, u11 += float(row) * s1, u02 += float(row * row) * s0;
      }
      const vf ax = (x + 0.5f) - load(dx), ay = (y + 0.5f) - load(dy);
      vf rows[16] = {};
      rows[0] = u00;
      rows[1] = u10 + ax * u00;
      rows[2] = u01 + ay * u00;
      rows[3] = u20 + ax * (2.0f * u10 + ax * u00);
      rows[4] = u11 + ax * u01 + ay * rows[1];
      rows[5] = u02 + ay * (2.0f * u01 + ay * u00);
      transpose(ws);
      for (int p = 0; p < W; ++p)
        for (int c = 0; c < C; ++c) rows[6 + c] += ws[p] * pixel_grad[c][p];
      for (int part = 0; part * W < 6 + C; ++part) {
        transpose(rows + part * W);
        for (int j = 0; j < m; ++j) {
          float* to = (float*)(out + at[i + j]) + part * W;
          store(to, load(to) + rows[part * W + j]);
        }
      }
    }
  }
}

void raster_backward(const Region& region, const ConstPlanes& image, const ConstPlanes& grad, Moments* out) {
  if (grad.channel[3])
    raster_backward_channels<4>(region, image, grad, out);
  else
    raster_backward_channels<3>(region, image, grad, out);
}

struct Gradients {
  vd center[3], covariance[6], opacity, R[9], t[3], fx, fy, cx, cy;
};

INLINE Gradients project_backward_lanes(const Camera& k, const float* centers, const float* covariances,
                                        const float* opacities, const Moments* moments, int depth_slot) {
  vd c[3], S[6], m[6];
  read_batch(centers, covariances, c, S);
  const vd o = gather(opacities, 1);
  for (int j = 0; j < 6; ++j) m[j] = gather(&moments->u[j], 16);
  const vd grad_z = depth_slot >= 0 ? gather(&moments->feature[depth_slot], 16) : vd{};
  const Projected g = project_batch(k, c, S);
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
  const vd w0[3] = {2.0 * (n0[0] * S[0] + n0[1] * S[1] + n0[2] * S[2]), 2.0 * (n0[0] * S[1] + n0[1] * S[3] + n0[2] * S[4]),
                    2.0 * (n0[0] * S[2] + n0[1] * S[4] + n0[2] * S[5])};
  const vd w1[3] = {2.0 * (n1[0] * S[0] + n1[1] * S[1] + n1[2] * S[2]), 2.0 * (n1[0] * S[1] + n1[1] * S[3] + n1[2] * S[4]),
                    2.0 * (n1[0] * S[2] + n1[1] * S[4] + n1[2] * S[5])};
  vd to_gx = {}, to_gy = {}, to_sx = {}, to_sy = {};
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
  const vd free_sx = blend_d(g.free_x, to_sx, vd{}), free_sy = blend_d(g.free_y, to_sy, vd{});
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

void project_backward(const Camera& k, const float* centers, const float* covariances, const float* opacities,
                      const Moments* moments, const uint8_t* seen, int depth_slot, uint32_t points,
                      float* grad_centers, float* grad_covariances, float* grad_opacities, double* grad_camera) {
  vd sums[16] = {};
  for (uint32_t i = 0; i < points; i += D) {
    const int n = points - i < D ? points - i : D;
    Gradients r;
    vl on;
    for (int l = 0; l < D; ++l) on[l] = l < n && seen[i + l] ? -1 : 0;
    if (n == D) {
      r = project_backward_lanes(k, centers + 3 * i, covariances + 9 * i, opacities + i, moments + i, depth_slot);
    } else {
      float c[3 * D] = {}, S[9 * D] = {}, o[D] = {};
      Moments m[D];
      memset(m, 0, sizeof m);
      memcpy(c, centers + 3 * i, 12 * n), memcpy(S, covariances + 9 * i, 36 * n), memcpy(o, opacities + i, 4 * n);
      memcpy(m, moments + i, sizeof(Moments) * n);
      r = project_backward_lanes(k, c, S, o, m, depth_slot);
    }
    float lanes[10][D];
    const vd* columns[10] = {&r.center[0],     &r.center[1],     &r.center[2],     &r.covariance[0], &r.covariance[1],
                             &r.covariance[2], &r.covariance[3], &r.covariance[4], &r.covariance[5], &r.opacity};
    for (int j = 0; j < 10; ++j) {
      const vh x = __builtin_convertvector(blend_d(on, *columns[j], vd{}), vh);
      memcpy(lanes[j], &x, sizeof x);
    }
    for (int l = 0; l < n; ++l) {
      float* c = grad_centers + 3 * (i + l);
      float* S = grad_covariances + 9 * (i + l);
      c[0] = lanes[0][l], c[1] = lanes[1][l], c[2] = lanes[2][l];
      S[0] = lanes[3][l], S[1] = S[3] = lanes[4][l], S[2] = S[6] = lanes[5][l];
      S[4] = lanes[6][l], S[5] = S[7] = lanes[7][l], S[8] = lanes[8][l];
      grad_opacities[i + l] = lanes[9][l];
    }
    if (grad_camera) {
      for (int j = 0; j < 9; ++j) sums[j] += blend_d(on, r.R[j], vd{});
      for (int j = 0; j < 3; ++j) sums[9 + j] += blend_d(on, r.t[j], vd{});
      sums[12] += blend_d(on, r.fx, vd{}), sums[13] += blend_d(on, r.fy, vd{});
      sums[14] += blend_d(on, r.cx, vd{}), sums[15] += blend_d(on, r.cy, vd{});
    }
  }
  if (grad_camera)
    for (int j = 0; j < 16; ++j) {
      double s = 0;
      for (int l = 0; l < D; ++l) s += sums[j][l];
      grad_camera[j] = s;
    }
}

}  // namespace

extern const Kernel KINEMA_KERNEL;
const Kernel KINEMA_KERNEL = {W, BW, BH, project, pairs, raster, raster_backward, project_backward};

}  // namespace kinema
