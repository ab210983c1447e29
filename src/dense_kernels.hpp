// SPDX-License-Identifier: BSD-3-Clause
// The loops of `dense` (dense.cpp), compiled for each instruction set. All in float32: fused, and in sums of
// their own, so that targets differ in the last bits, which the bounds allow for (centroid_blocks.hpp).
#pragma once

#include <cstdint>

#include "kopse/core.hpp"

namespace kopse::dense {

/// Centroids of a block: what vectors hold.
inline constexpr index block = 16;
/// d, or the next number of whole blocks.
constexpr index whole_blocks(index d) { return (d + block - 1) / block * block; }

/// Rows of a tile, one `stride` (whole_blocks(d)) after the other, with zeros behind their d coordinates.
/// n points as seen from an origin and scaled.
void spread(float const* const* points, index n, index d, double const* origin, double scale, float* x);
void spread(double const* const* points, index n, index d, double const* origin, double scale, float* x);

/// x·c; size a multiple of `block`.
float product(float const* x, float const* c, index size);

/// A block of centroids: coordinate j of the i-th at c[j·block + i], half of its squared norm at half[i].
struct block_view {
  float const *c, *half;
  std::int32_t first; ///< the place of its first centroid
};
/// Scores half[i] − x·c_i of a row and a block, to out[i].
void scores(float const* x, index d, block_view const& b, float* out);

/// Rows whose scores are asked for.
struct tile_view {
  float const* x;
  std::int32_t const* own; ///< the place of a centroid that does not count, or -1, by row
  float* least;            ///< by row, `least_stride` apart
  index d, least_stride;
};
/// Lowers least[row·least_stride] to the least score of those rows with the block, where that is less.
void lower_least(tile_view const& t, std::int32_t const* rows, index n, block_view const& b);

/// The least of m > 0 numbers.
float least_of(float const* values, index m);

/// The numbers g below t with lower[g] − meters[g] not above the limit, ascending; returns how many. `out`
/// has room for t + block.
index not_above(float const* lower, float const* meters, index t, float limit, std::int32_t* out);
/// Whether there is any.
bool any_not_above(float const* lower, float const* meters, index t, float limit);

/// Where least[g] is finite, lower[g] becomes meters[g] and the root of 2·least[g] + shift, all rounded down.
void close_bounds(float const* least, index t, float shift, float const* meters, float* lower);

} // namespace kopse::dense
