// SPDX-License-Identifier: BSD-3-Clause
// Binary space trees: a bound and a rule for splitting. kd_tree is the one to use in low dimension (d up to
// about 8).
//
// Build: O(n·depth·d). Memory: the points once more, in tree order and in their own type, 8 bytes a point for
// their rows, and per node 24 bytes and its bound; about n / 7 nodes at the default leaf size of 20. Nodes
// are numbered depth first: the left child of q is q + 1.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <vector>

#include "kopse/tree/bound.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

/// Cuts the widest side of a node's box in the middle: cells stay compact, which is what bounds live on. Deep
/// in the tree (data at many scales) it cuts at the median instead, so the depth stays below 100 + 2·log2 n +
/// 2·d.
struct midpoint_split {
  static constexpr int deep = 100;
  /// Rows whose coordinate `dimension` is at most `value` go left; both sides have some. False: all rows are
  /// equal.
  template <class Real>
  static bool choose(boxes<Real> const& bounds, index node, matrix<Real> const& rows, index first, index last,
                     int depth, index& dimension, Real& value) {
    Real const *const lo = bounds.low(node), *const hi = bounds.high(node);
    double widest = 0;
    for (index j = 0; j < rows.cols(); ++j) {
      double const side = static_cast<double>(hi[j]) - static_cast<double>(lo[j]);
      if (side > widest) widest = side, dimension = j;
    }
    if (widest == 0) return false;
    Real const low = lo[dimension], high = hi[dimension];
    value = depth < deep ? static_cast<Real>(static_cast<double>(low) + widest / 2)
                         : median(rows, first, last, dimension);
    if (!(value >= low && value < high))
      value = low; // low and high are neighbouring numbers, or most rows are at high
    return true;
  }

private:
  template <class Real>
  static Real median(matrix<Real> const& rows, index first, index last, index dimension) {
    std::vector<Real> values;
    values.reserve(static_cast<std::size_t>(last - first));
    for (index i = first; i < last; ++i) values.push_back(rows(i, dimension));
    auto const middle = values.begin() + (last - first) / 2;
    std::nth_element(values.begin(), middle, values.end());
    // the largest value below the median, when rows equal to the median reach up to the highest value
    if (*middle < *std::max_element(middle, values.end()) || middle == values.begin()) return *middle;
    return *std::max_element(values.begin(), middle);
  }
};

template <class Real, class Split> class binary_tree {
public:
  using real = Real;
  using reference = binary_tree<double, Split>;

  /// Copies the rows; leaf_size >= 1. A node of equal rows is a leaf, however many there are.
  binary_tree(matrix_view<Real> rows, index leaf_size)
      : points_(rows), rows_(static_cast<std::size_t>(rows.rows())), bounds_(rows.cols()) {
    for (index i = 0; i < rows.rows(); ++i) rows_[static_cast<std::size_t>(i)] = i;
    build(0, rows.rows(), leaf_size, 0);
    nodes_.shrink_to_fit();
    bounds_.shrink_to_fit();
  }

  index dims() const { return points_.cols(); }
  index node_count() const { return static_cast<index>(nodes_.size()); }
  node_id root() const { return 0; }
  std::span<node_id const> children(node_id q) const {
    node const& n = at(q);
    return {n.children.data(), n.children[1] == 0 ? std::size_t{0} : std::size_t{2}};
  }
  point_range points(node_id q) const { return at(q).points; }
  Real const* point(index position) const { return points_.row(position); }
  index row(index position) const { return rows_[static_cast<std::size_t>(position)]; }

  template <class Other>
  interval distance(node_id q, binary_tree<Other, Split> const& other, node_id r) const {
    return bounds_.distance(q, other.bounds_, r);
  }
  interval distance(node_id q, double const* x) const { return bounds_.distance(q, x); }
  void distances(node_id q, double const* x, index m, index stride, double* lo2, double* hi2) const {
    bounds_.distances(q, x, m, stride, lo2, hi2);
  }
  bool nearer(node_id q, double const* near, double const* far, double near_hi2) const {
    return bounds_.nearer(q, near, far, near_hi2);
  }
  double lowest(node_id q, double const* w) const { return bounds_.lowest(q, w); }
  double extent(node_id q) const { return bounds_.extent(q); }

private:
  template <class, class> friend class binary_tree;
  struct node {
    point_range points;
    std::array<node_id, 2> children; // 0, 0 at a leaf: the root is nobody's child
  };
  node const& at(node_id q) const { return nodes_[static_cast<std::size_t>(q)]; }

  node_id build(index first, index last, index leaf_size, int depth) {
    if (node_count() == std::numeric_limits<node_id>::max())
      throw error("the tree has more than 2^31 nodes: take a larger leaf size");
    node_id const q = static_cast<node_id>(node_count());
    nodes_.push_back({{first, last}, {0, 0}});
    bounds_.push(points_, first, last);
    index dimension = 0;
    Real value{};
    if (last - first <= leaf_size
        || !Split::choose(bounds_, q, points_, first, last, depth, dimension, value))
      return q;
    index const middle = partition(first, last, dimension, value);
    node_id const left = build(first, middle, leaf_size, depth + 1);
    node_id const right = build(middle, last, leaf_size, depth + 1);
    nodes_[static_cast<std::size_t>(q)].children = {left, right};
    return q;
  }

  // Rows with x[dimension] <= value come first; returns where the others start.
  index partition(index first, index last, index dimension, Real value) {
    while (true) {
      while (first < last && points_(first, dimension) <= value) ++first;
      while (first < last && !(points_(last - 1, dimension) <= value)) --last;
      if (first >= last) return first;
      --last;
      std::swap_ranges(points_.row(first), points_.row(first) + dims(), points_.row(last));
      std::swap(rows_[static_cast<std::size_t>(first)], rows_[static_cast<std::size_t>(last)]);
      ++first;
    }
  }

  matrix<Real> points_;
  std::vector<index> rows_;
  std::vector<node> nodes_;
  boxes<Real> bounds_;
};

template <class Real> using kd_tree = binary_tree<Real, midpoint_split>;

} // namespace kopse
