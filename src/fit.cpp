// SPDX-License-Identifier: BSD-3-Clause
// The front door: checks everything, prepares once, runs each restart, keeps the best.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "input_checks.hpp"
#include "kopse/kmeans.hpp"
#include "seeding_methods.hpp"
#include "step_common.hpp"
#include "verify.hpp"

namespace kopse {

char const* version() noexcept { return KOPSE_VERSION; }

namespace {

class stopwatch {
public:
  explicit stopwatch(double& total) : total_(total) {}
  ~stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  stopwatch(stopwatch const&) = delete;
  stopwatch& operator=(stopwatch const&) = delete;

private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void check(index n, index d, index k, options const& o) {
  check_shape(n, d);
  check_k(n, k);
  if (o.max_iter < 1) throw usage_error("max_iter = " + std::to_string(o.max_iter) + ": expected at least 1");
  if (!(o.tol >= 0)) throw usage_error("tol = " + in_digits(o.tol) + ": expected a number >= 0");
  if (o.restarts < 1) throw usage_error("restarts = " + std::to_string(o.restarts) + ": expected at least 1");
  if (o.restarts > most_starts)
    throw usage_error("restarts = " + std::to_string(o.restarts) + ": expected at most 2^32");
  if (!o.centroids) return;
  if (o.centroids->rows() != k || o.centroids->cols() != d)
    throw error("the starting centroids are " + shape(o.centroids->rows(), o.centroids->cols())
                + ": expected " + shape(k, d));
  try {
    validate(point_set<double>(*o.centroids));
  } catch (error const& e) {
    throw error(std::string("starting centroids: ") + e.what());
  }
}

void add_warnings(result& r, index k, bool weighted, options const& o) {
  index const used = k - r.empty_clusters;
  if (r.empty_clusters > 0 && r.inertia == 0)
    r.warnings = {too_few_rows(used, weighted, std::to_string(k) + " clusters") // the start's say less
                  + ": the others stay empty"};
  else if (r.empty_clusters > 0)
    r.warnings.push_back(std::to_string(r.empty_clusters) + " of " + std::to_string(k)
                         + " clusters are empty");
  if (r.reason == stop_reason::max_iter)
    r.warnings.push_back("stopped after max_iter = " + std::to_string(o.max_iter)
                         + " iterations, before it converged");
  if (o.centroids && o.restarts > 1)
    r.warnings.push_back("starting centroids were given: one run in place of " + std::to_string(o.restarts));
}

seeding_options of_seeding(options const& o) {
  seeding_options s;
  s.init = o.init, s.seed = o.seed, s.candidates = o.candidates, s.threads = o.threads, s.stop = o.stop;
  resolve(s);
  return s;
}

// The tree of the steps where they have one, else one more, if it is needed to start.
template <class Real>
built_tree<Real> tree_to_seed(matrix_view<Real> rows, built_tree<Real> const& of_steps,
                              built_tree<Real> const& given, options const& o,
                              seeding_options const& starting) {
  if (of_steps || o.centroids || !seeding_uses_tree(starting.init)) return of_steps;
  if (given && !tree_access<Real>::get(given)->holds(rows))
    throw usage_error("the tree was not built on these rows");
  if (given) return given;
  return build_tree(rows, starting.tree, starting.leaf_size, starting.threads);
}

template <class Real> seeding_result start_from(seeding_task<Real> const& task, options const& o) {
  if (!o.centroids) return seed_checked(task);
  seeding_result given;
  given.centroids = *o.centroids;
  return given;
}

template <class Real> result fit_any(point_set<Real> points, index k, options o, built_tree<Real> tree = {}) {
  float_environment const environment;
  worker_scope const workers;
  o.threads = worthwhile(o.threads, points.size(), k);
  resolve(o);
  seeding_options starting = of_seeding(o);
  if (o.algorithm == "auto") starting.tree = o.tree, starting.leaf_size = o.leaf_size; // it may take that one
  check(points.size(), points.dims(), k, o);
  validate(points, o.threads);
  if (o.spherical) check_unit_length(points, o.threads);
  int exponent = 0;
  std::vector<double> const weights = scaled(points.weights, exponent);
  if (!weights.empty()) points.weights = weights;

  data_summary const summary = summarise(points, o.tol > 0, o.threads);
  double mean_variance = 0;
  for (exact_variance const& v : summary.variance) mean_variance += v.value();
  mean_variance /= static_cast<double>(points.dims());
  sum_layout const layout = summary.layout();
  driver_options driving{o.max_iter, o.tol, o.empty, o.on_iteration, o.stop, o.threads, o.spherical};
  if (o.on_iteration && exponent != 0)
    driving.on_iteration = [&](index iteration, iteration_record record) {
      record.inertia = std::ldexp(record.inertia, exponent);
      o.on_iteration(iteration, record);
    };

  result best;
  phase_seconds seconds;
  step_maker<Real> maker(points, layout, o, tree);
  built_tree<Real> seeding_tree;
  {
    stopwatch const watch(seconds.tree);
    maker.build();
    seeding_tree = tree_to_seed(points.rows, maker.tree(), tree, o, starting);
    maker.adopt(seeding_tree);
  }
  for (index restart = 0; restart < (o.centroids ? 1 : o.restarts); ++restart) {
    seeding_result start;
    {
      stopwatch const watch(seconds.seed);
      starting.restart = restart;
      start = start_from<Real>({points, seeding_tree, k, starting}, o);
    }
    stopwatch const watch(seconds.iterate);
    std::unique_ptr<assignment_step> step = maker.make(k);
    if (o.verify) step = make_verifying(std::move(step), points, layout, k, o);
    reduction alone;
    run_result run = iterate(*step, layout, std::move(start.centroids), mean_variance, driving, alone);
    if (restart > 0 && !(run.inertia < best.inertia)) continue;
    static_cast<run_result&>(best) = std::move(run);
    best.best_restart = restart;
    best.warnings = std::move(start.warnings);
    best.choices = step->choices();
    best.labels.resize(static_cast<std::size_t>(points.size()));
    step->labels(best.labels);
  }
  best.inertia = std::ldexp(best.inertia, exponent);
  for (iteration_record& record : best.trace) record.inertia = std::ldexp(record.inertia, exponent);
  best.seconds = seconds;
  best.algorithm = o.algorithm;
  if (o.algorithm == "auto" && best.choices.empty()) best.choices = {{1, "line", "one column"}};
  auto const of_tree = [](algorithm_choice const& c) { return uses_tree(c.algorithm); };
  if (o.algorithm != "auto" || std::any_of(best.choices.begin(), best.choices.end(), of_tree))
    best.tree = maker.tree().name();
  add_warnings(best, k, !points.weights.empty(), o);
  return best;
}

} // namespace

result fit(point_set<double> points, index k, options const& o) { return fit_any(points, k, o); }
result fit(point_set<float> points, index k, options const& o) { return fit_any(points, k, o); }
result fit(point_set<double> points, index k, options const& o, built_tree<double> const& tree) {
  return fit_any(points, k, o, tree);
}
result fit(point_set<float> points, index k, options const& o, built_tree<float> const& tree) {
  return fit_any(points, k, o, tree);
}

} // namespace kopse
