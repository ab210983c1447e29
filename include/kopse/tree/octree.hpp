// SPDX-License-Identifier: BSD-3-Clause
// The octree, in up to 16 dimensions (a quadtree in two).
#pragma once

#include <string>
#include <vector>

#include "kopse/tree/binary_tree.hpp"

namespace kopse {

/// Halves a node's box in every dimension at once, but for those in which it is less than half as long as in
/// its longest, so that cells stay compact. Only cells with points become children, and a cell is not cut
/// further once it has no more than leaf_size points. Cells shrink to their points before they are halved:
/// every cut separates some, and the depth is bounded as midpoint_split's.
struct orthant_split {
  static constexpr index most_dims = 16;
  static void check(index d) {
    if (d > most_dims)
      throw usage_error("an octree of " + std::to_string(d) + " columns: expected at most "
                        + std::to_string(most_dims) + " (a node has up to 2^d children)");
  }

  template <class Real>
  static void cut(row_order<Real>& rows, cell<Real> const& node, std::vector<index>& ends) {
    if (node.depth >= midpoint_split::deep) return median_split::cut(rows, node, ends);
    index const widest = median_split::widest_side(node, rows.dims());
    halve(rows, node, node.points, 0, median_split::side(node, widest) / 2, ends);
  }

private:
  // Cuts the range in dimensions j and above that are longer than `shortest`.
  template <class Real>
  static void halve(row_order<Real>& rows, cell<Real> const& node, point_range range, index j,
                    double shortest, std::vector<index>& ends) {
    while (j < rows.dims() && !(median_split::side(node, j) > shortest)) ++j;
    if (j == rows.dims() || range.size() <= node.leaf_size) return ends.push_back(range.last);
    Real const value = midpoint_split::middle(node.low[j], node.high[j]);
    index const middle = rows.partition(range, [=](Real const* x) { return x[j] <= value; });
    halve(rows, node, {range.first, middle}, j + 1, shortest, ends);
    halve(rows, node, {middle, range.last}, j + 1, shortest, ends);
  }
};

/// Boxes, up to 2^d of them in one: fewer levels, fewer nodes.
template <class Real> using octree = preorder_tree<Real, boxes, orthant_split>;

} // namespace kopse
