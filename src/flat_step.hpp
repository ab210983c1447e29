// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms that go point by point share (lloyd, hamerly, elkan, yinyang, exponion): labels by row,
// sums by changes, drift, blocks on threads. Each adds its bounds in a file of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "step_common.hpp"

namespace kopse {

template <class Real> class flat_step : public assignment_step {
public:
  cluster_sums assign(matrix_view<double> centroids) final {
    worker_scope const workers;
    first_ = seen_.rows() == 0;
    drift_.measure(centroids, first_ ? centroids : seen_.view(), slack_);
    seen_ = matrix<double>(centroids);
    work_ = {};
    prepare();
    per_thread<share> shares([&] { return share{cluster_sums(layout_, k_), {}, {}}; });
    for_blocks(points_.size(), block_points, options_.threads, shares,
               [&](share& mine, index first, index last) {
                 check_stop(options_.stop);
                 by_pages(points_.rows, first, last, [&](index a, index b) { assign_rows(mine, a, b); });
               });
    cluster_sums changes;
    shares.for_each([&](share& one) {
      work_ += one.work;
      if (changes.sums.rows() == 0)
        changes = std::move(one.changes);
      else
        changes += one.changes;
    });
    return changes.sums.rows() == 0 ? cluster_sums(layout_, k_) : changes;
  }

  far_rows farthest(index count) const override {
    per_thread<far_collector> collectors([&] { return far_collector(count); });
    for_blocks(points_.size(), block_points, options_.threads, collectors,
               [&](far_collector& collector, index first, index last) {
                 by_pages(points_.rows, first, last, [&](index a, index b) {
                   for (index i = a; i < b; ++i)
                     collector.offer(points_.offset + i, distance2(i, owner(i)), owner(i), points_.weight(i),
                                     points_.rows.row(i), points_.dims());
                 });
               });
    far_collector all(count);
    collectors.for_each([&](far_collector& one) { all += std::move(one); });
    return std::move(all).sorted();
  }

  exact_sum inertia(matrix_view<double> centroids) const override {
    return inertia_of(points_.rows, points_.weights, centroids, options_.threads, options_.stop,
                      [&](index i) { return owner(i); });
  }

  void labels(std::span<label> out) const override { std::copy(labels_.begin(), labels_.end(), out.begin()); }
  work_counters work() const override { return work_; }

protected:
  static constexpr index block_points = 1024;

  flat_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : points_(points), layout_(std::move(layout)), k_(k), options_(options), slack_(points.dims()),
        labels_(static_cast<std::size_t>(points.size()), -1) {}

  /// Before the blocks: what they share. drift_ is measured (none at the first call), seen_ are the new
  /// centroids. Owners must stay, unless this is the first call.
  virtual void prepare() {}
  /// Sets the owners of rows [first, last); runs on any thread. Counts its work in `work`.
  virtual void assign_block(index first, index last, work_counters& work) = 0;

  label owner(index i) const { return labels_[static_cast<std::size_t>(i)]; }
  label& owner(index i) { return labels_[static_cast<std::size_t>(i)]; }
  /// The deciding distance of row i and centroid j.
  double distance2(index i, label j) const {
    return squared_distance(points_.rows.row(i), seen_.row(j), points_.dims());
  }

  point_set<Real> points_;
  sum_layout layout_;
  index k_;
  step_options options_;
  slack slack_;
  matrix<double> seen_; ///< the centroids of this assignment, or the last
  centroid_drift drift_;
  bool first_ = true; ///< no assignment before this one: there are no owners yet
  work_counters work_;

private:
  // What one thread changes and counts; owners of a block before it was assigned.
  struct share {
    cluster_sums changes;
    work_counters work;
    std::vector<label> old;
  };

  void assign_rows(share& mine, index first, index last) {
    mine.old.assign(static_cast<std::size_t>(last - first), -1);
    if (!first_) std::copy_n(labels_.begin() + first, last - first, mine.old.begin());
    assign_block(first, last, mine.work);
    for (index i = first; i < last; ++i)
      record(mine.changes, i, mine.old[static_cast<std::size_t>(i - first)]);
  }

  void record(cluster_sums& changes, index i, label old) {
    label const now = owner(i);
    if (now < 0)
      throw error("row " + std::to_string(points_.offset + i)
                  + " (counted from 0) has no nearest centroid: the data were changed during the run");
    if (now == old) return;
    ++changes.labels_changed;
    if (old >= 0) changes.sums.add(old, points_.rows.row(i), points_.weight(i), -1);
    changes.sums.add(now, points_.rows.row(i), points_.weight(i), 1);
  }

  std::vector<label> labels_;
};

} // namespace kopse
