// SPDX-License-Identifier: BSD-3-Clause
// A kd-tree on the centroids that outlives their movements: it is laid out once, and from one iteration to
// the next only its boxes are measured anew, O(k·d). Where the centroids have moved far it searches more, and
// finds the same.
//
// Complete and binary, so that nodes are numbers of a heap: 1 is the root, 2·q and 2·q + 1 are the children
// of q, and the lowest common ancestor of two nodes is a matter of bits.
#pragma once

#include <bit>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/tree/space_tree.hpp"
#include "squares.hpp"

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
  /// Of a leaf alone.
  point_range points(node_id q) const { return {start(q - leaves_), start(q - leaves_ + 1)}; }
  double const* point(index position) const { return coordinates_.row(position); }
  /// Computed d² of x to the centroids of a leaf; infinite behind its last one.
  void squares(node_id leaf, double const* x, double* eight) const {
    eight_squares(x, d_, eights_.row(leaf - leaves_), most, eight);
  }
  index row(index position) const { return order_[static_cast<std::size_t>(position)]; }

  /// The tree in eights: at its top are the nodes from top() to 2·top() − 1, four at most, and below a node q
  /// that is no leaf the eight from 8·q on.
  node_id top() const { return top_; }
  /// For each of the eight nodes of which `first`, a multiple of eight, is the first, at most the computed d²
  /// from its centroids to any point of a box. Nodes 0 to 7 are one such eight.
  void least_squares(node_id first, double const* box_low, double const* box_high, double* lo2) const {
    double const* c = corners_.row(first / 8);
    double sums[8] = {};
    for (index j = 0; j < d_; ++j, c += 16) {
      double const low = box_low[j], high = box_high[j];
      for (int i = 0; i < 8; ++i) {
        double const below = low - c[8 + i], above = c[i] - high;
        double const apart = std::max(below, above);
        double const twice = apart + std::abs(apart); // 0 where they overlap
        sums[i] += twice * twice;
      }
    }
    for (int i = 0; i < 8; ++i) lo2[i] = slack_.outward({sums[i] / 4, 0}).lo;
  }
  /// The box of a node.
  void box(node_id q, double* low, double* high) const {
    for (index j = 0; j < d_; ++j) low[j] = corner(q, 2 * j), high[j] = corner(q, 2 * j + 1);
  }
  /// Calls f(row, d²) for every centroid with computed d² <= limit2() of x, and perhaps for some others.
  template <class Limit, class F>
  void for_each_near(double const* x, Limit const& limit2, F const& f, index& distances) const {
    thread_local std::vector<node_id> stack;
    auto const open = [&](node_id first, node_id begin, node_id end) {
      double lo2[8];
      least_squares(first, x, x, lo2);
      double const most2 = limit2();
      for (node_id i = begin; i < end; ++i)
        if (lo2[i] <= most2) stack.push_back(first + i);
    };
    stack.clear();
    open(0, top_, 2 * top_);
    while (!stack.empty()) {
      node_id const q = stack.back();
      stack.pop_back();
      if (!is_leaf(q)) {
        open(8 * q, 0, 8);
        continue;
      }
      double d2[most];
      squares(q, x, d2);
      point_range const range = points(q);
      distances += range.size();
      for (index i = 0; i < range.size(); ++i) f(static_cast<label>(row(range.first + i)), d2[i]);
    }
  }
  template <class F>
  void for_each_within(double const* x, double limit2, F const& f, index& distances) const {
    auto const within = [&](label j, double d2) {
      if (d2 <= limit2) f(j, d2);
    };
    for_each_near(
        x, [&] { return limit2; }, within, distances);
  }

  /// What the loops of heap_searches.cpp go through: the centroids of a leaf by dimension, eight to a row;
  /// the boxes of eight nodes, a row of low corners and a row of high ones a dimension; and what they moved.
  double const* eight(node_id leaf) const { return eights_.row(leaf - leaves_); }
  double const* eight_boxes(node_id first) const { return corners_.row(first / 8); }
  double const* moved_from(node_id first) const { return moved_.data() + first; }
  slack const& rounding() const { return slack_; }

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
  /// Is q below the right child of another node, or that?
  static bool is_right_of(node_id q, node_id above) {
    int const levels =
        std::bit_width(static_cast<unsigned>(q)) - std::bit_width(static_cast<unsigned>(above));
    return levels > 0 && q >> (levels - 1) == above * 2 + 1;
  }

private:
  index start(node_id leaf) const { return k_ * leaf / leaves_; }
  // Corner 2·j is the low one in dimension j, 2·j + 1 the high one.
  double corner(node_id q, index c) const { return corners_(q / 8, c * 8 + q % 8); }
  double& corner(node_id q, index c) { return corners_(q / 8, c * 8 + q % 8); }
  void split(matrix_view<double> centroids, node_id q, index first, index last);

  index k_, d_;
  node_id leaves_, top_;
  slack slack_;
  std::vector<label> order_;     // by position
  std::vector<node_id> leaf_of_; // by centroid
  matrix<double> coordinates_;   // by position
  matrix<double> eights_;        // of each leaf, by dimension
  matrix<double> corners_;       // of eight nodes at a time, by dimension
  std::vector<double> moved_, moved_of_;
};

} // namespace kopse
