// SPDX-License-Identifier: BSD-3-Clause
// The ways to start, behind seed(): each has a file, and gets data that have been checked.
#pragma once

#include <algorithm>
#include <span>

#include "any_tree.hpp"
#include "kopse/reduction.hpp"
#include "kopse/seeding.hpp"
#include "mass_table.hpp"

namespace kopse {

/// One partition of the data, and the tree on its rows (none where it has no rows; k-means++ can do without).
template <class Real> struct seeding_part {
  point_set<Real> points; // weights scaled
  any_tree<Real> const* tree;
};

/// Where seed() gets its parts from. The tree may be none for methods that use_tree() says need none, and
/// where there are no rows.
template <class Real> struct seeding_task {
  point_set<Real> points;
  built_tree<Real> tree;
  index k;
  seeding_options options;         // resolved
  reduction* partitions = nullptr; // that have the other rows, if they are spread; see spreads()
};

/// Replaces an alias by its name; throws usage_error for unknown names and numbers that cannot be. 0 threads
/// become as many as there are.
void resolve(seeding_options& options);
bool seeding_uses_tree(std::string_view init);
/// Whether a method is for rows that are spread over partitions.
bool spreads(std::string_view init);

/// By the method of the options; all checks done.
template <class Real> seeding_result seed_checked(seeding_task<Real> const& task);

/// k centroids: the `given` ones, then rows by D² sampling (plus_plus.cpp). The same for any cut of the rows
/// into parts, which come in the order of their offsets, and of the parts among partitions. The rows of the
/// result are those drawn.
template <class Real>
seeding_result plus_plus(std::span<seeding_part<Real> const> parts, matrix_view<double> given, index k,
                         seeding_options const& options, reduction* partitions = nullptr);

/// The layout of the masses w·d² between all rows of the parts, and to some centroids.
template <class Real>
mass_layout layout_of_squares(std::span<seeding_part<Real> const> parts, matrix_view<double> centroids,
                              int threads, reduction* partitions = nullptr);

/// The rows of a sample, unless the options say otherwise.
inline index coreset_rows(index k) { return std::max<index>(10000, 20 * k); }
inline index refined_rows(index n, index k) { return std::max(10 * k, n / 100); }

template <class Real> seeding_result random_rows(seeding_task<Real> const& task);
template <class Real> seeding_result plus_plus(seeding_task<Real> const& task);
template <class Real> seeding_result k_means_parallel(seeding_task<Real> const& task);
template <class Real> seeding_result refined_start(seeding_task<Real> const& task);
template <class Real> seeding_result coreset_start(seeding_task<Real> const& task);
template <class Real> seeding_result bisecting_start(seeding_task<Real> const& task);

} // namespace kopse
