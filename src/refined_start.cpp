// SPDX-License-Identifier: BSD-3-Clause
// Starts that cluster something small first.
//
// `refined` (P. S. Bradley, U. M. Fayyad, "Refining initial points for k-means clustering", ICML 1998; what
// the dual-tree paper starts from): k-means on each of a few random samples of the rows, from random starts;
// then k-means on all the centroids these found, from each of the solutions; the one with the least inertia
// there is the start.
//
// `coreset` (O. Bachem, M. Lucic, A. Krause, "Scalable k-means clustering via lightweight coresets", KDD
// 2018): k-means, from a k-means++ start, on a sample of rows drawn with probability
//
//   q = w / 2W + w·d²(x, mean) / 2 Σ w·d²(x, mean)
//
// which weigh w / q. It looks at each row twice, whatever k: for more rows than one wants to seed on.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "kopse/kmeans.hpp"
#include "kopse/random.hpp"
#include "mass_table.hpp"
#include "memory.hpp"
#include "seeding_methods.hpp"
#include "squares.hpp"
#include "step_common.hpp"

namespace kopse {

namespace {

// Rows that can be drawn, all of weight > 0.
template <class Real> std::vector<index> rows_of_weight(point_set<Real> const& points) {
  std::vector<index> rows;
  for (index i = 0; i < points.size(); ++i)
    if (points.weight(i) > 0) rows.push_back(i);
  return rows;
}

template <class Real> struct sample {
  matrix<Real> rows;
  std::vector<double> weights;
  point_set<Real> points() const { return {rows.view(), weights}; }
};

options fit_options(seeding_options const& s) {
  options o;
  o.threads = s.threads, o.stop = s.stop;
  return o;
}

// Sample number `number` of this restart.
template <class Real>
sample<Real> draw_sample(point_set<Real> const& points, std::vector<index> const& from, index size,
                         std::uint64_t seed, index restart) {
  sample<Real> s{matrix<Real>(size, points.dims()), {}};
  index out = 0;
  for (index const at : draw_rows(std::ssize(from), size, seed, restart)) {
    index const row = from[static_cast<std::size_t>(at)];
    std::copy_n(points.rows.row(row), points.dims(), s.rows.row(out++));
    give_back(points.rows, row);
    if (!points.weights.empty()) s.weights.push_back(points.weight(row));
  }
  return s;
}

matrix<double> first_rows(matrix_view<double> x, index k) { return matrix<double>(x.slice(0, k)); }
matrix<double> first_rows(matrix_view<float> x, index k) {
  matrix<double> first(k, x.cols());
  for (index j = 0; j < k; ++j) std::copy_n(x.row(j), x.cols(), first.row(j));
  return first;
}

seeding_result of_centroids(matrix<double> centroids) {
  seeding_result result;
  result.distinct = centroids.rows();
  result.centroids = std::move(centroids);
  return result;
}

} // namespace

template <class Real> seeding_result refined_start(seeding_task<Real> const& task) {
  auto const& [points, tree, k, o, partitions] = task;
  std::vector<index> const from = rows_of_weight(points);
  index const n = std::ssize(from), wanted = o.sample_rows > 0 ? o.sample_rows : refined_rows(n, k);
  index const size = std::clamp(wanted, std::min(k, n), n);
  if (n <= k) return plus_plus(task);
  options fitting = fit_options(o);
  random_stream const streams(o.seed, static_cast<std::uint32_t>(o.restart)); // a seed for each sample
  require_memory("refined with " + std::to_string(o.samples) + " samples",
                 8.0 * static_cast<double>(o.samples) * static_cast<double>(k * points.dims()));
  matrix<double> solutions(o.samples * k, points.dims());
  for (index j = 0; j < o.samples; ++j) {
    // A stream of the seed's own for each sample: those of restarts lie beside one another.
    sample<Real> const s =
        draw_sample(points, from, size, streams.bits(static_cast<std::uint64_t>(j)), o.restart);
    fitting.centroids = first_rows(s.rows.view(), k); // drawn at random, as all of the sample
    result const found = fit(s.points(), k, fitting);
    std::copy_n(found.centroids.row(0), k * points.dims(), solutions.row(j * k));
  }
  matrix<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (index j = 0; j < o.samples; ++j) {
    fitting.centroids = matrix<double>(solutions.view().slice(j * k, (j + 1) * k));
    result found = fit(point_set<double>(solutions.view()), k, fitting);
    if (j > 0 && !(found.inertia < least)) continue;
    least = found.inertia;
    best = std::move(found.centroids);
  }
  return of_centroids(std::move(best));
}
template seeding_result refined_start(seeding_task<float> const&);
template seeding_result refined_start(seeding_task<double> const&);

namespace {

// The rows drawn, and how often each.
template <class Real> class coreset_draw {
public:
  explicit coreset_draw(seeding_task<Real> const& task)
      : points_(task.points), options_(task.options), mean_(1, points_.dims()) {
    data_summary const summary = summarise(points_, false, options_.threads);
    exact_sums all(summary.layout(), 1);
    by_pages(points_.rows, 0, points_.size(), [&](index a, index b) {
      for (index i = a; i < b; ++i) all.add(0, points_.rows.row(i), points_.weight(i), 1);
    });
    all.mean(0, mean_.row(0));
  }

  sample<Real> draw(index size) const {
    seeding_part<Real> const whole{points_, nullptr};
    bit_range weights;
    for (index i = 0; i < points_.size(); ++i) weights.add(points_.weight(i));
    mass_table by_weight({weights, points_.size()}, points_.size());
    mass_table by_square(layout_of_squares<Real>({&whole, 1}, mean_, options_.threads), points_.size());
    exact_sum all_weights, all_squares;
    for (index i = 0; i < points_.size(); ++i) {
      by_weight.change(i, 0, points_.weight(i));
      double const m = mass(i);
      by_square.change(i, 0, m);
      all_weights.add(points_.weight(i));
      all_squares.add(m);
    }
    mass_sum const weight = by_weight.total(), squares = by_square.total();
    random_stream const random(options_.seed, static_cast<std::uint32_t>(options_.restart));
    std::unordered_map<index, index> times;
    std::vector<index> rows; // in the order drawn
    for (index i = 0; i < size; ++i) {
      check_stop(options_.stop);
      auto const number = static_cast<std::uint64_t>(i);
      std::uint64_t const u = random.bits(number, 1);
      bool const far = (random.bits(number) & 1) != 0 && !is_zero(squares);
      index const row = far ? by_square.find(share(squares, u), [this](index r) { return mass(r); })
                            : by_weight.find(share(weight, u), [this](index r) { return points_.weight(r); });
      if (far) give_back(points_.rows, row);
      if (times[row]++ == 0) rows.push_back(row);
    }
    sample<Real> s{matrix<Real>(std::ssize(rows), points_.dims()), {}};
    for (std::size_t j = 0; j < rows.size(); ++j) {
      std::copy_n(points_.rows.row(rows[j]), points_.dims(), s.rows.row(static_cast<index>(j)));
      double const share_of_squares = is_zero(squares) ? 0 : d2(rows[j]) / all_squares.value();
      double const q = (1 / all_weights.value() + share_of_squares) * all_weights.value(); // q / w, scaled
      s.weights.push_back(static_cast<double>(times[rows[j]]) / q);
      give_back(points_.rows, rows[j]);
    }
    return s;
  }

  index distances() const { return distances_; }

private:
  double d2(index row) const {
    ++distances_;
    Real const* const x = points_.rows.row(row);
    double const d2 = square(x, mean_.row(0), points_.dims());
    give_back(x, x + points_.dims(), false);
    return d2;
  }
  double mass(index row) const { return points_.weight(row) * d2(row); }

  point_set<Real> const& points_;
  seeding_options const& options_;
  matrix<double> mean_;
  mutable index distances_ = 0;
};

} // namespace

template <class Real> seeding_result coreset_start(seeding_task<Real> const& task) {
  index const k = task.k;
  seeding_options const& o = task.options;
  index const size = o.sample_rows > 0 ? o.sample_rows : coreset_rows(k);
  sample<Real> s;
  index distances = 0;
  if (size < task.points.size()) {
    coreset_draw<Real> const drawing(task);
    s = drawing.draw(size);
    distances = drawing.distances();
  }
  options fitting = fit_options(o);
  fitting.seed = ~o.seed; // other numbers than the sample was drawn by
  seeding_result result = s.rows.rows() > k ? of_centroids(fit(s.points(), k, fitting).centroids)
                                            : plus_plus(task); // no sample smaller than the whole of k rows
  result.work.distances += distances;
  return result;
}
template seeding_result coreset_start(seeding_task<float> const&);
template seeding_result coreset_start(seeding_task<double> const&);

} // namespace kopse
