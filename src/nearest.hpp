// SPDX-License-Identifier: BSD-3-Clause
// Brute force, blocked: the nearest of k centroids for rows of points.
#pragma once

#include <vector>

#include "centroid_columns.hpp"
#include "kopse/matrix.hpp"
#include "kopse/screen.hpp"

namespace kopse {

/// Centroids by dimension, one after the other or screened, whichever is faster. 12·k·d bytes at most.
class brute_force {
public:
  /// The centroids must stay as long as this is in use.
  explicit brute_force(matrix_view<double> centroids);

  /// What one thread needs.
  struct scratch {
    float_screen::scratch screen;
    std::vector<double> tile;
  };
  /// who[i] = nearest centroid of row i, ties to the lowest index.
  template <class Real> void find_nearest(matrix_view<Real> rows, scratch& room, label* who) const;

private:
  template <class Real> void offer_all(matrix_view<Real> rows, scratch& room, label* who) const;

  matrix_view<double> centroids_;
  centroid_columns columns_;
  float_screen screen_;
  bool screened_;
};

extern template void brute_force::find_nearest(matrix_view<float>, scratch&, label*) const;
extern template void brute_force::find_nearest(matrix_view<double>, scratch&, label*) const;

} // namespace kopse
