// Vectors of KINEMA_WIDTH floats (and half as many doubles) on GCC's and clang's vector extensions, with intrinsics
// where the extensions have no word for it. Included inside an anonymous namespace, once per instruction set.

constexpr int W = KINEMA_WIDTH, D = W / 2;
typedef float vf __attribute__((vector_size(4 * W)));
typedef int vi __attribute__((vector_size(4 * W)));
typedef double vd __attribute__((vector_size(8 * D)));
typedef long long vl __attribute__((vector_size(8 * D)));
typedef float vf_any __attribute__((vector_size(4 * W), aligned(4)));  // unaligned access
#define INLINE static inline __attribute__((always_inline))

INLINE vf splat(float x) { return x - vf{}; }
INLINE vd splat_d(double x) { return x - vd{}; }
INLINE vf load(const float* p) { return *(const vf_any*)p; }
INLINE void store(float* p, vf x) { *(vf_any*)p = x; }
INLINE vd blend_d(vl m, vd a, vd b) { return (vd)(((vl)a & m) | ((vl)b & ~m)); }

#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
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
INLINE bool all_negative(vf a) { return _mm512_movepi32_mask((__m512i)a) == 0xffff; }
INLINE vf reciprocal(vf x) {
  vf r = (vf)_mm512_rcp14_ps((__m512)x);
  return r * (2.0f - x * r);
}
INLINE vd min_d(vd a, vd b) { return (vd)_mm512_min_pd((__m512d)a, (__m512d)b); }
INLINE vd max_d(vd a, vd b) { return (vd)_mm512_max_pd((__m512d)a, (__m512d)b); }
INLINE vd sqrt_d(vd a) { return (vd)_mm512_sqrt_pd((__m512d)a); }
INLINE vd gather(const float* p, int stride) {
  const __m256i at = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(stride));
  return (vd)_mm512_cvtps_pd(_mm256_i32gather_ps(p, at, 4));
}
INLINE unsigned bits_d(vl m) { return _mm512_movepi64_mask((__m512i)m); }
// Appends the lanes of `x` whose mask is set.
INLINE void append(uint32_t* p, mask m, vi x) { _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(m, (__m512i)x)); }
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
    const __m512 s = _mm512_shuffle_f32x4(a[8 + i], a[12 + i], 0x88), t = _mm512_shuffle_f32x4(a[8 + i], a[12 + i], 0xdd);
    r[i] = (vf)_mm512_shuffle_f32x4(p, s, 0x88);
    r[8 + i] = (vf)_mm512_shuffle_f32x4(p, s, 0xdd);
    r[4 + i] = (vf)_mm512_shuffle_f32x4(q, t, 0x88);
    r[12 + i] = (vf)_mm512_shuffle_f32x4(q, t, 0xdd);
  }
}
#else
typedef vi mask;
INLINE mask ge(vf a, vf b) { return a >= b; }
INLINE mask gt(vf a, vf b) { return a > b; }
INLINE mask both(mask a, mask b) { return a & b; }
INLINE vf keep(mask m, vf a) { return (vf)((vi)a & m); }
INLINE vf blend(mask m, vf a, vf b) { return (vf)(((vi)a & m) | ((vi)b & ~m)); }
INLINE vd sqrt_d(vd a) {
  for (int i = 0; i < D; ++i) a[i] = __builtin_sqrt(a[i]);
  return a;
}
INLINE vd gather(const float* p, int stride) {
  vd r;
  for (int i = 0; i < D; ++i) r[i] = p[i * stride];
  return r;
}
INLINE unsigned bits_d(vl m) {
  unsigned r = 0;
  for (int i = 0; i < D; ++i) r |= unsigned(m[i] & 1) << i;
  return r;
}
#if KINEMA_WIDTH == 8 && defined(__AVX2__)
INLINE unsigned bits(mask m) { return _mm256_movemask_ps((__m256)m); }
INLINE vf min(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE vf max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE bool all_negative(vf a) { return _mm256_movemask_ps((__m256)a) == 0xff; }
INLINE vf reciprocal(vf x) {
  vf r = (vf)_mm256_rcp_ps((__m256)x);
  return r * (2.0f - x * r);
}
INLINE vd min_d(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE vd max_d(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)a, (__m256d)b); }
INLINE void transpose(vf* r) {
  __m256 a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_ps((__m256)r[2 * i], (__m256)r[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_ps((__m256)r[2 * i], (__m256)r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    b[4 * i] = _mm256_shuffle_ps(a[4 * i], a[4 * i + 2], 0x44);
    b[4 * i + 1] = _mm256_shuffle_ps(a[4 * i], a[4 * i + 2], 0xee);
    b[4 * i + 2] = _mm256_shuffle_ps(a[4 * i + 1], a[4 * i + 3], 0x44);
    b[4 * i + 3] = _mm256_shuffle_ps(a[4 * i + 1], a[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = (vf)_mm256_permute2f128_ps(b[i], b[4 + i], 0x20);
    r[4 + i] = (vf)_mm256_permute2f128_ps(b[i], b[4 + i], 0x31);
  }
}
#elif KINEMA_WIDTH == 4 && defined(__SSE4_1__)
INLINE unsigned bits(mask m) { return _mm_movemask_ps((__m128)m); }
INLINE vf min(vf a, vf b) { return (vf)_mm_min_ps((__m128)a, (__m128)b); }
INLINE vf max(vf a, vf b) { return (vf)_mm_max_ps((__m128)a, (__m128)b); }
INLINE bool all_negative(vf a) { return _mm_movemask_ps((__m128)a) == 0xf; }
INLINE vf reciprocal(vf x) {
  vf r = (vf)_mm_rcp_ps((__m128)x);
  return r * (2.0f - x * r);
}
INLINE vd min_d(vd a, vd b) { return (vd)_mm_min_pd((__m128d)a, (__m128d)b); }
INLINE vd max_d(vd a, vd b) { return (vd)_mm_max_pd((__m128d)a, (__m128d)b); }
INLINE void transpose(vf* r) {
  const __m128 a = _mm_unpacklo_ps((__m128)r[0], (__m128)r[1]), b = _mm_unpackhi_ps((__m128)r[0], (__m128)r[1]);
  const __m128 c = _mm_unpacklo_ps((__m128)r[2], (__m128)r[3]), d = _mm_unpackhi_ps((__m128)r[2], (__m128)r[3]);
  r[0] = (vf)_mm_movelh_ps(a, c);
  r[1] = (vf)_mm_movehl_ps(c, a);
  r[2] = (vf)_mm_movelh_ps(b, d);
  r[3] = (vf)_mm_movehl_ps(d, b);
}
#else  // any other machine
INLINE unsigned bits(mask m) {
  unsigned r = 0;
  for (int i = 0; i < W; ++i) r |= unsigned(m[i] & 1) << i;
  return r;
}
INLINE vf min(vf a, vf b) { return blend(a < b, a, b); }
INLINE vf max(vf a, vf b) { return blend(a > b, a, b); }
INLINE bool all_negative(vf a) {
  int r = -1;
  for (int i = 0; i < W; ++i) r &= ((vi)a)[i];
  return r < 0;
}
INLINE vf reciprocal(vf x) { return 1.0f / x; }
INLINE vd min_d(vd a, vd b) { return blend_d(a < b, a, b); }
INLINE vd max_d(vd a, vd b) { return blend_d(a > b, a, b); }
INLINE void transpose(vf* r) {
  for (int i = 0; i < W; ++i)
    for (int j = 0; j < i; ++j) {
      const float t = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = t;
    }
}
#endif
INLINE vf keep_min(mask m, vf a, vf b) { return keep(m, min(a, b)); }
INLINE void append(uint32_t* p, mask m, vi x) {
  const unsigned set = bits(m);
  for (int i = 0; i < W; ++i) {
    *p = x[i];
    p += set >> i & 1;
  }
}
#endif

// 2^x for -8 <= x <= 0.1 to 1e-6 relative: a polynomial for 2^(x/8), squared three times. Garbage outside.
INLINE vf exp2_8(vf x) {
  vf p = splat(EXP2_5);
  p = p * x + EXP2_4;
  p = p * x + EXP2_3;
  p = p * x + EXP2_2;
  p = p * x + EXP2_1;
  p = p * x + EXP2_0;
  p *= p;
  p *= p;
  return p * p;
}
