// SPDX-License-Identifier: BSD-3-Clause
#include "bounds.hpp"

#include <mutex>

#include "kopse/parallel.hpp"

namespace kopse {

std::vector<owner_shift> owner_shifts(kd_tree<double> const& tree, matrix_view<double> centroids,
                                      centroid_drift const& drift, slack const& rounding, int threads,
                                      work_counters& work) {
  std::vector<owner_shift> shifts(static_cast<std::size_t>(centroids.rows()));
  std::mutex guard;
  for_blocks(centroids.rows(), 256, threads, [&](index first, index last) {
    index distances = 0;
    for (label j = static_cast<label>(first); j < last; ++j) {
      double const gap = rounding.lower(nearest_other(tree, centroids.row(j), j, distances));
      shifts[static_cast<std::size_t>(j)] = {drift[j], drift.largest_but(j), std::max(0.0, gap)};
    }
    std::lock_guard const lock(guard);
    work.distances += distances;
  });
  return shifts;
}

} // namespace kopse
