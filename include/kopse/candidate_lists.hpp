// SPDX-License-Identifier: BSD-3-Clause
// Candidates passed down a tree: the centroids that may own some point of a node, and how they become fewer.
//
// A node gets the list of its parent. One candidate of it is chosen; those that it is nearer than all over
// the node leave the list. Lists lie by dimension, so that what is done with all candidates of a node is a
// loop over vectors (kernels.hpp), and in ascending order, so that ties go to the lowest index. They are
// stacked, each that is shorter on top of its parent's: memory is that of one path from the root.
//
// With margins, a candidate leaves only where it is farther by more than a margin, and each list knows a
// `gap`: at every point of the node, any centroid that is not on the list is farther than the owner by at
// least that. The margin of a node is the largest of its candidates' own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/kernels.hpp"
#include "kopse/screen.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

/// Some points, and their nearest candidates.
template <class Real> class point_tile {
public:
  static constexpr index most = float_screen::most_points;

  /// Is it cheaper to look at n points of a node than to test its candidates in its two halves first, should
  /// as many of them go as went in the node itself? There were `before`, and `left` are left. Without
  /// screening it never is.
  static constexpr bool pays(index n, index before, index left) {
    constexpr index tests = 96; // what those in a half cost, in distances that are screened; measured
    return n <= most && left >= float_screen::least_centroids && n * (before - left) <= tests * before;
  }

  explicit point_tile(index dims) : d_(dims), x_(static_cast<std::size_t>(x_stride * dims)) {}

  index size() const { return size_; }
  void clear() { size_ = 0; }
  /// The point must stay where it is.
  void add(Real const* x) { points_[static_cast<std::size_t>(size_++)] = x; }

  /// For each point the number of the nearest of m candidates, the first of equals; coordinate j of candidate
  /// i is at c[j·stride + i].
  label const* nearest(double const* c, index m, index stride) {
    if (m >= float_screen::least_centroids) {
      origin_.assign(points_[0], points_[0] + d_);
      screen_.take(c, m, d_, stride, origin_.data());
      screen_.find_nearest(points_.data(), size_, room_, labels_.data());
      return labels_.data();
    }
    offer(c, m, stride, nullptr);
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i)
      labels_[i] = static_cast<label>(who_[0][i]);
    return labels_.data();
  }
  /// The same in numbers; and the d² of that one and the next.
  nearest_rows nearest_two(double const* c, index m, index stride) {
    std::fill_n(squares_[1].begin(), padded(size_), std::numeric_limits<double>::infinity());
    offer(c, m, stride, squares_[1].data());
    return {{squares_[0].data(), squares_[1].data()}, {who_[0].data()}};
  }
  /// The nearest four.
  nearest_rows nearest_four(double const* c, index m, index stride) {
    spread();
    nearest_rows found;
    for (std::size_t i = 0; i < 4; ++i) found.square[i] = squares_[i].data();
    for (std::size_t i = 0; i < 3; ++i) found.who[i] = who_[i].data();
    find_nearest_four(x_.data(), padded(size_), x_stride, d_, c, m, 1, stride, found);
    return found;
  }

private:
  static constexpr index x_stride = most + lanes; // not a power of two: lines of all sets

  // The points by dimension.
  void spread() {
    for (index i = 0; i < size_; ++i)
      for (index j = 0; j < d_; ++j)
        x_[static_cast<std::size_t>(j * x_stride + i)] =
            static_cast<double>(points_[static_cast<std::size_t>(i)][j]);
  }
  void offer(double const* c, index m, index stride, double* second) {
    spread();
    std::fill_n(squares_[0].begin(), padded(size_), std::numeric_limits<double>::infinity());
    std::fill_n(who_[0].begin(), padded(size_), 0.0);
    offer_centroids(x_.data(), padded(size_), x_stride, d_, c, m, 1, stride, 0, squares_[0].data(),
                    who_[0].data(), second);
  }

  index d_, size_ = 0;
  std::array<Real const*, most> points_;
  std::vector<double> x_, origin_;
  std::array<std::array<double, most>, 4> squares_;
  std::array<std::array<double, most>, 3> who_;
  std::array<label, most> labels_;
  float_screen screen_;
  float_screen::scratch room_;
};

/// The candidate that the others are tested against: the nearest to the node as a whole. What is farther from
/// all of the node than that is beyond its bisector, too.
struct least_largest {};

template <space_tree Tree, class Choice> class candidate_lists {
public:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // m candidates in rows of `stride` from stack_[first] on: coordinates by dimension, then numbers, then
  // margins with their sign turned.
  struct list {
    std::size_t first = 0;
    index m = 0, stride = 0;
    double gap = infinity;
    label chosen = -1;                // or none was
    double chosen_hi2 = infinity;     // computed d² from it to any point of the node is at most this
    double beyond2 = infinity;        // none off the list is nearer than this to any point of the node,
    double lead = infinity;           // or its d² exceeds that of the point's owner by at least this
    double others2(double d2) const { // at least; d2 is that of the owner, or less
      return std::min(beyond2, d2 + lead);
    }
  };

  /// `margins` by centroid, or none at all.
  candidate_lists(Tree const& tree, matrix<double> const& centroids, slack const& s,
                  std::vector<double> const* margins = nullptr)
      : tree_(tree), centroids_(centroids), slack_(s), margins_(margins) {}

  /// The only list there is.
  list load(std::vector<label> const& candidates, double gap = infinity) {
    list all{0, std::ssize(candidates), padded(std::ssize(candidates))};
    all.gap = gap;
    make_room(all);
    for (index i = 0; i < all.m; ++i) {
      label const who = candidates[static_cast<std::size_t>(i)];
      for (index j = 0; j < tree_.dims(); ++j) row(all, j)[i] = centroids_(who, j);
      row(all, tree_.dims())[i] = who;
      if (margins_ != nullptr) row(all, tree_.dims() + 1)[i] = -(*margins_)[static_cast<std::size_t>(who)];
    }
    return all;
  }
  label name(list const& l, index i) const {
    return static_cast<label>(stack_[l.first + static_cast<std::size_t>(tree_.dims() * l.stride + i)]);
  }
  std::vector<label> names(list const& l) const {
    std::vector<label> result(static_cast<std::size_t>(l.m));
    for (index i = 0; i < l.m; ++i) result[static_cast<std::size_t>(i)] = name(l, i);
    return result;
  }

  /// Those of the list that may own a point of q, on top of it.
  list filter(node_id q, list const& all, work_counters& work) {
    if (std::ssize(hi2_) < all.stride)
      for (std::vector<double>* const v : {&lo2_, &hi2_, &leads_})
        v->resize(static_cast<std::size_t>(all.stride));
    list left = above(all);
    list const* rest = &all;
    work.node_scores += all.m;
    if constexpr (std::same_as<Choice, least_largest>) {
      nearest_column const nearest = nearest_to(tree_, q, row(all, 0), all.m, all.stride, hi2_.data());
      left.chosen = name(all, nearest.which);
      left.chosen_hi2 = nearest.hi2;
    } else if (choose(q, all, left)) {
      rest = &left;
    }
    index const nearer = rest->m;
    if (left.chosen >= 0 && all.m == 1) {
      left.m = 1;
    } else if (left.chosen >= 0 && nearer > 1) {
      // What lies beyond the chosen one's bisector, for the whole node, owns no point of it; itself it leads
      // by nothing.
      reach const r = reach_of(all, left.chosen_hi2);
      leads_of(tree_, q, centroids_.row(left.chosen), row(*rest, 0), padded(nearer), rest->stride,
               left.chosen_hi2, leads_.data());
      work.node_scores += nearer - 1;
      double const lead = keep(r.lead, leads_.data(), *rest, left);
      left.lead = std::min(left.lead, lead);
      if (margins_ != nullptr && lead < infinity) left.gap = std::min(left.gap, gap_of(lead, r.u));
    }
    work[prune_rule::score] += all.m - nearer;
    work[prune_rule::bisector] += nearer - left.m;
    if (left.m == all.m) left.first = all.first, left.stride = all.stride; // the same: no copy to stack upon
    return left;
  }

  /// Puts different candidates into ascending order: few by comparing, a good part of all by marking them.
  void sort(std::vector<label>& candidates) {
    if (std::ssize(candidates) * 16 < centroids_.rows())
      return std::sort(candidates.begin(), candidates.end());
    marks_.assign(static_cast<std::size_t>(centroids_.rows()), 0);
    for (label const who : candidates) marks_[static_cast<std::size_t>(who)] = 1;
    candidates.clear();
    for (index i = 0; i < centroids_.rows(); ++i)
      if (marks_[static_cast<std::size_t>(i)] != 0) candidates.push_back(static_cast<label>(i));
  }
  /// Puts a list into ascending order.
  void sort(list const& l) {
    double* const names = row(l, tree_.dims());
    for (index i = 1; i < l.m; ++i)
      for (index o = i; o > 0 && names[o] < names[o - 1]; --o)
        for (index j = 0; j < rows(); ++j) std::swap(row(l, j)[o], row(l, j)[o - 1]);
  }
  double const* coordinates(list const& l) const { return stack_.data() + l.first; }

private:
  // How far the nearest candidate may be, and what leads it by more than the margin.
  struct reach {
    double u, lead;
  };

  reach reach_of(list const& all, double upper2) {
    if (margins_ == nullptr) return {infinity, 0};
    double const u = slack_.upper(upper2), margin = -least_of(row(all, tree_.dims() + 1), all.m);
    return {u, slack_.up(margin * (2 * u + margin))};
  }
  // The choice by the distances of all. What is farther than another candidate's farthest point over the
  // whole node is not the owner of any point, never when equal; if that other one is chosen, all these are
  // beyond its bisector, too. True if such a one is off the list now.
  bool choose(node_id q, list const& all, list& left) {
    distances_to(tree_, q, row(all, 0), padded(all.m), all.stride, lo2_.data(), hi2_.data());
    double const upper2 = least_of(hi2_.data(), all.m);
    index const chosen = Choice::choose(lo2_.data(), all.m); // or none
    if (chosen < all.m) {
      left.chosen = name(all, chosen);
      left.chosen_hi2 = hi2_[static_cast<std::size_t>(chosen)];
      if (left.chosen_hi2 == upper2) return false;
    }
    left.beyond2 = std::min(left.beyond2, keep(upper2, lo2_.data(), all, left));
    return true;
  }
  // Safe: where d(p, near) <= u and d²(p, far) − d²(p, near) >= lead, d(p, far) − d(p, near) is least for
  // d(p, near) = u.
  double gap_of(double lead, double u) const {
    return slack_.down(lead / slack_.up(std::sqrt(u * u + lead) + u));
  }
  // Puts those with at most `limit` into a list; returns the least value of the others.
  double keep(double limit, double const* values, list const& from, list& to) {
    kept_columns const kept =
        keep_at_most(limit, values, from.m, rows(), row(from, 0), from.stride, row(to, 0), to.stride);
    to.m = kept.count;
    return kept.least_dropped;
  }

  // A list that may get as long as `all`, on top of it.
  list above(list const& all) {
    list next{all.first + static_cast<std::size_t>(all.stride * rows()), 0, padded(all.m)};
    next.gap = all.gap;
    next.beyond2 = all.beyond2;
    next.lead = all.lead;
    make_room(next);
    return next;
  }
  // The stack only ever grows: what is above the top list is not looked at.
  void make_room(list const& top) {
    std::size_t const end = top.first + static_cast<std::size_t>(top.stride * rows());
    if (stack_.size() < end) stack_.resize(2 * end);
  }
  index rows() const { return tree_.dims() + (margins_ != nullptr ? 2 : 1); }
  double* row(list const& l, index j) { return stack_.data() + l.first + j * l.stride; }

  Tree const& tree_;
  matrix<double> const& centroids_;
  slack const& slack_;
  std::vector<double> const* margins_;
  std::vector<double> stack_;
  std::vector<double> lo2_, hi2_, leads_;
  std::vector<char> marks_; // by centroid, for sort()
};

} // namespace kopse
