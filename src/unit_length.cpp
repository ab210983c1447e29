// SPDX-License-Identifier: BSD-3-Clause
// Rows made of unit length. By a power of two the largest |x_j| comes into [1, 2) first, so that no square
// overflows, and none that counts underflows.
#include "unit_length.hpp"

#include <algorithm>
#include <cmath>

namespace kopse {

bool to_unit_length(double* x, index d) {
  double largest = 0;
  for (index j = 0; j < d; ++j) largest = std::max(largest, std::abs(x[j]));
  if (largest == 0) return false;
  int const exponent = std::max(std::ilogb(largest), -1022); // 2^1074 is no double
  double const scale = std::ldexp(1.0, -exponent);
  double sum = 0;
  for (index j = 0; j < d; ++j) {
    double const y = x[j] * scale;
    sum += y * y;
  }
  // Of a row that was divided, with u = 2^-53: d·u of the sum then and d·u of this one, 2·u of the root, 2·u
  // of the quotients.
  if (std::abs(std::ldexp(sum, 2 * exponent) - 1) <= static_cast<double>(d + 3) * 0x1p-52) return true;
  double const length = std::sqrt(sum);
  for (index j = 0; j < d; ++j) x[j] = x[j] * scale / length;
  return true;
}

} // namespace kopse
