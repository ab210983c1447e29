// SPDX-License-Identifier: BSD-3-Clause
// The regions of a tree's nodes. All squares here go through slack::outward: they hold whatever flags this is
// compiled with.
#pragma once

#include <algorithm>
#include <vector>

#include "kopse/matrix.hpp"
#include "kopse/metric.hpp"

namespace kopse {

/// Axis-parallel boxes, the smallest around each node's points; 2·d numbers of the points' own type a node.
template <class Real> class boxes {
public:
  explicit boxes(index dims) : d_(dims), slack_(dims) {}

  index size() const { return static_cast<index>(corners_.size()) / (2 * d_); }
  /// The low corner of a node's box; the high one follows it.
  Real const* low(index node) const { return corners_.data() + node * 2 * d_; }
  Real const* high(index node) const { return low(node) + d_; }

  /// Appends the box of rows [first, last).
  void push(matrix<Real> const& rows, index first, index last) {
    std::size_t const end = corners_.size();
    corners_.resize(end + static_cast<std::size_t>(2 * d_));
    Real* const lo = corners_.data() + end;
    Real* const hi = lo + d_;
    std::copy_n(rows.row(first), d_, lo);
    std::copy_n(rows.row(first), d_, hi);
    for (index i = first + 1; i < last; ++i) {
      Real const* const x = rows.row(i);
      for (index j = 0; j < d_; ++j) {
        lo[j] = std::min(lo[j], x[j]);
        hi[j] = std::max(hi[j], x[j]);
      }
    }
  }
  void shrink_to_fit() { corners_.shrink_to_fit(); }

  /// Computed d² over all pairs of points of two boxes: per dimension the least and the largest difference.
  template <class Other> interval distance(index node, boxes<Other> const& others, index other) const {
    Real const *const lo = low(node), *const hi = high(node);
    Other const *const other_lo = others.low(other), *const other_hi = others.high(other);
    interval sum{0, 0};
    for (index j = 0; j < d_; ++j) {
      double const below = static_cast<double>(other_lo[j]) - static_cast<double>(hi[j]);
      double const above = static_cast<double>(lo[j]) - static_cast<double>(other_hi[j]);
      double const gap = std::max(std::max(below, above), 0.0);
      double const span = -std::min(below, above);
      sum.lo += gap * gap;
      sum.hi += span * span;
    }
    return slack_.outward(sum);
  }

  /// Computed d² from the points of a box to x.
  interval distance(index node, double const* x) const {
    Real const *const lo = low(node), *const hi = high(node);
    interval sum{0, 0};
    for (index j = 0; j < d_; ++j) {
      double const below = x[j] - static_cast<double>(hi[j]);
      double const above = static_cast<double>(lo[j]) - x[j];
      double const gap = std::max(std::max(below, above), 0.0);
      double const span = -std::min(below, above);
      sum.lo += gap * gap;
      sum.hi += span * span;
    }
    return slack_.outward(sum);
  }

  /// At most min w·p over the box: in each dimension the corner that w points away from, less the rounding of
  /// the sum.
  double lowest(index node, double const* w) const {
    Real const *const lo = low(node), *const hi = high(node);
    double sum = 0, magnitude = 0;
    for (index j = 0; j < d_; ++j) {
      double const term = w[j] * static_cast<double>(w[j] > 0 ? lo[j] : hi[j]);
      sum += term;
      magnitude += std::abs(w[j])
                   * std::max(std::abs(static_cast<double>(lo[j])), std::abs(static_cast<double>(hi[j])));
    }
    return sum - magnitude * static_cast<double>(d_ + 3) * 0x1p-51 - 0x1p-1060;
  }

  /// Squared diagonal.
  double extent(index node) const {
    Real const *const lo = low(node), *const hi = high(node);
    double sum = 0;
    for (index j = 0; j < d_; ++j) {
      double const side = static_cast<double>(hi[j]) - static_cast<double>(lo[j]);
      sum += side * side;
    }
    return sum;
  }

private:
  index d_;
  slack slack_;
  std::vector<Real> corners_;
};

} // namespace kopse
