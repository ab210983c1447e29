// SPDX-License-Identifier: BSD-3-Clause
// The regions of a tree's nodes: boxes and balls. All that is computed here is rounded outward by the slack
// of metric.hpp, so it holds whatever flags this is compiled with.
//
// A bound is a table with a row a node, which push() and append() lengthen. `rows` is anything with
// point(position): a tree, or a row_order.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kopse/kernels.hpp"
#include "kopse/matrix.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

// Of so few dimensions that the corners stay in registers.
template <index D, class Real, class Rows>
void enclose_few(Rows const& rows, point_range range, Real* low, Real* high) {
  std::array<Real, static_cast<std::size_t>(D)> least, most;
  std::copy_n(rows.point(range.first), D, least.begin());
  most = least;
  for (index i = range.first + 1; i < range.last; ++i) {
    Real const* const x = rows.point(i);
    for (std::size_t j = 0; j < least.size(); ++j) {
      least[j] = std::min(least[j], x[j]);
      most[j] = std::max(most[j], x[j]);
    }
  }
  std::copy_n(least.begin(), D, low);
  std::copy_n(most.begin(), D, high);
}

/// The smallest box around the points of a range: its corners are written to low and high.
template <class Real, class Rows>
void enclose(Rows const& rows, point_range range, index d, Real* low, Real* high) {
  if (d == 1) return enclose_few<1>(rows, range, low, high);
  if (d == 2) return enclose_few<2>(rows, range, low, high);
  if (d == 3) return enclose_few<3>(rows, range, low, high);
  if (d == 4) return enclose_few<4>(rows, range, low, high);
  std::copy_n(rows.point(range.first), d, low);
  std::copy_n(rows.point(range.first), d, high);
  for (index i = range.first + 1; i < range.last; ++i) {
    Real const* const x = rows.point(i);
    for (index j = 0; j < d; ++j) {
      low[j] = std::min(low[j], x[j]);
      high[j] = std::max(high[j], x[j]);
    }
  }
}

/// Axis-parallel boxes, the smallest around each node's points; 2·d numbers of the points' own type a node.
template <class Real> class boxes {
public:
  explicit boxes(index dims) : d_(dims), slack_(dims) {}

  index size() const { return static_cast<index>(corners_.size()) / (2 * d_); }
  /// The low corner of a node's box; the high one follows it.
  Real const* low(index node) const { return corners_.data() + node * 2 * d_; }
  Real const* high(index node) const { return low(node) + d_; }

  /// Appends the box of some points, which the caller knows.
  template <class Rows> void push(Rows const&, point_range, Real const* low, Real const* high) {
    corners_.insert(corners_.end(), low, low + d_);
    corners_.insert(corners_.end(), high, high + d_);
  }
  void append(boxes const& other) {
    corners_.insert(corners_.end(), other.corners_.begin(), other.corners_.end());
  }

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
    box_distances(low(node), high(node), d_, x, m, stride, slack_, lo2, hi2);
  }

  /// The least hi2 of distances(), and the first that has it; hi2 has room for whole vectors, as x has.
  nearest_column nearest(index node, double const* x, index m, index stride, double* hi2) const {
    return nearest_to_box(low(node), high(node), d_, x, m, stride, slack_, hi2);
  }

  /// At most d²(p, far) − d²(p, near) for every point p of the box, computed or true; near_hi2 is at least
  /// computed d²(p, near) for all of them. With g = far − near that is ‖g‖² − 2·g·(p − near), linear in p and
  /// a sum over dimensions, so it is least at one corner (D. Pelleg, A. Moore 1999; T. Kanungo et al. 2002).
  /// What is taken off is what rounding can do: to the squares at p γ·(far² + near²), and far² is at most
  /// 2·(‖g‖² + near²); to the sum here less than 2γ·(2·‖g‖² + ‖corner − near‖²), since 2·|g·(p − near)| is
  /// at most ‖g‖² + ‖p − near‖².
  double lead(index node, double const* near, double const* far, double near_hi2) const {
    Real const *const lo = low(node), *const hi = high(node);
    double least = 0, squares = 0, corner2 = 0;
    for (index j = 0; j < d_; ++j) {
      double const to_low = static_cast<double>(lo[j]) - near[j],
                   to_high = static_cast<double>(hi[j]) - near[j];
      double const g = far[j] - near[j];
      least += g * g - std::max(g * (2 * to_low), g * (2 * to_high));
      squares += g * g;
      corner2 += std::max(to_low * to_low, to_high * to_high);
    }
    return least - slack_.of_squares(near_hi2 + corner2, 2 * squares);
  }

  /// lead() over m points stored by dimension (coordinate j of point i at far[j·stride + i]), all at once.
  void leads(index node, double const* near, double const* far, index m, index stride, double near_hi2,
             double* out) const {
    box_leads(low(node), high(node), d_, near, far, m, stride, near_hi2, slack_, out);
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
    auto const add = [&](interval & sum, index j) __attribute__((always_inline)) {
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

/// Balls about the middle of the box around each node's points, or about a given point; d numbers of the
/// points' own type and 8 bytes a node.
template <class Real> class balls {
public:
  explicit balls(index dims) : d_(dims), slack_(dims) {}

  index size() const { return static_cast<index>(radii_.size()); }
  Real const* centre(index node) const { return centres_.data() + node * d_; }
  /// The true distance from the centre to each of the points is at most this.
  double radius(index node) const { return radii_[static_cast<std::size_t>(node)]; }

  /// Appends the ball of some points with a given box.
  template <class Rows> void push(Rows const& rows, point_range range, Real const* low, Real const* high) {
    for (index j = 0; j < d_; ++j)
      centres_.push_back(static_cast<Real>((static_cast<double>(low[j]) + static_cast<double>(high[j])) / 2));
    Real const* const c = centres_.data() + static_cast<index>(centres_.size()) - d_;
    double farthest2 = 0;
    for (index i = range.first; i < range.last; ++i)
      farthest2 = std::max(farthest2, square(rows.point(i), c));
    radii_.push_back(slack_.upper(farthest2));
  }
  void reserve(index nodes) {
    centres_.reserve(static_cast<std::size_t>(nodes * d_));
    radii_.reserve(static_cast<std::size_t>(nodes));
  }
  /// Appends the ball about a point that reaches to points whose computed d² from it are at most farthest2.
  void push(Real const* centre, double farthest2) {
    centres_.insert(centres_.end(), centre, centre + d_);
    radii_.push_back(slack_.upper(farthest2));
  }
  void append(balls const& other) {
    centres_.insert(centres_.end(), other.centres_.begin(), other.centres_.end());
    radii_.insert(radii_.end(), other.radii_.begin(), other.radii_.end());
  }

  /// Computed d² over all pairs of points of two balls: no nearer and no farther than the centres by both
  /// radii.
  template <class Other> interval distance(index node, balls<Other> const& others, index other) const {
    return within(square(others.centre(other), centre(node)), radius(node) + others.radius(other));
  }

  /// Computed d² from the points of a ball to x.
  interval distance(index node, double const* x) const {
    return within(square(x, centre(node)), radius(node));
  }

  /// distance() to m points stored by dimension (coordinate j of point i at x[j·stride + i]), all at once.
  void distances(index node, double const* x, index m, index stride, double* lo2, double* hi2) const {
    squares(node, x, m, stride, lo2);
    for (index i = 0; i < m; ++i) {
      interval const s = within(lo2[i], radius(node));
      lo2[i] = s.lo;
      hi2[i] = s.hi;
    }
  }

  /// As boxes::lead: d²(p, far) − d²(p, near), linear in p, is what it is at the centre, less at most its
  /// slope 2·‖far − near‖ times the radius.
  double lead(index node, double const* near, double const* far, double near_hi2) const {
    double lead;
    leads(node, near, far, 1, 1, near_hi2, &lead);
    return lead;
  }

  /// lead() over m points stored by dimension.
  void leads(index node, double const* near, double const* far, index m, index stride, double near_hi2,
             double* out) const {
    Real const* const c = centre(node);
    double const to_near = square(near, c), steepest = 2 * radius(node);
    for (index i = 0; i < m; ++i) {
      double to_far = 0, apart2 = 0;
      for (index j = 0; j < d_; ++j) {
        double const x = far[j * stride + i], from_centre = x - static_cast<double>(c[j]);
        to_far += from_centre * from_centre;
        apart2 += (x - near[j]) * (x - near[j]);
      }
      double const fall = slack_.up(steepest * slack_.upper(apart2));
      out[i] = to_far - to_near - fall - slack_.of_squares(near_hi2, to_far + to_near);
    }
  }

  /// The least hi2 of distances(), and the first that has it.
  nearest_column nearest(index node, double const* x, index m, index stride, double* hi2) const {
    squares(node, x, m, stride, hi2);
    index const which = std::min_element(hi2, hi2 + m) - hi2; // the nearest to the centre
    return {within(hi2[which], radius(node)).hi, which};
  }

  /// At most min w·p over the ball: w·centre − radius·‖w‖, less the rounding of the sum.
  double lowest(index node, double const* w) const {
    Real const* const c = centre(node);
    double sum = 0, magnitude = 0, norm2 = 0;
    for (index j = 0; j < d_; ++j) {
      double const term = w[j] * static_cast<double>(c[j]);
      sum += term;
      magnitude += std::abs(term);
      norm2 += w[j] * w[j];
    }
    double const reach = radius(node) * slack_.upper(norm2);
    return sum - reach - (magnitude + reach) * static_cast<double>(d_ + 3) * 0x1p-51 - 0x1p-1060;
  }

  /// Squared diameter.
  double extent(index node) const { return 4 * radius(node) * radius(node); }

private:
  // of computed d² over pairs that are at most `reach` nearer or farther than a true distance with computed
  // square d2. The slack of upper() and lower() has room for the roundings of the sum and the difference.
  interval within(double d2, double reach) const {
    return {slack_.squared_down(slack_.lower(d2) - reach), slack_.squared(slack_.upper(d2) + reach)};
  }
  // From the centre to m points stored by dimension.
  void squares(index node, double const* x, index m, index stride, double* out) const {
    Real const* const c = centre(node);
    std::fill_n(out, m, 0.0);
    for (index j = 0; j < d_; ++j, x += stride)
      for (index i = 0; i < m; ++i) {
        double const difference = x[i] - static_cast<double>(c[j]);
        out[i] += difference * difference;
      }
  }
  template <class A> double square(A const* a, Real const* b) const {
    double sum = 0;
    for (index j = 0; j < d_; ++j) {
      double const difference = static_cast<double>(a[j]) - static_cast<double>(b[j]);
      sum += difference * difference;
    }
    return sum;
  }

  index d_;
  slack slack_;
  std::vector<Real> centres_;
  std::vector<double> radii_;
};

} // namespace kopse
