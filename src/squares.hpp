// SPDX-License-Identifier: BSD-3-Clause
// The deciding distance, inline: for src/ alone, where flags are the library's.
#pragma once

#include "kopse/metric.hpp"

namespace kopse {

/// Computed d² of x and c.
template <class Real> inline double square(Real const* x, double const* c, index d) {
  double sum = 0;
  for (index j = 0; j < d; ++j) {
    double const difference = static_cast<double>(x[j]) - c[j];
    sum += difference * difference;
  }
  return sum;
}

/// The same for eight centroids at once, two to a vector and four vectors in hand, so that their additions
/// overlap; a lane does exactly what square() does. out[i] = computed d² of x and centroid i of eight,
/// coordinate j of which is at c[j·stride + i].
template <class Real>
inline void eight_squares(Real const* x, index d, double const* c, index stride, double* out) {
  typedef double vector __attribute__((vector_size(16), aligned(8), may_alias));
  vector sums[4] = {};
  for (index j = 0; j < d; ++j, c += stride) {
    vector const xj = {static_cast<double>(x[j]), static_cast<double>(x[j])};
    for (index u = 0; u < 4; ++u) {
      vector const difference = xj - *reinterpret_cast<vector const*>(c + u * 2);
      sums[u] += difference * difference;
    }
  }
  for (index u = 0; u < 4; ++u) *reinterpret_cast<vector*>(out + u * 2) = sums[u];
}

} // namespace kopse
