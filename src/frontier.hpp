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
//   3. looks again where a lease has ended: a point's four nearest centroids are searched in the tree on the
//      centroids, a node gets the candidates around its owner, as `filter` has them, and is owned by one of
//      them or hands them down;
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
// Memory, besides tree_step's: 21 bytes a point, 8 a node, and about 400 a cluster for clocks, none of it
// O(k²). Use it for large n and k in low dimension (d to about 8) and for runs to convergence; for a few
// iterations it is `filter`. docs/frontier.md has what was tried and left out.
#pragma once

#include "cluster_clocks.hpp"
#include "filter.hpp"
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
  // In scores of filter: what a point that changes owner stands for in a walk, from which a walk that comes
  // pays, and what a distance of a walk costs. Measured.
  static constexpr index scores_a_change = 8000, scores_a_distance = 6;

  struct point_state {
    float end = ended; // of the lease against all but the two, on the owner's clock
    std::array<float, 2> rival_end{ended, ended}; // of the ones against the two
    std::array<label, 2> rival{0, 0};             // the second and the third nearest, when they were found
  };
  // A node with one owner: its lease. One with several: until then no lease below it ends.
  struct node_state {
    clock_id clock = 0;
    float end = ended;
  };
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
  // What is left of the leases against the two, in units.
  float left_of_rivals(index i) const {
    point_state const& p = points_[at(i)];
    float const own = clocks_->travelled(this->point_owner(i));
    return std::min(p.rival_end[0] - (own + clocks_->travelled(p.rival[0])),
                    p.rival_end[1] - (own + clocks_->travelled(p.rival[1])));
  }

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
    if (!clocks_) clocks_.emplace(k_, tree_->dims(), unit());
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
    per_thread<walk> all([&] { return walk(*this, this->take_share(changes)); });
    for_branches(
        tree_->root(), threads_, [&](node_id q) { return tree_->points(q).size() <= this->branch_points(); },
        [&](node_id q, std::vector<node_id>& below) { all.lend([&](walk& w) { w.open(q, below); }); },
        [&](node_id q) { all.lend([&](walk& w) { w.visit(q); }); });
    finish(changes, all);
    walk_work_ = this->work_.distances * scores_a_distance + this->work_.node_scores;
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
    for (node_state& s : nodes_) s.end = clocks_->rebased(s.clock, s.end);
    clocks_->rebase();
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

  // A leaf waits for the lease with the least left, on the clock of a node that all owners and second nearest
  // are below: in an iteration that advances by twice the movement of each of them, at least.
  void wait_for_points(node_id q) {
    point_range const range = tree_->points(q);
    node_id common = -1, any = 0; // bits of the leaves of the centroids, which are all at one depth
    int shell = 0;
    float left = std::numeric_limits<float>::infinity();
    for (index i = range.first; i < range.last; ++i) {
      point_state const& p = points_[at(i)];
      for (label const j : {this->point_owner(i), p.rival[0], p.rival[1]}) {
        node_id const leaf = clocks_->heap().leaf_of(j);
        common &= leaf;
        any |= leaf;
      }
      shell = std::max<int>(shell, shells_[at(i)]);
      left = std::min(left, std::min(p.end - clocks_->reading(clock_of(i)), left_of_rivals(i)));
    }
    clock_id const clock =
        clocks_->of_node(common >> std::bit_width(static_cast<unsigned>(common ^ any)), shell);
    nodes_[at(q)] = {clock, clocks_->end_of_units(clock, left)};
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
  std::vector<double> margins_;      // of candidates, by centroid
  std::vector<point_state> points_;  // in tree order
  std::vector<std::uint8_t> shells_; // of their leases
  std::vector<node_state> nodes_;
};

// What one thread needs to look again.
template <class Tree> class frontier_step<Tree>::look {
public:
  typename base::share mine;
  std::vector<node_id> opened; // their children have been looked at by somebody

  look(frontier_step& step, typename base::share share)
      : mine(std::move(share)), step_(step), tree_(*step.tree_), clocks_(*step.clocks_), slack_(step.slack_),
        lists_(tree_, step.centroids_, slack_, &step.margins_), points_(tree_.dims()) {}

  void run(task const& t) { visit(t.node, lists_.load(*t.candidates, t.gap)); }

  // The node of the task alone; its children become tasks.
  void open(task const& t, std::vector<task>& below) {
    list const left = lists_.filter(t.node, lists_.load(*t.candidates, t.gap), mine.work);
    if (settle(t.node, left)) return;
    auto const candidates = std::make_shared<std::vector<label> const>(lists_.names(left));
    for (node_id const c : tree_.children(t.node)) below.push_back({c, candidates, left.gap});
    opened.push_back(t.node);
  }

protected:
  using lists = candidate_lists<Tree, least_largest>;
  using list = typename lists::list;
  using tile = point_tile<real>;

  void visit(node_id q, list const& all) {
    step_.check_stop();
    go_on(q, lists_.filter(q, all, mine.work));
  }
  // Gives all below q new leases.
  void go_on(node_id q, list const& left) {
    if (settle(q, left)) return;
    for (node_id const c : tree_.children(q)) visit(c, left);
    step_.wait_for_children(q);
  }

  bool settle(node_id q, list const& left) {
    if (left.m == 1) {
      own(q, lists_.name(left, 0), left);
      return true;
    }
    step_.hand_down(q);
    if (!step_.is_leaf(q)) return false;
    mine.work.distances += tree_.points(q).size() * left.m;
    point_range const range = tree_.points(q);
    for (index first = range.first; first < range.last; first += tile::most) {
      points_.clear();
      for (index i = first; i < std::min(range.last, first + tile::most); ++i) points_.add(tree_.point(i));
      nearest_rows const found = points_.nearest_four(lists_.coordinates(left), left.m, left.stride);
      for (index i = 0; i < points_.size(); ++i) look_at_point(first + i, i, found, left);
    }
    step_.wait_for_points(q);
    return true;
  }

  // All of q, its points at most u from j and `gap` farther from all others.
  void own(node_id q, label j, list const& left) {
    step_.give(mine.changes, q, j);
    double const u = slack_.upper(left.chosen2.hi);
    auto const [shell, length] = step_.choose(j, u, std::min(left.gap, longest_lease));
    step_.nodes_[at(q)] = {cluster_clocks::of(j, shell), clocks_.end(j, shell, slack_.lease(u, length))};
    ++mine.work[prune_rule::owned_node];
  }

  // Those not on the list are farther than the owner by its gap.
  void look_at_point(index i, index at, nearest_rows const& found, list const& left) {
    auto const name = [&](int r) { return lists_.name(left, static_cast<index>(found.who[r][at])); };
    settle_point(i,
                 {found.square[0][at], found.square[1][at], found.square[2][at], found.square[3][at], name(0),
                  name(1), name(2)},
                 left.gap);
  }
  // All centroids that were not looked at are at least `unseen` farther than the first.
  void settle_point(index i, nearest_four const& found, double unseen) {
    label const j = found.first;
    step_.give_point(mine.changes, i, j);
    double const u = slack_.upper(found.first2);
    step_.lease_against_rivals(i, found, u);
    step_.lease(i, j, u, std::min(slack_.lower(found.fourth2) - u, unseen));
  }

  frontier_step& step_;
  Tree const& tree_;
  cluster_clocks& clocks_;
  slack const& slack_;
  lists lists_;
  tile points_;
};

// What one thread needs to walk over the tree.
template <class Tree> class frontier_step<Tree>::walk : public look {
  using look::step_, look::tree_, look::clocks_, look::slack_, look::lists_, look::points_;
  using typename look::list;

public:
  using look::mine;
  walk(frontier_step& step, typename base::share share)
      : look(step, std::move(share)), copy_(at(tree_.dims())) {}

  void visit(node_id q) {
    if (quiet(q)) return;
    for (node_id const c : tree_.children(q)) visit(c);
    step_.wait_for_children(q);
  }

  // The node alone; its children are for others.
  void open(node_id q, std::vector<node_id>& below) {
    if (quiet(q)) return;
    for (node_id const c : tree_.children(q)) below.push_back(c);
    this->opened.push_back(q);
  }

private:
  // True if nothing has ended in q, or nothing any more; else it is for its children.
  bool quiet(node_id q) {
    node_state const& s = step_.nodes_[at(q)];
    if (clocks_.running(s.clock, s.end)) return true;
    step_.check_stop();
    if (label const j = step_.owner(q); j != base::several)
      look_around(q, j);
    else if (!step_.is_leaf(q))
      return false;
    else
      look_at_points(q);
    return true;
  }

  // New leases for q, with the candidates around a centroid j that is no farther than u from all of it: those
  // that a point of q is nearer to than u and the margin are within 2·u and the margin.
  void look_around(node_id q, label j) {
    double const* const c = step_.centroids_.row(j);
    double const u = slack_.upper(tree_.distance(q, c).hi), margin = step_.margins_[at(j)];
    candidates_.clear();
    clocks_.heap().for_each_within(
        c, slack_.squared(2 * u + margin), [&](label i, double) { candidates_.push_back(i); },
        mine.work.distances);
    list const all = lists_.load(candidates_, slack_.down(margin));
    list const left = lists_.filter(q, all, mine.work);
    lists_.sort(left); // a tree has its own order
    this->go_on(q, left);
  }

  void look_at_points(node_id q) {
    point_range const range = tree_.points(q);
    for (index i = range.first; i < range.last; ++i) {
      if (!clocks_.running(step_.clock_of(i), step_.points_[at(i)].end))
        search(i);
      else if (!(step_.left_of_rivals(i) > 0))
        look_at_rivals(i);
    }
    step_.wait_for_points(q);
  }

  // The nearest of all, by the tree on the centroids.
  void search(index i) {
    std::copy_n(tree_.point(i), tree_.dims(), copy_.begin());
    node_id const near = clocks_.heap().leaf_of(step_.point_owner(i));
    this->settle_point(i, find_nearest_four(clocks_.heap(), copy_.data(), near, mine.work.distances), never);
  }

  // The lease against all but the two runs: one of the three is the owner.
  void look_at_rivals(index i) {
    point_state const p = step_.points_[at(i)];
    label const before = step_.point_owner(i);
    nearest_four found;
    double const before2 = square(tree_.point(i), step_.centroids_.row(before), tree_.dims());
    found.offer(before, before2);
    for (label const rival : p.rival)
      if (rival != before)
        found.offer(rival, square(tree_.point(i), step_.centroids_.row(rival), tree_.dims()));
    mine.work.distances += 3;
    ++mine.work[prune_rule::point_bounds];
    label const j = found.first;
    double const u = slack_.upper(found.first2), left = clocks_.left(step_.clock_of(i), p.end);
    step_.give_point(mine.changes, i, j);
    step_.lease_against_rivals(i, found, u);
    // Safe: all others were farther than the old owner by what is left, and the new one is nearer than that
    // by the difference.
    if (j != before) step_.lease(i, j, u, slack_.down(left + (slack_.lower(before2) - u)));
  }

  std::vector<double> copy_; // of a point
  std::vector<label> candidates_;
};

} // namespace kopse
