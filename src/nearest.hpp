// SPDX-License-Identifier: BSD-3-Clause
// Brute force, blocked: the nearest of k centroids for a tile of points.
#pragma once

#include <limits>

#include "kopse/core.hpp"
#include "kopse/matrix.hpp"

namespace kopse {

/// Most points of a tile.
inline constexpr index tile_points = 256;

/// who[i] = nearest centroid of point i of a tile of at most tile_points rows, ties to the lowest index.
/// `scratch` holds (cols + 2) · tile_points doubles.
template <class Real>
void nearest_of_tile(matrix_view<Real> tile, matrix_view<double> centroids, double* scratch, label* who);

extern template void nearest_of_tile<float>(matrix_view<float>, matrix_view<double>, double*, label*);
extern template void nearest_of_tile<double>(matrix_view<double>, matrix_view<double>, double*, label*);

} // namespace kopse
