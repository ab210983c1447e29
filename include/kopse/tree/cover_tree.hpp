// SPDX-License-Identifier: BSD-3-Clause
// The cover tree: nested nets of the points, each finer than the one above by the same factor.
//
// A. Beygelzimer, S. Kakade, J. Langford, "Cover trees for nearest neighbor" (ICML 2006), in their explicit
// form. A node has a routing point and a scale s, a whole number; with a base b > 1,
//   nesting     the first child of a node, its self-child, has the same routing point and a smaller scale;
//   covering    the routing points of its other children are within b^s of its own (and beyond b^(s − 1));
//   separation  routing points that are in the tree at scale i, which are those of all nodes whose parent's
//   scale is
//               above i, are more than b^i apart in the whole tree.
// All by computed distances. Where a node would have its self-child alone, for any number of scales, there is
// no node: neither an outlier nor points that crowd around 0 make the tree deeper than there are points to
// tell apart. With base 2 it is never deeper than 1,051 nodes, as the squares that doubles can hold have no
// more scales.
//
// All points are in leaves, also those that route. A leaf stands for the rest of a tree, of at most leaf_size
// points; or it holds points whose computed distance to its routing point is 0, however many they are. The
// invariants hold for the nodes there are, for any leaf size; leaf_size = 1 leaves nothing out.
//
// The bound of a node is the ball about its routing point that reaches to the farthest of its points; that is
// most often far less than what follows from the scale, b^(s + 1) / (b − 1).
//
// Build: O(n log n) on sane data; 20 distances and 40 to 70 scores a point for a million points. Memory: the
// points once more, in tree order and in their own type, 8 bytes a point for their rows; a node, 36 bytes and
// its routing point. Nodes are n / 7 (3 dimensions) to n / 2 (7 dimensions) at a leaf size of 20.
// 60 bytes a point more while it is built. Take it for its bounds in theory (docs/theory.md), and where
// points lie in far fewer dimensions than they have; in low dimension kd_tree is faster.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kopse/tree/bound.hpp"
#include "kopse/tree/preorder_tree.hpp"

namespace kopse {

/// The squares of the powers of a base, as far as doubles go: they say what scale a distance has.
class scale_table {
public:
  explicit scale_table(double base);
  double base() const { return base_; }
  /// The smallest s with d2 <= base^(2·s); d2 > 0.
  int above(double d2) const;
  /// base^(2·s), s at most above(anything); 0 where that is too small for a double.
  double square(int s) const { return s < lowest_ ? 0 : squares_[static_cast<std::size_t>(s - lowest_)]; }

private:
  double base_;
  int lowest_ = 0; // the scale of squares_[0]
  std::vector<double> squares_;
};

template <class Real> class cover_tree {
public:
  using real = Real;
  using reference = cover_tree<double>;

  /// The scale of leaves, below all others.
  static constexpr int leaf_scale = std::numeric_limits<std::int32_t>::min();
  /// Smaller bases make more levels, larger ones more children a node: 2 makes about the least work of both.
  static constexpr double default_base = 2;

  /// Copies the rows, of which there is one at least; leaf_size >= 1, base >= 1.1. The tree is the same for
  /// any number of threads, which are at work for a small part of it only.
  cover_tree(matrix_view<Real> rows, index leaf_size, int threads = 1, double base = default_base);

  index dims() const { return points_.cols(); }
  index node_count() const { return static_cast<index>(nodes_.size()); }
  node_id root() const { return 0; }
  preorder_children children(node_id q) const { return {nodes_.data(), q}; }
  point_range points(node_id q) const { return nodes_[static_cast<std::size_t>(q)].points; }
  Real const* point(index position) const { return points_.row(position); }
  index row(index position) const { return rows_[static_cast<std::size_t>(position)]; }

  template <class Other> interval distance(node_id q, cover_tree<Other> const& other, node_id r) const {
    return bounds_.distance(q, other.bounds_, r);
  }
  interval distance(node_id q, double const* x) const { return bounds_.distance(q, x); }
  void distances(node_id q, double const* x, index m, index stride, double* lo2, double* hi2) const {
    bounds_.distances(q, x, m, stride, lo2, hi2);
  }
  nearest_column nearest(node_id q, double const* x, index m, index stride, double* hi2) const {
    return bounds_.nearest(q, x, m, stride, hi2);
  }
  double lead(node_id q, double const* near, double const* far, double near_hi2) const {
    return bounds_.lead(q, near, far, near_hi2);
  }
  void leads(node_id q, double const* near, double const* far, index m, index stride, double near_hi2,
             double* out) const {
    bounds_.leads(q, near, far, m, stride, near_hi2, out);
  }
  double lowest(node_id q, double const* w) const { return bounds_.lowest(q, w); }
  double extent(node_id q) const { return bounds_.extent(q); }

  /// The routing point is the first point of its node.
  Real const* routing_point(node_id q) const { return point(points(q).first); }
  /// The true distance from the routing point to each point of the node is at most this.
  double radius(node_id q) const { return bounds_.radius(q); }
  int scale(node_id q) const { return node_scales_[static_cast<std::size_t>(q)]; }
  scale_table const& scales() const { return scales_; }

  /// The cover tree imbalance i_t: how many levels are missing between nodes and their parents, in all; that
  /// of a leaf counts down to the smallest scale of the tree (the paper's definitions 3 and 4).
  index imbalance() const;
  /// What building cost: distances between points, and between a point and a node of the tree that finds
  /// neighbours.
  index build_distances() const { return build_distances_; }
  index build_scores() const { return build_scores_; }

private:
  template <class> friend class cover_tree;
  bool is_leaf(node_id q) const { return children(q).empty(); }
  void measure_radii();

  scale_table scales_;
  matrix<Real> points_;
  std::vector<index> rows_;
  std::vector<preorder_node> nodes_;
  std::vector<std::int32_t> node_scales_;
  balls<Real> bounds_; // about the routing points
  index build_distances_ = 0, build_scores_ = 0;
};

template <class Real> index cover_tree<Real>::imbalance() const {
  int smallest = std::numeric_limits<int>::max();
  for (node_id q = 0; q < node_count(); ++q)
    if (!is_leaf(q)) smallest = std::min(smallest, scale(q));
  index missing = 0;
  for (node_id q = 0; q < node_count(); ++q)
    for (node_id const c : children(q))
      missing += scale(q) - 1 - (is_leaf(c) ? std::min(scale(q) - 1, smallest) : scale(c));
  return missing;
}

/// check_tree() and the three invariants, between all pairs of nodes; returns "" or what is wrong. O(nodes²).
template <class Real> std::string check_cover_tree(cover_tree<Real> const& t, matrix_view<Real> data) {
  if (std::string fault = check_tree(t, data); !fault.empty()) return fault;
  struct router {
    node_id node;
    int top; // the largest scale at which its routing point is in the tree
  };
  auto const at = [](node_id q) { return "node " + std::to_string(q) + ": "; };
  auto const d2 = [&](node_id q, node_id r) {
    std::vector<double> const x(t.routing_point(q), t.routing_point(q) + t.dims());
    return squared_distance(t.routing_point(r), x.data(), t.dims());
  };
  std::vector<router> routers{{t.root(), std::numeric_limits<int>::max()}};
  for (node_id q = 0; q < t.node_count(); ++q) {
    int const s = t.scale(q);
    bool self = true;
    index fanout = 0;
    for (node_id const c : t.children(q)) {
      ++fanout;
      if (t.scale(c) >= s) return at(c) + "its scale is not below its parent's";
      if (std::exchange(self, false)) {
        if (t.points(c).first != t.points(q).first) return at(q) + "nesting: the first child is another's";
        continue;
      }
      double const d2_parent = d2(q, c);
      if (d2_parent > t.scales().square(s)) return at(c) + "covering: too far from its parent";
      if (d2_parent <= t.scales().square(s - 1))
        return at(c) + "near enough to its parent for a smaller scale";
      routers.push_back({c, s - 1});
    }
    if (fanout == 1) return at(q) + "its self-child is alone";
    if ((fanout == 0) != (s == t.leaf_scale)) return at(q) + "only leaves have the scale of leaves";
  }
  for (router const& a : routers)
    for (router const& b : routers)
      if (a.node < b.node && !(d2(a.node, b.node) > t.scales().square(std::min(a.top, b.top))))
        return at(b.node) + "separation: too near to node " + std::to_string(a.node);
  return "";
}

} // namespace kopse
