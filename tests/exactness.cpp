// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for all tests: the oracle and the comparisons, for rows of either type.
#include "exactness.hpp"

namespace exactness {

template <class Real>
scenario<Real>::scenario(plan const& p)
    : rows(families::make_rows<Real>(p.data, p.n, p.d, p.seed)),
      weights(families::make_weights(p.weights, p.n, p.seed)),
      scaled(oracle::scaled_weights(weights, p.n).values),
      start(families::make_start(p.start, rows, p.k, p.seed)), settings(p.settings) {
  name = families::name(p.data) + (std::is_same_v<Real, float> ? " float" : " double") + " seed "
         + std::to_string(p.seed) + " n " + std::to_string(p.n) + " k " + std::to_string(p.k) + " d "
         + std::to_string(p.d) + " weights " + families::name(p.weights) + " start " + families::name(p.start)
         + (settings.empty == empty_policy::keep ? " keep" : " relocate") + " tol "
         + std::to_string(settings.tol) + " max_iter " + std::to_string(settings.max_iter);
}

template <class Real>
scenario<Real>::scenario(std::string n, matrix<Real> x, matrix<double> c, oracle::settings const& o,
                         std::vector<double> w)
    : name(std::move(n)), rows(std::move(x)), weights(std::move(w)),
      scaled(oracle::scaled_weights(weights, rows.rows()).values), start(std::move(c)), settings(o) {}

template <class Real> void scenario<Real>::run_oracle() {
  expected = oracle::lloyd(rows.view(), std::span<double const>(weights), start, settings);
  for (oracle::pass const& p : expected.passes) add(p);
}

template <class Real> void scenario<Real>::visit(matrix<double> const& centroids) {
  record const* before = passes.empty() ? nullptr : &passes.back();
  add(oracle::assignment(rows.view(), std::span<double const>(scaled), centroids.view(), before));
}

template <class Real> void scenario<Real>::add(oracle::pass const& p) {
  passes.emplace_back(p);
  record& r = passes.back();
  std::vector<double> moved, one;
  for (index i = 0; i < rows.rows(); ++i) {
    index const own = r.labels[static_cast<std::size_t>(i)];
    moved.push_back(oracle::distance2(rows.row(i), r.moved.row(own), rows.cols()));
    one.push_back(oracle::distance2(rows.row(i), r.centroids.row(0), rows.cols()));
  }
  r.inertia = oracle::inertia(scaled, r.d2);
  r.inertia_moved = oracle::inertia(scaled, moved);
  r.inertia_one = oracle::inertia(scaled, one);
}

std::string bits(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (%a)", x, x);
  return text;
}

std::vector<config> const& algorithms_and_trees() {
  static std::vector<config> const all = [] {
    std::vector<config> found;
    matrix<double> const two = families::make_rows<double>(family::uniform, 2, 1, 1);
    for (auto const algorithm : kopse::algorithms()) {
      if (algorithm == "line") continue;
      for (auto const tree : kopse::trees()) {
        config c{std::string(algorithm), std::string(tree)};
        c.uses_tree = !kopse::fit(kopse::point_set<double>(two.view()), 1, c.options()).tree.empty();
        found.push_back(c);
        if (!c.uses_tree) break;
      }
    }
    return found;
  }();
  return all;
}

namespace {
std::vector<config> for_columns(columns d) {
  std::vector<config> all = algorithms_and_trees();
  if (d == columns::of_the_data) {
    config line{"line", std::string(kopse::trees().front())};
    line.uses_tree = false;
    all.push_back(line);
  }
  return all;
}
} // namespace

std::vector<config> configs(std::size_t turn, columns d) {
  std::vector<config> all;
  for (config c : for_columns(d)) {
    bool const every = c.uses_tree && c.tree == kopse::trees().front();
    for (std::size_t leaf = 0; leaf < (every ? leaf_sizes.size() : 1); ++leaf) {
      c.leaf_size = leaf_sizes[(every ? leaf : turn + all.size()) % leaf_sizes.size()];
      c.threads = thread_counts[(turn + leaf) % thread_counts.size()];
      all.push_back(c);
    }
  }
  return all;
}

std::vector<config> few_configs(std::size_t turn, columns d) {
  std::vector<config> all = for_columns(d);
  for (config& c : all) {
    c.leaf_size = leaf_sizes[turn % leaf_sizes.size()];
    c.threads = thread_counts[turn++ % thread_counts.size()];
  }
  return all;
}

std::string name(config const& c) {
  return c.algorithm + " tree " + c.tree + " leaf " + std::to_string(c.leaf_size) + " threads "
         + std::to_string(c.threads);
}

AssertionResult same_labels(std::span<label const> got, std::span<label const> expected) {
  if (got.size() != expected.size())
    return AssertionFailure() << got.size() << " labels for " << expected.size();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i])
      return AssertionFailure() << "row " << i << " has label " << got[i] << " for " << expected[i];
  return AssertionSuccess();
}

AssertionResult same_number(char const* what, double got, double expected) {
  if (same(got, expected)) return AssertionSuccess();
  return AssertionFailure() << what << " is " << bits(got) << " for " << bits(expected);
}

AssertionResult same_count(char const* what, index got, index expected) {
  if (got == expected) return AssertionSuccess();
  return AssertionFailure() << what << ": " << got << " for " << expected;
}

AssertionResult same_matrix(matrix_view<double> got, matrix_view<double> expected) {
  if (got.rows() != expected.rows() || got.cols() != expected.cols())
    return AssertionFailure() << "centroids are " << got.rows() << " x " << got.cols();
  for (index c = 0; c < got.rows(); ++c)
    for (index j = 0; j < got.cols(); ++j)
      if (!same(got(c, j), expected(c, j)))
        return AssertionFailure() << "centroid " << c << " column " << j << " is " << bits(got(c, j))
                                  << " for " << bits(expected(c, j));
  return AssertionSuccess();
}

AssertionResult same_sums(kopse::exact_sums const& sums, oracle::pass const& p) {
  std::vector<double> mean(static_cast<std::size_t>(p.means.cols()));
  for (index c = 0; c < p.means.rows(); ++c) {
    double const weight = p.weights[static_cast<std::size_t>(c)];
    if (sums.weightless(c) != (weight == 0) || !same(sums.weight(c), weight))
      return AssertionFailure() << "cluster " << c << " weighs " << bits(sums.weight(c)) << " for "
                                << bits(weight);
    if (weight == 0) continue;
    sums.mean(c, mean.data());
    matrix_view<double> const got(mean.data(), 1, p.means.cols());
    if (auto r = same_matrix(got, p.means.view().slice(c, c + 1)); !r)
      return AssertionFailure() << "mean of cluster " << c << ": " << r.message();
  }
  return AssertionSuccess();
}

template <class Real>
AssertionResult same_farthest(kopse::assignment_step const& step, index count, scenario<Real> const& s,
                              record const& p, index offset) {
  kopse::far_rows const got = step.farthest(count);
  std::size_t const expected = std::min(static_cast<std::size_t>(count), p.candidates.size());
  if (got.size() != expected)
    return AssertionFailure() << "farthest(" << count << ") gave " << got.size() << " for " << expected;
  for (std::size_t m = 0; m < expected; ++m) {
    oracle::candidate const& best = p.candidates[m];
    if (got[m].row != best.row + offset || !same(got[m].d2, best.d2) || got[m].owner != best.owner)
      return AssertionFailure() << "farthest(" << count << ")[" << m << "] is row " << got[m].row << " d2 "
                                << bits(got[m].d2) << " owner " << got[m].owner << " for row "
                                << best.row + offset << " d2 " << bits(best.d2) << " owner " << best.owner;
    bool right = same(got[m].weight, s.scaled[static_cast<std::size_t>(best.row)])
                 && got[m].x.size() == static_cast<std::size_t>(s.rows.cols());
    for (index j = 0; right && j < s.rows.cols(); ++j)
      right = same(got[m].x[static_cast<std::size_t>(j)], static_cast<double>(s.rows(best.row, j)));
    if (!right)
      return AssertionFailure() << "farthest(" << count << ")[" << m << "] has another weight or x than row "
                                << best.row;
  }
  return AssertionSuccess();
}

AssertionResult all(std::initializer_list<AssertionResult> results) {
  for (auto const& r : results)
    if (!r) return r;
  return AssertionSuccess();
}

template <class Real> void wander(scenario<Real>& s, std::uint64_t seed) {
  index const k = s.start.rows(), d = s.start.cols();
  families::random r(seed);
  matrix<double> const a = s.start, b = families::make_start(families::start::mixed, s.rows, k, seed + 1);
  auto const permuted = [&](matrix<double> m) {
    for (index c = 0; c + 1 < k; ++c) std::swap_ranges(m.row(c), m.row(c) + d, m.row(c + r.below(k - c)));
    return m;
  };
  auto const nudged = [&](matrix<double> m, index rows) {
    for (index c = 0; c < rows; ++c) {
      double& x = m(r.below(k), r.below(d));
      x = std::nextafter(x, r.one_in(2) ? -HUGE_VAL : HUGE_VAL);
    }
    return m;
  };
  auto const between = [&](double part) {
    matrix<double> m = a;
    for (index i = 0; i < k * d; ++i) m.row(0)[i] = a.row(0)[i] * (1 - part) + b.row(0)[i] * part;
    return m;
  };
  for (int i = 0; i < 3; ++i) s.visit(a);                        // no movement
  for (int i = 0; i < 4; ++i) s.visit(permuted(a));              // labels change, owners do not
  for (std::size_t j = 0; j < families::start_names.size(); ++j) // jumps
    s.visit(families::make_start(static_cast<families::start>(j), s.rows, k, seed + 2 + j));
  for (int i = 0; i < 50; ++i) s.visit(i % 2 ? a : b);       // back and forth
  for (int i = 0; i < 6; ++i) s.visit(nudged(a, 1 + i % k)); // by one unit in the last place
  for (int i = 0; i <= 10; ++i) s.visit(between(i / 10.0));  // slowly
  for (int i = 0; i < 4; ++i) {                              // one alone
    matrix<double> m = b;
    std::copy_n(s.start.row(r.below(k)), d, m.row(r.below(k)));
    s.visit(m);
  }
}

template <class Real> scenario<Real> hairline(std::uint64_t seed) {
  families::random r(seed);
  index const k = 2 + r.below(3), d = std::array<index, 6>{1, 2, 3, 8, 30, 100}[seed % 6],
              n = d < 9 ? 80 : 20;
  double const scale = std::array{1.0, 1e6, 1e-3, 1e-155}[seed / 6 % (sizeof(Real) == 4 ? 3 : 4)];
  matrix<double> start(k, d);
  for (index i = 0; i < k * d; ++i) start.row(0)[i] = (r.unit() + (r.one_in(2) ? 1.0 : 0.0)) * scale;
  matrix<Real> rows(n, d);
  for (index i = 0; i < n; ++i) {
    index const a = r.below(k), b = r.below(k);
    for (index j = 0; j < d; ++j) {
      Real x = static_cast<Real>(start(a, j) / 2 + start(b, j) / 2);
      for (index ulps = r.below(3); ulps > 0; --ulps)
        x = std::nextafter(x, static_cast<Real>(r.one_in(2) ? -1e30 : 1e30));
      rows(i, j) = x;
    }
  }
  scenario<Real> s("hairline seed " + std::to_string(seed) + " d " + std::to_string(d), std::move(rows),
                   start);
  for (int pass = 0; pass < 30; ++pass) {
    s.visit(start);
    index const how = r.below(3);
    for (index c = 0; c < k; ++c)
      for (index j = 0; j < d; ++j) {
        double& x = start(c, j);
        if (how == 0 || r.one_in(k * d)) x = std::nextafter(x, r.one_in(2) ? -1e30 : 1e30);
        if (how == 1 && j == 0) x += scale * 1e-15 * static_cast<double>(r.below(5) - 2);
      }
  }
  return s;
}

template <class Real>
AssertionResult check_step(scenario<Real> const& s, config const& c, kopse::assignment_step& step,
                           kopse::sum_layout const& layout) {
  kopse::exact_sums sums(layout, s.start.rows());
  std::vector<label> labels(static_cast<std::size_t>(s.rows.rows()));
  for (std::size_t t = 0; t < s.passes.size(); ++t) {
    record const& p = s.passes[t];
    kopse::cluster_sums const change = step.assign(p.centroids.view());
    sums += change.sums;
    step.labels(labels);
    auto const r = all(
        {same_labels(labels, p.labels), same_count("labels changed", change.labels_changed, p.labels_changed),
         same_sums(sums, p), same_farthest(step, 1, s, p), same_farthest(step, 4, s, p),
         same_farthest(step, s.rows.rows() + 3, s, p),
         same_number("inertia", step.inertia(p.centroids.view()).value(), p.inertia),
         same_number("inertia about moved", step.inertia(p.moved.view()).value(), p.inertia_moved),
         same_number("inertia about one", step.inertia(p.centroids.view().slice(0, 1)).value(),
                     p.inertia_one)});
    if (!r)
      return AssertionFailure() << s.name << " | " << name(c) << " | iteration " << t + 1 << ": "
                                << r.message();
  }
  return AssertionSuccess();
}

template <class Real> AssertionResult check_steps(scenario<Real> const& s, config const& c) {
  if (!suits(c, s.rows.cols())) return AssertionSuccess();
  kopse::worker_scope const workers;
  kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
  kopse::step_maker<Real> maker(s.points(), layout, c.options());
  return check_step(s, c, *maker.make(s.start.rows()), layout);
}

template <class Real> AssertionResult check_fit(scenario<Real> const& s, config const& c) {
  if (!suits(c, s.rows.cols())) return AssertionSuccess();
  kopse::options o = c.options();
  o.centroids = s.start;
  o.max_iter = s.settings.max_iter, o.tol = s.settings.tol, o.empty = s.settings.empty;
  o.spherical = s.settings.spherical;
  kopse::result const got = kopse::fit(s.user_points(), s.start.rows(), o);
  oracle::run const& e = s.expected;
  auto r = all({same_count("iterations", got.iterations, e.iterations), same_labels(got.labels, e.labels),
                same_matrix(got.centroids.view(), e.centroids.view()),
                same_number("inertia", got.inertia, e.inertia),
                same_count("empty clusters", got.empty_clusters, e.empty_clusters),
                same_count("records in the trace", static_cast<index>(got.trace.size()), e.iterations)});
  if (r && got.reason != e.reason)
    r = AssertionFailure() << "stopped by " << name(got.reason) << " for " << name(e.reason);
  for (std::size_t t = 0; r && t < got.trace.size(); ++t)
    r = same_count(("labels changed in iteration " + std::to_string(t + 1)).c_str(),
                   got.trace[t].labels_changed, e.passes[t].labels_changed);
  if (r) return r;
  return AssertionFailure() << s.name << " | " << name(c) << " | fit: " << r.message();
}

template struct scenario<float>;
template AssertionResult same_farthest(kopse::assignment_step const&, index, scenario<float> const&,
                                       record const&, index);
template void wander(scenario<float>&, std::uint64_t);
template scenario<float> hairline(std::uint64_t);
template AssertionResult check_step(scenario<float> const&, config const&, kopse::assignment_step&,
                                    kopse::sum_layout const&);
template AssertionResult check_steps(scenario<float> const&, config const&);
template AssertionResult check_fit(scenario<float> const&, config const&);
template struct scenario<double>;
template AssertionResult same_farthest(kopse::assignment_step const&, index, scenario<double> const&,
                                       record const&, index);
template void wander(scenario<double>&, std::uint64_t);
template scenario<double> hairline(std::uint64_t);
template AssertionResult check_step(scenario<double> const&, config const&, kopse::assignment_step&,
                                    kopse::sum_layout const&);
template AssertionResult check_steps(scenario<double> const&, config const&);
template AssertionResult check_fit(scenario<double> const&, config const&);

} // namespace exactness
