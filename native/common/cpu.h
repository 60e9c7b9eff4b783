// The instruction sets that kernels are compiled for, and the best of them on the processor that runs.
#pragma once

namespace kinema {

enum class Isa { base, avx2, avx512 };

inline Isa best_isa() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return Isa::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
    return Isa::base;
}

}  // namespace kinema
