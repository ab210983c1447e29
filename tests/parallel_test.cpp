// SPDX-License-Identifier: BSD-3-Clause
// Loops over blocks: on as many threads as were asked for, none of which is left behind; over forks, nested,
// on several threads at once, through exceptions.
#include "kopse/parallel.hpp"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <set>
#include <thread>

#include "exactness.hpp"

#if !defined(KOPSE_STD_THREADS)
#include <oneapi/tbb/parallel_for.h>
#endif

namespace {

using kopse::for_blocks;
using kopse::index;
using kopse::matrix;
using namespace std::chrono_literals;

/// How many threads come together in a loop within a while: each waits for the others.
index threads_that_meet(int threads, index wanted) {
  std::mutex guard;
  std::condition_variable changed;
  std::set<std::thread::id> here;
  for_blocks(4 * wanted, 1, threads, [&](index, index) {
    std::unique_lock lock(guard);
    here.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait_for(lock, 2s, [&] { return std::ssize(here) >= wanted; });
  });
  return std::ssize(here);
}

index running_threads() {
  std::filesystem::directory_iterator const tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

matrix<double> some_rows(index n) { return families::make_rows<double>(families::family::uniform, n, 2, 1); }

kopse::options on(int threads, std::string const& algorithm = "dualtree") {
  kopse::options o;
  o.threads = threads, o.algorithm = algorithm, o.max_iter = 3;
  return o;
}

bool same_result(kopse::result const& a, kopse::result const& b) {
  return a.labels == b.labels && exactness::same(a.inertia, b.inertia)
         && exactness::same_matrix(a.centroids.view(), b.centroids.view());
}

TEST(parallel, as_many_threads_as_asked_for_take_part_also_more_than_cores) {
  EXPECT_GE(kopse::available_threads(), 1);
  for (int const threads : {1, 2, 3, 8}) EXPECT_EQ(threads_that_meet(threads, threads), threads);
  kopse::worker_scope const scope;
  for (int const threads : {8, 2, 3, 8}) EXPECT_EQ(threads_that_meet(threads, threads), threads);
  EXPECT_GE(threads_that_meet(0, kopse::available_threads()), kopse::available_threads());
}

TEST(parallel, each_block_once_and_the_same_blocks) {
  for (index const count : {0, 1, 7, 100, 101})
    for (index const grain : {1, 7, 1000})
      for (int const threads : {0, 1, 3}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        for_blocks(count, grain, threads, [&](index first, index last) {
          EXPECT_EQ(first % grain, 0);
          EXPECT_EQ(last, std::min(count, first + grain));
          for (index i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (auto const& times : seen) ASSERT_EQ(times, 1);
      }
}

TEST(parallel, states_are_nobody_elses_and_no_more_than_threads) {
  int made = 0; // under the lock of per_thread
  kopse::per_thread<index> sums([&] {
    ++made;
    return index{0};
  });
  for (int round = 0; round < 2; ++round)
    for_blocks(1000, 1, 4, sums, [](index& sum, index first, index) { sum += first; });
  EXPECT_LE(made, 4);
  index total = 0;
  sums.for_each([&](index sum) { total += sum; });
  EXPECT_EQ(total, 2 * 999 * 1000 / 2);
}

// A task is a number of leaves, and branches into halves.
TEST(parallel, branches_cover_everything_once) {
  for (int const threads : {1, 3})
    for (index const small : {1, 10, 1000}) {
      std::atomic<index> leaves = 0, opened = 0;
      kopse::for_branches(
          index{777}, threads, [&](index task) { return task <= small; },
          [&](index task, std::vector<index>& below) {
            ++opened;
            below = {task / 2, task - task / 2};
          },
          [&](index task) { leaves += task; });
      EXPECT_EQ(leaves, 777);
      EXPECT_EQ(opened == 0, small == 1000);
    }
}

TEST(parallel, loops_within_loops_also_on_another_number_of_threads) {
  std::atomic<index> sum = 0;
  for_blocks(8, 1, 2, [&](index, index) {
    for (int const threads : {2, 3})
      for_blocks(100, 10, threads, [&](index first, index last) { sum += last - first; });
  });
  EXPECT_EQ(sum, 8 * 2 * 100);
}

TEST(parallel, exceptions_pass_through_and_the_next_loop_works) {
  kopse::worker_scope const scope;
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(for_blocks(1000, 1, 4,
                            [&](index first, index) {
                              if (first % 100 == 50) throw kopse::interrupted();
                            }),
                 kopse::interrupted);
    std::atomic<index> sum = 0;
    for_blocks(1000, 1, 4, [&](index first, index last) { sum += last - first; });
    EXPECT_EQ(sum, 1000);
  }
}

TEST(parallel, nothing_runs_on_after_a_call) {
  matrix<double> const rows = some_rows(20000);
  index const before = running_threads();
  kopse::result const run = kopse::fit(rows.view(), 50, on(4));
  EXPECT_EQ(running_threads(), before);
  kopse::predict(rows.view(), run.centroids.view(), 4);
  EXPECT_EQ(running_threads(), before);
  kopse::build_tree(rows.view(), "kd", 20, 4);
  EXPECT_EQ(running_threads(), before);
  double const used = processor_seconds();
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(processor_seconds() - used, 0.05);
}

// Also when fits overlap, and the first to end is not the last that began.
TEST(parallel, several_threads_fit_at_once) {
  matrix<double> const rows = some_rows(12000);
  kopse::result const expected = kopse::fit(rows.view(), 60, on(1));
  index const before = running_threads();
  for (int round = 0; round < 3; ++round) {
    std::vector<kopse::result> found(6);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i)
      threads.emplace_back([&, i] {
        auto const algorithm = i % 3 == 0 ? "filter" : i % 3 == 1 ? "dualtree" : "exponion";
        found[i] = kopse::fit(rows.view(), 60, on(static_cast<int>(1 + i), algorithm));
      });
    for (std::thread& t : threads) t.join();
    for (kopse::result const& run : found) EXPECT_TRUE(same_result(run, expected));
  }
  EXPECT_EQ(running_threads(), before);
}

TEST(parallel, a_raised_flag_ends_a_long_fit) {
  matrix<double> const rows = some_rows(exactness::sanitized ? 20000 : 100000);
  for (auto const algorithm : kopse::algorithms()) {
    if (algorithm == "line") continue; // ends before it can be stopped, and is for one column
    std::atomic<bool> stop = false;
    kopse::options o = on(3, std::string(algorithm));
    o.stop = &stop, o.max_iter = 1000000000, o.groups = 10;
    o.empty = kopse::empty_policy::keep;
    o.on_iteration = [](index, kopse::iteration_record const&) {};
    std::thread other([&] {
      std::this_thread::sleep_for(20ms);
      stop = true;
    });
    auto const start = std::chrono::steady_clock::now();
    try {
      kopse::fit(rows.view(), 1000, o);
      ADD_FAILURE() << algorithm << " has ended by itself";
    } catch (kopse::interrupted const&) {
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << algorithm;
    other.join();
  }
}

/// Runs f in a forked child; whether it returned true, within a minute.
template <class F> bool in_child(F const& f) {
  pid_t const child = fork();
  if (child == 0) {
    alarm(60);
    bool good = false;
    try {
      good = f();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(parallel, a_child_of_a_process_that_has_fitted_can_fit) {
  if (exactness::thread_sanitized)
    GTEST_SKIP() << "the thread sanitizer does not follow forks of a process with threads";
  matrix<double> const rows = some_rows(6000);
  kopse::result const expected = kopse::fit(rows.view(), 20, on(1));
  for (int round = 0; round < (exactness::sanitized ? 50 : 2000); ++round) {
    if (round % 10 == 0) {
      ASSERT_TRUE(same_result(kopse::fit(rows.view(), 20, on(3)), expected));
    }
    ASSERT_TRUE(in_child([&] { return same_result(kopse::fit(rows.view(), 20, on(3)), expected); })) << round;
  }
}

// In the middle of a fit, where threads are at work: the child goes on with it, and fits anew.
TEST(parallel, a_child_forked_within_a_fit_can_fit) {
  if (exactness::thread_sanitized)
    GTEST_SKIP() << "the thread sanitizer does not follow forks of a process with threads";
  matrix<double> const rows = some_rows(6000);
  kopse::result const expected = kopse::fit(rows.view(), 20, on(1));
  for (int round = 0; round < (exactness::sanitized ? 10 : 100); ++round)
    ASSERT_TRUE(in_child([&] {
      kopse::options o = on(3);
      pid_t child = -1;
      o.on_iteration = [&](index iteration, kopse::iteration_record const&) {
        if (iteration == 2) child = fork();
      };
      if (!same_result(kopse::fit(rows.view(), 20, o), expected)) return false;
      if (!same_result(kopse::fit(rows.view(), 20, on(3)), expected)) return false;
      if (child == 0) _exit(0);
      int status = 0;
      return waitpid(child, &status, 0) == child && status == 0;
    })) << round;
}

#if !defined(KOPSE_STD_THREADS)
TEST(parallel, a_host_with_a_onetbb_of_its_own_may_fork_and_fit) {
  matrix<double> const rows = some_rows(6000);
  kopse::result const expected = kopse::fit(rows.view(), 20, on(1));
  auto const work_of_the_host = [] {
    std::atomic<int> sum = 0;
    oneapi::tbb::parallel_for(0, 1000, [&](int) { ++sum; });
    return sum == 1000;
  };
  for (int round = 0; round < (exactness::sanitized ? 10 : 100); ++round) {
    ASSERT_TRUE(work_of_the_host());
    ASSERT_TRUE(in_child([&] { return same_result(kopse::fit(rows.view(), 20, on(3)), expected); }));
    ASSERT_TRUE(same_result(kopse::fit(rows.view(), 20, on(3)), expected));
  }
  std::vector<char> good(8, 0);
  oneapi::tbb::parallel_for(0, 8, [&](int i) {
    good[static_cast<std::size_t>(i)] = same_result(kopse::fit(rows.view(), 20, on(3)), expected);
  });
  EXPECT_EQ(std::count(good.begin(), good.end(), 1), 8);
}
#endif

} // namespace
