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
    return between(low(node), high(node), others.low(other), others.high(other));
  }

  /// Computed d² from the points of a box to x.
  interval distance(index node, double const* x) const { return between(low(node), high(node), x, x); }

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

  /// distance() to m points stored by dimension (coordinate j of point i at x[j·stride + i]), all at once.
  void distances(index node, double const* x, index m, index stride, double* lo2, double* hi2) const {
    Real const *const lo = low(node), *const hi = high(node);
    std::fill_n(lo2, m, 0.0);
    std::fill_n(hi2, m, 0.0);
    for (index j = 0; j < d_; ++j, x += stride) {
      double const low_j = static_cast<double>(lo[j]), high_j = static_cast<double>(hi[j]);
      for (index i = 0; i < m; ++i) {
        double const below = x[i] - high_j, above = low_j - x[i];
        double const apart = std::max(below, above), span = std::min(below, above);
        double const twice_gap = apart + std::abs(apart);
        lo2[i] += twice_gap * twice_gap;
        hi2[i] += span * span;
      }
    }
    for (index i = 0; i < m; ++i) {
      interval const s = slack_.outward({lo2[i] / 4, hi2[i]});
      lo2[i] = s.lo;
      hi2[i] = s.hi;
    }
  }

  /// Is computed d²(p, far) > computed d²(p, near) for every point p of the box? (False: perhaps not.)
  /// d²(p, far) − d²(p, near) is linear in p and a sum over dimensions, so it is least at one corner (D.
  /// Pelleg, A. Moore 1999; T. Kanungo et al. 2002); there it must exceed what rounding can do to the two
  /// squares at any p. With far² <= 3 near² at p (else there is nothing to show) that is 4γ·near², near² at
  /// most near_hi2, and γ of the squares at the corners.
  bool nearer(index node, double const* near, double const* far, double near_hi2) const {
    Real const *const lo = low(node), *const hi = high(node);
    double least = 0, squares = 0;
    for (index j = 0; j < d_; ++j) {
      double const l = static_cast<double>(lo[j]), h = static_cast<double>(hi[j]);
      double const low_far = (l - far[j]) * (l - far[j]), low_near = (l - near[j]) * (l - near[j]);
      double const high_far = (h - far[j]) * (h - far[j]), high_near = (h - near[j]) * (h - near[j]);
      least += std::min(low_far - low_near, high_far - high_near);
      squares += (low_far + low_near) + (high_far + high_near);
    }
    return least > slack_.of_squares(near_hi2, squares);
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
  // Two dimensions at a time, and no branch: this is where a dual-tree algorithm spends its time.
  template <class Other>
  interval between(Real const* lo, Real const* hi, Other const* other_lo, Other const* other_hi) const {
    interval even{0, 0}, odd{0, 0};
    auto const add = [&](interval& sum, index j) {
      double const below = static_cast<double>(other_lo[j]) - static_cast<double>(hi[j]);
      double const above = static_cast<double>(lo[j]) - static_cast<double>(other_hi[j]);
      double const apart = std::max(below, above), span = std::min(below, above);
      double const twice_gap = apart + std::abs(apart); // 0 where they overlap
      sum.lo += twice_gap * twice_gap;
      sum.hi += span * span;
    };
    index j = 0;
    for (; j + 1 < d_; j += 2) add(even, j), add(odd, j + 1);
    if (j < d_) add(even, j);
    return slack_.outward({(even.lo + odd.lo) / 4, even.hi + odd.hi});
  }

  index d_;
  slack slack_;
  std::vector<Real> corners_;
};

} // namespace kopse
