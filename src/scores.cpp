// SPDX-License-Identifier: BSD-3-Clause
#include "scores.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/neighbours.hpp"
#include "squares.hpp"
#include "step_common.hpp"

namespace kopse {

namespace {
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double total_of(std::span<double const> weights) {
  double total = 0;
  for (double const w : weights) total += w;
  return total;
}

double penalised(std::span<double const> weights, double inertia, index d, double for_each) {
  double const likelihood = log_likelihood(weights, inertia, d);
  return std::isfinite(likelihood) ? -2 * likelihood + parameters(std::ssize(weights), d) * for_each
                                   : undefined;
}
} // namespace

double log_likelihood(std::span<double const> cluster_weights, double inertia, index d) {
  double const total = total_of(cluster_weights), free = total - static_cast<double>(cluster_weights.size());
  if (!(free > 0)) return undefined;
  if (inertia == 0) return std::numeric_limits<double>::infinity();
  double const dims = static_cast<double>(d), variance = inertia / (dims * free);
  double shares = 0;
  for (double const w : cluster_weights) shares += w * std::log(w / total);
  return shares - total * dims / 2 * std::log(2 * std::numbers::pi * variance) - dims * free / 2;
}

double bic(std::span<double const> cluster_weights, double inertia, index d) {
  return penalised(cluster_weights, inertia, d, std::log(total_of(cluster_weights)));
}
double aic(std::span<double const> cluster_weights, double inertia, index d) {
  return penalised(cluster_weights, inertia, d, 2);
}

std::vector<double> used_weights(std::span<label const> labels, std::span<double const> weights, index k) {
  std::vector<double> sums(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < labels.size(); ++i)
    sums[static_cast<std::size_t>(labels[i])] += weights.empty() ? 1.0 : weights[i];
  std::erase(sums, 0.0);
  return sums;
}

template <class Real>
double simplified_silhouette(point_set<Real> const& points, matrix_view<double> centroids,
                             std::span<label const> labels, int threads, std::atomic<bool> const* stop) {
  index const d = points.dims();
  std::vector<index> place(static_cast<std::size_t>(centroids.rows()), -1); // among those that have weight
  for (index i = 0; i < points.size(); ++i)
    if (points.weight(i) > 0) place[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])] = 0;
  index used = 0;
  for (index& p : place)
    if (p == 0) p = used++;
  if (used < 2) return undefined;
  matrix<double> others(used, d);
  for (index j = 0; j < centroids.rows(); ++j)
    if (index const p = place[static_cast<std::size_t>(j)]; p >= 0)
      std::copy_n(centroids.row(j), d, others.row(p));
  kd_tree<double> const tree(others.view(), 8);

  per_thread<std::pair<exact_sum, exact_sum>> sums([] { return std::pair<exact_sum, exact_sum>(); });
  for_blocks(points.size(), 4096, threads, sums, [&](auto& sum, index first, index last) {
    check_stop(stop);
    std::vector<double> x(static_cast<std::size_t>(d));
    index distances = 0;
    for (index i = first; i < last; ++i) {
      if (points.weight(i) == 0) continue;
      std::copy_n(points.rows.row(i), d, x.begin());
      index const own = place[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])];
      nearest_two found;
      find_nearest_two(tree, x.data(), own, found, distances);
      double const a = std::sqrt(square(points.rows.row(i), others.row(own), d)), b = std::sqrt(found.first2);
      double const larger = std::max(a, b);
      sum.first.add(larger > 0 ? points.weight(i) * ((b - a) / larger) : 0.0);
      sum.second.add(points.weight(i));
    }
  });
  exact_sum total, weight;
  sums.for_each([&](auto const& sum) {
    total += sum.first;
    weight += sum.second;
  });
  return total.value() / weight.value();
}
template double simplified_silhouette(point_set<float> const&, matrix_view<double>, std::span<label const>,
                                      int, std::atomic<bool> const*);
template double simplified_silhouette(point_set<double> const&, matrix_view<double>, std::span<label const>,
                                      int, std::atomic<bool> const*);

template <class Real> double total_inertia(point_set<Real> const& points, int threads) {
  exact_sums all(summarise(points, false, threads).layout(), 1);
  for (index i = 0; i < points.size(); ++i) all.add(0, points.rows.row(i), points.weight(i), 1);
  matrix<double> mean(1, points.dims());
  all.mean(0, mean.row(0));
  return inertia_of(points.rows, points.weights, mean.view(), threads, nullptr, [](index) { return 0; })
      .value();
}
template double total_inertia(point_set<float> const&, int);
template double total_inertia(point_set<double> const&, int);

} // namespace kopse
