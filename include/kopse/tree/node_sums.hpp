// SPDX-License-Identifier: BSD-3-Clause
// Weight and exact sum of each node's points: what lets a whole node change cluster in one addition.
#pragma once

#include <span>
#include <vector>

#include "kopse/exact_sum.hpp"
#include "kopse/parallel.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

/// One row a node; weights by row of the data, or empty when all are 1. O(n·d), on so many threads (0: all);
/// 16·(d + 1) bytes a node for most data.
template <space_tree T>
exact_sums node_sums(T const& tree, std::span<double const> weights, sum_layout const& layout,
                     int threads = 1) {
  constexpr index many_points = 8192;
  exact_sums sums(layout, tree.node_count());
  // Of q and all below it, but for nodes that are done.
  auto const fill = [&](auto const& self, node_id q, auto const& done) -> void {
    if (done(q)) return;
    bool leaf = true;
    for (node_id const c : tree.children(q)) {
      self(self, c, done);
      sums.add(q, sums, c, 1);
      leaf = false;
    }
    if (!leaf) return;
    for (index i = tree.points(q).first; i < tree.points(q).last; ++i)
      sums.add(q, tree.point(i), weights.empty() ? 1.0 : weights[static_cast<std::size_t>(tree.row(i))], 1);
  };
  auto const small = [&](node_id q) { return tree.points(q).size() <= many_points; };
  for_branches(
      tree.root(), threads, small,
      [&](node_id q, std::vector<node_id>& below) {
        for (node_id const c : tree.children(q)) below.push_back(c);
      },
      [&](node_id q) { fill(fill, q, [](node_id) { return false; }); });
  fill(fill, tree.root(), small);
  return sums;
}

} // namespace kopse
