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
  explicit supervisor(nb::handle callback) : callback_(callback) {}

  void run(std::function<void(std::atomic<bool> const&, observer const&)> const& work) {
    {
      nb::gil_scoped_release const release;
      joined const worker{*this, std::thread([&] { do_work(work); })};
      std::unique_lock lock(guard_);
      while (!done_) {
        changed_.wait_for(lock, between_signals, [&] { return done_ || iteration_ != nullptr; });
        if (done_) break;
        lock.unlock();
        see_to_python();
        lock.lock();
        iteration_ = nullptr;
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

  void do_work(std::function<void(std::atomic<bool> const&, observer const&)> const& work) {
    observer each;
    if (!callback_.is_none())
      each = [this](index iteration, iteration_record const& record) { show(iteration, record); };
    std::exception_ptr failure;
    try {
      work(stop_, each);
    } catch (...) {
      failure = std::current_exception();
    }
    std::lock_guard const lock(guard_);
    failure_ = failure;
    done_ = true;
    changed_.notify_all();
  }

  // On the worker: hands an iteration over, and waits until Python has seen it.
  void show(index iteration, iteration_record const& record) {
    std::unique_lock lock(guard_);
    number_ = iteration;
    iteration_ = &record;
    changed_.notify_all();
    changed_.wait(lock, [&] { return iteration_ == nullptr; });
  }

  void see_to_python() {
    if (raised_) return; // the work has not noticed yet
    nb::gil_scoped_acquire const acquire;
    try {
      if (iteration_ != nullptr) callback_(number_, to_dict(*iteration_));
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    } catch (...) {
      raised_ = std::current_exception();
      stop_ = true;
    }
  }

  nb::handle callback_;
  std::atomic<bool> stop_ = false;
  std::mutex guard_;
  std::condition_variable changed_;
  bool done_ = false;
  iteration_record const* iteration_ = nullptr; // waits for Python
  index number_ = 0;
  std::exception_ptr raised_;  // by Python
  std::exception_ptr failure_; // of the work
};

} // namespace

void supervise(nb::handle callback,
               std::function<void(std::atomic<bool> const& stop, observer const& each)> const& work) {
  supervisor(callback).run(work);
}

} // namespace kopse::python
