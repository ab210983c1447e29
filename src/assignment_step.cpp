// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/assignment_step.hpp"

#include <algorithm>

#include "auto.hpp"
#include "kopse/io.hpp"
#include "kopse/parallel.hpp"
#include "kopse/tree/octree.hpp"
#include "steps.hpp"

namespace kopse {

namespace {
constexpr std::string_view algorithm_names[] = {"auto",    "lloyd",    "hamerly",  "elkan",
                                                "yinyang", "exponion", "dense",    "blacklist",
                                                "filter",  "dualtree", "frontier", "line"};

struct alias {
  std::string_view name, algorithm, tree;
};
constexpr alias aliases[] = {{"naive", "lloyd", ""},
                             {"pelleg-moore", "blacklist", ""},
                             {"dualtree-kd", "dualtree", "kd"},
                             {"dualtree-ct", "dualtree", "cover"},
                             {"dualtree-covertree", "dualtree", "cover"}};

void require_known(std::string_view what, std::string_view name, std::span<std::string_view const> known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (std::string_view const one : known) list += (list.empty() ? "" : ", ") + std::string(one);
  throw usage_error("unknown " + std::string(what) + " '" + printable(name) + "': expected one of " + list);
}
} // namespace

cluster_sums& cluster_sums::operator+=(cluster_sums const& other) {
  sums += other.sums;
  labels_changed += other.labels_changed;
  work += other.work;
  return *this;
}

bool farther(far_row const& a, far_row const& b) { return a.d2 != b.d2 ? a.d2 > b.d2 : a.row < b.row; }

char const* name(prune_rule rule) {
  switch (rule) {
  case prune_rule::score:
    return "score";
  case prune_rule::bisector:
    return "bisector";
  case prune_rule::owned_node:
    return "owned_node";
  case prune_rule::static_node_gap:
    return "static_node_gap";
  case prune_rule::static_node_bounds:
    return "static_node_bounds";
  case prune_rule::static_point_gap:
    return "static_point_gap";
  case prune_rule::static_point_bounds:
    return "static_point_bounds";
  case prune_rule::point_gap:
    return "point_gap";
  case prune_rule::point_bounds:
    return "point_bounds";
  case prune_rule::group:
    return "group";
  case prune_rule::centroid:
    return "centroid";
  case prune_rule::count:
    break;
  }
  return "";
}

void centroid_drift::measure(matrix_view<double> now, matrix_view<double> before, slack const& rounding) {
  moved_.resize(static_cast<std::size_t>(now.rows()));
  largest_ = second_ = 0;
  fastest_ = -1;
  for (label j = 0; j < now.rows(); ++j) {
    bool const still = std::equal(now.row(j), now.row(j) + now.cols(), before.row(j));
    double const moved = still ? 0 : rounding.upper(squared_distance(now.row(j), before.row(j), now.cols()));
    moved_[static_cast<std::size_t>(j)] = moved;
    if (moved > largest_)
      second_ = largest_, largest_ = moved, fastest_ = j;
    else
      second_ = std::max(second_, moved);
  }
}

work_counters& work_counters::operator+=(work_counters const& other) {
  distances += other.distances;
  node_scores += other.node_scores;
  for (std::size_t i = 0; i < prunes.size(); ++i) prunes[i] += other.prunes[i];
  return *this;
}

std::span<std::string_view const> algorithms() { return algorithm_names; }

bool uses_tree(std::string_view algorithm) {
  return algorithm == "auto" || algorithm == "blacklist" || algorithm == "filter" || algorithm == "dualtree"
         || algorithm == "frontier";
}

void resolve(step_options& options) {
  for (alias const& a : aliases) {
    if (options.algorithm != a.name) continue;
    options.algorithm = a.algorithm;
    if (a.tree.empty()) continue;
    if (options.tree != a.tree && options.tree != step_options().tree)
      throw usage_error(std::string(a.name) + " is dualtree over the tree " + std::string(a.tree)
                        + ", not over '" + printable(options.tree) + "'");
    options.tree = a.tree;
  }
  require_known("algorithm", options.algorithm, algorithm_names);
  require_known("tree", options.tree, trees());
  if (options.leaf_size < 1)
    throw usage_error("leaf size " + std::to_string(options.leaf_size) + ": expected at least 1");
  if (options.groups < 0)
    throw usage_error(std::to_string(options.groups) + " groups: expected at least 1, or 0 for k / 10");
  if (options.threads < 0)
    throw usage_error(std::to_string(options.threads)
                      + " threads: expected at least 1, or 0 for all there are");
  if (options.threads == 0) options.threads = available_threads();
}

template <class Real> struct step_maker<Real>::parts {
  point_set<Real> points;
  sum_layout layout;
  step_options options;
  std::shared_ptr<tree_source<Real>> tree;
  std::shared_ptr<sorted_line<Real> const> line; ///< for the algorithm of that name
};

template <class Real>
step_maker<Real>::step_maker(point_set<Real> points, sum_layout layout, step_options options,
                             built_tree<Real> tree)
    : parts_(
        std::make_unique<parts>(parts{points, std::move(layout), std::move(options), nullptr, nullptr})) {
  step_options& o = parts_->options;
  resolve(o);
  if (o.algorithm == "auto" && points.dims() == 1) o.algorithm = "line";
  if (o.algorithm == "line" && points.dims() != 1)
    throw usage_error("algorithm 'line' is for one column, and the data have "
                      + std::to_string(points.dims()));
  if (!uses_tree(o.algorithm)) tree = {};
  if (o.algorithm == "auto" && !tree && o.tree == "octree") // whether it will be built or not
    orthant_split::check(points.dims());
  if (tree && !tree.tree_->holds(points.rows)) throw usage_error("the tree was not built on these rows");
  parts_->tree = std::make_shared<tree_source<Real>>(std::move(tree), [rows = points.rows, o] {
    return built_tree<Real>(o.tree, build_named<Real>(o.tree, rows, o.leaf_size, o.threads));
  });
}
template <class Real> step_maker<Real>::~step_maker() = default;
template <class Real> step_maker<Real>::step_maker(step_maker&&) noexcept = default;

template <class Real> void step_maker<Real>::build() {
  step_options const& o = parts_->options;
  if (o.algorithm == "line" && !parts_->line) parts_->line = sort_line(parts_->points, parts_->layout, o);
  if (uses_tree(o.algorithm) && o.algorithm != "auto" && parts_->points.size() > 0) parts_->tree->get();
}

template <class Real> void step_maker<Real>::adopt(built_tree<Real> const& tree) {
  if (parts_->options.algorithm == "auto") parts_->tree->adopt(tree);
}

template <class Real> built_tree<Real> const& step_maker<Real>::tree() const { return parts_->tree->now(); }

template <class Real> std::unique_ptr<assignment_step> step_maker<Real>::make(index k) {
  build();
  auto const& [points, layout, options, tree, line] = *parts_;
  std::string const& name = options.algorithm;
  // A partition may be without rows, a tree may not.
  if (name == "lloyd" || points.size() == 0) return make_lloyd(points, layout, k, options);
  if (name == "hamerly") return make_hamerly(points, layout, k, options);
  if (name == "elkan") return make_elkan(points, layout, k, options);
  if (name == "yinyang") return make_yinyang(points, layout, k, options);
  if (name == "exponion") return make_exponion(points, layout, k, options);
  if (name == "dense") return make_dense(points, layout, k, options);
  if (name == "line") return make_line(line, k, options);
  if (name == "auto") return make_auto(points, layout, k, options, tree);
  return tree_access<Real>::get(tree->get())->make(points, layout, k, options);
}

template class step_maker<float>;
template class step_maker<double>;

} // namespace kopse
