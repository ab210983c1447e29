// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/parallel.hpp"

#include <algorithm>
#include <cfenv>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#if defined(KOPSE_STD_THREADS)
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace kopse {

#if defined(__SSE__)
// Bits of MXCSR: 13 and 14 the rounding mode, 15 flush to zero, 6 denormals are zero.
float_environment::float_environment() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ & ~0xe040u); }
float_environment::~float_environment() { _mm_setcsr(saved_); }
#else
float_environment::float_environment() : saved_(static_cast<unsigned>(std::fegetround())) {
  std::fesetround(FE_TONEAREST);
}
float_environment::~float_environment() { std::fesetround(static_cast<int>(saved_)); }
#endif

void for_blocks(index count, index grain, int threads, std::function<void(index, index)> const& body) {
  index const blocks = (count + grain - 1) / grain;
  auto const run = [&](index block) {
    float_environment const environment;
    body(block * grain, std::min(count, (block + 1) * grain));
  };
  if (threads <= 1 || blocks <= 1) {
    for (index block = 0; block < blocks; ++block) run(block);
    return;
  }
#if defined(KOPSE_STD_THREADS)
  std::atomic<index> next = 0;
  std::exception_ptr failure;
  std::mutex guard;
  auto const work = [&] {
    try {
      for (index block; (block = next++) < blocks;) run(block);
    } catch (...) {
      std::lock_guard const lock(guard);
      if (!failure) failure = std::current_exception();
      next = blocks;
    }
  };
  std::vector<std::thread> helpers;
  for (index t = 1; t < std::min<index>(threads, blocks); ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
#else
  namespace tbb = oneapi::tbb;
  tbb::global_control const limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<index>(0, blocks, 1),
        [&](tbb::blocked_range<index> const& range) {
          for (index block = range.begin(); block < range.end(); ++block) run(block);
        },
        tbb::simple_partitioner());
  });
#endif
}

} // namespace kopse
