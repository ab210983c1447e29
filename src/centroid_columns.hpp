// SPDX-License-Identifier: BSD-3-Clause
// Distances of one point to eight centroids at a time: what algorithms go back to where their bounds fail.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kopse/kernels.hpp"
#include "kopse/matrix.hpp"
#include "kopse/tree/neighbours.hpp"

namespace kopse {

/// Centroids by dimension: eight of them cost little more than one. 8·k·d bytes and a little.
class centroid_columns {
public:
  static constexpr index width = lanes;

  void assign(matrix_view<double> centroids);
  /// The centroids of the given rows, in that order.
  void assign(matrix_view<double> centroids, std::vector<label> const& rows);

  /// Coordinate j of centroid i is at column(j)[i] = column(0)[j·stride() + i].
  double const* column(index j) const { return columns_.data() + j * stride_; }
  index stride() const { return stride_; }

  /// Computed d² of x to `count` centroids from `first` on; `out` has room for padded(count).
  template <class Real> void squares(Real const* x, index first, index count, double* out) const {
    squared_distances(x, dims_, columns_.data() + first, padded(count), stride_, out);
  }
  /// Offers all centroids, numbered as they were given.
  template <class Real> void find_nearest_two(Real const* x, nearest_two& found) const {
    constexpr index chunk = 8 * width;
    double d2[chunk];
    for (index first = 0; first < size_; first += chunk) {
      index const count = std::min(chunk, size_ - first);
      squares(x, first, count, d2);
      for (index i = 0; i < count; i += width)
        offer_eight(d2 + i, count - i, found, [&](index m) { return first + i + m; });
    }
  }
  /// Offers the first `count` of eight squares, of the centroids row(0), row(1), ... Most eights have none
  /// that matters, which takes no branch to see.
  template <class Row> static void offer_eight(double* d2, index count, nearest_two& found, Row const& row) {
    for (index m = std::max<index>(count, 0); m < width; ++m) d2[m] = std::numeric_limits<double>::infinity();
    double least = d2[0];
    for (index m = 1; m < width; ++m) least = std::min(least, d2[m]);
    if (least > found.second2) return;
    for (index m = 0; m < std::min(count, width); ++m) found.offer(row(m), d2[m]);
  }

private:
  void resize(index size, index dims);
  void set(index i, double const* centroid);

  index size_ = 0, dims_ = 0, stride_ = 0;
  std::vector<double> columns_; // past the end of each, an eight of zeros: what an eight may read there
};

} // namespace kopse
