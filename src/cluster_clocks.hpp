// SPDX-License-Identifier: BSD-3-Clause
// Clocks of clusters: how much nearer rivals can have come since some moment, without looking at a point.
//
// Cluster j has reaches R_0 < R_1 < ... < infinity, its shells, and for each of them a clock, which advances
// in each iteration by
//     δ_j + max(δ_j, max{ δ_i : d(c_i, c_j) <= R, after the move }),   δ: how far a centroid moved.
// A point p with d(p, c_j) <= u, from which every other centroid is at least `gap` farther, gets a lease of
// min(gap, R − 2·u) on one of the shells. While the clock has advanced by less than that, c_j is the nearest
// centroid of p, for what is left of the lease
//   (a) is at most R − 2·d(p, c_j): that falls by 2·δ_j at most, where the lease falls by 2·δ_j at least;
//   (b) is at most the gap to any rival i: if i is within reach after the move, the gap fell by δ_i + δ_j at
//       most, no more than the clock advanced; if not, i is at least R − 2·d(p, c_j) farther than c_j, by (a)
//       no less than what is left.
// *After* the move: a centroid that leaves needs no charge, one that jumps in does. What is charged for a
// larger reach is enough for a smaller one, so reaches may grow; none ever shrinks while leases run.
//
// A lease is kept as the reading of its clock at which it ends: time passes for all points of a cluster at
// once. So that a subtree of points is passed over by one comparison, the nodes of the tree on the centroids
// have clocks too: each advances as the fastest of the same shell below it.
//
// Readings are in a unit of the data's own size, in float rounded up; ends of leases in float rounded down.
// advance() is O(k) searches around groups of centroids, which pass over whatever moved no farther than what
// has been found already. Once few centroids move, groups with nothing that moves within their widest reach
// are *still*: their clocks, and those of nodes above none but such, are not touched. (The clocks of the
// infinite shell advance everywhere; those without leases are left alone as well.)
// Memory: 280 bytes a centroid, about 20 numbers a centroid more for the tree.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "heap_searches.hpp"

namespace kopse {

class cluster_clocks {
public:
  static constexpr int shells = 8;
  static constexpr float ended = -std::numeric_limits<float>::infinity();
  using clock_id = std::int32_t;
  static constexpr double iterations_ahead = 8;
  static constexpr index most_clusters = std::numeric_limits<clock_id>::max() / (2 * shells);

  /// `unit` is a power of two about the size of the data.
  cluster_clocks(index k, index dims, double unit);

  /// Lays out the tree on the centroids and measures the reaches: all clocks start, from 0.
  void start(matrix_view<double> centroids, centroid_drift const& drift, int threads, index& distances);
  /// The centroids have moved; the counted distances are added.
  void advance(matrix_view<double> centroids, centroid_drift const& drift, int threads, index& distances);
  centroid_heap const& heap() const { return heap_; }
  /// How many centroids moved farther in the last advance than leases near them last.
  index leapt() const { return leapt_; }

  // One cluster j.
  static clock_id of(label j, int shell) { return j * shells + shell; }
  double reach(label j, int shell) const { return reaches_[at(of(j, shell))]; }
  double const* reaches(label j) const { return reaches_.data() + of(j, 0); } ///< of all shells
  double const* rates(label j) const { return rates_.data() + of(j, 0); }     ///< their last advances
  double least_rate(label j) const { return idle_[at(j)]; }
  /// By how much others near j should be farther to be out of sight for some iterations to come, at the last
  /// rate.
  double margin(label j) const {
    return std::clamp(iterations_ahead * rates_[at(of(j, 2))], 1e-3 * reach(j, 1), 0.2 * reach(j, 1));
  }
  /// Some point of j had no room in a finite shell: the next advance makes this one.
  void want(label j, double reach) { raise(wanted_[at(j)], reach); }

  // Any clock.
  float reading(clock_id clock) const { return readings_[at(clock)]; }
  bool running(clock_id clock, float end) const { return reading(clock) < end; }
  /// What is left of a lease, in the unit of the data.
  double left(clock_id clock, float end) const {
    return (static_cast<double>(end) - times_[at(clock)]) * unit_ * (1 - 0x1p-50);
  }
  /// The end of a lease on cluster j that is given now.
  float end(label j, int shell, double lease) {
    raise(shell < shells - 1 ? highest_[at(j)] : far_of_[at(j)], static_cast<std::uint8_t>(shell));
    return end_of(times_[at(of(j, shell))], lease * per_unit_);
  }
  /// The same for one that waits for others, with as many units left as the one of them with the least.
  float end_of_units(clock_id clock, float units) const {
    return end_of(times_[at(clock)], static_cast<double>(units) * (1 - 0x1p-21));
  }
  /// A clock that is no slower than either.
  clock_id slower_than_neither(clock_id a, clock_id b) const {
    if (a / shells == b / shells) return std::max(a, b); // the higher shell's
    return of_node(centroid_heap::common_ancestor(node_of(a), node_of(b)), std::max(a % shells, b % shells));
  }
  /// The node of heap() whose clock that is, or the leaf of the cluster whose it is.
  node_id node_of(clock_id clock) const {
    label const who = clock / shells;
    return who < k_ ? leaf_of(who) : static_cast<node_id>(who - k_);
  }
  /// The clock of a node of heap(): no slower than that shell, or a lower one, of any cluster below it.
  clock_id of_node(node_id q, int shell) const { return static_cast<clock_id>((k_ + q) * shells + shell); }

  // Two clusters. A point's distances to two centroids come nearer to each other by no more than the two
  // centroids travel together.
  float travelled(label j) const { return travelled_readings_[at(j)]; }
  /// The sum of two travelled() at which a lease between the two ends.
  float end_between(label a, label b, double lease) const {
    if (!(lease > 0)) return ended;
    double const sum = travelled_[at(a)] + travelled_[at(b)] + lease * per_unit_ * (1 - 0x1p-50);
    // Of two readings, which are added in float.
    return static_cast<float>(std::min(sum, 0x1p100) * (1 - 0x1p-21) - 4 * least);
  }

  /// Clocks have run so long that their readings are coarse: every end is to be rebased, and then rebase().
  bool run_long() const { return longest_ > 0x1p12 * typical_; }
  float rebased(clock_id clock, float end) const {
    double const left = static_cast<double>(end) - times_[at(clock)];
    return left > 0 ? round_down(left) : ended;
  }
  float rebased_between(label a, label b, float end) const {
    double const left = static_cast<double>(end) - travelled_[at(a)] - travelled_[at(b)];
    return left > 0 ? static_cast<float>(left * (1 - 0x1p-21) - 4 * least) : ended;
  }
  void rebase();

private:
  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  // The least that a float can be off, where it has fewer bits.
  static constexpr double least = 0x1p-149;
  static float round_down(double x) { return static_cast<float>(x - std::abs(x) * 0x1p-23 - least); }
  static float round_up(double x) { return static_cast<float>(x + std::abs(x) * 0x1p-23 + least); }
  static float end_of(double now, double units) {
    return units > 0 ? round_down(std::min(now + units * (1 - 0x1p-50), 0x1p100)) : ended;
  }
  // The larger of a number, which other threads may raise too, and another.
  template <class T> static void raise(T& number, T to) {
    std::atomic_ref<T> const shared(number);
    T now = shared.load(std::memory_order_relaxed);
    while (now < to && !shared.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
    }
  }
  node_id leaf_of(label j) const { return heap_.leaf_of(j); }
  void grow(label j);
  void travel(label j, double by);
  void widen(label j);
  bool rests(node_id q, surroundings& around) const;
  void rest(node_id leaf);
  void count_still(node_id q, bool still) {
    std::uint8_t& times = still_[at(q)];
    times = static_cast<std::uint8_t>(still ? std::min(times + 1, 2) : 0);
  }
  void advance_leaf(node_id leaf, surroundings& around, index& distances);
  void advance_nodes();
  // Asks the memory for what tick() changes: clusters lie in their own order, not that of the heap.
  void prefetch(clock_id first) const {
    for (clock_id const c : {first, first + shells - 1}) {
      __builtin_prefetch(rates_.data() + c);
      __builtin_prefetch(times_.data() + c);
      __builtin_prefetch(readings_.data() + c);
    }
  }
  void tick(clock_id first, std::array<double, shells> const& by, int lowest = 0);

  index k_, d_;
  double unit_, per_unit_;
  slack slack_;
  centroid_heap heap_;
  // Of each cluster.
  std::vector<double> wanted_;        // a reach; 0: none
  std::vector<double> idle_;          // movement so small that clocks may count it for everybody
  std::vector<std::uint8_t> highest_; // the highest finite shell with a lease
  std::vector<std::uint8_t> charged_; // the same at the last advance
  std::vector<double> travelled_;     // in units
  std::vector<float> travelled_readings_;
  std::vector<std::uint8_t> far_of_; // not 0: some lease of it may be on its infinite shell
  // Of each node of the heap.
  std::vector<double> widest_;      // reach with a lease below
  std::vector<std::uint8_t> still_; // times that no finite shell below advanced, up to 2: rates are 0 by then
  std::vector<std::uint8_t> far_;   // far_of_ of some below
  // Of each cluster and shell, and all but the first of each node of the heap and shell behind them.
  std::vector<double> reaches_;
  std::vector<double> rates_; // the last advance
  std::vector<double> times_; // in units
  std::vector<float> readings_;
  bool few_move_ = false;
  double longest_ = 0, typical_ = 0; // in units: the longest a clock has run, the distance to a near centroid
  index leapt_ = 0;
};

} // namespace kopse
