// SPDX-License-Identifier: BSD-3-Clause
// The oracle: Lloyd's algorithm by brute force, which defines every bit that kopse returns.
//
// Distances are plain doubles, dimension after dimension; sums are integers of GMP, so means, variances and
// inertia are exact numbers rounded once. Nothing here is fast, nothing may be made fast, and nothing of the
// library's arithmetic is used: the only kopse types are the views of the rows.
#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kopse/kmeans.hpp"

namespace oracle {

using kopse::index;
using kopse::label;
using kopse::matrix;
using kopse::matrix_view;

/// numerator / denominator · 2^exponent, rounded once to the nearest double, ties to even.
inline double rounded(mpz_class numerator, mpz_class denominator, long exponent) {
  bool const negative = numerator < 0;
  if (numerator == 0) return 0;
  if (negative) numerator = -numerator;
  if (exponent > 0)
    numerator <<= static_cast<unsigned long>(exponent);
  else
    denominator <<= static_cast<unsigned long>(-exponent);
  // The quotient is in [2^place, 2^(place + 1)); its last bit as a double is 2^last, subnormals included.
  auto const bits = [](mpz_class const& z) { return static_cast<long>(mpz_sizeinbase(z.get_mpz_t(), 2)); };
  auto const times_power = [](mpz_class z, long e) {
    return e > 0 ? mpz_class(z << static_cast<unsigned long>(e)) : z;
  };
  long place = bits(numerator) - bits(denominator);
  if (times_power(numerator, -place) < times_power(denominator, place)) --place;
  long const last = std::max(place - 52, -1074L);
  mpz_class const n = times_power(numerator, -last), d = times_power(denominator, last);
  mpz_class quotient = n / d;
  mpz_class const twice_rest = 2 * (n - quotient * d);
  if (twice_rest > d || (twice_rest == d && mpz_odd_p(quotient.get_mpz_t()))) ++quotient;
  double const magnitude = std::ldexp(quotient.get_d(), static_cast<int>(last));
  return negative ? -magnitude : magnitude;
}

/// x = m · 2^e with an integer m.
struct integer_and_exponent {
  long m;
  int e;
};
inline integer_and_exponent split(double x) {
  int e = 0;
  double const fraction = std::frexp(x, &e);
  if (x == 0) return {0, 0};
  int const bits = std::min(53, e + 1074); // fewer for subnormals
  return {static_cast<long>(std::ldexp(fraction, bits)), e - bits};
}

/// The exact value of x in units of 2^-1074.
inline mpz_class units(double x) {
  auto const [m, e] = split(x);
  return m == 0 ? mpz_class(0) : mpz_class(mpz_class(m) << static_cast<unsigned long>(e + 1074));
}

/// The exact value of a · b in units of 2^-2148.
inline mpz_class product(double a, double b) {
  auto const [ma, ea] = split(a);
  auto const [mb, eb] = split(b);
  if (ma == 0 || mb == 0) return 0;
  return (mpz_class(ma) * mb) << static_cast<unsigned long>(ea + eb + 2148);
}

/// Σ (x_j - c_j)², dimensions in order, every operation rounded by itself in double.
template <class Real> double distance2(Real const* x, double const* c, index dims) {
  double sum = 0;
  for (index j = 0; j < dims; ++j) {
    double const difference = static_cast<double>(x[j]) - c[j];
    double const square = difference * difference;
    sum += square;
  }
  return sum;
}

/// x divided by its length, unless that is 1 but for rounding, or 0.
inline std::vector<double> unit_length(std::vector<double> x) {
  double largest = 0;
  for (double const v : x) largest = std::max(largest, std::fabs(v));
  if (largest == 0) return x;
  int exponent = 0;
  std::frexp(largest, &exponent); // largest in [2^(exponent - 1), 2^exponent)
  exponent = std::max(exponent - 1, -1022);
  std::vector<double> y;
  double sum = 0;
  for (double const v : x) {
    y.push_back(std::ldexp(v, -exponent));
    double const square = y.back() * y.back();
    sum += square;
  }
  double const off = std::ldexp(sum, 2 * exponent) - 1;
  if (std::fabs(off) <= std::ldexp(static_cast<double>(x.size()) + 3, -52)) return x;
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = y[j] / std::sqrt(sum);
  return x;
}

/// Every row of m.
inline matrix<double> unit_lengths(matrix<double> m) {
  for (index i = 0; i < m.rows(); ++i) {
    std::vector<double> const x = unit_length({m.row(i), m.row(i) + m.cols()});
    std::copy(x.begin(), x.end(), m.row(i));
  }
  return m;
}

/// Population variance of a column, exact, rounded once.
template <class Real> double variance(matrix_view<Real> rows, index column) {
  mpz_class sum = 0, squares = 0, const_n = rows.rows();
  for (index i = 0; i < rows.rows(); ++i) {
    double const x = static_cast<double>(rows(i, column));
    sum += units(x);
    squares += product(x, x);
  }
  return rounded(const_n * squares - sum * sum, const_n * const_n, -2148);
}

/// Σ w·x and Σ w of each cluster, exact.
class totals {
public:
  totals(index k, index dims)
      : dims_(dims), sums_(static_cast<std::size_t>(k * dims)), weights_(static_cast<std::size_t>(k)) {}
  template <class Real> void add(index cluster, Real const* x, double w) {
    for (index j = 0; j < dims_; ++j) sum(cluster, j) += product(w, static_cast<double>(x[j]));
    weights_[static_cast<std::size_t>(cluster)] += units(w);
  }
  template <class Real> void take_away(index cluster, Real const* x, double w) { add(cluster, x, -w); }
  bool empty(index cluster) const { return weights_[static_cast<std::size_t>(cluster)] == 0; }
  double weight(index cluster) const {
    return rounded(weights_[static_cast<std::size_t>(cluster)], 1, -1074);
  }
  double mean(index cluster, index j) const {
    return rounded(sums_[static_cast<std::size_t>(cluster * dims_ + j)],
                   weights_[static_cast<std::size_t>(cluster)], -1074);
  }

private:
  mpz_class& sum(index cluster, index j) { return sums_[static_cast<std::size_t>(cluster * dims_ + j)]; }
  index dims_;
  std::vector<mpz_class> sums_, weights_;
};

/// A row that an empty cluster may take.
struct candidate {
  index row;
  double d2;
  label owner;
};

/// All that one assignment and the move after it did.
struct pass {
  matrix<double> centroids;  ///< the ones rows were assigned to
  std::vector<label> labels; ///< by row
  std::vector<double> d2;    ///< by row, to its own centroid
  index labels_changed = 0;
  std::vector<double> weights;       ///< by cluster: of the rows that bear its label
  matrix<double> means;              ///< of the rows that bear its label; 0 where there is no weight
  std::vector<candidate> candidates; ///< all of them, best first
  index relocations = 0;
  matrix<double> moved; ///< the centroids after the move; in the pass that converged, the same as before
};

struct settings {
  index max_iter = 300;
  double tol = 0;
  kopse::empty_policy empty = kopse::empty_policy::relocate;
  bool spherical = false; ///< of rows of unit length
};

struct run {
  std::vector<pass> passes; ///< the counted iterations
  matrix<double> centroids;
  std::vector<label> labels;
  double inertia = 0;
  index iterations = 0, empty_clusters = 0;
  kopse::stop_reason reason = kopse::stop_reason::max_iter;
};

/// Weights times a power of two such that the largest is in [1, 2); ones where there are none.
struct scaled_weights {
  std::vector<double> values;
  int exponent = 0; ///< values · 2^exponent are the user's
  scaled_weights(std::span<double const> weights, index rows) : values(weights.begin(), weights.end()) {
    if (values.empty()) values.assign(static_cast<std::size_t>(rows), 1.0);
    exponent = std::ilogb(*std::max_element(values.begin(), values.end()));
    for (double& w : values) w = std::ldexp(w, -exponent);
  }
};

/// Nearest centroid of each row, ties to the lowest index, and d² to it.
template <class Real>
void assign(matrix_view<Real> rows, matrix_view<double> centroids, std::vector<label>& labels,
            std::vector<double>& d2) {
  labels.assign(static_cast<std::size_t>(rows.rows()), 0);
  d2.assign(static_cast<std::size_t>(rows.rows()), 0.0);
  for (index i = 0; i < rows.rows(); ++i) {
    double best = std::numeric_limits<double>::infinity();
    for (index c = 0; c < centroids.rows(); ++c) {
      double const d = distance2(rows.row(i), centroids.row(c), rows.cols());
      if (d < best) best = d, labels[static_cast<std::size_t>(i)] = static_cast<label>(c);
    }
    d2[static_cast<std::size_t>(i)] = best;
  }
}

/// The exact sum of the doubles w·d², rounded once.
inline double inertia(std::span<double const> weights, std::span<double const> d2) {
  mpz_class sum = 0;
  for (std::size_t i = 0; i < d2.size(); ++i) sum += units(weights[i] * d2[i]);
  return rounded(sum, 1, -1074);
}

/// Rows of weight that are not at their centroid: d² descending, then row ascending.
inline std::vector<candidate> candidates(std::span<double const> weights, std::span<label const> labels,
                                         std::span<double const> d2) {
  std::vector<candidate> all;
  for (std::size_t i = 0; i < d2.size(); ++i)
    if (weights[i] > 0 && d2[i] > 0) all.push_back({static_cast<index>(i), d2[i], labels[i]});
  std::stable_sort(all.begin(), all.end(),
                   [](candidate const& a, candidate const& b) { return a.d2 > b.d2; });
  return all;
}

/// One assignment to `centroids`, with all that follows from it but the move.
template <class Real>
pass assignment(matrix_view<Real> rows, std::span<double const> weights, matrix_view<double> centroids,
                pass const* before) {
  pass p;
  p.centroids = matrix<double>(centroids);
  p.moved = p.means = matrix<double>(centroids.rows(), centroids.cols());
  assign(rows, centroids, p.labels, p.d2);
  totals sums(centroids.rows(), rows.cols());
  for (index i = 0; i < rows.rows(); ++i) {
    auto const s = static_cast<std::size_t>(i);
    p.labels_changed += before == nullptr || before->labels[s] != p.labels[s];
    sums.add(p.labels[s], rows.row(i), weights[s]);
  }
  for (index c = 0; c < centroids.rows(); ++c) {
    p.weights.push_back(sums.weight(c));
    for (index j = 0; j < rows.cols() && !sums.empty(c); ++j) p.means(c, j) = sums.mean(c, j);
  }
  p.candidates = candidates(weights, p.labels, p.d2);
  return p;
}

/// Moves the centroids: means, empty clusters by the policy, and onto the sphere.
template <class Real>
void move(matrix_view<Real> rows, std::span<double const> weights, settings const& s, pass& p) {
  index const k = p.centroids.rows(), dims = rows.cols();
  totals sums(k, dims);
  for (index i = 0; i < rows.rows(); ++i)
    sums.add(p.labels[static_cast<std::size_t>(i)], rows.row(i), weights[static_cast<std::size_t>(i)]);
  std::vector<index> empty, taken(static_cast<std::size_t>(k), -1);
  for (index c = 0; c < k; ++c)
    if (sums.empty(c)) empty.push_back(c);
  for (std::size_t m = 0;
       s.empty == kopse::empty_policy::relocate && m < std::min(empty.size(), p.candidates.size()); ++m) {
    candidate const& best = p.candidates[m];
    if (s.spherical && best.d2 <= 1e-12) break;
    sums.take_away(best.owner, rows.row(best.row), weights[static_cast<std::size_t>(best.row)]);
    taken[static_cast<std::size_t>(empty[m])] = best.row;
    ++p.relocations;
  }
  for (index c = 0; c < k; ++c)
    for (index j = 0; j < dims; ++j) {
      index const row = taken[static_cast<std::size_t>(c)];
      p.moved(c, j) = row >= 0        ? static_cast<double>(rows(row, j))
                      : sums.empty(c) ? p.centroids(c, j)
                                      : sums.mean(c, j);
    }
  if (!s.spherical) return;
  p.moved = unit_lengths(p.moved);
  for (index c = 0; c < k; ++c)
    if (std::all_of(p.moved.row(c), p.moved.row(c) + dims, [](double x) { return x == 0; }))
      std::copy_n(p.centroids.row(c), dims, p.moved.row(c));
}

/// Σ shift², clusters then dimensions in order.
inline double shift2(pass const& p) {
  double sum = 0;
  for (index c = 0; c < p.moved.rows(); ++c)
    for (index j = 0; j < p.moved.cols(); ++j) {
      double const difference = p.moved(c, j) - p.centroids(c, j);
      double const square = difference * difference;
      sum += square;
    }
  return sum;
}

template <class Real> double mean_variance(matrix_view<Real> rows) {
  double sum = 0;
  for (index j = 0; j < rows.cols(); ++j) sum += variance(rows, j);
  return sum / static_cast<double>(rows.cols());
}

template <class Real>
run lloyd(matrix_view<Real> rows, std::span<double const> user_weights, matrix<double> start,
          settings const& s) {
  scaled_weights const weights(user_weights, rows.rows());
  double const threshold = s.tol > 0 ? s.tol * mean_variance(rows) : 0;
  run r;
  r.centroids = s.spherical ? unit_lengths(std::move(start)) : std::move(start);
  for (r.iterations = 1;; ++r.iterations) {
    pass const* before = r.passes.empty() ? nullptr : &r.passes.back();
    pass p = assignment(rows, std::span<double const>(weights.values), r.centroids.view(), before);
    if (p.labels_changed == 0 && before != nullptr && before->relocations == 0) {
      p.moved = p.centroids;
      r.passes.push_back(std::move(p));
      r.reason = kopse::stop_reason::labels;
      break;
    }
    move(rows, std::span<double const>(weights.values), s, p);
    r.centroids = p.moved;
    r.passes.push_back(std::move(p));
    if (s.tol > 0 && shift2(r.passes.back()) <= threshold) r.reason = kopse::stop_reason::tol;
    if (r.reason == kopse::stop_reason::tol || r.iterations == s.max_iter) break;
  }
  pass const last = assignment(rows, std::span<double const>(weights.values), r.centroids.view(), nullptr);
  r.labels = last.labels;
  r.inertia = std::ldexp(inertia(weights.values, last.d2), weights.exponent);
  r.empty_clusters = std::count(last.weights.begin(), last.weights.end(), 0.0);
  return r;
}

} // namespace oracle
