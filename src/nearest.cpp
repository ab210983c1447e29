// SPDX-License-Identifier: BSD-3-Clause
#include "nearest.hpp"

#include <algorithm>
#include <cstdint>

namespace kopse {

namespace {

// Points go through the registers of any x86-64 or ARM64 processor: two to a vector, a few vectors at a time
// so that their additions overlap. A lane does exactly what the scalar would.
typedef double vector __attribute__((vector_size(16), may_alias));
typedef std::int64_t flags __attribute__((vector_size(16), may_alias));
constexpr index lanes = 2;
constexpr index group = 8; // points in hand; tiles are padded to a multiple

// Centroids [first, last) against the points of a tile, coordinate j of point i at x[j·tile_points + i].
// D is the number of dimensions, or 0 for any; U vectors of points at a time.
template <int D, int U>
void scan(double const* x, index points, matrix_view<double> centroids, index first, index last, double* best,
          double* who) {
  index const d = D == 0 ? centroids.cols() : D;
  for (index i = 0; i < points; i += U * lanes) {
    vector nearest[U], owner[U];
    for (int u = 0; u < U; ++u) {
      nearest[u] = *reinterpret_cast<vector const*>(best + i + u * lanes);
      owner[u] = *reinterpret_cast<vector const*>(who + i + u * lanes);
    }
    for (index c = first; c < last; ++c) {
      double const* const centroid = centroids.row(c);
      vector sum[U] = {};
      for (index j = 0; j < d; ++j) {
        vector const cj = {centroid[j], centroid[j]};
        for (int u = 0; u < U; ++u) {
          vector const difference =
              *reinterpret_cast<vector const*>(x + j * tile_points + i + u * lanes) - cj;
          sum[u] += difference * difference;
        }
      }
      vector const number = {static_cast<double>(c), static_cast<double>(c)};
      for (int u = 0; u < U; ++u) {
        flags const nearer = sum[u] < nearest[u]; // strict: ties stay with the lower index
        nearest[u] = nearer ? sum[u] : nearest[u];
        owner[u] = nearer ? number : owner[u];
      }
    }
    for (int u = 0; u < U; ++u) {
      *reinterpret_cast<vector*>(best + i + u * lanes) = nearest[u];
      *reinterpret_cast<vector*>(who + i + u * lanes) = owner[u];
    }
  }
}

auto scan_for(index d) {
  switch (d) {
  case 1:
    return scan<1, 4>;
  case 2:
    return scan<2, 2>;
  case 3:
    return scan<3, 2>;
  case 4:
    return scan<4, 2>;
  default:
    return scan<0, 4>;
  }
}

} // namespace

template <class Real>
void nearest_of_tile(matrix_view<Real> tile, matrix_view<double> centroids, double* scratch, label* who) {
  index const n = tile.rows(), d = tile.cols(), k = centroids.rows();
  index const padded = (n + group - 1) / group * group;
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
