// SPDX-License-Identifier: BSD-3-Clause
// Searches in one tree: the nearest other point, the nearest two, the nearest few, and all points within a
// radius. O(log n) on sane data.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kopse/tree/space_tree.hpp"

namespace kopse {

namespace detail {
template <searchable_tree T>
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
template <searchable_tree T>
double nearest_other(T const& tree, double const* x, index except, index& distances) {
  double best2 = std::numeric_limits<double>::infinity();
  detail::nearest_other(tree, tree.root(), x, except, best2, distances);
  return best2;
}

/// Calls f(row, d²) for every point with computed d² <= limit2 from x, in tree order.
template <searchable_tree T, class F>
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

/// The nearest two of the points that were offered; of equal distances the lowest row is the first.
struct nearest_two {
  double first2 = std::numeric_limits<double>::infinity(), second2 = first2; ///< computed d²
  index first = -1;                                                          ///< row

  /// No row may be offered twice, unless it was second the first time.
  void offer(index row, double d2) {
    if (d2 < first2 || (d2 == first2 && row < first)) {
      second2 = first2;
      first2 = d2;
      first = row;
    } else {
      second2 = std::min(second2, d2);
    }
  }
};

/// A row and its computed d² from where the search started.
struct neighbour {
  double d2;
  index row;
};
inline bool nearer(neighbour const& a, neighbour const& b) {
  return a.d2 != b.d2 ? a.d2 < b.d2 : a.row < b.row;
}

/// Some point near x, found on the one path of nearest boxes: row and computed d².
template <searchable_tree T> neighbour find_near(T const& tree, double const* x, index& distances) {
  node_id q = tree.root();
  for (auto below = tree.children(q); !std::ranges::empty(below); below = tree.children(q))
    q = *std::ranges::min_element(below, {}, [&](node_id c) { return tree.distance(c, x).lo; });
  neighbour best{std::numeric_limits<double>::infinity(), -1};
  for (index i = tree.points(q).first; i < tree.points(q).last; ++i) {
    ++distances;
    neighbour const one{squared_distance(tree.point(i), x, tree.dims()), tree.row(i)};
    if (nearer(one, best)) best = one;
  }
  return best;
}

namespace detail {
/// Calls leaf(q) for the leaves whose points may be as near to x as limit() says, the nearer child first.
template <searchable_tree T, class Limit, class Leaf>
void visit_nearest_first(T const& tree, node_id q, double const* x, Limit const& limit, Leaf const& leaf) {
  auto const below = tree.children(q);
  if (std::ranges::empty(below)) return leaf(q);
  std::array<double, 8> lows; // of the first children; those of more are measured again
  double least = std::numeric_limits<double>::infinity();
  std::size_t nearest = 0, count = 0;
  for (node_id const c : below) {
    double const lo = tree.distance(c, x).lo;
    if (count < lows.size()) lows[count] = lo;
    if (lo < least) least = lo, nearest = count;
    ++count;
  }
  if (least > limit()) return;
  visit_nearest_first(tree,
                      *std::ranges::next(std::ranges::begin(below), static_cast<std::ptrdiff_t>(nearest)), x,
                      limit, leaf);
  count = 0;
  for (node_id const c : below) {
    std::size_t const i = count++;
    if (i == nearest || (i < lows.size() ? lows[i] : tree.distance(c, x).lo) > limit()) continue;
    visit_nearest_first(tree, c, x, limit, leaf);
  }
}
} // namespace detail

/// Offers `found` every point that may be one of the nearest two of x, but for row `except`, which it may
/// already have. A node is passed over only if all its points are farther, beyond equality, than the second.
template <searchable_tree T>
void find_nearest_two(T const& tree, double const* x, index except, nearest_two& found, index& distances) {
  detail::visit_nearest_first(
      tree, tree.root(), x, [&] { return found.second2; },
      [&](node_id q) {
        for (index i = tree.points(q).first; i < tree.points(q).last; ++i) {
          if (tree.row(i) == except) continue;
          ++distances;
          found.offer(tree.row(i), squared_distance(tree.point(i), x, tree.dims()));
        }
      });
}

/// The nearest `most` points with computed d² <= limit2 from x, row `except` aside, nearest first. Returns
/// the d² that no point left out is below.
template <searchable_tree T>
double find_nearest(T const& tree, double const* x, index except, index most, double limit2,
                    std::vector<neighbour>& found, index& distances) {
  found.clear();
  if (most < 1) return 0;
  auto const full = [&] { return static_cast<index>(found.size()) == most; };
  auto const limit = [&] { return full() ? found.front().d2 : limit2; }; // a heap, the farthest on top
  detail::visit_nearest_first(tree, tree.root(), x, limit, [&](node_id q) {
    for (index i = tree.points(q).first; i < tree.points(q).last; ++i) {
      if (tree.row(i) == except) continue;
      ++distances;
      neighbour const one{squared_distance(tree.point(i), x, tree.dims()), tree.row(i)};
      if (one.d2 > limit2 || (full() && !nearer(one, found.front()))) continue;
      if (full()) {
        std::pop_heap(found.begin(), found.end(), nearer);
        found.pop_back();
      }
      found.push_back(one);
      std::push_heap(found.begin(), found.end(), nearer);
    }
  });
  double const reach2 = limit();
  std::sort_heap(found.begin(), found.end(), nearer);
  return reach2;
}

} // namespace kopse
