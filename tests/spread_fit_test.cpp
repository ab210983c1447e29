// SPDX-License-Identifier: BSD-3-Clause
// fit() over partitions, each a thread: starts, weights, restarts, checkpoints and limits give what a fit of
// the whole gives, and where one cannot go on, all say so.
#include "partitions.hpp"

#include <cmath>
#include <limits>

#include "io_files.hpp"
#include "kopse/memory_plan.hpp"

namespace {

using namespace exactness;
using kopse::index;

/// What each partition has come to.
struct ending {
  kopse::result result;
  std::string fault;
  kopse::error_code code{};
};

/// Cut where begin_of() says; `change(options, part)` may make a partition differ.
template <class Real>
std::vector<ending> fit_parts(
    kopse::point_set<Real> points, index k, kopse::options const& o, std::size_t parts,
    std::function<void(kopse::options&, std::size_t)> const& change = [](auto&, auto) {}) {
  std::vector<ending> endings(parts);
  in_parts(parts, [&](kopse::reduction& all, std::size_t i) {
    index const n = points.size();
    kopse::options mine = o;
    change(mine, i);
    try {
      endings[i].result =
          kopse::fit(part_of(points, begin_of(i, parts, n), begin_of(i + 1, parts, n)), k, mine, all);
    } catch (kopse::error const& e) {
      endings[i].fault = e.what();
      endings[i].code = e.code();
    }
  });
  return endings;
}

AssertionResult same_trace(kopse::run_result const& got, kopse::run_result const& want) {
  AssertionResult r = same_count("length of the trace", std::ssize(got.trace), std::ssize(want.trace));
  for (std::size_t i = 0; r && i < want.trace.size(); ++i)
    r = all({same_count("labels changed", got.trace[i].labels_changed, want.trace[i].labels_changed),
             same_number("movement", got.trace[i].largest_movement, want.trace[i].largest_movement),
             same_number("inertia of it", got.trace[i].inertia, want.trace[i].inertia)});
  return r;
}

AssertionResult same_results(std::vector<ending> const& endings, kopse::result const& want) {
  std::vector<label> labels;
  for (ending const& e : endings) {
    if (!e.fault.empty()) return AssertionFailure() << e.fault;
    labels.insert(labels.end(), e.result.labels.begin(), e.result.labels.end());
    AssertionResult r = all({same_matrix(e.result.centroids.view(), want.centroids.view()),
                             same_number("inertia", e.result.inertia, want.inertia),
                             same_count("iterations", e.result.iterations, want.iterations),
                             same_count("restart", e.result.best_restart, want.best_restart),
                             same_count("empty clusters", e.result.empty_clusters, want.empty_clusters),
                             same_trace(e.result, want)});
    if (!r) return r;
  }
  return same_labels(labels, want.labels);
}

template <class Real> void starts_of_any_cut_are_those_of_the_whole() {
  std::size_t turn = 0;
  for (std::size_t f = 0; f < families::family_names.size(); ++f) {
    ++turn;
    if (thread_sanitized && turn % 3 != 0) continue;
    plan p{static_cast<family>(f), 70 + turn, 90, 9, 3};
    p.weights = static_cast<weighting>(turn % families::weighting_names.size());
    scenario<Real> const s(p);
    for (char const* init : {"random", "k-means++", "k-means||"})
      for (index const candidates : {1, 3}) {
        if (candidates > 1 && std::string_view(init) == "random") continue;
        kopse::options o;
        o.init = init, o.candidates = candidates, o.seed = turn, o.threads = 1, o.max_iter = 20;
        o.tol = turn % 2 ? 0 : 1e-4;
        o.restarts = turn % 3 == 0 ? 3 : 1;
        o.algorithm = "lloyd";
        kopse::result const want = kopse::fit(s.user_points(), 9, o);
        o.algorithm = turn % 2 ? "auto" : "frontier";
        for (std::size_t const parts : {1u, 2u, 3u, 5u})
          ASSERT_TRUE(same_results(fit_parts(s.user_points(), 9, o, parts), want))
              << s.name << ", " << init << ", " << candidates << " candidates, " << parts << " partitions";
      }
  }
}

TEST(spread_fit, starts_of_any_cut_are_those_of_the_whole_double) {
  starts_of_any_cut_are_those_of_the_whole<double>();
}
TEST(spread_fit, starts_of_any_cut_are_those_of_the_whole_float) {
  starts_of_any_cut_are_those_of_the_whole<float>();
}

TEST(spread_fit, inertia_is_that_of_the_whole) {
  for (std::size_t w = 0; w < families::weighting_names.size(); ++w) {
    plan p{family::clustered, 60 + w, 90, 9, 3};
    p.weights = static_cast<weighting>(w);
    scenario<float> const s(p);
    auto const points = s.user_points();
    double const want = kopse::inertia(points, s.start.view(), 1);
    for (std::size_t const parts : {2u, 3u, 5u})
      in_parts(parts, [&](kopse::reduction& all, std::size_t i) {
        auto const mine =
            part_of(points, begin_of(i, parts, points.size()), begin_of(i + 1, parts, points.size()));
        EXPECT_TRUE(same_number("inertia", kopse::inertia(mine, s.start.view(), all, 1), want)) << s.name;
      });
  }
}

TEST(spread_fit, inertia_that_cannot_be) {
  matrix<double> const rows(6, 1);
  std::vector<double> const none(6, 0.0);
  std::vector<std::string> faults(3);
  auto const try_all = [&](auto const& rows_of) {
    in_parts(3, [&](kopse::reduction& all, std::size_t i) {
      try {
        kopse::inertia(rows_of(i), matrix_view<double>(rows.row(0), 1, 1), all);
      } catch (kopse::error const& e) {
        faults[i] = e.what();
      }
    });
  };
  auto const two = [&](std::size_t i) { return rows.view().slice(index(i) * 2, index(i) * 2 + 2); };
  try_all([&](std::size_t i) { return kopse::point_set<double>(two(i), std::span(none).first(2)); });
  for (std::string const& fault : faults)
    EXPECT_EQ(fault, "all weights are zero: expected at least one row of weight > 0");
  matrix<double> wide(2, 2);
  try_all([&](std::size_t i) { return kopse::point_set<double>(i == 1 ? wide.view() : two(i)); });
  for (std::string const& fault : faults)
    EXPECT_EQ(fault, "partition 1 of 3 (counted from 0): the rows have 2 columns, the centroids 1");
}

TEST(spread_fit, more_clusters_than_distinct_rows) {
  scenario<double> const s({.data = family::duplicates, .seed = 4, .n = 60, .k = 20});
  for (char const* init : {"random", "k-means++", "k-means||"}) {
    kopse::options o;
    o.init = init, o.threads = 1;
    kopse::result const want = kopse::fit(s.user_points(), 40, o);
    for (std::size_t const parts : {2u, 5u})
      ASSERT_TRUE(same_results(fit_parts(s.user_points(), 40, o, parts), want)) << init;
  }
}

TEST(spread_fit, all_rows_in_one_of_them) {
  scenario<double> const s({.data = family::clustered, .seed = 5, .n = 80, .k = 6});
  kopse::options o;
  o.threads = 1;
  for (char const* init : {"random", "k-means++", "k-means||"}) {
    o.init = init;
    kopse::result const want = kopse::fit(s.user_points(), 6, o);
    for (std::size_t const who : {0u, 1u, 2u}) {
      std::vector<ending> endings(3);
      in_parts(3, [&](kopse::reduction& all, std::size_t i) {
        index const first = i > who ? 80 : 0, last = i < who ? 0 : 80;
        endings[i].result = kopse::fit(part_of(s.user_points(), first, last), 6, o, all);
      });
      ASSERT_TRUE(same_results(endings, want)) << init << ", partition " << who;
    }
  }
}

TEST(spread_fit, spherical_and_verified) {
  matrix<double> const rows = oracle::unit_lengths(families::make_rows<double>(family::clustered, 120, 3, 5));
  kopse::options o;
  o.spherical = o.verify = true, o.threads = 1;
  kopse::result const want = kopse::fit(rows.view(), 8, o);
  ASSERT_TRUE(same_results(fit_parts(kopse::point_set<double>(rows.view()), 8, o, 3), want));
}

TEST(spread_fit, under_a_limit_of_memory) {
  scenario<double> const s({.data = family::clustered, .seed = 5, .n = 5000, .k = 6});
  kopse::options o;
  o.threads = 1, o.max_iter = 5;
  kopse::result const want = kopse::fit(s.user_points(), 6, o);
  o.algorithm = "frontier";
  o.memory_limit = 1; // the least that the largest of them can do with, which others need not
  o.memory_limit = kopse::plan_memory(2500, 2, false, 6, o).ample();
  std::vector<ending> const endings = fit_parts(s.user_points(), 6, o, 3);
  ASSERT_TRUE(same_results(endings, want));
  EXPECT_EQ(endings[2].result.algorithm, "lloyd");
}

TEST(spread_fit, work_is_that_of_all) {
  scenario<double> const s({.data = family::uniform, .seed = 6, .n = 200, .k = 7});
  kopse::options o;
  o.algorithm = "lloyd", o.threads = 1;
  kopse::result const want = kopse::fit(s.user_points(), 7, o);
  for (ending const& e : fit_parts(s.user_points(), 7, o, 5))
    for (std::size_t i = 0; i < want.trace.size(); ++i)
      EXPECT_EQ(e.result.trace[i].work.distances, want.trace[i].work.distances);
}

// ---------------------------------------------------------------- what cannot be

struct refusals : testing::Test {
  scenario<double> s{{.data = family::uniform, .seed = 1, .n = 100, .k = 5}};
  kopse::options o;
  refusals() { o.threads = 1; }

  template <class Change>
  void expect_fault(std::string const& what, kopse::error_code code, Change const& change) {
    std::vector<ending> const endings = fit_parts(s.user_points(), 5, o, 3, change);
    for (ending const& e : endings) {
      EXPECT_EQ(e.fault, what);
      EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(code));
    }
  }
  void expect_fault(std::string const& what, kopse::error_code code = kopse::error_code::input) {
    expect_fault(what, code, [](auto&, auto) {});
  }
};

TEST_F(refusals, a_value_in_one_partition_is_named_by_all) {
  s.rows(70, 1) = std::numeric_limits<double>::quiet_NaN();
  expect_fault("partition 2 of 3 (counted from 0): row 70, column 1 (counted from 0) is NaN: expected a "
               "finite number");
}

TEST_F(refusals, weights) {
  s.weights.assign(100, 0.0);
  expect_fault("all weights are zero: expected at least one row of weight > 0");
  s.weights[3] = 1; // the others of its partition, and all of the others, weigh nothing
  kopse::options alone = o;
  for (ending const& e : fit_parts(s.user_points(), 5, o, 3))
    EXPECT_TRUE(
        same_matrix(e.result.centroids.view(), kopse::fit(s.user_points(), 5, alone).centroids.view()));
  s.weights[40] = -1;
  expect_fault(
      "partition 1 of 3 (counted from 0): the weight of row 40 (counted from 0) is -1: expected a finite "
      "number >= 0");
}

TEST_F(refusals, usage_that_all_share_names_nobody) {
  o.max_iter = 0;
  expect_fault("max_iter = 0: expected at least 1", kopse::error_code::usage);
  o.max_iter = 300, o.init = "refined";
  expect_fault("init 'refined' is for rows in one place: expected k-means++, k-means||, random or starting "
               "centroids",
               kopse::error_code::usage);
}

TEST_F(refusals, other_options) {
  expect_fault("partition 1 of 3 (counted from 0) has other options as in partition 0 of 3 (counted from 0)",
               kopse::error_code::input, [](kopse::options& mine, std::size_t i) { mine.seed = i == 1; });
}

TEST_F(refusals, a_callback_that_throws) {
  expect_fault("partition 1 of 3 (counted from 0): enough", kopse::error_code::input,
               [](kopse::options& mine, std::size_t i) {
                 if (i == 1)
                   mine.on_iteration = [](index iteration, auto const&) {
                     if (iteration == 2) throw kopse::error("enough");
                   };
               });
}

TEST_F(refusals, a_stop_that_one_of_them_is_told) {
  std::atomic<bool> stop = false;
  expect_fault("interrupted", kopse::error_code::interrupted, [&](kopse::options& mine, std::size_t i) {
    if (i == 2) mine.stop = &stop;
    if (i == 0) mine.on_iteration = [&](index, auto const&) { stop = true; };
  });
}

TEST_F(refusals, other_columns_and_types) {
  matrix<double> const wide(10, 3), narrow(10, 2);
  matrix<float> const floats(10, 2);
  std::vector<std::string> faults(4);
  auto const attempt = [&](auto points, kopse::reduction& all, std::string& fault) {
    try {
      kopse::fit(points, 2, o, all);
    } catch (kopse::error const& e) {
      fault = e.what();
    }
  };
  in_parts(2, [&](kopse::reduction& all, std::size_t i) {
    attempt(kopse::point_set<double>(i == 0 ? narrow.view() : wide.view()), all, faults[i]);
  });
  in_parts(2, [&](kopse::reduction& all, std::size_t i) {
    if (i == 0)
      attempt(kopse::point_set<double>(narrow.view()), all, faults[2]);
    else
      attempt(kopse::point_set<float>(floats.view()), all, faults[3]);
  });
  std::string const second = "partition 1 of 2 (counted from 0)", first = "partition 0 of 2 (counted from 0)";
  for (std::size_t const i : {0u, 1u})
    EXPECT_EQ(faults[i], second + " has rows of 3 columns, expected 2 as in " + first);
  for (std::size_t const i : {2u, 3u})
    EXPECT_EQ(faults[i], second + " has rows of float32, expected float64 as in " + first);
}

// ---------------------------------------------------------------- long runs

struct long_runs : testing::Test {
  scenario<double> s{{.data = family::uniform, .seed = 2, .n = 300, .k = 12}};
  kopse::options o;
  kopse::test::directory dir;
  long_runs() { o.threads = 1, o.restarts = 2; }
};

TEST_F(long_runs, a_checkpoint_goes_on_over_any_other_cut) {
  kopse::result const want = kopse::fit(s.user_points(), 12, o);
  std::size_t const cuts[] = {1, 2, 5, 3};
  for (std::size_t from = 0; from < std::size(cuts); ++from) {
    o.checkpoint.file = dir / ("from" + std::to_string(from) + ".ckpt");
    o.checkpoint.resume = false, o.checkpoint.every_iterations = 1;
    std::atomic<bool> stop = false;
    std::vector<ending> const stopped =
        fit_parts(s.user_points(), 12, o, cuts[from], [&](kopse::options& mine, std::size_t i) {
          mine.stop = &stop;
          if (i == 0) mine.on_iteration = [&](index iteration, auto const&) { stop = iteration == 3; };
        });
    EXPECT_EQ(stopped[0].fault,
              "interrupted: the checkpoint " + o.checkpoint.file + " is of iteration 3 of run 1");
    o.checkpoint.resume = true;
    std::vector<ending> const done = fit_parts(s.user_points(), 12, o, cuts[(from + 1) % std::size(cuts)]);
    ASSERT_TRUE(same_results(done, want)) << "from " << cuts[from] << " partitions";
    for (ending const& e : done) EXPECT_EQ(e.result.resumed->iteration, 3);
    ASSERT_TRUE(same_results(fit_parts(s.user_points(), 12, o, 3), want)) << "of a run that was over";
  }
}

TEST_F(long_runs, a_checkpoint_of_another_fit) {
  o.checkpoint.file = dir / "a.ckpt";
  fit_parts(s.user_points(), 12, o, 2);
  s.rows(299, 0) += 1;
  o.checkpoint.resume = true;
  for (ending const& e : fit_parts(s.user_points(), 12, o, 3))
    EXPECT_EQ(e.fault,
              o.checkpoint.file + ": the checkpoint is of another fit: the values of the data differ");
  o.checkpoint.resume = false;
  for (ending const& e : fit_parts(s.user_points(), 12, o, 3))
    EXPECT_EQ(e.fault, "partition 0 of 3 (counted from 0): the checkpoint " + o.checkpoint.file
                           + " is there already: resume from it, or remove it");
}

TEST_F(long_runs, a_limit_of_time_ends_all_at_once) {
  o.time_limit = 0, o.restarts = 3;
  kopse::result const want = kopse::fit(s.user_points(), 12, o);
  std::vector<ending> const endings = fit_parts(s.user_points(), 12, o, 3);
  ASSERT_TRUE(same_results(endings, want));
  for (ending const& e : endings) EXPECT_EQ(e.result.reason, kopse::stop_reason::time_limit);
}

} // namespace
