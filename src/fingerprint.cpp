// SPDX-License-Identifier: BSD-3-Clause
#include "fingerprint.hpp"

#include <vector>

#include "kopse/parallel.hpp"

namespace kopse {

template <class Real> std::uint64_t hash_of(matrix_view<Real> rows, int threads) {
  constexpr index block = 4096;
  std::vector<std::uint64_t> blocks(static_cast<std::size_t>((rows.rows() + block - 1) / block));
  for_blocks(rows.rows(), block, threads, [&](index first, index last) {
    hasher hash;
    by_pages(rows, first, last, [&](index a, index b) {
      for (index i = a; i < b; ++i)
        for (index j = 0; j < rows.cols(); ++j) hash.add(rows(i, j));
    });
    blocks[static_cast<std::size_t>(first / block)] = hash.value();
  });
  hasher all;
  for (std::uint64_t const one : blocks) all.add(one);
  return all.value();
}

template std::uint64_t hash_of(matrix_view<float>, int);
template std::uint64_t hash_of(matrix_view<double>, int);

std::uint64_t hash_of(std::span<double const> values) {
  hasher hash;
  for (double const value : values) hash.add(value);
  return hash.value();
}

} // namespace kopse
