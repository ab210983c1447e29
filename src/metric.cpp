// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/metric.hpp"

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

} // namespace kopse
