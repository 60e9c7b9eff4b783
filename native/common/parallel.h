// Work on several threads. std::thread, not OpenMP: torch's OpenMP workers spin and would take the processor from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace kinema {

// Calls work(next) once on each of up to `threads` threads, of which the caller is one. Every next++ below `count` is an
// item to work on. Items write to disjoint memory, so the result does not depend on the number of threads.
template <class Work>
void parallel(int64_t count, int threads, const Work& work) {
    std::atomic<int64_t> next{0};
    std::vector<std::thread> pool;
    for (int64_t k = 1; k < threads && k < count; ++k) pool.emplace_back([&] { work(next); });
    work(next);
    for (auto& thread : pool) thread.join();
}

}  // namespace kinema
