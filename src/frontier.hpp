// SPDX-License-Identifier: BSD-3-Clause
// `frontier`: iterations that look only at what can have changed.
//
// Past the paper. The highest nodes of the tree on the points that one cluster owns, and the points of leaves
// with several owners, are the *frontier*. Each of its items has a lease on its owner: how much the clock of
// that cluster may advance before it must be looked at again (cluster_clocks.hpp has the rule and its proof).
// The paper's bounds and its pruned and canchange are merged into that one number, no bound is ever shifted,
// and the coalesced tree is what the frontier is. An iteration
//   1. advances the clocks, by how far the centroids moved around each cluster;
//   2. walks the tree: a node with a lease that runs, or in which all leases run, is passed over;
//   3. looks again where a lease has ended: a point's four nearest centroids are searched in a list of those
//      around its owner (neighbour_lists.hpp) or in the tree on the centroids, a node gets the candidates
//      around its owner, as `filter` has them, and is owned by one of them or hands them down;
//   4. moves the sums of what changed owner.
// A point has three leases. Those against its two rivals, the second and third nearest, end when the owner
// and the rival have travelled far enough together; the one against all others runs on its owner's clock,
// and much longer. If only one of the first two has ended, three distances settle who is the owner: should
// it be a rival, all others are farther than it by what is left of the third lease and by how much nearer
// than the old owner it is.
//
// The first assignment, and every one before most leases would last, are made by `filter`, which gives no
// leases and is faster by that; then all leases are given in one traversal with margins
// (candidate_lists.hpp). What decides is counted work, never time.
//
// Memory, besides tree_step's: 21 bytes a point, 16 a node, and up to about 700 a cluster for clocks and
// lists, none of it O(k²). Use it for large n and k in low dimension (d to about 8) and for runs to
// convergence; for a few iterations it is `filter`. docs/frontier.md has what was tried and left out.
#pragma once

#include "cluster_clocks.hpp"
#include "filter.hpp"
#include "neighbour_lists.hpp"
#include "squares.hpp"

namespace kopse {

template <class Tree> class frontier_step final : public filter_step<Tree> {
  using base = filter_step<Tree>;
  using base::centroids_, base::k_, base::threads_, base::tree_, base::slack_;

public:
  using real = typename Tree::real;

  /// The first assignment is filter's; which others are: all that are better left to it, or none.
  enum class walks { when_they_pay, always };

  frontier_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
                step_options const& options, walks when = walks::when_they_pay)
      : base(std::move(tree), points, layout, k, options), n_(points.size()), when_(when) {
    if (k > cluster_clocks::most_clusters)
      throw usage_error("k = " + std::to_string(k) + ": frontier takes at most "
                        + std::to_string(cluster_clocks::most_clusters) + " clusters");
  }

  cluster_sums assign(matrix_view<double> centroids) override {
    worker_scope const workers;
    cluster_sums changes = this->begin(centroids);
    if (leased_) {
      clocks_->advance(centroids_, this->drift_, threads_, this->work_.distances);
      leased_ = walk_pays();
    }
    if (leased_) {
      walk_all(changes);
    } else if (start_pays()) {
      start();
      look_at_all(changes);
      leased_ = true;
    } else {
      this->assign_all(changes);
      filter_work_ = this->effort_;
    }
    changed_ = changes.labels_changed;
    return changes;
  }

private:
  using clock_id = cluster_clocks::clock_id;
  static constexpr float ended = cluster_clocks::ended;
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double longest_lease = 1e300;
  static constexpr float never_ends = std::numeric_limits<float>::infinity();
  // In scores of filter, measured: what a point that changes owner stands for in a walk, from which a walk
  // that comes pays; what a distance of a walk costs, where many are not computed together; and a look at the
  // leases of a point.
  static constexpr index scores_a_change = 4000, scores_a_distance = 6, scores_a_lease = 3;

  struct point_state {
    float end = ended; // of the lease against all but the two, on the owner's clock
    std::array<float, 2> rival_end{ended, ended}; // of the ones against the two
    std::array<label, 2> rival{0, 0};             // the second and the third nearest, when they were found
  };
  struct wait {
    clock_id clock = 0;
    float end = ended;
  };
  // A node with one owner: its lease. One with several: while both of these run, no lease below it ends.
  using node_state = std::array<wait, 2>;
  class look;
  class walk;
  // A node to look at, with its candidates; siblings share the list.
  struct task {
    node_id node;
    std::shared_ptr<std::vector<label> const> candidates;
    double gap;
  };

  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  clock_id clock_of(index i) const { return cluster_clocks::of(this->point_owner(i), shells_[at(i)]); }
  // Its owner and its two rivals.
  std::array<label, 3> in_sight(index i) const {
    std::array<label, 2> const& rival = points_[at(i)].rival;
    return {this->point_owner(i), rival[0], rival[1]};
  }
  // What is left of the lease against all but the two, in units.
  float left_of_others(index i) const { return points_[at(i)].end - clocks_->reading(clock_of(i)); }
  // Whose clocks a point waits on.
  auto waits_on(index i) const { return std::pair(in_sight(i), shells_[at(i)]); }
  // What is left of the leases against the two, in units.
  float left_of_rivals(index i) const {
    point_state const& p = points_[at(i)];
    float const own = clocks_->travelled(this->point_owner(i));
    return std::min(p.rival_end[0] - (own + clocks_->travelled(p.rival[0])),
                    p.rival_end[1] - (own + clocks_->travelled(p.rival[1])));
  }

  float left_of(index i) const { return std::min(left_of_others(i), left_of_rivals(i)); }

  // Not where filter would have been faster the last time, nor where most centroids leapt.
  bool walk_pays() {
    if (when_ == walks::always || (walk_work_ < filter_work_ && clocks_->leapt() <= k_ / 2)) return true;
    fewest_changes_ = changed_ / 4; // not again before it is much calmer
    return false;
  }
  bool start_pays() const {
    return !this->first_
           && (when_ == walks::always
               || (changed_ * scores_a_change < filter_work_ && changed_ <= fewest_changes_));
  }

  void start() {
    if (!clocks_) {
      clocks_.emplace(k_, tree_->dims(), unit());
      lists_.emplace(k_);
    }
    lists_->clear();
    clocks_->start(centroids_, this->drift_, threads_, this->work_.distances);
    points_.assign(at(n_), {});
    shells_.assign(at(n_), {});
    nodes_.assign(at(tree_->node_count()), {});
    margins_.resize(at(k_));
  }
  double unit() const {
    double const extent = std::sqrt(tree_->extent(tree_->root()));
    return extent > 0 && extent < never ? std::ldexp(1, std::ilogb(extent)) : 1;
  }

  // Passes over what is quiet, and looks again at the rest.
  void walk_all(cluster_sums& changes) {
    if (clocks_->run_long()) rebase();
    set_margins();
    lists_->renew(*clocks_, centroids_, slack_, threads_, this->work_.distances);
    index const many = this->work_.distances; // of clocks and lists, many at a time
    per_thread<walk> all([&] { return walk(*this, this->take_share(changes)); });
    for_branches(
        tree_->root(), threads_, [&](node_id q) { return tree_->points(q).size() <= this->branch_points(); },
        [&](node_id q, std::vector<node_id>& below) { all.lend([&](walk& w) { w.open(q, below); }); },
        [&](node_id q) { all.lend([&](walk& w) { w.visit(q); }); });
    finish(changes, all);
    walk_work_ = many + (this->work_.distances - many) * scores_a_distance + this->work_.node_scores;
    all.for_each([&](walk const& w) {
      walk_work_ += w.listed + w.scanned * scores_a_lease;
      this->work_.distances += w.listed;
    });
  }

  // Leases for everything, with the candidates that come down from the root.
  void look_at_all(cluster_sums& changes) {
    set_margins();
    per_thread<look> all([&] { return look(*this, this->take_share(changes)); });
    for_branches(
        task{tree_->root(), this->everybody(), never}, threads_,
        [&](task const& t) { return tree_->points(t.node).size() <= this->branch_points(); },
        [&](task const& t, std::vector<task>& below) { all.lend([&](look& l) { l.open(t, below); }); },
        [&](task const& t) { all.lend([&](look& l) { l.run(t); }); });
    finish(changes, all);
    walk_work_ = 0; // this once
  }
  void set_margins() {
    for (label j = 0; j < k_; ++j) margins_[at(j)] = clocks_->margin(j);
  }
  // Takes in what threads have changed.
  template <class Looks> void finish(cluster_sums& changes, per_thread<Looks>& all) {
    std::vector<node_id> opened;
    all.for_each([&](Looks& l) {
      this->merge(changes, l.mine);
      opened.insert(opened.end(), l.opened.begin(), l.opened.end());
    });
    std::sort(opened.begin(), opened.end(), // the smaller nodes first: children before their parents
              [&](node_id a, node_id b) { return tree_->points(a).size() < tree_->points(b).size(); });
    for (node_id const q : opened) wait_for_children(q);
  }

  void rebase() {
    for_blocks(n_, 65536, threads_, [&](index first, index last) {
      for (index i = first; i < last; ++i) {
        label const j = this->point_owner(i);
        if (j < 0 || j >= k_) continue;
        point_state& p = points_[at(i)];
        p.end = clocks_->rebased(clock_of(i), p.end);
        for (std::size_t r = 0; r < 2; ++r)
          p.rival_end[r] = clocks_->rebased_between(j, p.rival[r], p.rival_end[r]);
      }
    });
    for (node_state& s : nodes_)
      for (wait& w : s) w.end = clocks_->rebased(w.clock, w.end);
    lists_->rebase(*clocks_);
    clocks_->rebase();
  }

  // What several wait for comes to two clocks: on either side below their lowest common ancestor in the tree
  // on the centroids, the lowest that is no slower than any of them. So what lies across a plane that halves
  // the centroids high up need not wait on the clock of half of them.
  void wait_for_children(node_id q) {
    node_id above = -1;
    for (node_id const c : tree_->children(q))
      for (wait const& w : nodes_[at(c)]) {
        node_id const n = clocks_->node_of(w.clock);
        above = above < 0 ? n : centroid_heap::common_ancestor(above, n);
      }
    std::array<clock_id, 2> clocks{-1, -1};
    std::array<float, 2> left{never_ends, never_ends};
    for (node_id const c : tree_->children(q))
      for (wait const& w : nodes_[at(c)]) {
        std::size_t const side = centroid_heap::is_right_of(clocks_->node_of(w.clock), above) ? 1 : 0;
        clock_id& clock = clocks[side];
        clock = clock < 0 ? w.clock : clocks_->slower_than_neither(clock, w.clock);
        left[side] = std::min(left[side], w.end - clocks_->reading(w.clock));
      }
    set_waits(q, clocks, left);
  }

  // A leaf waits for the lease with the least left, on clocks no slower than any of its owners' and rivals':
  // those advance in an iteration by twice the movement of each of them, at least.
  void wait_for_points(node_id q) {
    // The leaves of the centroids are all at one depth: their bits tell the ancestor.
    struct ancestor {
      node_id common = -1, any = 0;
      void include(node_id leaf) { common &= leaf, any |= leaf; }
      node_id node() const { return common >> std::bit_width(static_cast<unsigned>(common ^ any)); }
    };
    point_range const range = tree_->points(q);
    ancestor of_all;
    float least = never_ends;
    for (index i = range.first; i < range.last; ++i) {
      for (label const j : in_sight(i)) of_all.include(clocks_->heap().leaf_of(j));
      least = std::min(least, left_of(i));
    }
    node_id const above = of_all.node();
    std::array<ancestor, 2> of_side;
    int shell = 0;
    for (index i = range.first; i < range.last; ++i) {
      for (label const j : in_sight(i)) {
        node_id const leaf = clocks_->heap().leaf_of(j);
        of_side[centroid_heap::is_right_of(leaf, above) ? 1 : 0].include(leaf);
      }
      shell = std::max<int>(shell, shells_[at(i)]);
    }
    std::array<clock_id, 2> clocks;
    for (std::size_t side = 0; side < 2; ++side)
      clocks[side] = of_side[side].any == 0 ? -1 : clocks_->of_node(of_side[side].node(), shell);
    set_waits(q, clocks, {least, least});
  }

  // q waits on these clocks for so many units; one of them may be none (-1), and the other stands for both.
  void set_waits(node_id q, std::array<clock_id, 2> const& clocks, std::array<float, 2> const& left) {
    for (std::size_t side = 0; side < 2; ++side) {
      std::size_t const from = clocks[side] < 0 ? 1 - side : side;
      nodes_[at(q)][side] = {clocks[from], clocks_->end_of_units(clocks[from], left[from])};
    }
  }

  // Leases for a point that is at most u from its owner: against its two rivals (itself for want of one), and
  // against all others, which are `gap` farther.
  void lease_against_rivals(index i, nearest_four const& found, double u) {
    label const j = found.first;
    auto const against = [&](std::size_t r, label rival, double d2) {
      rival = rival < 0 ? j : rival;
      points_[at(i)].rival[r] = rival;
      points_[at(i)].rival_end[r] =
          clocks_->end_between(j, rival, slack_.lease(u, std::min(slack_.lower(d2) - u, longest_lease)));
    };
    against(0, found.second, found.second2);
    against(1, found.third, found.third2);
  }
  void lease(index i, label j, double u, double gap) {
    auto const [shell, length] = choose(j, u, std::min(gap, longest_lease));
    points_[at(i)].end = clocks_->end(j, shell, slack_.lease(u, length));
    shells_[at(i)] = static_cast<std::uint8_t>(shell);
  }

  // The shell on which a lease lasts longest at the last rate: the first with room for all of the gap, or one
  // of the two before it, and the length of the lease.
  std::pair<int, double> choose(label j, double u, double gap) {
    constexpr int last = cluster_clocks::shells - 1;
    double const *const reaches = clocks_->reaches(j), *const rates = clocks_->rates(j);
    int wide = 0;
    for (int s = 0; s < last; ++s) wide += reaches[s] < 2 * u + gap ? 1 : 0;
    if (wide == last && gap < longest_lease) clocks_->want(j, 2 * u + gap);
    double best = gap, best_rate = rates[wide] + clocks_->least_rate(j);
    int shell = wide;
    for (int s = wide - 1; s >= std::max(0, wide - 2); --s) {
      double const length = slack_.down(reaches[s] - slack_.up(2 * u)),
                   rate = rates[s] + clocks_->least_rate(j);
      if (length * best_rate > best * rate) best = length, best_rate = rate, shell = s;
    }
    return {shell, best};
  }

  index n_;
  walks when_;
  bool leased_ = false;
  index filter_work_ = 0, walk_work_ = 0;
  index changed_ = 0, fewest_changes_ = std::numeric_limits<index>::max();
  // From the first walk on.
  std::optional<cluster_clocks> clocks_;
  std::optional<neighbour_lists> lists_;
  std::vector<double> margins_;      // of candidates, by centroid
  std::vector<point_state> points_;  // in tree order
  std::vector<std::uint8_t> shells_; // of their leases
  std::vector<node_state> nodes_;
};

} // namespace kopse

#include "frontier_looks.hpp"
