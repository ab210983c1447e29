// SPDX-License-Identifier: BSD-3-Clause
// Counter-based random numbers: number i of stream s of a seed is a function of (seed, s, i) alone,
// the same on every thread, partition and machine. Philox4x32-10 (Salmon et al. 2011).
#pragma once

#include <array>
#include <cstdint>

#include "kopse/core.hpp"

namespace kopse {

class random_stream {
public:
  random_stream(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}

  /// 64 random bits; i < 2^62, attempt < 2^32 numbers redraws of the same i.
  std::uint64_t bits(std::uint64_t i, std::uint32_t attempt = 0) const;
  /// Uniform on 0 .. bound - 1, without bias; bound >= 1.
  std::uint64_t below(std::uint64_t bound, std::uint64_t i) const;

private:
  std::uint64_t seed_;
  std::uint32_t stream_;
};

} // namespace kopse
