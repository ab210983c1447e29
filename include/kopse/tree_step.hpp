// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms that assign whole nodes share: who owns what, and the sums by changes.
//
// Each node has an owner, or several; below an owned node nothing is kept, until hand_down() tells its
// children (or points) whose they are. So the cost of an iteration is that of the nodes it has to look at,
// and of what changes cluster. Memory: 4 bytes a point and, a node, 4 bytes and its exact sum.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/parallel.hpp"
#include "kopse/tree/node_sums.hpp"

namespace kopse {

template <space_tree Tree> class tree_step : public assignment_step {
public:
  using real = typename Tree::real;

  far_rows farthest(index count) const override {
    per_thread<far_collector> collectors([&] { return far_collector(count); });
    for_blocks(points(), block_points, threads_, collectors,
               [&](far_collector& collector, index begin, index end) {
                 for_each_run(begin, end, [&](node_id q, index first, index last, label owner) {
                   double const* const c = centroids_.row(owner);
                   if (last - first > 1 && !collector.wants(tree_->distance(q, c).hi))
                     return; // no point of the node is far enough
                   for (index i = first; i < last; ++i) {
                     real const* const x = tree_->point(i);
                     double const d2 = squared_distance(x, c, tree_->dims());
                     collector.offer(offset_ + tree_->row(i), d2, owner, weight(i), x, tree_->dims());
                   }
                 });
               });
    far_collector all(count);
    collectors.for_each([&](far_collector& one) { all += std::move(one); });
    return std::move(all).sorted();
  }

  exact_sum inertia(matrix_view<double> centroids) const override {
    per_thread<exact_sum> sums([] { return exact_sum(); });
    for_blocks(points(), block_points, threads_, sums, [&](exact_sum& sum, index begin, index end) {
      for_each_run(begin, end, [&](node_id, index first, index last, label owner) {
        double const* const c = centroids.row(centroids.rows() == 1 ? 0 : owner);
        for (index i = first; i < last; ++i)
          sum.add(weight(i) * squared_distance(tree_->point(i), c, tree_->dims()));
      });
    });
    exact_sum total;
    sums.for_each([&](exact_sum const& sum) { total += sum; });
    return total;
  }

  void labels(std::span<label> out) const override {
    for_blocks(points(), block_points, threads_, [&](index begin, index end) {
      for_each_run(begin, end, [&](node_id, index first, index last, label owner) {
        for (index i = first; i < last; ++i) out[static_cast<std::size_t>(tree_->row(i))] = owner;
      });
    });
  }

  work_counters work() const override { return work_; }

protected:
  static constexpr label nobody = -1;  // no owner yet
  static constexpr label several = -2; // several owners: look below

  /// The tree is on points.rows. 0 threads: all.
  tree_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
            std::atomic<bool> const* stop, int threads = 1)
      : tree_(std::move(tree)), k_(k), slack_(points.dims()), threads_(threads), weights_(points.weights),
        offset_(points.offset), sums_(node_sums(*tree_, weights_, layout, threads)),
        node_owner_(static_cast<std::size_t>(tree_->node_count()), nobody),
        point_owner_(static_cast<std::size_t>(points.size()), nobody), stop_(stop) {}

  label owner(node_id q) const { return node_owner_[static_cast<std::size_t>(q)]; }
  label point_owner(index position) const { return point_owner_[static_cast<std::size_t>(position)]; }
  double weight(index position) const {
    return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(tree_->row(position))];
  }
  bool is_leaf(node_id q) const { return std::ranges::empty(tree_->children(q)); }

  // Subtrees without a node in common may be worked at side by side, each thread with changes of its own: all
  // that is kept is by node and by point. give() and the like touch nothing above their node.

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

  /// What one thread of an assignment changes and counts.
  struct share {
    cluster_sums changes;
    work_counters work;
  };
  /// A share of an assignment whose changes are to come to `whole`: the first gets `whole` itself, so that
  /// one thread alone needs no second table of k sums.
  share take_share(cluster_sums& whole) const {
    if (whole.sums.rows() > 0) return {std::exchange(whole, {}), {}};
    return {cluster_sums(sums_.layout(), k_), {}};
  }
  void merge(cluster_sums& whole, share& one) {
    if (whole.sums.rows() == 0)
      whole = std::move(one.changes);
    else
      whole += one.changes;
    work_ += one.work;
  }

  /// Most points of a node that one thread does with all below it: enough of them for any number of threads,
  /// none so small that handing it out would cost more than it.
  index branch_points() const { return threads_ == 1 ? points() : small_points(); }
  /// The same whatever the number of threads.
  index small_points() const { return std::max(least_branch, points() / branches); }

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
  int threads_;

private:
  static constexpr index block_points = 8192, least_branch = 1024, branches = 256;

  index points() const { return static_cast<index>(point_owner_.size()); }
  // Calls f(node, first, last, owner) for runs of positions with one owner that together are [begin, end).
  template <class F> void for_each_run(index begin, index end, F const& f) const {
    for_each_run(tree_->root(), begin, end, f);
  }
  template <class F> void for_each_run(node_id q, index begin, index end, F const& f) const {
    point_range const range = tree_->points(q);
    index const first = std::max(begin, range.first), last = std::min(end, range.last);
    if (first >= last) return;
    if (owner(q) != several) return f(q, first, last, owner(q));
    for (node_id const c : tree_->children(q)) for_each_run(c, begin, end, f);
    if (is_leaf(q))
      for (index i = first; i < last; ++i) f(q, i, i + 1, point_owner(i));
  }

  std::span<double const> weights_;
  index offset_;
  exact_sums sums_; // of each node
  std::vector<label> node_owner_, point_owner_;
  std::atomic<bool> const* stop_;
};

} // namespace kopse
