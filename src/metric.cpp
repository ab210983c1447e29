// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/metric.hpp"

#include <algorithm>
#include <cfloat>

#include "squares.hpp"

#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "kopse needs double arithmetic that is rounded to double (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

namespace kopse {

template <class Real> double squared_distance(Real const* x, double const* c, index d) {
  return square(x, c, d);
}
template double squared_distance<float>(float const*, double const*, index);
template double squared_distance<double>(double const*, double const*, index);

template <class Real>
void squared_distances(Real const* x, index d, double const* c, index m, index stride, double* out) {
  if (d == 3) { // the sky and the colours: one pass, nothing stored between
    double const x0 = static_cast<double>(x[0]), x1 = static_cast<double>(x[1]),
                 x2 = static_cast<double>(x[2]);
    for (index i = 0; i < m; ++i) {
      double const a = x0 - c[i], b = x1 - c[stride + i], e = x2 - c[2 * stride + i];
      out[i] = (a * a + b * b) + e * e;
    }
    return;
  }
  index i = 0;
  for (; i + 8 <= m; i += 8) eight_squares(x, d, c + i, stride, out + i);
  if (i == m) return;
  std::fill(out + i, out + m, 0.0);
  for (index j = 0; j < d; ++j, c += stride) {
    double const xj = static_cast<double>(x[j]);
    for (index rest = i; rest < m; ++rest) {
      double const difference = xj - c[rest];
      out[rest] += difference * difference;
    }
  }
}
template void squared_distances<float>(float const*, index, double const*, index, index, double*);
template void squared_distances<double>(double const*, index, double const*, index, index, double*);

} // namespace kopse
