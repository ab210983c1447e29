// SPDX-License-Identifier: BSD-3-Clause
// What fit(), seed() and choose_k() do with what they are given, before any work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kopse/core.hpp"
#include "kopse/point_set.hpp"

namespace kopse {

/// "3 x 2"
std::string shape(index rows, index cols);

/// The shortest digits that read back as the same number; NaN, inf, -inf.
std::string in_digits(double value);

/// Throws error for data without rows or columns or with too many, usage_error for a k that cannot be.
void check_shape(index n, index d);
void check_k(index n, index k);

/// The warning where there are fewer distinct rows than were asked for, of weight where rows have weights:
/// "only 2 distinct rows were found (…), 5 clusters were asked for".
std::string too_few_rows(index found, bool weighted, std::string const& asked);

/// What validate() does, but weights may all be 0 where those of other partitions are not.
template <class Real> void validate_part(point_set<Real> const& points, int threads);
[[noreturn]] void refuse_weights_of_zero();

/// Weights times the power of two that brings the largest into [1, 2): then w·d² overflows no sooner than d².
/// Empty where they are so already.
std::vector<double> scaled(std::span<double const> weights, int& exponent);
/// The same where some are elsewhere, and the largest of all is this.
std::vector<double> scaled(std::span<double const> weights, double largest, int& exponent);
double largest_of(std::span<double const> weights); ///< 0 of none

/// Where all threads are left to us (0): a small problem is done sooner than others have woken up, the more
/// so where they have to wait for a core.
int worthwhile(int threads, index n, index k);

} // namespace kopse
