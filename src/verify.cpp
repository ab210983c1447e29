// SPDX-License-Identifier: BSD-3-Clause
// The oracle one can switch on inside: plain loops, no tree, no bound, nothing shared with what it judges but
// the threads.
#include "verify.hpp"

#include <limits>
#include <vector>

#include "step_common.hpp"

namespace kopse {

namespace {

template <class Real> class verifying_step final : public assignment_step {
public:
  verifying_step(std::unique_ptr<assignment_step> step, point_set<Real> points, sum_layout const& layout,
                 index k, step_options const& options)
      : step_(std::move(step)), points_(points), totals_(layout, k), stop_(options.stop),
        threads_(options.threads) {}

  cluster_sums assign(matrix_view<double> centroids) override {
    ++iteration_;
    cluster_sums changes = step_->assign(centroids);
    totals_ += changes;
    std::vector<label> claimed(static_cast<std::size_t>(points_.size()));
    step_->labels(claimed);
    std::vector<label> right(claimed.size());
    for_blocks(points_.size(), 64, threads_, [&](index first, index last) {
      check_stop(stop_);
      by_pages(points_.rows, first, last, [&](index a, index b) {
        for (index i = a; i < b; ++i)
          right[static_cast<std::size_t>(i)] = nearest(points_.rows.row(i), centroids);
      });
    });
    cluster_sums sums(totals_.sums.layout(), centroids.rows());
    for (index i = 0; i < points_.size(); ++i) {
      label const found = claimed[static_cast<std::size_t>(i)], expected = right[static_cast<std::size_t>(i)];
      if (found != expected)
        throw verification_error("iteration " + std::to_string(iteration_) + ", row "
                                 + std::to_string(points_.offset + i) + ": the algorithm says cluster "
                                 + std::to_string(found) + ", brute force " + std::to_string(expected));
      Real const* const x = points_.rows.row(i);
      sums.sums.add(expected, x, points_.weight(i), 1);
      give_back(x, x + points_.dims(), false);
    }
    if (!(sums.sums == totals_.sums))
      throw verification_error(
          "iteration " + std::to_string(iteration_)
          + ": all labels are right, but the sums of the clusters are not those of their rows");
    return changes;
  }
  far_rows farthest(index count) const override { return step_->farthest(count); }
  exact_sum inertia(matrix_view<double> centroids) const override { return step_->inertia(centroids); }
  void labels(std::span<label> out) const override { step_->labels(out); }
  work_counters work() const override { return step_->work(); }
  std::vector<algorithm_choice> choices() const override { return step_->choices(); }

private:
  static label nearest(Real const* x, matrix_view<double> centroids) {
    double best = std::numeric_limits<double>::infinity();
    label who = 0;
    for (index c = 0; c < centroids.rows(); ++c) {
      double const d2 = squared_distance(x, centroids.row(c), centroids.cols());
      if (d2 < best) best = d2, who = static_cast<label>(c);
    }
    return who;
  }

  std::unique_ptr<assignment_step> step_;
  point_set<Real> points_;
  cluster_sums totals_;
  std::atomic<bool> const* stop_;
  int threads_;
  index iteration_ = 0;
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_verifying(std::unique_ptr<assignment_step> step, point_set<Real> points,
                                                sum_layout const& layout, index k,
                                                step_options const& options) {
  return std::make_unique<verifying_step<Real>>(std::move(step), points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_verifying(std::unique_ptr<assignment_step>, point_set<float>,
                                                         sum_layout const&, index, step_options const&);
template std::unique_ptr<assignment_step> make_verifying(std::unique_ptr<assignment_step>, point_set<double>,
                                                         sum_layout const&, index, step_options const&);

} // namespace kopse
