// SPDX-License-Identifier: BSD-3-Clause
// Fits for many k over one tree, and what they say of k.
//
// For each k, ascending: the fresh starts that options ask for, and a warm one, which keeps the centroids of
// the k before and draws the others by k-means++ from what they leave. A warm start is a start like any
// other, and it makes the inertia fall with k, which unlucky fresh starts alone do not: its centroids are at
// least as near to every row as those of the k before.
#include "kopse/choose_k.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "checkpoint.hpp"
#include "input_checks.hpp"
#include "kopse/io.hpp"
#include "kopse/parallel.hpp"
#include "scores.hpp"
#include "seeding_methods.hpp"

namespace kopse {

namespace {

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Real> class sweep {
public:
  sweep(point_set<Real> points, choose_options const& options, built_tree<Real> const& tree)
      : points_(points), options_(options), tree_(tree), total_(total_inertia(points, options.threads)) {}

  k_scores score(index k) {
    auto const start = std::chrono::steady_clock::now();
    result run = fit(points_, k, options_, tree_);
    bool warm = false;
    if (options_.warm && before_.rows() > 0) {
      options from = options_;
      from.centroids = warm_start(k);
      from.restarts = 1;
      if (result other = fit(points_, k, from, tree_); other.inertia < run.inertia) {
        run = std::move(other);
        warm = true;
      }
    }
    k_scores s = criteria(run);
    s.warm = warm;
    s.seconds = since(start);
    before_ = std::move(run.centroids);
    return s;
  }

private:
  matrix<double> warm_start(index k) const {
    seeding_options s;
    s.seed = ~options_.seed; // other draws than the fresh start's
    s.candidates = options_.candidates, s.threads = options_.threads, s.stop = options_.stop;
    resolve(s);
    seeding_part<Real> const whole{points_, tree_access<Real>::get(tree_)};
    return plus_plus<Real>({&whole, 1}, before_, k, s).centroids;
  }

  k_scores criteria(result const& run) const {
    k_scores s;
    s.k = run.centroids.rows();
    s.inertia = run.inertia;
    s.iterations = run.iterations;
    s.converged = run.converged();
    s.empty_clusters = run.empty_clusters;
    std::vector<double> const weights = used_weights(run.labels, points_.weights, s.k);
    s.bic = bic(weights, run.inertia, points_.dims());
    s.aic = aic(weights, run.inertia, points_.dims());
    double weight = 0;
    for (double const w : weights) weight += w;
    double const used = static_cast<double>(weights.size());
    bool const defined = used > 1 && weight > used && run.inertia > 0 && std::isfinite(total_);
    s.calinski_harabasz = defined ? ((total_ - run.inertia) / (used - 1)) / (run.inertia / (weight - used))
                                  : std::numeric_limits<double>::quiet_NaN();
    s.silhouette = options_.silhouette ? simplified_silhouette(
                       points_, run.centroids.view(), std::span(run.labels), options_.threads, options_.stop)
                                       : std::numeric_limits<double>::quiet_NaN();
    return s;
  }

  point_set<Real> points_;
  choose_options const& options_;
  built_tree<Real> const& tree_;
  double total_;
  matrix<double> before_; // centroids of the k before
};

std::vector<index> checked(std::vector<index> ks, index n) {
  if (ks.empty()) throw usage_error("no k was given");
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  check_k(n, ks.front());
  check_k(n, ks.back());
  return ks;
}

template <class Real>
choice_result choose_any(point_set<Real> points, std::vector<index> ks, choose_options o,
                         built_tree<Real> tree) {
  float_environment const environment;
  worker_scope const workers;
  check_shape(points.size(), points.dims());
  ks = checked(std::move(ks), points.size());
  if (o.centroids) throw usage_error("starting centroids were given: they have one k, here there are many");
  check_short(o);
  if (o.spherical) throw usage_error("spherical: the criteria are for centroids that are means");
  resolve(o);
  validate(points, o.threads);
  build_counter const counter(points.rows.row(0));
  choice_result all;
  if (!tree) {
    auto const start = std::chrono::steady_clock::now();
    tree = build_tree(points.rows, uses_tree(o.algorithm) ? o.tree : "kd", o.leaf_size, o.threads);
    all.tree_seconds = since(start);
  }
  all.algorithm = o.algorithm;
  all.tree = tree.name();
  sweep<Real> fits(points, o, tree);
  index unfinished = 0, distinct = 0; // rows, where a k was too large for them
  for (index const k : ks) {
    all.curve.push_back(fits.score(k));
    k_scores const& s = all.curve.back();
    unfinished += !s.converged;
    if (s.empty_clusters > 0 && s.inertia == 0) distinct = k - s.empty_clusters;
    if (o.on_k) o.on_k(s);
  }
  all.chosen = choose(all.curve);
  all.tree_builds = counter.builds();
  if (distinct > 0)
    all.warnings.push_back(
        too_few_rows(distinct, !points.weights.empty(), "up to " + std::to_string(ks.back()) + " clusters")
        + ": the others stay empty");
  if (unfinished > 0)
    all.warnings.push_back("stopped after max_iter = " + std::to_string(o.max_iter)
                           + " iterations, before it converged, for " + std::to_string(unfinished) + " of "
                           + std::to_string(ks.size()) + " k");
  return all;
}

// The k of the best score, the first among equals; 0 if there is none.
template <class Score> index best_k(std::vector<k_scores> const& curve, Score const& score) {
  index best = 0;
  double best_score = 0;
  for (k_scores const& s : curve) {
    double const value = score(s);
    if (std::isnan(value) || (best > 0 && !(value > best_score))) continue;
    best = s.k, best_score = value;
  }
  return best;
}

// Farthest below the chord from the first to the last, in log k and log inertia: where inertia falls fast up
// to the number of clusters and then like any cloud's, k^(-2/d), both are straight and the knee is between
// them.
index knee_of(std::vector<k_scores> const& curve) {
  std::vector<std::pair<double, double>> at;
  std::vector<index> ks;
  for (k_scores const& s : curve)
    if (s.inertia > 0 && std::isfinite(s.inertia)) {
      at.emplace_back(std::log(static_cast<double>(s.k)), std::log(s.inertia));
      ks.push_back(s.k);
    }
  if (at.size() < 3) return 0;
  auto const [x0, y0] = at.front();
  auto const [x1, y1] = at.back();
  index best = 0;
  double farthest = 0;
  for (std::size_t i = 1; i + 1 < at.size(); ++i) {
    double const below = y0 + (y1 - y0) * (at[i].first - x0) / (x1 - x0) - at[i].second;
    if (below > farthest) farthest = below, best = ks[i];
  }
  return best;
}

[[noreturn]] void refuse(std::string_view part, std::string const& why) {
  throw usage_error("k '" + printable(part) + "': " + why);
}

index number(std::string_view text, std::string_view whole) {
  index value = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range)
    refuse(whole, "expected numbers from 1 to " + std::to_string(std::numeric_limits<index>::max()));
  if (problem != std::errc{} || end != text.data() + text.size() || value < 1)
    refuse(whole, "expected a number >= 1, FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:xFACTOR");
  return value;
}

constexpr index most_ks = 1000000; // of a list; nobody waits for so many fits

// A part of a list: FIRST:LAST, with ":STEP" or ":xFACTOR", or a number, which is both ends.
struct k_range {
  std::string_view text;
  index first = 0, last = 0;
  index step = 0;    // 0: by factor
  double factor = 2; // > 1
};

k_range range_of(std::string_view text) {
  k_range range{text};
  std::size_t const colon = std::min(text.find(':'), text.size());
  range.first = range.last = number(text.substr(0, colon), text);
  if (colon == text.size()) return range;
  std::size_t const second = std::min(text.find(':', colon + 1), text.size());
  range.last = number(text.substr(colon + 1, second - colon - 1), text);
  if (range.last < range.first) refuse(text, "the last is below the first");
  if (second == text.size()) return range;
  std::string_view const step = text.substr(second + 1);
  if (!step.starts_with('x')) {
    range.step = number(step, text);
    return range;
  }
  auto const [end, problem] = std::from_chars(step.data() + 1, step.data() + step.size(), range.factor);
  if (problem != std::errc{} || end != step.data() + step.size() || !(range.factor > 1)
      || std::isinf(range.factor))
    refuse(text, "the factor after x must be a number above 1");
  return range;
}

void add(k_range const& range, std::vector<index>& ks) {
  auto const too_many = [&] { refuse(range.text, "more than " + std::to_string(most_ks) + " numbers"); };
  auto const add_one = [&](index k) {
    if (!ks.empty() && ks.back() == k) return;
    if (std::ssize(ks) == most_ks) too_many();
    ks.push_back(k);
  };
  if (range.step > 0) {
    for (index k = range.first;; k += range.step) {
      add_one(k);
      if (range.last - k < range.step) return;
    }
  }
  auto const first = static_cast<double>(range.first), last = static_cast<double>(range.last);
  if (std::log(last / first) > std::log(range.factor) * static_cast<double>(most_ks)) too_many();
  for (double k = first; k <= last * (1 + 1e-9); k *= range.factor)
    add_one(k >= last ? range.last : static_cast<index>(std::llround(k)));
}

template <class F> void for_each_range(std::string_view text, F const& f) {
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t const comma = std::min(text.find(',', at), text.size());
    f(range_of(text.substr(at, comma - at)));
    at = comma + 1;
  }
}

} // namespace

std::vector<index> parse_ks(std::string_view text) {
  std::vector<index> ks;
  for_each_range(text, [&](k_range const& range) { add(range, ks); });
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return ks;
}

k_bounds parse_k_bounds(std::string_view text) {
  k_bounds bounds{std::numeric_limits<index>::max(), 0};
  for_each_range(text, [&](k_range const& range) {
    bounds.least = std::min(bounds.least, range.first);
    bounds.most = std::max(bounds.most, range.last);
  });
  return bounds;
}

k_choices choose(std::vector<k_scores> const& curve) {
  k_choices chosen;
  chosen.bic = best_k(curve, [](k_scores const& s) { return -s.bic; });
  chosen.aic = best_k(curve, [](k_scores const& s) { return -s.aic; });
  chosen.calinski_harabasz = best_k(curve, [](k_scores const& s) { return s.calinski_harabasz; });
  chosen.silhouette = best_k(curve, [](k_scores const& s) { return s.silhouette; });
  chosen.knee = knee_of(curve);
  return chosen;
}

choice_result choose_k(point_set<double> points, std::vector<index> ks, choose_options const& options,
                       built_tree<double> const& tree) {
  return choose_any(points, std::move(ks), options, tree);
}
choice_result choose_k(point_set<float> points, std::vector<index> ks, choose_options const& options,
                       built_tree<float> const& tree) {
  return choose_any(points, std::move(ks), options, tree);
}

} // namespace kopse
