// SPDX-License-Identifier: BSD-3-Clause
#include "nearest.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kopse/kernels.hpp"

namespace kopse {
namespace {

constexpr index tile_points = float_screen::most_points;

} // namespace

brute_force::brute_force(matrix_view<double> centroids)
    : centroids_(centroids), screened_(centroids.rows() >= float_screen::least_centroids) {
  if (!screened_) return;
  index const k = centroids.rows(), d = centroids.cols();
  columns_.assign(centroids);
  std::vector<double> middle(static_cast<std::size_t>(d));
  for (index j = 0; j < d; ++j) {
    auto const [low, high] = std::minmax_element(columns_.column(j), columns_.column(j) + k);
    middle[static_cast<std::size_t>(j)] = *low / 2 + *high / 2;
  }
  screen_.take(columns_.column(0), k, d, columns_.stride(), middle.data());
}

template <class Real>
void brute_force::find_nearest(matrix_view<Real> rows, scratch& room, label* who) const {
  std::array<Real const*, tile_points> points;
  for (index first = 0; first < rows.rows(); first += tile_points) {
    auto const tile = rows.slice(first, std::min(rows.rows(), first + tile_points));
    if (!screened_) {
      offer_all(tile, room, who + first);
      continue;
    }
    for (index i = 0; i < tile.rows(); ++i) points[static_cast<std::size_t>(i)] = tile.row(i);
    screen_.find_nearest(points.data(), tile.rows(), room.screen, who + first);
  }
}
template void brute_force::find_nearest(matrix_view<float>, scratch&, label*) const;
template void brute_force::find_nearest(matrix_view<double>, scratch&, label*) const;

template <class Real> void brute_force::offer_all(matrix_view<Real> rows, scratch& room, label* who) const {
  index const n = rows.rows(), d = rows.cols(), whole = padded(n);
  room.tile.resize(static_cast<std::size_t>((d + 2) * tile_points));
  double *const x = room.tile.data(), *const best = x + d * tile_points, *const owner = best + tile_points;
  for (index i = 0; i < whole; ++i) {
    Real const* const row = rows.row(std::min(i, n - 1));
    for (index j = 0; j < d; ++j) x[j * tile_points + i] = static_cast<double>(row[j]);
  }
  std::fill_n(best, whole, std::numeric_limits<double>::infinity());
  std::fill_n(owner, whole, 0.0);
  offer_centroids(x, whole, tile_points, d, centroids_.row(0), centroids_.rows(), centroids_.stride(), 1, 0,
                  best, owner);
  for (index i = 0; i < n; ++i) who[i] = static_cast<label>(owner[i]);
}

} // namespace kopse
