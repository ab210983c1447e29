// SPDX-License-Identifier: BSD-3-Clause
#include "nearest.hpp"

#include <algorithm>
#include <cstdint>

namespace kopse {

namespace {

// One vector holds the same thing of several points: a lane does exactly what the scalar would.
constexpr index lanes = 8;
typedef double vector __attribute__((vector_size(lanes * sizeof(double)), may_alias));
typedef std::int64_t flags __attribute__((vector_size(lanes * sizeof(double)), may_alias));

// Centroids [first, last) against the points of a tile, coordinate j of point i at x[j·tile_points + i].
// D is the number of dimensions, or 0 for any.
template <int D>
void scan(double const* x, index points, matrix_view<double> centroids, index first, index last, double* best, double* who) {
  index const d = D == 0 ? centroids.cols() : D;
  for (index i = 0; i < points; i += lanes) {
    vector nearest = *reinterpret_cast<vector const*>(best + i);
    vector owner = *reinterpret_cast<vector const*>(who + i);
    for (index c = first; c < last; ++c) {
      double const* const centroid = centroids.row(c);
      vector sum{};
      for (index j = 0; j < d; ++j) {
        vector const difference = *reinterpret_cast<vector const*>(x + j * tile_points + i) - centroid[j];
        sum += difference * difference;
      }
      flags const nearer = sum < nearest; // strict: ties stay with the lower index
      nearest = nearer ? sum : nearest;
      owner = nearer ? vector{} + static_cast<double>(c) : owner;
    }
    *reinterpret_cast<vector*>(best + i) = nearest;
    *reinterpret_cast<vector*>(who + i) = owner;
  }
}

auto scan_for(index d) {
  switch (d) {
  case 1: return scan<1>;
  case 2: return scan<2>;
  case 3: return scan<3>;
  case 4: return scan<4>;
  default: return scan<0>;
  }
}

} // namespace

template <class Real>
void nearest_of_tile(matrix_view<Real> tile, matrix_view<double> centroids, double* scratch, label* who) {
  index const n = tile.rows(), d = tile.cols(), k = centroids.rows();
  index const padded = (n + lanes - 1) / lanes * lanes;
  double* const best = scratch + d * tile_points;
  double* const owner = best + tile_points;
  for (index i = 0; i < padded; ++i) {
    Real const* const x = tile.row(std::min(i, n - 1));
    for (index j = 0; j < d; ++j) scratch[j * tile_points + i] = static_cast<double>(x[j]);
  }
  std::fill_n(best, padded, std::numeric_limits<double>::infinity());
  std::fill_n(owner, padded, 0.0);
  index const block = std::max<index>(8, 2048 / d); // centroids that stay in the first-level cache
  for (index first = 0; first < k; first += block)
    scan_for(d)(scratch, padded, centroids, first, std::min(k, first + block), best, owner);
  for (index i = 0; i < n; ++i) who[i] = static_cast<label>(owner[i]);
}
template void nearest_of_tile<float>(matrix_view<float>, matrix_view<double>, double*, label*);
template void nearest_of_tile<double>(matrix_view<double>, matrix_view<double>, double*, label*);

} // namespace kopse
