// SPDX-License-Identifier: BSD-3-Clause
// The deciding distance, inline: for src/ alone, where flags are the library's.
#pragma once

#include <algorithm>
#include <array>

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

/// Calls f(i, d²) for those of `count` rows whose computed d² from c is below limit(i), in ascending order;
/// row i is row(i). With many columns four rows at once, so that their additions overlap, and only until all
/// four are out: what is added is not negative, so a computed sum never falls.
template <class Row, class Limit, class F>
inline void for_each_below(index count, Row const& row, double const* c, index d, Limit const& limit,
                           F const& f) {
  constexpr index many_columns = 16, at_a_time = 32;
  index i = 0;
  for (; d >= many_columns && i + 4 <= count; i += 4) {
    std::array const x{row(i), row(i + 1), row(i + 2), row(i + 3)};
    std::array const limits{limit(i), limit(i + 1), limit(i + 2), limit(i + 3)};
    std::array<double, 4> sums{};
    bool some = true;
    for (index first = 0; some && first < d; first += at_a_time) {
      for (index j = first; j < std::min(d, first + at_a_time); ++j)
        for (std::size_t r = 0; r < 4; ++r) {
          double const difference = static_cast<double>(x[r][j]) - c[j];
          sums[r] += difference * difference;
        }
      some = false;
      for (std::size_t r = 0; r < 4; ++r) some = some || sums[r] < limits[r];
    }
    for (std::size_t r = 0; some && r < 4; ++r)
      if (sums[r] < limits[r]) f(i + static_cast<index>(r), sums[r]);
  }
  for (; i < count; ++i)
    if (double const d2 = square(row(i), c, d); d2 < limit(i)) f(i, d2);
}

} // namespace kopse
