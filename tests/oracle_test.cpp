// SPDX-License-Identifier: BSD-3-Clause
// The oracle itself, on values worked out by hand and on what the machine's own division rounds.
#include "oracle.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace {

using kopse::empty_policy;
using kopse::index;
using kopse::label;
using kopse::matrix;
using kopse::stop_reason;

matrix<double> column(std::vector<double> const& values) {
  matrix<double> m(static_cast<index>(values.size()), 1);
  std::copy(values.begin(), values.end(), m.row(0));
  return m;
}

std::vector<double> values(matrix<double> const& m) { return {m.row(0), m.row(0) + m.rows() * m.cols()}; }

oracle::run lloyd(std::vector<double> const& x, std::vector<double> const& c, oracle::settings const& s = {},
                  std::vector<double> const& weights = {}) {
  matrix<double> const rows = column(x);
  return oracle::lloyd(rows.view(), weights, column(c), s);
}

using numbers = std::vector<double>;
using labels = std::vector<label>;

TEST(oracle, rounds_quotients_as_the_hardware_divides) {
  std::mt19937_64 bits(1);
  for (int i = 0; i < 200000; ++i) {
    double const a = std::bit_cast<double>(bits()), b = std::bit_cast<double>(bits());
    if (!std::isfinite(a) || !std::isfinite(b) || b == 0) continue;
    mpz_class const top = b < 0 ? -oracle::units(a) : oracle::units(a), bottom = abs(oracle::units(b));
    if (std::isinf(a / b))
      ASSERT_TRUE(std::isinf(oracle::rounded(top, bottom, 0)));
    else
      ASSERT_EQ(oracle::rounded(top, bottom, 0), a / b) << a << " / " << b;
  }
}

TEST(oracle, rounds_subnormal_quotients_as_the_hardware_divides) {
  std::mt19937_64 bits(2);
  for (int i = 0; i < 100000; ++i) {
    double const a = std::ldexp(static_cast<double>(bits() >> 11), -1074);
    double const b = std::ldexp(static_cast<double>((bits() >> 11) | 1), -static_cast<int>(bits() % 60));
    ASSERT_EQ(oracle::rounded(oracle::units(a), oracle::units(b), 0), a / b) << a << " / " << b;
  }
}

TEST(oracle, rounds_ties_to_even) {
  mpz_class const big = mpz_class(1) << 53;
  EXPECT_EQ(oracle::rounded(big + 1, 1, 0), 0x1p53);
  EXPECT_EQ(oracle::rounded(big + 3, 1, 0), 0x1p53 + 4);
  EXPECT_EQ(oracle::rounded(-big - 1, 1, 0), -0x1p53);
  EXPECT_EQ(oracle::rounded(2 * big - 1, 2, 0), 0x1p53); // carries into the next power of two
  EXPECT_EQ(oracle::rounded(1, 2, -1074), 0.0);
  EXPECT_EQ(oracle::rounded(3, 2, -1074), 0x1p-1073);
  EXPECT_EQ(oracle::rounded((big << 20) + (1 << 19), 1, -20), 0x1p53);
  EXPECT_EQ(oracle::rounded((big << 20) + (1 << 20) + 1, 1, -20), 0x1p53 + 2);
  EXPECT_EQ(oracle::rounded(1, 3, 0), 1.0 / 3);
  EXPECT_EQ(oracle::rounded(1, 1, 1024), std::numeric_limits<double>::infinity());
}

TEST(oracle, units_and_products_are_exact) {
  for (double const x : {1.0, -0.1, 5e-324, -2.5e-310, 1.7e308, 0.0, 3.0}) {
    EXPECT_EQ(oracle::rounded(oracle::units(x), 1, -1074), x);
    EXPECT_EQ(oracle::rounded(oracle::product(x, 1), 1, -2148), x);
  }
  mpz_class const square = oracle::product(0.1, 0.1); // 0.1 is 3602879701896397 / 2^55
  EXPECT_EQ(square, (mpz_class(3602879701896397L) * 3602879701896397L) << (2148 - 110));
}

TEST(oracle, H02_ties_go_to_the_lowest_index) {
  numbers x(1000), c(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  std::copy_n(x.begin(), 32, c.begin());
  oracle::settings const s{.max_iter = 10000};
  oracle::run const wide = lloyd(x, c, s);
  EXPECT_EQ(wide.inertia, 101040);
  EXPECT_EQ(wide.iterations, 571);
  x.resize(700);
  c.resize(8);
  oracle::run const narrow = lloyd(x, c, s);
  EXPECT_EQ(narrow.inertia, 447475);
  EXPECT_EQ(narrow.iterations, 98);
  EXPECT_EQ(narrow.reason, stop_reason::labels);
}

TEST(oracle, H04_empty_cluster_relocates_or_is_kept) {
  numbers const x{0, 1, 2, 10, 11, 12}, c{1, 11, 500};
  oracle::run const kept = lloyd(x, c, {.empty = empty_policy::keep});
  EXPECT_EQ(values(kept.centroids), (numbers{1, 11, 500}));
  EXPECT_EQ(kept.inertia, 4);
  EXPECT_EQ(kept.iterations, 2);
  EXPECT_EQ(kept.empty_clusters, 1);
  oracle::run const moved = lloyd(x, c);
  EXPECT_EQ(moved.passes[0].candidates.size(),
            4u); // rows 0, 2, 3, 5 all at distance 1: the lowest row is taken
  EXPECT_EQ(values(moved.passes[0].moved), (numbers{1.5, 11, 0}));
  EXPECT_EQ(moved.labels, (labels{2, 0, 0, 1, 1, 1}));
  EXPECT_EQ(moved.inertia, 2.5);
  EXPECT_EQ(moved.empty_clusters, 0);
}

TEST(oracle, donor_without_weight_keeps_its_centroid) {
  oracle::run const r = lloyd({0, 10}, {1, 10, 100});
  EXPECT_EQ(values(r.passes[0].moved), (numbers{1, 10, 0}));
  EXPECT_EQ(values(r.centroids), (numbers{1, 10, 0}));
  EXPECT_EQ(r.iterations, 3);
  EXPECT_EQ(r.inertia, 0);
  EXPECT_EQ(r.empty_clusters, 1);
}

TEST(oracle, several_empty_clusters_take_candidates_in_order) {
  // d² to centroid 0 at 0: 0 1 4 100 81; the clusters 1, 2 and 3 are empty.
  oracle::run const r = lloyd({0, 1, 2, -10, 9}, {0, 1000, 2000, 3000});
  EXPECT_EQ(values(r.passes[0].moved), (numbers{0.5, -10, 9, 2}));
  EXPECT_EQ(r.passes[0].relocations, 3);
}

TEST(oracle, equal_rows_are_their_own_mean) {
  oracle::run const r = lloyd({0.1, 0.1, 0.1, 1e9}, {0.1, 1e9, 0.1});
  EXPECT_EQ(r.iterations, 2);
  EXPECT_EQ(values(r.centroids), (numbers{0.1, 1e9, 0.1}));
  EXPECT_EQ(r.inertia, 0);
  oracle::run const weighted = lloyd({0.1, 0.1, 0.1}, {5}, {}, {0.3, 0.7, 1e-9});
  EXPECT_EQ(values(weighted.centroids), (numbers{0.1}));
}

TEST(oracle, H10_one_cluster) {
  oracle::run const r = lloyd({4, 1, 9, 16, 25}, {0});
  EXPECT_EQ(values(r.centroids), (numbers{11}));
  EXPECT_EQ(r.inertia, 374);
  EXPECT_EQ(values(lloyd({1, 2, 4}, {0}).centroids), (numbers{7.0 / 3}));
}

TEST(oracle, H13_stopped_at_max_iter_labels_belong_to_the_centroids) {
  oracle::run const r = lloyd({0, 1, 2, 3, 10}, {0, 1}, {.max_iter = 1});
  EXPECT_EQ(values(r.centroids), (numbers{0, 4}));
  EXPECT_EQ(r.labels, (labels{0, 0, 0, 1, 1})); // row 2 is as near to 0 as to 4
  EXPECT_EQ(r.inertia, 42);
  EXPECT_EQ(r.iterations, 1);
  EXPECT_EQ(r.reason, stop_reason::max_iter);
}

TEST(oracle, H15_H17_weights) {
  oracle::run const light = lloyd({0, 1, 10}, {0, 10}, {}, {1, 3, 1});
  EXPECT_EQ(values(light.centroids), (numbers{0.75, 10}));
  EXPECT_EQ(light.inertia, 0.75);
  numbers const x{0, 1, 2, 50, 51, 52}, c{1, 51}, w{1, 1, 1, 0, 0, 0};
  oracle::run const moved = lloyd(x, c, {}, w);
  EXPECT_EQ(moved.inertia, 0.5);
  oracle::run const kept = lloyd(x, c, {.empty = empty_policy::keep}, w);
  EXPECT_EQ(kept.inertia, 2);
  EXPECT_EQ(values(kept.centroids), (numbers{1, 51}));
}

TEST(oracle, tolerance_is_relative_to_the_variance) {
  numbers const x{0, 1, 2, 3, 10}, c{0, 1};
  EXPECT_EQ(oracle::variance(column(x).view(), 0), 12.56); // 114/5 - 3.2²
  // The first move is 3 and 0: 9 against tol · 12.56.
  oracle::run const stops = lloyd(x, c, {.tol = 0.72});
  EXPECT_EQ(stops.reason, stop_reason::tol);
  EXPECT_EQ(stops.iterations, 1);
  EXPECT_EQ(values(stops.centroids), (numbers{0, 4}));
  EXPECT_EQ(lloyd(x, c, {.tol = 0.71}).iterations, 2);
  EXPECT_EQ(lloyd(x, c).reason, stop_reason::labels);
}

TEST(oracle, weights_scale_by_powers_of_two) {
  oracle::scaled_weights const w(numbers{3e-200, 0, 1e-200}, 3);
  EXPECT_EQ(w.values[0], std::ldexp(3e-200, -w.exponent));
  EXPECT_GE(w.values[0], 1);
  EXPECT_LT(w.values[0], 2);
  numbers const x{0, 1, 5, 9}, c{0, 9}, light{1, 2, 3, 4};
  numbers heavy = light;
  for (double& h : heavy) h = std::ldexp(h, 100);
  EXPECT_EQ(lloyd(x, c, {}, heavy).inertia, std::ldexp(lloyd(x, c, {}, light).inertia, 100));
}

TEST(oracle, float_rows_are_measured_as_doubles) {
  matrix<float> rows(3, 1);
  rows(0, 0) = 16777216.0F, rows(1, 0) = 16777218.0F, rows(2, 0) = 0.1F;
  oracle::run const r = oracle::lloyd(rows.view(), {}, column({16777217, 0}), {});
  EXPECT_EQ(values(r.centroids), (numbers{16777217, static_cast<double>(0.1F)}));
  EXPECT_EQ(r.inertia, 2);
}

} // namespace
