// SPDX-License-Identifier: BSD-3-Clause
// The tables of docs/algorithms.md as numbers, and what was measured where those say nothing: trees have
// about 3·n / leaf_size nodes, cover trees n·d / 25 up to half as many as rows, k-means++ on one takes 52
// bytes a row, a thread 2 MiB.
#include "kopse/memory_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "input_checks.hpp"
#include "kopse/tree/octree.hpp"
#include "seeding_methods.hpp"

namespace kopse {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct sizes {
  double n, d, k, real, nodes, words, workers; // words: bytes of the exact sums of a row or node
};

double tree_bytes(sizes const& s, std::string_view name) {
  double const ball = 8 * s.d + 16, box = 2 * s.d * s.real;
  double const node = 24 + (name == "ball" || name == "cover" ? ball : box);
  double const build = name == "cover" ? 30 * s.n : name == "octree" ? 6 * s.n : 0; // while it is built
  return s.n * (s.d * s.real + 8) + s.nodes * node + build;
}

// The groups of dense: a multiple of 4, of at least 16 centroids each.
double groups_of_dense(sizes const& s) {
  double const most = std::floor(std::max(s.d, 16.0) / 4) * 4;
  return std::ceil(std::min(std::ceil(s.k / 16), most) / 4) * 4;
}

double step_bytes(sizes const& s, std::string_view algorithm, double groups) {
  double const of_nodes = 4 * s.n + s.nodes * (4 + s.words);
  if (algorithm == "hamerly") return 20 * s.n;
  if (algorithm == "exponion") { // the fewer the columns, the shorter are most lists
    double const of_longest = s.d <= 3 ? 0.2 : s.d <= 8 ? 0.65 : 1;
    return 20 * s.n + (8 * s.d + 12) * of_longest * std::min(s.k * s.k, s.n + 32 * s.k);
  }
  if (algorithm == "elkan") return 4 * s.n * s.k + 4 * s.k * s.k + 12 * s.n;
  if (algorithm == "yinyang") return 4 * s.n * groups + 12 * s.n;
  if (algorithm == "dense") return 4 * s.n * groups_of_dense(s) + 8 * s.n;
  if (algorithm == "filter" || algorithm == "blacklist") return of_nodes;
  if (algorithm == "dualtree") return of_nodes + 24 * s.n + 30 * s.nodes;
  if (algorithm == "frontier") return of_nodes + 21 * s.n + 20 * s.nodes + 700 * s.k;
  if (algorithm == "line") return 4 * s.n; // its sorted rows are counted as its tree
  return 4 * s.n;                          // lloyd
}

// As src/auto.cpp chooses before it has seen anything.
std::string_view likely(sizes const& s) {
  if (s.d == 1) return "line";
  if (s.n * s.k * s.d < 1e6) return "lloyd";
  if (s.d <= 5) return "frontier"; // above 3 by a probe: that of most data
  return "dense";
}

// What `auto` may come to: frontier by a probe, or dense, also after it with the tree still there.
void widen_for_auto(memory_plan& plan, sizes const& s, double tree, double most_dims, double groups) {
  if (s.d <= 3 || s.d > most_dims) return;
  double const frontier = step_bytes(s, "frontier", groups), dense = step_bytes(s, "dense", groups);
  plan.tree = tree;
  plan.step = std::max(frontier, dense + 8 * s.n);
}

// What a start takes that fits a sample: what is drawn from, the sample, and its fit.
double sample_bytes(sizes const& s, double rows, double each) {
  options of_sample;
  of_sample.threads = static_cast<int>(s.workers);
  memory_plan const fit = plan_memory(static_cast<index>(rows), static_cast<index>(s.d),
                                      s.real == sizeof(float), static_cast<index>(s.k), of_sample, true);
  return each * s.n + rows * (s.d * s.real + 80) + fit.peak();
}

// On a tree.
double start_bytes(sizes const& s, options const& o, double groups) {
  std::string_view const init = resolve_init(o.init);
  if (init == "k-means||") { // squares, labels, a step of `auto`, and what its rounds leave behind
    double const left = s.d <= 3 ? 0 : 76 * s.n;
    return 12 * s.n + std::max(step_bytes(s, "frontier", groups), step_bytes(s, "dense", groups)) + left;
  }
  if (init == "bisecting") return (16 + s.d) * s.n;
  auto const n = static_cast<index>(s.n), k = static_cast<index>(s.k);
  auto const coreset = static_cast<double>(coreset_rows(k)),
             refined = static_cast<double>(refined_rows(n, k));
  if (init == "coreset" && coreset < s.n) return sample_bytes(s, coreset, 1);
  if (init == "refined" && refined < s.n) return sample_bytes(s, refined, 8);
  return (s.workers > 1 ? 54 : 52) * s.n + 8 * s.nodes; // k-means++
}

memory_plan plan_of(sizes const& s, options const& o, step_options const& resolved, std::string_view asked,
                    bool by_passes) {
  double const groups = o.groups > 0 ? static_cast<double>(o.groups) : std::max(1.0, std::floor(s.k / 10));
  std::string_view const algorithm = asked == "auto" ? likely(s) : asked;
  bool const seeded_by_tree = !o.centroids && !by_passes && seeding_uses_tree(resolve_init(o.init));
  double const tree = tree_bytes(s, resolved.tree);
  memory_plan plan;
  plan.algorithm = asked;
  plan.by_passes = by_passes;
  if (seeded_by_tree || (algorithm != "auto" && uses_tree(algorithm))) plan.tree = tree;
  if (algorithm == "line") plan.tree += 18 * s.n;
  if (seeded_by_tree)
    plan.start = start_bytes(s, o, groups);
  else if (by_passes)
    plan.start = 8.5 * s.n; // the squares, and sums by 128
  else if (algorithm == "line")
    plan.start = 32 * s.n; // sorting
  plan.step = step_bytes(s, algorithm, groups);
  if (asked == "auto" && o.memory_limit < infinity && algorithm != "lloyd")
    widen_for_auto(plan, s, tree, 64, groups);
  else if (asked == "auto" && s.d <= 16 && algorithm == "dense") { // or frontier, by a probe
    double const frontier = step_bytes(s, "frontier", groups);
    if ((seeded_by_tree ? 0 : tree) + frontier > plan.step) plan.tree = tree, plan.step = frontier;
  }
  plan.labels = 4 * s.n;
  if (o.verify) plan.step += 8 * s.n; // the labels of both sides
  plan.clusters = s.k * (8 * s.d * 8 + s.words * (s.workers + (o.verify ? 5 : 3)) + 64);
  plan.threads = 0x1p21 * (s.workers - 1);
  if (o.restarts > 1 && !o.centroids) plan.start += plan.labels;
  return plan;
}

} // namespace

memory_plan plan_memory(index n, index d, bool float32, index k, options const& o, bool weighted) {
  auto const real = static_cast<double>(float32 ? sizeof(float) : sizeof(double));
  auto const leaf = static_cast<double>(std::max<index>(o.leaf_size, 1));
  sizes s{static_cast<double>(n), static_cast<double>(d), static_cast<double>(k), real, 0, 0, 0};
  s.words = 16 * (s.d + 1);
  step_options resolved = o;
  resolve(resolved);
  if (resolved.tree == "octree" && uses_tree(resolved.algorithm)) orthant_split::check(d);
  double const of_rows = resolved.tree == "cover" ? std::clamp(s.d / 25, 3 / leaf, 0.55) : 3 / leaf;
  s.nodes = std::min(2 * s.n, std::max(1.0, of_rows * s.n));
  int const threads = o.threads == 0 ? worthwhile(0, n, k) : o.threads;
  s.workers = threads == 0 ? resolved.threads : threads;

  std::vector<std::string_view> algorithms{resolved.algorithm};
  bool const limited = o.memory_limit < infinity;
  if (limited && (uses_tree(resolved.algorithm) ? d <= 8 || resolved.algorithm != "auto" : d <= 8))
    algorithms.push_back("filter");
  if (limited) algorithms.push_back("lloyd");
  bool const has_passes = limited && !o.centroids && resolve_init(o.init) == "k-means++";
  memory_plan plan;
  for (std::string_view const algorithm : algorithms)
    for (bool const by_passes : {false, true}) {
      if (by_passes && !has_passes) continue;
      plan = plan_of(s, o, resolved, algorithm, by_passes);
      if (weighted) plan.weights = 8 * s.n;
      if (plan.ample() <= o.memory_limit) return plan;
    }
  return plan;
}

} // namespace kopse
