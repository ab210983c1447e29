// SPDX-License-Identifier: BSD-3-Clause
// Faults that users of some k-means met, in how it starts: each with a small input of our own, and what is
// right for it.
#include <set>

#include "cases.hpp"
#include "kopse/seeding.hpp"

namespace {

using namespace cases;
using kopse::index;
using kopse::seeding_options;

/// All the ways to start, by turn, with so many seeds each.
void for_each_start(std::uint64_t seeds, std::function<void(seeding_options const&)> const& f) {
  for (std::string_view const init : kopse::inits())
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      seeding_options o;
      o.init = init, o.seed = seed;
      SCOPED_TRACE(o.init + " seed " + std::to_string(seed));
      f(o);
    }
}

options starting(seeding_options const& s) {
  options o;
  o.init = s.init, o.seed = s.seed;
  return o;
}

// A draw against a total that was rounded ends past the last row, once in a while.
TEST(cases, H06_draws_are_on_rows_of_weight_that_are_no_centroid_yet) {
  families::random r(6);
  matrix<float> x(20000, 4);
  for (index i = 0; i < 80000; ++i) x.row(0)[i] = static_cast<float>(3e4 + 1e4 * r.unit());
  for (index i = 0; i < x.rows(); i += 7) std::copy_n(x.row(0), 4, x.row(i)); // some equal ones
  numbers w(20000, 1.0);
  for (std::size_t i = 1; i < w.size(); i += 3) w[i] = 0;
  auto const tree = kopse::build_tree(x.view());
  for (std::uint64_t seed = 0; seed < (sanitized ? 40 : 2000); ++seed) {
    seeding_options o;
    o.seed = seed, o.threads = 1;
    auto const got = kopse::seed(point_set<float>(x.view(), w), 6, o, tree);
    ASSERT_EQ(got.distinct, 6);
    for (std::size_t j = 0; j < 6; ++j) {
      index const row = got.rows[j];
      ASSERT_TRUE(row >= 0 && row < 20000) << row;
      ASSERT_GT(w[static_cast<std::size_t>(row)], 0);
      for (std::size_t i = 0; i < j; ++i)
        ASSERT_GT(kopse::squared_distance(x.row(row), got.centroids.row(static_cast<index>(i)), 4), 0);
    }
  }
}

// Fewer distinct rows than clusters.
TEST(cases, H07_fewer_distinct_rows_than_clusters) {
  matrix<double> const five = column(numbers(4, 5.0));
  matrix<double> const two = rows({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}});
  for_each_start(10, [&](seeding_options const& s) {
    for (auto const* const x : {&five, &two}) {
      index const k = x == &five ? 3 : 5, distinct = x == &five ? 1 : 2;
      result const got = kopse::fit(point_set<double>(x->view()), k, starting(s));
      EXPECT_TRUE(consistent(*x, got));
      EXPECT_EQ(got.inertia, 0);
      EXPECT_LT(got.iterations, 10);
      EXPECT_EQ(std::set<label>(got.labels.begin(), got.labels.end()).size(),
                static_cast<std::size_t>(distinct));
      ASSERT_EQ(got.warnings.size(), 1u);
      std::string const found = std::to_string(distinct) + " distinct",
                        asked = std::to_string(k) + " clusters";
      EXPECT_TRUE(names(got.warnings[0], {found.c_str(), asked.c_str()}));
    }
  });
  seeding_options o;
  auto const started = kopse::seed(point_set<double>(two.view()), 5, o);
  EXPECT_EQ(started.distinct, 2);
  ASSERT_EQ(started.warnings.size(), 1u);
  EXPECT_TRUE(names(started.warnings[0], {"2 distinct", "5 starting centroids"}));
}

// The grammar of one row; and rows so near that the square of their distance is 0 in double, which differ.
TEST(cases, H07_what_is_said_of_one_row_and_of_rows_that_underflow) {
  matrix<double> const tiny = column({1e-300, 2e-300, 3e-300, 4e-300});
  for (auto const& x : {column({7, 7, 7}), tiny}) {
    std::string const said = kopse::seed(point_set<double>(x.view()), 2).warnings.at(0);
    EXPECT_TRUE(names(said, {"only 1 distinct row was found",
                             "at distance 0 in double precision count as one", "2 starting centroids"}));
    EXPECT_TRUE(names(kopse::fit(point_set<double>(x.view()), 2).warnings.at(0),
                      {"only 1 distinct row was found", "at distance 0 in double precision count as one"}));
  }
}

// Few candidates, equal ones among them: the others come from all rows, and the rows are told all the same.
TEST(cases, H07_rows_of_k_means_parallel_where_its_rounds_find_too_few) {
  for (auto const& x : {column({0, 1, 1, 2, 3, 3, 3, 7}), column({7, 7, 8, 8, 8, 8})}) {
    seeding_options o;
    o.init = "k-means||", o.rounds = 1, o.oversampling = .3;
    index const k = 5;
    for (o.seed = 0; o.seed < 50; ++o.seed) {
      auto const got = kopse::seed(point_set<double>(x.view()), k, o);
      ASSERT_EQ(std::ssize(got.rows), k);
      for (index j = 0; j < k; ++j)
        EXPECT_EQ(x(got.rows[static_cast<std::size_t>(j)], 0), got.centroids(j, 0)) << o.seed;
      EXPECT_EQ(got.distinct, x.rows() == 8 ? 5 : 2) << o.seed;
      EXPECT_EQ(got.warnings.size(), x.rows() == 8 ? 0u : 1u);
    }
  }
}

// Rows enough, but equal ones among those drawn: told by seed(), and by the fit that begins there.
TEST(cases, H07_equal_centroids_where_there_are_more_distinct_rows) {
  matrix<double> const x = column({7, 7, 7, 7, 8, 9});
  for (char const* const init : {"random", "refined"}) {
    index told = 0;
    seeding_options o;
    o.init = init, o.samples = 1, o.sample_rows = 3;
    for (o.seed = 0; o.seed < 20; ++o.seed) {
      auto const got = kopse::seed(point_set<double>(x.view()), 3, o);
      numbers const drawn = values(got.centroids);
      index const distinct = std::ssize(std::set<double>(drawn.begin(), drawn.end()));
      ASSERT_EQ(got.distinct, distinct);
      if (o.init == "random") {
        ASSERT_EQ(got.warnings, kopse::fit(point_set<double>(x.view()), 3, starting(o)).warnings);
      }
      ASSERT_EQ(got.warnings.size(), distinct < 3 ? 1u : 0u);
      if (distinct == 3) continue;
      std::string const both = "equal centroids were drawn: only " + std::to_string(distinct) + " of the 3 ";
      EXPECT_TRUE(names(got.warnings[0], {both.c_str()}));
      ++told;
    }
    EXPECT_GT(told, 0) << init;
  }
}

// The same by way of rows that weigh nothing.
TEST(cases, H07_rows_without_weight_are_not_found) {
  matrix<double> const x = column({1, 2, 3, 4, 5});
  numbers const w = {0, 1, 0, 1, 0};
  for_each_start(10, [&](seeding_options const& s) {
    auto const got = kopse::seed(point_set<double>(x.view(), w), 4, s);
    EXPECT_EQ(got.centroids.rows(), 4);
    for (double const c : values(got.centroids)) EXPECT_TRUE(std::isfinite(c));
    if (s.init != "random") {
      EXPECT_EQ(got.distinct, 2);
    }
    EXPECT_EQ(kopse::fit(point_set<double>(x.view(), w), 4, starting(s)).inertia, 0);
  });
}

TEST(cases, H09_the_one_row_that_differs_is_found) {
  matrix<double> x(249, 3);
  for (index i = 0; i < 249; ++i) x(i, 0) = 1, x(i, 1) = 2, x(i, 2) = i == 248 ? 3.001 : 3;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    options o;
    o.seed = seed;
    result const got = kopse::fit(point_set<double>(x.view()), 2, o);
    EXPECT_EQ(got.inertia, 0) << seed;
    EXPECT_EQ(std::count(got.labels.begin(), got.labels.end(), got.labels[0]), 248) << seed;
  }
}

TEST(cases, H10_as_many_clusters_as_rows_and_one_in_every_start) {
  matrix<double> const x = column({4, 1, 9, 16, 25}), y = column({1, 2, 4});
  for_each_start(5, [&](seeding_options const& s) {
    result const all = kopse::fit(point_set<double>(x.view()), 5, starting(s));
    EXPECT_EQ(all.inertia, 0);
    EXPECT_EQ(std::set<label>(all.labels.begin(), all.labels.end()).size(), 5u);
    result const one = kopse::fit(point_set<double>(x.view()), 1, starting(s));
    EXPECT_EQ(one.centroids(0, 0), 11);
    EXPECT_EQ(one.inertia, 374);
    EXPECT_EQ(kopse::fit(point_set<double>(y.view()), 1, starting(s)).centroids(0, 0), 7. / 3);
  });
}

// A row number drawn from the number of columns.
TEST(cases, H12_every_row_may_be_the_first) {
  for (auto const& [n, d] : {std::pair<index, index>{5, 1000}, {1000, 5}}) {
    matrix<double> const x = normal_rows(n, d, 12);
    auto const tree = kopse::build_tree(x.view());
    std::set<index> first;
    for (std::uint64_t seed = 0; seed < 200 || (n == 1000 && seed < (sanitized ? 2000 : 12000)); ++seed) {
      seeding_options o;
      o.seed = seed, o.threads = 1;
      auto const got = kopse::seed(point_set<double>(x.view()), seed < 200 ? 2 : 1, o, tree);
      first.insert(got.rows[0]);
    }
    EXPECT_GE(std::ssize(first),
              n == 1000 && sanitized ? 800 : n); // 12,000 draws of 1,000: 1 missing in 160 tests
    EXPECT_GE(*first.begin(), 0);
    EXPECT_LT(*first.rbegin(), n);
  }
}

// A row as light as a feather, far away, gets no centroid.
TEST(cases, H16_weights_count_in_the_draw) {
  matrix<double> const x = column({0, 0, 0, 10, 10, 10, 1000, 1000});
  numbers const w = {1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e-6, 1e-6};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    options o;
    o.seed = seed;
    result const got = kopse::fit(point_set<double>(x.view(), w), 2, o);
    double const a = got.centroids(0, 0), b = got.centroids(1, 0), low = std::min(a, b),
                 high = std::max(a, b);
    EXPECT_EQ(low, 0) << seed;
    EXPECT_NEAR(high, 10, 1e-8) << seed;
    EXPECT_NEAR(got.inertia, 1.9602, 1e-9) << seed;
  }
}

} // namespace
