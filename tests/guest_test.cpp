// SPDX-License-Identifier: BSD-3-Clause
// The library in another's program: it says nothing, leaves signals alone, throws what it promises, and may
// be called from several threads at once.
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include <sys/resource.h>

#include "exactness.hpp"
#include "kopse/memory_plan.hpp"
#include "kopse/seeding.hpp"

namespace {

using namespace exactness;
using kopse::index;

std::vector<struct sigaction> handlers() {
  std::vector<struct sigaction> all(65);
  for (int signal = 1; signal < 65; ++signal)
    ::sigaction(signal, nullptr, &all[static_cast<std::size_t>(signal)]);
  return all;
}

TEST(guest, says_nothing_and_leaves_signals_alone) {
  scenario<double> const s({.data = family::few_distinct, .seed = 1, .n = 200, .k = 30}); // with warnings
  auto const before = handlers();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (config const& c : few_configs(1)) {
    if (!suits(c, s.rows.cols())) continue;
    kopse::options o = c.options();
    o.max_iter = 2;
    kopse::fit(s.user_points(), 30, o);
    EXPECT_THROW(kopse::fit(s.user_points(), 0, o), kopse::error);
    EXPECT_THROW(kopse::fit(s.user_points(), 201, o), kopse::usage_error);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  auto const after = handlers();
  for (std::size_t i = 1; i < before.size(); ++i) EXPECT_EQ(before[i].sa_handler, after[i].sa_handler) << i;
}

TEST(guest, may_be_called_from_several_threads) {
  std::array<kopse::result, 4> got;
  std::vector<scenario<double>> data;
  for (std::uint64_t i = 0; i < 2; ++i)
    data.emplace_back(plan{.data = family::clustered, .seed = i + 1, .n = sanitized ? 300 : 3000, .k = 20});
  {
    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < got.size(); ++i)
      callers.emplace_back([&, i] {
        kopse::options o;
        o.threads = 2, o.algorithm = i < 2 ? "frontier" : "lloyd";
        got[i] = kopse::fit(data[i % 2].user_points(), 20, o);
      });
    for (std::thread& caller : callers) caller.join();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(same_labels(got[i].labels, got[i + 2].labels));
    EXPECT_TRUE(same_matrix(got[i].centroids, got[i + 2].centroids));
  }
}

TEST(guest, what_a_user_s_callback_throws_comes_out) {
  scenario<double> const s({.data = family::uniform, .seed = 1, .n = 200, .k = 9});
  struct theirs {};
  kopse::options o;
  o.threads = 2;
  o.on_iteration = [](index, kopse::iteration_record const&) { throw theirs(); };
  EXPECT_THROW(kopse::fit(s.user_points(), 9, o), theirs);
  o.on_iteration = nullptr;
  EXPECT_NO_THROW(kopse::fit(s.user_points(), 9, o)) << "and the next one works";
}

template <class Call> kopse::error_code code_of(Call const& call) {
  try {
    call();
  } catch (kopse::error const& e) {
    return e.code();
  }
  return {};
}

TEST(guest, errors_have_codes) {
  scenario<double> s({.data = family::uniform, .seed = 1, .n = 200, .k = 9});
  auto const fit = [&](kopse::options const& o, index k) {
    return code_of([&] { kopse::fit(s.user_points(), k, o); });
  };
  EXPECT_EQ(fit({}, 9), kopse::error_code{});
  EXPECT_EQ(fit({}, 201), kopse::error_code::usage);
  std::atomic<bool> const raised = true;
  kopse::options o;
  o.stop = &raised;
  EXPECT_EQ(fit(o, 9), kopse::error_code::interrupted);
  o = {};
  o.algorithm = "elkan", o.checkpoint.file = "no_such_folder/a.ckpt";
  EXPECT_EQ(fit(o, 9), kopse::error_code::input);
  s.rows(5, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(fit({}, 9), kopse::error_code::input);
  EXPECT_EQ(kopse::memory_error("").code(), kopse::error_code::memory);
  EXPECT_EQ(kopse::verification_error("").code(), kopse::error_code::verification);
}

TEST(guest, memory_is_planned_by_the_tables) {
  kopse::options o;
  o.algorithm = "elkan", o.init = "random", o.threads = 1;
  kopse::memory_plan const plan = kopse::plan_memory(1000000, 10, true, 500, o);
  EXPECT_EQ(plan.tree, 0);
  EXPECT_EQ(plan.step, 4e6 * 500 + 4 * 500 * 500 + 12e6);
  EXPECT_EQ(plan.labels, 4e6);
  o.algorithm = "filter";
  kopse::memory_plan const tree = kopse::plan_memory(1000000, 10, true, 500, o);
  EXPECT_GT(tree.tree, 48e6);
  EXPECT_LT(tree.peak(), plan.peak());
  o.algorithm = "quick";
  EXPECT_THROW(kopse::plan_memory(1000, 10, true, 5, o), kopse::usage_error);
}

TEST(guest, too_little_memory_is_told_before_any_is_taken) {
  if (exactness::sanitized) GTEST_SKIP() << "the address sanitizer takes all addresses";
  rlimit old{};
  ::getrlimit(RLIMIT_AS, &old);
  scenario<double> const s({.data = family::uniform, .seed = 1, .n = 5000, .k = 9});
  kopse::options o;
  o.algorithm = "elkan", o.threads = 1;
  rlimit const now{rlim_t{1} << 30, old.rlim_max};
  ::setrlimit(RLIMIT_AS, &now);
  std::string what;
  std::vector<double> wide(100000 * 2, 1.0);
  try {
    kopse::fit(kopse::point_set(matrix_view<double>(wide.data(), 100000, 2)), 9000, o);
  } catch (kopse::memory_error const& e) {
    what = e.what();
  }
  ::setrlimit(RLIMIT_AS, &old);
  EXPECT_TRUE(what.starts_with("not enough memory: the fit needs about ")) << what;
  EXPECT_TRUE(what.ends_with("are available")) << what;
}

} // namespace
