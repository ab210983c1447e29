// SPDX-License-Identifier: BSD-3-Clause
// What can be said of a tree, and of its points by means of it: size and depth, and the expansion constant,
// the measure of intrinsic dimension that the bounds of cover trees are stated in.
#pragma once

#include <utility>
#include <vector>

#include "kopse/random.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

struct tree_size {
  index nodes = 0, leaves = 0;
  index depth = 0; ///< nodes on the longest way down, the root and a leaf included
};

template <space_tree T> tree_size measure(T const& tree) {
  tree_size size;
  std::vector<std::pair<node_id, index>> stack{{tree.root(), 1}};
  while (!stack.empty()) {
    auto const [q, depth] = stack.back();
    stack.pop_back();
    ++size.nodes;
    size.depth = std::max(size.depth, depth);
    auto const below = tree.children(q);
    size.leaves += std::ranges::empty(below);
    for (node_id const c : below) stack.emplace_back(c, depth + 1);
  }
  return size;
}

/// The number of points with computed d² <= limit2 from x. A node that is all within or all beyond is not
/// entered.
template <space_tree T> index count_within(T const& tree, double const* x, double limit2) {
  index count = 0;
  std::vector<node_id> stack{tree.root()};
  while (!stack.empty()) {
    node_id const q = stack.back();
    stack.pop_back();
    interval const d2 = tree.distance(q, x);
    if (d2.lo > limit2) continue;
    point_range const range = tree.points(q);
    auto const below = tree.children(q);
    if (d2.hi <= limit2)
      count += range.size();
    else if (std::ranges::empty(below))
      for (index i = range.first; i < range.last; ++i)
        count += squared_distance(tree.point(i), x, tree.dims()) <= limit2;
    else
      for (node_id const c : below) stack.push_back(c);
  }
  return count;
}

/// An estimate from below of the expansion constant of a set S (D. Karger, M. Ruhl 2002): the smallest c >= 2
/// with |B(p, 2Δ)| <= c·|B(p, Δ)| for all p in S and all Δ > 0, B(p, Δ) the points of S within Δ of p.
struct expansion {
  double largest = 2; ///< of |B(p, 2Δ)| / |B(p, Δ)| over all p and Δ tried, and 2
  double mean =
      1; ///< their mean, 2^d for evenly spread points but for those at the rim; it varies little with n
};

/// Tries `centres` points p, drawn by number from a fixed stream (all the points where there are no more),
/// and for each the radii down from one that holds all points by halves, as far as more than p and its equals
/// are in B(p, Δ).
template <space_tree T> expansion estimate_expansion(T const& tree, index centres = 64) {
  index const n = tree.points(tree.root()).size();
  random_stream const draws(0, 0);
  std::vector<double> x(static_cast<std::size_t>(tree.dims()));
  expansion result;
  double sum = 0;
  index tried = 0;
  for (index i = 0; i < std::min(n, centres); ++i) {
    index const position =
        n <= centres
            ? i
            : static_cast<index>(draws.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i)));
    std::copy_n(tree.point(position), tree.dims(), x.begin());
    index const alone = count_within(tree, x.data(), 0);
    index within = n;
    for (double radius2 = tree.distance(tree.root(), x.data()).hi / 4; within > alone; radius2 /= 4) {
      index const half = count_within(tree, x.data(), radius2);
      double const ratio = static_cast<double>(within) / static_cast<double>(half);
      result.largest = std::max(result.largest, ratio);
      sum += ratio;
      ++tried;
      within = half;
    }
  }
  if (tried > 0) result.mean = sum / static_cast<double>(tried);
  return result;
}

} // namespace kopse
