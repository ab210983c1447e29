// SPDX-License-Identifier: BSD-3-Clause
#include "cluster_clocks.hpp"

#include <array>

#include "kopse/parallel.hpp"
#include "kopse/tree/neighbours.hpp"

namespace kopse {

namespace {
// Reaches, in units of the distance to a near other centroid; the last one is infinite.
constexpr std::array<double, cluster_clocks::shells - 1> ladder{0.7, 1, 1.4, 2, 2.8, 4, 6};
} // namespace

cluster_clocks::cluster_clocks(index k, index dims, double unit)
    : k_(k), d_(dims), unit_(unit), slack_(dims), heap_(k, dims), reach_(at(k * shells)) {
  std::size_t const all = at((k + heap_.node_count()) * shells);
  rate_.resize(all);
  clocks_.resize(all);
  readings_.resize(all);
}

void cluster_clocks::start(matrix_view<double> centroids, centroid_drift const& drift, int threads,
                           index& distances) {
  heap_.arrange(centroids);
  heap_.refit(centroids, drift);
  std::vector<neighbour> found;
  std::vector<double> all;
  for (label j = 0; j < k_; ++j) {
    find_nearest(heap_, centroids.row(j), j, std::min<index>(k_ - 1, d_ + 1),
                 std::numeric_limits<double>::infinity(), found, distances);
    double const near = found.empty() ? 0 : slack_.upper(found.back().d2);
    for (int s = 0; s < shells; ++s)
      reach_[at(of(j, s))] = s < shells - 1 ? near * ladder[at(s)] : std::numeric_limits<double>::infinity();
    all.push_back(near / unit_);
  }
  std::ranges::nth_element(all, all.begin() + k_ / 2);
  typical_ = all[at(k_ / 2)];
  rebase();
  advance(centroids, drift, threads, distances); // for the rates
}

void cluster_clocks::advance(matrix_view<double> centroids, centroid_drift const& drift, int threads,
                             index& distances) {
  heap_.refit(centroids, drift);
  node_id const first_leaf = heap_.node_count() / 2;
  (void)threads;
  for (node_id leaf = first_leaf; leaf < heap_.node_count(); ++leaf) advance_leaf(leaf, distances);
  for (node_id q = heap_.node_count() - 1; q >= heap_.root(); --q)
    for (int s = 0; s < shells; ++s) {
      double fastest = 0;
      if (heap_.is_leaf(q)) {
        for (index i = heap_.points(q).first; i < heap_.points(q).last; ++i)
          fastest = std::max(fastest, rate_[at(of(static_cast<label>(heap_.row(i)), s))]);
      } else {
        fastest = std::max(rate_[at((k_ + 2 * q) * shells + s)], rate_[at((k_ + 2 * q + 1) * shells + s)]);
      }
      clock_id const clock = static_cast<clock_id>((k_ + q) * shells + s);
      rate_[at(clock)] = fastest;
      tick(clock, fastest);
    }
}

// The clocks of the centroids of one leaf.
void cluster_clocks::advance_leaf(node_id leaf, index& distances) {
  point_range const range = heap_.points(leaf);
  constexpr int finite = shells - 1;
  std::array<std::array<double, shells>, centroid_heap::most> most; // movement within reach
  std::array<std::array<double, finite>, centroid_heap::most> reach2;
  std::array<label, centroid_heap::most> who;
  index const m = range.size();
  double widest2 = 0, least = std::numeric_limits<double>::infinity();
  for (index i = 0; i < m; ++i) {
    label const j = who[at(i)] = static_cast<label>(heap_.row(range.first + i));
    double const own = heap_.moved_at(range.first + i);
    most[at(i)].fill(own);
    most[at(i)][finite] = std::max(own, heap_.moved(heap_.root()));
    for (int s = 0; s < finite; ++s) reach2[at(i)][at(s)] = slack_.squared(reach(j, s));
    widest2 = std::max(widest2, reach2[at(i)][finite - 1]);
    least = std::min(least, own);
  }
  // The faster child first; what moved no farther than everybody's least has nothing to add.
  std::array<node_id, 64> stack;
  std::size_t height = 0;
  stack[height++] = heap_.root();
  while (height > 0) {
    node_id const q = stack[--height];
    if (heap_.moved(q) <= least || heap_.distance(q, leaf).lo > widest2) continue;
    if (!heap_.is_leaf(q)) {
      bool const right_first = heap_.moved(2 * q + 1) > heap_.moved(2 * q);
      stack[height++] = right_first ? 2 * q : 2 * q + 1;
      stack[height++] = right_first ? 2 * q + 1 : 2 * q;
      continue;
    }
    point_range const others = heap_.points(q);
    for (index o = others.first; o < others.last; ++o) {
      double const moved = heap_.moved_at(o);
      if (moved <= least) continue;
      for (index i = 0; i < m; ++i) {
        if (moved <= most[at(i)][0]) continue;
        double const d2 = squared_distance(heap_.point(o), heap_.point(range.first + i), d_);
        ++distances;
        for (int s = finite - 1; s >= 0 && d2 <= reach2[at(i)][at(s)]; --s)
          most[at(i)][at(s)] = std::max(most[at(i)][at(s)], moved);
      }
    }
    least = std::numeric_limits<double>::infinity();
    for (index i = 0; i < m; ++i) least = std::min(least, most[at(i)][0]);
  }
  for (index i = 0; i < m; ++i)
    for (int s = 0; s < shells; ++s) {
      clock_id const clock = of(who[at(i)], s);
      rate_[at(clock)] = slack_.up(heap_.moved_at(range.first + i) + most[at(i)][at(s)]);
      if (heap_.moved_at(range.first + i) == 0 && most[at(i)][at(s)] == 0) rate_[at(clock)] = 0;
      tick(clock, rate_[at(clock)]);
    }
}

void cluster_clocks::tick(clock_id clock, double by) {
  if (by == 0) return;
  double& time = clocks_[at(clock)];
  time = (time + by / unit_) * (1 + 0x1p-50);
  readings_[at(clock)] = round_up(time);
  longest_ = std::max(longest_, time);
}

void cluster_clocks::rebase() {
  std::fill(clocks_.begin(), clocks_.end(), 0.0);
  std::fill(readings_.begin(), readings_.end(), 0.0F);
  longest_ = 0;
}

cluster_clocks::clock_id cluster_clocks::slower_than_neither(clock_id a, clock_id b) const {
  int const shell = std::max(a % shells, b % shells);
  index const who_a = a / shells, who_b = b / shells;
  if (who_a == who_b) return static_cast<clock_id>(who_a * shells + shell);
  node_id const node_a = static_cast<node_id>(who_a < k_ ? heap_.leaf_of(static_cast<label>(who_a)) : who_a - k_);
  node_id const node_b = static_cast<node_id>(who_b < k_ ? heap_.leaf_of(static_cast<label>(who_b)) : who_b - k_);
  return static_cast<clock_id>((k_ + centroid_heap::common_ancestor(node_a, node_b)) * shells + shell);
}

} // namespace kopse
