// SPDX-License-Identifier: BSD-3-Clause
// Bisecting k-means (M. Steinbach, G. Karypis, V. Kumar, "A comparison of document clustering techniques",
// 2000): from one cluster on, those of the largest inertia are split in two until there are k.
//
// Each split is a 2-means on the nodes of the tree (node_split.hpp). Clusters of at least half the largest
// inertia are split at the same time, the largest first where fewer are wanted: what threads are for. About
// n·log₂ k distances, so for very large k on one machine it is the cheapest start there is.
#include <algorithm>
#include <numeric>

#include "bisecting.hpp"
#include "seeding_methods.hpp"

namespace kopse {

namespace {

// Which clusters to split now, at most `most` of them.
std::vector<std::size_t> largest_ones(std::vector<cluster_part> const& clusters, index most) {
  std::vector<std::size_t> order;
  double largest = 0;
  for (cluster_part const& c : clusters) largest = std::max(largest, c.facts.inertia);
  for (std::size_t j = 0; j < clusters.size(); ++j)
    if (clusters[j].facts.inertia > 0 && clusters[j].facts.inertia >= largest / 2) order.push_back(j);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return clusters[a].facts.inertia > clusters[b].facts.inertia;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(most)));
  return order;
}

} // namespace

void bisect(node_splitter const& splitter, std::vector<cluster_part>& clusters, index k,
            random_stream const& random, std::uint64_t& number, int threads) {
  while (std::ssize(clusters) < k) {
    std::vector<std::size_t> const order = largest_ones(clusters, k - std::ssize(clusters));
    if (order.empty()) return;
    std::vector<std::optional<cluster_halves>> halves(order.size());
    for_blocks(std::ssize(order), 1, threads, [&](index i, index) {
      auto const at = static_cast<std::size_t>(i);
      halves[at] = splitter.split(clusters[order[at]], random, number + at);
    });
    number += order.size();
    for (std::size_t i = 0; i < order.size(); ++i) {
      cluster_part& cluster = clusters[order[i]];
      if (!halves[i]) {
        cluster.facts.inertia = 0; // rounding alone: its rows are as good as equal
        continue;
      }
      cluster = std::move((*halves[i])[0]);
      clusters.push_back(std::move((*halves[i])[1]));
    }
  }
}

template <class Real> seeding_result bisecting_start(seeding_task<Real> const& task) {
  auto const& [points, tree, k, o, partitions] = task;
  random_stream const random(o.seed, static_cast<std::uint32_t>(o.restart));
  sum_layout const layout = summarise(points, false, o.threads).layout();
  auto const splitter = tree_access<Real>::get(tree)->make_splitter(points, layout, o.threads, o.stop);
  std::vector<cluster_part> clusters{splitter->whole()};
  std::uint64_t number = 0;
  bisect(*splitter, clusters, k, random, number, o.threads);
  seeding_result result;
  result.centroids = matrix<double>(k, points.dims());
  result.distinct = std::ssize(clusters);
  for (index j = 0; j < k; ++j)
    std::copy_n(clusters[static_cast<std::size_t>(j % result.distinct)].facts.mean.data(), points.dims(),
                result.centroids.row(j));
  result.work = splitter->work();
  return result;
}
template seeding_result bisecting_start(seeding_task<float> const&);
template seeding_result bisecting_start(seeding_task<double> const&);

} // namespace kopse
