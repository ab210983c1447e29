// SPDX-License-Identifier: BSD-3-Clause
#include "cluster_clocks.hpp"

#include <array>
#include <limits>

#include "kopse/parallel.hpp"
#include "kopse/tree/neighbours.hpp"

#include <cstdio>
#include <cstdlib>
namespace kopse {
long gd[8];

namespace {
// Reaches, in units of the distance to a near other centroid; the last one is infinite.
constexpr std::array<double, cluster_clocks::shells - 1> ladder{0.7, 1, 1.4, 2, 2.8, 4, 6};
} // namespace

cluster_clocks::cluster_clocks(index k, index dims, double unit)
    : k_(k), d_(dims), unit_(unit), per_unit_(1 / unit), slack_(dims), heap_(k, dims), reach_(at(k * shells)) {
  std::size_t const all = at((k + heap_.node_count()) * shells);
  highest_.resize(at(k));
  wanted_.resize(at(k));
  travelled_.resize(at(k));
  travelled_readings_.resize(at(k));
  idle_.resize(at(k));
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
    idle_[at(j)] = near * 1e-4;
  }
  std::ranges::nth_element(all, all.begin() + k_ / 2);
  typical_ = all[at(k_ / 2)];
  std::fill(highest_.begin(), highest_.end(), shells - 2);
  rebase();
  advance(centroids, drift, threads, distances); // for the rates
  std::fill(highest_.begin(), highest_.end(), std::uint8_t{0});
}

void cluster_clocks::advance(matrix_view<double> centroids, centroid_drift const& drift, int threads,
                             index& distances) {
  heap_.refit(centroids, drift);
  for (label j = 0; j < k_; ++j) {
    grow(j);
    double& all = travelled_[at(j)];
    if (drift[j] == 0) continue;
    all = (all + drift[j] * per_unit_) * (1 + 0x1p-50);
    travelled_readings_[at(j)] = round_up(all);
    longest_ = std::max(longest_, all);
  }
  node_id const first_leaf = heap_.node_count() / 2;
  (void)threads;
  scratch space;
  for (node_id leaf = first_leaf; leaf < heap_.node_count(); ++leaf) advance_leaf(leaf, space, distances);
  if (std::getenv("FDBG")) {std::fprintf(stderr,"   dfs %ld leaves %ld eights %ld\n",gd[0],gd[1],gd[2]);int h[8]{};for(auto x:highest_)++h[x];for(int i=0;i<8;++i)std::fprintf(stderr," %d",h[i]);std::fprintf(stderr,"\n");} gd[0]=gd[1]=gd[2]=0;
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

namespace {
// What a leaf of centroids gathers about the movements around it.
struct surroundings {
  static constexpr int finite = cluster_clocks::shells - 1;
  struct centroid {
    label who;
    int highest; // shell in use
    double moved;
    std::array<double, finite + 1> most; // movement within reach
    std::array<double, finite> reach2;   // computed d² of what is within reach is at most this
  };
  std::array<centroid, centroid_heap::most> mine;
  std::size_t size = 0;
  int highest = 0;
  double widest2 = 0;
  std::array<double, finite> reach2, least; // of all: the widest reach, the least movement found

  void summarise() {
    reach2.fill(-1);
    least.fill(std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t s = 0; s <= static_cast<std::size_t>(mine[i].highest); ++s) {
        reach2[s] = std::max(reach2[s], mine[i].reach2[s]);
        least[s] = std::min(least[s], mine[i].most[s]);
      }
  }
  // Safe: what is beyond the reaches of shells below s, and moved no farther than every one of mine has found
  // within s, has nothing to add to that shell, nor to a wider one, which has found as much at least.
  bool adds(double moved, double lo2) const {
    if (moved <= least[0] || lo2 > widest2) return false;
    int s = 0;
    while (s <= highest && reach2[static_cast<std::size_t>(s)] < lo2) ++s;
    return s <= highest && moved > least[static_cast<std::size_t>(s)];
  }
};
} // namespace

// The clocks of the centroids of one leaf.
void cluster_clocks::advance_leaf(node_id leaf, scratch& space, index& distances) {
  surroundings around;
  point_range const range = heap_.points(leaf);
  around.size = at(range.size());
  double idle = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < around.size; ++i) {
    surroundings::centroid& c = around.mine[i];
    c.who = static_cast<label>(heap_.row(range.first + static_cast<index>(i)));
    c.highest = highest_[at(c.who)];
    c.moved = heap_.moved_at(range.first + static_cast<index>(i));
    c.most.fill(c.moved);
    for (int s = 0; s <= c.highest; ++s) c.reach2[at(s)] = slack_.squared(reach(c.who, s));
    around.widest2 = std::max(around.widest2, c.reach2[at(c.highest)]);
    around.highest = std::max(around.highest, c.highest);
    idle = std::min(idle, idle_[at(c.who)]);
  }
  idle = std::min(idle, heap_.moved(heap_.root()));
  for (std::size_t i = 0; i < around.size; ++i)
    for (double& most : around.mine[i].most) most = std::max(most, idle);
  around.summarise();

  space.box.resize(at(4 * d_));
  double *const low = space.box.data(), *const high = low + d_, *const other_low = high + d_,
                *const other_high = other_low + d_;
  heap_.box(leaf, low, high);
  auto const visit_leaf = [&](node_id q) {
    bool found = false;
    point_range const others = heap_.points(q);
    double const fastest = heap_.moved(q);
    double lo2[centroid_heap::most];
    heap_.box(q, other_low, other_high);
    heap_.least_squares_from(leaf, other_low, other_high, lo2);
    for (std::size_t i = 0; i < around.size; ++i) {
      surroundings::centroid& c = around.mine[i];
      int nearest = 0; // shell that may hold one of them
      while (nearest <= c.highest && c.reach2[at(nearest)] < lo2[i]) ++nearest;
      if (nearest > c.highest || c.most[at(nearest)] >= fastest) continue;
      double d2[centroid_heap::most];
      heap_.squares(q, heap_.point(range.first + static_cast<index>(i)), d2);
      distances += others.size();++gd[2];
      for (index o = 0; o < others.size(); ++o) {
        double const moved = heap_.moved_at(others.first + o);
        if (moved <= c.most[at(nearest)]) continue;
        int s = nearest;
        while (s <= c.highest && c.reach2[at(s)] < d2[o]) ++s;
        for (; s <= c.highest && c.most[at(s)] < moved; ++s) c.most[at(s)] = moved, found = true;
      }
    }
    if (found) around.summarise();
  };
  // Its own centroids first. Then eight nodes at a time; what moved no farther than what was found has nothing
  // to add.
  visit_leaf(leaf);
  space.stack.clear();
  auto const open = [&](node_id first, node_id begin, node_id end) {
    double lo2[8];
    heap_.least_squares(first, low, high, lo2);
    double const* const moved = heap_.moved_of_eight(first);
    for (node_id i = begin; i < end; ++i)
      if (moved[i] > idle && around.adds(moved[i], lo2[i])) space.stack.push_back({first + i, lo2[i]});
  };
  open(0, heap_.top(), heap_.top() + heap_.top_count());
  while (!space.stack.empty()) {
    auto const [q, lo2] = space.stack.back();++gd[0];
    space.stack.pop_back();
    if (!around.adds(heap_.moved(q), lo2)) continue;
    if (!heap_.is_leaf(q))
      open(8 * q, 0, 8);
    else if (q != leaf)
      visit_leaf(q);
  }
  for (std::size_t i = 0; i < around.size; ++i) {
    surroundings::centroid& c = around.mine[i];
    for (int s = c.highest + 1; s < shells - 1; ++s) c.most[at(s)] = c.most[at(c.highest)]; // no lease: a guess
    c.most[shells - 1] = std::max(c.moved, heap_.moved(heap_.root()));
    for (int s = 0; s < shells; ++s) {
      clock_id const clock = of(c.who, s);
      double const by = c.moved + c.most[at(s)];
      rate_[at(clock)] = by == 0 ? 0 : slack_.up(by);
      tick(clock, rate_[at(clock)]);
    }
  }
}

// Shells grow where leases had no room: the last finite one to what was wanted, those before it to a part of
// that.
void cluster_clocks::grow(label j) {
  double& wanted = wanted_[at(j)];
  if (wanted == 0) return;
  double reach = std::exchange(wanted, 0) * 1.1;
  for (int s = shells - 2; s > 3; --s, reach /= 2) reach_[at(of(j, s))] = std::max(reach_[at(of(j, s))], reach);
  for (int s = 4; s < shells - 1; ++s) reach_[at(of(j, s))] = std::max(reach_[at(of(j, s))], reach_[at(of(j, s - 1))]);
}

void cluster_clocks::tick(clock_id clock, double by) {
  if (by == 0) return;
  double& time = clocks_[at(clock)];
  time = (time + by * per_unit_) * (1 + 0x1p-50);
  readings_[at(clock)] = round_up(time);
  longest_ = std::max(longest_, time);
}

void cluster_clocks::rebase() {
  std::fill(clocks_.begin(), clocks_.end(), 0.0);
  std::fill(readings_.begin(), readings_.end(), 0.0F);
  std::fill(travelled_.begin(), travelled_.end(), 0.0);
  std::fill(travelled_readings_.begin(), travelled_readings_.end(), 0.0F);
  longest_ = 0;
}

} // namespace kopse
