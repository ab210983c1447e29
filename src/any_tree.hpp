// SPDX-License-Identifier: BSD-3-Clause
// The built-in trees behind one face. A tree's own file (tree_kd.cpp and so on) instantiates tree_of, and
// with it every algorithm over that tree; the table in trees.cpp names it.
#pragma once

#include <memory>

#include "kopse/assignment_step.hpp"
#include "kopse/tree/space_tree.hpp"

namespace kopse {

class d2_field;      // d2_field.hpp
class node_splitter; // node_split.hpp
struct mass_layout;  // mass_table.hpp

template <class Real> class any_tree {
public:
  virtual ~any_tree() = default;
  /// A step of options.algorithm, which is one that uses a tree, over this one.
  virtual std::unique_ptr<assignment_step> make(point_set<Real> const& points, sum_layout const& layout,
                                                index k, step_options const& options) const = 0;
  /// The squares from these points, the tree's, to a growing set of centroids.
  virtual std::unique_ptr<d2_field> make_field(point_set<Real> const& points, mass_layout const& layout,
                                               int threads, std::atomic<bool> const* stop) const = 0;
  /// 2-means inside clusters of these points, the tree's.
  virtual std::unique_ptr<node_splitter> make_splitter(point_set<Real> const& points,
                                                       sum_layout const& layout, int threads,
                                                       std::atomic<bool> const* stop) const = 0;
  virtual index node_count() const = 0;
  virtual tree_report report() const = 0;
  /// Are these the rows that the tree was built on?
  virtual bool holds(matrix_view<Real> rows) const = 0;
};

template <class Tree>
std::shared_ptr<any_tree<typename Tree::real> const> build_any(matrix_view<typename Tree::real> rows,
                                                               index leaf_size, int threads);

/// What a built_tree holds.
template <class Real> struct tree_access {
  static any_tree<Real> const* get(built_tree<Real> const& tree) { return tree.tree_.get(); }
};

/// Counts, as long as it lives, how often build_named() builds a tree on these rows on this thread.
class build_counter {
public:
  explicit build_counter(void const* rows);
  ~build_counter();
  build_counter(build_counter const&) = delete;
  build_counter& operator=(build_counter const&) = delete;
  index builds() const { return builds_; }
  static void built(void const* rows);

private:
  void const* rows_;
  index builds_ = 0;
  build_counter* outer_;
};

/// `frontier` over a tree, on leases from the second assignment on whether they pay or not: for its tests,
/// which need not compile it for every tree once more.
template <class Tree>
std::unique_ptr<assignment_step>
make_frontier_always(std::shared_ptr<Tree const> tree, point_set<typename Tree::real> const& points,
                     sum_layout const& layout, index k, step_options const& options);

/// By one of the names of trees().
template <class Real>
std::shared_ptr<any_tree<Real> const> build_named(std::string_view name, matrix_view<Real> rows,
                                                  index leaf_size, int threads);

} // namespace kopse
