// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms that assign whole nodes share: who owns what, and the sums by changes.
//
// Each node has an owner, or several; below an owned node nothing is kept, until hand_down() tells its
// children (or points) whose they are. So the cost of an iteration is that of the nodes it has to look at,
// and of what changes cluster. Memory: 4 bytes a point and, a node, 4 bytes and its exact sum.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/tree/node_sums.hpp"

namespace kopse {

template <space_tree Tree> class tree_step : public assignment_step {
public:
  using real = typename Tree::real;

  far_rows farthest(index count) const override {
    far_collector collector(count);
    for_each_run([&](node_id q, index first, index last, label owner) {
      double const* const c = centroids_.row(owner);
      if (last - first > 1 && !collector.wants(tree_->distance(q, c).hi))
        return; // no point of the node is far enough
      for (index i = first; i < last; ++i) {
        real const* const x = tree_->point(i);
        double const d2 = squared_distance(x, c, tree_->dims());
        collector.offer(offset_ + tree_->row(i), d2, owner, weight(i), x, tree_->dims());
      }
    });
    return std::move(collector).sorted();
  }

  exact_sum inertia(matrix_view<double> centroids) const override {
    exact_sum sum;
    for_each_run([&](node_id, index first, index last, label owner) {
      double const* const c = centroids.row(centroids.rows() == 1 ? 0 : owner);
      for (index i = first; i < last; ++i)
        sum.add(weight(i) * squared_distance(tree_->point(i), c, tree_->dims()));
    });
    return sum;
  }

  void labels(std::span<label> out) const override {
    for_each_run([&](node_id, index first, index last, label owner) {
      for (index i = first; i < last; ++i) out[static_cast<std::size_t>(tree_->row(i))] = owner;
    });
  }

  work_counters work() const override { return work_; }

protected:
  static constexpr label nobody = -1;  // no owner yet
  static constexpr label several = -2; // several owners: look below

  /// The tree is on points.rows.
  tree_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
            std::atomic<bool> const* stop)
      : tree_(std::move(tree)), k_(k), slack_(points.dims()), weights_(points.weights),
        offset_(points.offset), sums_(node_sums(*tree_, weights_, layout)),
        node_owner_(static_cast<std::size_t>(tree_->node_count()), nobody),
        point_owner_(static_cast<std::size_t>(points.size()), nobody), stop_(stop) {}

  label owner(node_id q) const { return node_owner_[static_cast<std::size_t>(q)]; }
  label point_owner(index position) const { return point_owner_[static_cast<std::size_t>(position)]; }
  bool is_leaf(node_id q) const { return std::ranges::empty(tree_->children(q)); }

  /// Starts an assignment: remembers the centroids and returns zero changes, which give() and give_point()
  /// fill.
  cluster_sums begin(matrix_view<double> centroids) {
    first_ = centroids_.rows() == 0;
    if (!first_) drift_.measure(centroids, centroids_, slack_);
    centroids_ = matrix<double>(centroids);
    work_ = {};
    return {sums_.layout(), k_};
  }
  void check_stop() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw interrupted();
  }

  /// `owner` owns all of q: the sums of what had another owner move (the paper's UpdateCentroids, by
  /// changes).
  void give(cluster_sums& changes, node_id q, label owner) {
    label& old = node_owner_[static_cast<std::size_t>(q)];
    if (old == owner) return;
    if (old == several) {
      for (node_id const c : tree_->children(q)) give(changes, c, owner);
      if (is_leaf(q))
        for (index i = tree_->points(q).first; i < tree_->points(q).last; ++i) give_point(changes, i, owner);
    } else {
      if (old >= 0) changes.sums.add(old, sums_, q, -1);
      changes.sums.add(owner, sums_, q, 1);
      changes.labels_changed += tree_->points(q).size();
    }
    old = owner;
  }

  void give_point(cluster_sums& changes, index position, label owner) {
    label& old = point_owner_[static_cast<std::size_t>(position)];
    if (old == owner) return;
    if (old >= 0) changes.sums.add(old, tree_->point(position), weight(position), -1);
    changes.sums.add(owner, tree_->point(position), weight(position), 1);
    ++changes.labels_changed;
    old = owner;
  }

  /// q may come to have several owners: its children, or points, take over its own. Nothing to do if it has
  /// several.
  void hand_down(node_id q) {
    label& owner = node_owner_[static_cast<std::size_t>(q)];
    if (owner == several) return;
    for (node_id const c : tree_->children(q)) node_owner_[static_cast<std::size_t>(c)] = owner;
    if (is_leaf(q)) {
      point_range const range = tree_->points(q);
      std::fill(point_owner_.begin() + range.first, point_owner_.begin() + range.last, owner);
    }
    owner = several;
  }

  std::shared_ptr<Tree const> tree_;
  index k_;
  slack slack_;
  matrix<double> centroids_; ///< of this assignment, or the last
  centroid_drift drift_;     ///< since the one before; not measured when first_
  bool first_ = true;        ///< no assignment before this one
  work_counters work_;

private:
  double weight(index position) const {
    return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(tree_->row(position))];
  }

  // Calls f(node, first, last, owner) for runs of positions with one owner that together are all points.
  template <class F> void for_each_run(F const& f) const { for_each_run(tree_->root(), f); }
  template <class F> void for_each_run(node_id q, F const& f) const {
    point_range const range = tree_->points(q);
    if (owner(q) != several) return f(q, range.first, range.last, owner(q));
    for (node_id const c : tree_->children(q)) for_each_run(c, f);
    if (is_leaf(q))
      for (index i = range.first; i < range.last; ++i) f(q, i, i + 1, point_owner(i));
  }

  std::span<double const> weights_;
  index offset_;
  exact_sums sums_; // of each node
  std::vector<label> node_owner_, point_owner_;
  std::atomic<bool> const* stop_;
};

} // namespace kopse
