// SPDX-License-Identifier: BSD-3-Clause
// A tree with every algorithm over it: what each tree's own file instantiates, for float and double.
#pragma once

#include "any_tree.hpp"
#include "blacklist.hpp"
#include "d2_field.hpp"
#include "filter.hpp"
#include "frontier.hpp"
#include "kopse/dual_tree_step.hpp"
#include "kopse/tree/cover_tree.hpp"
#include "node_split.hpp"

namespace kopse {

template <class Tree> class tree_of final : public any_tree<typename Tree::real> {
  using real = typename Tree::real;

public:
  explicit tree_of(std::shared_ptr<Tree const> tree) : tree_(std::move(tree)) {}

  std::unique_ptr<assignment_step> make(point_set<real> const& points, sum_layout const& layout, index k,
                                        step_options const& options) const override {
    if (options.algorithm == "filter")
      return std::make_unique<filter_step<Tree>>(tree_, points, layout, k, options);
    if (options.algorithm == "blacklist")
      return std::make_unique<blacklist_step<Tree>>(tree_, points, layout, k, options);
    if (options.algorithm == "frontier")
      return std::make_unique<frontier_step<Tree>>(tree_, points, layout, k, options);
    return std::make_unique<dual_tree_step<Tree>>(tree_, points, layout, k, options.stop, options.bisector,
                                                  options.threads);
  }

  std::unique_ptr<d2_field> make_field(point_set<real> const& points, mass_layout const& layout, int threads,
                                       std::atomic<bool> const* stop) const override {
    return std::make_unique<tree_field<Tree>>(tree_, points, layout, threads, stop);
  }

  std::unique_ptr<node_splitter> make_splitter(point_set<real> const& points, sum_layout const& layout,
                                               int threads, std::atomic<bool> const* stop) const override {
    return std::make_unique<tree_splitter<Tree>>(tree_, points, layout, threads, stop);
  }

  index node_count() const override { return tree_->node_count(); }

  tree_report report() const override {
    tree_report result;
    static_cast<tree_size&>(result) = measure(*tree_);
    if constexpr (std::same_as<Tree, cover_tree<real>>)
      result.of_cover = {tree_->scales().base(), tree_->imbalance(), estimate_expansion(*tree_),
                         tree_->build_distances(), tree_->build_scores()};
    return result;
  }

  bool holds(matrix_view<real> rows) const override {
    if (rows.rows() != tree_->points(tree_->root()).size() || rows.cols() != tree_->dims()) return false;
    for (index i = 0; i < rows.rows(); ++i) {
      real const* const x = tree_->point(i);
      if (!std::equal(x, x + rows.cols(), rows.row(tree_->row(i)))) return false;
      give_back(rows, tree_->row(i));
    }
    return true;
  }

private:
  std::shared_ptr<Tree const> tree_;
};

template <class Tree>
std::shared_ptr<any_tree<typename Tree::real> const> build_any(matrix_view<typename Tree::real> rows,
                                                               index leaf_size, int threads) {
  return std::make_shared<tree_of<Tree> const>(std::make_shared<Tree const>(rows, leaf_size, threads));
}

template <class Tree>
std::unique_ptr<assignment_step>
make_frontier_always(std::shared_ptr<Tree const> tree, point_set<typename Tree::real> const& points,
                     sum_layout const& layout, index k, step_options const& options) {
  return std::make_unique<frontier_step<Tree>>(std::move(tree), points, layout, k, options,
                                               frontier_step<Tree>::walks::always);
}

} // namespace kopse

/// All that a tree's own file compiles, for rows of Real.
// NOLINTBEGIN(bugprone-macro-parentheses): these are types
#define KOPSE_COMPILE_TREE(tree, Real)                                                                       \
  template std::shared_ptr<any_tree<Real> const> build_any<tree<Real>>(matrix_view<Real>, index, int);       \
  template std::unique_ptr<assignment_step> make_frontier_always(std::shared_ptr<tree<Real> const>,          \
                                                                 point_set<Real> const&, sum_layout const&,  \
                                                                 index, step_options const&)
// NOLINTEND(bugprone-macro-parentheses)
