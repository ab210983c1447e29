// SPDX-License-Identifier: BSD-3-Clause
// Dual-tree k-means as a literal reading of its paper (R. R. Curtin, arXiv:1601.03754): numbers in
// parentheses are lines of its Algorithms 1 to 6, and each erratum has a switch that puts the printed rule in
// force.
//
// Made to be read beside the paper and to be wrong on demand, not to be fast; what is kopse's own lives in
// include/kopse/dual_tree_step.hpp. Distances are kept, not their squares. Bounds are compared with a margin
// far above the rounding of the tests' small integers, so that equality is always left to BaseCase.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "halving_tree.hpp"
#include "kopse/matrix.hpp"
#include "paper_errata.hpp"

namespace paper {

using kopse::index;
using kopse::node_id;

struct node_state {
  double upper, lower;
  index pruned;
  int closest;
  bool can_change, visited;
  node_id parent;            // in the coalesced tree
  std::vector<node_id> view; // children in the coalesced tree
};
struct point_state {
  double upper, lower;
  int closest;
  bool can_change;
};
struct counters {
  index scores = 0, base_cases = 0;
  index owned = 0;           // nodes found with pruned = k - 1, in all iterations
  index unknown_closest = 0; // how often the movement of a centroid not yet named was asked for
  index upper_rose = 0;      // how often Score made an upper bound larger
  index false_bounds = 0;    // nodes of one owner whose ub or lb, as UpdateTree leaves it, is none (Lemma 2)
};

class dual_tree_kmeans {
public:
  static constexpr int nobody = -1;

  dual_tree_kmeans(kopse::matrix_view<double> points, kopse::matrix_view<double> centroids, index leaf_size,
                   setting s)
      : set_(s), tree_(points, leaf_size), k_(centroids.rows()), centroids_(centroids),
        points_(static_cast<std::size_t>(points.rows()), {infinity, infinity, nobody, true}) {
    int const first = k_ == 1 && !is(erratum::score_single_cluster) ? 0 : nobody;
    nodes_.assign(static_cast<std::size_t>(tree_.node_count()),
                  {infinity, infinity, 0, first, true, false, halving_tree::no_node, {}});
  }

  /// Algorithm 1, lines 6 to 14.
  void iterate() {
    labels_.assign(points_.size(), nobody);
    seen_ = centroids_;
    std::vector<node_state> const pristine = nodes_;
    coalesce_tree();
    halving_tree const reference(seen_, 1);
    reference_ = &reference;
    // A static root has nothing to find below, and counts pruned in an earlier iteration.
    if (at(tree_.root()).can_change || is(erratum::coalesce_visits_static_root)) traverse();
    if (is(erratum::decoalesce_restores_bounds)) nodes_ = pristine;
    update_centroids();
    measure_movements();
    update_tree(tree_.root(), {});
  }

  /// By row: the owners under seen(), the centroids that the last iteration started from.
  std::vector<int> const& labels() const { return labels_; }
  kopse::matrix<double> const& seen() const { return seen_; }
  kopse::matrix<double> const& centroids() const { return centroids_; }
  counters const& work() const { return work_; }
  node_state const& node(node_id q) const { return nodes_[static_cast<std::size_t>(q)]; }
  point_state const& point(index position) const { return points_[static_cast<std::size_t>(position)]; }
  halving_tree const& tree() const { return tree_; }

  /// Algorithm 2 for the point at a position and the centroid numbered c.
  void base_case(index position, int c) {
    ++work_.base_cases;
    point_state& p = point_at(position);
    double const d = distance(position, seen_, c);
    bool const repeated = p.closest == c && d == p.upper; // cover trees visit a pair twice: that is no tie
    if (repeated && !is(erratum::base_case_repeat)) return;
    bool const tie = d == p.upper && !is(erratum::base_case_tie);
    if (d < p.upper || (tie && wins_tie(position, c, p.closest))) { // (3)
      p.lower = p.upper;
      p.upper = d;
      p.closest = c;
    } else if (d < p.lower) { // (7)
      p.lower = d;
    }
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  struct bounds {
    double upper, lower;
  };
  struct candidate {
    node_id node, scored; // scored: the reference node, of this branch, that the parent was scored with
  };

  bool is(erratum rule) const { return set_.rules.test(static_cast<std::size_t>(rule)); }
  static bool below(double a, double b) { return a < b - 1e-9; }
  node_state& at(node_id q) { return nodes_[static_cast<std::size_t>(q)]; }
  point_state& point_at(index position) { return points_[static_cast<std::size_t>(position)]; }
  bool is_leaf(node_id q) const { return tree_.children(q).empty(); }
  bool owned(node_state const& n) const { return n.pruned == k_ - 1; }
  double distance(index position, kopse::matrix<double> const& centroids, int c) const {
    return c < 0 ? infinity
                 : std::sqrt(kopse::squared_distance(tree_.point(position), centroids.row(c), tree_.dims()));
  }
  double d_min(node_id q, node_id r) const {
    return std::sqrt(std::max(0.0, tree_.distance(q, *reference_, r).lo));
  }
  double d_max(node_id q, node_id r) const { return std::sqrt(tree_.distance(q, *reference_, r).hi); }
  double d_max_to(node_id q, double const* c) const { return std::sqrt(tree_.distance(q, c).hi); }
  bool wins_tie(index position, int c, int holder) const {
    auto const d2 = [&](int who) {
      return kopse::squared_distance(tree_.point(position), seen_.row(who), tree_.dims());
    };
    return holder >= 0 && (d2(c) != d2(holder) ? d2(c) < d2(holder) : c < holder);
  }

  // ---- The traversal

  void traverse() {
    for (node_state& n : nodes_) n.visited = false;
    node_id const root = tree_.root(), reference_root = reference_->root();
    if (set_.traversal == order::depth_first) {
      descend(root, reference_root, halving_tree::no_node);
      if (!is(erratum::score_child_too_early)) complete_lower(root);
    } else {
      visit(root, halving_tree::no_node, {{reference_root, halving_tree::no_node}});
    }
    for (node_state const& n : nodes_) work_.owned += n.visited && owned(n) ? 1 : 0;
  }

  void visit(node_id q, node_id from, std::vector<candidate> const& references) {
    std::vector<node_id> survivors;
    for (candidate const r : references) score_all(q, from, r, survivors);
    if (owned(at(q))) return;
    if (is_leaf(q))
      for (node_id const r : survivors) base_cases(q, r);
    std::vector<candidate> below_here;
    for (node_id const r : survivors) {
      for (node_id const child : reference_->children(r)) below_here.push_back({child, r});
      if (reference_->children(r).empty()) below_here.push_back({r, r});
    }
    for (node_id const child : std::vector<node_id>(at(q).view)) visit(child, q, below_here);
  }

  // A leaf of the query tree has to reach the leaves of the reference tree; other nodes hand survivors to
  // their children.
  void score_all(node_id q, node_id from, candidate r, std::vector<node_id>& survivors) {
    if (score(q, r.node, from, known(q, from, r)) == infinity) return;
    if (!is_leaf(q) || reference_->children(r.node).empty())
      survivors.push_back(r.node);
    else
      for (node_id const child : reference_->children(r.node))
        score_all(q, from, {child, r.scored}, survivors);
  }

  void descend(node_id q, node_id r, node_id from) {
    if (score(q, r, from, 0) == infinity) return;
    bool const last = reference_->children(r).empty();
    if (is_leaf(q) && last) return base_cases(q, r);
    auto const with = [&](node_id child, node_id edge) {
      if (last) return descend(child, r, edge);
      for (node_id const below : reference_->children(r)) descend(child, below, edge);
    };
    if (is_leaf(q)) return with(q, from);
    for (node_id const child : std::vector<node_id>(at(q).view)) with(child, q);
  }

  // Depth first, a parent prunes clusters after its children were visited: their lb must cover those as well.
  void complete_lower(node_id q) {
    for (node_id const child : at(q).view) {
      if (!at(child).visited) continue;
      at(child).lower = std::min(at(child).lower, at(q).lower);
      complete_lower(child);
    }
  }

  // Bounds d_min(q, r) from the distance between the centres of the pair above, which a traversal has at
  // hand. The way from q's centre must be to the node of that pair, not to the parent that coalescing took
  // out in between.
  double known(node_id q, node_id from, candidate r) const {
    if (!set_.cached_scores || from == halving_tree::no_node || r.scored == halving_tree::no_node) return 0;
    auto const length = [](std::vector<double> const& a, std::vector<double> const& b) {
      return std::sqrt(kopse::squared_distance(a.data(), b.data(), static_cast<index>(a.size())));
    };
    auto const radius = [](halving_tree const& tree, node_id n) { return std::sqrt(tree.extent(n)) / 2; };
    node_id const upper = is(erratum::coalesce_stale_score) ? tree_.parent(q) : from;
    double const cached = length(centre(tree_, from), centre(*reference_, r.scored));
    return cached - length(centre(tree_, q), centre(tree_, upper)) - radius(tree_, q)
           - length(centre(*reference_, r.node), centre(*reference_, r.scored)) - radius(*reference_, r.node);
  }
  static std::vector<double> centre(halving_tree const& tree, node_id n) {
    std::vector<double> middle;
    for (std::size_t j = 0; j < tree.low(n).size(); ++j)
      middle.push_back((tree.low(n)[j] + tree.high(n)[j]) / 2);
    return middle;
  }

  // ---- Algorithm 3, Score

  double score(node_id q, node_id r, node_id from, double known) {
    node_state& n = at(q);
    if (!n.visited && from != halving_tree::no_node) // (4)
      take_from_parent(n, at(is(erratum::score_hidden_parent) ? tree_.parent(q) : from));
    n.visited = true;
    if (owned(n)) return infinity; // (7)
    ++work_.scores;
    double const s = below(n.upper, known) ? known : d_min(q, r);
    if (below(n.upper, s)) { // (10)
      n.lower = std::min(n.lower, s);
      // (15) In these trees a cluster lies in one branch: of r's none was pruned before, and all are now.
      if (!is(erratum::score_count)) n.pruned += reference_->points(r).size();
      return infinity;
    }
    index const some = reference_->points(r).first;
    double const to_some = d_max_to(q, reference_->point(some));
    if (to_some < n.upper) { // (17)
      double const stored = is(erratum::score_upper) ? d_max(q, r) : to_some;
      work_.upper_rose += stored > n.upper ? 1 : 0;
      n.upper = stored;
      n.closest = static_cast<int>(reference_->row(some));
    }
    return owned(n) ? infinity : s; // (22)
  }

  // The smaller upper bound, with the centroid it is a bound to: the others are what pruned counts.
  void take_from_parent(node_state& n, node_state const& parent) const {
    n.pruned = parent.pruned;
    n.lower = parent.lower;
    if (is(erratum::score_own_upper) || !(parent.upper < n.upper)) return;
    n.upper = parent.upper;
    if (!is(erratum::score_upper_without_closest)) n.closest = parent.closest;
  }

  void base_cases(node_id q, node_id r) {
    for (index i = tree_.points(q).first; i < tree_.points(q).last; ++i) {
      if (!point_at(i).can_change && !is(erratum::coalesce_keeps_static_points)) continue;
      for (index c = reference_->points(r).first; c < reference_->points(r).last; ++c)
        base_case(i, static_cast<int>(reference_->row(c)));
    }
  }

  // ---- Algorithm 4, UpdateCentroids

  void update_centroids() {
    kopse::matrix<double> sums(k_, tree_.dims());
    std::vector<index> sizes(static_cast<std::size_t>(k_), 0);
    auto const give = [&](index position, int owner) {
      labels_[static_cast<std::size_t>(tree_.row(position))] = owner;
      if (owner < 0) return;
      ++sizes[static_cast<std::size_t>(owner)];
      for (index j = 0; j < tree_.dims(); ++j) sums(owner, j) += tree_.point(position)[j];
    };
    std::vector<node_id> stack{tree_.root()};
    while (!stack.empty()) {
      node_id const q = stack.back();
      stack.pop_back();
      for (node_id const child : tree_.children(q))
        if (!owned(at(q))) stack.push_back(child);
      if (!owned(at(q)) && !is_leaf(q)) continue;
      for (index i = tree_.points(q).first; i < tree_.points(q).last; ++i)
        give(i, owned(at(q)) ? at(q).closest : point_at(i).closest);
    }
    for (index c = 0; c < k_; ++c) {
      double const size = static_cast<double>(sizes[static_cast<std::size_t>(c)]);
      if (size == 0 && !is(erratum::centroids_empty_is_zero)) continue; // stays where it was
      for (index j = 0; j < tree_.dims(); ++j) centroids_(c, j) = size == 0 ? 0 : sums(c, j) / size;
    }
  }

  void measure_movements() {
    movements_.clear(), half_gaps_.clear();
    for (index c = 0; c < k_; ++c) {
      movements_.push_back(std::sqrt(kopse::squared_distance(centroids_.row(c), seen_.row(c), tree_.dims())));
      double gap = infinity;
      for (index i = 0; i < k_; ++i)
        if (i != c)
          gap = std::min(gap, kopse::squared_distance(centroids_.row(c), centroids_.row(i), tree_.dims()));
      half_gaps_.push_back(std::sqrt(gap) * (is(erratum::strategy3_gap) ? 2 : 0.5));
    }
  }
  double moved(int c) {
    if (c < 0) ++work_.unknown_closest;
    return c < 0 ? 0 : movements_[static_cast<std::size_t>(c)];
  }
  double half_gap(int c) const { return c < 0 ? 0 : half_gaps_[static_cast<std::size_t>(c)]; }
  // How far any centroid that may be pruned has moved; `closest` never is pruned.
  double movement_of_others(int closest) const {
    if (is(erratum::figure_smallest_movement)) return *std::min_element(movements_.begin(), movements_.end());
    double most = 0;
    for (std::size_t c = 0; c < movements_.size(); ++c)
      if (static_cast<int>(c) != closest || is(erratum::strategy3_largest_movement))
        most = std::max(most, movements_[c]);
    return most;
  }

  // ---- Algorithm 5, UpdateTree

  // above: the parent's bounds by the traversal, before the centroids moved.
  void update_tree(node_id q, bounds above) {
    node_state& n = at(q);
    n.can_change = true; // (3)
    node_state const* const parent = q == tree_.root() ? nullptr : &at(tree_.parent(q));
    bool const static_parent = parent != nullptr && !parent->can_change;
    bool const literal = is(erratum::update_child_of_owned) && static_parent;
    if (parent != nullptr && owned(*parent) && !is(erratum::update_child_of_owned))
      take_over(n, parent->closest, above);
    bounds const before{n.upper, n.lower};
    if (literal) { // (6)-(9)
      n.closest = parent->closest;
      n.upper += moved(n.closest);
      n.lower += movement_of_others(n.closest);
    } else if (owned(n)) {
      test_owned(q, n, is(erratum::update_lower_of_child) && static_parent ? -1 : 1);
    } else { // (24)-(26)
      double const own = moved(n.closest);
      n.upper += is(erratum::strategy4_upper_of_shared) ? std::max(own, movement_of_others(n.closest)) : own;
      n.lower -= movement_of_others(n.closest);
    }
    if (static_parent) n.can_change = false; // (10)
    bool any = false;
    for (node_id const child : tree_.children(q)) {
      update_tree(child, before);
      any = any || at(child).can_change;
    }
    if (is_leaf(q)) any = update_points(q, before);
    if (!any) n.can_change = false; // (52)
    if (!n.can_change) return;
    n.pruned = 0;                                          // (55)
    if (!is(erratum::lower_not_reset)) n.lower = infinity; // nothing is pruned: there is nothing to bound
  }

  // (4)-(10) A child of an owned node is owned, and the parent's bounds hold for it, whether or not the
  // parent can change.
  void take_over(node_state& n, int owner, bounds above) const {
    bool const same = owned(n) && n.closest == owner;
    n.upper = same ? std::min(n.upper, above.upper) : above.upper;
    n.lower = same ? std::max(n.lower, above.lower) : above.lower;
    n.closest = owner;
    n.pruned = k_ - 1;
  }

  // (11)-(22)
  void test_owned(node_id q, node_state& n, double sign) {
    n.upper += moved(n.closest);
    double const shifted = n.lower - sign * movement_of_others(n.closest), half = half_gap(n.closest);
    double const bound = std::max(shifted, half);
    n.can_change = !below(n.upper, bound);
    if (n.can_change) {
      n.upper = std::min(n.upper, n.closest < 0 ? infinity : d_max_to(q, centroids_.row(n.closest))); // (21)
      n.can_change = !below(n.upper, bound);
    }
    // (15) Half the gap bounds the distance to the others only when ub is below it.
    n.lower = is(erratum::update_lower_is_gap) || below(n.upper, half) ? bound : shifted;
    work_.false_bounds += bounds_hold(q, n) ? 0 : 1;
  }

  bool bounds_hold(node_id q, node_state const& n) const {
    bool hold = true;
    for (index i = tree_.points(q).first; i < tree_.points(q).last; ++i)
      for (int c = 0; c < k_; ++c) {
        double const d = distance(i, centroids_, c);
        hold = hold && !(c == n.closest ? below(n.upper, d) : below(d, n.lower));
      }
    return hold;
  }

  // (30)-(51); returns whether some point can change.
  bool update_points(node_id q, bounds before) {
    node_state const& n = at(q);
    bool any = false;
    for (index i = tree_.points(q).first; i < tree_.points(q).last; ++i) {
      point_state& p = point_at(i);
      if (!n.can_change) { // (47)-(51)
        if (p.can_change && is(erratum::update_static_points_stale)) continue;
        if (p.closest == nobody) continue;
        p.upper += moved(p.closest);
        p.lower -= movement_of_others(p.closest);
        continue;
      }
      if (owned(n) && !is(erratum::update_points_of_owned_leaf)) take_over(p, n.closest, before);
      // lb(p) is of the centroids that had a base case; lb(N) of this traversal is of the others.
      else if (p.can_change && !owned(n) && !is(erratum::update_point_lower_is_least)
               && !is(erratum::update_point_lower_is_most))
        p.lower = std::min(p.lower, before.lower);
      test_point(i, p);
      any = any || p.can_change;
    }
    return any;
  }

  // lb of a point that went through base cases in this traversal is of those centroids alone, so the node's
  // it is.
  void take_over(point_state& p, int owner, bounds above) const {
    bool const same = p.closest == owner;
    p.upper = same ? std::min(p.upper, above.upper) : above.upper;
    p.lower = same && !p.can_change ? std::max(p.lower, above.lower) : above.lower;
    p.closest = owner;
  }

  // (32)-(45)
  void test_point(index position, point_state& p) {
    p.upper += moved(p.closest);
    double const shifted = p.lower - movement_of_others(p.closest), half = half_gap(p.closest);
    bool const least = is(erratum::update_point_lower_is_least);
    bool const most = is(erratum::update_point_lower_is_most);
    double const bound = least ? std::min(shifted, half) : std::max(shifted, half);
    bool is_static = below(p.upper, bound);
    if (!is_static) {
      p.upper = std::min(p.upper, distance(position, centroids_, p.closest)); // (39)
      is_static = below(p.upper, bound);
    }
    if (is_static) {
      p.can_change = false;
      p.lower = least || most || below(p.upper, half) ? bound : shifted;
    } else {
      p.upper = p.lower = infinity;
      if (!is(erratum::update_point_stays_frozen)) p.can_change = true;
    }
  }

  // ---- Algorithm 6, CoalesceTree, on lists of children of its own

  void coalesce_tree() {
    for (node_id q = 0; q < tree_.node_count(); ++q) {
      at(q).view.assign(tree_.children(q).begin(), tree_.children(q).end());
      at(q).parent = tree_.parent(q);
    }
    node_id const root = tree_.root();
    std::vector<node_id> stack{root};
    while (!stack.empty()) {
      node_id const q = stack.back();
      stack.pop_back();
      std::vector<node_id>& view = at(q).view;
      if (view.empty()) continue;
      bool const twice = q == root && is(erratum::coalesce_pushes_twice);
      if (twice) stack.insert(stack.end(), view.begin(), view.end());            // (12)
      std::erase_if(view, [&](node_id child) { return !at(child).can_change; }); // (16)
      stack.insert(stack.end(), view.begin(), view.end());                       // (18)
      if (view.size() != 1 || q == root) continue;
      std::vector<node_id>& siblings = at(at(q).parent).view; // (21)-(22)
      siblings.push_back(view.front());
      std::erase(siblings, q);
      at(view.front()).parent = at(q).parent;
    }
  }

  setting set_;
  halving_tree tree_;
  index k_;
  kopse::matrix<double> centroids_, seen_;
  std::vector<node_state> nodes_;
  std::vector<point_state> points_; // in tree order
  halving_tree const* reference_ = nullptr;
  std::vector<double> movements_, half_gaps_;
  std::vector<int> labels_;
  counters work_;
};

} // namespace paper
