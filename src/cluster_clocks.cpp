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
      far_of_(at(k)), widest_(at(heap_.node_count())), still_(widest_.size()), far_(widest_.size()),
      reaches_(at(k * shells)), rates_(at((k + heap_.node_count()) * shells)), times_(rates_.size()),
      readings_(rates_.size()) {}

void cluster_clocks::start(matrix_view<double> centroids, centroid_drift const& drift, int threads,
                           index& distances) {
  heap_.arrange(centroids);
  heap_.refit(centroids, drift);
  std::ranges::fill(widest_, 0.0);
  std::ranges::fill(charged_, std::uint8_t{0});
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
  std::ranges::fill(still_, std::uint8_t{0});
  std::ranges::fill(far_of_, std::uint8_t{0});
  std::ranges::fill(far_, std::uint8_t{0});
  std::ranges::fill(highest_, static_cast<std::uint8_t>(finite - 1));
  advance(centroids, drift, threads, distances); // for the rates
  std::ranges::fill(highest_, std::uint8_t{0});
  charged_ = highest_;
  std::ranges::fill(widest_, 0.0);
  for (label j = 0; j < k_; ++j) widen(j);
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
  leapt_ = 0;
  index moving = 0;
  for (label j = 0; j < k_; ++j) {
    far_[at(leaf_of(j))] |= far_of_[at(j)];
    bool const wider = wanted_[at(j)] != 0 || charged_[at(j)] != highest_[at(j)];
    grow(j);
    if (wider) widen(j);
    travel(j, drift[j]);
    moving += drift[j] > 0 ? 1 : 0;
  }
  charged_ = highest_;
  few_move_ = moving <= k_ / 4;
  struct task {
    surroundings around;
    index distances = 0;
  };
  per_thread<task> tasks([] { return task(); });
  node_id const first_leaf = heap_.node_count() / 2;
  for_blocks(heap_.node_count() - first_leaf, leaves_at_a_time, threads, tasks,
             [&](task& t, index first, index last) {
               node_id const above = static_cast<node_id>((first_leaf + first) / leaves_at_a_time);
               bool const all_rest = few_move_ && above >= heap_.root() && rests(above, t.around);
               for (index i = first; i < last; ++i) {
                 node_id const leaf = static_cast<node_id>(first_leaf + i);
                 count_still(leaf, all_rest || (few_move_ && rests(leaf, t.around)));
                 if (still_[at(leaf)] != 0)
                   rest(leaf);
                 else
                   advance_leaf(leaf, t.around, t.distances);
               }
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

// All above it look as far as the widest of its leases.
void cluster_clocks::widen(label j) {
  double const reached = reach(j, highest_[at(j)]);
  for (node_id q = leaf_of(j); q >= heap_.root() && widest_[at(q)] < reached; q /= 2)
    widest_[at(q)] = reached;
}

// Has nothing moved in the node, nor within the widest of its reaches?
bool cluster_clocks::rests(node_id q, surroundings& around) const {
  if (heap_.moved(q) > 0) return false;
  double const reach2 = slack_.squared(widest_[at(q)]);
  around.box.resize(at(2 * d_));
  double *const low = around.box.data(), *const high = low + d_;
  heap_.box(q, low, high);
  bool found = false;
  auto const open = [&](node_id first, node_id begin, node_id end) {
    double lo2[8];
    heap_.least_squares(first, low, high, lo2);
    for (node_id i = begin; i < end; ++i)
      if (heap_.moved(first + i) > 0 && lo2[i] <= reach2) {
        if (heap_.is_leaf(first + i)) return void(found = true);
        around.stack.push_back({first + i, lo2[i]});
      }
  };
  around.stack.clear();
  open(0, heap_.top(), 2 * heap_.top());
  while (!found && !around.stack.empty()) {
    node_id const next = around.stack.back().q;
    around.stack.pop_back();
    open(8 * next, 0, 8);
  }
  return !found;
}

// Only what has leases on an infinite shell advances, there.
void cluster_clocks::rest(node_id leaf) {
  bool const known = still_[at(leaf)] == 2;
  if (known && far_[at(leaf)] == 0) return;
  std::array<double, shells> by{};
  by[finite] = slack_.up(heap_.moved(heap_.root()));
  for (index i = heap_.points(leaf).first; i < heap_.points(leaf).last; ++i) {
    label const j = static_cast<label>(heap_.row(i));
    if (!known || far_of_[at(j)] != 0) tick(of(j, 0), by, known ? finite : 0);
  }
}

// The clocks of the centroids of one leaf.
void cluster_clocks::advance_leaf(node_id leaf, surroundings& around, index& distances) {
  point_range const range = heap_.points(leaf);
  around.box.resize(at(2 * d_));
  heap_.box(leaf, around.box.data(), around.box.data() + d_);
  double const fastest_of_all = heap_.moved(heap_.root());
  double idle = few_move_ ? 0 : fastest_of_all;
  for (index i = range.first; i < range.last; ++i) {
    idle = std::min(idle, idle_[at(heap_.row(i))]);
    prefetch(of(static_cast<label>(heap_.row(i)), 0));
  }
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
    if (!heap_.is_leaf(q)) {
      far_[at(q)] = std::max(far_[at(2 * q)], far_[at(2 * q + 1)]);
      count_still(q, still_[at(2 * q)] != 0 && still_[at(2 * q + 1)] != 0);
    }
    bool const known = still_[at(q)] == 2;
    if (known && far_[at(q)] == 0) continue;
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
    tick(of_node(q, 0), fastest, known ? finite : 0);
  }
  for (int s = finite - 1; s < shells; ++s) // the fastest of all
    longest_ = std::max(longest_, times_[at(of_node(heap_.root(), s))]);
}

// The shells of one cluster or node from `lowest` on; a clock that does not advance keeps its reading to the
// bit.
void cluster_clocks::tick(clock_id first, std::array<double, shells> const& by, int lowest) {
  double *const rates = rates_.data() + first, *const times = times_.data() + first;
  float* const readings = readings_.data() + first;
  for (int s = lowest; s < shells; ++s) {
    rates[s] = by[at(s)];
    double const later = (times[s] + by[at(s)] * per_unit_) * (1 + 0x1p-50);
    times[s] = by[at(s)] == 0 ? times[s] : later;
  }
  for (int s = lowest; s < shells; ++s) readings[s] = round_up(times[s]);
}

} // namespace kopse
