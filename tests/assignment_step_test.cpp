// SPDX-License-Identifier: BSD-3-Clause
// What a step promises besides the right labels: its own state, places in the whole, strides, counts of its
// work.
#include "exactness.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::index;

TEST(steps_of_one_maker, share_a_tree_and_nothing_else) {
  plan const p{.data = family::clustered, .seed = 3, .n = 200, .k = 10};
  scenario<double> s(p), t({.data = family::clustered, .seed = 3, .n = 200, .k = 3, .start = start::far});
  s.run_oracle(), t.run_oracle();
  for (config const& c : configs(0)) {
    kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
    kopse::step_maker<double> maker(s.points(), layout, c.options());
    maker.build();
    auto const first = maker.make(10), second = maker.make(3), third = maker.make(10);
    ASSERT_TRUE(check_step(s, c, *first, layout));
    ASSERT_TRUE(check_step(t, c, *second, layout));
    ASSERT_TRUE(check_step(s, c, *third, layout)); // as if nobody had been here
    ASSERT_TRUE(check_step(s, c, *maker.make(10), layout));
  }
}

TEST(steps, know_where_in_the_whole_their_rows_are) {
  scenario<double> s(
      {.data = family::uniform, .seed = 4, .n = 150, .weights = weighting::with_zeros, .start = start::far});
  s.run_oracle();
  for (config const& c : configs(1)) {
    kopse::point_set<double> points = s.points();
    points.offset = 1000000007;
    kopse::step_maker<double> maker(points, kopse::summarise(points, false).layout(), c.options());
    auto const step = maker.make(s.start.rows());
    step->assign(s.start.view());
    ASSERT_TRUE(same_farthest(*step, 10, s, s.passes[0], points.offset)) << name(c);
  }
}

TEST(steps, read_rows_with_a_stride) {
  scenario<float> s({.data = family::uniform, .seed = 5, .n = 120, .d = 3});
  s.run_oracle();
  matrix<float> wide(120, 8);
  for (index i = 0; i < 120; ++i)
    for (index j = 0; j < 8; ++j)
      wide(i, j) = j >= 2 && j < 5 ? s.rows(i, j - 2) : std::numeric_limits<float>::quiet_NaN();
  kopse::point_set<float> const points(wide.view().columns(2, 5));
  for (config const& c : configs(2)) {
    kopse::sum_layout const layout = kopse::summarise(points, false).layout();
    kopse::step_maker<float> maker(points, layout, c.options());
    ASSERT_TRUE(check_step(s, c, *maker.make(s.start.rows()), layout)) << name(c);
  }
}

TEST(steps, count_their_work) {
  scenario<double> s({.data = family::clustered, .seed = 6, .n = 3000, .k = 25, .d = 2});
  s.run_oracle();
  index const n = s.rows.rows(), k = s.start.rows();
  for (config const& c : algorithms_and_trees()) {
    kopse::step_maker<double> maker(s.points(), kopse::summarise(s.points(), false).layout(), c.options());
    auto const step = maker.make(k);
    kopse::work_counters all;
    for (record const& p : s.passes) {
      step->assign(p.centroids.view());
      all += step->work();
      if (c.algorithm == "lloyd") {
        ASSERT_EQ(step->work().distances, n * k);
      }
    }
    EXPECT_GT(all.distances, 0) << name(c);
    // An algorithm that never prunes passes every other test, and so does one whose rule never holds.
    if (c.algorithm != "lloyd") {
      EXPECT_LT(all.distances, n * k * s.expected.iterations / 3) << name(c);
    }
    using rule = kopse::prune_rule;
    for (rule const r : {rule::score, rule::owned_node, rule::static_node_gap, rule::static_node_bounds,
                         rule::static_point_gap, rule::static_point_bounds}) {
      EXPECT_TRUE(c.algorithm != "dualtree" || all[r] > 0) << name(c) << " " << kopse::name(r);
    }
  }
}

} // namespace
