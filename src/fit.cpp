// SPDX-License-Identifier: BSD-3-Clause
// The front door: checks everything, prepares once, runs each restart, keeps the best.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "checkpoint.hpp"
#include "input_checks.hpp"
#include "kopse/kmeans.hpp"
#include "kopse/memory_plan.hpp"
#include "memory.hpp"
#include "partitions.hpp"
#include "seeding_methods.hpp"
#include "step_common.hpp"
#include "verify.hpp"

namespace kopse {

char const* version() noexcept { return KOPSE_VERSION; }

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
  if (!(o.time_limit >= 0))
    throw usage_error("time_limit = " + in_digits(o.time_limit) + ": expected a number >= 0");
  if (!(o.memory_limit > 0))
    throw usage_error("memory_limit = " + in_digits(o.memory_limit) + ": expected a number > 0");
  if (!(o.checkpoint.every_seconds >= 0) || o.checkpoint.every_iterations < 0)
    throw usage_error("checkpoints every " + in_digits(o.checkpoint.every_seconds) + " seconds, or "
                      + std::to_string(o.checkpoint.every_iterations) + " iterations: expected numbers >= 0");
  if (o.checkpoint.resume && o.checkpoint.file.empty())
    throw usage_error("resume: expected a checkpoint's file");
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

void add_warnings(result& r, index k, bool weighted, options const& o, index unmade) {
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
  if (r.reason == stop_reason::time_limit)
    r.warnings.push_back("stopped after the time limit, before it converged");
  if (unmade > 0 && o.restarts > 1)
    r.warnings.push_back(std::to_string(unmade) + " of " + std::to_string(o.restarts)
                         + " restarts were cut short or left out, after the time limit");
  if (o.centroids && o.restarts > 1)
    r.warnings.push_back("starting centroids were given: one run in place of " + std::to_string(o.restarts));
}

[[noreturn]] void refuse_start(std::string const& init) {
  throw usage_error(
      "init '" + init
      + "' is for rows in one place: expected k-means++, k-means||, random or starting centroids");
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

template <class Real> memory_plan plan_for(point_set<Real> const& points, index k, options const& o) {
  return plan_memory(points.size(), points.dims(), sizeof(Real) == sizeof(float), k, o,
                     !points.weights.empty());
}

// `auto` takes lloyd where there is too little for another.
template <class Real>
double least_memory(point_set<Real> const& points, index k, options o, built_tree<Real> const& tree) {
  if (o.algorithm == "auto" && !(o.memory_limit < infinity)) o.algorithm = "lloyd";
  memory_plan plan = plan_for(points, k, o);
  if (tree) plan.tree = 0; // it is there
  return plan.peak();
}

// One fit. What is prepared once are members; each restart is a run.
template <class Real> class fitting {
public:
  fitting(point_set<Real> points, index k, options o, built_tree<Real> const& tree, reduction& all)
      : points_(points), k_(k), o_(std::move(o)), all_(all) {
    if (o_.time_limit < infinity)
      deadline_ = clock::now()
                  + std::chrono::duration_cast<clock::duration>(
                      std::chrono::duration<double>(std::min(o_.time_limit, longest_limit)));
    prepare(tree);
  }

  result run() {
    index const restarts = o_.centroids ? 1 : o_.restarts;
    for (; now_.restart < restarts; ++now_.restart) {
      run_restart();
      if (!cut_short_ && (now_.restart + 1 == restarts || !late())) continue;
      unmade_ = restarts - now_.restart - (cut_short_ ? 0 : 1);
      if (!cut_short_ && keeper_) end_restart();
      break;
    }
    if (!labelled_) find_labels();
    return finished();
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr double longest_limit = 1e9; // seconds; a clock that counts nanoseconds ends at 9e9

  bool late() { return deadline_ && all_.any(clock::now() >= *deadline_); }

  void prepare(built_tree<Real> const& tree) {
    o_.threads = worthwhile(o_.threads, points_.size(), k_);
    resolve(o_);
    starting_ = of_seeding(o_);
    if (o_.algorithm == "auto")
      starting_.tree = o_.tree, starting_.leaf_size = o_.leaf_size; // it may take that
    whole_ = join(points_, k_, o_, all_);
    points_.offset = whole_.first;
    check(whole_.rows, points_.dims(), k_, o_);
    if (all_.parts() > 1 && !o_.centroids && !spreads(starting_.init)) refuse_start(starting_.init);
    bool const by_passes = keep_within_limit();
    require_memory_of_fit(least_memory(points_, k_, o_, tree), 0x1p23 * (o_.threads - 1)); // stacks
    validate_part(points_, o_.threads);
    if (o_.spherical) check_unit_length(points_, o_.threads);
    if (!o_.checkpoint.file.empty()) take_up();
    if (whole_.weighted) scale_weights();
    data_summary summary = summarise(points_, o_.tol > 0, o_.threads);
    all_.merge(summary);
    for (exact_variance const& v : summary.variance) mean_variance_ += v.value();
    mean_variance_ /= static_cast<double>(points_.dims());
    layout_ = summary.layout();
    stopwatch const watch(seconds_.tree);
    maker_.emplace(points_, layout_, o_, tree);
    maker_->build();
    if (by_passes) return;
    if (points_.size() > 0) seeding_tree_ = tree_to_seed(points_.rows, maker_->tree(), tree, o_, starting_);
    maker_->adopt(seeding_tree_);
  }

  void scale_weights() {
    weights_ = scaled_by_all(points_.weights, exponent_, all_);
    if (!weights_.empty()) points_.weights = weights_;
  }

  // What fits takes the place of the algorithm. Returns whether k-means++ is to do without a tree.
  bool keep_within_limit() {
    if (!(o_.memory_limit < infinity)) return false;
    memory_plan const plan = plan_for(points_, k_, o_);
    if (plan.ample() > o_.memory_limit)
      throw memory_error("memory_limit = " + in_digits(o_.memory_limit) + ": the fit takes at least "
                         + in_digits(std::ceil(plan.ample())) + " bytes beside its rows and weights");
    o_.algorithm = plan.algorithm;
    return plan.by_passes;
  }

  // What the file knows of this fit. The first partition has it, and tells the others.
  void take_up() {
    fit_identity const of = identify(points_, k_, o_, whole_, all_);
    if (all_.part() == 0) keeper_.emplace(o_.checkpoint, of);
    auto const bytes = that_of_first(keeper_ ? keeper_->bytes() : std::nullopt, all_);
    if (!bytes) return;
    from_ = read_checkpoint(o_.checkpoint.file, *bytes, of);
    if (keeper_) keeper_->go_on(*from_);
    if (o_.checkpoint.on_resume) o_.checkpoint.on_resume(from_->now.restart, from_->iteration);
    resumed_ = {from_->now.restart, from_->iteration};
    seconds_ = from_->seconds;
    now_ = from_->now;
    if (!from_->best) return;
    best_ = std::move(*from_->best);
    any_ = true;
  }

  driver_options driving() {
    driver_options d{o_.max_iter, o_.tol, o_.empty, o_.on_iteration, o_.stop, o_.threads, o_.spherical};
    if (o_.on_iteration && exponent_ != 0)
      d.on_iteration = [this](index iteration, iteration_record record) {
        record.inertia = std::ldexp(record.inertia, exponent_);
        o_.on_iteration(iteration, record);
      };
    d.deadline = deadline_;
    if (keeper_)
      d.on_point = [this, start = clock::now()](run_point const& point, bool last) {
        bool const end = point.ended && now_.restart + 1 >= o_.restarts;
        phase_seconds so_far = seconds_;
        so_far.iterate += std::chrono::duration<double>(clock::now() - start).count();
        restart_state now = now_;
        now.choices = choices();
        keeper_->offer(so_far, any_ ? &best_ : nullptr, now, &point, last || end);
      };
    return d;
  }

  void run_restart() {
    if (from_ && !from_->started) from_.reset();
    matrix<double> start = from_ ? matrix<double>() : start_of_restart();
    stopwatch const watch(seconds_.iterate);
    step_ = maker_->make(k_);
    if (o_.verify) step_ = make_verifying(std::move(step_), points_, layout_, k_, o_);
    driver_options const how = driving();
    run_result run = from_ ? resume(*step_, layout_, from_->point(), mean_variance_, how, all_)
                           : iterate(*step_, layout_, std::move(start), mean_variance_, how, all_);
    cut_short_ = run.reason == stop_reason::time_limit;
    if (!any_ || run.inertia < best_.inertia) {
      static_cast<run_result&>(best_) = std::move(run);
      best_.best_restart = now_.restart;
      best_.warnings = std::move(now_.warnings);
      best_.choices = choices();
      take_labels();
      any_ = true;
    }
    step_.reset(); // before there is another
    from_.reset();
  }

  matrix<double> start_of_restart() {
    stopwatch const watch(seconds_.seed);
    starting_.restart = now_.restart;
    now_.choices.clear();
    now_.warnings.clear();
    if (o_.centroids) return *o_.centroids;
    try {
      seeding_result start = seed_checked<Real>({points_, seeding_tree_, k_, starting_, &all_});
      now_.warnings = std::move(start.warnings);
      return std::move(start.centroids);
    } catch (interrupted const&) {
      if (keeper_ && any_) keeper_->offer(seconds_, &best_, now_, nullptr, true);
      throw;
    }
  }

  // Its outcome is part of the best: to go on, the next start is needed.
  void end_restart() {
    restart_state next;
    next.restart = now_.restart + 1;
    keeper_->offer(seconds_, &best_, next, nullptr, true);
  }

  // Of this run, before it was taken up and since. The step counts its assignments, the first of which is, in
  // a run that was taken up, that of the iteration it was at.
  std::vector<algorithm_choice> choices() const {
    std::vector<algorithm_choice> all = now_.choices;
    std::vector<algorithm_choice> since = step_->choices();
    if (o_.algorithm == "auto" && points_.dims() == 1) since = {{1, "line", "one column"}};
    for (algorithm_choice& c : since) {
      if (from_) c.iteration += std::max<index>(from_->iteration - 1, 0);
      if (all.empty() || all.back().algorithm != c.algorithm) all.push_back(std::move(c));
    }
    return all;
  }

  // Of a best run that was over before this fit was taken up.
  void find_labels() {
    stopwatch const watch(seconds_.iterate);
    step_ = maker_->make(k_);
    step_->assign(best_.centroids);
    take_labels();
  }

  void take_labels() {
    best_.labels.resize(static_cast<std::size_t>(points_.size()));
    step_->labels(best_.labels);
    labelled_ = true;
  }

  result finished() {
    best_.inertia = std::ldexp(best_.inertia, exponent_);
    for (iteration_record& record : best_.trace) record.inertia = std::ldexp(record.inertia, exponent_);
    best_.seconds = seconds_;
    best_.algorithm = o_.algorithm;
    if (o_.algorithm != "auto") best_.choices.clear(); // of before it was taken up
    auto const of_tree = [](algorithm_choice const& c) { return uses_tree(c.algorithm); };
    if (o_.algorithm != "auto" || std::any_of(best_.choices.begin(), best_.choices.end(), of_tree))
      best_.tree = maker_->tree().name();
    best_.resumed = resumed_;
    add_warnings(best_, k_, whole_.weighted, o_, unmade_);
    if (keeper_)
      for (std::string& warning : keeper_->warnings()) best_.warnings.push_back(std::move(warning));
    return std::move(best_);
  }

  point_set<Real> points_;
  index k_;
  options o_;
  reduction& all_;
  whole_data whole_;
  std::optional<clock::time_point> deadline_;
  seeding_options starting_;
  int exponent_ = 0;
  std::vector<double> weights_; // scaled
  double mean_variance_ = 0;
  sum_layout layout_;
  std::optional<step_maker<Real>> maker_;
  built_tree<Real> seeding_tree_;
  std::optional<checkpoint_keeper> keeper_;
  std::optional<checkpoint> from_; // where to go on, until that was done
  std::optional<result::resumed_at> resumed_;
  restart_state now_;
  std::unique_ptr<assignment_step> step_;
  result best_;
  bool any_ = false;       // there is a best one
  bool labelled_ = false;  // its labels are known
  bool cut_short_ = false; // the last run, by the time limit
  index unmade_ = 0;       // restarts
  phase_seconds seconds_;

public:
  std::string where() const { return keeper_ ? keeper_->where() : ""; }
};

template <class Real>
result fit_any(point_set<Real> points, index k, options const& o, reduction& all,
               built_tree<Real> const& tree = {}) {
  float_environment const environment;
  worker_scope const workers;
  std::optional<fitting<Real>> one; // given back before what is available is looked up
  try {
    return all.together([&] {
      one.emplace(points, k, o, tree, all);
      result done = one->run();
      all.any(false); // none is done before all are
      return done;
    });
  } catch (interrupted const&) {
    if (!one || one->where().empty()) throw;
    throw interrupted("interrupted: " + one->where());
  } catch (std::bad_alloc const&) {
    one.reset();
    report_exhausted_memory(least_memory(points, k, o, tree));
  }
}

template <class Real>
result fit_alone(point_set<Real> points, index k, options const& o, built_tree<Real> const& tree = {}) {
  reduction alone;
  return fit_any(points, k, o, alone, tree);
}

} // namespace

result fit(point_set<double> points, index k, options const& o) { return fit_alone(points, k, o); }
result fit(point_set<float> points, index k, options const& o) { return fit_alone(points, k, o); }
result fit(point_set<double> points, index k, options const& o, built_tree<double> const& tree) {
  return fit_alone(points, k, o, tree);
}
result fit(point_set<float> points, index k, options const& o, built_tree<float> const& tree) {
  return fit_alone(points, k, o, tree);
}
result fit(point_set<double> points, index k, options const& o, reduction& partitions) {
  return fit_any(points, k, o, partitions);
}
result fit(point_set<float> points, index k, options const& o, reduction& partitions) {
  return fit_any(points, k, o, partitions);
}

} // namespace kopse
