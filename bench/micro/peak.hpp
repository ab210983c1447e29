// SPDX-License-Identifier: BSD-3-Clause
// What a processor does at most, one core of it: loops of nothing but fused multiply-adds, or of loads and
// stores, with as many in hand as there are units and cycles of latency to fill.
#pragma once

#include "micro.hpp"

namespace kopse::micro {

/// Sets of instructions, the best first, that this processor has and kopse is compiled for.
std::vector<std::int64_t> all_targets();
/// Has all kernels use one of them, or, 0, the best.
void use_target(std::int64_t target);

/// Of independent x = a·x + b in registers, so many rounds; the number of fused multiply-adds goes to
/// `count`. Returns the sum of all x.
float multiply_adds(float x, float a, float b, index rounds, double* count);
double multiply_adds(double x, double a, double b, index rounds, double* count);
/// As the kernels of kernels.hpp must compute it, one rounding each: Σ (x − c_j)² over n numbers c_j, for
/// points in registers. The number of squares goes to `count`. Returns the sum of all sums.
double plain_squares(double x, double const* c, index n, double* count);

/// n, a multiple of 64, numbers: their sum; a copy.
double read_all(double const* x, index n);
void copy_all(double const* from, index n, double* to);

/// What the best target reaches, in operations or bytes a second. Measured once.
double peak_of(roof bound);

} // namespace kopse::micro
