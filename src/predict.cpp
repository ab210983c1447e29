// SPDX-License-Identifier: BSD-3-Clause
// New rows against centroids: labels, inertia, distances.
#include <cmath>

#include "input_checks.hpp"
#include "kopse/kmeans.hpp"
#include "nearest.hpp"
#include "partitions.hpp"
#include "step_common.hpp"

namespace kopse {

namespace {

template <class Real> void check(point_set<Real> const& points, matrix_view<double> centroids, int threads) {
  if (points.dims() != centroids.cols())
    throw error("the rows have " + std::to_string(points.dims()) + " columns, the centroids "
                + std::to_string(centroids.cols()));
  if (centroids.rows() < 1) throw error("there are no centroids");
  validate_part(points, threads);
  try {
    validate(point_set<double>(centroids));
  } catch (error const& e) {
    throw error(std::string("centroids: ") + e.what());
  }
}

step_options options_for(index n, index k, int threads, std::atomic<bool> const* stop) {
  step_options options;
  options.threads = worthwhile(threads, n, k);
  options.stop = stop;
  resolve(options);
  return options;
}

// Many points and centroids in low dimension: a first assignment by trees, whose building then pays;
// otherwise brute force. The same labels.
template <class Real>
std::vector<label> assign(matrix_view<Real> rows, matrix_view<double> centroids,
                          step_options const& options) {
  std::vector<label> labels(static_cast<std::size_t>(rows.rows()));
  constexpr index worth_a_tree = 24576; // of k·(d + 5), the time of a row by brute force; measured
  if (rows.rows() >= 4096 && rows.cols() <= 8 && centroids.rows() * (rows.cols() + 5) >= worth_a_tree) {
    point_set<Real> const points(rows);
    sum_layout const layout = summarise(points, false, options.threads).layout();
    auto const step = step_maker<Real>(points, layout, options).make(centroids.rows());
    step->assign(centroids);
    step->labels(labels);
    return labels;
  }
  brute_force const nearest(centroids);
  per_thread<brute_force::scratch> rooms([] { return brute_force::scratch(); });
  for_blocks(rows.rows(), 1024, options.threads, rooms, [&](auto& room, index first, index last) {
    check_stop(options.stop);
    by_pages(rows, first, last,
             [&](index a, index b) { nearest.find_nearest(rows.slice(a, b), room, labels.data() + a); });
  });
  return labels;
}

template <class Real>
std::vector<label> predict_any(matrix_view<Real> rows, matrix_view<double> centroids, int threads,
                               std::atomic<bool> const* stop) {
  float_environment const environment;
  worker_scope const workers;
  step_options const options = options_for(rows.rows(), centroids.rows(), threads, stop);
  check(point_set<Real>(rows), centroids, options.threads);
  return assign(rows, centroids, options);
}

template <class Real>
double inertia_any(point_set<Real> points, matrix_view<double> centroids, reduction& all, int threads,
                   std::atomic<bool> const* stop) {
  float_environment const environment;
  worker_scope const workers;
  return all.together([&] {
    step_options const options = options_for(points.size(), centroids.rows(), threads, stop);
    check(points, centroids, options.threads);
    int exponent = 0;
    std::vector<double> weights;
    if (all.any(!points.weights.empty())) weights = scaled_by_all(points.weights, exponent, all);
    if (!weights.empty()) points.weights = weights;
    std::vector<label> const labels = assign(points.rows, centroids, options);
    exact_sum sum = inertia_of(points.rows, points.weights, centroids, options.threads, stop,
                               [&](index i) { return labels[static_cast<std::size_t>(i)]; });
    all.merge(sum);
    return std::ldexp(sum.value(), exponent);
  });
}

template <class Real>
double inertia_alone(point_set<Real> points, matrix_view<double> centroids, int threads,
                     std::atomic<bool> const* stop) {
  reduction alone;
  return inertia_any(points, centroids, alone, threads, stop);
}

template <class Real>
matrix<Real> distances_any(matrix_view<Real> rows, matrix_view<double> centroids, int threads,
                           std::atomic<bool> const* stop) {
  float_environment const environment;
  worker_scope const workers;
  index const n = rows.rows(), d = rows.cols(), k = centroids.rows();
  step_options const options = options_for(n, k, threads, stop);
  check(point_set<Real>(rows), centroids, options.threads);
  matrix<double> by_column(d, k); // so that one row is measured against all centroids at once
  for (index c = 0; c < k; ++c)
    for (index j = 0; j < d; ++j) by_column(j, c) = centroids(c, j);
  matrix<Real> out(n, k);
  for_blocks(n, 64, options.threads, [&](index first, index last) {
    check_stop(stop);
    std::vector<double> squares(static_cast<std::size_t>(k));
    for (index i = first; i < last; ++i) {
      squared_distances(rows.row(i), d, by_column.row(0), k, k, squares.data());
      for (index c = 0; c < k; ++c)
        out(i, c) = static_cast<Real>(std::sqrt(squares[static_cast<std::size_t>(c)]));
    }
  });
  return out;
}

} // namespace

std::vector<label> predict(matrix_view<double> rows, matrix_view<double> centroids, int threads,
                           std::atomic<bool> const* stop) {
  return predict_any(rows, centroids, threads, stop);
}
std::vector<label> predict(matrix_view<float> rows, matrix_view<double> centroids, int threads,
                           std::atomic<bool> const* stop) {
  return predict_any(rows, centroids, threads, stop);
}

double inertia(point_set<double> points, matrix_view<double> centroids, int threads,
               std::atomic<bool> const* stop) {
  return inertia_alone(points, centroids, threads, stop);
}
double inertia(point_set<float> points, matrix_view<double> centroids, int threads,
               std::atomic<bool> const* stop) {
  return inertia_alone(points, centroids, threads, stop);
}
double inertia(point_set<double> points, matrix_view<double> centroids, reduction& partitions, int threads,
               std::atomic<bool> const* stop) {
  return inertia_any(points, centroids, partitions, threads, stop);
}
double inertia(point_set<float> points, matrix_view<double> centroids, reduction& partitions, int threads,
               std::atomic<bool> const* stop) {
  return inertia_any(points, centroids, partitions, threads, stop);
}

matrix<double> distances(matrix_view<double> rows, matrix_view<double> centroids, int threads,
                         std::atomic<bool> const* stop) {
  return distances_any(rows, centroids, threads, stop);
}
matrix<float> distances(matrix_view<float> rows, matrix_view<double> centroids, int threads,
                        std::atomic<bool> const* stop) {
  return distances_any(rows, centroids, threads, stop);
}

} // namespace kopse
