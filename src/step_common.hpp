// SPDX-License-Identifier: BSD-3-Clause
// What all assignment steps share: stopping, inertia.
#pragma once

#include <atomic>
#include <mutex>

#include "kopse/assignment_step.hpp"
#include "kopse/metric.hpp"
#include "kopse/parallel.hpp"

namespace kopse {

inline void check_stop(std::atomic<bool> const* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw interrupted();
}

/// Σ w·d² over points, label(i) naming the centroid of point i (all the one centroid, if there is but one).
template <class Real, class Label>
exact_sum inertia_of(matrix_view<Real> rows, std::span<double const> weights, matrix_view<double> centroids,
                     int threads, std::atomic<bool> const* stop, Label const& label_of) {
  exact_sum total;
  std::mutex guard;
  for_blocks(rows.rows(), 8192, threads, [&](index first, index last) {
    check_stop(stop);
    exact_sum sum;
    for (index i = first; i < last; ++i) {
      double const* const c = centroids.row(centroids.rows() == 1 ? 0 : label_of(i));
      double const d2 = squared_distance(rows.row(i), c, rows.cols());
      sum.add(weights.empty() ? d2 : weights[static_cast<std::size_t>(i)] * d2);
    }
    std::lock_guard const lock(guard);
    total += sum;
  });
  return total;
}

} // namespace kopse
