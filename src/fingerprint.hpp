// SPDX-License-Identifier: BSD-3-Clause
// Hashes of 64 bits: whether data are the same as before, and whether a file is whole. They find accidents,
// not forgery. What changes in a single word always changes the hash.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "kopse/matrix.hpp"

namespace kopse {

class hasher {
public:
  void add(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15; // odd, so no two words give the same
    hash_ ^= hash_ >> 29;
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  std::uint64_t value() const { return hash_; }

private:
  std::uint64_t hash_ = 0x6b6f707365; // "kopse"
};

/// Of the bits of all values, row after row; the same for any number of threads. One pass over the rows.
template <class Real> std::uint64_t hash_of(matrix_view<Real> rows, int threads);
std::uint64_t hash_of(std::span<double const> values);

} // namespace kopse
