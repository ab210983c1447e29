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
//   3. looks at what is left: a point's distances to its owner and to the owner's neighbours, from a list
//   that
//      is kept (neighbour_lists.hpp), give its new owner and leases; a node whose lease ended gets another by
//      bisectors with the neighbours, or hands its owner down;
//   4. moves the sums of what changed owner.
// A point has two leases. The one against its second nearest centroid ends when the two have travelled far
// enough together; the one against all others runs on its owner's clock, and much longer. If only the first
// has ended, two distances settle who of the two owns it: should they swap, all others are farther than the
// new owner by what is left of the second lease and the difference of the two.
//
// The first assignment, and every one before most leases would last, are made by `filter`, which gives no
// leases: they are all found in the first walk. What decides is counted work, never time.
//
// Memory, besides tree_step's: 13 bytes a point, 8 a node, and about 1000 a cluster for clocks and lists,
// none of it O(k²). Use it for large n and k in low dimension (d to about 8) and for runs to convergence; for
// a few iterations it is `filter`. docs/frontier.md has what was tried and left out.
#pragma once

#include "filter.hpp"
#include "neighbour_lists.hpp"
#include "squares.hpp"

namespace kopse {

template <class Tree> class frontier_step final : public filter_step<Tree> {
  using base = filter_step<Tree>;
  using base::centroids_, base::k_, base::threads_, base::tree_;

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
    cluster_sums changes = this->begin(centroids);
    ++iteration_;
    if (leased_) {
      clocks_->advance(centroids_, this->drift_, threads_, this->work_.distances);
      leased_ = walk_pays();
    }
    if (leased_) {
      walk_all(changes);
    } else if (!this->first_ && (when_ == walks::always || changed_ * filter_units_a_change < filter_work_)) {
      start();
      walk_all(changes);
      looked_at_ = 0; // all of it, this once
    } else {
      this->assign_all(changes);
      filter_work_ = this->work_.distances + this->work_.node_scores;
    }
    changed_ = changes.labels_changed;
    return changes;
  }

private:
  using clock_id = cluster_clocks::clock_id;
  static constexpr float ended = cluster_clocks::ended;
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double longest_lease = 1e300;
  // A distance or score of filter is a unit: what a point that changes owner stands for in a walk, from which
  // a walk that comes pays, and what a point looked at costs.
  static constexpr index filter_units_a_change = 200, filter_units_a_look = 20;

  struct point_state {
    float end = ended;      // of the lease against all others, on the clock of the owner and shell
    float pair_end = ended; // of the one against the second nearest
    label other = 0;        // the second nearest
  };
  // A node with one owner: its lease. One with several: until then no lease below it ends.
  struct node_state {
    clock_id clock = 0;
    float end = ended;
  };
  class walk;

  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  clock_id clock_of(index i) const { return cluster_clocks::of(this->point_owner(i), shells_[at(i)]); }
  float pair_reading(index i) const {
    return clocks_->travelled(this->point_owner(i)) + clocks_->travelled(points_[at(i)].other);
  }

  // Not where the last one looked at so much that filter would have been faster, nor where most centroids
  // leapt.
  bool walk_pays() const {
    return when_ == walks::always
           || (looked_at_ * filter_units_a_look < filter_work_ && clocks_->leapt() <= k_ / 2);
  }

  void start() {
    leased_ = true;
    if (!clocks_) {
      clocks_.emplace(k_, tree_->dims(), unit());
      lists_.emplace(k_, tree_->dims());
    }
    clocks_->start(centroids_, this->drift_, threads_, this->work_.distances);
    lists_->forget();
    points_.assign(at(n_), {});
    shells_.assign(at(n_), 0);
    nodes_.assign(at(tree_->node_count()), {});
  }
  double unit() const {
    double const extent = std::sqrt(tree_->extent(tree_->root()));
    return extent > 0 && extent < never ? std::ldexp(1, std::ilogb(extent)) : 1;
  }

  void walk_all(cluster_sums& changes) {
    if (clocks_->run_long()) rebase();
    per_thread<walk> all([&] { return walk(*this, this->take_share(changes)); });
    for_branches(
        tree_->root(), threads_, [&](node_id q) { return tree_->points(q).size() <= this->branch_points(); },
        [&](node_id q, std::vector<node_id>& below) { all.lend([&](walk& w) { w.open(q, below); }); },
        [&](node_id q) { all.lend([&](walk& w) { w.visit(q); }); });
    looked_at_ = 0;
    std::vector<node_id> opened;
    all.for_each([&](walk& w) {
      this->merge(changes, w.mine);
      looked_at_ += w.looked_at;
      opened.insert(opened.end(), w.opened.begin(), w.opened.end());
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
        p.pair_end = clocks_->rebased_between(j, p.other, p.pair_end);
      }
    });
    for (node_state& s : nodes_) s.end = clocks_->rebased(s.clock, s.end);
    clocks_->rebase();
    lists_->forget();
  }

  void wait_for_children(node_id q) {
    clock_id clock = -1;
    float left = std::numeric_limits<float>::infinity();
    for (node_id const c : tree_->children(q)) {
      node_state const& s = nodes_[at(c)];
      clock = clock < 0 ? s.clock : clocks_->slower_than_neither(clock, s.clock);
      left = std::min(left, s.end - clocks_->reading(s.clock));
    }
    nodes_[at(q)] = {clock, clocks_->end_of_units(clock, left)};
  }

  index n_, iteration_ = 0;
  walks when_;
  bool leased_ = false;
  index filter_work_ = 0, changed_ = 0, looked_at_ = 0;
  // From the first walk on.
  std::optional<cluster_clocks> clocks_;
  std::optional<neighbour_lists> lists_;
  std::vector<point_state> points_;  // in tree order
  std::vector<std::uint8_t> shells_; // of their leases
  std::vector<node_state> nodes_;
};

// What one thread needs to visit nodes.
template <class Tree> class frontier_step<Tree>::walk {
public:
  typename base::share mine;
  index looked_at = 0;
  std::vector<node_id> opened; // their children have been visited by somebody

  walk(frontier_step& step, typename base::share share)
      : mine(std::move(share)), step_(step), tree_(*step.tree_), clocks_(*step.clocks_), slack_(step.slack_),
        views_(static_cast<std::size_t>(std::clamp<index>(32768 / tree_.dims(), 4, 256))),
        copy_(at(tree_.dims())) {}

  void visit(node_id q) {
    if (quiet(q)) return;
    if (step_.is_leaf(q)) return look_at_leaf(q);
    for (node_id const c : tree_.children(q)) visit(c);
    step_.wait_for_children(q);
  }

  // The node alone; its children are for others.
  void open(node_id q, std::vector<node_id>& below) {
    if (quiet(q)) return;
    if (step_.is_leaf(q)) return look_at_leaf(q);
    for (node_id const c : tree_.children(q)) below.push_back(c);
    opened.push_back(q);
  }

private:
  using view = neighbour_lists::view;
  static constexpr index width = neighbour_lists::width;
  struct ended_lease {
    index point;
    bool of_pair_alone;
  };

  // True if nothing has ended in q, or nothing any more; else it has several owners.
  bool quiet(node_id q) {
    node_state const& s = step_.nodes_[at(q)];
    if (clocks_.running(s.clock, s.end)) return true;
    if (step_.owner(q) == base::several) return false;
    if (look_at_node(q)) return true;
    step_.hand_down(q);
    for (node_id const c : tree_.children(q)) step_.nodes_[at(c)] = {};
    if (step_.is_leaf(q))
      for (index i = tree_.points(q).first; i < tree_.points(q).last; ++i) step_.points_[at(i)] = {};
    return false;
  }

  // Neighbours of j, from what was used last if it can be.
  view& list_of(label j) {
    view& v = views_[static_cast<std::size_t>(j) % views_.size()];
    if (v.owner != j || v.iteration != step_.iteration_)
      step_.lists_->fetch(j, step_.iteration_, step_.centroids_, clocks_, v, mine.work.distances);
    return v;
  }

  // A new lease for a node and its owner, if there is any: the gap to a rival is, at every point p of the
  // node, (d²(p, rival) − d²(p, owner)) / (d(p, rival) + d(p, owner)), the lower side by the bisector, the
  // upper one at most d(owner, rival) + 2·u.
  bool look_at_node(node_id q) {
    label const j = step_.owner(q);
    double const* const c = step_.centroids_.row(j);
    double const hi2 = tree_.distance(q, c).hi, u = slack_.upper(hi2);
    view const& list = list_of(j);
    ++mine.work.node_scores;
    double gap = std::min(list.beyond() - 2 * u, longest_lease);
    for (index m = 0; m < list.size() && gap > 0; ++m) {
      if (list.away(m) - 2 * u >= gap) break; // nor is any behind it nearer by more
      double const* const rival = step_.centroids_.row(list.who(m));
      ++mine.work.node_scores;
      double const ahead = lead(tree_, q, c, rival, hi2);
      if (!(ahead > 0)) return false;
      double const apart = slack_.upper(square(rival, c, tree_.dims()));
      gap = std::min(gap, slack_.down(ahead / slack_.up(apart + 2 * u)));
    }
    if (!(gap > 0)) return false;
    auto const [shell, length] = choose(j, u, gap);
    clock_id const clock = cluster_clocks::of(j, shell);
    float const end = clocks_.end(j, shell, slack_.lease(u, length));
    if (!clocks_.running(clock, end)) return false;
    step_.nodes_[at(q)] = {clock, end};
    ++mine.work[prune_rule::owned_node];
    return true;
  }

  void look_at_leaf(node_id q) {
    step_.check_stop();
    point_range const range = tree_.points(q);
    // Which leases have ended; their points are on the way from memory while the rest is gone through.
    ended_.clear();
    for (index i = range.first; i < range.last; ++i) {
      point_state const& p = step_.points_[at(i)];
      bool const all = clocks_.running(step_.clock_of(i), p.end), pair = step_.pair_reading(i) < p.pair_end;
      if (all & pair) continue;
      __builtin_prefetch(tree_.point(i));
      ended_.push_back({i, all});
    }
    for (ended_lease const& e : ended_)
      if (e.of_pair_alone)
        look_at_pair(e.point);
      else
        look_at_point(e.point);
    wait_for_points(q, range);
  }

  // The node waits for the lease with the least left, on the clock of a node that all owners and second
  // nearest are below: in an iteration that advances by twice the movement of each of them, at least.
  void wait_for_points(node_id q, point_range range) {
    node_id common = -1, any = 0; // bits of the leaves of the centroids, which are all at one depth
    int shell = 0;
    float left = std::numeric_limits<float>::infinity();
    for (index i = range.first; i < range.last; ++i) {
      point_state const& p = step_.points_[at(i)];
      node_id const leaf = clocks_.heap().leaf_of(step_.point_owner(i)),
                    other = clocks_.heap().leaf_of(p.other);
      common &= leaf & other;
      any |= leaf | other;
      shell = std::max<int>(shell, step_.shells_[at(i)]);
      left = std::min(
          left, std::min(p.end - clocks_.reading(step_.clock_of(i)), p.pair_end - step_.pair_reading(i)));
    }
    clock_id const clock =
        clocks_.of_node(common >> std::bit_width(static_cast<unsigned>(common ^ any)), shell);
    step_.nodes_[at(q)] = {clock, clocks_.end_of_units(clock, left)};
  }

  // The lease against all but the second nearest runs: one of the two is the owner.
  void look_at_pair(index i) {
    point_state& p = step_.points_[at(i)];
    label const j = step_.point_owner(i), other = p.other;
    real const* const x = tree_.point(i);
    double const own2 = square(x, step_.centroids_.row(j), tree_.dims()),
                 other2 = square(x, step_.centroids_.row(other), tree_.dims());
    mine.work.distances += 2;
    ++mine.work[prune_rule::point_bounds];
    if (own2 < other2 || (own2 == other2 && j <= other)) {
      double const u = slack_.upper(own2);
      p.pair_end = clocks_.end_between(j, other, slack_.lease(u, slack_.lower(other2) - u));
      return;
    }
    double const left = clocks_.left(step_.clock_of(i), p.end), u = slack_.upper(other2),
                 ahead = slack_.lower(own2) - u;
    step_.give_point(mine.changes, i, other);
    p.other = j;
    lease(i, other, u, ahead, slack_.down(left + ahead));
  }

  // Distances to the owner and its neighbours, nearest first, until the rest cannot matter.
  void look_at_point(index i) {
    ++looked_at;
    label const j = step_.point_owner(i);
    real const* const x = tree_.point(i);
    index const d = tree_.dims();
    view& list = list_of(j);
    double const own2 = square(x, step_.centroids_.row(j), d), u = slack_.upper(own2);
    double squares[neighbour_lists::most], first[width], second[width]; // the least two of each lane
    std::fill_n(first, width, never);
    std::fill_n(second, width, never);
    double farther_of_two2 = never; // of the owner and the nearest other so far
    // Safe: who is at least r from the owner is at least r − u from the point.
    auto const beyond = [&](double r) { return slack_.squared_down(r - u) > farther_of_two2; };
    index seen = 0;
    for (; seen < list.size() && !beyond(list.away(seen)); seen += width) {
      double* const eight = squares + seen;
      eight_squares(x, d, list.eight(seen, step_.centroids_), width, eight);
      double least = never;
      for (index m = 0; m < width; ++m) {
        second[m] = std::min(second[m], std::max(first[m], eight[m]));
        first[m] = std::min(first[m], eight[m]);
      }
      for (index m = 0; m < width; ++m) least = std::min(least, first[m]);
      farther_of_two2 = std::max(own2, least);
    }
    bool const settled = seen < list.size() || beyond(list.beyond());
    index const count = std::min(seen, list.size());
    mine.work.distances += 1 + count;
    double const unseen = slack_.down((seen < list.size() ? list.away(seen) : list.beyond()) - u);
    double least = never, next = never;
    for (index m = 0; m < width; ++m) {
      next = std::min(next, std::min(second[m], std::max(least, first[m])));
      least = std::min(least, first[m]);
    }
    if (settled && own2 < least) { // nearly always
      index const m = std::find(squares, squares + count, least) - squares;
      step_.points_[at(i)].other = m < count ? list.who(m) : j;
      lease(i, j, u, slack_.lower(least) - u, std::min(slack_.lower(next), unseen) - u);
      return;
    }
    nearest_three found;
    found.offer(j, own2);
    for (index m = 0; m < count; ++m) found.offer(list.who(m), squares[m]);
    if (settled)
      settle(i, found, unseen);
    else
      search(i, x, found.third2);
  }

  // By the tree on the centroids, from the point itself: its owner has too few neighbours on its list.
  // The third nearest is no farther than that.
  void search(index i, real const* x, double third2) {
    std::copy(x, x + tree_.dims(), copy_.begin());
    nearest_three found;
    clocks_.heap().for_each_near(
        copy_.data(), [&] { return std::min(third2, found.third2); },
        [&](label j, double d2) { found.offer(j, d2); }, mine.work.distances);
    settle(i, found, never);
  }

  struct nearest_three {
    double first2 = never, second2 = never, third2 = never;
    label first = -1, second = -1;
    void offer(label j, double d2) {
      if (d2 < first2 || (d2 == first2 && j < first)) {
        third2 = second2, second2 = first2, second = first;
        first2 = d2, first = j;
      } else if (d2 < second2) {
        third2 = second2, second2 = d2, second = j;
      } else {
        third2 = std::min(third2, d2);
      }
    }
  };
  // All centroids that were not offered are at least `unseen` away.
  void settle(index i, nearest_three const& found, double unseen) {
    step_.give_point(mine.changes, i, found.first);
    step_.points_[at(i)].other = found.second < 0 ? found.first : found.second;
    double const u = slack_.upper(found.first2);
    lease(i, found.first, u, slack_.lower(found.second2) - u,
          std::min(slack_.lower(found.third2), unseen) - u);
  }

  // Leases for a point that is at most u from its owner j: its second nearest is `gap` farther, all others
  // gap_of_others.
  void lease(index i, label j, double u, double gap, double gap_of_others) {
    point_state& p = step_.points_[at(i)];
    p.pair_end = clocks_.end_between(j, p.other, slack_.lease(u, std::min(gap, longest_lease)));
    auto const [shell, length] = choose(j, u, std::min(gap_of_others, longest_lease));
    p.end = clocks_.end(j, shell, slack_.lease(u, length));
    step_.shells_[at(i)] = static_cast<std::uint8_t>(shell);
  }

  // The shell on which a lease lasts longest at the last rate: the first with room for all of the gap, or one
  // of the two before it, and the length of the lease.
  std::pair<int, double> choose(label j, double u, double gap) {
    constexpr int last = cluster_clocks::shells - 1;
    double const *const reaches = clocks_.reaches(j), *const rates = clocks_.rates(j);
    int wide = 0;
    for (int s = 0; s < last; ++s) wide += reaches[s] < 2 * u + gap ? 1 : 0;
    if (wide == last && gap < longest_lease) clocks_.want(j, 2 * u + gap);
    double best = gap, best_rate = rates[wide] + clocks_.least_rate(j);
    int shell = wide;
    for (int s = wide - 1; s >= std::max(0, wide - 2); --s) {
      double const length = slack_.down(reaches[s] - slack_.up(2 * u)),
                   rate = rates[s] + clocks_.least_rate(j);
      if (length * best_rate > best * rate) best = length, best_rate = rate, shell = s;
    }
    return {shell, best};
  }

  frontier_step& step_;
  Tree const& tree_;
  cluster_clocks& clocks_;
  slack const& slack_;
  std::vector<view> views_; // by label, the last one
  std::vector<ended_lease> ended_;
  std::vector<double> copy_;
};

} // namespace kopse
