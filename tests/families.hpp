// SPDX-License-Identifier: BSD-3-Clause
// Seeded families of data, weights and starting centroids: each is a kind of input on which some k-means went
// wrong. All of it is a function of the seed alone (no distribution of the standard library, no libm).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kopse/matrix.hpp"

namespace families {

using kopse::index;
using kopse::matrix;

class random {
public:
  explicit random(std::uint64_t seed) : engine_(seed) {}
  /// In [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// In 0 .. bound - 1.
  index below(index bound) { return static_cast<index>(engine_() % static_cast<std::uint64_t>(bound)); }
  /// About normal: sums are the same on every machine, logarithms need not be.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit();
    return sum;
  }
  bool one_in(index n) { return below(n) == 0; }

private:
  std::mt19937_64 engine_;
};

enum class family {
  uniform,
  clustered,
  duplicates,
  few_distinct,
  lattice,
  collinear,
  outlier,
  offset_1e6,
  offset_1e9,
  skewed,
  tiny,
  large,
  spread,
  count
};
constexpr std::array<char const*, static_cast<std::size_t>(family::count)> family_names{
    "uniform",    "clustered",  "duplicates", "few_distinct", "lattice", "collinear", "outlier",
    "offset_1e6", "offset_1e9", "skewed",     "tiny",         "large",   "spread"};
inline std::string name(family f) { return family_names[static_cast<std::size_t>(f)]; }

/// A number of 53 random bits times 2^exponent.
inline double of_exponent(random& r, index exponent) {
  return std::ldexp(r.unit() - 0.5, static_cast<int>(exponent));
}

/// Exponents that squares and rows of `Real` can take: |x| <= 1e150, floats their own range.
template <class Real> struct extremes {
  static constexpr bool is_float = sizeof(Real) == sizeof(float);
  static constexpr double tiny = is_float ? 1e-42 : 1e-160, large = is_float ? 1e37 : 1e149;
  static constexpr double near_1e9 = is_float ? 4096 : 8; ///< floats are 64 apart there
  static constexpr index spread = is_float ? 120 : 450;
};

/// One coordinate of row i, before rows are copied from one another.
template <class Real> double coordinate(family f, random& r, index i, index j, double along) {
  switch (f) {
  case family::clustered:
    return static_cast<double>((i * 7 + j * 3) % 5) * 10 + r.normal();
  case family::lattice:
    return static_cast<double>(r.below(6));
  case family::collinear:
    return along * static_cast<double>(j + 1) + 3;
  case family::offset_1e6:
    return 1e6 + r.unit() * extremes<Real>::near_1e9 / 64;
  case family::offset_1e9:
    return 1e9 + r.unit() * extremes<Real>::near_1e9;
  case family::skewed:
    return r.normal() * std::array{1e-3, 1.0, 1e5, 1e2, 1e-1}[static_cast<std::size_t>(j % 5)];
  case family::tiny:
    return (r.unit() - 0.5) * extremes<Real>::tiny;
  case family::large:
    return (r.unit() - 0.5) * extremes<Real>::large;
  case family::spread:
    return of_exponent(r, r.below(2 * extremes<Real>::spread) - extremes<Real>::spread);
  default:
    return r.unit();
  }
}

template <class Real> matrix<Real> make_rows(family f, index n, index d, std::uint64_t seed) {
  random r(seed * 1000003 + static_cast<std::uint64_t>(f));
  matrix<Real> rows(n, d);
  index const distinct = f == family::few_distinct ? std::max<index>(1, n / 20) : n;
  for (index i = 0; i < n; ++i) {
    double const along = r.unit() * 100;
    bool const copies = i >= distinct || (f == family::duplicates && i > 0 && !r.one_in(3));
    index const source = copies ? r.below(std::min(i, distinct)) : i;
    for (index j = 0; j < d; ++j)
      rows(i, j) = copies ? rows(source, j) : static_cast<Real>(coordinate<Real>(f, r, i, j, along));
  }
  if (f == family::outlier)
    for (index j = 0; j < d; ++j) rows(r.below(n), j) = static_cast<Real>(1e7);
  return rows;
}

enum class weighting { none, integers, random, with_zeros, huge_spread, count };
constexpr std::array<char const*, static_cast<std::size_t>(weighting::count)> weighting_names{
    "none", "integers", "random", "with_zeros", "huge_spread"};
inline std::string name(weighting w) { return weighting_names[static_cast<std::size_t>(w)]; }

inline std::vector<double> make_weights(weighting w, index n, std::uint64_t seed) {
  random r(seed * 7919 + static_cast<std::uint64_t>(w));
  std::vector<double> weights(w == weighting::none ? 0 : static_cast<std::size_t>(n));
  for (double& x : weights) {
    if (w == weighting::integers)
      x = static_cast<double>(1 + r.below(9));
    else if (w == weighting::random)
      x = r.unit() + 1e-3;
    else if (w == weighting::with_zeros)
      x = r.one_in(2) ? 0.0 : r.unit() + 0.1;
    else
      x = std::abs(of_exponent(r, r.below(600) - 300)) + 1e-100;
  }
  if (w == weighting::with_zeros) weights[static_cast<std::size_t>(r.below(n))] = 1;
  return weights;
}

enum class start { rows, repeated, far, mixed, midpoints, equal, count };
constexpr std::array<char const*, static_cast<std::size_t>(start::count)> start_names{
    "rows", "repeated", "far", "mixed", "midpoints", "equal"};
inline std::string name(start s) { return start_names[static_cast<std::size_t>(s)]; }

/// rows: k random rows; repeated: few of them, many times; far: a third lies far away from all rows, so
/// clusters are empty; mixed: each coordinate of another row, ties on lattices; midpoints: of two rows, ties;
/// equal: all the same.
template <class Real>
matrix<double> make_start(start s, matrix<Real> const& rows, index k, std::uint64_t seed) {
  random r(seed * 104729 + static_cast<std::uint64_t>(s));
  index const n = rows.rows(), d = rows.cols();
  double largest = 0;
  for (index i = 0; i < n * d; ++i)
    largest = std::max(largest, std::abs(static_cast<double>(rows.row(0)[i])));
  std::vector<index> order(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<index>(i);
    std::swap(order[i], order[static_cast<std::size_t>(r.below(static_cast<index>(i) + 1))]);
  }
  matrix<double> centroids(k, d);
  for (index c = 0; c < k; ++c) {
    index const own = order[static_cast<std::size_t>(c % n)], other = r.below(n);
    index const few = order[static_cast<std::size_t>(r.below(std::max<index>(1, std::min(n, k / 3))))];
    bool const away = s == start::far && c % 3 == 1;
    for (index j = 0; j < d; ++j) {
      double const x = static_cast<double>(rows(own, j)), y = static_cast<double>(rows(other, j));
      double value = x;
      if (s == start::repeated) value = static_cast<double>(rows(few, j));
      if (s == start::mixed) value = static_cast<double>(rows(r.below(n), j));
      if (s == start::midpoints) value = x / 2 + y / 2;
      if (s == start::equal) value = static_cast<double>(rows(order[0], j));
      centroids(c, j) = away ? std::min(1e150, largest * (3 + static_cast<double>(c)) / 2) : value;
    }
  }
  return centroids;
}

} // namespace families
