// Vectors of KINEMA_WIDTH floats (and pairs of half as many doubles): GCC's and clang's vector extensions, with
// intrinsics for what they cannot express. Included inside an anonymous namespace, once per instruction set.

constexpr int W = KINEMA_WIDTH, D = W / 2;
typedef float vf __attribute__((vector_size(4 * W)));
typedef float v4 __attribute__((vector_size(16)));
typedef int vi __attribute__((vector_size(4 * W)));
typedef double vd_half __attribute__((vector_size(8 * D)));
typedef long long vl_half __attribute__((vector_size(8 * D)));
typedef float vf_any __attribute__((vector_size(4 * W), aligned(4)));  // unaligned access
#define INLINE static inline __attribute__((always_inline))

INLINE vf splat(float x) { return x - vf{}; }
typedef unsigned vu __attribute__((vector_size(4 * W)));
template <int by>
INLINE vi shift_right_by(vi x) {
  return (vi)((vu)x >> by);
}
INLINE vi splat_i(int x) { return x - vi{}; }
INLINE vf load(const float* p) { return *(const vf_any*)p; }
INLINE void store(float* p, vf x) { *(vf_any*)p = x; }
typedef int vi_any __attribute__((vector_size(4 * W), aligned(4)));
INLINE vi load_i(const uint32_t* p) { return *(const vi_any*)p; }
INLINE void store_i(uint32_t* p, vi x) { *(vi_any*)p = x; }
INLINE vd_half blend_half(vl_half m, vd_half a, vd_half b) { return (vd_half)(((vl_half)a & m) | ((vl_half)b & ~m)); }

#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
#include "simd_avx512.inl"
#else
typedef vi mask;
INLINE mask ge(vf a, vf b) { return a >= b; }
INLINE mask gt(vf a, vf b) { return a > b; }
INLINE mask both(mask a, mask b) { return a & b; }
INLINE vf keep(mask m, vf a) { return (vf)((vi)a & m); }
INLINE vf blend(mask m, vf a, vf b) { return (vf)(((vi)a & m) | ((vi)b & ~m)); }
INLINE mask any_bit(vi x, vi y) { return (x & y) != 0; }
INLINE vi gather_i(const uint32_t* p, vi at) {
  vi r;
  for (int i = 0; i < W; ++i) r[i] = p[at[i]];
  return r;
}
INLINE mask from_bits(unsigned set) {
  vi r;
  for (int i = 0; i < W; ++i) r[i] = 1 << i;
  return (r & int(set)) != 0;
}
#if KINEMA_WIDTH == 8 && defined(__AVX2__)
INLINE vi shift_right(vi x, vi by) { return (vi)_mm256_srlv_epi32((__m256i)x, (__m256i)by); }
INLINE vi shift_left(vi x, vi by) { return (vi)_mm256_sllv_epi32((__m256i)x, (__m256i)by); }
INLINE unsigned bits(mask m) { return _mm256_movemask_ps((__m256)m); }
INLINE vf min(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
INLINE vf max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf sqrt(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
INLINE vf reciprocal(vf x) {
  vf r = (vf)_mm256_rcp_ps((__m256)x);
  return r * (2.0f - x * r);
}
INLINE vf reciprocal_sqrt(vf x) {
  const vf r = (vf)_mm256_rsqrt_ps((__m256)x);
  return r * (1.5f - 0.5f * x * (r * r));
}
INLINE vf rough_root(vf x) { return x * (vf)_mm256_rsqrt_ps((__m256)x); }
INLINE vd_half min_half(vd_half a, vd_half b) { return (vd_half)_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE vd_half max_half(vd_half a, vd_half b) { return (vd_half)_mm256_max_pd((__m256d)a, (__m256d)b); }
INLINE vf repeat4(v4 x) { return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)x), (__m128)x, 1); }
INLINE vf read_rows(const float* p, size_t stride) {
  return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + stride), 1);
}
INLINE void store_past_cache(float* p, vf x) { _mm256_stream_ps(p, (__m256)x); }
INLINE void write_rows(float* p, size_t stride, vf v) {
  _mm_storeu_ps(p, _mm256_castps256_ps128((__m256)v));
  _mm_storeu_ps(p + stride, _mm256_extractf128_ps((__m256)v, 1));
}
INLINE void transpose4(vf* r) {
  const __m256d a = (__m256d)_mm256_unpacklo_ps((__m256)r[0], (__m256)r[1]);
  const __m256d b = (__m256d)_mm256_unpackhi_ps((__m256)r[0], (__m256)r[1]);
  const __m256d c = (__m256d)_mm256_unpacklo_ps((__m256)r[2], (__m256)r[3]);
  const __m256d d = (__m256d)_mm256_unpackhi_ps((__m256)r[2], (__m256)r[3]);
  r[0] = (vf)_mm256_unpacklo_pd(a, c);
  r[1] = (vf)_mm256_unpackhi_pd(a, c);
  r[2] = (vf)_mm256_unpacklo_pd(b, d);
  r[3] = (vf)_mm256_unpackhi_pd(b, d);
}
// Reads eight numbers at each of W addresses (aligned to 16 bytes): vector k holds the k-th number of all.
INLINE void read_eight(const float* const from[W], vf r[8]) {
  for (int k = 0; k < 4; ++k)
    for (int half = 0; half < 2; ++half) {
      const __m128 first = _mm_load_ps(from[k] + 4 * half), second = _mm_load_ps(from[4 + k] + 4 * half);
      r[4 * half + k] = (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1);
    }
  transpose4(r), transpose4(r + 4);
}
// Element k of each group of four lanes, repeated in the whole group.
template <int k>
INLINE vf repeat_in_group(vf x) {
  return (vf)_mm256_permute_ps((__m256)x, k * 0x55);
}
// Stores group g of the four vectors, one after the other, at to[4 g].
INLINE void store_groups(const vf r[4], float (*to)[16]) {
  for (int h = 0; h < 2; ++h) {
    const __m256 a = (__m256)r[2 * h], b = (__m256)r[2 * h + 1];
    store(to[0] + W * h, (vf)_mm256_insertf128_ps(a, _mm256_castps256_ps128(b), 1));
    store(to[4] + W * h, (vf)_mm256_permute2f128_ps(a, b, 0x31));
  }
}
// Four vectors, rounded down and clipped to 0..8, as bytes. After turn_bytes, vector j is byte j of every lane.
INLINE __m256i bytes_to_8(const vf x[4]) {
  __m256i r[4];
  for (int j = 0; j < 4; ++j) r[j] = _mm256_cvttps_epi32((__m256)x[j]);  // negative ones are clipped below
  const __m256i all = _mm256_packus_epi16(_mm256_packs_epi32(r[0], r[1]), _mm256_packs_epi32(r[2], r[3]));
  return _mm256_min_epu8(all, _mm256_set1_epi8(8));
}
INLINE vi turn_bytes(__m256i x) {
  const __m128i at = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return (vi)_mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(at));
}
INLINE __m256i look_up(__m128i table, __m256i at) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), at);
}
template <int N>
INLINE void scatter4(const vf* q, float* const to[4]) {
  // Eight numbers at once: group 0 holds numbers k, group 1 numbers k + 4.
  vf rows[4];
  for (int k = 0; k < 4; ++k)
    rows[k] = (vf)_mm256_add_ps(_mm256_permute2f128_ps((__m256)q[k], (__m256)q[k + 4], 0x20),
                                _mm256_permute2f128_ps((__m256)q[k], (__m256)q[k + 4], 0x31));
  transpose4(rows);
  __m128 last[4];
  for (int k = 0; k < 4; ++k)
    last[k] = _mm_add_ps(_mm256_castps256_ps128((__m256)q[8 + k]), _mm256_extractf128_ps((__m256)q[8 + k], 1));
  _MM_TRANSPOSE4_PS(last[0], last[1], last[2], last[3]);
  for (int e = 0; e < 4; ++e) {
    store(to[e], load(to[e]) + rows[e]);
    _mm_store_ps(to[e] + 8, _mm_add_ps(_mm_load_ps(to[e] + 8), last[e]));
  }
}
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
#else  // four lanes
#if defined(__SSE4_1__)
INLINE unsigned bits(mask m) { return _mm_movemask_ps((__m128)m); }
INLINE vf min(vf a, vf b) { return (vf)_mm_min_ps((__m128)a, (__m128)b); }
INLINE vf max(vf a, vf b) { return (vf)_mm_max_ps((__m128)a, (__m128)b); }
INLINE vf sqrt(vf a) { return (vf)_mm_sqrt_ps((__m128)a); }
INLINE vf reciprocal(vf x) {
  vf r = (vf)_mm_rcp_ps((__m128)x);
  return r * (2.0f - x * r);
}
INLINE vf rough_root(vf x) { return x * (vf)_mm_rsqrt_ps((__m128)x); }
INLINE vd_half min_half(vd_half a, vd_half b) { return (vd_half)_mm_min_pd((__m128d)a, (__m128d)b); }
INLINE vd_half max_half(vd_half a, vd_half b) { return (vd_half)_mm_max_pd((__m128d)a, (__m128d)b); }
INLINE void store_past_cache(float* p, vf x) { _mm_stream_ps(p, (__m128)x); }
#else  // any other machine
INLINE unsigned bits(mask m) {
  const vi each = m & (vi){1, 2, 4, 8};
  return unsigned((each[0] | each[1]) | (each[2] | each[3]));
}
INLINE vf min(vf a, vf b) { return blend(a < b, a, b); }
INLINE vf max(vf a, vf b) { return blend(a > b, a, b); }
INLINE vf sqrt(vf a) {
  for (int i = 0; i < W; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
INLINE vf reciprocal(vf x) { return 1.0f / x; }
INLINE vf rough_root(vf x) { return sqrt(x); }
INLINE vd_half min_half(vd_half a, vd_half b) { return blend_half(a < b, a, b); }
INLINE vd_half max_half(vd_half a, vd_half b) { return blend_half(a > b, a, b); }
INLINE void store_past_cache(float* p, vf x) { store(p, x); }
#endif
INLINE vf reciprocal_sqrt(vf x) { return 1.0f / sqrt(x); }
INLINE vf repeat4(v4 x) { return x; }
INLINE vf read_rows(const float* p, size_t) { return load(p); }
INLINE void write_rows(float* p, size_t, vf v) { store(p, v); }
template <int i, int j, int k, int l>
INLINE vf choose(vf a, vf b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, i, j, k, l);
#else
  return __builtin_shuffle(a, b, (vi){i, j, k, l});
#endif
}
INLINE void transpose(vf* r) {
  const vf a = choose<0, 4, 1, 5>(r[0], r[1]), b = choose<2, 6, 3, 7>(r[0], r[1]);
  const vf c = choose<0, 4, 1, 5>(r[2], r[3]), d = choose<2, 6, 3, 7>(r[2], r[3]);
  r[0] = choose<0, 1, 4, 5>(a, c), r[1] = choose<2, 3, 6, 7>(a, c);
  r[2] = choose<0, 1, 4, 5>(b, d), r[3] = choose<2, 3, 6, 7>(b, d);
}
INLINE void transpose4(vf* r) { transpose(r); }
template <int k>
INLINE vf repeat_in_group(vf x) {
  return choose<k, k, k, k>(x, x);
}
INLINE void read_eight(const float* const from[W], vf r[8]) {
  for (int k = 0; k < W; ++k) r[k] = load(from[k]), r[4 + k] = load(from[k] + 4);
  transpose(r), transpose(r + 4);
}
INLINE void store_groups(const vf r[4], float (*to)[16]) {
  for (int h = 0; h < 4; ++h) store(to[0] + W * h, r[h]);
}
template <int N>
INLINE void scatter4(const vf* q, float* const to[4]) {
  for (int k = 0; k < 12; k += 4) {
    vf rows[4] = {q[k], q[k + 1], q[k + 2], q[k + 3]};
    transpose(rows);
    for (int e = 0; e < 4; ++e) store(to[e] + k, load(to[e] + k) + rows[e]);
  }
}
#endif
INLINE vf keep_min(mask m, vf a, vf b) { return keep(m, min(a, b)); }
INLINE vi set_bit(vi x, mask m, int bit) { return x | (m & bit); }
#if KINEMA_WIDTH == 8 && defined(__AVX2__)
// For every mask of eight lanes: the indices of the set lanes, four bits each.
struct Compress {
  uint32_t places[256];
  constexpr Compress() : places() {
    for (int m = 0; m < 256; ++m)
      for (int i = 0, n = 0; i < 8; ++i)
        if (m >> i & 1) places[m] |= uint32_t(i) << (4 * n++);
  }
};
constexpr Compress compress;
INLINE void append(uint32_t* p, mask m, vi x) {
  const __m256i places = _mm256_srlv_epi32(_mm256_set1_epi32(int(compress.places[bits(m)])),
                                           _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  _mm256_storeu_si256((__m256i*)p, _mm256_permutevar8x32_epi32((__m256i)x, places));
}
#else
INLINE vi shift_right(vi x, vi by) {
  for (int i = 0; i < W; ++i) x[i] = unsigned(by[i]) < 32 ? unsigned(x[i]) >> by[i] : 0;
  return x;
}
INLINE vi shift_left(vi x, vi by) {
  for (int i = 0; i < W; ++i) x[i] = unsigned(by[i]) < 32 ? x[i] << by[i] : 0;
  return x;
}
#if defined(__SSSE3__)
struct Compress {
  uint8_t places[16][16];
  constexpr Compress() : places() {
    for (int m = 0; m < 16; ++m)
      for (int i = 0, n = 0; i < 4; ++i)
        if (m >> i & 1) {
          for (int b = 0; b < 4; ++b) places[m][4 * n + b] = uint8_t(4 * i + b);
          ++n;
        }
  }
};
alignas(16) constexpr Compress compress;
INLINE void append(uint32_t* p, mask m, vi x) {
  const __m128i places = _mm_load_si128((const __m128i*)compress.places[bits(m)]);
  _mm_storeu_si128((__m128i*)p, _mm_shuffle_epi8((__m128i)x, places));
}
#else
INLINE void append(uint32_t* p, mask m, vi x) {
  for (int i = 0; i < W; ++i) {
    *p = x[i];
    p -= m[i];
  }
}
#endif
#endif
#endif

// 2^x for -126 <= x <= 127.
template <int N>
INLINE void exp2_of(const vf x[N], vf out[N]) {
#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
  constexpr float c[] = {0.00187757668f, 0.00898934028f, 0.0558263177f, 0.240153617f, 0.693153073f, 0.999999925f};
  vf f[N], p[N];
  for (int j = 0; j < N; ++j) f[j] = (vf)_mm512_reduce_ps((__m512)x[j], 1);  // x - floor(x)
#else
  // To 3e-7: a polynomial on [-1/2, 1/2]; the integer part of x goes to the exponent.
  constexpr float c[] = {0.00132764715f, 0.00967554133f, 0.0555071327f, 0.240221197f, 0.693146967f, 1.00000007f};
  constexpr float rounding = 12582912.0f;  // 1.5 · 2^23: floats of this size are integers
  vf whole[N], f[N], p[N];
  for (int j = 0; j < N; ++j) whole[j] = x[j] + rounding;
  for (int j = 0; j < N; ++j) f[j] = x[j] - (whole[j] - rounding);
#endif
  for (int j = 0; j < N; ++j) p[j] = c[0] * f[j] + c[1];
  for (int i = 2; i < 6; ++i)
    for (int j = 0; j < N; ++j) p[j] = p[j] * f[j] + c[i];
#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
  for (int j = 0; j < N; ++j) out[j] = (vf)_mm512_scalef_ps((__m512)p[j], (__m512)x[j]);
#else
  for (int j = 0; j < N; ++j) out[j] = (vf)((vu)p[j] + ((vu)whole[j] << 23));
#endif
}

INLINE void finish_stores() {
#if defined(__SSE__)
  _mm_sfence();
#endif
}

// As many doubles as a vector has floats, in two registers: their instructions interleave.
struct vd {
  vd_half a, b;
};
struct vl {
  vl_half a, b;
};
INLINE vd splat_d(double x) { return {x - vd_half{}, x - vd_half{}}; }
INLINE vd operator+(vd x, vd y) { return {x.a + y.a, x.b + y.b}; }
INLINE vd operator-(vd x, vd y) { return {x.a - y.a, x.b - y.b}; }
INLINE vd operator*(vd x, vd y) { return {x.a * y.a, x.b * y.b}; }
INLINE vd operator/(vd x, vd y) { return {x.a / y.a, x.b / y.b}; }
INLINE vd operator+(vd x, double y) { return {x.a + y, x.b + y}; }
INLINE vd operator-(double x, vd y) { return {x - y.a, x - y.b}; }
INLINE vd operator*(double x, vd y) { return {x * y.a, x * y.b}; }
INLINE vd operator*(vd x, double y) { return {x.a * y, x.b * y}; }
INLINE vd operator/(double x, vd y) { return {x / y.a, x / y.b}; }
INLINE vd operator-(vd x) { return {-x.a, -x.b}; }
INLINE vd& operator+=(vd& x, vd y) { return x = x + y; }
INLINE vd& operator-=(vd& x, vd y) { return x = x - y; }
INLINE vl operator==(vd x, vd y) { return {x.a == y.a, x.b == y.b}; }
INLINE vd keep_d(vl m, vd x) { return {(vd_half)((vl_half)x.a & m.a), (vd_half)((vl_half)x.b & m.b)}; }
INLINE vd min_d(vd x, vd y) { return {min_half(x.a, y.a), min_half(x.b, y.b)}; }
INLINE vd max_d(vd x, vd y) { return {max_half(x.a, y.a), max_half(x.b, y.b)}; }
INLINE vd widen(const float* p) {
  typedef float vh __attribute__((vector_size(4 * D)));
  vh x[2];
  __builtin_memcpy(x, p, sizeof x);
  return {__builtin_convertvector(x[0], vd_half), __builtin_convertvector(x[1], vd_half)};
}
INLINE vd widen(vf x) { return widen((const float*)&x); }
INLINE vf narrow(vd x) {
  typedef float vh __attribute__((vector_size(4 * D)));
  const vh a = __builtin_convertvector(x.a, vh), b = __builtin_convertvector(x.b, vh);
  // Joined in registers: two stores and one wider load would wait until both have reached the cache.
#if KINEMA_WIDTH == 16 && defined(__AVX512F__)
  return (vf)_mm512_insertf32x8(_mm512_castps256_ps512((__m256)a), (__m256)b, 1);
#elif KINEMA_WIDTH == 8 && defined(__AVX2__)
  return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)a), (__m128)b, 1);
#else
  vf r;
  __builtin_memcpy(&r, &a, sizeof a);
  __builtin_memcpy((char*)&r + sizeof a, &b, sizeof b);
  return r;
#endif
}
