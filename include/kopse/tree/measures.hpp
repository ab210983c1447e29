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
  double largest = 2; ///< of |B(p, 2Δ)| / |B(p, Δ)| over all p and Δ tried, and 2; grows with what is tried
  double mean = 1;    ///< their mean, near 2^m where points spread evenly in m dimensions, less at the rim
};

/// Tries `centres` rows p, drawn from a fixed stream, with all powers of two Δ for which B(p, 2Δ) has more
/// than p and its equals and B(p, Δ) has not all. Any tree on the same rows gives the same.
template <space_tree T> expansion estimate_expansion(T const& tree, index centres = 100) {
  index const n = tree.points(tree.root()).size();
  std::vector<index> position(static_cast<std::size_t>(n)); // of each row
  for (index i = 0; i < n; ++i) position[static_cast<std::size_t>(tree.row(i))] = i;
  random_stream const draws(0, 0);
  std::vector<double> x(static_cast<std::size_t>(tree.dims()));
  expansion result;
  double sum = 0;
  index tried = 0;
  for (index i = 0; i < centres; ++i) {
    std::uint64_t const row = draws.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i));
    std::copy_n(tree.point(position[row]), tree.dims(), x.begin());
    double radius2 = 1;
    while (radius2 < tree.distance(tree.root(), x.data()).hi) radius2 *= 4;
    index const alone = count_within(tree, x.data(), 0);
    for (index within = n; within > alone;) {
      index const half = count_within(tree, x.data(), radius2 /= 4);
      double const ratio = static_cast<double>(within) / static_cast<double>(half);
      within = half;
      if (half == n) continue;
      result.largest = std::max(result.largest, ratio);
      sum += ratio;
      ++tried;
    }
  }
  if (tried > 0) result.mean = sum / static_cast<double>(tried);
  return result;
}

} // namespace kopse
