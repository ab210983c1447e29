// SPDX-License-Identifier: BSD-3-Clause
// Trees that cut each node in two: two kd-trees and the ball tree, each a bound and a rule for splitting.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kopse/tree/bound.hpp"
#include "kopse/tree/preorder_tree.hpp"

namespace kopse {

/// Cuts the widest side of a node's box at the median. Of the two cuts beside the median, where rows share
/// its coordinate, the more even one; so the depth stays below 2·log2 n + 2·d.
struct median_split {
  static void check(index) {}

  template <class Real>
  static void cut(row_order<Real>& rows, cell<Real> const& node, std::vector<index>& ends) {
    index const j = widest_side(node, rows.dims());
    std::vector<Real> values;
    values.reserve(static_cast<std::size_t>(node.points.size()));
    for (index i = node.points.first; i < node.points.last; ++i) values.push_back(rows.point(i)[j]);
    Real const value = even_cut(values);
    ends.push_back(rows.partition(node.points, [=](Real const* x) { return x[j] <= value; }));
  }

  /// The dimension in which a node's box is widest, the first among equals.
  template <class Real> static index widest_side(cell<Real> const& node, index d) {
    index widest = 0;
    for (index j = 1; j < d; ++j)
      if (side(node, j) > side(node, widest)) widest = j;
    return widest;
  }
  template <class Real> static double side(cell<Real> const& node, index j) {
    return static_cast<double>(node.high[j]) - static_cast<double>(node.low[j]);
  }

private:
  // The v for which {x <= v} is nearest to half of the values, which are not all equal, and not all of them.
  template <class Real> static Real even_cut(std::vector<Real>& values) {
    auto const middle = values.begin() + (static_cast<std::ptrdiff_t>(values.size()) - 1) / 2;
    std::nth_element(values.begin(), middle, values.end());
    Real const median = *middle;
    auto const equal = std::partition(values.begin(), middle, [=](Real x) { return x < median; });
    auto const above = std::partition(middle, values.end(), [=](Real x) { return x <= median; });
    if (equal == values.begin() || (above != values.end() && equal - values.begin() <= values.end() - above))
      return median;
    return *std::max_element(values.begin(), equal); // to the left of all that equal the median
  }
};

/// Cuts the widest side of a node's box in the middle: cells stay compact, which is what bounds live on. Deep
/// in the tree (data at many scales) it cuts at the median instead, so the depth stays below 100 + 2·log2 n +
/// 2·d.
struct midpoint_split {
  static constexpr int deep = 100;
  static void check(index) {}

  template <class Real>
  static void cut(row_order<Real>& rows, cell<Real> const& node, std::vector<index>& ends) {
    if (node.depth >= deep) return median_split::cut(rows, node, ends);
    index const j = median_split::widest_side(node, rows.dims());
    Real const value = middle(node.low[j], node.high[j]);
    ends.push_back(rows.partition(node.points, [=](Real const* x) { return x[j] <= value; }));
  }

  /// A number v with low <= v < high, halfway if there is one.
  template <class Real> static Real middle(Real low, Real high) {
    double const half = (static_cast<double>(high) - static_cast<double>(low)) / 2;
    Real const value = static_cast<Real>(static_cast<double>(low) + half);
    return value < high ? value : low;
  }
};

/// Cuts across the direction in which the points of a node spread most, halfway between the outermost: for
/// data that lie along directions of their own, as most in more than a few dimensions do. The direction comes
/// from two steps of the power method over a sample; where it spreads little more than the widest side of the
/// box, that side is cut instead.
struct spread_split {
  static constexpr index sample = 64;
  static constexpr double gain = 1.5; // the variance that is worth it, in those of the widest side
  static void check(index) {}

  template <class Real>
  static void cut(row_order<Real>& rows, cell<Real> const& node, std::vector<index>& ends) {
    std::vector<double> direction(static_cast<std::size_t>(rows.dims()));
    if (node.depth >= midpoint_split::deep || !widest_direction(rows, node, direction.data()))
      return midpoint_split::cut(rows, node, ends);
    auto const along = [&](Real const* x) {
      double sum = 0;
      for (std::size_t j = 0; j < direction.size(); ++j)
        sum += direction[j] * (static_cast<double>(x[j]) - static_cast<double>(node.low[j]));
      return sum;
    };
    double least = along(rows.point(node.points.first)), most = least;
    for (index i = node.points.first + 1; i < node.points.last; ++i) {
      double const at = along(rows.point(i));
      least = std::min(least, at);
      most = std::max(most, at);
    }
    if (!(least < most)) return midpoint_split::cut(rows, node, ends);
    double const middle = midpoint_split::middle(least, most);
    ends.push_back(rows.partition(node.points, [&](Real const* x) { return along(x) <= middle; }));
  }

private:
  // False if the widest side is about as good. Numbers are in units of that side: nothing overflows.
  template <class Real>
  static bool widest_direction(row_order<Real> const& rows, cell<Real> const& node, double* direction) {
    index const d = rows.dims(), step = std::max<index>(1, node.points.size() / sample);
    index const widest = median_split::widest_side(node, d);
    double const side = median_split::side(node, widest);
    std::vector<double> mean(static_cast<std::size_t>(d)), next(mean), x(mean);
    double count = 0;
    auto const for_sample = [&](auto const& f) {
      for (index i = node.points.first; i < node.points.last; i += step) {
        for (index j = 0; j < d; ++j)
          x[static_cast<std::size_t>(j)] =
              (static_cast<double>(rows.point(i)[j]) - static_cast<double>(node.low[j])) / side;
        f();
      }
    };
    for_sample([&] {
      for (std::size_t j = 0; j < x.size(); ++j) mean[j] += x[j];
      ++count;
    });
    for (double& m : mean) m /= count;
    std::fill_n(direction, d, 0.0);
    direction[widest] = 1;
    double variance_of_side = 0, variance = 0;
    for (int round = 0; round < 2; ++round) {
      std::fill(next.begin(), next.end(), 0.0);
      for_sample([&] {
        double dot = 0;
        for (std::size_t j = 0; j < x.size(); ++j) dot += direction[j] * (x[j] - mean[j]);
        for (std::size_t j = 0; j < x.size(); ++j) next[j] += dot * (x[j] - mean[j]);
      });
      if (round == 0) variance_of_side = next[static_cast<std::size_t>(widest)];
      variance = 0;
      for (double const v : next) variance += v * v;
      variance = std::sqrt(variance);
      if (!(variance > 0)) return false;
      for (std::size_t j = 0; j < next.size(); ++j) direction[j] = next[j] / variance;
    }
    return variance > gain * variance_of_side;
  }
};

/// Boxes, cut in the middle: the tree for low dimension (d to about 8).
template <class Real> using kd_tree = preorder_tree<Real, boxes, midpoint_split>;
/// Boxes with as many points on either side.
template <class Real> using kd_median_tree = preorder_tree<Real, boxes, median_split>;
/// A metric tree: balls, for more dimensions.
template <class Real> using ball_tree = preorder_tree<Real, balls, spread_split>;

} // namespace kopse
