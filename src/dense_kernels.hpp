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

/// Bounds of a row, by group: as many as there are groups, and some that mean nothing up to this.
constexpr index whole_groups(index t) { return (t + 3) / 4 * 4; }

/// Most rows of a tile.
inline constexpr index most_rows = 256;

/// A table of lower bounds, whole_groups(t) a row, by rows of the data; a bound is lower − meters.
struct bounds_view {
  float* lower;
  float const *meters, *meters_down;
  index t;
  float* row(index i) const { return lower + i * whole_groups(t); }
};

/// Which of n rows from `first` on have a group whose bound is not above the row's limit_of(upper[i]): their
/// offsets, ascending, to `left`; returns how many.
index sift(bounds_view const& b, index first, index n, float const* upper, std::int32_t* left);

/// Rows of a tile, one whole_blocks(d) after the other, with zeros behind their d coordinates: n points as
/// seen from an origin and scaled.
void spread(float const* const* points, index n, index d, double const* origin, double scale, float* x);
void spread(double const* const* points, index n, index d, double const* origin, double scale, float* x);

/// x·c; size a multiple of `block`.
float product(float const* x, float const* c, index size);
/// norm2[i] = x·x of n rows.
void measure(float const* x, index n, index d, float* norm2);

/// A float32 bound above it belongs to a centroid that is farther than one within `upper`, in computed d²,
/// too: 2⁻²⁰ is more than the rounding of a difference of floats and of the deciding distance, and 2⁻¹⁰⁰ more
/// than what underflows there, at any scale that centroid_blocks uses.
inline float limit_of(float upper) { return upper * (1 + 0x1p-20f) + 0x1p-100f; }

/// Rows of a tile by slot, and what groups they ask for.
struct asking {
  std::int32_t* slots;  ///< of each group, most_rows apart
  std::int32_t* count;  ///< of each group
  std::int32_t* opened; ///< of each slot: how many groups
};
/// Slot s of n, row[s] of the data, asks for the groups whose bound is not above limit_of(upper[s]).
void ask(bounds_view const& b, index n, index const* row, float const* upper, asking const& to);

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
  std::int32_t const* own; ///< the place of a centroid that does not count, or -1, by slot
  float* least;            ///< by slot, `least_stride` apart
  index d, least_stride;
};
/// Lowers least[slot·least_stride] to the least score of those slots with the block, where that is less.
void lower_least(tile_view const& t, std::int32_t const* slots, index n, block_view const& b);

/// low[s] = the least of whole_groups(t) numbers of each of n slots; of infinities alone, the largest float
/// or more.
void least_of(float const* least, index t, index n, float* low);

/// Where least[g] is finite, the lower bound of row i and group g becomes the root of 2·least[g] + shift, all
/// rounded down.
void close_bounds(bounds_view const& b, index i, float const* least, float shift);

} // namespace kopse::dense
