// SPDX-License-Identifier: BSD-3-Clause
#include "cluster_clocks.hpp"

#include <array>

#include "kopse/parallel.hpp"

namespace kopse {

namespace {
constexpr int finite = cluster_clocks::shells - 1;
// Reaches, in units of the distance to a near other centroid; the last shell's is infinite.
constexpr std::array<double, finite> ladder{0.7, 1, 1.4, 2, 2.8, 4, 6};
constexpr index leaves_at_a_time = 16;
} // namespace

cluster_clocks::cluster_clocks(index k, index dims, double unit)
    : k_(k), d_(dims), unit_(unit), per_unit_(1 / unit), slack_(dims), heap_(k, dims), wanted_(at(k)),
      idle_(at(k)), highest_(at(k)), charged_(at(k)), travelled_(at(k)), travelled_readings_(at(k)),
      reaches_(at(k * shells)), rates_(at((k + heap_.node_count()) * shells)), times_(rates_.size()),
      readings_(rates_.size()) {}

void cluster_clocks::start(matrix_view<double> centroids, centroid_drift const& drift, int threads,
                           index& distances) {
  heap_.arrange(centroids);
  heap_.refit(centroids, drift);
  std::vector<double> near(at(k_));
  per_thread<index> counts([] { return index{0}; });
  for_blocks(k_, 256, threads, counts, [&](index& count, index first, index last) {
    for (index j = first; j < last; ++j) {
      nearest_four const found =
          find_nearest_four(heap_, centroids.row(j), heap_.leaf_of(static_cast<label>(j)), count);
      double farthest2 = 0; // of those that there are; the first is itself, or at its place
      for (double const d2 : {found.second2, found.third2, found.fourth2})
        if (d2 < std::numeric_limits<double>::infinity()) farthest2 = d2;
      near[at(j)] = slack_.upper(farthest2);
    }
  });
  counts.for_each([&](index const& count) { distances += count; });
  for (label j = 0; j < k_; ++j) {
    for (int s = 0; s < finite; ++s) reaches_[at(of(j, s))] = near[at(j)] * ladder[at(s)];
    reaches_[at(of(j, finite))] = std::numeric_limits<double>::infinity();
    idle_[at(j)] = near[at(j)] * 1e-4;
  }
  std::ranges::nth_element(near, near.begin() + k_ / 2);
  typical_ = near[at(k_ / 2)] * per_unit_;
  std::fill(wanted_.begin(), wanted_.end(), 0.0);
  rebase();
  std::fill(highest_.begin(), highest_.end(), static_cast<std::uint8_t>(finite - 1));
  advance(centroids, drift, threads, distances); // for the rates
  std::fill(highest_.begin(), highest_.end(), std::uint8_t{0});
  charged_ = highest_;
}

void cluster_clocks::rebase() {
  std::fill(times_.begin(), times_.end(), 0.0);
  std::fill(readings_.begin(), readings_.end(), 0.0F);
  std::fill(travelled_.begin(), travelled_.end(), 0.0);
  std::fill(travelled_readings_.begin(), travelled_readings_.end(), 0.0F);
  longest_ = 0;
}

void cluster_clocks::advance(matrix_view<double> centroids, centroid_drift const& drift, int threads,
                             index& distances) {
  heap_.refit(centroids, drift);
  charged_ = highest_;
  leapt_ = 0;
  for (label j = 0; j < k_; ++j) {
    grow(j);
    travel(j, drift[j]);
  }
  struct task {
    surroundings around;
    index distances = 0;
  };
  per_thread<task> tasks([] { return task(); });
  node_id const first_leaf = heap_.node_count() / 2;
  for_blocks(heap_.node_count() - first_leaf, leaves_at_a_time, threads, tasks,
             [&](task& t, index first, index last) {
               for (index i = first; i < last; ++i)
                 advance_leaf(static_cast<node_id>(first_leaf + i), t.around, t.distances);
             });
  tasks.for_each([&](task const& t) { distances += t.distances; });
  advance_nodes();
}

// Shells grow where a lease had no room: the last finite one to what was wanted, those before it to parts of
// that.
void cluster_clocks::grow(label j) {
  if (wanted_[at(j)] == 0) return;
  double reach = std::exchange(wanted_[at(j)], 0) * 1.1;
  double* const reaches = reaches_.data() + of(j, 0);
  for (int s = finite - 1; s >= finite - 3; --s, reach /= 2) reaches[s] = std::max(reaches[s], reach);
  for (int s = finite - 3; s < finite; ++s) reaches[s] = std::max(reaches[s], reaches[s - 1]);
}

void cluster_clocks::travel(label j, double by) {
  if (by == 0) return;
  if (by > 0.25 * reach(j, 0)) ++leapt_;
  double& all = travelled_[at(j)];
  all = (all + by * per_unit_) * (1 + 0x1p-50);
  travelled_readings_[at(j)] = round_up(all);
  longest_ = std::max(longest_, all);
}

// The clocks of the centroids of one leaf.
void cluster_clocks::advance_leaf(node_id leaf, surroundings& around, index& distances) {
  point_range const range = heap_.points(leaf);
  double const fastest_of_all = heap_.moved(heap_.root());
  double idle = fastest_of_all;
  for (index i = range.first; i < range.last; ++i) idle = std::min(idle, idle_[at(heap_.row(i))]);
  around.used = 0;
  for (std::size_t s = 0; s < at(finite); ++s) {
    around.reach2[s].fill(-1);
    around.most[s].fill(std::numeric_limits<double>::infinity());
  }
  for (index i = range.first; i < range.last; ++i) {
    label const who = static_cast<label>(heap_.row(i));
    std::size_t const lane = at(i - range.first);
    around.used = std::max(around.used, charged_[at(who)] + 1);
    for (int s = 0; s <= charged_[at(who)]; ++s) {
      around.reach2[at(s)][lane] = slack_.squared(reach(who, s));
      around.most[at(s)][lane] = std::max(heap_.moved_at(i), idle);
    }
  }
  around.box.resize(at(2 * d_));
  heap_.box(leaf, around.box.data(), around.box.data() + d_);
  find_movements(heap_, leaf, around, distances);
  for (index i = range.first; i < range.last; ++i) {
    label const who = static_cast<label>(heap_.row(i));
    double const moved = heap_.moved_at(i);
    std::array<double, shells> by;
    for (int s = 0; s < finite; ++s) { // where there is no lease yet, a guess
      double const most = around.most[at(std::min<int>(s, charged_[at(who)]))][at(i - range.first)];
      by[at(s)] = moved + most;
    }
    by[finite] = moved + std::max(moved, fastest_of_all);
    for (double& b : by) b = b == 0 ? 0 : slack_.up(b);
    tick(of(who, 0), by);
  }
}

void cluster_clocks::advance_nodes() {
  for (node_id q = heap_.node_count() - 1; q >= heap_.root(); --q) {
    std::array<double, shells> fastest{};
    auto const include = [&](clock_id first) {
      for (int s = 0; s < shells; ++s) fastest[at(s)] = std::max(fastest[at(s)], rates_[at(first + s)]);
    };
    if (heap_.is_leaf(q)) {
      for (index i = heap_.points(q).first; i < heap_.points(q).last; ++i)
        include(of(static_cast<label>(heap_.row(i)), 0));
    } else {
      include(of_node(2 * q, 0));
      include(of_node(2 * q + 1, 0));
    }
    tick(of_node(q, 0), fastest);
  }
  longest_ = std::max(longest_, times_[at(of_node(heap_.root(), finite))]); // the fastest of all
}

// All shells of one cluster or node; a clock that does not advance keeps its reading to the bit.
void cluster_clocks::tick(clock_id first, std::array<double, shells> const& by) {
  double *const rates = rates_.data() + first, *const times = times_.data() + first;
  float* const readings = readings_.data() + first;
  for (int s = 0; s < shells; ++s) {
    rates[s] = by[at(s)];
    double const later = (times[s] + by[at(s)] * per_unit_) * (1 + 0x1p-50);
    times[s] = by[at(s)] == 0 ? times[s] : later;
  }
  for (int s = 0; s < shells; ++s) readings[s] = round_up(times[s]);
}

} // namespace kopse
