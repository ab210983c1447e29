// SPDX-License-Identifier: BSD-3-Clause
// The driver: assign, move, and again. It alone decides when to stop and where empty clusters go, from merged
// sums.
#include "kopse/kmeans.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include "step_common.hpp"
#include "unit_length.hpp"

namespace kopse {

char const* name(stop_reason reason) {
  switch (reason) {
  case stop_reason::labels:
    return "labels";
  case stop_reason::tol:
    return "tol";
  case stop_reason::max_iter:
    return "max_iter";
  case stop_reason::time_limit:
    return "time_limit";
  }
  return "";
}

namespace {

class driver {
public:
  driver(assignment_step& step, sum_layout const& layout, matrix<double> centroids,
         driver_options const& options, reduction& reduce)
      : step_(step), options_(options), reduce_(reduce), centroids_(std::move(centroids)),
        totals_(layout, centroids_.rows()), between_(static_cast<std::size_t>(centroids_.rows())),
        stale_(static_cast<std::size_t>(centroids_.rows()), true) {}

  /// From the start or, if one is given, from a point of a run.
  run_result run(double mean_variance, run_point const* from) {
    try {
      if (from != nullptr)
        go_on(*from);
      else
        tell(false);
      while (!ended_) {
        iterate_once(mean_variance);
        bool const late = !ended_ && options_.deadline
                          && reduce_.any(std::chrono::steady_clock::now() >= *options_.deadline);
        tell(late);
        if (late) ended_ = stop_reason::time_limit;
      }
      if (stale_labels_) assign(); // so that labels and inertia belong to the returned centroids; not counted
      return outcome();
    } catch (...) {
      try {
        tell(true);
      } catch (...) { // what stopped the run is what the caller wants to know
      }
      throw;
    }
  }

private:
  // All that decides what follows is of the last whole iteration when this throws.
  void iterate_once(double mean_variance) {
    check_stop(options_.stop);
    auto const start = std::chrono::steady_clock::now();
    cluster_sums const changes = assign();
    iteration_record record;
    record.work = changes.work;
    record.work += std::exchange(repeated_, {});
    record.labels_changed = changes.labels_changed;
    if (!mean_known_) measure_scatter();
    bool const settled = done_ > 0 && changes.labels_changed == 0 && !relocated_;
    double const shift2 = settled ? 0 : move(changes, record.largest_movement);
    record.inertia = settled && !trace_.empty() ? trace_.back().inertia : inertia_from_sums();
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    trace_.push_back(record);
    ++done_;
    if (settled)
      ended_ = stop_reason::labels;
    else if (options_.tol > 0 && shift2 <= options_.tol * mean_variance)
      ended_ = stop_reason::tol;
    else if (done_ == options_.max_iter)
      ended_ = stop_reason::max_iter;
    if (options_.on_iteration) options_.on_iteration(done_, record);
  }

  // The labels of the point's last assignment are found by making it again; then changes, and with them the
  // number of iterations, are what they would have been. All centroids are stale: what becomes of those that
  // are the means of their clusters already is the same again.
  void go_on(run_point const& from) {
    done_ = from.iteration;
    relocated_ = from.relocated;
    trace_.assign(from.trace.begin(), from.trace.end());
    if (done_ == 0) return;
    before_ = matrix<double>(from.assigned);
    ended_ = from.ended;
    if (ended_ == stop_reason::max_iter && done_ < options_.max_iter) ended_.reset();
    if (ended_) return; // the last assignment is yet to be made
    repeated_ = assign(before_).work;
  }

  void tell(bool last) {
    if (!options_.on_point || (last && told_last_)) return;
    told_last_ = last;
    std::optional<stop_reason> const ended = ended_ == stop_reason::time_limit ? std::nullopt : ended_;
    options_.on_point({done_, before_, centroids_, relocated_, ended, trace_}, last);
  }

  run_result outcome() {
    run_result result;
    exact_sum inertia = step_.inertia(centroids_);
    reduce_.merge(inertia);
    result.inertia = inertia.value();
    result.iterations = done_;
    result.reason = *ended_;
    for (index j = 0; j < centroids_.rows(); ++j) result.empty_clusters += totals_.sums.weightless(j) ? 1 : 0;
    result.centroids = std::move(centroids_);
    result.trace = std::move(trace_);
    return result;
  }

  cluster_sums assign() { return assign(centroids_); }

  cluster_sums assign(matrix_view<double> centroids) {
    cluster_sums changes = step_.assign(centroids);
    changes.work = step_.work();
    reduce_.merge(changes);
    totals_ += changes;
    stale_labels_ = false;
    return changes;
  }

  // Moves the centroids to the means of their clusters and the empty ones by the policy; returns Σ shift².
  double move(cluster_sums const& changes, double& largest) {
    index const k = centroids_.rows(), d = centroids_.cols();
    matrix<double> old = centroids_;
    bool relocated = false;
    try {
      relocated = to_means(changes, old);
    } catch (...) { // a stop while the farthest rows are searched
      centroids_ = std::move(old);
      throw;
    }
    double sum = 0, largest2 = 0;
    for (index j = 0; j < k; ++j) {
      double shift2 = 0;
      for (index i = 0; i < d; ++i) {
        double const shift = centroids_(j, i) - old(j, i);
        shift2 += shift * shift;
        sum += shift * shift;
      }
      largest2 = std::max(largest2, shift2);
    }
    largest = std::sqrt(largest2);
    before_ = std::move(old);
    relocated_ = relocated;
    stale_labels_ = true;
    return sum;
  }

  // Whether empty clusters were filled.
  bool to_means(cluster_sums const& changes, matrix<double> const& old) {
    for_blocks(centroids_.rows(), 512, options_.threads, [&](index first, index last) {
      for (index j = first; j < last; ++j)
        if (stale_[static_cast<std::size_t>(j)] || !changes.sums.is_zero(j))
          move_to_mean(j, old.row(j), true);
    });
    return options_.empty == empty_policy::relocate && relocate(old);
  }

  void move_to_mean(index j, double const* before, bool for_inertia) {
    stale_[static_cast<std::size_t>(j)] = false;
    if (for_inertia) between_[static_cast<std::size_t>(j)] = 0;
    if (totals_.sums.weightless(j)) return;
    double* const c = centroids_.row(j);
    totals_.sums.mean(j, c);
    double square = for_inertia ? squared_distance(c, mean_.data(), centroids_.cols()) : 0;
    if (options_.spherical) square -= onto_sphere(c, before);
    if (for_inertia) between_[static_cast<std::size_t>(j)] = totals_.sums.weight(j) * square;
  }

  // Divides a mean by its length; the centroid stays where it was before if that is 0. Returns how far, in
  // the square, it is from the mean now.
  double onto_sphere(double* c, double const* before) const {
    index const d = centroids_.cols();
    std::vector<double> const mean(c, c + d);
    if (!to_unit_length(c, d)) std::copy_n(before, d, c);
    return squared_distance(mean.data(), c, d);
  }

  // The m-th empty cluster by index takes the m-th farthest row, which leaves its donor's mean; a donor left
  // without weight stays where it was before the move. Labels, and so the totals, do not change: the next
  // assignment will see to them.
  bool relocate(matrix<double> const& old) {
    std::vector<index> empty;
    for (index j = 0; j < centroids_.rows(); ++j)
      if (totals_.sums.weightless(j)) empty.push_back(j);
    if (empty.empty()) return false;
    far_rows rows = step_.farthest(static_cast<index>(empty.size()));
    reduce_.merge(rows);
    rows.resize(std::min(rows.size(), empty.size()));
    if (options_.spherical) // the direction of the others is their centroid's
      std::erase_if(rows, [](far_row const& row) { return row.d2 <= unit_tolerance * unit_tolerance; });
    for (far_row const& row : rows) totals_.sums.add(row.owner, row.x.data(), row.weight, -1);
    for (far_row const& row : rows) {
      std::copy_n(old.row(row.owner), old.cols(), centroids_.row(row.owner));
      move_to_mean(row.owner, old.row(row.owner), false);
    }
    for (far_row const& row : rows) totals_.sums.add(row.owner, row.x.data(), row.weight, 1);
    for (std::size_t m = 0; m < rows.size(); ++m) {
      std::copy(rows[m].x.begin(), rows[m].x.end(), centroids_.row(empty[m]));
      if (options_.spherical) to_unit_length(centroids_.row(empty[m]), centroids_.cols());
      stale_[static_cast<std::size_t>(empty[m])] = stale_[static_cast<std::size_t>(rows[m].owner)] = true;
    }
    return !rows.empty();
  }

  // Σ w‖x − mean‖² of the data, once: then the inertia of any iteration follows from the clusters' sums.
  void measure_scatter() {
    exact_sums all(totals_.sums.layout(), 1);
    for (index j = 0; j < centroids_.rows(); ++j) all.add(0, totals_.sums, j, 1);
    mean_.resize(static_cast<std::size_t>(centroids_.cols()));
    all.mean(0, mean_.data());
    exact_sum scatter = step_.inertia(matrix_view<double>(mean_.data(), 1, centroids_.cols()));
    reduce_.merge(scatter);
    scatter_ = scatter.value();
    mean_known_ = true;
  }

  // Σ w‖x − c‖² = Σ w‖x − mean‖² − Σ_j W_j (‖m_j − mean‖² − ‖c_j − m_j‖²), m_j being the mean of cluster j.
  double inertia_from_sums() const {
    double between = 0;
    for (double const b : between_) between += b;
    return std::max(0.0, scatter_ - between);
  }

  assignment_step& step_;
  driver_options const& options_;
  reduction& reduce_;
  matrix<double> centroids_, before_; // the current ones, and those of the iteration before
  index done_ = 0;                    // iterations
  bool relocated_ = false;            // the last one filled an empty cluster
  bool stale_labels_ = true;          // they do not belong to centroids_
  bool told_last_ = false;
  std::optional<stop_reason> ended_;
  std::vector<iteration_record> trace_;
  work_counters repeated_; // of the assignment that was made again
  cluster_sums totals_;
  bool mean_known_ = false;
  std::vector<double> mean_;    // of all data
  double scatter_ = 0;          // of all data about it
  std::vector<double> between_; // W_j (‖m_j − mean_‖² − ‖c_j − m_j‖²)
  std::vector<char> stale_;     // the centroid is not the mean of its cluster's totals, whatever changes
};

} // namespace

run_result iterate(assignment_step& step, sum_layout const& layout, matrix<double> centroids,
                   double mean_variance, driver_options const& options, reduction& reduce) {
  float_environment const environment;
  worker_scope const workers;
  for (index j = 0; options.spherical && j < centroids.rows(); ++j)
    if (!to_unit_length(centroids.row(j), centroids.cols()))
      throw error("starting centroid " + std::to_string(j)
                  + " (counted from 0) is all zeros: it has no direction; expected a value that is not 0");
  return driver(step, layout, std::move(centroids), options, reduce).run(mean_variance, nullptr);
}

run_result resume(assignment_step& step, sum_layout const& layout, run_point const& from,
                  double mean_variance, driver_options const& options, reduction& reduce) {
  float_environment const environment;
  worker_scope const workers;
  matrix<double> centroids(from.centroids);
  return driver(step, layout, std::move(centroids), options, reduce).run(mean_variance, &from);
}

} // namespace kopse
