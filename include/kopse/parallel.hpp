// SPDX-License-Identifier: BSD-3-Clause
// Loops over blocks on a limited number of threads, by oneTBB (or std::thread when KOPSE_STD_THREADS is set).
#pragma once

#include <functional>

#include "kopse/core.hpp"

namespace kopse {

/// Runs body(first, last) over [0, count) in blocks of `grain`, on at most `threads` threads, and returns
/// when all have ended; the first exception is rethrown. Blocks are the same for any thread count; their
/// order is not. On each thread the floating-point environment is the one the library's arithmetic is defined
/// in.
void for_blocks(index count, index grain, int threads,
                std::function<void(index first, index last)> const& body);

/// Round to nearest with gradual underflow, for the lifetime of the object (a host program may have changed
/// either).
class float_environment {
public:
  float_environment();
  ~float_environment();
  float_environment(float_environment const&) = delete;
  float_environment& operator=(float_environment const&) = delete;

private:
  unsigned saved_;
};

} // namespace kopse
