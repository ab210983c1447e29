// SPDX-License-Identifier: BSD-3-Clause
// Searches in one tree: the nearest other point, and all points within a radius. O(log n) on sane data.
#pragma once

#include <limits>

#include "kopse/tree/space_tree.hpp"

namespace kopse {

namespace detail {
template <space_tree T>
void nearest_other(T const& tree, node_id q, double const* x, index except, double& best2, index& distances) {
  auto const below = tree.children(q);
  if (std::ranges::empty(below)) {
    for (index i = tree.points(q).first; i < tree.points(q).last; ++i) {
      if (tree.row(i) == except) continue;
      ++distances;
      best2 = std::min(best2, squared_distance(tree.point(i), x, tree.dims()));
    }
    return;
  }
  // The nearest child first; it makes most others unnecessary.
  node_id nearest = *std::ranges::begin(below);
  double least = std::numeric_limits<double>::infinity();
  for (node_id const c : below)
    if (double const lo = tree.distance(c, x).lo; lo < least) least = lo, nearest = c;
  if (least < best2) nearest_other(tree, nearest, x, except, best2, distances);
  for (node_id const c : below)
    if (c != nearest && tree.distance(c, x).lo < best2) nearest_other(tree, c, x, except, best2, distances);
}
} // namespace detail

/// The computed d² from x to the nearest point whose row is not `except` (infinity if there is none).
/// The distances it computed are added to `distances`.
template <space_tree T> double nearest_other(T const& tree, double const* x, index except, index& distances) {
  double best2 = std::numeric_limits<double>::infinity();
  detail::nearest_other(tree, tree.root(), x, except, best2, distances);
  return best2;
}

/// Calls f(row, d²) for every point with computed d² <= limit2 from x, in tree order.
template <space_tree T, class F>
void for_each_within(T const& tree, node_id q, double const* x, double limit2, index& distances, F const& f) {
  if (tree.distance(q, x).lo > limit2) return;
  auto const below = tree.children(q);
  for (node_id const c : below) for_each_within(tree, c, x, limit2, distances, f);
  if (!std::ranges::empty(below)) return;
  for (index i = tree.points(q).first; i < tree.points(q).last; ++i) {
    ++distances;
    double const d2 = squared_distance(tree.point(i), x, tree.dims());
    if (d2 <= limit2) f(tree.row(i), d2);
  }
}

} // namespace kopse
