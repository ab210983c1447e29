// SPDX-License-Identifier: BSD-3-Clause
// What a tree must be for the algorithms here: read-only geometry.
//
// A space tree (R. R. Curtin et al., "Tree-independent dual-tree algorithms", ICML 2013) on a set of points:
//   - nodes are numbers, 0 <= node < node_count(), and whatever an algorithm remembers of a node it keeps
//   elsewhere;
//   - a node has children (any number; none at a leaf) and a contiguous range of positions, its descendant
//   points;
//   - every point lies in exactly one leaf; the ranges of a node's children, in order, make up its own;
//   - the bounds below hold for all points of a node.
// One tree therefore serves every k, start, restart and thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <ranges>
#include <string>
#include <vector>

#include "kopse/matrix.hpp"
#include "kopse/metric.hpp"

namespace kopse {

using node_id = std::int32_t;

/// Positions [first, last) of points in tree order.
struct point_range {
  index first, last;
  index size() const { return last - first; }
};

template <class T>
concept space_tree = requires(T const& t, node_id q, index position, typename T::reference const& r,
                              double const* x) {
  typename T::real;                                               // float or double: the type of its points
  { t.dims() } -> std::same_as<index>;                            //
  { t.node_count() } -> std::same_as<index>;                      //
  { t.root() } -> std::same_as<node_id>;                          //
  { t.children(q) } -> std::ranges::forward_range;                // node_ids
  { t.points(q) } -> std::same_as<point_range>;                   // all descendants
  { t.point(position) } -> std::same_as<typename T::real const*>; // coordinates
  { t.row(position) } -> std::same_as<index>;                     // row of the point in the data
  { t.distance(q, r, q) } -> std::same_as<interval>; // of d² over all pairs of two nodes' points
  { t.distance(q, x) } -> std::same_as<interval>;    // of d² from a node's points to one point
  { t.lowest(q, x) } -> std::same_as<double>;        // at most min x·p over a node's points p
  { t.extent(q) } -> std::same_as<double>;           // some measure of size: orders the descent only
}
&&std::constructible_from<typename T::reference, matrix_view<double>,
                          index>; // the tree for centroids: rows, leaf size

/// Checks the invariants above, every node and every point, in O(depth · n · d); returns "" or what is wrong.
template <space_tree T> std::string check_tree(T const& t, matrix_view<typename T::real> data) {
  std::vector<char> seen(static_cast<std::size_t>(data.rows()), 0);
  std::vector<double> x(static_cast<std::size_t>(t.dims()));
  auto const at = [](node_id q) { return "node " + std::to_string(q) + ": "; };
  std::vector<node_id> stack{t.root()};
  if (t.points(t.root()).first != 0 || t.points(t.root()).last != data.rows())
    return "the root does not hold all points";
  index nodes = 0;
  while (!stack.empty()) {
    node_id const q = stack.back();
    stack.pop_back();
    if (q < 0 || q >= t.node_count() || ++nodes > t.node_count())
      return at(q) + "not a tree of node_count() nodes";
    point_range const range = t.points(q);
    if (range.size() <= 0) return at(q) + "no points";
    index next = range.first;
    bool leaf = true;
    for (node_id const c : t.children(q)) {
      leaf = false;
      if (t.points(c).first != next) return at(q) + "children do not follow one another";
      next = t.points(c).last;
      stack.push_back(c);
    }
    if (!leaf && next != range.last) return at(q) + "children do not hold all its points";
    std::copy_n(t.point((range.first + range.last) / 2), t.dims(), x.begin());
    interval const from_x = t.distance(q, x.data());
    double const lowest = t.lowest(q, x.data());
    for (index i = range.first; i < range.last; ++i) {
      typename T::real const* const p = t.point(i);
      if (leaf && ++seen[static_cast<std::size_t>(t.row(i))] != 1) return at(q) + "a row twice in the tree";
      if (leaf && !std::equal(p, p + t.dims(), data.row(t.row(i))))
        return at(q) + "a point that is not its row";
      double const d2 = squared_distance(p, x.data(), t.dims());
      if (d2 < from_x.lo || d2 > from_x.hi) return at(q) + "distance() does not bound";
      double dot = 0;
      for (index j = 0; j < t.dims(); ++j) dot += x[static_cast<std::size_t>(j)] * static_cast<double>(p[j]);
      if (dot < lowest) return at(q) + "lowest() does not bound";
    }
  }
  return "";
}

} // namespace kopse
