// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/parallel.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

#if !defined(KOPSE_STD_THREADS)
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

int available_threads() {
#if defined(__linux__)
  cpu_set_t cores; // of more than 1024 cores the call fails
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

namespace {

using block_body = std::function<void(index)>;

// The blocks one after the other to whichever thread is free; on fewer threads if no more can be started.
void run_by_std_threads(index blocks, int threads, block_body const& run) {
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
  index const wanted = std::min<index>(threads, blocks) - 1;
  helpers.reserve(static_cast<std::size_t>(wanted));
  try {
    while (std::ssize(helpers) < wanted) helpers.emplace_back(work);
  } catch (std::system_error const&) {
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

thread_local worker_scope* current_scope = nullptr;

// Within a loop's body: loops in it have threads of their own, those of the outer loop being in use.
class no_scope {
public:
  no_scope() : saved_(std::exchange(current_scope, nullptr)) {}
  ~no_scope() { current_scope = saved_; }
  no_scope(no_scope const&) = delete;
  no_scope& operator=(no_scope const&) = delete;

private:
  worker_scope* saved_;
};

} // namespace

#if defined(KOPSE_STD_THREADS)

struct worker_scope::pool {};

class loop_pool {
public:
  static void run(index blocks, int threads, block_body const& body) {
    run_by_std_threads(blocks, threads, body);
  }
  static bool lost() { return false; }
};

#else

namespace {

namespace tbb = oneapi::tbb;

// oneTBB starts no more threads than there are cores, unless it is allowed to: as many in all as the pools
// that are open ask for. (Of several controls oneTBB takes the least, so there is one for all pools; a
// host's own still counts.)
class allowance {
public:
  explicit allowance(int threads) : threads_(threads) { change(threads_); }
  ~allowance() { change(-threads_); }
  allowance(allowance const&) = delete;
  allowance& operator=(allowance const&) = delete;

private:
  static void change(int by) {
    static std::mutex guard;
    static int total = 0;
    static std::optional<tbb::global_control> control;
    std::lock_guard const lock(guard);
    total += by;
    control.reset();
    if (total > 0)
      control.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(total));
  }
  int threads_;
};

// Where the library was loaded. Threads do not survive a fork, and oneTBB cannot tell: it would wait for them
// for ever when it is to end.
pid_t const home = getpid();

} // namespace

struct worker_scope::pool {
  int threads;
  allowance allowed;
  tbb::task_scheduler_handle handle;
  tbb::task_arena arena;

  explicit pool(int count) : threads(count), allowed(count), handle(tbb::attach()), arena(count) {}
  // Waits for the threads to end, but where others still use them (another thread's pool, or the host): then
  // the last of these does.
  ~pool() {
    arena.terminate();
    tbb::finalize(handle, std::nothrow);
  }
};

class loop_pool {
public:
  static bool lost() { return getpid() != home; }

  static void run(index blocks, int threads, block_body const& body) {
    if (lost()) return run_by_std_threads(blocks, threads, body);
    worker_scope const alone; // unless there is one
    worker_scope* const scope = current_scope;
    if (!scope->pool_ || scope->pool_->threads != threads) {
      scope->pool_.reset();
      scope->pool_ = std::make_unique<worker_scope::pool>(threads);
    }
    scope->pool_->arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<index>(0, blocks, 1),
          [&](tbb::blocked_range<index> const& range) {
            no_scope const within;
            for (index block = range.begin(); block < range.end(); ++block) body(block);
          },
          tbb::simple_partitioner());
    });
  }
};

#endif

worker_scope::worker_scope() {
  if (current_scope == nullptr) current_scope = this;
}
worker_scope::~worker_scope() {
  if (current_scope == this) current_scope = nullptr;
  if (loop_pool::lost()) static_cast<void>(pool_.release()); // the parent's
}

void for_blocks(index count, index grain, int threads, std::function<void(index, index)> const& body) {
  index const blocks = (count + grain - 1) / grain;
  auto const run = [&](index block) {
    float_environment const environment;
    body(block * grain, std::min(count, (block + 1) * grain));
  };
  if (threads == 0 && blocks > 1) threads = available_threads();
  if (threads <= 1 || blocks <= 1)
    for (index block = 0; block < blocks; ++block) run(block);
  else
    loop_pool::run(blocks, threads, run);
}

} // namespace kopse
