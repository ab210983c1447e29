// SPDX-License-Identifier: BSD-3-Clause
// A kd-tree on the centroids that outlives their movements: it is laid out once, and from one iteration to
// the next only its boxes are measured anew, O(k·d). Where the centroids have moved far it searches more, and
// finds the same.
//
// Complete and binary, so that nodes are numbers of a heap: 1 is the root, 2·q and 2·q + 1 are the children
// of q, and the lowest common ancestor of two nodes is a matter of bits. It has what the searches of
// tree/neighbours.hpp ask for.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

class centroid_heap {
public:
  using real = double;
  static constexpr index most = 8; ///< centroids of a leaf, at least one

  centroid_heap(index k, index dims);

  /// A new layout, for centroids where they are now.
  void arrange(matrix_view<double> centroids);
  /// The same layout; `moved` of a node is the largest movement of its centroids.
  void refit(matrix_view<double> centroids, centroid_drift const& drift);

  index dims() const { return d_; }
  node_id root() const { return 1; }
  node_id node_count() const { return 2 * leaves_; }
  bool is_leaf(node_id q) const { return q >= leaves_; }
  std::span<node_id const> children(node_id q) const {
    return {numbers_.data() + 2 * q, is_leaf(q) ? std::size_t{0} : std::size_t{2}};
  }
  /// Of a leaf alone.
  point_range points(node_id q) const { return {start(q - leaves_), start(q - leaves_ + 1)}; }
  double const* point(index position) const { return coordinates_.row(position); }
  index row(index position) const { return order_[static_cast<std::size_t>(position)]; }

  /// A superset of the computed d² from the node's centroids to x, or to those of another node.
  interval distance(node_id q, double const* x) const { return between(low(q), high(q), x, x); }
  interval distance(node_id q, node_id other) const {
    return between(low(q), high(q), low(other), high(other));
  }
  double moved(node_id q) const { return moved_[static_cast<std::size_t>(q)]; }
  double moved_at(index position) const { return moved_of_[static_cast<std::size_t>(position)]; }

  /// The leaf of a centroid.
  node_id leaf_of(label j) const { return leaf_of_[static_cast<std::size_t>(j)]; }
  static node_id common_ancestor(node_id a, node_id b) {
    int const depth_a = std::bit_width(static_cast<unsigned>(a)),
              depth_b = std::bit_width(static_cast<unsigned>(b));
    if (depth_a > depth_b) a >>= depth_a - depth_b;
    if (depth_b > depth_a) b >>= depth_b - depth_a;
    return a >> std::bit_width(static_cast<unsigned>(a ^ b));
  }

private:
  index start(node_id leaf) const { return k_ * leaf / leaves_; }
  double const* low(node_id q) const { return corners_.row(2 * q); }
  double const* high(node_id q) const { return corners_.row(2 * q + 1); }
  interval between(double const* low, double const* high, double const* other_low,
                   double const* other_high) const {
    double lo = 0, hi = 0;
    for (index j = 0; j < d_; ++j) {
      double const below = other_low[j] - high[j], above = low[j] - other_high[j];
      double const apart = std::max(std::max(below, above), 0.0), span = std::min(below, above);
      lo += apart * apart;
      hi += span * span;
    }
    return slack_.outward({lo, hi});
  }
  void split(matrix_view<double> centroids, node_id q, index first, index last);

  index k_, d_;
  node_id leaves_;
  slack slack_;
  std::vector<node_id> numbers_; // 0, 1, 2, ...
  std::vector<label> order_;     // by position
  std::vector<node_id> leaf_of_; // by centroid
  matrix<double> coordinates_;   // by position
  matrix<double> corners_;       // low and high of each node
  std::vector<double> moved_, moved_of_;
};

} // namespace kopse
