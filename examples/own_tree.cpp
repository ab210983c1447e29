// SPDX-License-Identifier: BSD-3-Clause
// A tree that the library does not have: numbers on a line, sorted once and halved by position. check_tree()
// checks it, dual_tree_step runs over it, and the clusters are those of fit(), bit for bit.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <kopse/kopse.hpp>
using namespace kopse;
using row_index = kopse::index;

class sorted_tree {
public:
  using real = double;           // the type of its points
  using reference = sorted_tree; // the tree on centroids that it is compared with
  sorted_tree(matrix_view<double> rows, row_index leaf_size) {
    for (row_index i = 0; i < rows.rows(); ++i) points_.emplace_back(rows(i, 0), i);
    std::sort(points_.begin(), points_.end());
    halve({0, rows.rows()}, leaf_size);
  }

  row_index dims() const { return 1; }
  row_index node_count() const { return static_cast<row_index>(nodes_.size()); }
  node_id root() const { return 0; }
  std::vector<node_id> const& children(node_id q) const { return children_[q]; }
  point_range points(node_id q) const { return nodes_[q]; }
  double const* point(row_index position) const { return &points_[position].first; }
  row_index row(row_index position) const { return points_[position].second; }

  interval distance(node_id q, sorted_tree const& other, node_id r) const {
    return between(q, other.low(r), other.high(r));
  }
  interval distance(node_id q, double const* x) const { return between(q, *x, *x); }
  double lowest(node_id q, double const* w) const {
    double const least = *w * (*w > 0 ? low(q) : high(q));
    return least - std::abs(least) * 0x1p-50 - 0x1p-1060; // rounded down
  }
  double extent(node_id q) const { return high(q) - low(q); }

private:
  double low(node_id q) const { return points_[nodes_[q].first].first; }
  double high(node_id q) const { return points_[nodes_[q].last - 1].first; }
  interval between(node_id q, double other_low, double other_high) const {
    double const below = other_low - high(q), above = low(q) - other_high;
    double const gap = std::max({below, above, 0.0}), span = std::min(below, above);
    return slack(1).outward({gap * gap, span * span}); // it bounds computed squares, not true ones
  }
  node_id halve(point_range range, row_index leaf_size) {
    node_id const q = static_cast<node_id>(nodes_.size());
    nodes_.push_back(range);
    children_.push_back({});
    if (range.size() <= leaf_size) return q;
    row_index const middle = (range.first + range.last) / 2;
    node_id const left = halve({range.first, middle}, leaf_size);
    node_id const right = halve({middle, range.last}, leaf_size);
    children_[q] = {left, right};
    return q;
  }
  std::vector<std::pair<double, row_index>> points_; // sorted, with their rows
  std::vector<point_range> nodes_;
  std::vector<std::vector<node_id>> children_;
};

int main() {
  matrix<double> rows(5000, 1), start(9, 1);
  for (row_index i = 0; i < 5000; ++i) rows(i, 0) = static_cast<double>(i * i * 7919 % 10007) / 100;
  std::copy_n(rows.row(0), 9, start.row(0));
  auto const tree = std::make_shared<sorted_tree const>(rows, 20);
  std::string const faults = check_tree(*tree, rows);
  sum_layout const layout = summarise(point_set<double>(rows), false).layout();
  dual_tree_step<sorted_tree> step(tree, rows.view(), layout, 9);
  reduction alone;
  run_result const own = iterate(step, layout, start, 0, driver_options(), alone);
  options settings;
  settings.centroids = start;
  result const other = fit(rows.view(), 9, settings);
  bool const same = std::equal(own.centroids.row(0), own.centroids.row(9), other.centroids.row(0));
  std::cout << faults << own.iterations << " iterations, " << (same ? "the bits of fit()\n" : "wrong\n");
  return same && faults.empty() ? 0 : 1;
}
