// SPDX-License-Identifier: BSD-3-Clause
// Clocks of clusters: how far rivals can have come nearer, by cluster, without looking at a point.
//
// Owner-local clocks (docs/algorithm.md, frontier). Cluster j has reaches R_0 < R_1 < ... < infinity, its
// shells, and for each a clock that advances in each iteration by
//     δ_j + max(δ_j, max{ δ_i : d(c_i, c_j) <= R, after the move }),
// δ how far a centroid moved. A point p with d(p, c_j) <= u whose other centroids are all `gap` farther at
// least gets a lease of min(gap, R − 2·u) on one of the shells: while the clock has advanced by less, c_j is
// the nearest centroid of p. For (a) the lease left is at most R − 2·d(p, c_j), which falls by 2·δ_j at most
// when the lease does by 2·δ_j at least; and (b) it is at most the gap to every rival: one within reach after
// the move gains no more than δ_i + δ_j, one beyond it is at least R − 2·d(p, c_j) farther than the owner.
// *After* the move: a centroid that leaves needs no charge, one that jumps in does. A larger R may be charged
// for a smaller one, so reaches may grow; one that shrinks by D advances its clock by D.
//
// A lease is kept as the reading of its clock at which it ends: time passes for all items of a cluster at
// once. So that a whole subtree of points is passed over by one comparison, nodes of the tree on the
// centroids have clocks too, which advance by the largest advance of any cluster below them: no slower than
// any.
//
// Readings are in a unit of the data's own size, float and rounded up; leases float and rounded down.
#pragma once

#include <cstdint>
#include <vector>

#include "centroid_heap.hpp"

namespace kopse {

class cluster_clocks {
public:
  static constexpr int shells = 8;
  static constexpr float ended = -std::numeric_limits<float>::infinity();
  using clock_id = std::int32_t;

  /// `unit` is a power of two about the size of the data.
  cluster_clocks(index k, index dims, double unit);

  /// Lays the centroids' tree out anew and measures the reaches: all leases end, all clocks start from 0.
  void start(matrix_view<double> centroids, centroid_drift const& drift, int threads, index& distances);
  /// Clocks advance for centroids that have moved.
  void advance(matrix_view<double> centroids, centroid_drift const& drift, int threads, index& distances);
  /// Clocks have run so long that their readings are coarse: rebased() every lease, then rebase().
  bool run_long() const { return longest_ > 0x1p12 * typical_; }
  float rebased(clock_id clock, float end) const {
    double const left = static_cast<double>(end) - clocks_[at(clock)];
    return left > 0 ? round_down(left) : ended;
  }
  void rebase();

  double unit() const { return unit_; }
  centroid_heap const& heap() const { return heap_; }
  double reach(label j, int shell) const { return reach_[at(of(j, shell))]; }
  double const* reaches(label j) const { return reach_.data() + of(j, 0); } ///< of all shells
  double const* rates(label j) const { return rate_.data() + of(j, 0); }
  double least_rate(label j) const { return idle_[at(j)]; }
  /// The last advance.
  double rate(label j, int shell) const { return rate_[at(of(j, shell))]; }
  static clock_id of(label j, int shell) { return j * shells + shell; }
  float reading(clock_id clock) const { return readings_[at(clock)]; }
  /// How far a clock has come.
  double now(clock_id clock) const { return clocks_[at(clock)] * unit_; }

  /// Some lease of j wanted a reach so wide and found it in the infinite shell alone.
  void want(label j, double reach) { wanted_[at(j)] = std::max(wanted_[at(j)], reach); }
  /// How far a centroid has travelled in all: two of them have come nearer to each other's points by no more
  /// than they have travelled together. In units, rounded up.
  float travelled(label j) const { return travelled_readings_[at(j)]; }
  /// The sum of two of those at which a lease between the two ends.
  float end_between(label a, label b, double lease) const {
    if (!(lease > 0)) return ended;
    double const end = travelled_[at(a)] + travelled_[at(b)] + lease * per_unit_ * (1 - 0x1p-50);
    return static_cast<float>(std::min(end, 0x1p100) * (1 - 0x1p-21));
  }
  float rebased_between(label a, label b, float end) const {
    double const left = static_cast<double>(end) - travelled_[at(a)] - travelled_[at(b)];
    return left > 0 ? static_cast<float>(left * (1 - 0x1p-21)) : ended;
  }
  /// The reading at which a lease ends that is given now.
  float end(clock_id clock, double lease) {
    std::uint8_t& highest = highest_[at(clock / shells)];
    if (int const shell = clock % shells; shell > highest && shell < shells - 1) highest = static_cast<std::uint8_t>(shell);
    return lease > 0 ? round_down(std::min(clocks_[at(clock)] + lease * per_unit_ * (1 - 0x1p-50), 0x1p100)) : ended;
  }
  /// What is left of a lease, in the clocks' unit; not more than 0: it has ended.
  double left(clock_id clock, float end) const { return static_cast<double>(end) - clocks_[at(clock)]; }
  float end_of_left(clock_id clock, double left) const {
    return left > 0 ? round_down(std::min(clocks_[at(clock)] + left * (1 - 0x1p-50), 0x1p100)) : ended;
  }
  /// The clock of a node of heap(): no slower than those of the shell, or a lower one, of any cluster below.
  clock_id of_node(node_id q, int shell) const { return static_cast<clock_id>((k_ + q) * shells + shell); }
  /// A clock that is no slower than either.
  clock_id slower_than_neither(clock_id a, clock_id b) const {
    int const shell = std::max(a % shells, b % shells);
    index const who_a = a / shells, who_b = b / shells;
    if (who_a == who_b) return static_cast<clock_id>(who_a * shells + shell);
    return of_node(centroid_heap::common_ancestor(node(who_a), node(who_b)), shell);
  }

private:
  // The node, or the leaf of the cluster, whose clocks come at that place.
  node_id node(index who) const {
    return who < k_ ? heap_.leaf_of(static_cast<label>(who)) : static_cast<node_id>(who - k_);
  }
  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  static float round_down(double x) { return static_cast<float>(x - std::abs(x) * 0x1p-23); }
  static float round_up(double x) { return static_cast<float>(x + std::abs(x) * 0x1p-23); }
  struct scratch {
    struct entry {
      node_id q;
      double lo2;
    };
    std::vector<entry> stack;
    std::vector<double> box;
  };
  void advance_leaf(node_id leaf, scratch& space, index& distances);
  void grow(label j);
  void tick(clock_id clock, double by);

  index k_, d_;
  double unit_, per_unit_;
  slack slack_;
  centroid_heap heap_;
  std::vector<double> reach_;  // of each cluster and shell
  std::vector<std::uint8_t> highest_; // of each cluster, the highest finite shell with a lease
  std::vector<double> wanted_;        // of each cluster, a reach
  std::vector<double> idle_;          // movement so small that clocks count it for everybody
  std::vector<double> rate_;   // advance of each clock; those of the nodes of the heap behind the clusters'
  std::vector<double> clocks_; // the same, in units
  std::vector<float> readings_;
  std::vector<double> travelled_;
  std::vector<float> travelled_readings_;
  double longest_ = 0, typical_ = 0; // the longest a clock has run; the distance to a near other centroid
};

} // namespace kopse
