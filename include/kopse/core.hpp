// SPDX-License-Identifier: BSD-3-Clause
// The words every other header uses: index and label types, version, errors.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#ifdef __FAST_MATH__
#error "kopse needs IEEE arithmetic: compile without -ffast-math (and without -Ofast)"
#endif

#define KOPSE_VERSION "0.1.0"

namespace kopse {

/// Counts and numbers rows, nodes' points and iterations; 64 bits, so n·k and n·d never overflow.
using index = std::int64_t;
/// The number of a cluster, 0 <= label < k.
using label = std::int32_t;

/// The version of the compiled library, to compare with KOPSE_VERSION of the headers.
char const* version() noexcept;

/// Anything that stops a run and that its user can mend: the message names the place and what was expected.
class error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// An argument that cannot be right: an unknown name, k < 1, k > n. (The command line exits with 2.)
class usage_error : public error {
public:
  using error::error;
};

/// What was asked for needs more memory than there is; found out before any was taken.
class memory_error : public error {
public:
  using error::error;
};

/// The caller raised options::stop; nothing was returned.
class interrupted : public error {
public:
  interrupted() : error("interrupted") {}
  using error::error;
};

/// `verify` found a difference between an algorithm and brute force. A bug of the library: please report it.
class verification_error : public error {
public:
  using error::error;
};

} // namespace kopse
