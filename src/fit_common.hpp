// SPDX-License-Identifier: BSD-3-Clause
// What fit() and predict() do alike before they start.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kopse/core.hpp"

namespace kopse {

/// Weights times the power of two that brings the largest into [1, 2): then w·d² overflows no sooner than d².
inline std::vector<double> scaled(std::span<double const> weights, int& exponent) {
  double largest = 0;
  for (double const w : weights) largest = std::max(largest, w);
  exponent = weights.empty() ? 0 : std::ilogb(largest);
  if (exponent == 0) return {};
  std::vector<double> out(weights.begin(), weights.end());
  for (double& w : out) w = std::ldexp(w, -exponent);
  return out;
}

/// Where all threads are left to us: a small problem is done sooner than others have woken up, the more so
/// where they have to wait for a core.
inline int worthwhile(int threads, index n, index k) {
  constexpr double few_distances = 1 << 20;
  return threads == 0 && static_cast<double>(n) * static_cast<double>(k) < few_distances ? 1 : threads;
}

} // namespace kopse
