// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/point_set.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "input_checks.hpp"
#include "kopse/parallel.hpp"
#include "unit_length.hpp"

namespace kopse {

namespace {
constexpr index block_rows = 16384;

template <class Bad> void look_for(std::atomic<index>& found, index first, index last, Bad const& bad) {
  for (index i = first; i < std::min(last, found.load(std::memory_order_relaxed)); ++i) {
    if (!bad(i)) continue;
    for (index least = found.load(); i < least && !found.compare_exchange_weak(least, i);) {
    }
    return;
  }
}

// The first i in [0, n) for which bad(i), or n. After a fault only what lies before it is looked at.
template <class Bad> index first_of(index n, int threads, Bad const& bad) {
  std::atomic<index> found = n;
  for_blocks(n, block_rows, threads, [&](index first, index last) { look_for(found, first, last, bad); });
  return found;
}
// The same of rows, bad(i) looking at row i.
template <class Real, class Bad> index first_row(matrix_view<Real> rows, int threads, Bad const& bad) {
  std::atomic<index> found = rows.rows();
  for_blocks(rows.rows(), block_rows, threads, [&](index first, index last) {
    by_pages(rows, first, last, [&](index a, index b) { look_for(found, a, b, bad); });
  });
  return found;
}

bool good(double value) { return std::abs(value) <= largest_value; } // false for NaN too

[[noreturn]] void fail_at_value(index row, index column, double value) {
  throw error("row " + std::to_string(row) + ", column " + std::to_string(column) + " (counted from 0) is "
              + in_digits(value)
              + (std::isfinite(value)
                     ? ": too large, squared distances could overflow; expected magnitudes up to 1e150"
                     : ": expected a finite number"));
}

} // namespace

data_summary& data_summary::operator+=(data_summary const& other) {
  rows += other.rows;
  for (std::size_t j = 0; j < columns.size(); ++j) columns[j] += other.columns[j];
  weights += other.weights;
  for (std::size_t j = 0; j < variance.size(); ++j) variance[j] += other.variance[j];
  return *this;
}

template <class Real> void validate_part(point_set<Real> const& points, int threads) {
  index const n = points.size(), d = points.dims();
  auto const bad_row = [&](index i) {
    Real const* const x = points.rows.row(i);
    return !std::all_of(x, x + d, [](Real v) { return good(static_cast<double>(v)); });
  };
  if (index const i = first_row(points.rows, threads, bad_row); i < n) {
    Real const* const x = points.rows.row(i);
    index j = 0;
    while (good(static_cast<double>(x[j]))) ++j;
    fail_at_value(points.offset + i, j, static_cast<double>(x[j]));
  }
  if (points.weights.empty()) return;
  if (static_cast<index>(points.weights.size()) != n)
    throw error("there are " + std::to_string(points.weights.size()) + " weights for " + std::to_string(n)
                + " rows; expected one a row");
  auto const bad_weight = [&](index i) { return !(points.weight(i) >= 0) || std::isinf(points.weight(i)); };
  if (index const i = first_of(n, threads, bad_weight); i < n)
    throw error("the weight of row " + std::to_string(points.offset + i) + " (counted from 0) is "
                + in_digits(points.weight(i)) + ": expected a finite number >= 0");
}
template void validate_part<float>(point_set<float> const&, int);
template void validate_part<double>(point_set<double> const&, int);

void refuse_weights_of_zero() {
  throw error("all weights are zero: expected at least one row of weight > 0");
}

template <class Real> void validate(point_set<Real> const& points, int threads) {
  validate_part(points, threads);
  index const n = points.size();
  if (!points.weights.empty() && first_of(n, threads, [&](index i) { return points.weight(i) > 0; }) == n)
    refuse_weights_of_zero();
}
template void validate<float>(point_set<float> const&, int);
template void validate<double>(point_set<double> const&, int);

template <class Real> void check_directions(point_set<Real> const& points, int threads) {
  validate(points, threads);
  matrix_view<Real> const& rows = points.rows;
  auto const zero = [&](index i) {
    return std::all_of(rows.row(i), rows.row(i) + rows.cols(), [](Real v) { return v == 0; });
  };
  if (index const i = first_row(rows, threads, zero); i < rows.rows())
    throw error("row " + std::to_string(points.offset + i)
                + " (counted from 0) is all zeros: it has no direction; expected a value that is not 0");
}
template void check_directions(point_set<float> const&, int);
template void check_directions(point_set<double> const&, int);

void normalise_rows(matrix<double>& rows, int threads) {
  float_environment const environment;
  worker_scope const workers;
  index const n = rows.rows(), d = rows.cols();
  check_directions(point_set<double>(rows.view()), threads);
  for_blocks(n, block_rows, threads, [&](index first, index last) {
    for (index i = first; i < last; ++i) to_unit_length(rows.row(i), d);
  });
}

template <class Real> void check_unit_length(point_set<Real> const& points, int threads) {
  float_environment const environment;
  auto const squared_length = [&](index i) {
    double sum = 0;
    for (index j = 0; j < points.dims(); ++j) {
      double const x = static_cast<double>(points.rows(i, j));
      sum += x * x;
    }
    return sum;
  };
  auto const other = [&](index i) { return !(std::abs(squared_length(i) - 1) <= unit_tolerance); };
  if (index const i = first_row(points.rows, threads, other); i < points.size())
    throw error("row " + std::to_string(points.offset + i) + " (counted from 0) has length "
                + in_digits(std::sqrt(squared_length(i)))
                + ": expected 1, as spherical k-means is of directions");
}
template void check_unit_length<float>(point_set<float> const&, int);
template void check_unit_length<double>(point_set<double> const&, int);

namespace {
template <class Real>
void add_row(data_summary& summary, Real const* x, double row_weight, bool with_variance) {
  bit_range weight;
  weight.add(row_weight);
  summary.weights += weight;
  for (std::size_t j = 0; j < summary.columns.size(); ++j) {
    bit_range value;
    value.add(static_cast<double>(x[j]));
    if (!value.empty() && !weight.empty()) {
      // the trailing zeros of a product of integers add up, and so, at most, do the lengths
      value.lowest += weight.lowest;
      value.highest += weight.highest;
      summary.columns[j] += value;
    }
    if (with_variance) summary.variance[j].add(static_cast<double>(x[j]));
  }
}
} // namespace

template <class Real> data_summary summarise(point_set<Real> const& points, bool with_variance, int threads) {
  std::size_t const d = static_cast<std::size_t>(points.dims());
  auto const nothing = [&] {
    data_summary summary;
    summary.columns.resize(d);
    if (with_variance) summary.variance.resize(d);
    return summary;
  };
  per_thread<data_summary> summaries(nothing);
  for_blocks(points.size(), block_rows, threads, summaries,
             [&](data_summary& summary, index first, index last) {
               by_pages(points.rows, first, last, [&](index a, index b) {
                 for (index i = a; i < b; ++i)
                   add_row(summary, points.rows.row(i), points.weight(i), with_variance);
               });
             });
  data_summary whole = nothing();
  summaries.for_each([&](data_summary const& one) { whole += one; });
  whole.rows = points.size();
  return whole;
}
template data_summary summarise<float>(point_set<float> const&, bool, int);
template data_summary summarise<double>(point_set<double> const&, bool, int);

} // namespace kopse
