// SPDX-License-Identifier: BSD-3-Clause
// How `frontier` looks at nodes and points again, the part of frontier.hpp that each thread does by itself:
// a `look` gives leases to all below a node, a `walk` finds where they have ended. Included at the end of
// frontier.hpp alone.
#pragma once

#include "frontier.hpp"

namespace kopse {

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
    double const u = slack_.upper(left.chosen_hi2);
    auto const [shell, length] = step_.choose(j, u, std::min(left.gap, longest_lease));
    wait const lease{cluster_clocks::of(j, shell), clocks_.end(j, shell, slack_.lease(u, length))};
    step_.nodes_[at(q)] = {lease, lease};
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
  index listed = 0, scanned = 0; // distances to centroids of lists; points whose leases were looked at
  walk(frontier_step& step, typename base::share share)
      : look(step, std::move(share)), copy_(at(tree_.dims())), packed_(step.centroids_) {}

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
    auto const& [one, other] = step_.nodes_[at(q)];
    if (clocks_.running(one.clock, one.end) && clocks_.running(other.clock, other.end)) return true;
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
    scanned += range.size();
    float left = never_ends;
    bool same = true;
    due_.clear();
    for (index i = range.first; i < range.last; ++i) {
      float const least = step_.left_of(i);
      if (least > 0) {
        left = std::min(left, least);
      } else {
        due_.push_back(i);
        __builtin_prefetch(tree_.point(i));
      }
    }
    for (index const i : due_) {
      auto const before = step_.waits_on(i);
      step_.left_of_others(i) > 0 ? look_at_rivals(i) : search(i);
      same = same && step_.waits_on(i) == before;
      left = std::min(left, step_.left_of(i));
    }
    if (same)
      for (wait& w : step_.nodes_[at(q)]) w.end = clocks_.end_of_units(w.clock, left);
    else
      step_.wait_for_points(q);
  }

  // The nearest of all: by the list of its owner, or the tree on the centroids.
  void search(index i) {
    std::copy_n(tree_.point(i), tree_.dims(), copy_.begin());
    label const j = step_.point_owner(i);
    nearest_four found;
    neighbour_lists::list const* const l = step_.lists_->of(j);
    double u = 0;
    if (l != nullptr) {
      u = slack_.upper(square(copy_.data(), step_.centroids_.row(j), tree_.dims()));
      ++listed;
      double const passed = slack_.up(l->radius - clocks_.left(cluster_clocks::of(j, l->shell), l->end));
      if (find_nearest_four({packed_.of(j, *l), l->m, packed_lists::stride, l->who.data(), l->from.data(),
                             l->radius, slack_.up(passed + u)},
                            copy_.data(), tree_.dims(), slack_, found, listed))
        return this->settle_point(i, found, never);
    }
    found = find_nearest_four(clocks_.heap(), copy_.data(), clocks_.heap().leaf_of(j), mine.work.distances);
    if (l == nullptr || slack_.squared_down(l->radius - u) > found.fourth2) step_.lists_->miss(j);
    this->settle_point(i, found, never);
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

  std::vector<index> due_;
  std::vector<double> copy_; // of a point
  packed_lists packed_;
  std::vector<label> candidates_;
};

} // namespace kopse
