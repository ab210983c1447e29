// SPDX-License-Identifier: BSD-3-Clause
#include "centroid_columns.hpp"

namespace kopse {

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
