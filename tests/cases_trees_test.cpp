// SPDX-License-Identifier: BSD-3-Clause
// Faults of other programs that run k-means over trees: crashes, lost points, owners lost between iterations,
// and work done in secret. One test each, for all algorithms that use a tree.
#include "cases.hpp"

namespace {

using namespace cases;
using kopse::index;

/// Calls f with every algorithm over a tree, every tree, and these leaf sizes.
void with_trees(std::initializer_list<index> leaf_sizes, std::function<void(config const&)> const& f) {
  for (config c : algorithms_and_trees()) {
    if (!c.uses_tree) continue;
    for (index const size : leaf_sizes) {
      c.leaf_size = size;
      SCOPED_TRACE(name(c));
      f(c);
    }
  }
}

std::unique_ptr<kopse::assignment_step> make_step(scenario<double> const& s, config const& c) {
  kopse::step_maker<double> maker(s.points(), kopse::summarise(s.points(), false).layout(), c.options());
  return maker.make(s.start.rows());
}

/// Gaussian clusters of random places, sizes and widths, as the data set birch3 has them; random rows to
/// start.
scenario<double> birch(index n, index k, oracle::settings const& settings) {
  families::random r(3);
  matrix<double> centre(100, 2), x(n, 2), start(k, 2);
  numbers width(100);
  for (index c = 0; c < 100; ++c) {
    centre(c, 0) = 100 * r.unit(), centre(c, 1) = 100 * r.unit();
    width[static_cast<std::size_t>(c)] = 4 * r.unit();
  }
  for (index i = 0; i < n; ++i) {
    index const c = std::max(r.below(100), r.below(100));
    for (index j = 0; j < 2; ++j) x(i, j) = centre(c, j) + width[static_cast<std::size_t>(c)] * r.normal();
  }
  for (index c = 0; c < k; ++c) std::copy_n(x.row(c * (n / k)), 2, start.row(c));
  return {"birch", std::move(x), std::move(start), settings};
}

TEST(trees, a_single_cluster_is_no_special_case) {
  scenario<double> s("k = 1", normal_rows(300, 3, 1), normal_rows(1, 3, 2), {.max_iter = 100});
  s.run_oracle();
  EXPECT_EQ(s.expected.iterations, 2);
  with_trees({1, 20, 1000}, [&](config const& c) {
    ASSERT_TRUE(check_fit(s, c));
    ASSERT_TRUE(check_steps(s, c));
  });
  scenario<double> one("n = k = 1", column({3}), column({7}), {.max_iter = 100});
  one.run_oracle();
  with_trees({1, 20}, [&](config const& c) { ASSERT_TRUE(check_fit(one, c)); });
}

TEST(trees, a_root_that_is_a_leaf_keeps_its_points) {
  for (index const n : {2, 19, 20, 21}) {
    scenario<double> s("root leaf", normal_rows(n, 2, 4), normal_rows(std::min<index>(n, 7), 2, 5),
                       {.max_iter = 100, .empty = empty_policy::keep});
    s.run_oracle();
    with_trees({20, 1000}, [&](config const& c) {
      ASSERT_TRUE(check_fit(s, c));
      ASSERT_TRUE(check_steps(s, c));
    });
  }
}

TEST(trees, centroids_that_are_neighbouring_doubles) {
  // No number lies between two of them, so no plane, and no ball but one of radius 0, parts the two.
  for (double const at : {1.0, 1e9, 0.0, 1e-310}) {
    for (index const d : {1, 3}) {
      matrix<double> x = normal_rows(200, d, 6, at), start(8, d);
      for (index c = 0; c < 8; ++c)
        for (index j = 0; j < d; ++j) start(c, j) = c < 2 ? at : std::nextafter(start(c - 2, j), 2e9);
      for (index i = 0; i < 8; ++i) std::copy_n(start.row(i), d, x.row(i));
      scenario<double> s("neighbours", std::move(x), std::move(start), {.max_iter = 5});
      s.run_oracle();
      with_trees({1, 20}, [&](config const& c) {
        ASSERT_TRUE(check_fit(s, c));
        ASSERT_TRUE(check_steps(s, c));
      });
    }
  }
}

TEST(trees, nodes_passed_over_keep_their_owner_in_every_iteration) {
  // Coalescing leaves nodes out of the view; what they own must not be lost, nor go to who owned it before.
  scenario<double> s = birch(sanitized ? 2500 : 20000, 250, {.max_iter = 10});
  s.run_oracle();
  with_trees({1, 20}, [&](config const& c) {
    auto const step = make_step(s, c);
    labels got(static_cast<std::size_t>(s.rows.rows()));
    for (std::size_t t = 0; t < s.passes.size(); ++t) {
      step->assign(s.passes[t].centroids.view());
      step->labels(got);
      ASSERT_TRUE(same_labels(got, s.passes[t].labels)) << "iteration " << t + 1;
    }
    ASSERT_TRUE(check_fit(s, c));
  });
}

TEST(trees, nodes_that_were_entered_keep_owner_and_bounds) {
  // Every second time the centroids are drawn together, and hardly a node has one owner; then they are back.
  scenario<double> s = birch(2000, 40, {});
  matrix<double> const home = s.start;
  matrix<double> together = home;
  for (index i = 0; i < 40 * 2; ++i) together.row(0)[i] = 50 + (home.row(0)[i] - 50) / 64;
  for (int round = 0; round < 4; ++round) s.visit(round % 2 ? together : home), s.visit(home);
  for (int round = 0; round < 18; ++round) s.visit(home); // leaves may have given up bounds for 15 iterations
  with_trees({1, 20}, [&](config const& c) {
    ASSERT_TRUE(check_steps(s, c));
    if (c.algorithm != "dualtree") return;
    auto const step = make_step(s, c);
    step->assign(home.view());
    index const first = step->work().node_scores;
    for (record const& p : s.passes) step->assign(p.centroids.view());
    EXPECT_LE(step->work().distances, 40 * 40); // gaps between centroids at most: no point is looked at again
    EXPECT_LT(step->work().node_scores, first);
  });
}

TEST(trees, labels_cost_no_pass_of_brute_force) {
  scenario<double> const s = birch(sanitized ? 2500 : 20000, 250, {});
  index const n = s.rows.rows(), all = n * 250;
  index const share = sanitized ? 2 : 10; // with ten rows a cluster whole nodes are screened
  with_trees({20}, [&](config const& c) {
    result const r = kopse::fit(point_set<double>(s.rows.view()), 250, from(c, s.start));
    ASSERT_TRUE(r.converged());
    index total = 0;
    for (kopse::iteration_record const& one : r.trace) total += one.work.distances;
    EXPECT_LT(total, all * r.iterations / (sanitized ? 2 : 20));
    EXPECT_EQ(r.trace.back().labels_changed, 0); // so its labels are the result's, and nothing followed it
    EXPECT_LT(r.trace.back().work.distances, all / share);
    // Nor is there a pass when labels are read, or when a run is stopped and assigns once more.
    auto const step = make_step(s, c);
    step->assign(s.start.view());
    step->assign(r.centroids.view());
    step->assign(r.centroids.view());
    index const before = step->work().distances;
    labels got(static_cast<std::size_t>(n));
    step->labels(got);
    EXPECT_EQ(got, r.labels);
    EXPECT_EQ(step->work().distances, before);
    EXPECT_LT(before, all / share);
  });
}

TEST(trees, give_the_same_with_and_without_the_rule_of_the_bisector) {
  scenario<double> s = birch(1500, 60, {.max_iter = 30});
  s.run_oracle();
  with_trees({1, 20}, [&](config const& c) {
    options o = from(c, s.start);
    o.max_iter = 30;
    o.bisector = false;
    result const r = kopse::fit(s.user_points(), 60, o);
    EXPECT_TRUE(all({same_labels(r.labels, s.expected.labels),
                     same_matrix(r.centroids.view(), s.expected.centroids.view())}));
    kopse::work_counters all;
    for (kopse::iteration_record const& one : r.trace) all += one.work;
    EXPECT_EQ(c.algorithm == "dualtree" ? all[kopse::prune_rule::bisector] : 0, 0);
  });
}

} // namespace
