// SPDX-License-Identifier: BSD-3-Clause
// Lloyd's algorithm, the plain one: every distance, every iteration.
//
// S. P. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28 (1982).
// Time n·k·d an iteration; memory 8 bytes a point (old and new label). Points in tiles that are kept in the cache,
// eight to a vector, centroids one after the other.
// Use it for small k or as the judge of the others; not where n·k is large.
#include "steps.hpp"

#include <vector>

#include "nearest.hpp"
#include "step_common.hpp"

namespace kopse {

namespace {

template <class Real> class lloyd_step final : public assignment_step {
public:
  lloyd_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : points_(points), layout_(std::move(layout)), k_(k), threads_(options.threads), stop_(options.stop),
        labels_(static_cast<std::size_t>(points.size()), -1), next_(labels_.size()) {}

  cluster_sums assign(matrix_view<double> centroids) override {
    seen_ = matrix<double>(centroids);
    for_blocks(points_.size(), tile_points, threads_, [&](index first, index last) {
      check_stop(stop_);
      matrix<double> scratch(points_.dims() + 2, tile_points);
      nearest_of_tile(points_.rows.slice(first, last), seen_.view(), scratch.row(0), next_.data() + first);
    });
    cluster_sums changes(layout_, k_);
    for (index i = 0; i < points_.size(); ++i) {
      label& old = labels_[static_cast<std::size_t>(i)];
      label const now = next_[static_cast<std::size_t>(i)];
      if (now == old) continue;
      ++changes.labels_changed;
      if (old >= 0) changes.sums.add(old, points_.rows.row(i), points_.weight(i), -1);
      changes.sums.add(now, points_.rows.row(i), points_.weight(i), 1);
      old = now;
    }
    return changes;
  }

  far_rows farthest(index count) const override {
    far_collector collector(count);
    for (index i = 0; i < points_.size(); ++i) {
      label const owner = labels_[static_cast<std::size_t>(i)];
      Real const* const x = points_.rows.row(i);
      collector.offer(points_.offset + i, squared_distance(x, seen_.row(owner), points_.dims()), owner,
                      points_.weight(i), x, points_.dims());
    }
    return std::move(collector).sorted();
  }

  exact_sum inertia(matrix_view<double> centroids) const override {
    return inertia_of(points_.rows, points_.weights, centroids, threads_, stop_,
                      [&](index i) { return labels_[static_cast<std::size_t>(i)]; });
  }

  void labels(std::span<label> out) const override { std::copy(labels_.begin(), labels_.end(), out.begin()); }

  work_counters work() const override {
    work_counters counters;
    counters.distances = points_.size() * k_;
    return counters;
  }

private:
  point_set<Real> points_;
  sum_layout layout_;
  index k_;
  int threads_;
  std::atomic<bool> const* stop_;
  std::vector<label> labels_, next_;
  matrix<double> seen_;
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_lloyd(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options) {
  return std::make_unique<lloyd_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_lloyd(point_set<float>, sum_layout const&, index, step_options const&);
template std::unique_ptr<assignment_step> make_lloyd(point_set<double>, sum_layout const&, index, step_options const&);

} // namespace kopse
