// Vectors of 16 floats by AVX-512: part of simd.inl.

typedef __mmask16 mask;
INLINE mask ge(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ); }
INLINE mask gt(vf a, vf b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ); }
INLINE mask both(mask a, mask b) { return a & b; }
INLINE vf keep(mask m, vf a) { return (vf)_mm512_maskz_mov_ps(m, (__m512)a); }
INLINE vf blend(mask m, vf a, vf b) { return (vf)_mm512_mask_mov_ps((__m512)b, m, (__m512)a); }
INLINE unsigned bits(mask m) { return m; }
INLINE vf min(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
INLINE vf max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf keep_min(mask m, vf a, vf b) { return (vf)_mm512_maskz_min_ps(m, (__m512)a, (__m512)b); }
INLINE vf sqrt(vf a) { return (vf)_mm512_sqrt_ps((__m512)a); }
INLINE vf reciprocal(vf x) {
  vf r = (vf)_mm512_rcp14_ps((__m512)x);
  return r * (2.0f - x * r);
}
INLINE vd_half min_half(vd_half a, vd_half b) { return (vd_half)_mm512_min_pd((__m512d)a, (__m512d)b); }
INLINE vd_half max_half(vd_half a, vd_half b) { return (vd_half)_mm512_max_pd((__m512d)a, (__m512d)b); }
INLINE mask from_bits(unsigned set) { return mask(set); }
INLINE vi gather_i(const uint32_t* p, vi at) { return (vi)_mm512_i32gather_epi32((__m512i)at, p, 4); }
// 1 / sqrt(x) for positive x.
INLINE vf reciprocal_sqrt(vf x) {
  const vf r = (vf)_mm512_rsqrt14_ps((__m512)x);
  return r * (1.5f - 0.5f * x * r * r);
}
// sqrt(x) of positive x to 4e-4 of it.
INLINE vf rough_root(vf x) { return x * (vf)_mm512_rsqrt14_ps((__m512)x); }
// Shifts by more than 31, or by less than 0, give 0.
INLINE vi shift_right(vi x, vi by) { return (vi)_mm512_srlv_epi32((__m512i)x, (__m512i)by); }
INLINE vi shift_left(vi x, vi by) { return (vi)_mm512_sllv_epi32((__m512i)x, (__m512i)by); }
INLINE mask any_bit(vi x, vi y) { return _mm512_test_epi32_mask((__m512i)x, (__m512i)y); }
INLINE vi set_bit(vi x, mask m, int bit) {
  return (vi)_mm512_mask_or_epi32((__m512i)x, m, (__m512i)x, _mm512_set1_epi32(bit));
}
INLINE void store_past_cache(float* p, vf x) { _mm512_stream_ps(p, (__m512)x); }
INLINE void append(uint32_t* p, mask m, vi x) { _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(m, (__m512i)x)); }
INLINE vf repeat4(v4 x) { return (vf)_mm512_broadcast_f32x4((__m128)x); }
INLINE vf read_rows(const float* p, size_t stride) {
  __m512 r = _mm512_castps128_ps512(_mm_loadu_ps(p));
  r = _mm512_insertf32x4(r, _mm_loadu_ps(p + stride), 1);
  r = _mm512_insertf32x4(r, _mm_loadu_ps(p + 2 * stride), 2);
  return (vf)_mm512_insertf32x4(r, _mm_loadu_ps(p + 3 * stride), 3);
}
INLINE void write_rows(float* p, size_t stride, vf v) {
  _mm_storeu_ps(p, _mm512_castps512_ps128((__m512)v));
  _mm_storeu_ps(p + stride, _mm512_extractf32x4_ps((__m512)v, 1));
  _mm_storeu_ps(p + 2 * stride, _mm512_extractf32x4_ps((__m512)v, 2));
  _mm_storeu_ps(p + 3 * stride, _mm512_extractf32x4_ps((__m512)v, 3));
}
// Within every group of four lanes: element j of r[i] becomes element i of r[j].
INLINE void transpose4(vf* r) {
  const __m512d a = (__m512d)_mm512_unpacklo_ps((__m512)r[0], (__m512)r[1]);
  const __m512d b = (__m512d)_mm512_unpackhi_ps((__m512)r[0], (__m512)r[1]);
  const __m512d c = (__m512d)_mm512_unpacklo_ps((__m512)r[2], (__m512)r[3]);
  const __m512d d = (__m512d)_mm512_unpackhi_ps((__m512)r[2], (__m512)r[3]);
  r[0] = (vf)_mm512_unpacklo_pd(a, c);
  r[1] = (vf)_mm512_unpackhi_pd(a, c);
  r[2] = (vf)_mm512_unpacklo_pd(b, d);
  r[3] = (vf)_mm512_unpackhi_pd(b, d);
}
// For four vectors: group i of the result is r[i] summed over its groups.
INLINE __m512 sum_groups(const vf* r) {
  const __m512 a = (__m512)r[0], b = (__m512)r[1], c = (__m512)r[2], d = (__m512)r[3];
  const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
  return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}
// The same for one vector only, in every group.
INLINE __m512 sum_groups_1(vf r) {
  const __m512 s = _mm512_add_ps((__m512)r, _mm512_shuffle_f32x4((__m512)r, (__m512)r, 0x4e));
  return _mm512_add_ps(s, _mm512_shuffle_f32x4(s, s, 0xb1));
}
// Adds q[k], summed over the groups of four lanes, element e, to number k of to[e], for k < N, 8 < N <= 12; what is
// added to the numbers from N to 15 is undefined.
template <int N>
INLINE void scatter4(const vf* q, float* const to[4]) {
  const __m512i turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512 a = _mm512_permutexvar_ps(turn, sum_groups(q)), b = _mm512_permutexvar_ps(turn, sum_groups(q + 4)),
               c = _mm512_permutexvar_ps(turn, N == 9 ? sum_groups_1(q[8]) : sum_groups(q + 8));
  const __m512 even = _mm512_shuffle_f32x4(a, b, 0x88), odd = _mm512_shuffle_f32x4(a, b, 0xdd);
  const __m512 rows[4] = {_mm512_shuffle_f32x4(even, c, 0x08), _mm512_shuffle_f32x4(odd, c, 0x18),
                          _mm512_shuffle_f32x4(even, c, 0x2d), _mm512_shuffle_f32x4(odd, c, 0x3d)};
  for (int e = 0; e < 4; ++e) store(to[e], load(to[e]) + (vf)rows[e]);
}
INLINE void transpose(vf* r) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = (__m512)r[i];
  for (int i = 0; i < 8; ++i) {
    b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512d l0 = (__m512d)b[4 * i], h0 = (__m512d)b[4 * i + 1], l1 = (__m512d)b[4 * i + 2],
                  h1 = (__m512d)b[4 * i + 3];
    a[4 * i] = (__m512)_mm512_unpacklo_pd(l0, l1);
    a[4 * i + 1] = (__m512)_mm512_unpackhi_pd(l0, l1);
    a[4 * i + 2] = (__m512)_mm512_unpacklo_pd(h0, h1);
    a[4 * i + 3] = (__m512)_mm512_unpackhi_pd(h0, h1);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512 p = _mm512_shuffle_f32x4(a[i], a[4 + i], 0x88), q = _mm512_shuffle_f32x4(a[i], a[4 + i], 0xdd);
    const __m512 s = _mm512_shuffle_f32x4(a[8 + i], a[12 + i], 0x88);
    const __m512 t = _mm512_shuffle_f32x4(a[8 + i], a[12 + i], 0xdd);
    r[i] = (vf)_mm512_shuffle_f32x4(p, s, 0x88);
    r[8 + i] = (vf)_mm512_shuffle_f32x4(p, s, 0xdd);
    r[4 + i] = (vf)_mm512_shuffle_f32x4(q, t, 0x88);
    r[12 + i] = (vf)_mm512_shuffle_f32x4(q, t, 0xdd);
  }
}
