// SPDX-License-Identifier: BSD-3-Clause
// `dualtree`: dual-tree k-means over any space_tree.
//
// R. R. Curtin, "Dual-tree k-means with bounded iteration runtime" (arXiv:1601.03754, 2016), Algorithms 1 to
// 6, with the corrections listed in docs/algorithm.md. A tree on the points (the query tree) is traversed
// with a tree on the centroids (the reference tree, built anew in every iteration); many centroids are ruled
// out for many points at once.
//
// Kept for a node N between iterations: its owner, if one cluster owns all its points (the paper's pruned(N)
// = k − 1), else the last `closest`; ub(N) >= d(p, owner) and lb(N) <= d(p, any other centroid) for every
// point p of N. The same for each point of a leaf with several owners. The highest owned nodes and those
// points are all that an iteration touches: what lies below an owned node is told its owner and bounds only
// when the node stops being owned.
//
// Past the paper, with `bisector`: that rule (rescore); lists of candidates below small nodes (base_cases);
// points that bounds do not settle go without them (update_points), screened many at once (visit_below).
// docs/algorithm.md says what they bring.
//
// Cost: O(N + k log k) an iteration under the paper's assumptions, far less when little moves. Memory: 24
// bytes a point and, a node, 30 bytes and its exact sum, besides the tree. Use it for large n and k in low
// dimension (d to about 8).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "kopse/candidate_lists.hpp"
#include "kopse/dual_tree.hpp"
#include "kopse/tree/neighbours.hpp"
#include "kopse/tree_step.hpp"

namespace kopse {

template <space_tree Tree> class dual_tree_step final : public tree_step<Tree> {
  using base = tree_step<Tree>;
  using base::centroids_, base::drift_, base::k_, base::slack_, base::tree_, base::several, base::threads_;

public:
  using real = typename Tree::real;
  using reference_tree = typename Tree::reference;

  /// The tree is on points.rows. `bisector`: with what goes past the paper; false: its rules alone.
  /// 0 threads: as many as there are.
  dual_tree_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
                 std::atomic<bool> const* stop = nullptr, bool bisector = true, int threads = 1)
      : base(std::move(tree), points, layout, k, stop, threads), bisector_(bisector),
        nodes_(static_cast<std::size_t>(tree_->node_count())),
        points_(static_cast<std::size_t>(points.size())), rest_(nodes_.size()) {
    at(tree_->root()) = {0, 0, -1, tree_->root()};
  }

  // Algorithm 1, one iteration of it.
  cluster_sums assign(matrix_view<double> centroids) override {
    worker_scope const workers;
    cluster_sums changes = this->begin(centroids);
    reference_tree const reference(centroids, 1);
    reference_ = &reference;
    half_gap_.assign(static_cast<std::size_t>(k_), -1);
    per_thread<walk> walks([&] { return walk(*this, this->take_share(changes)); });
    if (this->first_ || update_tree(walks))
      traverse(walks, *tree_, reference, this->branch_points(), threads_);
    walks.for_each([&](walk& w) { this->merge(changes, w.mine); });
    return changes;
  }

private:
  static constexpr node_id unchanging = no_node; // canchange is false

  // ub and lb bound true distances; they are valid where the node has one owner, for the centroids last seen.
  struct node_state {
    double upper, lower;
    label closest; // the centroid that gave the upper bound; -1 before there is one
    node_id next;  // the coalesced view: the node to visit in place of this one, or `unchanging`
  };
  struct point_state {
    double upper, lower;
    bool can_change;
  };
  class walk;

  node_state& at(node_id q) { return nodes_[static_cast<std::size_t>(q)]; }
  node_state const& at(node_id q) const { return nodes_[static_cast<std::size_t>(q)]; }
  point_state& point_at(index position) { return points_[static_cast<std::size_t>(position)]; }
  // For how many iterations more the points of a leaf have no bounds and are not tested.
  struct rest {
    std::uint8_t left = 0, whole = 0;
  };
  rest& rest_at(node_id leaf) { return rest_[static_cast<std::size_t>(leaf)]; }

  bool update_tree(per_thread<walk>& walks);
  template <class State> void shift(State& state, label owner) {
    state.upper = slack_.up(state.upper + drift_[owner]); // strategy four
    state.lower = slack_.down(state.lower - drift_.largest_but(owner));
  }

  bool bisector_;
  std::vector<node_state> nodes_;
  std::vector<point_state> points_; // in tree order
  std::vector<rest> rest_;          // by node

  // Of the iteration in hand.
  reference_tree const* reference_ = nullptr;
  std::vector<double> half_gap_; // half the distance to the nearest other centroid; -1: not asked for yet
};

// What one thread of an iteration needs: the rules of the traversal (dual_tree.hpp), and UpdateTree. All that
// is kept is by node and by point, so any number of them may be at work, each in subtrees of its own.
template <space_tree Tree> class dual_tree_step<Tree>::walk {
  // What the traversal knows of a node on the way to the current one. Squares are of computed distances.
  struct frame {
    double upper2 = std::numeric_limits<double>::infinity(), lower2 = upper2;
    index pruned = 0;
    label closest = -1;
  };

public:
  typename base::share mine;

  walk(dual_tree_step& step, typename base::share share)
      : mine(std::move(share)), step_(step), tree_(*step.tree_), reference_(*step.reference_),
        centroids_(step.centroids_), lists_(tree_, centroids_, step.slack_), points_(tree_.dims()) {}

  bool update_tree(node_id q);
  template <class Below> bool coalesce(node_id q, Below const& below);

  node_id stand_in(node_id q) const { return step_.at(q).next; }
  frame known() const { return path_.back(); }
  void resume(frame const& above) { path_.assign(1, above); }
  void enter(node_id q);
  double score(node_id q, node_id r);
  double rescore(node_id q, node_id r, double lo2);
  bool descend(node_id q);
  bool base_cases(node_id q, scored_node const* first, scored_node const* last);
  void leave(node_id q);

private:
  bool too_far(node_id r, double lo2);
  void prune(node_id r, double lo2, prune_rule rule);
  double half_gap(label j);
  bool settle_by_bounds(double upper, double& lower, label owner, prune_rule gap, prune_rule bounds);
  bool test_node(node_id q);
  bool test_point(index position);
  void hand_down_bounds(node_id q);
  void give(node_id q, label owner, double upper2, double lower2);

  using list = typename candidate_lists<Tree, least_largest>::list;
  using tile = point_tile<real>;
  void visit_list(node_id q, list const& all);
  void visit_below(node_id q, list const& left, index before);
  void visit_points(node_id q, list const& left, bool bounds);
  bool rests(node_id q) const;
  void give_with_bounds(list const& left);
  bool update_points(node_id leaf);
  static constexpr index settled_share = 4; // one in so many must be
  static constexpr int longest_rest = 15;
  static constexpr index centroids_a_reference = 24;

  dual_tree_step& step_;
  Tree const& tree_;
  reference_tree const& reference_;
  matrix<double> const& centroids_;
  std::vector<frame> path_{frame{}}; // of the nodes entered and not left, above them what is known
  std::vector<label> candidates_;
  candidate_lists<Tree, least_largest> lists_;
  tile points_;                             // of a leaf
  std::array<index, tile::most> positions_; // theirs
};

// ---- UpdateTree: strategies three and four

// Half the distance of centroid j to the nearest other centroid, after the move, by the reference tree. Two
// threads may look for it at once; what it took is counted once.
template <space_tree Tree> double dual_tree_step<Tree>::walk::half_gap(label j) {
  std::atomic_ref<double> const gap(step_.half_gap_[static_cast<std::size_t>(j)]);
  double known = gap.load(std::memory_order_relaxed);
  if (known >= 0) return known;
  index distances = 0;
  double const d2 = nearest_other(reference_, centroids_.row(j), j, distances);
  double const found = std::max(0.0, step_.slack_.lower(d2) / 2);
  if (gap.compare_exchange_strong(known, found, std::memory_order_relaxed)) mine.work.distances += distances;
  return found;
}

// Algorithm 5 (UpdateTree) over the nodes that are not below an owned one, and Algorithm 6 (CoalesceTree) as
// it returns: an unchanging child is left out of the view, a node with one child left is passed over. Returns
// canchange(q).
template <space_tree Tree> bool dual_tree_step<Tree>::walk::update_tree(node_id q) {
  node_state& state = step_.at(q);
  if (label const owner = step_.owner(q); owner != several) {
    step_.shift(state, owner);
    return test_node(q);
  }
  if (!step_.is_leaf(q)) return coalesce(q, [&](node_id c) { return update_tree(c); });
  bool const any = update_points(q);
  state.next = any ? q : unchanging;
  return any;
}

// Past the paper: where bounds settle too few points of a leaf to pay for them (a second nearest centroid,
// two roots, a test), its points go without, after each failure for longer. Returns canchange of any of them.
template <space_tree Tree> bool dual_tree_step<Tree>::walk::update_points(node_id leaf) {
  point_range const range = tree_.points(leaf);
  rest& r = step_.rest_at(leaf);
  if (r.left > 0) {
    --r.left;
    for (index i = range.first; i < range.last; ++i) step_.point_at(i).can_change = true;
    return true;
  }
  index changing = 0;
  for (index i = range.first; i < range.last; ++i) {
    step_.shift(step_.point_at(i), step_.point_owner(i));
    changing += test_point(i);
  }
  if (step_.bisector_) {
    bool const pays = (range.size() - changing) * settled_share >= range.size();
    int const next = changing == range.size() ? longest_rest : std::min(4 * r.whole + 3, longest_rest);
    r.whole = static_cast<std::uint8_t>(pays ? 0 : next);
    r.left = r.whole;
  }
  return changing > 0;
}

// What a node with several owners takes over from its children; below(c) is whether child c can change.
template <space_tree Tree>
template <class Below>
bool dual_tree_step<Tree>::walk::coalesce(node_id q, Below const& below) {
  int changing = 0;
  node_id only = q;
  for (node_id const c : tree_.children(q))
    if (below(c)) ++changing, only = step_.at(c).next;
  node_id const shown = changing == 1 && q != tree_.root() ? only : q;
  step_.at(q).next = changing > 0 ? shown : unchanging;
  return changing > 0;
}

// The same for the whole tree: the small nodes and the owned ones on all threads, then what is above them.
template <space_tree Tree> bool dual_tree_step<Tree>::update_tree(per_thread<walk>& walks) {
  auto const whole = [&](node_id q) {
    return this->owner(q) != several || tree_->points(q).size() <= this->branch_points() || this->is_leaf(q);
  };
  std::vector<node_id> nodes;
  auto const collect = [&](auto const& self, node_id q) -> void {
    if (whole(q)) return nodes.push_back(q);
    for (node_id const c : tree_->children(q)) self(self, c);
  };
  collect(collect, tree_->root());
  for_blocks(std::ssize(nodes), 1, threads_, walks,
             [&](walk& w, index i, index) { w.update_tree(nodes[static_cast<std::size_t>(i)]); });
  auto const combine = [&](auto const& self, walk& w, node_id q) -> bool {
    if (whole(q)) return at(q).next != unchanging;
    return w.coalesce(q, [&](node_id c) { return self(self, w, c); });
  };
  bool any = false;
  walks.lend([&](walk& w) { any = combine(combine, w, tree_->root()); });
  return any;
}

// Strategy three, for bounds that hold for the moved centroids: the owner stays when ub < lb (first rule) or
// when ub < half the way to the nearest other centroid (Elkan's; then every other one is at least that far).
template <space_tree Tree>
bool dual_tree_step<Tree>::walk::settle_by_bounds(double upper, double& lower, label owner, prune_rule gap,
                                                  prune_rule bounds) {
  if (step_.slack_.nearer(upper, lower)) {
    ++mine.work[bounds];
    return true;
  }
  double const half = half_gap(owner);
  if (!step_.slack_.nearer(upper, half)) return false;
  lower = std::max(lower, half);
  ++mine.work[gap];
  return true;
}

// Returns canchange(q) of an owned node, with its upper bound tightened by d_max if need be (line 21).
template <space_tree Tree> bool dual_tree_step<Tree>::walk::test_node(node_id q) {
  node_state& state = step_.at(q);
  label const owner = step_.owner(q);
  auto const settled = [&] {
    return settle_by_bounds(state.upper, state.lower, owner, prune_rule::static_node_gap,
                            prune_rule::static_node_bounds);
  };
  state.next = unchanging;
  if (settled()) return false;
  ++mine.work.node_scores;
  state.upper = std::min(state.upper, step_.slack_.upper(tree_.distance(q, centroids_.row(owner)).hi));
  if (settled()) return false;
  state.next = q;
  return true;
}

template <space_tree Tree> bool dual_tree_step<Tree>::walk::test_point(index position) {
  point_state& p = step_.point_at(position);
  label const owner = step_.point_owner(position);
  auto const settled = [&] {
    return settle_by_bounds(p.upper, p.lower, owner, prune_rule::static_point_gap,
                            prune_rule::static_point_bounds);
  };
  p.can_change = false;
  if (settled()) return false;
  ++mine.work.distances;
  p.upper = step_.slack_.upper(squared_distance(tree_.point(position), centroids_.row(owner), tree_.dims()));
  if (settled()) return false;
  p.can_change = true;
  return true;
}

// q was owned and is no longer sure to be: its children, or points, take over its owner and its bounds (which
// update_tree has shifted once, whether or not q could change) and are tested in its place.
template <space_tree Tree> void dual_tree_step<Tree>::walk::hand_down_bounds(node_id q) {
  if (step_.owner(q) == several) return;
  step_.hand_down(q);
  node_state const& state = step_.at(q);
  for (node_id const c : tree_.children(q)) {
    step_.at(c) = {state.upper, state.lower, state.closest, c};
    if (!step_.first_) test_node(c);
  }
  if (!step_.is_leaf(q)) return;
  point_range const range = tree_.points(q);
  for (index i = range.first; i < range.last; ++i) {
    step_.point_at(i) = {state.upper, state.lower, true};
    if (!step_.first_) test_point(i);
  }
}

// ---- Score and BaseCase: strategies one and two

// Lines 4 to 6 of Score: what is known of the parent (the last node entered and not left) holds for the
// child. The carried bound of strategy four is the carried `closest`: d_max to it, for the moved centroids,
// is never above the shifted bound.
template <space_tree Tree> void dual_tree_step<Tree>::walk::enter(node_id q) {
  frame f = path_.back();
  label const closest = step_.at(q).closest >= 0 ? step_.at(q).closest : f.closest;
  if (closest >= 0) {
    ++mine.work.node_scores;
    double const hi = tree_.distance(q, centroids_.row(closest)).hi;
    if (hi < f.upper2) f.upper2 = hi, f.closest = closest;
  }
  path_.push_back(f);
  step_.check_stop();
}

template <space_tree Tree> double dual_tree_step<Tree>::walk::score(node_id q, node_id r) {
  frame& f = path_.back();
  ++mine.work.node_scores;
  interval const d2 = tree_.distance(q, reference_, r);
  if (too_far(r, d2.lo)) return pruned_score;
  // Lines 17 to 20: some centroid of r may give a smaller upper bound.
  point_range const range = reference_.points(r);
  index const some = (range.first + range.last) / 2;
  double const hi = range.size() == 1 ? d2.hi : tree_.distance(q, reference_.point(some)).hi;
  if (hi < f.upper2) {
    f.upper2 = hi;
    f.closest = static_cast<label>(reference_.row(some));
  }
  return d2.lo;
}

// Strategy one, equation 2: d_min(q, r) > ub(q): no centroid of r owns a point of q. Strict, so that ties are
// evaluated. The centroid that gave ub is never in such an r: its own distances are between d_min and ub.
template <space_tree Tree> bool dual_tree_step<Tree>::walk::too_far(node_id r, double lo2) {
  frame& f = path_.back();
  if (!(lo2 > f.upper2)) return false;
  prune(r, lo2, prune_rule::score);
  return true;
}

// Past the paper: a single centroid that is nowhere in q as near as `closest` (on the far side of their
// bisector) owns nothing there, however near it comes. `closest` itself is never nearer than itself.
template <space_tree Tree> double dual_tree_step<Tree>::walk::rescore(node_id q, node_id r, double lo2) {
  if (too_far(r, lo2)) return pruned_score;
  if (!step_.bisector_ || reference_.points(r).size() != 1) return lo2;
  frame const& f = path_.back();
  index const c = reference_.row(reference_.points(r).first);
  if (c == f.closest) return lo2;
  ++mine.work.node_scores;
  if (!dominates(tree_, q, centroids_.row(f.closest), centroids_.row(c), f.upper2)) return lo2;
  prune(r, lo2, prune_rule::bisector);
  return pruned_score;
}

// Lines 12 to 16 of Score.
template <space_tree Tree> void dual_tree_step<Tree>::walk::prune(node_id r, double lo2, prune_rule rule) {
  frame& f = path_.back();
  f.lower2 = std::min(f.lower2, lo2);
  f.pruned += reference_.points(r).size();
  ++mine.work[rule];
}

// Strategy two: all centroids but one are pruned, so `closest`, which never is, owns every point of q.
template <space_tree Tree> bool dual_tree_step<Tree>::walk::descend(node_id q) {
  frame const& f = path_.back();
  if (f.pruned >= step_.k_ - 1) return give(q, f.closest, f.upper2, f.lower2), false;
  hand_down_bounds(q);
  return true;
}

template <space_tree Tree>
void dual_tree_step<Tree>::walk::give(node_id q, label owner, double upper2, double lower2) {
  ++mine.work[prune_rule::owned_node];
  step_.give(mine.changes, q, owner);
  node_state& state = step_.at(q);
  state.upper = step_.slack_.upper(upper2);
  state.lower = step_.slack_.lower(lower2);
  state.closest = owner;
}

// Past the paper: where the references left of a small node hold few centroids each, or a good part of all,
// the reference tree has little to save, and lists of candidates, which are tested many at once, go on down.
template <space_tree Tree>
bool dual_tree_step<Tree>::walk::base_cases(node_id q, scored_node const* first, scored_node const* last) {
  bool const small = step_.bisector_ && tree_.points(q).size() <= step_.small_points();
  if (!step_.is_leaf(q) && !small) return false;
  index const few = centroids_a_reference * (last - first), many = step_.k_ / 8;
  candidates_.clear();
  for (; first != last; ++first) {
    point_range const range = reference_.points(first->node);
    for (index i = range.first; i < range.last; ++i)
      candidates_.push_back(static_cast<label>(reference_.row(i)));
  }
  index const left = std::ssize(candidates_);
  if (!step_.is_leaf(q) && left > few && left < many) return false;
  lists_.sort(candidates_); // of equal distances the lowest index comes first
  list all = lists_.load(candidates_);
  all.beyond2 = path_.back().lower2; // lb(N): no nearer than this are those not among the candidates
  step_.is_leaf(q) ? visit_below(q, all, all.m) : visit_list(q, all);
  return true;
}

// Score with all candidates at once, and strategy two.
template <space_tree Tree> void dual_tree_step<Tree>::walk::visit_list(node_id q, list const& all) {
  step_.check_stop();
  list const left = lists_.filter(q, all, mine.work);
  if (left.m == 1) {
    double const lower2 = tree_.distance(q, centroids_.row(left.chosen)).lo;
    return give(q, left.chosen, left.chosen_hi2, left.others2(lower2));
  }
  hand_down_bounds(q);
  step_.at(q).closest = left.chosen;
  visit_below(q, left, all.m);
}

// There were `before` candidates in what q is in.
template <space_tree Tree>
void dual_tree_step<Tree>::walk::visit_below(node_id q, list const& left, index before) {
  if (step_.is_leaf(q)) return visit_points(q, left, step_.rest_at(q).left == 0);
  if (tile::pays(tree_.points(q).size(), before, left.m) && rests(q)) return visit_points(q, left, false);
  for (node_id const c : tree_.children(q))
    if (node_id const shown = stand_in(c); shown != no_node) visit_list(shown, left);
}

// Are all points of q without bounds?
template <space_tree Tree> bool dual_tree_step<Tree>::walk::rests(node_id q) const {
  if (step_.owner(q) != several) return false;
  if (step_.is_leaf(q)) return step_.rest_at(q).left > 0;
  return std::ranges::all_of(tree_.children(q), [&](node_id c) { return rests(c); });
}

template <space_tree Tree>
void dual_tree_step<Tree>::walk::visit_points(node_id q, list const& left, bool bounds) {
  point_range const range = tree_.points(q);
  for (index i = range.first; i < range.last;) {
    points_.clear();
    for (; i < range.last && points_.size() < tile::most; ++i) {
      if (!step_.point_at(i).can_change) continue;
      positions_[static_cast<std::size_t>(points_.size())] = i;
      points_.add(tree_.point(i));
    }
    mine.work.distances += points_.size() * left.m;
    if (bounds) {
      give_with_bounds(left);
      continue;
    }
    label const* const who = points_.nearest(lists_.coordinates(left), left.m, left.stride);
    for (index o = 0; o < points_.size(); ++o)
      step_.give_point(mine.changes, positions_[static_cast<std::size_t>(o)], lists_.name(left, who[o]));
  }
}

template <space_tree Tree> void dual_tree_step<Tree>::walk::give_with_bounds(list const& left) {
  nearest_rows const found = points_.nearest_two(lists_.coordinates(left), left.m, left.stride);
  for (index o = 0; o < points_.size(); ++o) {
    index const at = positions_[static_cast<std::size_t>(o)];
    step_.give_point(mine.changes, at, lists_.name(left, static_cast<index>(found.who[0][o])));
    point_state& p = step_.point_at(at);
    p.upper = step_.slack_.upper(found.square[0][o]);
    p.lower = step_.slack_.lower(std::min(found.square[1][o], left.others2(found.square[0][o])));
  }
}

template <space_tree Tree> void dual_tree_step<Tree>::walk::leave(node_id q) {
  if (step_.owner(q) == several) step_.at(q).closest = path_.back().closest;
  path_.pop_back();
}

} // namespace kopse
