// SPDX-License-Identifier: BSD-3-Clause
// Starting centroids: docs/seeding.md says which to take. The same for any number of threads, tree and leaf
// size.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/matrix.hpp"
#include "kopse/point_set.hpp"

namespace kopse {

/// The names that seeding_options::init and options::init may take, aliases aside.
std::span<std::string_view const> inits();
/// The name itself, or that behind an alias (kmeans++, k-means-parallel); usage_error for any other.
std::string_view resolve_init(std::string_view name);
/// Whether the centroids of a method (not an alias) are rows of the data.
bool takes_rows(std::string_view init);

/// Most starts of a seed, and most rows, rounds and samples that are drawn for one: random numbers are
/// numbered by them, and one more would be the first again.
inline constexpr index most_starts = index{1} << 32, most_draws = most_starts - 1;

struct seeding_options {
  std::string init = "k-means++"; ///< one of inits()
  std::uint64_t seed = 0;
  index restart = 0;       ///< 0 .. 2^32 - 1: each is a start of its own
  index candidates = 1;    ///< k-means++: rows drawn a centroid, the best taken; 0 = 2 + ⌊ln k⌋; < 2^32
  index rounds = 5;        ///< k-means||: 1 .. 2^32 - 1
  double oversampling = 2; ///< k-means||: rows drawn a round, in units of k; > 0
  index samples = 10;      ///< refined: 1 .. 2^32 - 1
  index sample_rows = 0;   ///< rows of a sample of refined and coreset; 0 = by n and k (docs/seeding.md)
  std::string tree = "kd"; ///< one of trees(), where none is given
  index leaf_size = 40;
  int threads = 0; ///< most at work; 0 = all
  std::atomic<bool> const* stop = nullptr;
};

/// Work of a seeding, the fits inside refined and coreset aside.
struct seeding_work {
  index distances = 0, node_scores = 0;
};

struct seeding_result {
  matrix<double> centroids; ///< k × d
  std::vector<index> rows;  ///< in the whole data, where the centroids are rows of it; else empty
  index distinct = 0;       ///< how many centroids differ; fewer than k with a warning that says why
  seeding_work work;
  double seconds = 0; ///< without building the tree
  std::vector<std::string> warnings;
};

/// k starting centroids. Throws usage_error for what cannot be (an unknown name, k < 1, k > n), error for bad
/// values, with row and column; interrupted. A tree, if given, must have been built on these rows.
seeding_result seed(point_set<double> points, index k, seeding_options const& options = {},
                    built_tree<double> const& tree = {});
seeding_result seed(point_set<float> points, index k, seeding_options const& options = {},
                    built_tree<float> const& tree = {});

/// `random`: k of n rows, each set of k equally likely, in the order drawn; a function of (n, k, seed,
/// restart) alone. O(k) time and memory (Fisher–Yates that stores only what was exchanged).
std::vector<index> draw_rows(index n, index k, std::uint64_t seed, index restart);

} // namespace kopse
