// SPDX-License-Identifier: BSD-3-Clause
#include "kopse/random.hpp"

namespace kopse {

// Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (SC 2011). The counter is (i, stream, attempt), the key the seed.
std::uint64_t random_stream::bits(std::uint64_t i, std::uint32_t attempt) const {
  std::uint32_t c0 = static_cast<std::uint32_t>(i), c1 = static_cast<std::uint32_t>(i >> 32), c2 = stream_,
                c3 = attempt;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed_), k1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p0 = std::uint64_t{0xd2511f53} * c0, p1 = std::uint64_t{0xcd9e8d57} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return (std::uint64_t{c1} << 32) | c0;
}

// The high half of bits · bound is uniform but for the lowest (2^64 mod bound) products, which are drawn
// again (D. Lemire, "Fast random integer generation in an interval", 2019).
std::uint64_t random_stream::below(std::uint64_t bound, std::uint64_t i) const {
  std::uint64_t const unfair = (0 - bound) % bound;
  for (std::uint32_t attempt = 0;; ++attempt) {
    unsigned __int128 const product = static_cast<unsigned __int128>(bits(i, attempt)) * bound;
    if (static_cast<std::uint64_t>(product) >= unfair) return static_cast<std::uint64_t>(product >> 64);
  }
}

} // namespace kopse
