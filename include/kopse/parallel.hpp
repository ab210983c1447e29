// SPDX-License-Identifier: BSD-3-Clause
// Loops over blocks on a limited number of threads, by oneTBB (or std::thread when KOPSE_STD_THREADS is set).
//
// No thread outlives the call that needed it: when a loop, or the worker_scope around it, has ended, its
// threads have ended. So nothing spins afterwards, and a process may fork between two calls. A forked child
// runs its loops by std::thread: it has not inherited the threads of a oneTBB that was at work in its parent.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kopse/core.hpp"

namespace kopse {

/// The cores that this process may use (where it was given some of the machine's only, those). At least 1.
int available_threads();

/// Runs body(first, last) over [0, count) in blocks of `grain`, on at most `threads` threads (0: as many as
/// are available), and returns when all have ended; the first exception is rethrown. Blocks are the same for
/// any thread count; their order is not. On each thread the floating-point environment is the one the
/// library's arithmetic is defined in.
void for_blocks(index count, index grain, int threads,
                std::function<void(index first, index last)> const& body);

/// Keeps the threads of this thread's loops from one loop to the next, as long as it lives: for calls with
/// many loops. They start with the first loop that needs them. Within another one it does nothing. A loop in
/// a loop's body shares its threads.
class worker_scope {
public:
  worker_scope();
  ~worker_scope();
  worker_scope(worker_scope const&) = delete;
  worker_scope& operator=(worker_scope const&) = delete;

private:
  friend class loop_pool;
  struct pool;
  std::unique_ptr<pool> pool_; // none before the first loop
  worker_scope* outer_ = nullptr;
};

/// States for the blocks of loops, such as sums and scratch space: a block takes one that is free, so there
/// are no more of them than threads at work. What has been gathered is merged at the end, which is why it
/// must not matter who gathered what.
template <class State> class per_thread {
public:
  /// make() returns a new state; no two threads are in it at a time.
  explicit per_thread(std::function<State()> make) : make_(std::move(make)) {}

  /// Runs f(state) with a state that is nobody else's meanwhile.
  template <class F> void lend(F const& f) {
    std::unique_ptr<State> state = take();
    f(*state);
    std::lock_guard const lock(guard_);
    free_.push_back(std::move(state));
  }
  /// Between loops: f(state) for each.
  template <class F> void for_each(F const& f) {
    for (std::unique_ptr<State>& state : free_) f(*state);
  }

private:
  std::unique_ptr<State> take() {
    std::lock_guard const lock(guard_);
    if (free_.empty()) return std::unique_ptr<State>(new State(make_()));
    std::unique_ptr<State> state = std::move(free_.back());
    free_.pop_back();
    return state;
  }

  std::function<State()> make_;
  std::mutex guard_;
  std::vector<std::unique_ptr<State>> free_;
};

/// for_blocks() with states: body(state, first, last).
template <class State, class Body>
void for_blocks(index count, index grain, int threads, per_thread<State>& states, Body const& body) {
  for_blocks(count, grain, threads,
             [&](index first, index last) { states.lend([&](State& state) { body(state, first, last); }); });
}

/// Tasks that branch, from one on. open(task, below) does what is to be done before the branches and appends
/// these to `below`; run(task) does a task with all its branches. Tasks are opened side by side until all
/// that are left are small(task); then these are run.
template <class Task, class Small, class Open, class Run>
void for_branches(Task root, int threads, Small const& small, Open const& open, Run const& run) {
  std::vector<Task> large, ready;
  (small(root) ? ready : large).push_back(std::move(root));
  while (!large.empty()) {
    std::vector<std::vector<Task>> below(large.size());
    for_blocks(static_cast<index>(large.size()), 1, threads, [&](index i, index) {
      open(large[static_cast<std::size_t>(i)], below[static_cast<std::size_t>(i)]);
    });
    large.clear();
    for (std::vector<Task>& tasks : below)
      for (Task& task : tasks) (small(task) ? ready : large).push_back(std::move(task));
  }
  for_blocks(static_cast<index>(ready.size()), 1, threads,
             [&](index i, index) { run(ready[static_cast<std::size_t>(i)]); });
}

/// Round to nearest with gradual underflow, for the lifetime of the object (a host program may have changed
/// either).
class float_environment {
public:
  float_environment();
  ~float_environment();
  float_environment(float_environment const&) = delete;
  float_environment& operator=(float_environment const&) = delete;

private:
  unsigned saved_;
};

} // namespace kopse
