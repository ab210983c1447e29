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

/// Of the bits of all values and the numbers of their rows, from `first` on. Those of partitions add up (in
/// 64 bits), so it is the same for any cut of the rows. One pass over them.
template <class Real> std::uint64_t hash_of(matrix_view<Real> rows, int threads, index first = 0);
std::uint64_t hash_of(std::span<double const> values, index first = 0);

} // namespace kopse
