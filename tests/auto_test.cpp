// SPDX-License-Identifier: BSD-3-Clause
// auto: whatever it chooses, and however often, labels and changes of sums are those of the oracle; it says
// what it chose, the same on any number of threads.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "exactness.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::index;

using choices = std::vector<std::pair<index, std::string>>;

config automatic(int threads = 1) { return {"auto", "kd", 20, threads}; }

template <class Real> std::unique_ptr<kopse::assignment_step> make(scenario<Real> const& s, config const& c) {
  kopse::step_maker<Real> maker(s.points(), kopse::summarise(s.points(), false).layout(), c.options());
  return maker.make(s.start.rows());
}

choices of(kopse::assignment_step const& step) {
  choices all;
  for (kopse::algorithm_choice const& c : step.choices()) all.emplace_back(c.iteration, c.algorithm);
  return all;
}

/// What a step chose, which has gone through all passes, each compared with the oracle.
template <class Real> choices right_choices(scenario<Real> const& s, config const& c = automatic()) {
  auto const step = make(s, c);
  EXPECT_TRUE(check_step(s, c, *step, kopse::summarise(s.points(), false).layout()));
  return of(*step);
}

// Evenly spread rows, of whose centroids all but one are far away at first: a tree prunes them. Then, in each
// pass, they are anywhere among the rows: neither a tree nor bounds help. In the end they rest.
scenario<double> gathering(index d, weighting weights, int passes) {
  scenario<double> s({.data = family::uniform, .seed = 4, .n = 4000, .k = 100, .d = d, .weights = weights});
  families::random r(5);
  matrix<double> far = s.start;
  for (index i = 1; i < 100; ++i) far(i, i % d) += 1e7 * static_cast<double>(i);
  s.visit(far);
  for (int pass = 0; pass < passes; ++pass) {
    for (index i = 0; i < 100; ++i) std::copy_n(s.rows.row(r.below(4000)), d, s.start.row(i));
    s.visit(s.start);
  }
  if (passes > 0) s.visit(s.start);
  return s;
}

TEST(automatic, chooses_by_shape_where_that_is_enough) {
  auto const first = [](index n, index k, index d) {
    scenario<double> s({.data = family::uniform, .seed = 1, .n = n, .k = k, .d = d});
    s.visit(s.start);
    choices const all = right_choices(s);
    return all.empty() ? "" : all.front().second;
  };
  EXPECT_EQ(first(500, 10, 4), "lloyd");
  EXPECT_EQ(first(500, 50, 4), "lloyd");
  EXPECT_EQ(first(500, 50, 3), "frontier");
  EXPECT_EQ(first(500, 15, 3), "lloyd");
  EXPECT_EQ(first(500, 50, 9), "lloyd");
  EXPECT_EQ(first(20000, 60, 2), "frontier");
  EXPECT_EQ(first(400, 40, 80), "dense");
  EXPECT_EQ(first(20000, 20, 8), "lloyd"); // a tree does not pay, nor do bounds
}

TEST(automatic, probes_whether_a_tree_would_pay) {
  scenario<double> spread({.data = family::uniform, .seed = 2, .n = 4000, .k = 100, .d = 12});
  spread.visit(spread.start);
  EXPECT_EQ(right_choices(spread), (choices{{1, "dense"}}));
  EXPECT_EQ(right_choices(gathering(12, weighting::none, 0)), (choices{{1, "frontier"}}));
}

TEST(automatic, leaves_a_tree_that_does_not_pay_and_bounds_that_do_not_hold) {
  for (weighting const weights : {weighting::none, weighting::random, weighting::with_zeros}) {
    scenario<double> const s = gathering(7, weights, 12);
    choices const expected{{1, "frontier"}, {4, "dense"}, {7, "lloyd"}};
    EXPECT_EQ(right_choices(s), expected);
    for (int const threads : {2, 3, 8}) EXPECT_EQ(right_choices(s, automatic(threads)), expected);
  }
}

TEST(automatic, stays_where_bounds_hold) {
  scenario<float> s({.data = family::clustered, .seed = 3, .n = sanitized ? 1500 : 3000, .k = 120, .d = 20});
  s.run_oracle();
  choices const all = right_choices(s);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(check_fit(s, automatic(2)));
}

TEST(automatic, counts_an_iteration_for_each_assignment_when_it_changes) {
  scenario<double> s = gathering(7, weighting::none, 12);
  auto const step = make(s, automatic());
  index changed = 0;
  for (record const& p : s.passes) {
    changed = step->assign(p.centroids.view()).labels_changed;
    EXPECT_GT(step->work().distances + step->work().node_scores, 0);
  }
  EXPECT_EQ(changed, 0); // the last passes are the same: not all labels, as a fresh step would say
}

TEST(automatic, takes_the_tree_it_is_given) {
  scenario<double> const s = gathering(12, weighting::none, 1);
  for (char const* name : {"ball", "cover"}) {
    auto const tree = kopse::build_tree(s.rows.view(), name, 20, 1);
    kopse::options o;
    o.centroids = s.passes[0].centroids, o.max_iter = 2;
    kopse::result const r = kopse::fit(s.user_points(), 100, o, tree);
    EXPECT_EQ(r.tree, name);
    EXPECT_EQ(r.algorithm, "auto");
    ASSERT_FALSE(r.choices.empty());
    EXPECT_EQ(r.choices[0].algorithm, "frontier");
    EXPECT_FALSE(r.choices[0].why.empty());
  }
}

TEST(automatic, says_nothing_of_a_tree_that_only_the_start_used) {
  scenario<double> s({.data = family::uniform, .seed = 2, .n = 4000, .k = 100, .d = 12});
  kopse::options o;
  o.max_iter = 2;
  kopse::result const r = kopse::fit(s.user_points(), 100, o);
  EXPECT_EQ(r.tree, "");
  EXPECT_EQ(r.choices.front().algorithm, "dense");
}

TEST(automatic, is_line_for_one_column) {
  scenario<double> s({.data = family::uniform, .seed = 2, .n = 300, .k = 9, .d = 1});
  s.run_oracle();
  EXPECT_TRUE(check_steps(s, automatic()));
  kopse::options o;
  kopse::result const r = kopse::fit(s.user_points(), 9, o);
  ASSERT_EQ(r.choices.size(), 1U);
  EXPECT_EQ(r.choices[0].algorithm, "line");
  EXPECT_TRUE(kopse::fit(s.user_points(), 9, config{"line", "kd"}.options()).choices.empty());
}

TEST(automatic, refuses_a_tree_that_is_not_for_the_columns_whatever_it_chooses) {
  for (index const n : {20, 4000}) {
    scenario<double> const s({.data = family::uniform, .seed = 2, .n = n, .k = 9, .d = 17});
    kopse::options o;
    o.tree = "octree", o.centroids = s.start;
    EXPECT_THROW(kopse::fit(s.user_points(), 9, o), kopse::usage_error);
    o.algorithm = "lloyd"; // has none
    o.max_iter = 1;
    EXPECT_EQ(kopse::fit(s.user_points(), 9, o).tree, "");
  }
}

// 64 MiB more than the process has: the table of dense takes 96.
TEST(automatic, does_without_the_table_of_bounds_where_memory_is_short) {
  if (sanitized) GTEST_SKIP(); // sanitizers reserve terabytes
  scenario<float> s({.data = family::uniform, .seed = 2, .n = 350000, .k = 1080, .d = 70});
  kopse::step_maker<float> maker(s.points(), kopse::summarise(s.points(), false).layout(),
                                 automatic().options());
  auto const step = maker.make(1080);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  rlimit limited = old;
  limited.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  auto const changes = step->assign(s.start.view());
  setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(changes.labels_changed, 350000);
  ASSERT_EQ(of(*step), (choices{{1, "lloyd"}}));
  EXPECT_EQ(step->choices()[0].why, "too little memory for dense");
}

TEST(automatic, can_be_stopped) {
  scenario<double> const s = gathering(12, weighting::none, 1);
  std::atomic<bool> stop = true;
  kopse::options o = automatic().options();
  o.stop = &stop;
  kopse::step_maker<double> maker(s.points(), kopse::summarise(s.points(), false).layout(), o);
  EXPECT_THROW(maker.make(100)->assign(s.start.view()), kopse::interrupted);
}

TEST(automatic, takes_a_partition_without_rows) {
  matrix<double> const none(0, 5), centroids(3, 5);
  kopse::point_set<double> const points(none.view());
  kopse::step_maker<double> maker(points, kopse::summarise(points, false).layout(), kopse::options());
  EXPECT_EQ(maker.make(3)->assign(centroids.view()).labels_changed, 0);
}

} // namespace
