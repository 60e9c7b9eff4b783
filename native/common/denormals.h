// Flushes denormal numbers to zero while it lives. Values that decay without bound (transmittances, the sideways drift
// of a symmetric body) would otherwise end as denormals, which are ten times slower.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace kinema {
namespace {

struct FlushDenormals {
#if defined(__SSE__)
    unsigned before = _mm_getcsr();
    FlushDenormals() { _mm_setcsr(before | 0x8040); }
    ~FlushDenormals() { _mm_setcsr(before); }
#else
    ~FlushDenormals() {}
#endif
};

}  // namespace
}  // namespace kinema
