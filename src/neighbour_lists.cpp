// SPDX-License-Identifier: BSD-3-Clause
#include "neighbour_lists.hpp"

#include <algorithm>

#include "kopse/parallel.hpp"

namespace kopse {

void neighbour_lists::renew(cluster_clocks& clocks, matrix<double> const& centroids, slack const& rounding,
                            int threads, index& distances) {
  struct task {
    std::vector<entry> around;
    index distances = 0;
  };
  per_thread<task> tasks([] { return task(); });
  for_blocks(std::ssize(lists_), 64, threads, tasks, [&](task& t, index first, index last) {
    for (index j = first; j < last; ++j)
      if (missed_[at(j)] >= enough) {
        missed_[at(j)] = 0;
        make(static_cast<label>(j), clocks, centroids.row(j), rounding, t.around, t.distances);
      }
  });
  tasks.for_each([&](task const& t) { distances += t.distances; });
}

void neighbour_lists::make(label j, cluster_clocks& clocks, double const* c, slack const& rounding,
                           std::vector<entry>& around, index& distances) {
  double radius = clocks.reach(j, widest_shell);
  around.clear();
  clocks.heap().for_each_within(
      c, rounding.squared(radius),
      [&](label i, double d2) {
        around.push_back({d2, i});
      },
      distances);
  auto const nearer = [](entry const& a, entry const& b) {
    return a.d2 < b.d2 || (a.d2 == b.d2 && a.who < b.who);
  };
  index const m = std::min(most, std::ssize(around));
  if (m < std::ssize(around)) {
    std::nth_element(around.begin(), around.begin() + m, around.end(), nearer);
    radius = std::min(radius, rounding.lower(around[at(m)].d2));
  }
  std::sort(around.begin(), around.begin() + m, nearer);
  std::unique_ptr<list>& l = lists_[at(j)];
  if (!l) l = std::make_unique<list>();
  l->radius = radius;
  l->shell = 0;
  while (clocks.reach(j, l->shell) < radius) ++l->shell;
  l->end = clocks.end(j, l->shell, radius);
  l->m = m;
  for (index i = 0; i < m; ++i) l->who[at(i)] = around[at(i)].who;
  for (index i = 0; i < m; i += block)
    l->from[at(i / block)] = std::min(radius, rounding.lower(around[at(i)].d2));
}

void neighbour_lists::rebase(cluster_clocks const& clocks) {
  for (label j = 0; j < std::ssize(lists_); ++j)
    if (list* const l = lists_[at(j)].get()) l->end = clocks.rebased(cluster_clocks::of(j, l->shell), l->end);
}

void neighbour_lists::clear() {
  for (auto& l : lists_) l.reset();
  std::fill(missed_.begin(), missed_.end(), 0);
}

double const* packed_lists::of(label j, neighbour_lists::list const& l) {
  std::size_t const slot = at(j) % slots;
  double* const c = c_.data() + slot * at(stride * centroids_.cols());
  if (whose_[slot] == j) return c;
  whose_[slot] = j;
  index const d = centroids_.cols(),
              whole = (l.m + neighbour_lists::block - 1) / neighbour_lists::block * neighbour_lists::block;
  for (index i = 0; i < l.m; ++i) {
    double const* const row = centroids_.row(l.who[at(i)]);
    for (index dim = 0; dim < d; ++dim) c[dim * stride + i] = row[dim];
  }
  for (index dim = 0; dim < d; ++dim)
    std::fill(c + dim * stride + l.m, c + dim * stride + whole, std::numeric_limits<double>::infinity());
  return c;
}

} // namespace kopse
