// SPDX-License-Identifier: BSD-3-Clause
#include "principal.hpp"

#include <algorithm>
#include <cmath>

#include "kopse/random.hpp"

namespace kopse::cli {
namespace {

using axis_vector = std::vector<double>;

double dot(double const* a, double const* b, std::size_t d) {
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) sum += a[j] * b[j];
  return sum;
}

/// Covariance times v, straight from the rows: no d × d matrix.
axis_vector spread_along(matrix<double> const& rows, std::vector<double> const& mean, axis_vector const& v) {
  std::size_t const d = mean.size();
  axis_vector result(d, 0.0);
  double const offset = dot(mean.data(), v.data(), d);
  for (index i = 0; i < rows.rows(); ++i) {
    double const along = dot(rows.row(i), v.data(), d) - offset;
    for (std::size_t j = 0; j < d; ++j) result[j] += along * (rows.row(i)[j] - mean[j]);
  }
  for (double& x : result) x /= static_cast<double>(rows.rows());
  return result;
}

/// Makes a of length 1 and orthogonal to b (if there is one); false if nothing is left of it.
bool normalise(axis_vector& a, axis_vector const* b = nullptr) {
  for (int twice = 0; b != nullptr && twice < 2; ++twice) {
    double const along = dot(a.data(), b->data(), a.size());
    for (std::size_t j = 0; j < a.size(); ++j) a[j] -= along * (*b)[j];
  }
  double const length = std::sqrt(dot(a.data(), a.data(), a.size()));
  if (!(length > 0) || !std::isfinite(length)) return false;
  for (double& x : a) x /= length;
  return true;
}

/// The sign of an axis is free: its largest part is made positive, so that equal data give equal pictures.
void fix_sign(axis_vector& a) {
  double const largest =
      *std::max_element(a.begin(), a.end(), [](double p, double q) { return std::abs(p) < std::abs(q); });
  if (largest < 0)
    for (double& x : a) x = -x;
}

axis_vector random_axis(std::size_t d, std::uint32_t stream) {
  axis_vector v;
  random_stream const numbers(0, stream);
  for (std::size_t j = 0; j < d; ++j) v.push_back(static_cast<double>(numbers.bits(j) >> 11) * 0x1p-53 - 0.5);
  return v;
}

} // namespace

place plane::operator()(double const* x) const {
  place p{0, 0};
  for (std::size_t j = 0; j < mean.size(); ++j) {
    p.x += (x[j] - mean[j]) * first[j];
    p.y += (x[j] - mean[j]) * second[j];
  }
  return p;
}

// Power iteration on both axes at once, the second kept orthogonal to the first. Where two variances are
// nearly equal it settles slowly; the plane is then turned by hand, and any other pair of axes would look the
// same.
plane principal_plane(matrix<double> const& rows) {
  auto const d = static_cast<std::size_t>(rows.cols());
  plane p{std::vector<double>(d, 0.0), random_axis(d, 0), random_axis(d, 1)};
  double const count = static_cast<double>(rows.rows());
  for (index i = 0; i < rows.rows(); ++i)
    for (std::size_t j = 0; j < d; ++j) p.mean[j] += rows.row(i)[j] / count;
  double total = 0;
  for (index i = 0; i < rows.rows(); ++i)
    for (std::size_t j = 0; j < d; ++j) total += std::pow(rows.row(i)[j] - p.mean[j], 2) / count;

  normalise(p.first);
  normalise(p.second, &p.first);
  axis_vector a, b;
  int const rounds = static_cast<int>(std::clamp(4e9 / (4 * count * static_cast<double>(d)), 8.0, 100.0));
  for (int round = 0; round < rounds; ++round) {
    a = spread_along(rows, p.mean, p.first);
    b = spread_along(rows, p.mean, p.second);
    axis_vector first = a, second = b;
    if (!normalise(first) || !normalise(second, &first)) break; // no variance (left): any axis will do
    p.first = std::move(first);
    p.second = std::move(second);
  }
  a = spread_along(rows, p.mean, p.first);
  b = spread_along(rows, p.mean, p.second);
  double const xx = dot(p.first.data(), a.data(), d), yy = dot(p.second.data(), b.data(), d),
               xy = dot(p.first.data(), b.data(), d);
  double const angle = 0.5 * std::atan2(2 * xy, xx - yy), c = std::cos(angle), s = std::sin(angle);
  for (std::size_t j = 0; j < d; ++j) {
    double const u = p.first[j], v = p.second[j];
    p.first[j] = c * u + s * v;
    p.second[j] = c * v - s * u;
  }
  fix_sign(p.first);
  fix_sign(p.second);
  bool const varies =
      std::isfinite(total) && total > 1e-24 * dot(p.mean.data(), p.mean.data(), d); // more than rounding
  p.share_first = varies ? (c * c * xx + 2 * c * s * xy + s * s * yy) / total : 0;
  p.share_second = varies ? (s * s * xx - 2 * c * s * xy + c * c * yy) / total : 0;
  return p;
}

} // namespace kopse::cli
