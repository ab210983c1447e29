// SPDX-License-Identifier: BSD-3-Clause
// What all assignment steps share: stopping, inertia.
#pragma once

#include <atomic>

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
  per_thread<exact_sum> sums([] { return exact_sum(); });
  for_blocks(rows.rows(), 8192, threads, sums, [&](exact_sum& sum, index first, index last) {
    check_stop(stop);
    by_pages(rows, first, last, [&](index a, index b) {
      for (index i = a; i < b; ++i) {
        double const* const c = centroids.row(centroids.rows() == 1 ? 0 : label_of(i));
        double const d2 = squared_distance(rows.row(i), c, rows.cols());
        sum.add(weights.empty() ? d2 : weights[static_cast<std::size_t>(i)] * d2);
      }
    });
  });
  exact_sum total;
  sums.for_each([&](exact_sum const& sum) { total += sum; });
  return total;
}

} // namespace kopse
