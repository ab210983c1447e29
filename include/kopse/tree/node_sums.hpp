// SPDX-License-Identifier: BSD-3-Clause
// Weight and exact sum of each node's points: what lets a whole node change cluster in one addition.
#pragma once

#include <span>

#include "kopse/exact_sum.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

/// One row a node; weights by row of the data, or empty when all are 1. O(n·d); 16·(d + 1) bytes a node for
/// most data.
template <space_tree T>
exact_sums node_sums(T const& tree, std::span<double const> weights, sum_layout const& layout) {
  exact_sums sums(layout, tree.node_count());
  auto const fill = [&](auto const& self, node_id q) -> void {
    bool leaf = true;
    for (node_id const c : tree.children(q)) {
      self(self, c);
      sums.add(q, sums, c, 1);
      leaf = false;
    }
    if (!leaf) return;
    for (index i = tree.points(q).first; i < tree.points(q).last; ++i)
      sums.add(q, tree.point(i), weights.empty() ? 1.0 : weights[static_cast<std::size_t>(tree.row(i))], 1);
  };
  fill(fill, tree.root());
  return sums;
}

} // namespace kopse
