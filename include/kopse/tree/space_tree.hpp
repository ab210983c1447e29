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
// One tree therefore serves every k, start, restart and thread. docs/space_trees.md shows how to write one.
#pragma once

#include <algorithm>
#include <concepts>
#include <ranges>
#include <string>
#include <vector>

#include "kopse/kernels.hpp"
#include "kopse/matrix.hpp"
#include "kopse/metric.hpp"

namespace kopse {

using node_id = std::int32_t;

/// Positions [first, last) of points in tree order.
struct point_range {
  index first, last;
  index size() const { return last - first; }
};

/// What the searches of neighbours.hpp need of a tree.
template <class T>
concept searchable_tree = requires(T const& t, node_id q, index position, double const* x) {
  { t.dims() } -> std::same_as<index>;
  { t.root() } -> std::same_as<node_id>;
  { t.children(q) } -> std::ranges::forward_range;
  { t.points(q) } -> std::same_as<point_range>; // of a leaf
  { t.point(position) } -> std::same_as<typename T::real const*>;
  { t.row(position) } -> std::convertible_to<index>;
  { t.distance(q, x).lo } -> std::convertible_to<double>; // at most computed d² from x to the node's points
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

// What a tree may have besides, and what stands in for it where it has not.

/// At most d²(p, far) − d²(p, near), computed or true, for every point p of the node. near_hi2 is at least
/// computed d²(p, near) for all of them. A tree with lead(q, near, far, near_hi2) of its own answers itself;
/// otherwise d²(p, far) − d²(p, near) = 2·p·(near − far) + ‖far‖² − ‖near‖², by
/// lowest(), less what may be rounded off it: in units of γ, the squares of the two and of ‖p‖, which is at
/// most ‖near‖ and the distance.
template <space_tree T>
double lead(T const& t, node_id q, double const* near, double const* far, double near_hi2) {
  if constexpr (requires { t.lead(q, near, far, near_hi2); }) {
    return t.lead(q, near, far, near_hi2);
  } else {
    std::vector<double> w(static_cast<std::size_t>(t.dims()));
    double far2 = 0, near2 = 0;
    for (index j = 0; j < t.dims(); ++j) {
      w[static_cast<std::size_t>(j)] = near[j] - far[j];
      far2 += far[j] * far[j];
      near2 += near[j] * near[j];
    }
    double const margin = slack(t.dims()).of_squares(near_hi2, 3 * (far2 + near2 + near_hi2));
    return 2 * t.lowest(q, w.data()) + (far2 - near2) - margin;
  }
}

/// Is computed d²(p, far) > computed d²(p, near) for every point p of the node? (False: perhaps not.)
template <space_tree T>
bool dominates(T const& t, node_id q, double const* near, double const* far, double near_hi2) {
  return lead(t, q, near, far, near_hi2) > 0;
}

/// lead() over each of m points stored by dimension: coordinate j of point i at far[j·stride + i]. A tree
/// with leads(q, near, far, m, stride, near_hi2, out) of its own does them all at once.
template <space_tree T>
void leads_of(T const& t, node_id q, double const* near, double const* far, index m, index stride,
              double near_hi2, double* out) {
  if constexpr (requires { t.leads(q, near, far, m, stride, near_hi2, out); }) {
    t.leads(q, near, far, m, stride, near_hi2, out);
  } else {
    std::vector<double> one(static_cast<std::size_t>(t.dims()));
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j < t.dims(); ++j) one[static_cast<std::size_t>(j)] = far[j * stride + i];
      out[i] = lead(t, q, near, one.data(), near_hi2);
    }
  }
}

/// distance() from a node to each of m points stored by dimension: coordinate j of point i at x[j·stride +
/// i]. A tree with distances(q, x, m, stride, lo2, hi2) of its own does them all at once.
template <space_tree T>
void distances_to(T const& t, node_id q, double const* x, index m, index stride, double* lo2, double* hi2) {
  if constexpr (requires { t.distances(q, x, m, stride, lo2, hi2); }) {
    t.distances(q, x, m, stride, lo2, hi2);
  } else {
    std::vector<double> one(static_cast<std::size_t>(t.dims()));
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j < t.dims(); ++j) one[static_cast<std::size_t>(j)] = x[j * stride + i];
      interval const d2 = t.distance(q, one.data());
      lo2[i] = d2.lo;
      hi2[i] = d2.hi;
    }
  }
}

/// The least of what distances_to() has for hi2, and the first of the points that has it. A tree with
/// nearest(q, x, m, stride, hi2) of its own finds it faster; x and hi2 have room for whole vectors.
template <space_tree T>
nearest_column nearest_to(T const& t, node_id q, double const* x, index m, index stride, double* hi2) {
  if constexpr (requires { t.nearest(q, x, m, stride, hi2); }) {
    return t.nearest(q, x, m, stride, hi2);
  } else {
    std::vector<double> one(static_cast<std::size_t>(t.dims()));
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j < t.dims(); ++j) one[static_cast<std::size_t>(j)] = x[j * stride + i];
      hi2[i] = t.distance(q, one.data()).hi;
    }
    double const* const least = std::min_element(hi2, hi2 + m);
    return {*least, least - hi2};
  }
}

namespace detail {
// The first thing wrong with the bounds of node q, if any, between its points and those of another tree.
template <space_tree T> std::string check_bounds(T const& t, node_id q, typename T::reference const& others) {
  std::vector<node_id> stack{others.root()};
  double const* const first = others.point(0);
  while (!stack.empty()) {
    node_id const r = stack.back();
    stack.pop_back();
    for (node_id const c : others.children(r)) stack.push_back(c);
    interval const pair = t.distance(q, others, r);
    for (index o = others.points(r).first; o < others.points(r).last; ++o) {
      double const* const x = others.point(o);
      interval const single = t.distance(q, x);
      double const lowest = t.lowest(q, x);
      double const x_leads = lead(t, q, x, first, single.hi);
      double const first_leads = lead(t, q, first, x, t.distance(q, first).hi);
      for (index i = t.points(q).first; i < t.points(q).last; ++i) {
        typename T::real const* const p = t.point(i);
        double const d2 = squared_distance(p, x, t.dims()), first2 = squared_distance(p, first, t.dims());
        double dot = 0;
        for (index j = 0; j < t.dims(); ++j) dot += x[j] * static_cast<double>(p[j]);
        if (d2 < single.lo || d2 > single.hi) return "distance() to a point does not bound";
        if (d2 < pair.lo || d2 > pair.hi) return "distance() to a node does not bound";
        if (dot < lowest) return "lowest() does not bound";
        if (first2 - d2 < x_leads || d2 - first2 < first_leads) return "lead() does not bound";
      }
    }
  }
  return "";
}
} // namespace detail

/// Checks the invariants above, every node and every point, and the bounds between them and some `others`
/// (rows that may be anywhere); returns "" or what is wrong. O(depth · n · d) times the number of others.
template <space_tree T>
std::string check_tree(T const& t, matrix_view<typename T::real> data, matrix_view<double> others) {
  std::vector<char> seen(static_cast<std::size_t>(data.rows()), 0);
  typename T::reference const reference(others, 2);
  std::vector<node_id> stack{t.root()};
  if (t.points(t.root()).first != 0 || t.points(t.root()).last != data.rows())
    return "the root does not hold all points";
  for (index nodes = 1; !stack.empty(); ++nodes) {
    node_id const q = stack.back();
    stack.pop_back();
    std::string const at = "node " + std::to_string(q) + ": ";
    if (q < 0 || q >= t.node_count() || nodes > t.node_count())
      return at + "not a tree of node_count() nodes";
    point_range const range = t.points(q);
    if (range.size() <= 0) return at + "no points";
    index next = range.first;
    bool leaf = true;
    for (node_id const c : t.children(q)) {
      leaf = false;
      if (t.points(c).first != next) return at + "children do not follow one another";
      next = t.points(c).last;
      stack.push_back(c);
    }
    if (!leaf && next != range.last) return at + "children do not hold all its points";
    for (index i = range.first; leaf && i < range.last; ++i) {
      typename T::real const* const p = t.point(i);
      if (t.row(i) < 0 || t.row(i) >= data.rows()) return at + "a point of no row";
      if (++seen[static_cast<std::size_t>(t.row(i))] != 1) return at + "a row twice in the tree";
      if (!std::equal(p, p + t.dims(), data.row(t.row(i)))) return at + "a point that is not its row";
    }
    if (std::string const wrong = detail::check_bounds(t, q, reference); !wrong.empty()) return at + wrong;
  }
  return "";
}

/// The same with a few of the rows themselves.
template <space_tree T> std::string check_tree(T const& t, matrix_view<typename T::real> data) {
  matrix<double> some(std::min<index>(data.rows(), 5), data.cols());
  for (index i = 0; i < some.rows(); ++i)
    std::copy_n(data.row(i * (data.rows() - 1) / std::max<index>(1, some.rows() - 1)), data.cols(),
                some.row(i));
  return check_tree(t, data, some);
}

} // namespace kopse
