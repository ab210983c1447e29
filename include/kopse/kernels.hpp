// SPDX-License-Identifier: BSD-3-Clause
// The loops that a run spends its time in, over many centroids or many points at once. Each is compiled for
// several instruction sets, and the best that the processor has is taken when the program runs. All of them
// do the same operations in the same order, lane by lane and nothing fused: results are the same bits, and
// so are the counters.
//
// Centroids lie by dimension: coordinate j of centroid i at x[j·stride + i]. Any m will do; whole vectors,
// padded(m) of them where what lies behind may be any numbers, are fastest.
#pragma once

#include "kopse/core.hpp"
#include "kopse/metric.hpp"

namespace kopse {

/// Numbers of the widest vector; the width of any vector divides it.
inline constexpr index lanes = 8;
/// m, or the next number of whole vectors.
constexpr index padded(index m) { return (m + lanes - 1) / lanes * lanes; }

/// Computed d² from all points of a box (its corners are low and high, d numbers each) to centroid i is
/// between lo2[i] and hi2[i].
void box_distances(float const* low, float const* high, index d, double const* x, index m, index stride,
                   slack const& s, double* lo2, double* hi2);
void box_distances(double const* low, double const* high, index d, double const* x, index m, index stride,
                   slack const& s, double* lo2, double* hi2);

/// The least of hi2[i] alone, and the first i that has it; m > 0. Works on whole vectors: padded(m) of x and
/// of hi2, which is written.
struct nearest_column {
  double hi2;
  index which;
};
nearest_column nearest_to_box(float const* low, float const* high, index d, double const* x, index m,
                              index stride, slack const& s, double* hi2);
nearest_column nearest_to_box(double const* low, double const* high, index d, double const* x, index m,
                              index stride, slack const& s, double* hi2);

/// out[i] is at most d²(p, far_i) − d²(p, near), computed or true, for every point p of a box and every
/// centroid far_i; near_hi2 is at least computed d²(p, near) for all of them.
void box_leads(float const* low, float const* high, index d, double const* near, double const* far, index m,
               index stride, double near_hi2, slack const& s, double* out);
void box_leads(double const* low, double const* high, index d, double const* near, double const* far, index m,
               index stride, double near_hi2, slack const& s, double* out);

/// The least of m > 0 numbers.
double least_of(double const* values, index m);

/// What stays of some columns, and the least value of those that do not (infinite if there are none).
struct kept_columns {
  index count;
  double least_dropped;
};
/// Writes those of m columns, of so many rows, whose value is not above `limit`, in their order. They may be
/// written over what is read. Writes whole vectors: up to padded(m) of each row.
kept_columns keep_at_most(double limit, double const* values, index m, index rows, double const* x,
                          index stride, double* to, index to_stride);

/// Points by dimension, too: coordinate j of point i at x[j·x_stride + i], for i below n, a multiple of
/// lanes. Offers each of them m centroids, coordinate j of centroid i at c[i·along + j·across]: where one is
/// nearer than best[i], or several are, best[i] becomes the computed d² of the nearest and who[i] becomes
/// first + its number; of equals, the first. Where `second` is asked for, second[i] becomes the second least
/// of best[i], second[i] and the computed d² of all.
void offer_centroids(double const* x, index n, index x_stride, index d, double const* c, index m, index along,
                     index across, double first, double* best, double* who, double* second = nullptr);

/// The nearest four of m centroids: computed d², infinite where there are not so many, and the numbers of the
/// first three.
struct nearest_rows {
  double* square[4];
  double* who[3];
};
void find_nearest_four(double const* x, index n, index x_stride, index d, double const* c, index m,
                       index along, index across, nearest_rows const& found);

} // namespace kopse
