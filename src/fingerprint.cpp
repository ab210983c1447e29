// SPDX-License-Identifier: BSD-3-Clause
#include "fingerprint.hpp"

#include <atomic>

#include "kopse/parallel.hpp"

namespace kopse {

template <class Real> std::uint64_t hash_of(matrix_view<Real> rows, int threads, index first) {
  std::atomic<std::uint64_t> sum = 0;
  for_blocks(rows.rows(), 4096, threads, [&](index from, index to) {
    std::uint64_t of_block = 0;
    by_pages(rows, from, to, [&](index a, index b) {
      for (index i = a; i < b; ++i) {
        hasher hash;
        hash.add(static_cast<std::uint64_t>(first + i));
        for (index j = 0; j < rows.cols(); ++j) hash.add(rows(i, j));
        of_block += hash.value();
      }
    });
    sum += of_block;
  });
  return sum;
}

template std::uint64_t hash_of(matrix_view<float>, int, index);
template std::uint64_t hash_of(matrix_view<double>, int, index);

std::uint64_t hash_of(std::span<double const> values, index first) {
  std::uint64_t sum = 0;
  for (double const value : values) {
    hasher hash;
    hash.add(static_cast<std::uint64_t>(first++));
    hash.add(value);
    sum += hash.value();
  }
  return sum;
}

} // namespace kopse
