// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/point_set.hpp"

#include <cmath>

namespace kopse {

namespace {
std::string describe(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return std::to_string(x);
}
} // namespace

data_summary& data_summary::operator+=(data_summary const& other) {
  rows += other.rows;
  for (std::size_t j = 0; j < columns.size(); ++j) columns[j] += other.columns[j];
  weights += other.weights;
  for (std::size_t j = 0; j < variance.size(); ++j) variance[j] += other.variance[j];
  return *this;
}

template <class Real> void validate(point_set<Real> const& points) {
  for (index i = 0; i < points.size(); ++i) {
    Real const* const x = points.rows.row(i);
    for (index j = 0; j < points.dims(); ++j) {
      double const v = static_cast<double>(x[j]);
      if (std::abs(v) <= largest_value) continue; // false for NaN too
      throw error("row " + std::to_string(points.offset + i) + ", column " + std::to_string(j)
                  + " (counted from 0) is " + describe(v)
                  + (std::isfinite(v)
                         ? ": too large, squared distances could overflow; expected magnitudes up to 1e150"
                         : ": expected a finite number"));
    }
  }
  if (points.weights.empty()) return;
  if (static_cast<index>(points.weights.size()) != points.size())
    throw error("there are " + std::to_string(points.weights.size()) + " weights for "
                + std::to_string(points.size()) + " rows; expected one a row");
  bool any = false;
  for (index i = 0; i < points.size(); ++i) {
    double const w = points.weight(i);
    if (!(w >= 0) || std::isinf(w))
      throw error("the weight of row " + std::to_string(points.offset + i) + " (counted from 0) is "
                  + describe(w) + ": expected a finite number >= 0");
    any = any || w > 0;
  }
  if (!any) throw error("all weights are 0: expected at least one row of weight > 0");
}
template void validate<float>(point_set<float> const&);
template void validate<double>(point_set<double> const&);

template <class Real> data_summary summarise(point_set<Real> const& points, bool with_variance) {
  std::size_t const d = static_cast<std::size_t>(points.dims());
  data_summary summary;
  summary.rows = points.size();
  summary.columns.resize(d);
  if (with_variance) summary.variance.resize(d);
  for (index i = 0; i < points.size(); ++i) {
    Real const* const x = points.rows.row(i);
    double const w = points.weight(i);
    bit_range weight;
    weight.add(w);
    summary.weights += weight;
    for (std::size_t j = 0; j < d; ++j) {
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
  return summary;
}
template data_summary summarise<float>(point_set<float> const&, bool);
template data_summary summarise<double>(point_set<double> const&, bool);

} // namespace kopse
