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

void centroid_columns::assign(matrix_view<double> centroids) {
  resize(centroids.rows(), centroids.cols());
  for (index i = 0; i < size_; ++i) set(i, centroids.row(i));
}

void centroid_columns::assign(matrix_view<double> centroids, std::vector<label> const& rows) {
  resize(static_cast<index>(rows.size()), centroids.cols());
  for (index i = 0; i < size_; ++i) set(i, centroids.row(rows[static_cast<std::size_t>(i)]));
}

void centroid_columns::resize(index size, index dims) {
  size_ = size;
  dims_ = dims;
  stride_ = padded(size) + width;
  columns_.assign(static_cast<std::size_t>(stride_ * dims_), 0.0);
}

void centroid_columns::set(index i, double const* centroid) {
  for (index j = 0; j < dims_; ++j) columns_[static_cast<std::size_t>(j * stride_ + i)] = centroid[j];
}

} // namespace kopse
