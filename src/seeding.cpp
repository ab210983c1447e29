// SPDX-License-Identifier: BSD-3-Clause
// seed(): the methods by name, the checks, and the simplest method.
#include "kopse/seeding.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "input_checks.hpp"
#include "kopse/io.hpp"
#include "kopse/parallel.hpp"
#include "kopse/random.hpp"
#include "partitions.hpp"
#include "seeding_methods.hpp"

namespace kopse {

namespace {

template <class Real> struct method {
  std::string_view name, alias;
  bool uses_tree, takes_rows, spreads;
  seeding_result (*run)(seeding_task<Real> const&);
};
template <class Real>
constexpr method<Real> methods[] = {
    {"k-means++", "kmeans++", true, true, true, plus_plus<Real>},
    {"k-means||", "k-means-parallel", true, true, true, k_means_parallel<Real>},
    {"refined", "", true, false, false, refined_start<Real>},
    {"coreset", "", true, false, false, coreset_start<Real>},
    {"bisecting", "", true, false, false, bisecting_start<Real>},
    {"random", "", false, true, true, random_rows<Real>}};

constexpr auto names = [] {
  std::array<std::string_view, std::size(methods<double>)> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = methods<double>[i].name;
  return all;
}();

template <class Real> method<Real> const& find_method(std::string_view init) {
  for (method<Real> const& m : methods<Real>)
    if (init == m.name || (!m.alias.empty() && init == m.alias)) return m;
  std::string known;
  for (std::string_view const name : names) known += (known.empty() ? "" : ", ") + std::string(name);
  throw usage_error("unknown init '" + printable(init) + "': expected one of " + known);
}

template <class Real>
seeding_result seed_any(point_set<Real> points, index k, seeding_options options, built_tree<Real> tree) {
  float_environment const environment;
  worker_scope const workers;
  options.threads = worthwhile(options.threads, points.size(), k);
  resolve(options);
  check_shape(points.size(), points.dims());
  check_k(points.size(), k);
  validate(points, options.threads);
  int exponent = 0;
  std::vector<double> const weights = scaled(points.weights, exponent);
  if (!weights.empty()) points.weights = weights;
  if (tree && !tree_access<Real>::get(tree)->holds(points.rows))
    throw usage_error("the tree was not built on these rows");
  if (!tree && seeding_uses_tree(options.init))
    tree = build_tree(points.rows, options.tree, options.leaf_size, options.threads);
  return seed_checked<Real>({points, std::move(tree), k, options});
}

} // namespace

std::span<std::string_view const> inits() { return names; }
std::string_view resolve_init(std::string_view name) { return find_method<double>(name).name; }
bool takes_rows(std::string_view init) { return find_method<double>(init).takes_rows; }

void resolve(seeding_options& options) {
  options.init = resolve_init(options.init);
  auto const refuse = [](index value, char const* what, std::string const& expected) {
    throw usage_error(std::string(what) + " = " + std::to_string(value) + ": expected " + expected);
  };
  auto const at_least = [&](index value, index least, char const* what) {
    if (value < least) refuse(value, what, "at least " + std::to_string(least));
  };
  // Random numbers are numbered by these.
  auto const numbered = [&](index value, index least, char const* what) {
    at_least(value, least, what);
    if (value > most_draws) refuse(value, what, "less than 2^32");
  };
  numbered(options.candidates, 0, "candidates");
  numbered(options.restart, 0, "restart");
  numbered(options.rounds, 1, "rounds");
  numbered(options.samples, 1, "samples");
  at_least(options.sample_rows, 0, "sample_rows");
  if (!(options.oversampling > 0) || std::isinf(options.oversampling))
    throw usage_error("oversampling = " + in_digits(options.oversampling) + ": expected a finite number > 0");
  step_options of_tree;
  of_tree.tree = options.tree, of_tree.leaf_size = options.leaf_size, of_tree.threads = options.threads;
  resolve(of_tree);
  options.threads = of_tree.threads;
}

bool spreads(std::string_view init) { return find_method<double>(init).spreads; }
bool seeding_uses_tree(std::string_view init) { return find_method<double>(init).uses_tree; }

namespace {
index count_distinct(matrix<double> const& rows) {
  std::vector<index> order(static_cast<std::size_t>(rows.rows()));
  std::iota(order.begin(), order.end(), index{0});
  auto const before = [&](index a, index b) {
    return std::lexicographical_compare(rows.row(a), rows.row(a) + rows.cols(), rows.row(b),
                                        rows.row(b) + rows.cols());
  };
  std::sort(order.begin(), order.end(), before);
  index count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) count += i == 0 || before(order[i - 1], order[i]) ? 1 : 0;
  return count;
}
} // namespace

template <class Real> seeding_result seed_checked(seeding_task<Real> const& task) {
  auto const start = std::chrono::steady_clock::now();
  seeding_result result = find_method<Real>(task.options.init).run(task);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result.distinct < task.k)
    result.warnings.push_back(too_few_rows(result.distinct, !task.points.weights.empty(),
                                           std::to_string(task.k) + " starting centroids")
                              + ": the others repeat them");
  else if (result.distinct = count_distinct(result.centroids); result.distinct < task.k)
    result.warnings.push_back("equal centroids were drawn: only " + std::to_string(result.distinct)
                              + " of the " + std::to_string(task.k) + " starting centroids "
                              + (result.distinct == 1 ? "is" : "are") + " distinct");
  return result;
}
template seeding_result seed_checked(seeding_task<float> const&);
template seeding_result seed_checked(seeding_task<double> const&);

seeding_result seed(point_set<double> points, index k, seeding_options const& o,
                    built_tree<double> const& tree) {
  return seed_any(points, k, o, tree);
}
seeding_result seed(point_set<float> points, index k, seeding_options const& o,
                    built_tree<float> const& tree) {
  return seed_any(points, k, o, tree);
}

std::vector<index> draw_rows(index n, index k, std::uint64_t seed, index restart) {
  random_stream const random(seed, static_cast<std::uint32_t>(restart));
  // Position p of the shuffled rows 0 .. n-1, for the few positions where it is not p.
  std::unordered_map<index, index> moved;
  auto const at = [&](index p) {
    auto const found = moved.find(p);
    return found == moved.end() ? p : found->second;
  };
  std::vector<index> rows;
  rows.reserve(static_cast<std::size_t>(k));
  for (index i = 0; i < k; ++i) {
    index const pick =
        i
        + static_cast<index>(random.below(static_cast<std::uint64_t>(n - i), static_cast<std::uint64_t>(i)));
    rows.push_back(at(pick));
    moved[pick] = at(i);
  }
  return rows;
}

template <class Real> seeding_result random_rows(seeding_task<Real> const& task) {
  point_set<Real> const& points = task.points;
  reduction alone;
  reduction& all = task.partitions != nullptr ? *task.partitions : alone;
  index const first = all.parts() > 1 ? 0 : points.offset; // of the whole
  seeding_result result;
  result.distinct = task.k;
  result.rows = draw_rows(static_cast<index>(sum_of(static_cast<std::uint64_t>(points.size()), all)), task.k,
                          task.options.seed, task.options.restart);
  for (index& row : result.rows) row += first;
  result.centroids = rows_of_all(points, result.rows, all);
  return result;
}
template seeding_result random_rows(seeding_task<float> const&);
template seeding_result random_rows(seeding_task<double> const&);

} // namespace kopse
