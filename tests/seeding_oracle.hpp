// SPDX-License-Identifier: BSD-3-Clause
// k-means++ by its definition: n distances a centroid, masses and draws by GMP's integers.
#pragma once

#include "kopse/random.hpp"
#include "kopse/seeding.hpp"
#include "oracle.hpp"

namespace oracle {

/// The first row where the sum of the masses is above u/2^64 of them all; -1 if they are all 0.
inline index draw(std::vector<double> const& masses, std::uint64_t u) {
  mpz_class total = 0, sum = 0;
  for (double const m : masses) total += units(m);
  mpz_class const target = total * mpz_class(static_cast<unsigned long>(u));
  for (std::size_t i = 0; i < masses.size(); ++i) {
    sum += units(masses[i]);
    if ((sum << 64) > target) return static_cast<index>(i);
  }
  return -1;
}

inline mpz_class sum_of(std::vector<double> const& masses) {
  mpz_class sum = 0;
  for (double const m : masses) sum += units(m);
  return sum;
}

/// The rows that k-means++ takes, of which there may be fewer than k. `weights` are scaled.
template <class Real>
std::vector<index> plus_plus(matrix_view<Real> rows, std::vector<double> const& weights, index k,
                             std::uint64_t seed, index restart = 0, index candidates = 1) {
  kopse::random_stream const random(seed, static_cast<std::uint32_t>(restart));
  std::size_t const n = static_cast<std::size_t>(rows.rows());
  std::vector<double> d2(n, std::numeric_limits<double>::infinity()), masses = weights;
  auto const after = [&](index row) {
    std::vector<double> const c(rows.row(row), rows.row(row) + rows.cols());
    std::vector<double> lowered = d2;
    for (std::size_t i = 0; i < n; ++i)
      lowered[i] = std::min(d2[i], distance2(rows.row(static_cast<index>(i)), c.data(), rows.cols()));
    return lowered;
  };
  auto const to_masses = [&](std::vector<double> const& squares) {
    std::vector<double> m(n);
    for (std::size_t i = 0; i < n; ++i) m[i] = weights[i] * squares[i];
    return m;
  };
  std::vector<index> chosen;
  for (index j = 0; j < k; ++j) {
    index best = -1;
    mpz_class least = 0;
    for (index c = 0; c < (j == 0 ? 1 : candidates); ++c) {
      index const row =
          draw(masses, random.bits(static_cast<std::uint64_t>(j), static_cast<std::uint32_t>(c)));
      if (row < 0) return chosen;
      mpz_class const left = sum_of(to_masses(after(row)));
      if (best < 0 || left < least) best = row, least = left;
    }
    chosen.push_back(best);
    d2 = after(best);
    masses = to_masses(d2);
  }
  return chosen;
}

} // namespace oracle
