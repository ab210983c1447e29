// SPDX-License-Identifier: BSD-3-Clause
// `frontier`: iterations that look only at what can have changed.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include "filter.hpp"
#include "neighbour_lists.hpp"

namespace kopse {

template <class Tree> class frontier_step final : public filter_step<Tree> {
  using base = filter_step<Tree>;
  using base::centroids_, base::drift_, base::first_, base::k_, base::slack_, base::tree_, base::work_,
      base::several;

public:
  using real = typename Tree::real;

  frontier_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
                step_options const& options)
      : base(std::move(tree), points, layout, k, options), threads_(options.threads), n_(points.size()),
        clocks_(k, points.dims(), unit_of(*tree_)), lists_(k, points.dims()),
        ends_(at(points.size()), ended), pair_ends_(at(points.size()), ended), others_(at(points.size())),
        shells_(at(points.size())),
        nodes_(at(tree_->node_count())) {}

  cluster_sums assign(matrix_view<double> centroids) override {
    cluster_sums changes = this->begin(centroids);
    ++iteration_;
    bool const walk = !first_ && (leased_ ? examined_ * 20 : changed_ * 200) < filter_work_;
    if (!walk) {
      leased_ = false;
      this->assign_all(changes);
      filter_work_ = work_.distances + work_.node_scores;
      if (std::getenv("FDBG")) std::fprintf(stderr, "it %ld filter work %ld changed %ld\n", (long)iteration_, (long)filter_work_, (long)changes.labels_changed);
      examined_ = 0;
    } else {
      auto t0 = std::chrono::steady_clock::now();
      dbg_ = {};
      if (!leased_)
        start();
      else
        clocks_.advance(centroids_, drift_, threads_, work_.distances);
      if (clocks_.run_long()) rebase();
      bool const starting = std::exchange(starting_, false);
      examined_ = 0;
      changes_ = &changes;
      auto t1 = std::chrono::steady_clock::now();
      visit(tree_->root());
      auto t2 = std::chrono::steady_clock::now();
      if (std::getenv("FDBG")) std::fprintf(stderr, "it %ld advance %.1f visit %.1f | points %ld pairs %ld nodesvis %ld leaves %ld nodeexam %ld ok %ld fetch %ld build %ld(dist) treesearch %ld changed %ld lead %ld\n", (long)iteration_, std::chrono::duration<double>(t1-t0).count()*1e3, std::chrono::duration<double>(t2-t1).count()*1e3, (long)examined_, (long)std::exchange(pairs_, 0), dbg_[0], dbg_[1], dbg_[2], dbg_[3], dbg_[4], dbg_[5], dbg_[6], (long)changes.labels_changed, dbg_[7]);
      if (starting) examined_ = 0; // all, this once
    }
    changed_ = changes.labels_changed;
    return changes;
  }

private:
  using clock_id = cluster_clocks::clock_id;
  using block = neighbour_lists::block;
  static constexpr float ended = cluster_clocks::ended;

  // A node with one owner: its lease. One with several: until then, no lease below it ends.
  struct node_state {
    clock_id clock = 0;
    float end = ended;
  };
  struct lease {
    clock_id clock;
    float end;
  };

  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  static double unit_of(Tree const& tree) {
    double const extent = tree.extent(tree.root());
    return extent > 0 && extent < std::numeric_limits<double>::infinity() ? std::exp2(std::ilogb(std::sqrt(extent)))
                                                                          : 1;
  }
  bool running(clock_id clock, float end) const { return clocks_.reading(clock) < end; }
  clock_id clock_of(index i) const { return cluster_clocks::of(this->point_owner(i), shells_[at(i)]); }

  void start() {
    leased_ = starting_ = true;
    clocks_.start(centroids_, drift_, threads_, work_.distances);
    lists_.forget();
    std::fill(ends_.begin(), ends_.end(), ended);
    std::fill(nodes_.begin(), nodes_.end(), node_state{});
  }

  void rebase() {
    for (index i = 0; i < n_; ++i)
      if (label const j = this->point_owner(i); j >= 0) {
        ends_[at(i)] = clocks_.rebased(clock_of(i), ends_[at(i)]);
        pair_ends_[at(i)] = clocks_.rebased_between(j, others_[at(i)], pair_ends_[at(i)]);
      }
    for (node_state& s : nodes_) s.end = clocks_.rebased(s.clock, s.end);
    clocks_.rebase();
    lists_.forget();
  }

  // The shell on which a lease lasts longest at the last rate.
  lease give_lease(label j, double u, double gap) {
    // The first with room for all of the gap, or one of the two before it.
    double const* const reaches = clocks_.reaches(j);
    double const* const rates = clocks_.rates(j);
    constexpr int last = cluster_clocks::shells - 1;
    int widest = 0;
    for (int s = 0; s < last; ++s) widest += reaches[s] < 2 * u + gap ? 1 : 0;
    if (widest == last && gap < never2) clocks_.want(j, 2 * u + gap);
    double best = gap, best_rate = rates[widest] + clocks_.least_rate(j);
    int best_shell = widest;
    for (int s = widest - 1; s >= std::max(0, widest - 2); --s) {
      double const length = std::min(gap, reaches[s] - 2 * u), rate = rates[s] + clocks_.least_rate(j);
      if (length * best_rate > best * rate) best = length, best_rate = rate, best_shell = s;
    }
    clock_id const clock = cluster_clocks::of(j, best_shell);
    return {clock, clocks_.end(clock, slack_.lease(u, best))};
  }

  block& block_of(label j) {
    block& b = blocks_[static_cast<std::size_t>(j) % blocks_.size()];
    if (b.owner != j || b.iteration != iteration_)
    {  auto w0=work_.distances; ++dbg_[4]; lists_.fetch(j, iteration_, centroids_, clocks_, b, work_.distances); dbg_[5]+=work_.distances-w0;}
    return b;
  }

  void visit(node_id q) {
    node_state& state = nodes_[at(q)];
    if (running(state.clock, state.end)) return;
    ++dbg_[0];
    if (this->is_leaf(q)) ++dbg_[1];
    if (this->owner(q) != several) {
      if (examine_node(q)) return;
      this->hand_down(q);
      for (node_id const c : tree_->children(q)) nodes_[at(c)] = {};
      if (this->is_leaf(q))
        for (index i = tree_->points(q).first; i < tree_->points(q).last; ++i) ends_[at(i)] = ended;
    }
    if (this->is_leaf(q)) {
      this->check_stop();
      examine_leaf(tree_->points(q), state);
      return;
    }
    common all;
    for (node_id const c : tree_->children(q)) {
      visit(c);
      node_state const& below = nodes_[at(c)];
      all.include(clocks_, below.clock, below.end - clocks_.reading(below.clock));
    }
    state = all.state(clocks_);
  }

  // What a node waits for: the lease below it with the least left, on a clock that is no slower than any.
  struct common {
    clock_id clock = -1;
    float left = std::numeric_limits<float>::infinity();
    void include(cluster_clocks const& clocks, clock_id c, float l) {
      clock = clock < 0 ? c : clocks.slower_than_neither(clock, c);
      left = std::min(left, l);
    }
    node_state state(cluster_clocks const& clocks) const {
      return {clock, clocks.end_of_left(clock, static_cast<double>(left) * (1 - 0x1p-22))};
    }
  };

  void examine_leaf(point_range range, node_state& state) {
    // Which leases have ended; their points are on the way from memory while the rest is looked through.
    ended_.clear();
    for (index i = range.first; i < range.last; ++i) {
      label const j = this->point_owner(i);
      bool const all = running(cluster_clocks::of(j, shells_[at(i)]), ends_[at(i)]),
                 pair = clocks_.travelled(j) + clocks_.travelled(others_[at(i)]) < pair_ends_[at(i)];
      if (all & pair) continue;
      __builtin_prefetch(tree_->point(i));
      ended_.push_back({i, all});
    }
    for (auto const& [i, pair_alone] : ended_)
      if (pair_alone)
        examine_pair(i);
      else
        examine_point(i);
    node_id common = -1, any = 0;
    int shell = 0;
    float left = std::numeric_limits<float>::infinity();
    for (index i = range.first; i < range.last; ++i) {
      label const j = this->point_owner(i), other = others_[at(i)];
      node_id const leaf = clocks_.heap().leaf_of(j), other_leaf = clocks_.heap().leaf_of(other);
      common &= leaf & other_leaf;
      any |= leaf | other_leaf;
      int const s = shells_[at(i)];
      shell = std::max(shell, s);
      left = std::min(left, std::min(ends_[at(i)] - clocks_.reading(cluster_clocks::of(j, s)),
                                     pair_ends_[at(i)] - (clocks_.travelled(j) + clocks_.travelled(other))));
    }
    // The clock of a node that both are below is no slower than they travel: it counts each at least twice.
    clock_id const clock = clocks_.of_node(common >> std::bit_width(static_cast<unsigned>(common ^ any)), shell);
    state = {clock, clocks_.end_of_left(clock, static_cast<double>(left) * (1 - 0x1p-21))};
  }

  bool examine_node(node_id q) {
    ++dbg_[2];
    ++work_.node_scores;
    label const j = this->owner(q);
    double const* const c = centroids_.row(j);
    double const hi2 = tree_->distance(q, c).hi, u = slack_.upper(hi2);
    block const& b = block_of(j);
    double gap = b.beyond - 2 * u;
    for (index m = 0; m < b.size && gap > 0; ++m) {
      if (b.away(m) - 2 * u >= gap) break;
      double const* const rival = centroids_.row(b.who()[at(m)]);
      ++work_.node_scores;
      ++dbg_[7]; double const ahead = lead(*tree_, q, c, rival, hi2);
      if (!(ahead > 0)) return false;
      gap = std::min(gap, ahead / slack_.up(slack_.upper(squared_distance(rival, c, tree_->dims())) + 2 * u));
    }
    if (!(gap > 0)) return false;
    lease const l = give_lease(j, u, slack_.down(gap));
    if (!running(l.clock, l.end)) return false;
    nodes_[at(q)] = {l.clock, l.end};
    ++dbg_[3];
    return true;
  }

  // All but the other of the two nearest are out of the question.
  void examine_pair(index i) {
    ++pairs_;
    label const j = this->point_owner(i), other = others_[at(i)];
    real const* const x = tree_->point(i);
    double const own2 = squared_distance(x, centroids_.row(j), tree_->dims()),
                 other2 = squared_distance(x, centroids_.row(other), tree_->dims());
    work_.distances += 2;
    if (own2 < other2 || (own2 == other2 && j <= other)) {
      pair_ends_[at(i)] = clocks_.end_between(j, other, slack_.lease(slack_.upper(own2), slack_.lower(other2) - slack_.upper(own2)));
      return;
    }
    // They swap. The rest is farther than j by what is left of the lease, and so much farther than the other.
    double const left = clocks_.left(clock_of(i), ends_[at(i)]) * clocks_.unit();
    double const upper = slack_.upper(other2), apart = slack_.lower(own2) - upper;
    this->give_point(*changes_, i, other);
    others_[at(i)] = j;
    set_leases(i, other, upper, apart, slack_.down(left + apart));
  }

  void examine_point(index i) {
    ++examined_;
    label const j = this->point_owner(i);
    real const* const x = tree_->point(i);
    index const d = tree_->dims();
    block& b = block_of(j);
    double const own2 = squared_distance(x, centroids_.row(j), d), u = slack_.upper(own2);
    // The least two of each lane; and, of the owner and the nearest other so far, the farther one.
    constexpr index width = neighbour_lists::width;
    double d2[neighbour_lists::most], first[width], second[width];
    std::fill_n(first, width, never2);
    std::fill_n(second, width, never2);
    double two = never2;
    index seen = 0;
    bool settled = false;
    // Safe: who is at least r from the owner is farther than both.
    auto const beyond = [&](double r) { return slack_.squared_down(r - u) > two; };
    for (; seen < b.size; seen += width) {
      settled = beyond(b.away(seen));
      if (settled) break;
      if (seen >= b.filled) neighbour_lists::fill_eight(b, seen, centroids_);
      double* const eight = d2 + seen;
      eight_squares(x, d, b.eight(seen, d), width, eight);
      double least = never2;
      for (index m = 0; m < width; ++m) {
        second[m] = std::min(second[m], std::max(first[m], eight[m]));
        first[m] = std::min(first[m], eight[m]);
      }
      for (index m = 0; m < width; ++m) least = std::min(least, first[m]);
      two = std::max(own2, least);
    }
    work_.distances += 1 + std::min(seen, b.size);
    double const rest = settled ? b.away(seen) : b.beyond; // those not seen are no nearer to the owner
    settled = settled || beyond(b.beyond);
    double least = never2, next = never2;
    for (index m = 0; m < width; ++m) {
      next = std::min(next, std::min(second[m], std::max(least, first[m])));
      least = std::min(least, first[m]);
    }
    if (settled && own2 < least) { // nearly always
      index m = 0;
      while (m < b.size && d2[m] != least) ++m;
      others_[at(i)] = m < b.size ? b.who()[m] : j;
      set_leases(i, j, u, slack_.lower(least) - u, std::min(slack_.lower(next), slack_.down(rest - u)) - u);
      return;
    }
    nearest_three found;
    found.offer(j, own2);
    for (index m = 0; m < std::min(seen, b.size); ++m) found.offer(b.who()[m], d2[m]);
    if (!settled) {
      ++dbg_[6];
      std::copy(x, x + d, copy_.begin());
      found = nearest_three();
      clocks_.heap().for_each_leaf(copy_.data(), stack_, [&] { return found.third2; }, [&](node_id q) {
        double eight[centroid_heap::most];
        clocks_.heap().squares(q, copy_.data(), eight);
        point_range const range = clocks_.heap().points(q);
        work_.distances += range.size();
        for (index m = 0; m < range.size(); ++m)
          found.offer(static_cast<label>(clocks_.heap().row(range.first + m)), eight[m]);
      });
    }
    this->give_point(*changes_, i, found.first);
    others_[at(i)] = found.second < 0 ? found.first : found.second;
    double const upper = slack_.upper(found.first2);
    double third = slack_.lower(found.third2);
    if (settled) third = std::min(third, slack_.down(rest - u));
    set_leases(i, found.first, upper, slack_.lower(found.second2) - upper, third - upper);
  }

  struct nearest_three {
    double first2 = never2, second2 = never2, third2 = never2;
    label first = -1, second = -1;
    void offer(label j, double d2) {
      if (d2 < first2 || (d2 == first2 && (first < 0 || j < first))) {
        third2 = second2, second2 = first2, second = first;
        first2 = d2, first = j;
      } else if (d2 < second2) {
        third2 = second2, second2 = d2, second = j;
      } else {
        third2 = std::min(third2, d2);
      }
    }
  };

  void set_leases(index i, label j, double u, double gap, double gap_of_others) {
    pair_ends_[at(i)] = clocks_.end_between(j, others_[at(i)], slack_.lease(u, gap));
    lease const l = give_lease(j, u, gap_of_others);
    ends_[at(i)] = l.end;
    shells_[at(i)] = static_cast<std::uint8_t>(l.clock % cluster_clocks::shells);
  }
  static constexpr double never2 = std::numeric_limits<double>::infinity();

  int threads_;
  index n_, iteration_ = 0, examined_ = 0, changed_ = 0, filter_work_ = 0;
  bool leased_ = false, starting_ = false;
  cluster_clocks clocks_;
  neighbour_lists lists_;
  std::vector<float> ends_;          // of the points' leases, in tree order
  std::vector<float> pair_ends_;     // of their leases against the second nearest
  std::vector<label> others_;        // the second nearest
  std::vector<std::uint8_t> shells_; // that they are on
  std::vector<node_state> nodes_;
  mutable std::array<long, 10> dbg_{};
  index pairs_ = 0;
  std::vector<node_id> stack_;
  struct ended_lease {
    index point;
    bool pair_alone;
  };
  std::vector<ended_lease> ended_;
  cluster_sums* changes_ = nullptr;
  std::vector<double> copy_ = std::vector<double>(at(tree_->dims()));
  std::vector<block> blocks_{256};
};

} // namespace kopse
