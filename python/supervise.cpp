// SPDX-License-Identifier: BSD-3-Clause
// The library computes on another thread, so that this one, which may be the main one and then is the only
// one to run Python's signal handlers, is free for Python. That costs a thread's start, some 20 microseconds,
// a call.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "bindings.hpp"

namespace kopse::python {

namespace {

constexpr std::chrono::milliseconds between_signals{50};

class supervisor {
public:
  explicit supervisor(nb::handle pulse) : pulse_(pulse) {}

  void run(std::function<void(std::atomic<bool> const&, ask const&)> const& work) {
    {
      nb::gil_scoped_release const release;
      joined const worker{*this, std::thread([&] { do_work(work); })};
      std::unique_lock lock(guard_);
      while (!done_) {
        changed_.wait_for(lock, between_signals, [&] { return done_ || asked_ != nullptr; });
        if (done_) break;
        lock.unlock();
        see_to_python();
        lock.lock();
        asked_ = nullptr;
        changed_.notify_all();
      }
    }
    if (raised_) std::rethrow_exception(raised_); // rather than the interruption that it led to
    if (failure_) std::rethrow_exception(failure_);
  }

private:
  struct joined { // whatever happens, the work ends before what it refers to does
    supervisor& over;
    std::thread worker;
    ~joined() {
      over.stop_ = true;
      worker.join();
    }
  };

  void do_work(std::function<void(std::atomic<bool> const&, ask const&)> const& work) {
    std::exception_ptr failure;
    try {
      work(stop_, [this](std::function<void()> const& function) { hand_over(function); });
    } catch (...) {
      failure = std::current_exception();
    }
    std::lock_guard const lock(guard_);
    failure_ = failure;
    done_ = true;
    changed_.notify_all();
  }

  // On the worker: waits until Python has seen to it.
  void hand_over(std::function<void()> const& function) {
    std::unique_lock lock(guard_);
    asked_ = &function;
    changed_.notify_all();
    changed_.wait(lock, [&] { return asked_ == nullptr; });
  }

  void see_to_python() {
    if (raised_) return; // the work has not noticed yet
    nb::gil_scoped_acquire const acquire;
    try {
      if (asked_ != nullptr) (*asked_)();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!pulse_.is_none()) pulse_();
    } catch (...) {
      raised_ = std::current_exception();
      stop_ = true;
    }
  }

  nb::handle pulse_;
  std::atomic<bool> stop_ = false;
  std::mutex guard_;
  std::condition_variable changed_;
  bool done_ = false;
  std::function<void()> const* asked_ = nullptr; // waits for Python
  std::exception_ptr raised_;                    // by Python
  std::exception_ptr failure_;                   // of the work
};

} // namespace

void supervise(std::function<void(std::atomic<bool> const& stop, ask const& python)> const& work,
               nb::handle pulse) {
  supervisor(pulse).run(work);
}

observer each_iteration(nb::handle callback, ask const& python) {
  if (callback.is_none()) return {};
  return [callback, &python](index iteration, iteration_record const& record) {
    python([&] { callback(iteration, to_dict(record)); });
  };
}

} // namespace kopse::python
