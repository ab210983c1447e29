// SPDX-License-Identifier: BSD-3-Clause
// A space tree as a user would bring one: it sorts the points of a node along the widest side of their box
// and halves them, down to the leaf size, equal points or not. Written for reading: the tree of the errata's
// smallest cases.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "kopse/tree/space_tree.hpp"

class halving_tree {
public:
  using real = double;
  using reference = halving_tree;

  halving_tree(kopse::matrix_view<double> rows, kopse::index leaf_size)
      : points_(rows.rows(), rows.cols()), rows_(static_cast<std::size_t>(rows.rows())), slack_(rows.cols()) {
    std::iota(rows_.begin(), rows_.end(), kopse::index{0});
    build(rows, 0, rows.rows(), leaf_size, no_node);
    for (kopse::index i = 0; i < rows.rows(); ++i) std::copy_n(rows.row(row(i)), dims(), points_.row(i));
  }

  static constexpr kopse::node_id no_node = -1;
  kopse::node_id parent(kopse::node_id q) const { return at(q).parent; } // no_node of the root

  kopse::index dims() const { return points_.cols(); }
  kopse::index node_count() const { return static_cast<kopse::index>(nodes_.size()); }
  kopse::node_id root() const { return 0; }
  std::span<kopse::node_id const> children(kopse::node_id q) const { return at(q).children; }
  kopse::point_range points(kopse::node_id q) const { return at(q).points; }
  double const* point(kopse::index position) const { return points_.row(position); }
  kopse::index row(kopse::index position) const { return rows_[static_cast<std::size_t>(position)]; }
  std::span<double const> low(kopse::node_id q) const { return at(q).low; }
  std::span<double const> high(kopse::node_id q) const { return at(q).high; }

  kopse::interval distance(kopse::node_id q, halving_tree const& other, kopse::node_id r) const {
    return distance(q, other.at(r).low.data(), other.at(r).high.data());
  }
  kopse::interval distance(kopse::node_id q, double const* x) const { return distance(q, x, x); }
  double lowest(kopse::node_id q, double const* w) const {
    double smallest = std::numeric_limits<double>::infinity();
    for (kopse::index i = points(q).first; i < points(q).last; ++i) {
      double dot = 0, magnitude = 0;
      for (kopse::index j = 0; j < dims(); ++j) {
        dot += w[j] * points_(i, j);
        magnitude += std::abs(w[j] * points_(i, j));
      }
      smallest = std::min(smallest, dot - magnitude * static_cast<double>(dims() + 3) * 0x1p-51);
    }
    return smallest;
  }
  double extent(kopse::node_id q) const { return distance(q, *this, q).hi; }
  // d²(p, far) - d²(p, near) is linear in p: what it is at its least, at a corner of the box, it is
  // everywhere.
  double lead(kopse::node_id q, double const* near, double const* far, double largest) const {
    double to_near = 0, to_far = 0;
    for (std::size_t j = 0; j < at(q).low.size(); ++j) {
      double const corner = far[j] > near[j] ? at(q).high[j] : at(q).low[j];
      to_near += (corner - near[j]) * (corner - near[j]);
      to_far += (corner - far[j]) * (corner - far[j]);
    }
    return to_far - to_near - slack_.of_squares(largest, to_far + to_near);
  }

private:
  struct node {
    kopse::point_range points;
    kopse::node_id parent;
    std::vector<kopse::node_id> children;
    std::vector<double> low, high;
  };
  node const& at(kopse::node_id q) const { return nodes_[static_cast<std::size_t>(q)]; }

  kopse::interval distance(kopse::node_id q, double const* low, double const* high) const {
    kopse::interval sum{0, 0};
    for (std::size_t j = 0; j < at(q).low.size(); ++j) {
      double const below = low[j] - at(q).high[j], above = at(q).low[j] - high[j];
      double const gap = std::max({below, above, 0.0}), span = -std::min(below, above);
      sum.lo += gap * gap;
      sum.hi += span * span;
    }
    return slack_.outward(sum); // whatever flags this file is compiled with
  }

  kopse::node_id build(kopse::matrix_view<double> rows, kopse::index first, kopse::index last,
                       kopse::index leaf_size, kopse::node_id above) {
    kopse::node_id const q = static_cast<kopse::node_id>(nodes_.size());
    nodes_.push_back({{first, last}, above, {}, {}, {}});
    auto const begin = rows_.begin() + first, end = rows_.begin() + last;
    kopse::index widest = 0;
    double side = -1;
    for (kopse::index j = 0; j < rows.cols(); ++j) {
      auto const by_j = [&](kopse::index a, kopse::index b) { return rows(a, j) < rows(b, j); };
      auto const [least, most] = std::minmax_element(begin, end, by_j);
      nodes_.back().low.push_back(rows(*least, j));
      nodes_.back().high.push_back(rows(*most, j));
      if (rows(*most, j) - rows(*least, j) > side) side = rows(*most, j) - rows(*least, j), widest = j;
    }
    if (last - first <= leaf_size) return q;
    std::stable_sort(begin, end,
                     [&](kopse::index a, kopse::index b) { return rows(a, widest) < rows(b, widest); });
    kopse::index const middle = (first + last) / 2;
    kopse::node_id const left = build(rows, first, middle, leaf_size, q);
    kopse::node_id const right = build(rows, middle, last, leaf_size, q);
    nodes_[static_cast<std::size_t>(q)].children = {left, right};
    return q;
  }

  kopse::matrix<double> points_;
  std::vector<kopse::index> rows_; // of the points, in tree order
  std::vector<node> nodes_;
  kopse::slack slack_;
};

static_assert(kopse::space_tree<halving_tree>);
