// SPDX-License-Identifier: BSD-3-Clause
#include "cluster_clocks.hpp"

#include <array>

#include "kopse/parallel.hpp"
#include "kopse/tree/neighbours.hpp"

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
    std::vector<neighbour> found;
    for (index j = first; j < last; ++j) {
      find_nearest(heap_, centroids.row(j), j, std::min<index>(k_ - 1, d_ + 1),
                   std::numeric_limits<double>::infinity(), found, count);
      near[at(j)] = found.empty() ? 0 : slack_.upper(found.back().d2);
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

// What the centroids of a leaf find out about movements around them.
struct cluster_clocks::surroundings {
  struct centroid {
    label who;
    int highest; // finite shell in use
    double moved;
    std::array<double, shells> most;   // movement within reach
    std::array<double, finite> reach2; // computed d² of what is within reach is at most this
  };
  std::array<centroid, centroid_heap::most> mine;
  std::size_t size = 0;
  int highest = 0;
  double widest2 = 0;
  std::array<double, finite> reach2, least; // of all: the widest reach, the least movement found
  struct entry {
    node_id q;
    double lo2;
  };
  std::vector<entry> stack;
  std::vector<double> box, other_box; // low corner, high corner

  void summarise() {
    reach2.fill(-1);
    least.fill(std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t s = 0; s <= at(mine[i].highest); ++s) {
        reach2[s] = std::max(reach2[s], mine[i].reach2[s]);
        least[s] = std::min(least[s], mine[i].most[s]);
      }
  }

  // Safe: what is beyond the reaches below shell s, and moved no farther than every one of mine has found
  // within s, has nothing to add to that shell, nor to a wider one, which has found as much at least.
  bool adds(double moved, double lo2) const {
    if (moved <= least[0] || lo2 > widest2) return false;
    int s = 0;
    while (s <= highest && reach2[at(s)] < lo2) ++s;
    return s <= highest && moved > least[at(s)];
  }
};

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
  around.size = at(range.size());
  around.highest = 0;
  around.widest2 = 0;
  double idle = fastest_of_all;
  for (std::size_t i = 0; i < around.size; ++i)
    idle = std::min(idle, idle_[at(heap_.row(range.first + static_cast<index>(i)))]);
  for (std::size_t i = 0; i < around.size; ++i) {
    surroundings::centroid& c = around.mine[i];
    c.who = static_cast<label>(heap_.row(range.first + static_cast<index>(i)));
    c.highest = charged_[at(c.who)];
    c.moved = heap_.moved_at(range.first + static_cast<index>(i));
    c.most.fill(std::max(c.moved, idle));
    for (int s = 0; s <= c.highest; ++s) c.reach2[at(s)] = slack_.squared(reach(c.who, s));
    around.highest = std::max(around.highest, c.highest);
    around.widest2 = std::max(around.widest2, c.reach2[at(c.highest)]);
  }
  around.summarise();
  around.box.resize(at(2 * d_));
  around.other_box.resize(at(2 * d_));
  heap_.box(leaf, around.box.data(), around.box.data() + d_);

  auto const visit_leaf = [&](node_id q) {
    double lo2[centroid_heap::most];
    heap_.box(q, around.other_box.data(), around.other_box.data() + d_);
    heap_.least_squares_from(leaf, around.other_box.data(), around.other_box.data() + d_, lo2);
    point_range const others = heap_.points(q);
    bool found = false;
    for (std::size_t i = 0; i < around.size; ++i) {
      surroundings::centroid& c = around.mine[i];
      int nearest = 0; // shell that may hold one of them
      while (nearest <= c.highest && c.reach2[at(nearest)] < lo2[i]) ++nearest;
      if (nearest > c.highest || c.most[at(nearest)] >= heap_.moved(q)) continue;
      double d2[centroid_heap::most];
      heap_.squares(q, heap_.point(range.first + static_cast<index>(i)), d2);
      distances += others.size();
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
  auto const open = [&](node_id first, node_id begin, node_id end) {
    double lo2[8];
    heap_.least_squares(first, around.box.data(), around.box.data() + d_, lo2);
    for (node_id i = begin; i < end; ++i)
      if (around.adds(heap_.moved(first + i), lo2[i])) around.stack.push_back({first + i, lo2[i]});
  };
  visit_leaf(leaf);
  around.stack.clear();
  open(0, heap_.top(), 2 * heap_.top());
  while (!around.stack.empty()) {
    auto const [q, lo2] = around.stack.back();
    around.stack.pop_back();
    if (!around.adds(heap_.moved(q), lo2)) continue;
    if (!heap_.is_leaf(q))
      open(8 * q, 0, 8);
    else if (q != leaf)
      visit_leaf(q);
  }
  for (std::size_t i = 0; i < around.size; ++i) {
    surroundings::centroid& c = around.mine[i];
    for (int s = c.highest + 1; s < finite; ++s)
      c.most[at(s)] = c.most[at(c.highest)]; // no lease yet: a guess
    c.most[finite] = std::max(c.moved, fastest_of_all);
    for (int s = 0; s < shells; ++s) {
      double const by = c.moved + c.most[at(s)];
      tick(of(c.who, s), by == 0 ? 0 : slack_.up(by));
    }
  }
}

void cluster_clocks::advance_nodes() {
  for (node_id q = heap_.node_count() - 1; q >= heap_.root(); --q)
    for (int s = 0; s < shells; ++s) {
      double fastest = 0;
      if (heap_.is_leaf(q))
        for (index i = heap_.points(q).first; i < heap_.points(q).last; ++i)
          fastest = std::max(fastest, rates_[at(of(static_cast<label>(heap_.row(i)), s))]);
      else
        fastest = std::max(rates_[at(of_node(2 * q, s))], rates_[at(of_node(2 * q + 1, s))]);
      tick(of_node(q, s), fastest);
    }
  longest_ = std::max(longest_, times_[at(of_node(heap_.root(), finite))]); // the fastest of all
}

void cluster_clocks::tick(clock_id clock, double by) {
  rates_[at(clock)] = by;
  if (by == 0) return;
  double& time = times_[at(clock)];
  time = (time + by * per_unit_) * (1 + 0x1p-50);
  readings_[at(clock)] = round_up(time);
}

} // namespace kopse
