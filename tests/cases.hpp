// SPDX-License-Identifier: BSD-3-Clause
// What the cases share: little matrices, numpy's inputs, and the questions asked of every answer.
#pragma once

#include <cstdio>
#include <fstream>
#include <functional>

#include "exactness.hpp"

namespace cases {

using namespace exactness;
using kopse::index;
using kopse::options;
using kopse::point_set;
using kopse::result;
using kopse::stop_reason;

using numbers = std::vector<double>;
using labels = std::vector<label>;

template <class Real = double>
matrix<Real> rows(std::initializer_list<std::initializer_list<double>> values) {
  matrix<Real> m(static_cast<index>(values.size()), static_cast<index>(values.begin()->size()));
  index i = 0;
  for (auto const& row : values) {
    std::transform(row.begin(), row.end(), m.row(i), [](double x) { return static_cast<Real>(x); });
    ++i;
  }
  return m;
}

template <class Real = double> matrix<Real> column(numbers const& values) {
  matrix<Real> m(static_cast<index>(values.size()), 1);
  for (std::size_t i = 0; i < values.size(); ++i) m(static_cast<index>(i), 0) = static_cast<Real>(values[i]);
  return m;
}

inline numbers values(matrix<double> const& m) { return {m.row(0), m.row(0) + m.rows() * m.cols()}; }

/// The first k rows, to start from.
template <class Real> matrix<double> first_rows(matrix<Real> const& x, index k) {
  matrix<double> c(k, x.cols());
  for (index i = 0; i < k; ++i) std::copy_n(x.row(i), x.cols(), c.row(i));
  return c;
}

template <class Real = double>
matrix<Real> normal_rows(index n, index d, std::uint64_t seed, double offset = 0) {
  families::random r(seed);
  matrix<Real> m(n, d);
  for (index i = 0; i < n * d; ++i) m.row(0)[i] = static_cast<Real>(r.normal() + offset);
  return m;
}

/// A float64 matrix of tests/data/, written by make.py there.
inline matrix<double> load_data(std::string const& file, index n, index d) {
  std::ifstream in(std::string(KOPSE_TEST_DATA "/") + file, std::ios::binary);
  char head[10] = {};
  in.read(head, 10);
  in.ignore(static_cast<unsigned char>(head[8]) + 256 * static_cast<unsigned char>(head[9]));
  matrix<double> m(n, d);
  in.read(reinterpret_cast<char*>(m.row(0)), static_cast<std::streamsize>(sizeof(double)) * n * d);
  EXPECT_TRUE(in.good() && in.peek() == EOF) << file;
  return m;
}

inline options from(config const& c, matrix<double> start) {
  options o = c.options();
  o.centroids = std::move(start);
  o.max_iter = 10000;
  return o;
}

/// Calls f with every algorithm, tree and leaf size, and names it where a check inside fails.
inline void with_all(std::function<void(config const&)> const& f) {
  for (config const& c : configs(0)) {
    SCOPED_TRACE(name(c));
    f(c);
  }
}

/// The whole run and each of its iterations are the oracle's, for all of them; under sanitizers one or the
/// other, by turns.
template <class Real> void expect_oracle(scenario<Real>& s) {
  s.run_oracle();
  int turn = 0;
  for (config const& c : configs(0, columns::of_the_data)) {
    bool const odd = turn++ % 2 != 0;
    ASSERT_TRUE((sanitized && odd) || check_fit(s, c));
    ASSERT_TRUE((sanitized && !odd) || check_steps(s, c));
  }
}
template <class Real>
oracle::run expect_oracle(std::string const& what, matrix<Real> x, matrix<double> start,
                          empty_policy policy = empty_policy::relocate, numbers w = {}) {
  scenario<Real> s(what, std::move(x), std::move(start), {.max_iter = 10000, .tol = 0, .empty = policy},
                   std::move(w));
  expect_oracle(s);
  return s.expected;
}

/// The message of the error that f throws, "" if it throws none.
template <class Error = kopse::error, class F> std::string message(F const& f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  return "";
}

/// A text that must contain all of the others.
inline AssertionResult names(std::string const& text, std::initializer_list<char const*> parts) {
  for (char const* part : parts)
    if (text.find(part) == std::string::npos)
      return AssertionFailure() << "'" << text << "' does not name '" << part << "'";
  return AssertionSuccess();
}

/// Labels are the nearest of the returned centroids, the inertia belongs to both, nothing is NaN or infinite.
template <class Real>
AssertionResult consistent(matrix<Real> const& x, result const& r, numbers const& w = {}) {
  oracle::scaled_weights const weights(w, x.rows());
  labels nearest;
  numbers d2;
  oracle::assign(x.view(), r.centroids.view(), nearest, d2);
  for (double const c : values(r.centroids))
    if (!std::isfinite(c)) return AssertionFailure() << "a centroid is " << c;
  return all(
      {same_labels(r.labels, nearest),
       same_number("inertia", r.inertia, std::ldexp(oracle::inertia(weights.values, d2), weights.exponent))});
}

} // namespace cases
