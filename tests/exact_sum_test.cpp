// SPDX-License-Identifier: BSD-3-Clause
// Exact sums against the integers of GMP: every bit, in any order, and back to zero.
#include "kopse/exact_sum.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "families.hpp"
#include "kopse/point_set.hpp"
#include "oracle.hpp"

namespace {

using families::family;
using families::weighting;
using kopse::exact_sum;
using kopse::exact_sums;
using kopse::exact_variance;
using kopse::index;
using kopse::matrix;
using kopse::point_set;
using kopse::sum_layout;

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// ---------------------------------------------------------------- exact_sum

struct kind {
  char const* name;
  double (*draw)(families::random&);
};
constexpr kind kinds[] = {
    {"unit", [](families::random& r) { return r.unit(); }},
    {"signed", [](families::random& r) { return r.unit() - 0.5; }},
    {"subnormal", [](families::random& r) { return std::ldexp(r.unit() - 0.5, -1030); }},
    {"large", [](families::random& r) { return (r.unit() - 0.5) * 1e150; }},
    {"small", [](families::random& r) { return (r.unit() - 0.5) * 1e-150; }},
    {"any", [](families::random& r) { return families::of_exponent(r, r.below(2040) - 1040); }},
    {"zero", [](families::random& r) { return r.one_in(2) ? 0.0 : -0.0; }},
};

std::vector<double> draw(kind const& k, std::size_t n, std::uint64_t seed) {
  families::random r(seed);
  std::vector<double> x(n);
  for (double& v : x) v = k.draw(r);
  return x;
}

double gmp_sum(std::vector<double> const& x) {
  mpz_class sum = 0;
  for (double v : x) sum += oracle::units(v);
  return oracle::rounded(sum, 1, -1074);
}

exact_sum sum_of(std::vector<double> const& x) {
  exact_sum sum;
  for (double v : x) sum.add(v);
  return sum;
}

void shuffle(std::vector<double>& x, families::random& r) {
  for (std::size_t i = 1; i < x.size(); ++i)
    std::swap(x[i], x[static_cast<std::size_t>(r.below(static_cast<index>(i + 1)))]);
}

TEST(exact_sum, equals_integer_arithmetic) {
  for (kind const& k : kinds)
    for (std::uint64_t seed = 0; seed < 40; ++seed)
      for (std::size_t const n : {1u, 2u, 3u, 17u, 200u}) {
        std::vector<double> const x = draw(k, n, seed);
        ASSERT_EQ(bits(sum_of(x).value()), bits(gmp_sum(x))) << k.name << " seed " << seed << " n " << n;
      }
}

TEST(exact_sum, cancels_to_nothing) {
  for (kind const& k : kinds) {
    families::random r(5);
    std::vector<double> x = draw(k, 100, 3);
    for (std::size_t i = 0; i < 100; ++i) x.push_back(-x[i]);
    shuffle(x, r);
    EXPECT_EQ(bits(sum_of(x).value()), 0u) << k.name;
    EXPECT_EQ(sum_of(x), exact_sum()) << k.name;
    x.push_back(1e-300);
    EXPECT_EQ(sum_of(x).value(), 1e-300) << k.name;
  }
}

TEST(exact_sum, knows_neither_order_nor_partition) {
  for (kind const& k : kinds) {
    families::random r(6);
    std::vector<double> x = draw(k, 300, 4);
    exact_sum const whole = sum_of(x);
    for (int trial = 0; trial < 5; ++trial) {
      shuffle(x, r);
      EXPECT_EQ(sum_of(x), whole) << k.name;
      auto const cut = x.begin() + r.below(301);
      exact_sum right = sum_of({cut, x.end()});
      right += sum_of({x.begin(), cut});
      EXPECT_EQ(right, whole) << k.name;
    }
  }
}

TEST(exact_sum, rounds_once_to_even) {
  EXPECT_EQ(sum_of({0x1p53, 1}).value(), 0x1p53);
  EXPECT_EQ(sum_of({0x1p53, 1, 0x1p-1074}).value(), 0x1p53 + 2);
  EXPECT_EQ(sum_of({0x1p53, 2, 1}).value(), 0x1p53 + 4);
  EXPECT_EQ(sum_of({-0x1p53, -1}).value(), -0x1p53);
  EXPECT_EQ(sum_of({-0x1p53, -1, -0x1p-1074}).value(), -0x1p53 - 2);
  EXPECT_EQ(sum_of({0x1p53, -0x1p-1}).value(), 0x1p53);
  EXPECT_EQ(sum_of({0x1p53, -0x1p-1, -0x1p-1074}).value(), 0x1p53 - 1);
  EXPECT_EQ(sum_of(std::vector<double>(10, 0.1)).value(), 1.0); // ten times the double 0.1 is 1 + 5.55e-17
  EXPECT_EQ(sum_of({5e-324, 5e-324, 5e-324}).value(), 1.5e-323);
}

TEST(exact_sum, leaves_the_range_of_double_and_comes_back) {
  double const most = std::numeric_limits<double>::max();
  exact_sum sum = sum_of({most, most, most});
  EXPECT_EQ(sum.value(), std::numeric_limits<double>::infinity());
  sum += sum_of({-most, -most});
  EXPECT_EQ(sum.value(), most);
  sum += sum_of({-most, -most});
  EXPECT_EQ(sum.value(), -most);
  sum.add(-most);
  EXPECT_EQ(sum.value(), -std::numeric_limits<double>::infinity());
  for (int i = 0; i < 40; ++i) sum += exact_sum(sum); // 2^40 times as much
  EXPECT_EQ(sum.value(), -std::numeric_limits<double>::infinity());
}

// ---------------------------------------------------------------- bit_range, sum_layout

TEST(bit_range, bounds_the_bits) {
  auto const of = [](std::initializer_list<double> xs) {
    kopse::bit_range range;
    for (double x : xs) range.add(x);
    return std::pair(range.lowest, range.highest);
  };
  EXPECT_EQ(of({1.0}), std::pair(0, 1));
  EXPECT_EQ(of({-0.75}), std::pair(-2, 0));
  EXPECT_EQ(of({3.0, 0.5}), std::pair(-1, 2));
  EXPECT_EQ(of({5e-324}), std::pair(-1074, -1073));
  EXPECT_EQ(of({1e150, 5e-324}).first, -1074);
  EXPECT_TRUE(kopse::bit_range().empty());
  kopse::bit_range zero, one;
  zero.add(0.0);
  EXPECT_TRUE(zero.empty());
  one.add(8.0);
  zero += one;
  EXPECT_EQ(zero.lowest, 3);
  EXPECT_EQ(zero.highest, 4);
}

/// The integer in a cell, in units of its column.
mpz_class decode(exact_sums const& sums, index row, index column) {
  std::size_t const words = static_cast<std::size_t>(sums.layout().words);
  auto const cell =
      sums.words().subspan(static_cast<std::size_t>(row * sums.layout().columns() + column) * words, words);
  mpz_class z;
  mpz_import(z.get_mpz_t(), words, -1, sizeof(std::uint64_t), 0, 0, cell.data());
  if (cell.back() >> 63) z -= mpz_class(1) << (64 * words);
  return z;
}

/// Exact value · 2^2148 of a cell.
mpz_class value(exact_sums const& sums, index row, index column) {
  return decode(sums, row, column) << static_cast<unsigned long>(
             sums.layout().unit[static_cast<std::size_t>(column)] + 2148);
}

TEST(sum_layout, holds_count_times_the_largest_at_every_width) {
  for (int low = 40; low < 400; ++low)
    for (index const n : {2, 3, 4, 7, 8, 15})
      for (double const sign : {1.0, -1.0}) {
        matrix<double> rows(n, 1); // all the largest but for one, the lowest bit of the table
        for (index i = 0; i < n; ++i) rows(i, 0) = sign * (i == 0 ? std::ldexp(1.0, -low) : 2 - 0x1p-52);
        kopse::bit_range column, weights;
        weights.add(1);
        for (index i = 0; i < n; ++i) column.add(rows(i, 0));
        exact_sums sums(sum_layout(std::span(&column, 1), weights, n), 1);
        mpz_class expected = 0;
        auto const add = [&](index i, int direction) {
          sums.add(0, rows.row(i), 1, direction);
          expected += direction * oracle::product(1, rows(i, 0));
          return value(sums, 0, 0) == expected;
        };
        for (index i = 0; i < n; ++i) ASSERT_TRUE(add(i, 1)) << "2^-" << low << " n " << n;
        for (index i = 0; i < n; ++i) ASSERT_TRUE(add(i, -1)) << "2^-" << low << " n " << n;
        for (index i = 0; i < n; ++i) ASSERT_TRUE(add(n - 1, 1)) << "2^-" << low << " n " << n;
      }
}

TEST(sum_layout, ordinary_data_need_two_words) {
  matrix<double> const rows = families::make_rows<double>(family::uniform, 5000, 3, 1);
  EXPECT_EQ(kopse::summarise(point_set<double>(rows.view()), false).layout().words, 2);
  matrix<double> const wide = families::make_rows<double>(family::spread, 500, 3, 1);
  EXPECT_GT(kopse::summarise(point_set<double>(wide.view()), false).layout().words, 10);
}

TEST(sum_layout, columns_of_zeros_are_no_trouble) {
  matrix<double> const rows(4, 2);
  sum_layout const layout = kopse::summarise(point_set<double>(rows.view()), false).layout();
  exact_sums sums(layout, 1);
  for (index i = 0; i < 4; ++i) sums.add(0, rows.row(i), 1, 1);
  double mean[2] = {1, 1};
  sums.mean(0, mean);
  EXPECT_EQ(bits(mean[0]), 0u);
  EXPECT_EQ(bits(mean[1]), 0u);
  EXPECT_EQ(sums.weight(0), 4);
  EXPECT_FALSE(sums.weightless(0));
  EXPECT_FALSE(sums.is_zero(0));
}

TEST(sum_layout, of_partitions_is_that_of_the_whole) {
  for (weighting const w : {weighting::none, weighting::huge_spread, weighting::with_zeros}) {
    matrix<double> const rows = families::make_rows<double>(family::skewed, 90, 3, 2);
    std::vector<double> const weights = families::make_weights(w, 90, 2);
    auto const part = [&](index first, index last) {
      std::span<double const> const all(weights);
      auto const own =
          all.empty() ? all
                      : all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
      return kopse::summarise(point_set<double>(rows.view().slice(first, last), own, first), true);
    };
    kopse::data_summary whole = part(0, 90), sum = part(50, 90);
    sum += part(0, 10);
    sum += part(10, 10);
    sum += part(10, 50);
    EXPECT_EQ(sum.rows, 90);
    EXPECT_EQ(sum.layout().words, whole.layout().words);
    EXPECT_EQ(sum.layout().unit, whole.layout().unit);
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_EQ(bits(sum.variance[j].value()), bits(whole.variance[j].value()));
  }
}

// ---------------------------------------------------------------- exact_sums

template <class Real> struct sample {
  matrix<Real> rows;
  std::vector<double> weights;
  point_set<Real> points;
  sum_layout layout;
  std::string name;
  sample(family f, weighting w, index n, index d, std::uint64_t seed)
      : rows(families::make_rows<Real>(f, n, d, seed)),
        weights(oracle::scaled_weights(families::make_weights(w, n, seed), n).values),
        points(rows.view(), weights),
        name(families::name(f) + " weights " + families::name(w) + " seed " + std::to_string(seed)) {
    if (w == weighting::none) points.weights = {};
    layout = kopse::summarise(points, false).layout();
  }
  void add(exact_sums& sums, index row, index i, int sign) const {
    sums.add(row, rows.row(i), points.weight(i), sign);
  }
};

template <class Real, class Check> void for_samples(Check const& check) {
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (std::size_t w = 0; w < families::weighting_names.size(); ++w)
      for (std::uint64_t seed = 0; seed < 3; ++seed)
        check(sample<Real>(static_cast<family>(f), static_cast<weighting>(w), 60, 3, seed));
}

template <class Real> void means_are_rationals_rounded_once(sample<Real> const& s) {
  index const k = 4, d = s.rows.cols();
  exact_sums sums(s.layout, k);
  oracle::totals totals(k, d);
  families::random r(9);
  for (index i = 0; i < s.rows.rows(); ++i) {
    index const c = r.below(k);
    s.add(sums, c, i, 1);
    totals.add(c, s.rows.row(i), s.points.weight(i));
  }
  for (index c = 0; c < k; ++c) {
    ASSERT_EQ(sums.weightless(c), totals.empty(c)) << s.name;
    ASSERT_EQ(bits(sums.weight(c)), bits(totals.weight(c))) << s.name;
    if (totals.empty(c)) continue;
    std::vector<double> mean(static_cast<std::size_t>(d));
    sums.mean(c, mean.data());
    for (index j = 0; j < d; ++j)
      ASSERT_EQ(bits(mean[static_cast<std::size_t>(j)]), bits(totals.mean(c, j)))
          << s.name << " cluster " << c << " column " << j;
  }
}

TEST(exact_sums, means_are_rationals_rounded_once) {
  for_samples<double>([](auto const& s) { means_are_rationals_rounded_once(s); });
  for_samples<float>([](auto const& s) { means_are_rationals_rounded_once(s); });
}

template <class Real> void words_are_the_integers(sample<Real> const& s) {
  exact_sums sums(s.layout, 2);
  index const d = s.rows.cols();
  std::vector<mpz_class> expected(static_cast<std::size_t>(d + 1));
  for (index i = 0; i < s.rows.rows(); ++i) {
    s.add(sums, 1, i, i % 3 == 0 ? -1 : 1);
    for (index j = 0; j <= d; ++j) {
      double const x = j == d ? 1.0 : static_cast<double>(s.rows(i, j));
      expected[static_cast<std::size_t>(j)] += (i % 3 == 0 ? -1 : 1) * oracle::product(s.points.weight(i), x);
    }
  }
  for (index j = 0; j <= d; ++j) {
    ASSERT_EQ(value(sums, 1, j), expected[static_cast<std::size_t>(j)]) << s.name << " column " << j;
    ASSERT_EQ(decode(sums, 0, j), 0) << s.name;
  }
}

TEST(exact_sums, words_are_the_integers) {
  for_samples<double>([](auto const& s) { words_are_the_integers(s); });
  for_samples<float>([](auto const& s) { words_are_the_integers(s); });
}

TEST(exact_sums, order_and_partition_leave_no_trace) {
  for_samples<double>([](auto const& s) {
    index const n = s.rows.rows(), k = 3;
    exact_sums forward(s.layout, k), backward(s.layout, k), left(s.layout, k), right(s.layout, k);
    for (index i = 0; i < n; ++i) s.add(forward, i % k, i, 1);
    for (index i = n; i-- > 0;) s.add(backward, i % k, i, 1);
    for (index i = 0; i < n; ++i) s.add(i < n / 3 ? left : right, i % k, i, 1);
    left += right;
    ASSERT_EQ(forward, backward) << s.name;
    ASSERT_EQ(forward, left) << s.name;
  });
}

TEST(exact_sums, adding_then_taking_away_gives_zero) {
  for_samples<double>([](auto const& s) {
    exact_sums sums(s.layout, 1);
    for (index i = 0; i < s.rows.rows(); ++i) s.add(sums, 0, i, 1);
    for (index i = 0; i < s.rows.rows(); ++i) s.add(sums, 0, (i * 7 + 3) % s.rows.rows(), -1);
    ASSERT_TRUE(sums.is_zero(0)) << s.name;
    ASSERT_TRUE(sums.weightless(0)) << s.name;
    ASSERT_EQ(sums, exact_sums(s.layout, 1)) << s.name;
  });
}

TEST(exact_sums, rows_move_between_tables) {
  for_samples<double>([](auto const& s) {
    exact_sums a(s.layout, 3), b(s.layout, 2), both(s.layout, 1);
    for (index i = 0; i < 20; ++i) s.add(a, 1, i, 1), s.add(both, 0, i, 1);
    for (index i = 20; i < 50; ++i) s.add(b, 0, i, 1), s.add(both, 0, i, 1);
    exact_sums const only_b = b;
    b.add(0, a, 1, 1);
    b.assign(1, both, 0);
    b.add(1, b, 0, -1);
    ASSERT_TRUE(b.is_zero(1)) << s.name;
    b.add(0, a, 1, -1);
    ASSERT_EQ(b, only_b) << s.name;
    b.set_zero(0);
    ASSERT_TRUE(b.is_zero(0) && a.is_zero(0) && !a.is_zero(1) && a.is_zero(2)) << s.name;
  });
}

TEST(exact_sums, equal_rows_are_their_own_mean_whatever_they_weigh) {
  families::random r(11);
  for (int trial = 0; trial < 300; ++trial) {
    index const n = 1 + r.below(50);
    matrix<double> rows(n, 1);
    double const x = families::of_exponent(r, r.below(900) - 450);
    std::vector<double> const raw =
        families::make_weights(trial % 2 ? weighting::random : weighting::huge_spread, n, 7);
    std::vector<double> const weights = oracle::scaled_weights(raw, n).values;
    for (index i = 0; i < n; ++i) rows(i, 0) = x;
    point_set<double> const points(rows.view(), weights);
    exact_sums sums(kopse::summarise(points, false).layout(), 1);
    for (index i = 0; i < n; ++i) sums.add(0, rows.row(i), points.weight(i), 1);
    double mean = 0;
    sums.mean(0, &mean);
    ASSERT_EQ(mean, x) << trial;
  }
}

TEST(exact_sums, subnormal_means_are_rounded_once_too) {
  families::random r(12);
  for (int trial = 0; trial < 4000; ++trial) {
    index const n = 2 + r.below(6);
    matrix<double> rows(n, 1);
    std::vector<double> weights;
    for (index i = 0; i < n; ++i) {
      rows(i, 0) = families::of_exponent(r, -1022 - trial % 5);
      weights.push_back(trial % 2 ? 1.0 : r.unit() + 0.5);
    }
    point_set<double> const points(rows.view(), weights);
    exact_sums sums(kopse::summarise(points, false).layout(), 1);
    oracle::totals totals(1, 1);
    for (index i = 0; i < n; ++i) {
      sums.add(0, rows.row(i), points.weight(i), 1);
      totals.add(0, rows.row(i), points.weight(i));
    }
    double mean = 0;
    sums.mean(0, &mean);
    ASSERT_EQ(bits(mean), bits(totals.mean(0, 0))) << trial;
  }
}

TEST(exact_sums, mean_of_three_tenths_beside_a_huge_row) {
  matrix<double> rows(4, 1);
  rows(0, 0) = rows(1, 0) = rows(2, 0) = 0.1, rows(3, 0) = 1e9;
  exact_sums sums(kopse::summarise(point_set<double>(rows.view()), false).layout(), 2);
  for (index i = 0; i < 4; ++i) sums.add(0, rows.row(i), 1, 1);
  sums.add(0, rows.row(3), 1, -1);
  double mean = 0;
  sums.mean(0, &mean);
  EXPECT_EQ(mean, 0.1);
  EXPECT_EQ(sums.weight(0), 3);
}

// ---------------------------------------------------------------- exact_variance

TEST(exact_variance, equals_rational_arithmetic) {
  for (kind const& k : kinds) {
    if (std::string(k.name) == "any") continue; // its squares leave the range that rows may have
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (std::size_t const n : {1u, 2u, 3u, 50u}) {
        std::vector<double> const x = draw(k, n, seed);
        matrix<double> rows(static_cast<index>(n), 1);
        exact_variance left, right;
        for (std::size_t i = 0; i < n; ++i) {
          rows(static_cast<index>(i), 0) = x[i];
          (i % 2 ? left : right).add(x[i]);
        }
        left += right;
        ASSERT_EQ(bits(left.value()), bits(oracle::variance(rows.view(), 0)))
            << k.name << " seed " << seed << " n " << n;
      }
  }
}

TEST(exact_variance, survives_an_offset) {
  exact_variance v;
  for (double const x : {1e9, 1e9 + 1, 1e9 + 2}) v.add(x);
  EXPECT_EQ(v.value(), 2.0 / 3);
  exact_variance equal;
  for (int i = 0; i < 3; ++i) equal.add(0.1);
  EXPECT_EQ(bits(equal.value()), 0u);
}

} // namespace
