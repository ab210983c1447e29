// SPDX-License-Identifier: BSD-3-Clause
// Starting centroids. Seeding knows no driver, and the driver no seeding.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kopse/matrix.hpp"
#include "kopse/point_set.hpp"

namespace kopse {

/// The names that options::init may take.
std::span<std::string_view const> inits();

/// `random`: k of n rows, each set of k equally likely, in the order drawn; a function of (n, k, seed,
/// restart) alone. O(k) time and memory (Fisher–Yates that stores only what was exchanged).
std::vector<index> draw_rows(index n, index k, std::uint64_t seed, index restart);

/// Starting centroids by the method named. Throws usage_error for an unknown name.
template <class Real>
matrix<double> seed(std::string_view init, point_set<Real> const& points, index k, std::uint64_t seed,
                    index restart);

} // namespace kopse
