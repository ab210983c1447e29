// SPDX-License-Identifier: BSD-3-Clause
// Faults that users of k-means tools met, one test each (and its kind): where centroids go, and when a run
// ends.
#include "cases.hpp"

#include <set>

#include "kopse/seeding.hpp"

namespace {

using namespace cases;
using kopse::index;

TEST(cases, H01_bounds_know_of_relocated_centroids) {
  matrix<double> const x = load_data("heavy_tails.npy", 1500, 2);
  matrix<double> start = first_rows(x, 120);
  for (index c = 0; c < 6; ++c) start(c, 0) = start(c, 1) = 1e7 + static_cast<double>(c);
  oracle::run const run = expect_oracle("H01", x, start);
  EXPECT_NEAR(run.inertia, 17140.293087, 1e-6);
  EXPECT_EQ(run.iterations, 39);
  EXPECT_EQ(run.passes[0].relocations, 6);
}

TEST(cases, H02_ties_on_evenly_spaced_rows) {
  auto const spaced = [](index n) {
    matrix<double> m(n, 1);
    for (index i = 0; i < n; ++i) m(i, 0) = static_cast<double>(i);
    return m;
  };
  struct {
    index n, k, iterations;
    double inertia;
  } const expected[] = {{700, 8, 98, 447475.0}, {1000, 32, 571, 101040.0}};
  for (auto const& e : expected) {
    matrix<double> const x = spaced(e.n);
    with_all([&](config const& c) {
      if (sanitized && c.leaf_size != 7) return;
      result const r = kopse::fit(point_set<double>(x.view()), e.k, from(c, first_rows(x, e.k)));
      EXPECT_EQ(r.inertia, e.inertia);
      EXPECT_EQ(r.iterations, e.iterations);
      EXPECT_EQ(r.reason, stop_reason::labels);
    });
  }
  if (!sanitized) expect_oracle("H02", spaced(700), first_rows(spaced(700), 8));
}

TEST(cases, H03_starting_on_rows_is_no_convergence) {
  auto const x = rows({{0, 0},
                       {0, 2},
                       {2, 0},
                       {2, 2},
                       {10, 10},
                       {10, 12},
                       {12, 10},
                       {12, 12},
                       {20, 0},
                       {20, 2},
                       {22, 0},
                       {22, 2}});
  oracle::run const run = expect_oracle("H03", x, rows({{0, 0}, {10, 10}, {20, 0}}));
  EXPECT_EQ(values(run.centroids), (numbers{1, 1, 11, 11, 21, 1}));
  EXPECT_EQ(run.inertia, 24);
  EXPECT_GE(run.iterations, 2);
}

TEST(cases, H04_an_empty_cluster_leaves_the_others_alone) {
  matrix<double> const x = column({0, 1, 2, 10, 11, 12});
  oracle::run const kept = expect_oracle("H04 keep", x, column({1, 11, 500}), empty_policy::keep);
  EXPECT_EQ(values(kept.centroids), (numbers{1, 11, 500}));
  EXPECT_EQ(kept.inertia, 4);
  oracle::run const moved = expect_oracle("H04 relocate", x, column({1, 11, 500}));
  EXPECT_EQ(moved.empty_clusters, 0);
  EXPECT_EQ(moved.inertia, 2.5);
}

TEST(cases, H04_a_donor_without_weight_keeps_its_centroid) {
  // Row 0 alone is in cluster 0 and leaves it for cluster 2: centroid 0 stays at 1, and loses row 0 for good.
  oracle::run const run = expect_oracle("H04 donor", column({0, 10, 10}), column({1, 10, 100}));
  EXPECT_EQ(values(run.centroids), (numbers{1, 10, 0}));
  EXPECT_EQ(run.iterations, 3);
  // The same with all rows of a cluster given away, and with weights.
  matrix<double> const x = column({0, 4, 10, 11}), start = column({1, 10, 100, 200});
  EXPECT_EQ(expect_oracle("H04 two rows", x, start).passes[0].moved(0, 0), 1);
  expect_oracle("H04 weights", x, start, empty_policy::relocate, {1, 0, 3, 2});
  // A donor that gets its row back, and no other change: rows so near that squares vanish. Its mean is theirs
  // again.
  oracle::run const back = expect_oracle("H04 back", column({1e-163, 2e-163}), column({1e-160, 1}));
  EXPECT_EQ(back.passes[1].labels_changed, 0);
  EXPECT_DOUBLE_EQ(back.centroids(0, 0), 1.5e-163);
}

TEST(cases, H04_a_relocated_centroid_is_the_row_itself) {
  // Minus zero too; one pass, for the next makes means of single rows.
  matrix<double> const x = column({-0.0, 0.3, 5, 6});
  scenario<double> s("H04 minus zero", x, column({0.25, 5.5, 900}), {.max_iter = 1});
  expect_oracle(s);
  EXPECT_EQ(s.expected.passes[0].relocations, 1);
}

TEST(cases, H05_empty_clusters_make_no_NaN) {
  for (empty_policy const policy : {empty_policy::relocate, empty_policy::keep}) {
    oracle::run const far = expect_oracle("H05 far", column({0, 1}), column({0.5, 100}), policy);
    EXPECT_TRUE(std::isfinite(far.inertia));
    oracle::run const equal =
        expect_oracle("H05 equal starts", column({5, 5, 5, 7, 8, 14}), column({10, 10, 10}), policy);
    for (double const c : values(equal.centroids)) EXPECT_TRUE(std::isfinite(c));
  }
}

TEST(cases, H07_fewer_distinct_rows_than_clusters) {
  auto const one = rows({{5}, {5}, {5}, {5}}),
             two = rows({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}});
  with_all([&](config const& c) {
    options o = c.options();
    for (o.seed = 0; o.seed < 5; ++o.seed) {
      result const a = kopse::fit(point_set<double>(one.view()), 3, o),
                   b = kopse::fit(point_set<double>(two.view()), 5, o);
      EXPECT_EQ(a.inertia, 0);
      EXPECT_EQ(b.inertia, 0);
      EXPECT_EQ(a.labels, (labels{0, 0, 0, 0}));
      EXPECT_EQ(a.empty_clusters, 2);
      EXPECT_EQ(b.empty_clusters, 3);
      EXPECT_TRUE(consistent(one, a) && consistent(two, b));
      ASSERT_EQ(a.warnings.size(), 1u);
      ASSERT_EQ(b.warnings.size(), 1u);
      EXPECT_TRUE(names(a.warnings[0], {"1", "3", "distinct"}));
      EXPECT_TRUE(names(b.warnings[0], {"2", "5", "distinct"}));
    }
  });
}

TEST(cases, H08_relocation_ends_when_all_rows_are_at_their_centroids) {
  auto const x = rows({{0, 1}, {2, 0}, {1, 1}, {2, 0}, {1, 0}});
  oracle::run const run = expect_oracle("H08", x, rows({{0, 1}, {1, 1}, {1, 0}, {2, 0}, {2, 0}}));
  EXPECT_LT(run.iterations, 10);
  EXPECT_EQ(run.inertia, 0);
  auto const five = rows({{33, 40}, {1, 40}, {23, 25}, {31, 14}, {48, 2}});
  matrix<double> copies(40, 2);
  for (index i = 0; i < 40; ++i) std::copy_n(five.row(i % 5), 2, copies.row(i));
  with_all([&](config const& c) {
    options o = c.options();
    o.max_iter = 10000;
    for (o.seed = 0; o.seed < 12; ++o.seed) {
      result const r = kopse::fit(point_set<double>(copies.view()), 7, o);
      EXPECT_LT(r.iterations, 10);
      EXPECT_EQ(r.inertia, 0);
      EXPECT_FALSE(r.warnings.empty());
    }
  });
}

TEST(cases, H09_two_distinct_rows_are_two_clusters) {
  // Whatever rows it starts from: where both are equal, the other row is the farthest, and is moved to.
  matrix<double> x(249, 3);
  for (index i = 0; i < 249; ++i) x(i, 0) = 1, x(i, 1) = 2, x(i, 2) = i == 248 ? 3.001 : 3;
  with_all([&](config const& c) {
    options o = c.options();
    for (o.seed = 0; o.seed < 30; ++o.seed) {
      result const r = kopse::fit(point_set<double>(x.view()), 2, o);
      EXPECT_EQ(r.inertia, 0);
      EXPECT_EQ(std::count(r.labels.begin(), r.labels.end(), r.labels[248]), 1);
    }
  });
}

TEST(cases, H10_as_many_clusters_as_rows_and_one) {
  matrix<double> const x = column({4, 1, 9, 16, 25});
  EXPECT_EQ(expect_oracle("H10 k = n", x, x).inertia, 0);
  oracle::run const one = expect_oracle("H10 k = 1", x, column({4}));
  EXPECT_EQ(values(one.centroids), (numbers{11}));
  EXPECT_EQ(one.inertia, 374);
  oracle::run const third = expect_oracle("H10 thirds", column({1, 2, 4}), column({4}));
  EXPECT_EQ(values(third.centroids), (numbers{7.0 / 3}));
  EXPECT_NEAR(third.inertia, 14.0 / 3, 1e-14);
  with_all([&](config const& c) {
    options o = c.options();
    result const all = kopse::fit(point_set<double>(x.view()), 5, o);
    EXPECT_EQ(all.inertia, 0);
    EXPECT_EQ(std::set<label>(all.labels.begin(), all.labels.end()).size(), 5u);
    EXPECT_EQ(values(kopse::fit(point_set<double>(x.view()), 1, o).centroids), (numbers{11}));
  });
}

TEST(cases, H12_starts_are_drawn_from_all_rows) {
  std::set<index> few, many;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    few.insert(kopse::draw_rows(5, 2, seed, 0)[0]);
    many.insert(kopse::draw_rows(1000, 2, seed, 0)[0]);
  }
  EXPECT_EQ(few.size(), 5u);
  EXPECT_GT(many.size(), 150u);
  EXPECT_GT(*many.rbegin(), 950);
  for (auto const& x : {normal_rows(5, 1000, 1), normal_rows(1000, 5, 1)}) {
    options o;
    o.max_iter = 2;
    for (o.seed = 0; o.seed < 20; ++o.seed)
      EXPECT_TRUE(consistent(x, kopse::fit(point_set<double>(x.view()), 2, o)));
  }
}

TEST(cases, H13_labels_belong_to_the_returned_centroids) {
  scenario<double> s("H13", column({0, 1, 2, 3, 10}), column({0, 1}), {.max_iter = 1});
  expect_oracle(s);
  EXPECT_EQ(values(s.expected.centroids), (numbers{0, 4}));
  EXPECT_EQ(s.expected.labels, (labels{0, 0, 0, 1, 1})); // row 2 is as near to 0 as to 4
  EXPECT_EQ(s.expected.inertia, 42);
  with_all([&](config const& c) {
    options o = from(c, s.start);
    o.max_iter = 1;
    result const r = kopse::fit(s.user_points(), 2, o);
    EXPECT_EQ(r.labels, kopse::predict(s.rows.view(), r.centroids.view()));
  });
}

TEST(cases, H14_inertia_belongs_to_the_returned_centroids) {
  scenario<double> s("H14", column({0, 2, 10, 14}), column({0, 10}), {.max_iter = 1});
  expect_oracle(s);
  EXPECT_EQ(values(s.expected.centroids), (numbers{1, 12}));
  EXPECT_EQ(s.expected.inertia, 10);
  families::random r(0);
  matrix<double> x(sanitized ? 20000 : 300000, 1);
  for (index i = 0; i < x.rows(); ++i) x(i, 0) = -std::log1p(-r.unit());
  for (config const& c : algorithms_and_trees())
    EXPECT_TRUE(consistent(x, kopse::fit(point_set<double>(x.view()), 3, c.options()))) << name(c);
}

TEST(cases, H15_weights_count_in_the_inertia) {
  oracle::run const run =
      expect_oracle("H15", column({0, 1, 10}), column({0, 10}), empty_policy::relocate, {1, 3, 1});
  EXPECT_EQ(values(run.centroids), (numbers{0.75, 10}));
  EXPECT_EQ(run.inertia, 0.75);
}

TEST(cases, H17_rows_of_weight_zero_have_a_label_but_no_pull) {
  numbers const w{1, 1, 1, 0, 0, 0};
  matrix<double> const x = column({0, 1, 2, 50, 51, 52});
  oracle::run const moved = expect_oracle("H17 relocate", x, column({1, 51}), empty_policy::relocate, w);
  EXPECT_EQ(moved.inertia, 0.5);
  for (double const c : values(moved.centroids)) EXPECT_LE(c, 2); // never onto a row of weight 0
  oracle::run const kept = expect_oracle("H17 keep", x, column({1, 51}), empty_policy::keep, w);
  EXPECT_EQ(values(kept.centroids), (numbers{1, 51}));
  EXPECT_EQ(kept.inertia, 2);
  EXPECT_EQ(kept.empty_clusters, 1);
}

TEST(cases, H27_any_tolerance_runs_one_iteration) {
  scenario<double> s("H27", column({0, 1, 2, 3, 10}), column({0, 1}), {.max_iter = 10000, .tol = 1e300});
  expect_oracle(s);
  EXPECT_EQ(s.expected.iterations, 1);
  EXPECT_EQ(s.expected.reason, stop_reason::tol);
  EXPECT_EQ(values(s.expected.centroids), (numbers{0, 4}));
  auto const with_tol = [&](double tol) {
    options o = from(algorithms_and_trees()[0], s.start);
    o.tol = tol;
    return kopse::fit(s.user_points(), 2, o);
  };
  EXPECT_EQ(values(with_tol(HUGE_VAL).centroids), (numbers{0, 4}));
  EXPECT_TRUE(names(message<kopse::usage_error>([&] { with_tol(-1); }), {"-1"}));
  EXPECT_TRUE(names(message<kopse::usage_error>([&] { with_tol(std::nan("")); }), {"NaN"}));
}

TEST(cases, H28_a_run_without_tolerance_ends_when_labels_repeat) {
  matrix<double> const x = load_data("offset_normal.npy", 20000, 3);
  scenario<double> s("H28", x, first_rows(x, 40), {.max_iter = 10000});
  if (!sanitized) s.run_oracle();
  for (config const& c : algorithms_and_trees()) {
    if (sanitized && c.uses_tree && c.tree != "kd") continue;
    result const r = kopse::fit(s.user_points(), 40, from(c, s.start));
    EXPECT_EQ(r.iterations, 93) << name(c);
    EXPECT_EQ(r.reason, stop_reason::labels) << name(c);
    EXPECT_NEAR(r.inertia, 8006.7181010881, 1e-9) << name(c);
    EXPECT_TRUE(sanitized || check_fit(s, c));
  }
}

TEST(cases, H29_tolerance_is_relative_to_the_spread_of_the_data) {
  matrix<double> const x = normal_rows(400, 3, 0);
  matrix<double> large = x;
  for (index i = 0; i < 400 * 3; ++i) large.row(0)[i] *= 1024;
  for (double const tol : {1e-4, 1e-2}) {
    scenario<double> s("H29", x, first_rows(x, 7), {.max_iter = 10000, .tol = tol});
    expect_oracle(s);
    EXPECT_EQ(s.expected.reason, tol == 1e-4 ? stop_reason::labels : stop_reason::tol);
    with_all([&](config const& c) {
      options o = from(c, first_rows(large, 7));
      o.tol = tol;
      result const r = kopse::fit(point_set<double>(large.view()), 7, o);
      EXPECT_EQ(r.iterations, s.expected.iterations);
      EXPECT_EQ(r.labels, s.expected.labels);
      EXPECT_EQ(r.inertia, s.expected.inertia * 0x1p20);
    });
  }
}

TEST(cases, H30_max_iter_is_a_limit_and_reaching_it_a_result) {
  matrix<double> const few = normal_rows(10, 2, 1), many = normal_rows(500, 2, 1);
  with_all([&](config const& c) {
    options o = c.options();
    o.max_iter = 1234;
    result const r = kopse::fit(point_set<double>(few.view()), 3, o);
    EXPECT_LT(r.iterations, 20);
    EXPECT_TRUE(r.converged() && r.warnings.empty());
    for (o.max_iter = 1; o.max_iter <= 3; ++o.max_iter) {
      result const stopped = kopse::fit(point_set<double>(many.view()), 9, o);
      EXPECT_EQ(stopped.iterations, o.max_iter);
      EXPECT_EQ(stopped.reason, stop_reason::max_iter);
      EXPECT_EQ(stopped.warnings.size(), 1u);
      EXPECT_TRUE(consistent(many, stopped));
    }
  });
}

TEST(cases, H31_threads_leave_no_trace) {
  matrix<double> const x = normal_rows(sanitized ? 1003 : 5003, 7, 0);
  for (index const max_iter : {1, 100})
    for (config c : algorithms_and_trees()) {
      c.threads = 1;
      options o = c.options();
      o.max_iter = max_iter;
      result const first = kopse::fit(point_set<double>(x.view()), 11, o);
      for (int const threads : {1, 2, 3, 8})
        for (int time = 0; time < (sanitized ? 1 : 2); ++time) {
          o.threads = threads;
          result const again = kopse::fit(point_set<double>(x.view()), 11, o);
          EXPECT_TRUE(all({same_labels(again.labels, first.labels),
                           same_matrix(again.centroids.view(), first.centroids.view()),
                           same_number("inertia", again.inertia, first.inertia)}))
              << name(c) << " threads " << threads;
          EXPECT_EQ(again.iterations, first.iterations);
          for (std::size_t t = 0; t < first.trace.size(); ++t) // counters and all, seconds aside
            EXPECT_TRUE(same(again.trace[t].inertia, first.trace[t].inertia)
                        && same(again.trace[t].largest_movement, first.trace[t].largest_movement)
                        && again.trace[t].labels_changed == first.trace[t].labels_changed);
        }
    }
}

} // namespace
