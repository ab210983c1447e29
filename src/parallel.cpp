// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/parallel.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdlib>
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

} // namespace

#if defined(KOPSE_STD_THREADS)

struct worker_scope::pool {};
worker_scope::worker_scope() = default;
worker_scope::~worker_scope() = default;

class loop_pool {
public:
  static void run(index blocks, int threads, block_body const& body) {
    run_by_std_threads(blocks, threads, body);
  }
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

// Whether so many threads can be started. oneTBB has no answer to a system that refuses one (a limit on
// processes or on memory): it ends the program from a thread of its own, or waits for ever.
bool can_start(int threads) {
  std::vector<std::thread> tried;
  bool all = true;
  std::mutex guard;
  {
    std::lock_guard const until_all_are_there(guard);
    try {
      while (std::ssize(tried) < threads)
        tried.emplace_back([&guard] {
          void* volatile const arena = std::malloc(64); // the address space that a thread's first one takes
          std::free(arena);
          std::lock_guard const wait(guard);
        });
    } catch (std::exception const&) {
      all = false;
    }
  }
  for (std::thread& thread : tried) thread.join();
  return all;
}

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

namespace {
thread_local worker_scope* open_scope = nullptr;    // of the calls that this thread is in
thread_local worker_scope* working_scope = nullptr; // whose loop's body this thread is in

class working_in {
public:
  explicit working_in(worker_scope* scope) : before_(std::exchange(working_scope, scope)) {}
  ~working_in() { working_scope = before_; }
  working_in(working_in const&) = delete;
  working_in& operator=(working_in const&) = delete;

private:
  worker_scope* before_;
};
} // namespace

class loop_pool {
public:
  static bool lost() { return getpid() != home; }

  static void run(index blocks, int threads, block_body const& body) {
    if (lost()) return run_by_std_threads(blocks, threads, body);
    if (working_scope != nullptr && working_scope->pool_->threads == threads) // a loop in a loop
      return tbb::this_task_arena::isolate([&] { run_here(*working_scope, blocks, body); });
    if (open_scope == nullptr || open_scope == working_scope) {
      worker_scope alone;
      return run_in(alone, blocks, threads, body);
    }
    run_in(*open_scope, blocks, threads, body);
  }

private:
  static void run_in(worker_scope& scope, index blocks, int threads, block_body const& body) {
    if (!scope.pool_ || scope.pool_->threads != threads) {
      scope.pool_.reset();
      if (!can_start(threads - 1)) return run_by_std_threads(blocks, threads, body);
      scope.pool_ = std::make_unique<worker_scope::pool>(threads);
    }
    scope.pool_->arena.execute([&] { run_here(scope, blocks, body); });
  }

  static void run_here(worker_scope& scope, index blocks, block_body const& body) {
    tbb::parallel_for(
        tbb::blocked_range<index>(0, blocks, 1),
        [&](tbb::blocked_range<index> const& range) {
          working_in const body_of(&scope);
          for (index block = range.begin(); block < range.end(); ++block) body(block);
        },
        tbb::simple_partitioner());
  }
};

worker_scope::worker_scope() : outer_(open_scope) {
  if (outer_ == nullptr || outer_ == working_scope) open_scope = this;
}
worker_scope::~worker_scope() {
  if (open_scope == this) open_scope = outer_;
  if (loop_pool::lost()) static_cast<void>(pool_.release()); // the parent's
}

#endif

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
