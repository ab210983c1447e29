// SPDX-License-Identifier: BSD-3-Clause
// How many clusters? Fits for many k on one tree, the usual criteria, and X-means, which finds k by itself.
// docs/choosing_k.md says what each is worth.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kopse/kmeans.hpp"
#include "kopse/matrix.hpp"
#include "kopse/point_set.hpp"

namespace kopse {

/// What is said of one k. Weights count as so many rows. Of criteria that are undefined (a silhouette of one
/// cluster, anything over an inertia of 0 or beyond the range of double) the value is NaN.
struct k_scores {
  index k = 0;
  double inertia = 0;
  double bic = 0, aic = 0;      ///< of equal round Gaussians (Pelleg & Moore 2000); less is better
  double calinski_harabasz = 0; ///< more is better
  double silhouette = 0;        ///< simplified, by centroids: -1 .. 1, more is better
  index iterations = 0;
  bool converged = false;
  index empty_clusters = 0;
  bool warm = false;  ///< the best run began at the centroids of the k before
  double seconds = 0; ///< of all runs for this k, seeding and scores included
};

struct choose_options : options {
  bool warm = true;       ///< also begin at the centroids of the k before, and rows drawn by k-means++
  bool silhouette = true; ///< it takes a search for each row and k
  std::function<void(k_scores const&)> on_k;
};

/// The k that each criterion takes, 0 where it has none.
struct k_choices {
  index bic = 0, aic = 0, calinski_harabasz = 0, silhouette = 0;
  index knee = 0; ///< of inertia against k, both by their logarithms: the farthest below the chord
};
k_choices choose(std::vector<k_scores> const& curve);

struct choice_result {
  std::vector<k_scores> curve; ///< by k, ascending
  k_choices chosen;
  index tree_builds = 0; ///< how often a tree was built on the points
  double tree_seconds = 0;
  std::string algorithm, tree;
  std::vector<std::string> warnings;
};

/// `2:4096` = 2, 4, 8, … 4096; `2:100:7` = 2, 9, 16, …; `2:1000:x1.5` = 2·1.5^i, rounded;
/// several of these or single numbers between commas. Ascending, each once. Throws usage_error naming the
/// part.
std::vector<index> parse_ks(std::string_view text);

/// The least and the largest number that such a list names, the ends of ranges as they are written: 1 and
/// 5000 of `1:5000`, though its numbers end at 4096. Bounds for X-means.
struct k_bounds {
  index least = 0, most = 0;
};
k_bounds parse_k_bounds(std::string_view text);

/// Fits for each of `ks` (1 .. n), options.restarts starts each and a warm one; the least inertia counts.
/// Throws what fit() does.
choice_result choose_k(point_set<double> points, std::vector<index> ks, choose_options const& options = {},
                       built_tree<double> const& tree = {});
choice_result choose_k(point_set<float> points, std::vector<index> ks, choose_options const& options = {},
                       built_tree<float> const& tree = {});

struct x_means_options : options {
  index least_k = 1, most_k = 0; ///< bounds of k; most_k 0 = n
};

struct x_means_round {
  index k = 0;                 ///< after it
  index split = 0;             ///< clusters, in two or more
  index merged = 0;            ///< clusters that became part of another
  double inertia = 0, bic = 0; ///< after it
};

struct x_means_result : result {
  index k = 0;
  double bic = 0;
  std::vector<x_means_round> rounds;
  index tree_builds = 0;       ///< how often a tree was built on the points
  index nodes_taken_whole = 0; ///< by the 2-means inside clusters: each stands for all its points
};

/// X-means (D. Pelleg, A. Moore 2000): from least_k clusters on, each is split in two where BIC says so, as
/// long as any is. Throws what fit() does, and usage_error for bounds that cannot be.
x_means_result x_means(point_set<double> points, x_means_options const& options = {},
                       built_tree<double> const& tree = {});
x_means_result x_means(point_set<float> points, x_means_options const& options = {},
                       built_tree<float> const& tree = {});

} // namespace kopse
