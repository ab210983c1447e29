// SPDX-License-Identifier: BSD-3-Clause
#include "nearest.hpp"

#include <algorithm>
#include <limits>

#include "kopse/kernels.hpp"

namespace kopse {

template <class Real>
void nearest_of_tile(matrix_view<Real> tile, matrix_view<double> centroids, double* scratch, label* who) {
  index const n = tile.rows(), d = tile.cols(), k = centroids.rows();
  index const whole = padded(n);
  double* const best = scratch + d * tile_points;
  double* const owner = best + tile_points;
  for (index i = 0; i < whole; ++i) {
    Real const* const x = tile.row(std::min(i, n - 1));
    for (index j = 0; j < d; ++j) scratch[j * tile_points + i] = static_cast<double>(x[j]);
  }
  std::fill_n(best, whole, std::numeric_limits<double>::infinity());
  std::fill_n(owner, whole, 0.0);
  index const block = std::max<index>(8, 2048 / d); // centroids that stay in the first-level cache
  for (index first = 0; first < k; first += block)
    offer_centroids(scratch, whole, tile_points, d, centroids.row(first), std::min(block, k - first),
                    centroids.stride(), 1, static_cast<double>(first), best, owner);
  for (index i = 0; i < n; ++i) who[i] = static_cast<label>(owner[i]);
}
template void nearest_of_tile<float>(matrix_view<float>, matrix_view<double>, double*, label*);
template void nearest_of_tile<double>(matrix_view<double>, matrix_view<double>, double*, label*);

} // namespace kopse
