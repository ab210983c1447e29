// SPDX-License-Identifier: BSD-3-Clause
// The trees by name. A new one: its file tree_x.cpp, and a line in the table.
#include <algorithm>
#include <array>
#include <utility>

#include "any_tree.hpp"
#include "kopse/parallel.hpp"
#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/cover_tree.hpp"
#include "kopse/tree/octree.hpp"

namespace kopse {

namespace {

template <class Real> struct named_tree {
  std::string_view name;
  std::shared_ptr<any_tree<Real> const> (*build)(matrix_view<Real> rows, index leaf_size, int threads);
};
template <class Real>
constexpr named_tree<Real> table[] = {{"kd", build_any<kd_tree<Real>>},
                                      {"kd-median", build_any<kd_median_tree<Real>>},
                                      {"ball", build_any<ball_tree<Real>>},
                                      {"octree", build_any<octree<Real>>},
                                      {"cover", build_any<cover_tree<Real>>}};

constexpr auto names = [] {
  std::array<std::string_view, std::size(table<double>)> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = table<double>[i].name;
  return all;
}();

template <class Real>
built_tree<Real> build_checked(matrix_view<Real> rows, std::string_view name, index leaf_size, int threads) {
  float_environment const environment;
  worker_scope const workers;
  step_options options;
  options.tree = name;
  options.leaf_size = leaf_size;
  options.threads = threads;
  resolve(options);
  if (rows.rows() < 1 || rows.cols() < 1)
    throw error("the data are " + std::to_string(rows.rows()) + " x " + std::to_string(rows.cols())
                + ": expected at least one row and one column");
  validate(point_set<Real>(rows), options.threads);
  return {options.tree, build_named(name, rows, leaf_size, options.threads)};
}

} // namespace

std::span<std::string_view const> trees() { return names; }

namespace {
thread_local build_counter* innermost = nullptr;
}
build_counter::build_counter(void const* rows) : rows_(rows), outer_(std::exchange(innermost, this)) {}
build_counter::~build_counter() { innermost = outer_; }
void build_counter::built(void const* rows) {
  for (build_counter* c = innermost; c != nullptr; c = c->outer_) c->builds_ += c->rows_ == rows;
}

template <class Real>
std::shared_ptr<any_tree<Real> const> build_named(std::string_view name, matrix_view<Real> rows,
                                                  index leaf_size, int threads) {
  auto const found = std::find_if(std::begin(table<Real>), std::end(table<Real>),
                                  [&](named_tree<Real> const& t) { return t.name == name; });
  build_counter::built(rows.row(0));
  return found->build(rows, leaf_size, threads);
}
template std::shared_ptr<any_tree<float> const> build_named(std::string_view, matrix_view<float>, index, int);
template std::shared_ptr<any_tree<double> const> build_named(std::string_view, matrix_view<double>, index,
                                                             int);

template <class Real> index built_tree<Real>::node_count() const { return tree_ ? tree_->node_count() : 0; }
template <class Real> tree_report built_tree<Real>::report() const {
  return tree_ ? tree_->report() : tree_report{};
}
template class built_tree<float>;
template class built_tree<double>;

built_tree<double> build_tree(matrix_view<double> rows, std::string_view name, index leaf_size, int threads) {
  return build_checked(rows, name, leaf_size, threads);
}
built_tree<float> build_tree(matrix_view<float> rows, std::string_view name, index leaf_size, int threads) {
  return build_checked(rows, name, leaf_size, threads);
}

} // namespace kopse
