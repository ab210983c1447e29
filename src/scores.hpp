// SPDX-License-Identifier: BSD-3-Clause
// Criteria of how many clusters there are.
#pragma once

#include <span>
#include <vector>

#include "kopse/choose_k.hpp"

namespace kopse {

/// Clusters as equal round Gaussians of one variance (D. Pelleg, A. Moore, "X-means", ICML 2000,
/// section 3.2): the largest log-likelihood of W rows (Σ w) in clusters of these weights, none 0, and this
/// inertia about their means; +∞ where it is 0, NaN for W <= the number of clusters.
///   σ² = inertia / (d·(W − k)),  L = Σ_j w_j ln(w_j / W) − W·d/2·ln(2πσ²) − d·(W − k)/2
/// (the paper's variance lacks the 1/d; with it, σ² is unbiased.)
double log_likelihood(std::span<double const> cluster_weights, double inertia, index d);
/// Free parameters of k clusters: k·d coordinates, k − 1 shares, one variance.
inline double parameters(index k, index d) { return static_cast<double>(k * (d + 1)); }
/// −2L + p·ln W, and −2L + 2p: less is better. NaN where L is not finite.
double bic(std::span<double const> cluster_weights, double inertia, index d);
double aic(std::span<double const> cluster_weights, double inertia, index d);

/// Σ w by cluster, those that have none left out.
std::vector<double> used_weights(std::span<label const> labels, std::span<double const> weights, index k);

/// The weighted mean of (b − a) / max(a, b), a the distance of a row to its own centroid, b to the nearest
/// other one that has weight: what is called the simplified silhouette. NaN for less than two clusters.
template <class Real>
double simplified_silhouette(point_set<Real> const& points, matrix_view<double> centroids,
                             std::span<label const> labels, int threads, std::atomic<bool> const* stop);

/// Σ w·d² of all rows to their mean.
template <class Real> double total_inertia(point_set<Real> const& points, int threads);

} // namespace kopse
